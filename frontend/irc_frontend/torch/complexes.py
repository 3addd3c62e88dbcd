"""Complex arrays as two real ones each, the real and the imaginary parts: what ops on them compute is ops on those, of
which irc makes programs.

Arguments are read by `view_as_real`, and what torch needs complex, results and the operands of other ops, is
`view_as_complex` of an array of pairs: both are views. Fourier transforms are products (`irc_frontend.torch.fourier`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._guards import detect_fake_mode
from torch._higher_order_ops.effects import with_effects
from torch._prims_common import corresponding_real_dtype
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, GraphModule, Interpreter
from torch.fx import Node as FxNode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta
from torch.utils._pytree import tree_leaves, tree_map

from irc_frontend.torch.decompositions import decompositions
from irc_frontend.torch.fourier import is_transformed, root_matrix, transformed
from irc_frontend.torch.preparation import order_of, results_of, strides_of
from irc_frontend.torch.rules import REASON

aten = torch.ops.aten

COMPLEX_VIEWS = frozenset([aten.view_as_real.default, aten.view_as_complex.default, torch.resolve_conj])
"""The views between complex arrays and arrays of pairs; torch copies those that are marked as conjugates."""


@dataclass(frozen=True)
class Parts:
    """A complex array. whole: itself, where torch has it."""

    real: Tensor
    imag: Tensor
    whole: Tensor | None = None

    def times(self, other: Parts) -> Parts:
        return Parts(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)

    def scaled(self, factor: Any) -> Parts:
        """By a real number or array."""
        return Parts(self.real * factor, self.imag * factor)

    def each(self, function: Callable[[Tensor], Tensor]) -> Parts:
        return Parts(function(self.real), function(self.imag))

    def conjugate(self) -> Parts:
        return Parts(self.real, -self.imag)


def with_real_parts(module: GraphModule) -> GraphModule:
    """A graph of ATen ops of static shapes whose complex arrays are real ones."""
    graph = module.graph
    held = any(node.op == "get_attr" or node.target is with_effects for node in graph.nodes)
    if held or not any(_is_complex(node) for node in graph.nodes):
        return module
    inputs = [node.meta.get("val") for node in graph.find_nodes(op="placeholder")]
    mode = detect_fake_mode(inputs)
    if mode is None or not all(isinstance(each, Tensor) for each in inputs):
        return module
    with mode, torch.no_grad(), preserve_node_meta():
        inputs = [each.resolve_conj() for each in inputs]
        found = make_fx(_OfParts(module).run, decomposition_table=decompositions())(*inputs)
    for node, old in zip(found.graph.find_nodes(op="placeholder"), graph.find_nodes(op="placeholder"), strict=True):
        node.meta = dict(old.meta)
    _resolve_arguments(found.graph)
    _hold_matrices(found)
    found.graph.eliminate_dead_code()
    for node in found.graph.nodes:
        if node.target in COMPLEX_VIEWS:
            node.meta["custom"] = {**node.meta.get("custom", {}), REASON: "a view of a complex array"}
    found.recompile()
    return found


def _is_complex(node: FxNode) -> bool:
    return any(isinstance(each, Tensor) and each.is_complex() for each in tree_leaves(node.meta.get("val")))


def _resolve_arguments(graph: Graph) -> None:
    """Has the arguments that are read as pairs without the mark of a conjugate, which is seen when they come."""
    for node in graph.find_nodes(op="call_function", target=aten.view_as_real.default):
        (operand,) = node.all_input_nodes
        if operand.op == "placeholder":
            with graph.inserting_before(node):
                resolved = graph.call_function(torch.resolve_conj, (operand,))
            resolved.meta = dict(operand.meta)
            node.replace_input_with(operand, resolved)


def _hold_matrices(module: GraphModule) -> None:
    """Has the matrices of transforms as arrays that the graph holds."""
    held: dict[Any, str] = {}
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.irc.roots.default):
        if node.args not in held:
            held[node.args] = f"roots_{len(held)}"
            count: Any = node.args[0]
            columns: Any = node.args[1]
            with unset_fake_temporarily():
                module.register_buffer(held[node.args], root_matrix(count, columns, node.args[2] is True))
        with module.graph.inserting_before(node):
            matrix = module.graph.get_attr(held[node.args])
        matrix.meta = dict(node.meta)
        node.replace_all_uses_with(matrix)
        module.graph.erase_node(node)


class _OfParts(Interpreter):
    """Runs a graph with complex arrays as their parts, as far as `RULES` know."""

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self._results = results_of(module.graph)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        leaves = tree_leaves((args, kwargs), is_leaf=lambda each: isinstance(each, Parts))
        is_of_complex = any(isinstance(each, Parts) or _is_complex_value(each) for each in leaves)
        makes_complex = isinstance(kwargs.get("dtype"), torch.dtype) and kwargs["dtype"].is_complex
        rule = RULES.get(target)
        if rule is not None and (is_of_complex or makes_complex or target in MAKING):
            opened: Any = _mapped((args, kwargs), parts_of)
            found = rule(*opened[0], **opened[1])
            if found is not NotImplemented:
                return found
        closed: Any = _mapped((args, kwargs), lambda each: joined(each) if isinstance(each, Parts) else each)
        return super().call_function(target, *closed)

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        found = [_placed(each, strides_of(node)) for each, node in zip(args[0], self._results, strict=True)]
        return super().output(target, (tuple(found),), kwargs)


def _mapped(tree: Any, function: Callable[[Any], Any]) -> Any:
    return tree_map(function, tree, is_leaf=lambda each: isinstance(each, Parts))


def _is_complex_value(value: Any) -> bool:
    return isinstance(value, complex) or (isinstance(value, Tensor) and value.is_complex())


def parts_of(value: Any) -> Any:
    """The parts of a complex array or number; others as they are."""
    if not isinstance(value, Tensor) or not value.is_complex():
        return value
    value = value.resolve_conj()
    pairs = torch.view_as_real(value)
    return Parts(pairs.select(-1, 0), pairs.select(-1, 1), value)


def joined(parts: Parts) -> Tensor:
    """The complex array."""
    if parts.whole is not None:
        return parts.whole
    return torch.view_as_complex(torch.stack([parts.real, parts.imag], -1))


def _placed(value: Any, stride: tuple[int, ...] | None) -> Any:
    """A result in the order in memory that it is to have."""
    if stride is None or not isinstance(value, Parts | Tensor):
        return value
    shape = value.real.shape if isinstance(value, Parts) else value.shape
    wanted = torch.empty_strided(shape, stride, device="meta")
    if isinstance(value, Tensor):
        return value if value.stride() == stride else _ordered(value, order_of(wanted), Tensor.contiguous)
    if value.whole is not None and value.whole.stride() == stride:
        return value.whole
    return _ordered(value, order_of(wanted), joined)


def _ordered(value: Any, order: Sequence[int], make: Callable[[Any], Tensor]) -> Tensor:
    """The array made of one, or of parts, whose axes are in an order."""
    if list(order) == sorted(order):
        return make(value)

    def turned(x: Tensor) -> Tensor:
        return torch.permute(x, tuple(order))

    made = make(value.each(turned) if isinstance(value, Parts) else turned(value))
    return torch.permute(made, tuple(map(order.index, range(len(order)))))


def _complex(value: Any, like: Parts) -> Parts:
    """A number or an array, real or complex, as parts beside others."""
    if isinstance(value, Parts):
        return value
    if isinstance(value, Tensor):
        value = value.to(_part_type(value.dtype) if value.is_floating_point() else like.real.dtype)
        return Parts(value, torch.zeros_like(value))
    number = complex(value)
    return Parts(like.real.new_full((), number.real), like.real.new_full((), number.imag))


def _first_parts(*values: Any) -> Parts:
    """The first complex array; the real one beside a complex number as one."""
    leaves = tree_leaves(values, is_leaf=lambda x: isinstance(x, Parts))
    found = next((each for each in leaves if isinstance(each, Parts)), None)
    if found is not None:
        return found
    x = next(each for each in leaves if isinstance(each, Tensor))
    real = x.to(_part_type(x.dtype))
    return Parts(real, torch.zeros_like(real))


def _as_part(value: Any) -> Any:
    """A real number or array, as what parts are multiplied with."""
    is_real = isinstance(value, Tensor) and value.is_floating_point()
    return value.to(_part_type(value.dtype)) if is_real else value


def _part_type(dtype: torch.dtype) -> torch.dtype:
    """The type of the parts of what a real array and a complex number give: torch has no complex numbers of bf16."""
    if not dtype.is_floating_point:
        return torch.get_default_dtype()
    return torch.float32 if dtype is torch.bfloat16 else dtype


RULES: dict[Any, Callable[..., Any]] = {}
"""What an op means, of parts in the places of complex arrays; NotImplemented where that is torch's."""

