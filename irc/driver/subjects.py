"""What is compiled, and with what: a program as text or as a module, and the options beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irc.driver.program import parse, source_of
from irc.driver.reports import VERIFY, timed
from irc.support import tuned
from irc.support.diagnostics import IrcError, register_source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class Options:
    """What beside the program decides the result.

    arch: of the kernels, `sm_90a`; empty where there are none. dims: replacements of the program's dims. func: the
    entry function, None for the last. strict_rounding: round after every operation, as eager frameworks do. any_order:
    sums may be added up in any order where that is faster, so that results differ in their last bits from run to run;
    else they are the same in every run. donate: numbers of arguments whose memory gets a result, the first of its type
    that no argument before it took. align: for arguments by number, the bytes of which they begin at a multiple on a
    GPU, where that is less than 16. tuned: tells apart the tuned configs that kernels take; empty where they take
    none. shared_gpu: others hold SMs beside the program's kernels, as those of NCCL.
    """

    arch: str = ""
    dims: tuple[tuple[str, int], ...] = ()
    func: str | None = None
    strict_rounding: bool = False
    any_order: bool = False
    donate: tuple[int, ...] = ()
    align: tuple[tuple[int, int], ...] = ()
    tuned: str = ""
    shared_gpu: bool = False

    @property
    def of_passes(self) -> dict[str, Any]:
        """What goes to the passes that have such an option."""
        return {"strict_rounding": self.strict_rounding, "any_order": self.any_order, "tuned": bool(self.tuned)}

    def with_tuned(self) -> Options:
        """These, with the configs that a tuner found so far."""
        return replace(self, tuned=tuned.stamp(self.arch)) if self.arch else self


@dataclass(frozen=True)
class Recorded:
    """A program before it is a module. `key` tells it from others. `build` makes its module. `places` gives those of
    its parts, of equal programs in the same order."""

    key: str
    build: Callable[[], ModuleOp]
    places: Callable[[], tuple[str, ...]]


@dataclass(frozen=True)
class Subject:
    """A program that is compiled: its text and file name, a module, or one that is recorded; `key` tells it from
    others. places: of the ops of the module that the text was printed of, in the order of a walk."""

    key: tuple[str, ...]
    text: str | None
    name: str
    given: ModuleOp | None
    places: tuple[str, ...] = ()
    recorded: Recorded | None = None

    def module(self, options: Options) -> ModuleOp:
        """The parsed and verified module, the entry function alone, with the architecture that it is for."""
        from irc.ir.alignment import align
        from irc.ir.donation import donate
        from irc.ir.functions import entry_of
        from irc.ir.targets import set_target, share_gpu

        module = self._isolated(options)
        if options.arch:
            set_target(module, options.arch)
        if options.donate:
            donate(entry_of(module), options.donate)
        if options.align:
            align(entry_of(module), dict(options.align))
        if options.shared_gpu:
            share_gpu(module)
        return module

    def kept(self) -> Subject:
        """The same program, of which no module is kept."""
        return self if self.given is None else self.as_text()

    def as_text(self) -> Subject:
        """The same program as text."""
        module = self.given if self.recorded is None else self.recorded.build()
        if module is None:
            return self
        text, name = module_text(module), "module.mlir"
        return Subject(("text", name, text), text, name, None, places_of(module))

    def own_places(self) -> tuple[str, ...]:
        """The places that equal programs differ in, where the key does not have them."""
        return () if self.recorded is None else self.recorded.places()

    def _isolated(self, options: Options) -> ModuleOp:
        from irc.driver.program import isolate
        from irc.ir.verification import verify

        module = self._parsed(options)
        if self.text is None or self.name.endswith(".mlir"):
            timed(VERIFY, lambda: verify(module))
        return isolate(module, options.func)

    def _parsed(self, options: Options) -> ModuleOp:
        if self.given is not None:
            _refuse_dims(options)
            return self.given
        if self.recorded is not None:
            return self.recorded.build()
        text = self.text
        assert text is not None
        module = timed("parse", lambda: parse(text, self.name, dims=dict(options.dims)))
        if self.places:
            from irc.ir.locations import relocate

            relocate(module, self.places)
        return module


def subject_of(program: str | Path | ModuleOp | Recorded) -> Subject:
    """The program as it is compiled; IrcError where it is nothing that can be, or a file that cannot be read."""
    if isinstance(program, Recorded):
        return Subject(("recorded", program.key), None, "<module>", None, recorded=program)
    if isinstance(program, str | Path):
        text, name = source_of(program)
        register_source(name, text)
        return Subject(("text", name, text), text, name, None)
    if not hasattr(program, "regions"):  # xDSL is not imported to find what the cache has
        raise IrcError(
            f"cannot compile a {type(program).__name__}", hint="a str of .irc text, a Path of a file, or a module"
        )
    return Subject(("module", module_text(program)), None, "<module>", program)


def module_text(module: ModuleOp) -> str:
    """The text that identifies a module: without locations."""
    from irc.ir.printer import print_ir

    return print_ir(module)


def _refuse_dims(options: Options) -> None:
    if options.dims:
        raise IrcError("a module has no dims to replace", hint="dims belong to .irc text")


def places_of(module: ModuleOp) -> tuple[str, ...]:
    """The place of each op, in the order of a walk."""
    from irc.ir.locations import describe

    return tuple(describe(op.location) for op in module.walk())
