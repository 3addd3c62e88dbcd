"""What einsum's subscripts say: the indices of each operand and of the result, one letter an axis."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence

from irc_frontend.graph import Node, fail


def parsed(subscripts: str, operands: Sequence[Node]) -> tuple[list[str], str]:
    """The indices of each operand and of the result, `...` written out. Without `->`, the result has the axes of `...`
    and then the indices that occur once, sorted."""
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    if not operands or len(inputs) != len(operands):
        raise fail(f"einsum: {subscripts!r} has {len(inputs)} terms for {len(operands)} arrays")
    letters = (left + output).replace(",", "").replace("...", "")
    if set(letters) - set(string.ascii_letters) or any(term.count("...") > 1 for term in (*inputs, output)):
        raise fail(f"einsum: the indices of {subscripts!r} are letters, beside one ... for each term")
    inputs, dots = _written_out(inputs, operands, [x for x in string.ascii_letters if x not in letters])
    counts = Counter("".join(inputs))
    if not arrow:
        output = dots + "".join(sorted(x for x, count in counts.items() if count == 1 and x not in dots))
    elif "..." not in output and dots:
        raise fail(f"einsum: the result of {subscripts!r} has no ..., which operands have")
    output = output.replace("...", dots)
    if set(output) - set(counts) or len(set(output)) != len(output):
        raise fail(f"einsum: the indices of a result occur once in it and before ->, found {subscripts!r}")
    return inputs, output


def _written_out(inputs: Sequence[str], operands: Sequence[Node], free: Sequence[str]) -> tuple[list[str], str]:
    """The terms with letters in the place of `...`, the last of which are those of the shorter ones."""
    counts = [node.rank - len(term.replace("...", "")) for term, node in zip(inputs, operands, strict=True)]
    for term, node, count in zip(inputs, operands, counts, strict=True):
        if count < 0 or (count and "..." not in term):
            raise fail(f"einsum: {term!r} names {node.rank - count} axes of {node.type}")
    most = max(counts)
    if most > len(free):
        raise fail(f"einsum: {most} axes of ... are more than there are letters left, {len(free)}")
    dots = "".join(free[:most])
    return [term.replace("...", dots[most - count :]) for term, count in zip(inputs, counts, strict=True)], dots


def from_lists(given: Sequence[object]) -> tuple[str, list[object]]:
    """numpy's other form, `einsum(x, [0, 1], y, [1, 2], [0, 2])`, as subscripts and operands."""
    operands, lists = list(given[0 : len(given) // 2 * 2 : 2]), list(given[1::2])
    terms = ",".join(map(_letters, lists))
    return (f"{terms}->{_letters(given[-1])}" if len(given) % 2 else terms), operands


def _letters(axes: object) -> str:
    if not isinstance(axes, list | tuple):
        raise fail(f"einsum: indices are a list of numbers below 52 and ..., found {axes}")
    return "".join(map(_letter, axes))


def _letter(axis: object) -> str:
    if axis is Ellipsis:
        return "..."
    if not isinstance(axis, int) or not 0 <= axis < len(string.ascii_letters):
        raise fail(f"einsum: indices are numbers below 52 and ..., found {axis}")
    return (string.ascii_uppercase + string.ascii_lowercase)[axis]