MAKING = frozenset([aten.view_as_complex.default, aten.complex.default, aten.polar.default, aten._fft_r2c.default])
"""Ops that make complex arrays of real ones."""


def _rule(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(ops, function))
        return function

    return register


def _of_each_part(op: Any, is_promoting: bool, is_storing: bool) -> Callable[..., Any]:
    """The rule of an op that treats both parts alike. is_promoting: its real operands are complex ones whose imaginary
    parts are zeros. is_storing: its result is of the type of its first operand."""

    def record(*args: Any, **options: Any) -> Any:
        if options.get("dtype") is not None or (is_storing and not isinstance(args[0], Parts)):
            return NotImplemented
        first = _first_parts(args)

        def part(name: str) -> Any:
            def chosen(value: Any) -> Any:
                if is_promoting and isinstance(value, Tensor):
                    value = _complex(value, first)
                return getattr(value, name) if isinstance(value, Parts) else value

            return op(*_mapped(args, chosen), **_mapped(options, chosen))

        real, imag = part("real"), part("imag")
        if isinstance(real, list | tuple):
            return [Parts(*each) for each in zip(real, imag, strict=True)]
        return Parts(real, imag)

    return record


_MOVING = """alias.default clone.default detach.default view.default _unsafe_view.default permute.default transpose.int
t.default slice.Tensor select.int expand.default squeeze.default squeeze.dim squeeze.dims unsqueeze.default flip.default
roll.default diagonal.default gather.default index_select.default index.Tensor index_put.default unbind.int
split_with_sizes.default split.Tensor sum.default sum.dim_IntList mean.default mean.dim neg.default tril.default
triu.default repeat.default cumsum.default as_strided.default unfold.default lift_fresh_copy.default""".split()
"""Ops that move elements, or add them up."""

