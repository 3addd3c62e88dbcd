"""The main of a file: it runs the product and compares results with what the host computes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from irc.codegen.cutlass.epilogue import REDUCTIONS, Epilogue, Node
from irc.ir.dtypes import Element

TOLERANCES = {"f32": 1e-4, "f16": 2e-3, "bf16": 1e-2, "f8e4m3": 0.13, "f8e5m2": 0.26, "i32": 0, "i8": 0, "u8": 0}
"""Of an element, for products of exact operands."""

COMBINED = {
    0.0: "found + values[at]",
    -math.inf: "std::max(found, values[at])",
    math.inf: "std::min(found, values[at])",
}
"""What a reduction does with the next value, by its identity."""

MAIN = """\
int main() {{
  Data data;
  run(data);
{fetches}
  constexpr int samples = 4096;
  std::mt19937 generator(1);
  int wrong = 0;
  for (int i = 0; i < samples; ++i) {{
    int64_t const l = generator() % L, m = generator() % M, n = generator() % N;
    double expected[{results}];
    reference(data, l, m, n, expected);
{comparisons}
  }}
  int compared = samples * {compared};
{reductions}  std::printf("%d of %d sampled elements are wrong\\n", wrong, compared);
  return wrong != 0;
}}
"""

COMPARISON = """\
    wrong += differ("{name}", l, m, n, expected[{at}], data.{name}.at((l * M + m) * N + n), {tolerance});"""

COMPARED = """\
  for (int sample = 0; sample < std::min<int64_t>(16, {kept}); ++sample, ++compared) {{
    constexpr int at = {at};
    int64_t const place = generator() % {kept};
    double found = {identity}, size = 1, values[{results}];
    for (int64_t i = 0; i < {rows}; ++i) {{
      for (int64_t j = 0; j < {columns}; ++j) {{
        reference(data, 0, {row}, {column}, values);
        found = {combined};
        size += std::abs(values[at]);
      }}
    }}
    double const tolerance = 1e-5 * size / std::max(1.0, std::abs(found));
    wrong += differ("{name}", 0, 0, place, found, data.{name}.at(place), tolerance);
  }}
"""
"""A result that reduces rows, columns or both, at some places, beside the values that it is of."""


def main_text(epilogue: Epilogue, results: Sequence[str]) -> str:
    """The main of a file whose results are arrays of these names."""
    reductions = {node.result: node for node in epilogue.reductions}
    whole = [
        COMPARISON.format(name=name, at=at, tolerance=TOLERANCES[element.name])
        for at, (name, element) in enumerate(zip(results, epilogue.results, strict=True))
        if at not in reductions
    ]
    reduced = [
        COMPARED.format(
            name=results[at],
            at=at,
            kept=kept_extent(node),
            results=len(results),
            identity=number_text(node.value, epilogue.compute),
            rows="M" if "m" not in REDUCTIONS[node.kind] else "1",
            columns="N" if "n" not in REDUCTIONS[node.kind] else "1",
            row="i" if "m" not in REDUCTIONS[node.kind] else "place",
            column="j" if "n" not in REDUCTIONS[node.kind] else "place",
            combined=COMBINED[node.value],
        )
        for at, node in reductions.items()
    ]
    return MAIN.format(
        fetches="\n".join(f"  data.{name}.fetch();" for name in results),
        results=len(results),
        compared=len(whole),
        comparisons="\n".join(whole),
        reductions="".join(reduced),
    )


def kept_extent(node: Node) -> str:
    """The elements of a reduction's result."""
    return {"n": "N", "m": "M", "": "1"}[REDUCTIONS[node.kind]]


def number_text(value: float, element: Element) -> str:
    """A number in C++."""
    if element.is_integer:
        return str(int(value))
    if value != value:
        return "NAN"
    if value in (math.inf, -math.inf):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = repr(value)
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
