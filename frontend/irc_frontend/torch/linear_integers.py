"""Arrays of integers in an ATen graph whose elements follow from where they are: positions of words, their differences,
and what is counted of these.

Libraries of models number words, and find from the numbers where one sequence of a packed row ends: they put a number
before the row, take differences and add up those that are not 1. That there is one sequence is known when the graph is
traced. So it is known for all sizes, where a row of one element more has no place in a class of sizes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph
from torch.fx import Node as FxNode

aten = torch.ops.aten


@dataclass(frozen=True)
class Linear:
    """first + the sum of step * index over the axes: an element at an index. Steps of axes of one element are 0."""

    first: int
    steps: tuple[int, ...]

    @property
    def is_constant(self) -> bool:
        return not any(self.steps)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """With a multiple of one of as many axes, or of fewer, which are the last ones."""
        rank = max(len(self.steps), len(other.steps))
        one, two = ((0,) * (rank - len(each.steps)) + each.steps for each in (self, other))
        steps = tuple(a + factor * b for a, b in zip(one, two, strict=True))
        return Linear(self.first + factor * other.first, steps)

    def ends(self, shape: Sequence[int]) -> tuple[int, int]:
        """The least and the greatest element of an array of this shape."""
        moves = [step * (extent - 1) for step, extent in zip(self.steps, shape, strict=True)]
        return self.first + sum(min(0, move) for move in moves), self.first + sum(max(0, move) for move in moves)


def fold_linear_integers(graph: Graph) -> None:
    """Has arrays that are computed, and of whose elements all are one integer or truth value that is known, filled with
    it. Arrays whose shapes are symbolic are left alone, and so are results of the graph, whose strides are promised."""
    known: dict[FxNode, Linear] = {}
    results = set(graph.output_node().all_input_nodes)
    for node in list(graph.nodes):
        value = _value(node)
        rule = _RULES.get(node.target) if node.op == "call_function" else None
        if value is None or rule is None or 0 in value.shape:
            continue
        try:
            form = rule(node, known)
        except KeyError:  # an operand is not known
            continue
        if form is None or not _fits(form, value):
            continue
        steps = tuple(step if extent > 1 else 0 for step, extent in zip(form.steps, value.shape, strict=True))
        known[node] = Linear(form.first, steps)
        if known[node].is_constant and node.target in _COMPUTED and node not in results:
            known[_filled_with(form.first, graph, node, value)] = known[node]
    for node in reversed(known):
        if not node.users:
            graph.erase_node(node)


def _filled_with(number: int, graph: Graph, node: FxNode, value: torch.Tensor) -> FxNode:
    """What takes the place of a node."""
    filled = bool(number) if value.dtype == torch.bool else number
    options: dict[str, Any] = {
        "dtype": value.dtype,
        "layout": torch.strided,
        "device": value.device,
        "pin_memory": False,
    }
    with graph.inserting_before(node):
        full = graph.call_function(aten.full.default, (list(value.shape), filled), options)
    full.meta = dict(node.meta) | {"val": value.new_empty(value.shape)}
    node.replace_all_uses_with(full)
    return full


def _value(node: FxNode) -> torch.Tensor | None:
    """The fake array of a node of integers or truth values whose shape is static."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.dtype.is_floating_point or value.dtype.is_complex:
        return None
    return value if all(type(extent) is int for extent in value.shape) else None


def _fits(form: Linear, value: torch.Tensor) -> bool:
    """Whether the array's type has all elements."""
    if len(form.steps) != value.ndim:
        return False
    return _has(value.dtype, *form.ends(value.shape))


def _has(dtype: torch.dtype, least: int, most: int) -> bool:
    """Whether a type has all integers from one to another."""
    if dtype == torch.bool:
        return least >= 0 and most <= 1
    info = torch.iinfo(dtype)
    return least >= info.min and most <= info.max


_Known = dict[FxNode, Linear]
_Rule = Callable[[FxNode, _Known], Linear | None]


