"""An operation object for matrix products: what is multiplied and how is said once, and run on arrays many times."""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from irc.ir.alignment import DEFAULT_ALIGN, align
from irc.runtime.artifact import DTYPES, type_text
from irc.runtime.enqueued import Enqueued
from irc_frontend import elementwise_functions as elementwise
from irc_frontend.evaluation import current_target, default_target
from irc_frontend.graph import ARGUMENT, LEAF, Node, element_named, fail, sorted_nodes
from irc_frontend.leaves import as_given, placed
from irc_frontend.linear_functions import matmul
from irc_frontend.tensor import Tensor, node_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc.runtime.executable import Executable

__all__ = ["MatmulOperation", "MatmulRun", "Operand"]

MAX_PLANS = 64
"""Programs that an operation keeps; the one used least recently goes first."""

LAYOUTS = ("row", "column")

SUMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("bf16", "f8e4m3", "f8e5m2", "f32"), ("f32",)),
    "f16": ("f32", "f16"),
    "f64": ("f64",),
    **dict.fromkeys(("i8", "u8"), ("i32",)),
}
"""The types that products of an element are summed in, the default first."""


@dataclass(frozen=True)
class Operand:
    """An operand of a product: the type of its elements, and which of its two axes is contiguous: those of a `row` are
    neighbors, or those of a `column`. An array that lies otherwise is copied. alignment: elements of which it begins at
    a multiple on a GPU, 16 bytes where nothing is said; what begins elsewhere is copied."""

    element: str
    layout: str = "row"
    alignment: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "element", element_named(self.element))
        if self.layout not in LAYOUTS:
            raise fail(f"unknown layout {self.layout!r} of an operand", f"layouts are {', '.join(LAYOUTS)}")
        most = max(1, DEFAULT_ALIGN // DTYPES[self.element].itemsize)
        known = [1 << power for power in range(most.bit_length())]
        if self.alignment not in (None, *known):
            among = ", ".join(map(str, known))
            raise fail(f"{self.element} are aligned to {among} elements, found alignment = {self.alignment}")

    @property
    def align(self) -> int:
        """Bytes of which it begins at a multiple."""
        return DEFAULT_ALIGN if self.alignment is None else self.alignment * DTYPES[self.element].itemsize

    @property
    def is_column(self) -> bool:
        return self.layout == "column"


class MatmulOperation:
    """A matrix product that is run on many arrays: `d = epilogue(alpha * (a @ b) + beta * c)`.

        operation = ir.MatmulOperation("bf16", ir.Operand("bf16", "column"), "bf16", epilogue=ir.relu,
                                       config={"tile": {"m": 128, "n": 128, "k": 64}, "stages": 4})
        run = operation.run(a, b, c, alpha=1.0, beta=0.5)
        d = run.sync()

    a, b, c: element types, or `Operand`s with a layout. `d` is as `c` is, given or not; to integers it is rounded to
    nearest, and saturates.
    sums: what products are summed in: f32, f64 for f64, i32 for integers of 8 bits; `f16` for f16, where less accurate
    ones do: by mma they take half the registers.
    precision: how f32 operands are multiplied, as in `matmul`.
    epilogue: a function of the sums, scaled as above, and of further arguments by name, which `run` is given: arrays
    (`bias`), or numbers (a slope). It gives an array, or a tuple of several: the first is `d`, others, reductions too,
    are results as they are.
    config: how the kernel is made: fields of a `#kernel.config` (docs/dialects/kernel.md), `tile`, `stages`, `warps`,
    `schedule`, `group`, `split` and others. irc chooses what it leaves open. It is for kernels of a GPU: on other
    targets than `cuda` and `sim` it says nothing.
    target, arch: as in `irc.compile`; without a target, irc's default when it is run.

    A program is compiled for each kind of arguments, and kept. IrcError where types or fields contradict each other.
    """

    def __init__(
        self,
        a: Operand | str,
        b: Operand | str,
        c: Operand | str,
        *,
        sums: str | None = None,
        precision: str = "default",
        epilogue: Callable[..., Any] | None = None,
        config: Mapping[str, Any] | None = None,
        target: str | None = None,
        arch: str | None = None,
    ):
        self.a, self.b, self.c = (each if isinstance(each, Operand) else Operand(each) for each in (a, b, c))
        self.sums = _sums(self.a, self.b, sums)
        self._precision = "f16" if self.sums == "f16" else precision
        self._epilogue = epilogue
        self._names = _further(epilogue)
        self._config = dict(config or {})
        if config:
            from irc.driver.configured import config_of_fields

            config_of_fields(self._config)
        self._target, self._arch = target, arch
        self._plans: OrderedDict[Hashable, _Plan] = OrderedDict()
        self._lock = threading.Lock()

    def plan(self, a: Any, b: Any, c: Any = None, *, alpha: Any = None, beta: Any = None, **further: Any) -> Executable:
        """The program that `run` runs with such arguments, compiled where it was not: its `kernels`, `report`,
        `profile`. Of the arrays, shapes and element types matter alone."""
        return self._planned(_Arguments.of(self, a, b, c, alpha, beta, further)).executable

    def run(
        self,
        a: Any,
        b: Any,
        c: Any = None,
        *,
        alpha: Any = None,
        beta: Any = None,
        out: Any = None,
        stream: Any | None = None,
        **further: Any,
    ) -> MatmulRun:
        """Enqueues one product, and does not wait for it.

        a, b: arrays [..., M, K] and [..., K, N], numpy's, Tensors or arrays on the device; axes in front are batches.
        c: of the result's shape. alpha, beta: numbers or arrays of one element; without them 1. Other numbers need no
        other program.
        Sequences of arrays, for a, b, c and further arrays, are products of their own by one program; those of one
        shape are one launch.
        out: an array for `d`, or a sequence of them. stream: as in a call of an executable.
        """
        arguments = _Arguments.of(self, a, b, c, alpha, beta, further)
        return self._planned(arguments).run(arguments, out, stream)

    def _planned(self, arguments: _Arguments) -> _Plan:
        target = self._target or current_target() or default_target()
        key = target, arguments.kind
        with self._lock:
            if (known := self._plans.get(key)) is not None:
                self._plans.move_to_end(key)
                return known
        made = self._made(arguments, target)
        with self._lock:
            made = self._plans.setdefault(key, made)
            while len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)
        return made

    def _made(self, arguments: _Arguments, target: str) -> _Plan:
        import irc
        from irc.ir.functions import entry_of
        from irc_frontend.build import build_module

        inputs = [Node(ARGUMENT, (), shape, element) for shape, element in arguments.types]
        results = [self._product(arguments, each) for each in arguments.divided([Tensor.of(node) for node in inputs])]
        roots = [tensor.node for each in results for tensor in each]
        order = sorted_nodes([*inputs, *roots])
        if any(node.op == LEAF for node in order):
            hint = "name it as an argument of the epilogue, and give it to run"
            raise fail("the epilogue of a product uses an array beside its arguments", hint)
        module = build_module(order, roots, inputs)
        narrow = {number: size for number, size in enumerate(arguments.aligns(self)) if size < DEFAULT_ALIGN}
        if narrow and target in ("cuda", "sim"):
            align(entry_of(module), narrow)
        if self._config and target in ("cuda", "sim"):
            module = self._configured(module)
        executable = irc.compile(module, target, arch=self._arch if target in ("cuda", "sim") else None)
        return _Plan(self, executable, len(results[0]))

    def _configured(self, module: ModuleOp) -> ModuleOp:
        from irc.driver.compiler import resolve_arch
        from irc.driver.configured import config_of_fields, configured

        return configured(module, config_of_fields(self._config), resolve_arch(self._arch))

    def _product(self, arguments: _Arguments, given: Mapping[str, Tensor]) -> Sequence[Tensor]:
        """The results of one product: `d` as it is stored, and what else the epilogue gives."""
        a, b = (_turned(given[name], operand) for name, operand in (("a", self.a), ("b", self.b)))
        x = matmul(a, b, dtype=self.sums, precision=self._precision)
        scaled = "f64" if self.sums == "f64" else "f32"
        if "alpha" in given or "c" in given:
            x = x.astype(scaled)
        if "alpha" in given:
            x = given["alpha"] * x
        if "c" in given:
            c = _turned(given["c"], self.c).astype(scaled)
            x = x + (given["beta"] * c if "beta" in given else c)
        found: Any = x
        if self._epilogue is not None:
            found = self._epilogue(x, **{name: given[name] for name in self._names})
        results: Sequence[Any] = found if isinstance(found, tuple) else (found,)
        if wrong := [each for each in results if not isinstance(each, Tensor)]:
            raise fail(f"the epilogue of a product gives {type(wrong[0]).__name__}, expected arrays")
        if results[0].shape != x.shape:
            message = f"the epilogue of a product gives {results[0].node.type}, expected the shape of the sums"
            raise fail(message, f"they are {x.node.type}; what has another shape comes behind that")
        d = _rounded(results[0], self.c.element)
        return [_turned(d, self.c), *results[1:]]


