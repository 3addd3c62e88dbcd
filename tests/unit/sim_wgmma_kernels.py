"""Kernels that multiply one tile by wgmma: operands of any type, major and swizzle come by TMA, or in registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from irc.interpreters.sim.matrix_fragments import truncate_tf32

Array = np.ndarray[Any, Any]

M, N = 64, 64

TYPES: dict[str, np.dtype[Any]] = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "i8": np.dtype(np.int8),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
}


@dataclass
class Operand:
    """A matrix of `rows` x `k` elements in shared memory from byte `base` on: `k` fills a row of the swizzle, and is
    contiguous unless it is `transposed`."""

    name: str
    element: str
    rows: int
    swizzle: int
    transposed: bool
    base: int

    @property
    def size(self) -> int:
        return TYPES[self.element].itemsize

    @property
    def k(self) -> int:
        return max(self.swizzle, 32) // self.size

    @property
    def extents(self) -> tuple[int, int]:
        return (self.k, self.rows) if self.transposed else (self.rows, self.k)

    @property
    def box(self) -> tuple[int, int]:
        """The whole of one dimension, a row of the swizzle (a chunk of 16 bytes without one) of the other."""
        return self.extents[0], (self.swizzle or 16) // self.size

    @property
    def boxes(self) -> int:
        return self.extents[1] // self.box[1]

    @property
    def bytes(self) -> int:
        return self.rows * self.k * self.size

    @property
    def type(self) -> str:
        swizzle = f", swizzle {self.swizzle}" if self.swizzle else ""
        return f"!cuda.tensor_map<{self.element}, {list(self.extents)}, box {list(self.box)}{swizzle}>"

    def loads(self) -> str:
        lines: list[str] = []
        for i in range(self.boxes):
            at = self.base + i * self.bytes // self.boxes
            lines.append(f"%{self.name}_to{i} = cuda.shared {{offset = {at}, align = 1024}}")
            lines.append(f"%{self.name}_at{i} = arith.constant {i * self.box[1]} : i32")
            lines.append(
                f"cuda.tma_load %{self.name}[%s0, %{self.name}_at{i}] -> %{self.name}_to{i}, %full : {self.type}"
            )
        return "\n".join(lines)

    def descriptor(self) -> str:
        """Leading and stride offsets as PTX has them: they change places for MN-major operands with a swizzle."""
        apart = self.bytes // self.boxes
        pitch = self.swizzle or 16
        if self.swizzle:
            leading, stride = (apart, 8 * pitch) if self.transposed else (16, 8 * pitch)
        else:
            leading, stride = (8 * pitch, apart) if self.transposed else (apart, 8 * pitch)
        return f"{{leading = {leading}, stride = {stride}, swizzle = {self.swizzle}}}"

    def step(self) -> int:
        """Units of 16 bytes from one instruction's k to the next one's."""
        return 32 // self.size * self.swizzle // 16 if self.transposed else 2


def kernel_text(a: Operand, b: Operand, accumulator: str, *, registers: bool) -> str:
    steps = a.k * a.size // 32
    depth = 32 // a.size
    array = f"!cuda.registers<{N // 2} x {accumulator}>"
    zero = "0" if accumulator == "i32" else "0.0"
    majors = "".join(
        f", transpose_{side} = true"
        for side, operand in (("lhs", a), ("rhs", b))
        if operand.transposed and not (registers and side == "lhs")
    )
    suffix = f"{{n = {N}, k = {depth}, lhs_type = {a.element}, rhs_type = {b.element}{majors}}}"
    lines: list[str] = []
    for i in range(steps):
        lines.append(f"%bo{i} = arith.constant {i * b.step()} : i64\n%db{i} = arith.addi %db, %bo{i} : i64")
        if registers:
            held = 16 // a.size
            lines.append(f"%ra{i} = arith.constant {i * held} : index")
            lines.append(
                f"cuda.wgmma_registers %acc[%c0], %lhs[%ra{i}], %db{i}, %true {suffix} : {array}, "
                f"!cuda.registers<{steps * held} x {a.element}>, i1"
            )
        else:
            lines.append(f"%ao{i} = arith.constant {i * a.step()} : i64\n%da{i} = arith.addi %da, %ao{i} : i64")
            lines.append(f"cuda.wgmma %acc[%c0], %da{i}, %db{i}, %true {suffix} : {array}, i1")
    return f"""