def _operand(argument: Any, known: _Known) -> Linear:
    """KeyError where it is not known."""
    if isinstance(argument, FxNode):
        return known[argument]
    if isinstance(argument, int):
        return Linear(int(argument), ())
    raise KeyError(argument)


def _known_integer(argument: Any) -> int:
    """Of where something is: KeyError where it follows from a size."""
    if type(argument) is not int:
        raise KeyError(argument)
    return argument


def _shape(node: Any) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


def _dtype(node: Any) -> torch.dtype:
    return node.meta["val"].dtype


def _everywhere(number: int, node: FxNode) -> Linear:
    """The form of a node whose elements are all one number."""
    return Linear(number, (0,) * len(_shape(node)))


def _argument(node: FxNode, number: int, default: Any = None) -> Any:
    return node.args[number] if len(node.args) > number else default


def _arange(node: FxNode, known: _Known) -> Linear | None:
    given = list(node.args) if len(node.args) > 1 else [0, *node.args]
    start, _, step = [*given, 1][:3]
    return Linear(start, (step,)) if type(start) is int and type(step) is int else None


def _filled(node: FxNode, known: _Known) -> Linear | None:
    number = node.args[-1]
    return _everywhere(int(number), node) if isinstance(number, int) else None


def _same(node: FxNode, known: _Known) -> Linear | None:
    return _operand(node.args[0], known)


def _sum(sign: int) -> _Rule:
    """Where truth values are added, one that is true is enough, whatever multiple of it is."""

    def rule(node: FxNode, known: _Known) -> Linear | None:
        a, b = (_operand(each, known) for each in node.args[:2])
        alpha = _known_integer(node.kwargs.get("alpha", 1))
        return a.plus(b, sign * alpha) if alpha == 1 or _dtype(node) != torch.bool else None

    return rule


def _product(node: FxNode, known: _Known) -> Linear | None:
    a, b = (_operand(each, known) for each in node.args[:2])
    if not a.is_constant:
        a, b = b, a
    return Linear(0, (0,) * len(a.steps)).plus(b, a.first) if a.is_constant else None


def _constants(compute: Callable[[int, int], int | bool]) -> _Rule:
    """Of two numbers that are the same everywhere."""

    def rule(node: FxNode, known: _Known) -> Linear | None:
        a, b = (_operand(each, known) for each in node.args[:2])
        if not (a.is_constant and b.is_constant):
            return None
        return _everywhere(int(compute(a.first, b.first)), node)

    return rule


def _comparison(compute: Callable[[int, int], bool]) -> _Rule:
    """Of two numbers that are equally far from one another everywhere. Torch wraps a number that the array's type has
    not."""

    def rule(node: FxNode, known: _Known) -> Linear | None:
        a, b = (_operand(each, known) for each in node.args[:2])
        if isinstance(node.args[1], int) and not _has(_dtype(node.args[0]), b.first, b.first):
            return None
        away = a.plus(b, -1)
        return _everywhere(int(compute(away.first, 0)), node) if away.is_constant else None

    return rule


def _constant_moved(node: FxNode, known: _Known) -> Linear | None:
    """What an op gives that takes elements of its first operand and no others."""
    form = _operand(node.args[0], known)
    return _everywhere(form.first, node) if form.is_constant else None


def _view(node: FxNode, known: _Known) -> Linear | None:
    """Of the same axes but for those of one element."""
    form, rest = _operand(node.args[0], known), [extent for extent in _shape(node.args[0]) if extent != 1]
    if form.is_constant:
        return _everywhere(form.first, node)
    if rest != [extent for extent in _shape(node) if extent != 1]:
        return None
    steps = iter([s for s, extent in zip(form.steps, _shape(node.args[0]), strict=True) if extent != 1])
    return Linear(form.first, tuple(0 if extent == 1 else next(steps) for extent in _shape(node)))


def _expand(node: FxNode, known: _Known) -> Linear | None:
    form = _operand(node.args[0], known)
    return Linear(form.first, (0,) * (len(_shape(node)) - len(form.steps)) + form.steps)


def _permute(node: FxNode, known: _Known) -> Linear | None:
    form = _operand(node.args[0], known)
    return Linear(form.first, tuple(form.steps[axis] for axis in node.args[1]))  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues, reportOptionalIterable]