class MatmulRun:
    """A product that was enqueued."""

    def __init__(self, enqueued: Enqueued, finish: Callable[[Sequence[Any]], Any]):
        self._enqueued, self._finish = enqueued, finish

    @property
    def is_done(self) -> bool:
        """Whether its results are there."""
        return self._enqueued.is_done

    def sync(self) -> Any:
        """Waits for it. The results, numpy arrays, Tensors or arrays on the device as `a` is: `d`, or a tuple of it and
        what else the epilogue gives; a list of such where there were several products."""
        return self._finish(self._enqueued.wait())


@dataclass(frozen=True)
class _Plan:
    """A program of an operation. count: results of one product."""

    operation: MatmulOperation
    executable: Executable
    count: int

    def run(self, arguments: _Arguments, out: Any, stream: Any | None) -> MatmulRun:
        values = placed(arguments.values, self.executable.target)
        wanted = self._out(arguments, out)
        enqueued = Enqueued(self.executable, values, wanted, stream)

        def finished(results: Sequence[Any]) -> Any:
            several = [results[i : i + self.count] for i in range(0, len(results), self.count)]
            given = out if arguments.are_several and out is not None else [out] * len(several)
            products = [self._given(arguments, *each) for each in zip(several, given, strict=True)]
            return products if arguments.are_several else products[0]

        return MatmulRun(enqueued, finished)

    def _out(self, arguments: _Arguments, out: Any) -> Sequence[Any]:
        """What results are written to, for each the array or None."""
        if out is None:
            return ()
        given: Sequence[Any] = out if arguments.are_several else [out]
        if len(given) != arguments.count:
            raise fail(f"expected {arguments.count} arrays in out, found {len(given)}")
        is_column = self.operation.c.is_column
        return [
            _swapped(array) if is_column and not number else array if not number else None
            for array in given
            for number in range(self.count)
        ]

    def _given(self, arguments: _Arguments, results: Sequence[Any], out: Any) -> Any:
        """The results of one product, as `a` was; `out` where the caller gave it."""
        d, *others = results
        made = [] if out is not None else [_swapped(d) if self.operation.c.is_column else d]
        found = [
            Tensor(x) if isinstance(arguments.like, Tensor) else as_given(x, [arguments.like]) for x in [*made, *others]
        ]
        found = found if out is None else [out, *found]
        return found[0] if len(found) == 1 else tuple(found)