_JOINING = "cat.default stack.default".split()
"""Ops of which a real operand is as a complex one."""

_STORING = "slice_scatter.default select_scatter.default diagonal_scatter.default copy.default".split()
"""Ops that store values of another element type as those of theirs."""


def _overload(text: str) -> Any:
    name, overload = text.split(".")
    return getattr(getattr(aten, name), overload)


for _text in (*_MOVING, *_JOINING, *_STORING):
    _rule(_overload(_text))(_of_each_part(_overload(_text), _text not in _MOVING, _text in _STORING))


@_rule(aten.where.self)
def _where(condition: Tensor, x: Any, y: Any) -> Parts:
    x, y = (_complex(each, _first_parts(x, y)) for each in (x, y))
    return Parts(torch.where(condition, x.real, y.real), torch.where(condition, x.imag, y.imag))


@_rule(aten.constant_pad_nd.default)
def _pad(x: Parts, pad: Sequence[int], value: Any = 0) -> Parts:
    number = complex(value)
    return Parts(aten.constant_pad_nd(x.real, pad, number.real), aten.constant_pad_nd(x.imag, pad, number.imag))


def _real_options(options: Mapping[str, Any]) -> dict[str, Any]:
    dtype = options.get("dtype")
    return {**options, "dtype": corresponding_real_dtype(dtype)} if dtype is not None else dict(options)


@_rule(aten.full.default)
def _full(shape: Sequence[int], value: Any, **options: Any) -> Parts:
    number = complex(value)
    options = _real_options({**options, "dtype": options.get("dtype") or torch.complex64})
    return Parts(aten.full(shape, number.real, **options), aten.full(shape, number.imag, **options))


