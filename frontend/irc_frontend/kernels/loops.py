"""What loops over tiles do when they begin and end: the functions that rewritten kernels call."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from irc.dialects.kernel import ConfigAttr
from irc_frontend.graph import LAUNCH, Node, fail
from irc_frontend.kernels.facts import Facts, Launched, Numbers
from irc_frontend.kernels.tiles import Tiles
from irc_frontend.kernels.trace import LoopNestTrace
from irc_frontend.launch import Launch
from irc_frontend.structure import as_it_lies
from irc_frontend.tensor import Tensor
from irc_frontend.tile_indices import open_trace, set_trace


@dataclass(frozen=True)
class Choice:
    """The steps of a nest's dimensions by name, its config, and what its loops carry (`Facts.carried`)."""

    sizes: Mapping[str, int]
    config: ConfigAttr | None
    carried: Sequence[Sequence[Numbers]] | None = None


@dataclass
class Recording:
    """One run of a kernel's function. choices: of each nest, where they were made; else a tile is the whole extent.
    whole: the programs of a run with such tiles. reads_through: permuted arrays are read as they lie."""

    name: str
    choices: Sequence[Choice] | None = None
    whole: Sequence[Launch] = ()
    reads_through: bool = True
    facts: list[Facts] = field(default_factory=list[Facts])
    launches: list[Launch] = field(default_factory=list[Launch])

    def step(self, name: str, extent: int) -> int:
        return extent if self.choices is None else self.choices[len(self.facts)].sizes[name]

    def carried(self) -> Sequence[Sequence[Numbers]] | None:
        return None if self.choices is None else self.choices[len(self.facts)].carried

    def config(self) -> ConfigAttr | None:
        return None if self.choices is None else self.choices[len(self.facts)].config

    def order(self, names: Sequence[str]) -> Sequence[int]:
        """The dimensions of the next nest's outer loop, the outermost first."""
        config = self.config()
        order = tuple(range(len(names))) if config is None or config.loop_order is None else config.loop_order
        if len(order) != len(names):
            raise fail(
                f"config: loop_order = {list(order)} has {len(order)} dimensions, and the loop over tiles has "
                f"{len(names)}, {', '.join(names)}",
                "every dimension from 0 once, the outermost first",
            )
        return order

    def launch(self, launched: Launched) -> Launch:
        """The launch of the next nest."""
        whole = self.whole[len(self.launches)] if self.whole else None
        self.facts.append(launched.facts)
        self.launches.append(Launch.of_program(self.name, launched.program, whole))
        return self.launches[-1]


_recording: ContextVar[Recording | None] = ContextVar("irc_recording", default=None)


@contextmanager
def recorded(recording: Recording) -> Generator[None]:
    """Within the block, loops over tiles are traced for this recording."""
    token = _recording.set(recording)
    outer = open_trace()
    set_trace(None)
    try:
        yield
    finally:
        set_trace(outer)
        _recording.reset(token)


class Gone:
    """The value of a name that a loop over tiles alone assigns, behind the loop."""

    def __init__(self, name: str):
        object.__setattr__(self, "_name", name)

    def _fail(self, *_: object, **__: object) -> Any:
        name = object.__getattribute__(self, "_name")
        raise fail(
            f"{name} is a value of one iteration of a loop over tiles",
            f"give {name} a value before the loop to carry it",
        )

    __getattr__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _fail
    __matmul__ = __getitem__ = __setitem__ = __lt__ = __gt__ = __le__ = __ge__ = __neg__ = __bool__ = __iter__ = _fail
    __pow__ = __floordiv__ = __mod__ = __call__ = _fail


class Hooks:
    """What rewritten loops call (`rewriting.py`)."""

    @staticmethod
    def is_tiles(iterable: Any) -> bool:
        return isinstance(iterable, Tiles)

    @staticmethod
    def enter(
        over: Tiles, names: Sequence[str], carried: Sequence[str], others: Sequence[str], values: Mapping[str, Any]
    ) -> Loop:
        if len(names) != len(over.extents):
            raise fail(f"{len(over.extents)} dimensions are given {len(names)} names", "for m, n in tiles(M, N)")
        trace = open_trace()
        recording = _recording.get()
        if recording is None:
            raise fail("a loop over tiles runs in a kernel", "call the function that @kernel made")
        if trace is None:
            return OuterLoop(over, names, carried, others, values, recording)
        assert isinstance(trace, LoopNestTrace)
        return InnerLoop(trace, over, names, carried, others, values)

    @staticmethod
    def refuse(word: str) -> None:
        raise fail(f"{word} leaves a loop over tiles early", "end= bounds a loop; where(condition, a, b) masks")


