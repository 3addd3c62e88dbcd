"""`Tensor`: a lazy array. Operations record a graph; asking for a value compiles and runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np

from irc.runtime.artifact import DTYPES
from irc_frontend import elementwise, indexing, linear, structure
from irc_frontend.at import At
from irc_frontend.elementwise import Number
from irc_frontend.evaluation import evaluate
from irc_frontend.function_methods import FunctionMethods
from irc_frontend.graph import LEAF, Node, element_named, fail
from irc_frontend.leaves import leaf, moved, to_numpy
from irc_frontend.promotion import common_element
from irc_frontend.reduction_methods import Reductions
from irc_frontend.tile_indices import open_trace, trace_at

Like: TypeAlias = "Tensor | np.ndarray[Any, Any] | np.generic | Number"
"""What operators take beside a Tensor: arrays become inputs, numbers take the other side's element type."""


class Tensor(Reductions, FunctionMethods):
    """A lazy array with numpy's operators and names, and irc's dtype rules (docs/language.md).

    `Tensor(array)` is an input: a numpy array, or an array on the device that has DLPack. Its elements are read when a
    value is computed, so it must not change before. Element types are named as in `.irc` (`bf16`) or as in numpy.
    Errors are `irc.IrcError`s at the line that recorded the op.
    """

    __slots__ = ("_node",)

    def __init__(self, array: Any, dtype: Any = None):
        node = array._node if isinstance(array, Tensor) else leaf(array, dtype)
        self._node: Node = node if dtype is None else elementwise.astype(node, element_named(dtype))

    @classmethod
    def of(cls, node: Node) -> Self:
        """The tensor of a recorded node."""
        made = cls.__new__(cls)
        made._node = node
        return made

    @property
    def node(self) -> Node:
        """What was recorded."""
        return self._node

    @property
    def shape(self) -> tuple[int, ...]:
        return self._node.shape

    @property
    def ndim(self) -> int:
        return self._node.rank

    @property
    def size(self) -> int:
        """Elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> np.dtype[Any]:
        """As numpy and ml_dtypes have it; `element` has irc's name."""
        return DTYPES[self._node.element]

    @property
    def element(self) -> str:
        """irc's name of the element type: `bf16`."""
        return self._node.element

    @property
    def is_computed(self) -> bool:
        """Whether it has its value."""
        return self._node.op == LEAF

    @property
    def T(self) -> Tensor:
        """All axes reversed, as numpy has it."""
        return self.permute(*reversed(range(self.ndim)))

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""
        return Tensor.of(structure.swap_last(self._node))

    @property
    def at(self) -> At:
        """`x.at[key].set(values)`, and `get add subtract multiply divide min max`: another array."""
        return At(self, _key)

    # Values.

    def value(self) -> Any:
        """The array, computed now if it was not: numpy's, or of the library whose device arrays went in."""
        return evaluate([self._node])[0]

    def numpy(self) -> np.ndarray[Any, Any]:
        """The value as a numpy array."""
        return to_numpy(self.value())

    def to(self, device: str) -> Tensor:
        """The value on the `cpu` or on the GPU, `cuda` or `cuda:1`; itself where it is there. Programs on a GPU leave
        their results there if an argument is there, and copy those that are not."""
        return Tensor.of(moved(self.node, self.value(), device))

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self.numpy().item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Tensor:
        """`np.sin(x)`, `np.add(array, x)`: irc's function of that name."""
        from irc_frontend.numpy_calls import call_ufunc

        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        """`np.sum(x)`: irc's function of that name; of the value where there is none."""
        from irc_frontend.numpy_calls import call_function

        return call_function(function, args, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.value().__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        """The value's own capsule; numpy has none of bf16 and f8."""
        return self.value().__dlpack__(**options)

    def __bool__(self) -> bool:
        if (trace := open_trace()) is not None:
            trace.check_decided(self)
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if (trace := open_trace()) is not None:
            trace.check_iterated(self)
        return (self[position] for position in range(len(self)))

    def __str__(self) -> str:
        """The value, computed now if it was not, as numpy prints it; `repr` computes nothing."""
        return repr(self) if self._node.is_recorded else str(self.numpy())

    def __format__(self, spec: str) -> str:
        """As Python formats a number, where there are no axes: `f"{loss:.3f}"`."""
        return format(self.item(), spec) if spec and not self.shape else format(str(self), spec)

    def __reduce__(self) -> Any:
        """Copies and pickles have the value."""
        return Tensor, (self.numpy(),)

    def __deepcopy__(self, memo: Any) -> Tensor:
        """Tensors do not change."""
        return self

    def __repr__(self) -> str:
        if not self.is_computed:
            return f"<Tensor {self._node.type}, not computed>"
        return f"Tensor({np.array2string(self.numpy(), separator=', ', prefix='Tensor(')}, {self._node.element})"

    __hash__ = object.__hash__

    # Operators.

    def __add__(self, other: Like) -> Tensor:
        return applied("add", self, other)

    def __radd__(self, other: Like) -> Tensor:
        return applied("add", other, self)

    def __sub__(self, other: Like) -> Tensor:
        return applied("sub", self, other)

    def __rsub__(self, other: Like) -> Tensor:
        return applied("sub", other, self)

    def __mul__(self, other: Like) -> Tensor:
        return applied("mul", self, other)

    def __rmul__(self, other: Like) -> Tensor:
        return applied("mul", other, self)

    def __truediv__(self, other: Like) -> Tensor:
        return applied("div", self, other)

    def __rtruediv__(self, other: Like) -> Tensor:
        return applied("div", other, self)

    def __floordiv__(self, other: Like) -> Tensor:
        return applied("floordiv", self, other)

    def __rfloordiv__(self, other: Like) -> Tensor:
        return applied("floordiv", other, self)

    def __mod__(self, other: Like) -> Tensor:
        return applied("mod", self, other)

    def __rmod__(self, other: Like) -> Tensor:
        return applied("mod", other, self)

    def __pow__(self, other: Like) -> Tensor:
        return applied("pow", self, other)

    def __rpow__(self, other: Like) -> Tensor:
        return applied("pow", other, self)

    def __and__(self, other: Like) -> Tensor:
        return applied("bitwise_and", self, other)

    def __rand__(self, other: Like) -> Tensor:
        return applied("bitwise_and", other, self)

    def __or__(self, other: Like) -> Tensor:
        return applied("bitwise_or", self, other)

    def __ror__(self, other: Like) -> Tensor:
        return applied("bitwise_or", other, self)

    def __xor__(self, other: Like) -> Tensor:
        return applied("bitwise_xor", self, other)

    def __rxor__(self, other: Like) -> Tensor:
        return applied("bitwise_xor", other, self)

    def __lshift__(self, other: Like) -> Tensor:
        return applied("shift_left", self, other)

    def __rshift__(self, other: Like) -> Tensor:
        return applied("shift_right", self, other)

    def __matmul__(self, other: Like) -> Tensor:
        return Tensor.of(linear.matmul(self._node, node_of(other)))

    def __rmatmul__(self, other: Like) -> Tensor:
        return Tensor.of(linear.matmul(node_of(other), self._node))

    def __eq__(self, other: object) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return applied("equal", self, other)

    def __ne__(self, other: object) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return applied("not_equal", self, other)

    def __lt__(self, other: Like) -> Tensor:
        return applied("less", self, other)

    def __le__(self, other: Like) -> Tensor:
        return applied("less_equal", self, other)

    def __gt__(self, other: Like) -> Tensor:
        return applied("greater", self, other)

    def __ge__(self, other: Like) -> Tensor:
        return applied("greater_equal", self, other)

    def __neg__(self) -> Tensor:
        return applied("neg", self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return applied("abs", self)

    def __invert__(self) -> Tensor:
        return applied("bitwise_not", self)

    def __getitem__(self, key: Any) -> Tensor:
        """numpy's indices: `x[1, :4, None, ..., ::-1]`, arrays of integers, which may be computed, and masks, whose
        values are computed now: how many elements one chooses is a shape."""
        if (trace := trace_at(self._node, key)) is not None:
            return trace.load(self, key)
        return Tensor.of(indexing.index(self._node, _key(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes a tile, in a kernel (docs/kernels.md)."""
        trace = trace_at(self._node, key)
        if trace is None:
            raise fail(
                "Tensors do not change; a loop over tiles writes arrays", "x.at[key].set(values) makes another one"
            )
        trace.store(self, key, value)

    def become(self, node: Node) -> None:
        """Stands for another node from now on: what a kernel wrote."""
        self._node = node

    # Methods, as numpy has them.

    def astype(self, dtype: Any) -> Tensor:
        return Tensor.of(elementwise.astype(self._node, element_named(dtype)))

    def reshape(self, *shape: Any) -> Tensor:
        return Tensor.of(structure.reshape(self._node, _varargs(shape)))

    def permute(self, *axes: Any) -> Tensor:
        return Tensor.of(structure.permute(self._node, _varargs(axes)))

    def transpose(self, *axes: Any) -> Tensor:
        """With axes as `permute`; without, all axes reversed."""
        return self.permute(*axes) if axes else self.T

    def flatten(self) -> Tensor:
        return self.reshape(-1 if self.size else 0)

    def ravel(self) -> Tensor:
        return self.flatten()

    def swapaxes(self, a: int, b: int) -> Tensor:
        return Tensor.of(structure.swap(self._node, a, b))

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        return Tensor.of(structure.squeeze(self._node, axis))

    def dot(self, other: Like) -> Tensor:
        return Tensor.of(linear.dot(self._node, operand_of(other)))

    def clip(self, min: Like | None = None, max: Like | None = None) -> Tensor:
        """Limited to `min` and `max`; None is no limit."""
        if min is not None and max is not None:
            return applied("clamp", self, min, max)
        above = self if min is None else applied("maximum", self, min)
        return above if max is None else applied("minimum", above, max)


def applied(op: str, *operands: Any, **attributes: Number | str) -> Tensor:
    """An elementwise op of operands, one of which is a Tensor or an array."""
    return Tensor.of(elementwise.apply(op, *map(operand_of, operands), **attributes))


def operand_of(value: Any) -> Node | Number:
    """A node, or a Python number, which has no element type of its own."""
    if isinstance(value, bool | int | float):
        return value
    return node_of(value)


def node_of(value: Any) -> Node:
    """The node of a Tensor; an array becomes an input."""
    return value.node if isinstance(value, Tensor) else leaf(value, None)


def _key(key: Any) -> Any:
    """An index with the nodes of Tensors."""
    if isinstance(key, tuple):
        return tuple(map(_key, key))  # pyright: ignore[reportUnknownArgumentType]
    return key.node if isinstance(key, Tensor) else key


def _varargs(values: tuple[Any, ...]) -> Sequence[int]:
    """`f(1, 2)` and `f((1, 2))` alike."""
    return values[0] if len(values) == 1 and not isinstance(values[0], int) else values


def tensors_of(operands: Sequence[Like]) -> list[Tensor]:
    """The operands with one element type (`irc_frontend.promotion`)."""
    given = [operand_of(x) for x in operands]
    arrays = [x for x in given if isinstance(x, Node)]
    if not arrays:
        raise fail("a function of numbers alone has no element type", "make one of them a Tensor")
    element = common_element("combine", arrays, [x for x in given if not isinstance(x, Node)])
    return [Tensor(Tensor.of(x) if isinstance(x, Node) else x, element) for x in given]
