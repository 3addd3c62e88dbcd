"""A kernel by itself: what is tuned, and what the database of tuned configs knows it by."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser

from irc.dialects.kernel import ConfigAttr, FusedOp
from irc.ir.discardable import AFTER
from irc.ir.printer import print_ir
from irc.ir.rewriting import location_of
from irc.ir.targets import Target, set_target
from irc.support.tuned import KernelKey, lookup

NAME = "kernel"


def alone(kernel: FusedOp, machine: Target) -> ModuleOp:
    """A module whose function has the kernel's operands and results, and no other op. Nothing in it has a name, so that
    equal kernels have equal texts."""
    operands = list(dict.fromkeys(kernel.inputs))
    function = FuncOp(NAME, ([value.type for value in operands], [value.type for value in kernel.outputs]))
    function.location = location_of(kernel)
    arguments: dict[SSAValue, SSAValue] = dict(zip(operands, function.body.block.args, strict=True))
    copy = kernel.clone(arguments)
    copy.properties.pop("sym_name", None)
    for inner in copy.walk():
        for value in (*inner.results, *(arg for region in inner.regions for arg in region.block.args)):
            value.name_hint = None
    function.body.block.add_ops([copy, ReturnOp(*copy.results)])
    module = ModuleOp([function], _attributes(kernel))
    set_target(module, machine.name)
    return module


def _attributes(kernel: FusedOp) -> dict[str, Attribute]:
    """Those of the kernel's module, but for the passes that it had."""
    attributes = getattr(kernel.get_toplevel_object(), "attributes", {}) if kernel.parent is not None else {}
    return {name: value for name, value in attributes.items() if name != AFTER}


def key_of(kernel: FusedOp, machine: Target) -> KernelKey:
    """By what a kernel computes, its extents, and what the user set of its config."""
    return KernelKey.of(print_ir(alone(kernel, machine)))


def config_text(config: ConfigAttr) -> str:
    """As IR has it behind an anchor, without the name: `tile = {m = 128}, warps = 8`."""
    return str(config).removeprefix("#kernel.config").removeprefix("<").removesuffix(">")


def parse_config(text: str) -> ConfigAttr:
    """What `config_text` printed. ParseError where it is none."""
    return ConfigAttr(ConfigAttr.parse_parameter(Parser(Context(), f"<{text}>")))


def tuned_config(kernel: FusedOp, machine: Target) -> ConfigAttr | None:
    """What a tuner found for the kernel, or for others of its class of extents."""
    found = lookup(key_of(kernel, machine), machine.name)
    return None if found is None else parse_config(found)
