"""Operators with graphs of their own: branches, and loops whose numbers of steps are known, which are recorded step by
step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from onnx import GraphProto

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.onnx.rules import in_range
from irc_frontend.tensor import Tensor
from irc_frontend.unrolling import branch, check_steps, known, steps

Values: TypeAlias = Sequence[Tensor | None]

Body: TypeAlias = Callable[[GraphProto, Mapping[str, Tensor | None]], list[Tensor]]
"""The results of a graph where these values are known beside those around it."""


def record_if(inputs: Values, attributes: Mapping[str, Any], body: Body) -> list[Tensor]:
    """The branch of a condition that is known; of another one both, of which elements are chosen."""
    assert inputs[0] is not None
    return branch(inputs[0], *(lambda side=side: body(attributes[side], {}) for side in ("then_branch", "else_branch")))


def record_loop(inputs: Values, attributes: Mapping[str, Any], body: Body) -> list[Tensor]:
    """The values after the last step, then what all steps give, behind each other along a new first axis."""
    graph: GraphProto = attributes["body"]
    most, condition = (*inputs, None, None)[:2]
    carried = list(inputs[2:])
    if len(graph.input) != 2 + len(carried) or len(graph.output) < 1 + len(carried):
        raise IrcError(f"its body takes {len(graph.input)} values and gives {len(graph.output)}")
    limit = None if most is None else known(most, "the number of steps").item()
    goes_on = True if condition is None else bool(known(condition, "the condition").item())
    rows: list[list[Tensor]] = []

    def is_next() -> bool:
        return goes_on and (limit is None or len(rows) < limit)

    for step in steps(is_next):
        now: list[Tensor | None] = [Tensor(np.asarray(step, np.int64)), Tensor(np.asarray(goes_on))]
        results = body(graph, dict(zip([each.name for each in graph.input], [*now, *carried], strict=True)))
        goes_on = bool(known(results[0], "the condition of the next step").item())
        rows.append(results[1 + len(carried) :])
        carried = list(results[1 : 1 + len(carried)])
    if not rows and len(graph.output) > 1 + len(carried):
        raise IrcError("it has no step, and what its steps give has no shape")
    return [*_present(carried), *(ir.stack(list(column), 0) for column in zip(*rows, strict=True))]


def record_scan(inputs: Values, attributes: Mapping[str, Any], body: Body) -> list[Tensor]:
    """The states after the last step, then what all steps give."""
    graph: GraphProto = attributes["body"]
    count = int(attributes["num_scan_inputs"])
    split = len(inputs) - count
    states, read = _present(inputs[:split]), _present(inputs[split:])
    given = len(graph.output) - split
    axes = [in_range(axis, x.ndim) for x, axis in zip(read, _of(attributes, "scan_input_axes", count), strict=True)]
    lengths = {x.shape[axis] for x, axis in zip(read, axes, strict=True)}
    if len(lengths) != 1:
        raise IrcError(f"its arrays have {', '.join(map(str, sorted(lengths)))} steps")
    length = lengths.pop()
    check_steps(length)
    backward = _of(attributes, "scan_input_directions", count)
    rows: list[list[Tensor]] = []
    for step in range(length):
        elements = [
            ir.take(x, length - 1 - step if is_backward else step, axis)
            for x, axis, is_backward in zip(read, axes, backward, strict=True)
        ]
        results = body(graph, dict(zip([each.name for each in graph.input], [*states, *elements], strict=True)))
        states = results[:split]
        rows.append(results[split:])
    if not rows and given:
        raise IrcError("it has no step, and what its steps give has no shape")
    columns = [list(column) for column in zip(*rows, strict=True)]
    ways = zip(
        columns,
        _of(attributes, "scan_output_directions", given),
        _of(attributes, "scan_output_axes", given),
        strict=True,
    )
    return [*states, *(ir.stack(column[::-1] if is_backward else column, axis) for column, is_backward, axis in ways)]


def _present(values: Values) -> list[Tensor]:
    if any(each is None for each in values):
        raise IrcError("a value that goes from step to step is left out")
    return [each for each in values if each is not None]


def _of(attributes: Mapping[str, Any], name: str, count: int) -> Sequence[int]:
    """A number for each array; 0 where the attribute is left out."""
    found = attributes.get(name, [0] * count)
    if len(found) != count:
        raise IrcError(f"{name} has {len(found)} numbers, expected {count}")
    return found


CONTROL = {"If": record_if, "Loop": record_loop, "Scan": record_scan}
"""By the operator's name."""