def _slice(node: FxNode, known: _Known) -> Linear | None:
    form, shape = _operand(node.args[0], known), _shape(node.args[0])
    axis, step = _argument(node, 1, 0) % len(shape), _known_integer(_argument(node, 4, 1))
    start = _known_integer(_argument(node, 2) or 0)
    start = min(max(start + shape[axis] if start < 0 else start, 0), shape[axis])
    steps = [*form.steps]
    steps[axis] *= step
    return Linear(form.first + start * form.steps[axis], tuple(steps))


def _select(node: FxNode, known: _Known) -> Linear | None:
    form, shape = _operand(node.args[0], known), _shape(node.args[0])
    axis, index = _argument(node, 1) % len(shape), _known_integer(_argument(node, 2))
    index = index + shape[axis] if index < 0 else index
    return Linear(form.first + index * form.steps[axis], (*form.steps[:axis], *form.steps[axis + 1 :]))


def _cat(node: FxNode, known: _Known) -> Linear | None:
    """Of rows that go on where the one before ends."""
    parts: Any = node.args[0]
    forms, shapes = [_operand(each, known) for each in parts], [_shape(each) for each in parts]
    axis = _argument(node, 1, 0) % len(shapes[0])
    steps = [form.steps[axis] for form, shape in zip(forms, shapes, strict=True) if shape[axis] > 1]
    step = steps[0] if steps else forms[-1].first - forms[0].first
    whole = Linear(forms[0].first, (*forms[0].steps[:axis], step, *forms[0].steps[axis + 1 :]))
    at = 0
    for form, shape in zip(forms, shapes, strict=True):
        own = (*form.steps[:axis], step if shape[axis] == 1 else form.steps[axis], *form.steps[axis + 1 :])
        if form.first != whole.first + at * step or own != whole.steps:
            return None
        at += shape[axis]
    return whole


def _cumsum(node: FxNode, known: _Known) -> Linear | None:
    form, shape = _operand(node.args[0], known), _shape(node)
    if not shape:
        return form
    if not form.is_constant:
        return None
    axis = _argument(node, 1) % len(shape)
    return Linear(form.first, tuple(form.first if each == axis else 0 for each in range(len(shape))))


_COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_OF_BITS = {"bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor}

_RULES: dict[Any, _Rule] = {
    aten.arange.default: _arange,
    aten.arange.start: _arange,
    aten.arange.start_step: _arange,
    aten.full.default: _filled,
    aten.scalar_tensor.default: _filled,
    aten.clone.default: _same,
    aten.alias.default: _same,
    aten._to_copy.default: _same,
    aten.view.default: _view,
    aten.unsqueeze.default: _view,
    aten.squeeze.dim: _view,
    aten.squeeze.dims: _view,
    aten.expand.default: _expand,
    aten.permute.default: _permute,
    aten.slice.Tensor: _slice,
    aten.select.int: _select,
    aten.cat.default: _cat,
    aten.add.Tensor: _sum(1),
    aten.sub.Tensor: _sum(-1),
    aten.mul.Tensor: _product,
    aten.cumsum.default: _cumsum,
    aten.index.Tensor: _constant_moved,
    aten.gather.default: _constant_moved,
    aten.index_select.default: _constant_moved,
    **{getattr(aten, name).Tensor: _constants(each) for name, each in _OF_BITS.items()},
    **{getattr(aten, name).Scalar: _comparison(each) for name, each in _COMPARISONS.items()},
    **{getattr(aten, name).Tensor: _comparison(each) for name, each in _COMPARISONS.items()},
}

_MOVES = (
    aten.arange,
    aten.full,
    aten.scalar_tensor,
    aten.clone,
    aten.alias,
    aten.view,
    aten.unsqueeze,
    aten.squeeze,
    aten.expand,
    aten.permute,
    aten.slice,
    aten.select,
)
_COMPUTED = {target for target in _RULES if target.overloadpacket not in _MOVES}
"""Ops that compute: what they give is worth knowing."""
