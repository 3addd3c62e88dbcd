"""Reductions over windows: pools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from irc.dialects.nd.base import NUMBER, Location, NdOp, Operand, element_of, ints, ints_prop, rank_of, shape_of, tensor
from irc.ir.dtypes import Element
from irc.ir.iteration import Bound, Iteration, IterationInterface, Kind, Pattern, access, dim_exprs, numbered
from irc.support.windows import MONOIDS, window_shape

_NUMBERS = {"window": 1, "strides": 1, "low": 0, "high": 0, "dilation": 1, "input_dilation": 1}
"""Properties with one number for each axis, and the least number."""


@irdl_op_definition
class ReduceWindowOp(NdOp, IterationInterface):
    """The sum, the greatest or the least element of each window of x, as `monoid` says (XLA's ReduceWindow).

    Along each axis x has `input_dilation - 1` places without elements between its elements, then `low` and `high`
    before and behind them. Windows have `window` places that are `dilation` apart, and begin `strides` apart. Places
    without an element do not count: a sum over none is 0, a maximum the least number that there is. The element type of
    the result says what sums accumulate into, as that of `sum` does.
    """

    name = "nd.reduce_window"
    PATTERN: ClassVar[Pattern] = Pattern.WINDOW
    x = operand_def(TensorType)
    result = result_def(TensorType)
    monoid = prop_def(StringAttr)
    window = ints_prop()
    strides = ints_prop()
    low = ints_prop()
    high = ints_prop()
    dilation = ints_prop()
    input_dilation = ints_prop()

    def __init__(
        self,
        x: Operand,
        window: Sequence[int],
        *,
        monoid: str = "sum",
        strides: Sequence[int] | None = None,
        low: Sequence[int] | None = None,
        high: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        input_dilation: Sequence[int] | None = None,
        element: Attribute | Element | None = None,
        location: Location | None = None,
    ):
        ones, zeros = [1] * rank_of(x), [0] * rank_of(x)
        numbers = (window, strides or ones, low or zeros, high or zeros, dilation or ones, input_dilation or ones)
        shape = window_shape(shape_of(x), *numbers)
        properties = {**dict(zip(_NUMBERS, numbers, strict=True)), "monoid": monoid}
        self.setup([x], [tensor(shape, element or element_of(x))], properties, location)

    @property
    def numbers(self) -> dict[str, tuple[int, ...]]:
        """The properties with a number for each axis."""
        return {name: ints(getattr(self, name)) for name in _NUMBERS}

    def iteration(self) -> Iteration:
        """d is the place in the result, r the place in the window."""
        shape, window = shape_of(self.x), ints(self.window)
        dims = (
            *numbered("d", shape_of(self.result)),
            *numbered("r", window, Kind.WINDOW, self.monoid.data),
        )
        exprs = dim_exprs(len(dims))
        places, inside = [], []
        axes = zip(shape, *(ints(p) for p in (self.strides, self.low, self.dilation, self.input_dilation)), strict=True)
        for axis, (extent, stride, low, dilation, apart) in enumerate(axes):
            place, tap = exprs[axis], exprs[len(shape) + axis]
            # Where there is one place in a window, d is the only dimension that moves.
            at = place * stride + tap * dilation - low if window[axis] > 1 else place * stride - low
            inside.append(Bound(at, 0, max(0, (extent - 1) * apart + 1)))
            if apart > 1:
                inside.append(Bound(at % apart, 0, 1))
                at = at // apart
            places.append(at)
        x = access(len(dims), places)
        result = access(len(dims), exprs[: len(shape)])
        return Iteration(dims, (type(x)(x.map, tuple(inside)),), result.map)

    def check(self) -> None:
        rank = rank_of(self.x)
        if self.monoid.data not in MONOIDS:
            raise self.fail(f"expects a monoid of {', '.join(MONOIDS)}, found {self.monoid.data}")
        for name, least in _NUMBERS.items():
            values = ints(getattr(self, name))
            self.check_count(values, rank, f"{name}, one for each axis")
            if any(value < least for value in values):
                raise self.fail(f"expects {name} of {least} or more, found {list(values)}")
        self.check_element(self.x, NUMBER)
        self.check_element(self.result, NUMBER, " result")
        if self.monoid.data != "sum":
            self.check_same_element(self.x)
        self.check_result_shape(window_shape(shape_of(self.x), **self.numbers))
