"""`make test-onnx`: all node tests of the package onnx, and the table of them in docs/onnx-operators.md."""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import onnx
from onnx_cases import Judged, cases, judge

from irc_frontend.onnx import RULES

LEAST = 0.9
"""The share of tests of irc's operators, with static shapes and element types that it has, that are to pass."""


def main() -> int:
    """Writes the table; 1 where fewer tests pass than are to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, help="the file to write")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--operator", action="append", default=[], help="these alone")
    args = parser.parse_args()
    found: list[Judged] = []
    for case in cases().values():
        judged = judge(case, args.target)
        if args.operator and judged.operator not in args.operator:
            continue
        found.append(judged)
        if not judged.passed:
            print(f"{judged.name}: {judged.verdict}: {judged.reason}", flush=True)
    text = table(found, args.target)
    if args.table is not None:
        args.table.write_text(text, encoding="utf-8")
    own = counted(found)
    passed = sum(each.passed for each in own)
    print(f"{passed} of {len(own)} passed; of all {len(found)}, {sum(each.passed for each in found)}")
    return 0 if passed >= LEAST * len(own) else 1


def has_rule(operator: str, found: Sequence[Judged]) -> bool:
    """Whether irc has an operator, by a rule or by what ONNX makes it of."""
    return operator in RULES or any(each.passed for each in found if each.operator == operator)


def counted(found: Sequence[Judged]) -> list[Judged]:
    """The tests of irc's operators that have static shapes, and element types that irc has."""
    return [each for each in found if has_rule(each.operator, found) and each.verdict not in ("type", "shape")]


def table(found: Sequence[Judged], target: str) -> str:
    """The page."""
    own = counted(found)
    passed = sum(each.passed for each in own)
    by_operator: dict[str, list[Judged]] = defaultdict(list)
    for each in found:
        by_operator[each.operator].append(each)
    lines = [
        "<!-- Written by `make test-onnx`. -->",
        "",
        "# ONNX's operators on irc",
        "",
        f"The {len(found)} node tests of the package onnx {onnx.__version__}, each on the target `{target}`, within the",
        "test's own tolerances. A test is counted where irc has the operator, its shapes are static, and irc has its",
        f"element types: {passed} of {len(own)} pass, {passed / len(own):.1%}. Of all tests "
        f"{sum(each.passed for each in found)} pass.",
        "Operands that decide shapes, which most of these tests give to the call, are constants of the model there.",
        "",
        "| operator | pass | counted | type | shape | not passed |",
        "|---|---|---|---|---|---|",
    ]
    none: list[str] = []
    for operator in sorted(by_operator):
        tests = by_operator[operator]
        if not has_rule(operator, found):
            none.append(operator)
            continue
        counts = Counter(each.verdict for each in tests)
        mine = counted(tests)
        reasons = "; ".join(_reason(each) for each in mine if not each.passed)
        lines.append(
            f"| {operator} | {sum(each.passed for each in mine)} | {len(mine)} | {counts['type'] or ''} | "
            f"{counts['shape'] or ''} | {reasons} |"
        )
    lines += ["", f"irc has none of: {', '.join(none)}.", ""]
    return "\n".join(lines)


def _reason(judged: Judged) -> str:
    text = judged.reason.replace("|", "/").replace("\n", " ")
    return f"{judged.name.removeprefix('test_')}: {text if len(text) < 120 else text[:117] + '...'}"


if __name__ == "__main__":
    sys.exit(main())
