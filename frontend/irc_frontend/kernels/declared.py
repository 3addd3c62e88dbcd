"""Kernels of the user's code, as ops: what they declare of operands, results, effects and grid, and how calls are
recorded."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from irc.runtime.artifact import DTYPES
from irc_frontend.elementwise import astype
from irc_frontend.evaluation import on_gpu
from irc_frontend.graph import ARGUMENT, LAUNCH, Node, fail
from irc_frontend.jit import is_array
from irc_frontend.kernels.called import CalledKernel
from irc_frontend.kernels.signatures import Bound, Declared, bind, declared
from irc_frontend.pytrees import tree_leaves
from irc_frontend.tensor import Tensor, node_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import TensorType

    from irc.dialects.cuda import KernelOp
    from irc_frontend.kernels.gradients import Recorded

Count: TypeAlias = int | Callable[..., int]
Grid: TypeAlias = int | Sequence[int] | Callable[..., int | Sequence[int]]

Array: TypeAlias = tuple[tuple[int, ...], str]
"""The shape and the element type of one."""

MAX_THREADS = 1024
"""Of a block."""


@dataclass(frozen=True)
class Pointers:
    """The arrays that a kernel has a pointer for, and what an op says of them. numbers: of each among the operands of a
    launch, results behind arrays."""

    declared: Sequence[Declared]
    numbers: Sequence[int]
    writes: Sequence[int]
    updates: Sequence[int] | None
    sums: Sequence[int] | None


class DeclaredKernel(CalledKernel):
    """A kernel with its declarations; a subclass says how its code becomes an op for a kind of call."""

    def __init__(
        self,
        name: str,
        operands: str,
        results: str,
        grid: Grid,
        updates: Mapping[str, str],
        zeroed: Sequence[str],
        reference: Callable[..., Any] | None,
    ):
        self.__name__ = name
        self._operands, self._results = declared("operands", operands), declared("results", results)
        self._grid, self._reference = grid, reference
        self._updates, self._zeroed = dict(updates), tuple(zeroed)
        self._check_declarations()
        self.check_names("grid", grid)
        super().__init__()

    @property
    @abstractmethod
    def written_in(self) -> str:
        """What its code is, in messages."""

    @abstractmethod
    def compiled(self, bound: Bound) -> tuple[KernelOp, list[Array]]:
        """The kernel of a kind of call, and the arrays that it writes besides its results, for itself alone."""

    @property
    def called_as(self) -> str:
        return self.__name__

    @property
    def declarations(self) -> Any:
        """All that is declared, as `constants` has it."""
        texts = [str(each) for each in (*self._operands, *self._results)]
        grid = None if callable(self._grid) else self._grid
        return texts, grid, sorted(self._updates.items()), self._zeroed

    @property
    def _arrays(self) -> list[Declared]:
        return [each for each in self._operands if each.extents is not None]

    @property
    def names(self) -> set[str]:
        """Extents and numbers: what an extent of a result may use."""
        bare = {extent.name for each in self._arrays for extent in each.extents or () if extent.name is not None}
        return bare | {each.name for each in self._operands if each.extents is None}

    @property
    def known(self) -> set[str]:
        """Names that functions of a call may use."""
        return self.names

    def _check_declarations(self) -> None:
        name, listed = self.__name__, ", ".join(sorted(self.names)) or "none"
        if not self._results:
            raise fail(f"results: {name} has none", "a kernel is an op that gives the arrays it writes")
        types = {each.element for each in self._arrays}
        for each in (*self._arrays, *self._results):
            unknown = {n for extent in each.extents or () for n in extent.names} - self.names
            if unknown:
                raise fail(f"{each} has the unknown extent {min(unknown)}", f"operands have the extents: {listed}")
        for each in self._results:
            if each.extents is None:
                raise fail(f"results: {each} is a number", f"{each.name}: {each.element}[1] is an array of one")
            if each.is_open and each.element not in types:
                raise fail(f"results: {each} has an element type that no operand has")
        taken = [each.name for each in (*self._operands, *self._results)] + sorted(types - set(DTYPES))
        extents = self.names - {each.name for each in self._operands}
        if twice := sorted({each for each in taken if taken.count(each) > 1} | (extents & set(taken))):
            raise fail(f"{name} has {twice[0]} twice", "operands, results, extents and element types are told by names")
        self._check_effects()

    def _check_effects(self) -> None:
        arrays = {each.name: each for each in self._arrays}
        results = {each.name: each for each in self._results}
        for result, operand in self._updates.items():
            if result not in results or operand not in arrays:
                raise fail(
                    f"updates: expected a result and an operand that it holds, found {result!r}: {operand!r}",
                    f"results: {', '.join(results)}; operands: {', '.join(arrays)}",
                )
            if str(results[result]).partition(":")[2] != str(arrays[operand]).partition(":")[2]:
                raise fail(f"updates: {results[result]} is not of the type of {arrays[operand]}")
        for each in self._zeroed:
            if each not in results or each in self._updates:
                hint = f"results: {', '.join(results)}; one that updates an operand is not zero"
                raise fail(f"zeroed: expected results, found {each!r}", hint)

    def check_names(self, what: str, value: Any) -> None:
        if not callable(value):
            return
        unknown = [each for each in inspect.signature(value).parameters if each not in self.known]
        if unknown:
            known = ", ".join(sorted(self.known)) or "none"
            raise fail(f"{what} is a function of {unknown[0]}, which no operand declares", f"names are {known}")

    def record(self, args: Any, options: Any, leaves: Sequence[Any], nodes: Sequence[Node]) -> Recorded:
        from irc_frontend.kernels.gradients import Recorded

        given = self._given(args, options)
        arrays = iter(nodes)
        values = [next(arrays) if is_array(each) else each for each in given]
        inputs = [Node(ARGUMENT, (), x.shape, x.element) for x in nodes]
        types = [(x.shape, x.element) if isinstance(x, Node) else x for x in values]
        bound = bind(self.__name__, self._operands, types)
        reference = None if self._reference is None else self._referred(self._reference, values, inputs, bound)
        if on_gpu():
            roots = self._launched(inputs, bound)
        elif reference is None:
            raise fail(
                f"{self.__name__} is {self.written_in}, which a GPU alone runs",
                "give it reference=, a function of the operands by numpy's functions or irc's, for other targets",
            )
        else:
            roots = reference
        remaining = iter(inputs)
        arguments = [Tensor.of(next(remaining)) if isinstance(each, Node) else each for each in values]
        results = tuple(map(Tensor.of, roots))
        tree = results[0] if len(results) == 1 else results
        views = [None] * len(inputs)
        return Recorded(self.__name__, tree, inputs, roots, (arguments, {}), self._own, views, False, reference)

    def _given(self, args: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
        """The operands in order."""
        names = [each.name for each in self._operands]
        for each in options:
            if each not in names[len(args) :]:
                raise fail(f"{self.__name__} takes no operand {each} here", f"they are {', '.join(names)}")
        return [*args, *(options[each] for each in names[len(args) :] if each in options)]

    def _shapes(self, bound: Bound) -> list[tuple[tuple[int, ...], str]]:
        return [(bound.shape(each), bound.element(each)) for each in self._results]

    def _referred(
        self, function: Callable[..., Any], values: Sequence[Any], inputs: Sequence[Node], bound: Bound
    ) -> list[Node]:
        """The results by the reference, of the types that are declared."""
        remaining = iter(inputs)
        given = [Tensor.of(next(remaining)) if isinstance(each, Node) else each for each in values]
        found = [node_of(each) for each in tree_leaves(function(*given))]
        shapes = self._shapes(bound)
        if [each.shape for each in found] != [shape for shape, _ in shapes]:
            texts = ", ".join(each.type for each in found)
            raise fail(
                f"the reference of {self.__name__} gives {texts or 'nothing'}",
                f"results are {', '.join(map(str, self._results))}, here of the shapes "
                + ", ".join(str(list(shape)) for shape, _ in shapes),
            )
        return [astype(node, element) for node, (_, element) in zip(found, shapes, strict=True)]

    def _launched(self, inputs: Sequence[Node], bound: Bound) -> list[Node]:
        """The results by a launch of the kernel."""
        from irc_frontend.launch import Launch

        shapes = self._shapes(bound)
        kernel, own = self.compiled(bound)
        launch = Launch(self.__name__, kernel, [_tensor(*each) for each in (*shapes, *own)])
        attributes = (("program", launch),)
        return [Node(LAUNCH, inputs, shape, each, attributes, result=i) for i, (shape, each) in enumerate(shapes)]

    def pointers(self) -> Pointers:
        """Of operands first. One that a result updates has that result's."""
        arrays, results = self._arrays, list(self._results)
        names = [each.name for each in arrays]
        updated = {names.index(operand) for operand in self._updates.values()}
        first = len(arrays)
        numbers = [*(i for i in range(first) if i not in updated), *range(first, first + len(results))]
        places = {each.name: first + i for i, each in enumerate(results)}
        pairs = [n for result, operand in self._updates.items() for n in (names.index(operand), places[result])]
        return Pointers(
            [(arrays + results)[number] for number in numbers],
            numbers,
            [int(number >= first) for number in numbers],
            pairs or None,
            [places[each] for each in self._zeroed] or None,
        )

    def grid_of(self, known: Mapping[str, Any]) -> tuple[int, int, int]:
        """With these values of names."""
        grid = self._count("grid", self._grid, known)
        return (*grid, 1, 1)[:3]  # pyright: ignore[reportReturnType]

    def _count(self, what: str, value: Any, known: Mapping[str, Any]) -> tuple[int, ...]:
        """One to three numbers, each 1 or more."""
        found = value_of(value, known)
        numbers = (found,) if isinstance(found, int) else tuple(found) if isinstance(found, tuple | list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if not 1 <= len(numbers) <= 3 or any(type(each) is not int or each < 1 for each in numbers):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            raise fail(f"{what} of {self.__name__} is {found!r}", "expected one to three integers of 1 or more")
        return numbers  # pyright: ignore[reportUnknownVariableType]

    def one_of(self, what: str, value: Any, known: Mapping[str, Any], allowed: range) -> int:
        found = value_of(value, known)
        if type(found) is not int or found not in allowed:
            raise fail(
                f"{what} of {self.__name__} is {found!r}",
                f"expected an integer in {allowed[0]}..{allowed[-1]}"
                + (": threads along x" if what == "block" else ""),
            )
        return found


def value_of(value: Any, known: Mapping[str, Any]) -> Any:
    """A value that is given, or what a function of names gives."""
    if not callable(value):
        return value
    return value(**{name: known[name] for name in inspect.signature(value).parameters})


def _tensor(shape: tuple[int, ...], element: str) -> TensorType[Any]:
    from xdsl.dialects.builtin import TensorType

    from irc.dialects.nd.base import tensor
    from irc.ir.dtypes import element_named

    type = tensor(shape, element_named(element))
    assert isinstance(type, TensorType)
    return type