cuda.kernel @product(%a: {f"!cuda.ptr<{a.element}>" if registers else a.type}, %b: {b.type}, %c: !cuda.ptr<{accumulator}>)
    grid [1, 1, 1] block 128 shared 32768 writes [0, 0, 1] {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c31 = arith.constant 31 : index
  %columns = arith.constant {N} : index
  %s0 = arith.constant 0 : i32
  %true = arith.constant true
  %zero = arith.constant {zero} : {accumulator}
  %t = cuda.thread_id
  %lane = arith.andi %t, %c31 : index
  %warp = arith.shrui %t, %c5 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %full = cuda.shared {{offset = 32000}}
  scf.if %first {{
    cuda.barrier_init %full {{count = 1}}
    cuda.fence_barrier_init
  }}
  cuda.sync
  scf.if %first {{
    cuda.barrier_expect %full {{bytes = {b.bytes + (0 if registers else a.bytes)}}}
    {"" if registers else a.loads()}
    {b.loads()}
  }}
  %quad = arith.shrui %lane, %c2 : index
  %pair = arith.andi %lane, %c3 : index
  %rows = arith.muli %warp, %c16 : index
  %row = arith.addi %rows, %quad : index
  {_held(a, steps) if registers else ""}
  %acc = cuda.registers : {array}
  scf.for %i = %c0 to %columns step %c2 {{
    %half = arith.shrui %i, %c1 : index
    cuda.set %acc[%half], %zero : {array}
  }}
  cuda.barrier_wait %full, %s0
  {"" if registers else f"%a_base = cuda.shared {{offset = {a.base}}}"}
  {"" if registers else f"%da = cuda.descriptor %a_base {a.descriptor()}"}
  %b_base = cuda.shared {{offset = {b.base}}}
  %db = cuda.descriptor %b_base {b.descriptor()}
  cuda.registers_fence %acc : {array}
  {f"cuda.registers_fence %lhs : !cuda.registers<{steps * 16 // a.size} x {a.element}>" if registers else ""}
  cuda.wgmma_fence
  {chr(10).join(lines)}
  cuda.wgmma_commit
  cuda.wgmma_wait
  cuda.registers_fence %acc : {array}
  scf.for %j = %c0 to %columns step %c8 {{
    scf.for %h = %c0 to %c2 step %c1 {{
      %below = arith.muli %h, %c8 : index
      %m = arith.addi %row, %below : index
      %line = arith.muli %m, %columns : index
      %along = arith.muli %pair, %c2 : index
      %n = arith.addi %j, %along : index
      %at = arith.addi %line, %n : index
      %v0 = arith.shrui %j, %c1 : index
      %v1 = arith.muli %h, %c2 : index
      %v = arith.addi %v0, %v1 : index
      cuda.store %acc[%v], %c[%at] {{count = 2}} : {array} -> !cuda.ptr<{accumulator}>
    }}
  }}
  cuda.return
}}
"""


def _held(a: Operand, steps: int) -> str:
    """Loads of the left operand to the registers where wgmma wants it: rows 8 apart, then columns."""
    per = 4 // a.size
    array = f"!cuda.registers<{steps * 4 * per} x {a.element}>"
    lines = [f"%lhs = cuda.registers : {array}", f"%depth = arith.constant {a.k} : index"]
    for i in range(steps * 4 * per):
        step, rest = divmod(i, 4 * per)
        register, part = divmod(rest, per)
        column = step * 8 * per + part + 4 * per * (register // 2)
        lines.append(f"""
%hr{i} = arith.constant {8 * (register % 2)} : index
%hm{i} = arith.addi %row, %hr{i} : index
%hl{i} = arith.muli %hm{i}, %depth : index
%per{i} = arith.constant {per} : index
%hp{i} = arith.muli %pair, %per{i} : index
%hk{i} = arith.constant {column} : index
%hq{i} = arith.addi %hp{i}, %hk{i} : index
%ho{i} = arith.addi %hl{i}, %hq{i} : index
%hi{i} = arith.constant {i} : index
cuda.load %a[%ho{i}] -> %lhs[%hi{i}] : !cuda.ptr<{a.element}> -> {array}""")
    return "\n".join(lines)


def drawn(rng: np.random.Generator, operand: Operand) -> Array:
    dtype = TYPES[operand.element]
    if dtype.kind == "i":
        return rng.integers(-128, 128, operand.extents).astype(dtype)
    return rng.standard_normal(operand.extents).astype(np.float32).astype(dtype)


def wide(operand: Operand, x: Array) -> Array:
    """Rows x k, as the instruction reads it."""
    x = truncate_tf32(x) if operand.element == "f32" else x
    return (x.T if operand.transposed else x).astype(np.float64)


@dataclass(frozen=True)
class TileProduct:
    """A product of one tile: element types, swizzles in bytes, majors ("k", or "m" and "n"). shape: rows and columns of
    the result. base: where the right operand begins in shared memory."""

    lhs: str
    rhs: str
    swizzles: tuple[int, int] = (128, 128)
    majors: str = "kk"
    accumulator: str = "f32"

    shape: ClassVar[tuple[int, int]]
    base: ClassVar[int]

    @property
    def operands(self) -> tuple[Operand, Operand]:
        (m, n), (left, right) = self.shape, self.swizzles
        return (
            Operand("a", self.lhs, m, left, self.majors[0] == "m", 0),
            Operand("b", self.rhs, n, right, self.majors[1] == "n", self.base),
        )

    @property
    def name(self) -> str:
        return f"{self.lhs}-{self.rhs}-{self.accumulator}-{self.majors}-{self.swizzles[0]}-{self.swizzles[1]}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the result, M x N."""
        return np.dtype(self.accumulator.replace("f", "float").replace("i", "int"))

    def arrays(self) -> tuple[Array, Array]:
        rng = np.random.default_rng(0)
        a, b = self.operands
        return drawn(rng, a), drawn(rng, b)

    def error(self, found: Array) -> float:
        """Of the result, relative to the largest value."""
        (a, b), (x, w) = self.operands, self.arrays()
        expected = wide(a, x) @ wide(b, w).T
        return float(np.abs(found - expected).max() / np.abs(expected).max())


@dataclass(frozen=True)
class Product(TileProduct):
    """registers: whether the left operand is there."""

    registers: bool = False

    shape = M, N
    base = 16384

    @property
    def name(self) -> str:
        return f"{super().name}-registers" if self.registers else super().name

    def text(self) -> str:
        return kernel_text(*self.operands, self.accumulator, registers=self.registers)


PRODUCTS: tuple[Product, ...] = (
    *(
        Product(t, t, accumulator="i32" if t == "i8" else "f32", registers=held)
        for t in TYPES
        for held in (False, True)
    ),
    *(Product("bf16", "bf16", (w, w), majors) for w in (0, 32, 64, 128) for majors in ("kk", "kn", "mk", "mn")),
    Product("f8E4M3FN", "f8E5M2", (64, 64)),
    Product("f16", "f16", (32, 32), accumulator="f16"),
)
"""Every type, every major with every swizzle, types of 8 bits that mix, accumulation in f16."""
