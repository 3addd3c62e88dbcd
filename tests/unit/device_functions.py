"""Kernels that compute one function or one instruction for each thread, for the simulator and for a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from unit.sim_kernels import kernel_of

from irc.dialects.cuda import INSTRUCTIONS, KernelOp
from irc.expansion.code import expand
from irc.expansion.device_functions import function_of

Array = np.ndarray[Any, Any]
BLOCK = 256
SPECIAL = (
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    1e-40,
    -1e-40,
    3e38,
    -3e38,
    88.73,
    -87.5,
    -103.98,
    127.99,
    -149.0,
)


@dataclass(frozen=True)
class Function:
    """exact: of f64. error: the most, relative to the result, or for a function of an angle absolute. largest: of the
    arguments, as a power of 10. sign: of the arguments, 0 for both."""

    op: str
    exact: Callable[..., Any]
    error: float
    largest: float = 4.0
    sign: int = 0
    is_angle: bool = False
    operands: int = 1

    @property
    def text(self) -> str:
        values = ", ".join("%a %b".split()[: self.operands])
        name, _, flags = self.op.partition(" ")
        return f"%r = {name} {values} {flags} : f32"

    def arguments(self, count: int) -> list[Array]:
        rng = np.random.default_rng(0)
        drawn: list[Array] = []
        for _ in range(self.operands):
            x = 10.0 ** rng.uniform(-8, self.largest, count) * rng.choice([-1.0, 1.0], count)
            drawn.append((self.sign * np.abs(x) if self.sign else x).astype(np.float32))
        return drawn


AFN, UNIT = "fastmath<afn>", 2.0**-23
APPROXIMATE = 2.0**-19
FUNCTIONS: dict[str, Function] = {
    "exp": Function("math.exp", np.exp, 2 * UNIT, 1.94),
    "exp2": Function("math.exp2", np.exp2, UNIT, 2.0),
    "tanh": Function("math.tanh", np.tanh, 2 * UNIT),
    "erf": Function("math.erf", special.erf, 2 * UNIT),
    "log": Function("math.log", np.log, 2 * UNIT, 38, sign=1),
    "sin": Function("math.sin", np.sin, UNIT, 38),
    "cos": Function("math.cos", np.cos, UNIT, 38),
    "rsqrt": Function("math.rsqrt", lambda x: 1 / np.sqrt(x), UNIT, 38, sign=1),
    "approximate exp": Function(f"math.exp {AFN}", np.exp, 8 * APPROXIMATE, 1.9),
    "approximate exp2": Function(f"math.exp2 {AFN}", np.exp2, APPROXIMATE, 2.0),
    "approximate expm1": Function(f"math.expm1 {AFN}", np.expm1, 8 * APPROXIMATE, 1.9),
    "approximate log": Function(f"math.log {AFN}", np.log, APPROXIMATE, 38, sign=1),
    "approximate log2": Function(f"math.log2 {AFN}", np.log2, APPROXIMATE, 38, sign=1),
    "approximate log10": Function(f"math.log10 {AFN}", np.log10, APPROXIMATE, 38, sign=1),
    "approximate log1p": Function(f"math.log1p {AFN}", np.log1p, APPROXIMATE, sign=1),
    "approximate tanh": Function(f"math.tanh {AFN}", np.tanh, APPROXIMATE),
    "approximate erf": Function(f"math.erf {AFN}", special.erf, APPROXIMATE),
    "approximate sqrt": Function(f"math.sqrt {AFN}", np.sqrt, UNIT, 38, sign=1),
    "approximate sin": Function(f"math.sin {AFN}", np.sin, APPROXIMATE, 38, is_angle=True),
    "approximate cos": Function(f"math.cos {AFN}", np.cos, APPROXIMATE, 38, is_angle=True),
    "approximate tan": Function(f"math.tan {AFN}", np.tan, APPROXIMATE, 38, is_angle=True),
    "quotient": Function(f"arith.divf {AFN}", np.divide, 2 * UNIT, operands=2),
    "product": Function("arith.divf fastmath<afn,arcp>", np.divide, 2 * UNIT, operands=2),
}


def kernel_with(text: str, operands: int, blocks: int) -> KernelOp:
    """y = the value %r that the text computes of %a, %b and %c, for each thread."""
    names = "abc"[:operands]
    loads = "".join(
        f"cuda.load %{name}s[%i] -> %{name}r[%zero] {{count = 1}} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>\n"
        f"%{name} = cuda.get %{name}r[%zero] : !cuda.registers<1 x f32>\n"
        for name in names
    )
    body = f"""
%zero = arith.constant 0 : index
%width = arith.constant {BLOCK} : index
%block = cuda.block_id
%thread = cuda.thread_id
%first = arith.muli %block, %width : index
%i = arith.addi %first, %thread : index
{"".join(f"%{name}r = cuda.registers : !cuda.registers<1 x f32>{chr(10)}" for name in names)}{loads}{text}
%yr = cuda.registers : !cuda.registers<1 x f32>
cuda.set %yr[%zero], %r : !cuda.registers<1 x f32>
cuda.store %yr[%zero], %y[%i] {{count = 1}} : !cuda.registers<1 x f32> -> !cuda.ptr<f32>"""
    pointers = ", ".join(f"%{name}s: !cuda.ptr<f32>" for name in names)
    writes = ", ".join("0" * operands + "1")
    return kernel_of(body, f"{pointers}, %y: !cuda.ptr<f32>", block=BLOCK, grid=blocks, clauses=f"writes [{writes}]")


def function_kernel(function: Function, blocks: int) -> KernelOp:
    return expanded_kernel(function.text, function.operands, blocks)


def expanded_kernel(text: str, operands: int, blocks: int) -> KernelOp:
    """`kernel_with` this text, its functions expanded."""
    kernel = kernel_with(text, operands, blocks)
    for op in list(kernel.walk()):
        if (known := function_of(op)) is not None:
            expand(op, known)
    return kernel


def instruction_kernel(name: str, blocks: int) -> KernelOp:
    count = len(INSTRUCTIONS[name].operands)
    values, types = ", ".join("%a %b %c".split()[:count]), ", ".join(["f32"] * count)
    return kernel_with(f'%r = cuda.instruction "{name}" {values} : ({types}) -> f32', count, blocks)