@dataclass(frozen=True)
class _Arguments:
    """The arguments of a run. names: of those of one product; values: their arrays, product by product, as they are
    stored; numbers and arrays that all products share come first. like: an array as results are."""

    shared: Sequence[str]
    own: Sequence[str]
    values: Sequence[Any]
    types: Sequence[tuple[tuple[int, ...], str]]
    count: int
    are_several: bool
    like: Any

    @property
    def kind(self) -> Hashable:
        """What a program is compiled for."""
        return tuple(self.shared), tuple(self.own), tuple(self.types), self.are_several

    def aligns(self, operation: MatmulOperation) -> list[int]:
        """The bytes of which each value begins at a multiple."""
        operands = [getattr(operation, name, None) for name in self.own]
        own = [operand.align if isinstance(operand, Operand) else DEFAULT_ALIGN for operand in operands]
        return [*[DEFAULT_ALIGN] * len(self.shared), *own * self.count]

    def divided(self, tensors: Sequence[Tensor]) -> list[dict[str, Tensor]]:
        """Those of each product by name."""
        common = dict(zip(self.shared, tensors, strict=False))
        rest, each = tensors[len(self.shared) :], len(self.own)
        return [{**common, **dict(zip(self.own, rest[i : i + each], strict=True))} for i in range(0, len(rest), each)]

    @staticmethod
    def of(
        operation: MatmulOperation, a: Any, b: Any, c: Any, alpha: Any, beta: Any, further: Mapping[str, Any]
    ) -> _Arguments:
        """Checked. IrcError where they do not fit."""
        names = operation._names  # pyright: ignore[reportPrivateUsage]
        if missing := [name for name in names if name not in further]:
            raise fail(f"the epilogue of the product takes {missing[0]}, which run is not given")
        if unknown := [name for name in further if name not in names]:
            hint = f"it takes {', '.join(names)}" if names else "it takes the sums alone"
            raise fail(f"the epilogue of the product takes no {unknown[0]}", hint)
        if beta is not None and c is None:
            raise fail("a product has beta and no c", "beta scales c: give both, or neither")
        several = isinstance(a, list | tuple)
        count = len(cast("Sequence[Any]", a)) if several else 1
        given = {"a": a, "b": b, "c": c, "alpha": alpha, "beta": beta, **further}
        given = {name: value for name, value in given.items() if value is not None}
        own = [name for name in given if name in ("a", "b", "c") or (several and isinstance(given[name], list | tuple))]
        lists = {name: given[name] if several else [given[name]] for name in own}
        for name, values in lists.items():
            if not isinstance(values, list | tuple) or len(values) != count or not count:
                found = len(values) if isinstance(values, list | tuple) else type(values).__name__
                raise fail(f"{name}: expected as many arrays as a has, {count}, and one at least, found {found}")
        shared = [name for name in given if name not in own]
        for number in range(count):
            _check_product(operation, {name: node_of(values[number]) for name, values in lists.items()})
        scalar = "f64" if operation.sums == "f64" else "f32"
        nodes = [_shared(name, given[name], scalar) for name in shared]
        nodes += [_stored(operation, name, lists[name][number]) for number in range(count) for name in own]
        return _Arguments(
            shared,
            own,
            [node.known if node.op == LEAF else Tensor.of(node).value() for node in nodes],
            [(node.shape, node.element) for node in nodes],
            count,
            several,
            lists["a"][0],
        )


