"""A step of the target `cpu` that has no machine code: an op by its IR, run by the interpreters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import affine, arith, builtin, func, math, scf

from irc.dialects.kernel import Kernel
from irc.dialects.nd import Nd
from irc.dialects.scalar import Scalar
from irc.dialects.tile import Tile
from irc.interpreters.nd.base import evaluate_op
from irc.interpreters.nd.interpreter import entry
from irc.ir.locations import relocate
from irc.ir.parser import parse_ir

NumpyArray = np.ndarray[Any, Any]


def interpreted(text: str, places: Sequence[str]) -> Callable[[Sequence[NumpyArray]], Sequence[NumpyArray]]:
    """What the one op of a function computes of arrays of its operands' types. places: of the module's ops."""
    context = Context()
    for dialect in (
        builtin.Builtin,
        func.Func,
        arith.Arith,
        math.Math,
        scf.Scf,
        affine.Affine,
        Nd,
        Kernel,
        Tile,
        Scalar,
    ):
        context.load_dialect(dialect)
    module = parse_ir(context, text, "<step>", register=False)
    relocate(module, places)
    op = next(iter(entry(module).body.block.ops))
    return partial(_evaluate, module, op)


def _evaluate(module: builtin.ModuleOp, op: Any, arrays: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
    """`module` keeps the programs that the op launches."""
    return evaluate_op(op, arrays)