class Loop:
    """A loop that is being traced. indices: what its target is; carried: the values of the names that it carries."""

    indices: Any
    carried: list[Any]
    results: list[Any]

    def leave(self, values: Mapping[str, Any]) -> None:
        """Ends it, with what its names are then."""


class OuterLoop(Loop):
    """The loop of a launch."""

    def __init__(
        self,
        over: Tiles,
        names: Sequence[str],
        carried: Sequence[str],
        others: Sequence[str],
        values: Mapping[str, Any],
        recording: Recording,
    ):
        if over.begin is not None or over.end is not None:
            raise fail("the outermost loop goes over all tiles", "bounds are for loops inside")
        self._names, self._others, self._recording = carried, others, recording
        self.carried = [values.get(name, Gone(name)) for name in carried]
        arrays = {value.node: name for name, value in values.items() if isinstance(value, Tensor)}
        arrays.update({as_it_lies(node)[0]: name for node, name in arrays.items()})
        self._trace = LoopNestTrace(recording.step, arrays, recording.carried(), reads_through=recording.reads_through)
        found = self._trace.open_outer(names, over.extents, recording.order(names))
        self.indices = found[0] if len(found) == 1 else found
        set_trace(self._trace)

    def leave(self, values: Mapping[str, Any]) -> None:
        set_trace(None)
        for name, before in zip(self._names, self.carried, strict=True):
            if values.get(name) is not before and not isinstance(before, Gone):
                raise fail(
                    f"{name} goes from tile to tile of the outermost loop, whose tiles are computed in parallel",
                    f"give {name} its first value in the loop, or sum over a loop inside",
                )
        launched = self._trace.close_outer(self._recording.config())
        program = self._recording.launch(launched)
        for number, array in enumerate(launched.writes):
            attributes = (("program", program),)
            array.become(Node(LAUNCH, launched.reads, array.shape, array.element, attributes, result=number))
        self.results = [*self.carried, *map(Gone, self._others)]


class InnerLoop(Loop):
    """A loop of a tile program."""

    def __init__(
        self,
        trace: LoopNestTrace,
        over: Tiles,
        names: Sequence[str],
        carried: Sequence[str],
        others: Sequence[str],
        values: Mapping[str, Any],
    ):
        if len(over.extents) != 1:
            raise fail("a loop inside goes over one dimension", "nest loops: for k in tiles(K), for j in tiles(J)")
        self._names, self._others, self._trace = carried, others, trace
        self._before = [values.get(name, Gone(name)) for name in carried]
        self._tiles = [at for at, value in enumerate(self._before) if isinstance(value, Tensor)]
        nodes = [self._before[at].node for at in self._tiles]
        self.indices, made = trace.open_inner(names[0], over.extents[0], over.begin, over.end, nodes)
        self.carried = list(self._before)
        for at, node in zip(self._tiles, made, strict=True):
            self.carried[at] = Tensor.of(node)

    def leave(self, values: Mapping[str, Any]) -> None:
        after = [values.get(name, Gone(name)) for name in self._names]
        for at, (name, before, value) in enumerate(zip(self._names, self._before, after, strict=True)):
            if at in self._tiles:
                _check_carried(name, before, value)
            elif value is not before and not isinstance(before, Gone):
                raise fail(
                    f"{name} is of type {type(before).__name__} before the loop, which is traced once, and changes",
                    "zeros((m, n)) or full((m,), value) makes a tile to begin with",
                )
        made = self._trace.close_inner([after[at].node for at in self._tiles])
        for at, node in zip(self._tiles, made, strict=True):
            after[at] = Tensor.of(node)
        known = zip(self._names, self._before, after, strict=True)
        gone = [Gone(name) if isinstance(before, Gone) else value for name, before, value in known]
        self.results = [*gone, *map(Gone, self._others)]


def _check_carried(name: str, before: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise fail(f"{name} is a tile before the loop and of type {type(value).__name__} after an iteration")
    if (before.shape, before.element) != (value.shape, value.element):
        raise fail(
            f"{name} is {before.node.type} before the loop and {value.node.type} after an iteration",
            f"cast it, {name}.astype({before.element!r}), or give it its type before the loop",
        )