def _check_product(operation: MatmulOperation, given: Mapping[str, Node]) -> None:
    """IrcError unless the arrays of one product are of the operation's types, and their shapes fit together."""
    a, b = given["a"], given["b"]
    for name in ("a", "b", "c"):
        operand: Operand = getattr(operation, name)
        if name in given and given[name].element != operand.element:
            raise fail(f"{name}: expected elements {operand.element}, found {given[name].type}", "convert it first")
    for name, axes, node in (("a", "M, K", a), ("b", "K, N", b)):
        if node.rank < 2:
            raise fail(f"{name}: expected [..., {axes}], found {node.type}")
    if a.shape[-1] != b.shape[-2]:
        raise fail(f"b: expected {a.shape[-1]} rows, as many as a has columns ({a.type}), found {b.type}")
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise fail(f"the batches of a ({a.type}) and b ({b.type}) do not fit together") from None
    wanted = (*batch, a.shape[-2], b.shape[-1])
    if "c" in given and given["c"].shape != wanted:
        raise fail(f"c: expected {type_text(operation.c.element, wanted)}, found {given['c'].type}")


def _shared(name: str, value: Any, scalar: str) -> Node:
    """A number or an array for all products: numbers and what scales are scalars."""
    node = node_of(np.asarray(value, DTYPES[scalar]) if isinstance(value, int | float) else value)
    if name not in ("alpha", "beta"):
        return node
    if np.prod(node.shape, dtype=np.int64) != 1 or node.element != scalar:
        raise fail(f"{name}: expected a number, or an array of one {scalar}, found {node.type}")
    return Tensor.of(node).reshape(()).node if node.rank else node


def _stored(operation: MatmulOperation, name: str, array: Any) -> Node:
    """The array as it lies in memory: that of columns with its last two axes swapped."""
    operand = getattr(operation, name, None)
    if not isinstance(operand, Operand) or not operand.is_column:
        return node_of(array)
    return array.mT.node if isinstance(array, Tensor) else node_of(_swapped(array))


def _swapped(array: Any) -> Any:
    """The array of any library with its last two axes swapped, of the same memory where it can be."""
    if hasattr(array, "mT"):
        return array.mT
    return array.swapaxes(-1, -2) if hasattr(array, "swapaxes") else Tensor(array).mT.value()


def _turned(x: Tensor, operand: Operand) -> Tensor:
    """A matrix of what its operand holds row by row, or that of it."""
    return x.mT if operand.is_column else x


def _rounded(x: Tensor, element: str) -> Tensor:
    """x in an element type: to integers from floats to nearest, which saturates."""
    if x.dtype.kind not in "iub" and DTYPES[element].kind in "iu":
        x = elementwise.round(x)
    return x.astype(element)


def _sums(a: Operand, b: Operand, sums: str | None) -> str:
    """The element that products are summed in, checked."""
    is_pair = a.element == b.element or (a.element.startswith("f8") and b.element.startswith("f8"))
    if not is_pair or a.element not in SUMS:
        hint = f"both are one of {', '.join(SUMS)}, or any of f8"
        raise fail(f"no product of {a.element} and {b.element}", hint)
    found = SUMS[a.element][0] if sums is None else element_named(sums)
    if found not in SUMS[a.element]:
        raise fail(f"products of {a.element} are not summed in {found}", f"they are in {', '.join(SUMS[a.element])}")
    return found


def _further(epilogue: Callable[..., Any] | None) -> Sequence[str]:
    """The names of the arguments of an epilogue behind the first."""
    if epilogue is None:
        return ()
    names = list(inspect.signature(epilogue).parameters.values())
    return [each.name for each in names[1:] if each.default is each.empty]
