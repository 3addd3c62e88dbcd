"""What was found of all operators, as a table and in a few lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from outcomes import FORWARD, GRADIENT, Outcome, Verdict

HEAD = """<!-- Written by `make test-opinfo`. -->

# PyTorch's operators on irc

Each operator of PyTorch's own tests (OpInfo), called with its samples of f32 and bf16 through
`torch.compile(op, backend="irc")` on the target `cpu`, beside eager torch; `tests/operators` has the rules of what is right.
{samples} Each call is compiled by itself.

| word | |
|---|---|
| irc | every call right, nothing left to torch |
| views | every call right, nothing left to torch and nothing to compute: the result is a view |
| partly | every call right, some with ops left to torch |
| torch | every call right, none without ops left to torch |
| refused | torch.compile refuses a call whatever the backend |
| wrong, failed | a result out of tolerance; an error |

Views compute nothing, those between complex arrays and arrays of pairs among them, nor does torch's check that no factorization failed:
it reads what irc found and raises torch's error.

"""


def by_name(outcomes: Sequence[Outcome]) -> Mapping[str, list[Outcome]]:
    """Those that were called, by the name with the variant; f32 before bf16."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in sorted(outcomes, key=lambda each: (each.name.lower(), each.dtype != "f32")):
        if outcome.calls or outcome.forward.failed:
            found[outcome.name].append(outcome)
    return found


def wholly_compiled(outcomes: Sequence[Outcome]) -> list[str]:
    """The operators that irc compiled and that left nothing to torch: all calls, element types, gradients, variants."""
    words: dict[str, set[str]] = defaultdict(set)
    for outcome in outcomes:
        if outcome.calls:
            words[outcome.operator] |= {outcome.forward.word, outcome.gradient.word or outcome.forward.word}
    return [name for name, found in words.items() if "irc" in found and found <= {"irc", "views"}]


def table(outcomes: Sequence[Outcome]) -> str:
    """The page."""
    lines = [
        HEAD.format(samples=_samples(outcomes)),
        summary(outcomes),
        "",
        "| operator | samples | calls | forward | gradient | left to torch |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in by_name(outcomes).items():
        forward, gradient = (_words([getattr(each, which) for each in found]) for which in ("forward", "gradient"))
        left = sorted({text for each in found for which in (each.forward, each.gradient) for text in which.left})
        calls = sum(each.calls for each in found)
        which = " and ".join(sorted({_limit(each) for each in found}))
        lines.append(
            f"| {name} | {which} | {calls} | {forward} | {gradient} | {'; '.join(_escaped(text) for text in left)} |"
        )
    return "\n".join(lines) + "\n"


def rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Counts of calls, a row for each operator and element type: right with nothing left to torch, right with ops left,
    wrong (with errors, and what torch.compile refuses whatever the backend; no more of each than are noted); and the ops
    that were left."""
    return [
        {
            "name": outcome.name,
            "dtype": outcome.dtype,
            "samples": _limit(outcome),
            "calls": outcome.calls,
            **{which: _counts(getattr(outcome, which)) for which in (FORWARD, GRADIENT)},
            "left": sorted({*outcome.forward.left, *outcome.gradient.left}),
            "seconds": outcome.seconds,
        }
        for found in by_name(outcomes).values()
        for outcome in found
    ]


def _counts(verdict: Verdict) -> dict[str, int]:
    wrong = len(verdict.wrong) + len(verdict.failed) + len(verdict.refused)
    return {"right": verdict.compiled, "left": verdict.right - verdict.compiled, "wrong": wrong}


def _samples(outcomes: Sequence[Outcome]) -> str:
    """How many operators, each element type by itself, were called with what samples."""
    counts = Counter(_limit(outcome) for outcome in outcomes if outcome.calls)
    parts = [f"{count} with {limit} samples" for limit, count in counts.most_common()]
    return f"Operators, f32 and bf16 counted each: {', '.join(parts)}."


def _limit(outcome: Outcome) -> str:
    return "all" if outcome.limit is None else f"the first {outcome.limit}"


def _words(verdicts: Sequence[Verdict]) -> str:
    words = [verdict.word for verdict in verdicts]
    return words[0] if len(set(words)) == 1 else ", ".join(word or "-" for word in words)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def summary(outcomes: Sequence[Outcome]) -> str:
    """Counts: operators wholly compiled, and the words of the two directions."""
    found = by_name(outcomes)
    lines = [
        f"{len(wholly_compiled(outcomes))} of {len({each.operator for each in outcomes if each.calls})} operators"
        f" ({len(found)} with their variants) were compiled with nothing left to torch,"
        f" in {sum(outcome.calls for outcome in outcomes)} calls."
    ]
    for which in ("forward", "gradient"):
        counts = Counter(getattr(outcome, which).word or "none" for outcome in outcomes if outcome.calls)
        lines.append(f"{which}: " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))
    return "\n".join(lines)