@_rule(aten.scalar_tensor.default)
def _scalar_tensor(value: Any, **options: Any) -> Parts:
    return _full((), value, **options)


@_rule(aten.full_like.default)
def _full_like(x: Any, value: Any, *, dtype: Any = None, **options: Any) -> Any:
    if dtype is not None and not dtype.is_complex:
        return NotImplemented
    real = x.real if isinstance(x, Parts) else x
    number, made = complex(value), None if dtype is None else corresponding_real_dtype(dtype)
    made = made or real.dtype
    return Parts(torch.full_like(real, number.real, dtype=made), torch.full_like(real, number.imag, dtype=made))


@_rule(aten.empty.memory_format, aten.zeros.default, aten.new_zeros.default)
def _zeros(first: Any, *rest: Any, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    if not isinstance(first, Parts):
        if dtype is None:
            return NotImplemented
        return _full(first, 0, dtype=dtype, device=device)
    real = first.real.new_zeros(*rest, dtype=None if dtype is None else corresponding_real_dtype(dtype), device=device)
    return Parts(real, torch.zeros_like(real))


@_rule(aten._to_copy.default)
def _to_copy(x: Any, *, dtype: Any = None, **options: Any) -> Any:
    if dtype is not None and not dtype.is_complex:
        return aten._to_copy(x.real, dtype=dtype, **options) if dtype is not torch.bool else NotImplemented
    made = None if dtype is None else corresponding_real_dtype(dtype)
    if isinstance(x, Parts):
        return x.each(lambda part: aten._to_copy(part, dtype=made, **options))
    real = aten._to_copy(x, dtype=made, **options)
    return Parts(real, torch.zeros_like(real))


@_rule(aten.view_as_real.default)
def _view_as_real(x: Parts) -> Tensor:
    return torch.stack([x.real, x.imag], -1)


@_rule(aten.view_as_complex.default)
def _view_as_complex(x: Tensor) -> Parts:
    return Parts(x.select(-1, 0), x.select(-1, 1), torch.view_as_complex(x))


@_rule(aten.complex.default)
def _complex_of(real: Tensor, imag: Tensor) -> Parts:
    return Parts(*torch.broadcast_tensors(real, imag))


@_rule(aten.polar.default)
def _polar(length: Tensor, angle: Tensor) -> Parts:
    return Parts(length * angle.cos(), length * angle.sin())


@_rule(aten.real.default)
def _real(x: Parts) -> Tensor:
    return x.real


@_rule(aten.imag.default)
def _imag(x: Parts) -> Tensor:
    return x.imag


@_rule(aten._conj.default, aten.conj_physical.default, aten._conj_physical.default)
def _conj(x: Parts) -> Parts:
    return x.conjugate()


@_rule(aten.resolve_conj.default)
def _resolved(x: Parts) -> Parts:
    return x


@_rule(aten.add.Tensor, aten.add.Scalar)
def _add(x: Any, y: Any, alpha: Any = 1) -> Parts:
    x, y = (_complex(each, _first_parts(x, y)) for each in (x, y))
    if alpha != 1:
        y = y.times(_complex(alpha, y)) if isinstance(alpha, complex) else y.scaled(alpha)
    return Parts(x.real + y.real, x.imag + y.imag)


@_rule(aten.sub.Tensor, aten.sub.Scalar)
def _sub(x: Any, y: Any, alpha: Any = 1) -> Parts:
    return _add(x, y, -alpha)


@_rule(aten.mul.Tensor, aten.mul.Scalar)
def _mul(x: Any, y: Any) -> Parts:
    if not isinstance(x, Parts):
        x, y = y, x
    if isinstance(x, Parts) and not isinstance(y, Parts | complex):
        return x.scaled(_as_part(y))
    return _complex(x, _first_parts(x, y)).times(_complex(y, _first_parts(x, y)))


@_rule(aten.div.Tensor, aten.div.Scalar)
def _div(x: Any, y: Any) -> Parts:
    if not isinstance(y, Parts | complex):
        return x.each(lambda part: part / _as_part(y))
    x, y = (_complex(each, _first_parts(x, y)) for each in (x, y))
    size = torch.maximum(y.real.abs(), y.imag.abs())  # a square of it may be out of range
    scaled = y.each(lambda part: part / size)
    length = scaled.real * scaled.real + scaled.imag * scaled.imag
    return x.times(scaled.conjugate()).each(lambda part: part / length / size)


@_rule(aten.abs.default)
def _abs(x: Parts) -> Tensor:
    return torch.hypot(x.real, x.imag)


@_rule(aten.angle.default)
def _angle(x: Parts) -> Tensor:
    return torch.atan2(x.imag, x.real)


@_rule(aten.exp.default)
def _exp(x: Parts) -> Parts:
    return _polar(x.real.exp(), x.imag)


@_rule(aten.eq.Tensor, aten.eq.Scalar)
def _eq(x: Any, y: Any) -> Tensor:
    x, y = (_complex(each, _first_parts(x, y)) for each in (x, y))
    return (x.real == y.real) & (x.imag == y.imag)


@_rule(aten.ne.Tensor, aten.ne.Scalar)
def _ne(x: Any, y: Any) -> Tensor:
    return ~_eq(x, y)


def _product(op: Any) -> Callable[[Any, Any], Parts]:
    def record(x: Any, y: Any) -> Parts:
        x, y = (_complex(each, _first_parts(x, y)) for each in (x, y))
        return Parts(op(x.real, y.real) - op(x.imag, y.imag), op(x.real, y.imag) + op(x.imag, y.real))

    return record


for _op in (aten.mm.default, aten.bmm.default):
    _rule(_op)(_product(_op))


@_rule(aten._fft_r2c.default)
def _fft_r2c(x: Tensor, axes: Sequence[int], normalization: int, onesided: bool) -> Any:
    if not is_transformed(x, axes):
        return NotImplemented
    last = axes[-1]
    count = x.shape[last] // 2 + 1 if onesided else None
    real, imag = transformed(x, None, [last], True, count)
    found = Parts(*transformed(real, imag, axes[:-1], True))
    return _normalized(found, [x.shape[axis] for axis in axes], normalization, x.dtype)


@_rule(aten._fft_c2c.default)
def _fft_c2c(x: Parts, axes: Sequence[int], normalization: int, forward: bool) -> Any:
    if not is_transformed(x.real, axes):
        return NotImplemented
    found = Parts(*transformed(x.real, x.imag, axes, forward))
    return _normalized(found, [x.real.shape[axis] for axis in axes], normalization, x.real.dtype)


@_rule(aten._fft_c2r.default)
def _fft_c2r(x: Parts, axes: Sequence[int], normalization: int, count: int) -> Any:
    """Of the last axis, x has the first half: the others are their conjugates. Of the first element, and of the one in
    the middle, only the real part counts."""
    last = axes[-1]
    if not is_transformed(x.real, axes, count):
        return NotImplemented
    real, imag = transformed(x.real, x.imag, axes[:-1], False)
    half = count // 2 + 1
    real, imag = (part.narrow(last, 0, half) for part in (real, imag))
    behind = (count - 1) // 2
    real, imag = (
        torch.cat([part, sign * part.narrow(last, 1, behind).flip(last)], last) if behind else part
        for part, sign in ((real, 1), (imag, -1))
    )
    at = torch.arange(count, device=real.device).reshape(
        [-1 if axis == last % real.ndim else 1 for axis in range(real.ndim)]
    )
    imag = torch.where((at == 0) | (2 * at == count), 0, imag)
    real, imag = transformed(real, imag, [last], False)
    sizes = [*(x.real.shape[axis] for axis in axes[:-1]), count]
    return _normalized(Parts(real, imag), sizes, normalization, x.real.dtype).real


def _normalized(x: Parts, sizes: Sequence[int], normalization: int, dtype: torch.dtype) -> Parts:
    """By torch's number: not at all, by the root of the number of elements, or by that."""
    count = 1
    for size in sizes:
        count *= size
    scale = (1.0, count**-0.5, 1 / count)[normalization]
    return x.each(lambda part: (part * scale if normalization else part).to(dtype))
