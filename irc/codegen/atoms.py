"""The table of CUTLASS's wgmma atoms (cute/arch/mma_sm90_gmma.hpp), and the wrappers through which kernels call them.

An atom takes every accumulator register as an argument of its own; its wrapper takes a pointer to the first. The
basic header has the n of `BASIC_N`; the others are in an extension that is included on demand, as it is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BASIC_N = frozenset((8, 16, 32, 64, 96, 128, 192, 256))

_HEADER = "#include <cute/arch/mma_sm90_gmma.hpp>\n"
_EXTENDED = "#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED\n"

CUTLASS_TYPES = {
    "bf16": "BF16",
    "f16": "F16",
    "f32": "TF32",
    "i8": "S8",
    "ui8": "U8",
    "f8E4M3FN": "E4M3",
    "f8E5M2": "E5M2",
}
"""CUTLASS's name of each operand type of the IR."""

_ACCUMULATORS = {"f32": "F32", "f16": "F16", "i32": "S32"}


@dataclass(frozen=True)
class Atom:
    """A wgmma m64nNkK. `lhs` and `rhs` are operand types and `accumulator` its type, as the IR spells them."""

    n: int
    k: int
    accumulator: str
    lhs: str
    rhs: str
    lhs_in_registers: bool = False
    transpose_lhs: bool = False
    transpose_rhs: bool = False

    @property
    def name(self) -> str:
        """The name of the wrapper, from which `parse` gets the atom back."""
        source = "registers" if self.lhs_in_registers else "shared"
        majors = f"{_major(self.transpose_lhs)}_{_major(self.transpose_rhs)}"
        return f"wgmma_{self.n}_{self.k}_{self.accumulator}_{self.lhs}_{self.rhs}_{source}_{majors}"

    @staticmethod
    def parse(name: str) -> Atom:
        """The atom of a wrapper's name."""
        _, n, k, accumulator, lhs, rhs, source, lhs_major, rhs_major = name.split("_")
        return Atom(int(n), int(k), accumulator, lhs, rhs, source == "registers", lhs_major == "MN", rhs_major == "MN")

    @property
    def struct(self) -> str:
        """CUTLASS's type, with the majors of operands that have a choice: those of 16 bits."""
        types = _ACCUMULATORS[self.accumulator] + CUTLASS_TYPES[self.lhs] + CUTLASS_TYPES[self.rhs]
        name = f"cute::SM90::GMMA::MMA_64x{self.n}x{self.k}_{types}_{'RS' if self.lhs_in_registers else 'SS'}"
        if self.k != 16:
            return f"{name}_TN" if self.lhs in ("i8", "ui8") else f"{name}_TN<>"
        major = "cute::SM90::GMMA::Major::"
        return f"{name}<{major}{_major(self.transpose_lhs)}, {major}{_major(self.transpose_rhs)}>"

    @property
    def registers(self) -> int:
        """32-bit accumulator registers of a thread."""
        return self.n // (4 if self.accumulator == "f16" else 2)


def includes(names: Sequence[str]) -> str:
    """The include directives for these wrappers."""
    if not names:
        return ""
    extended = any(Atom.parse(name).n not in BASIC_N for name in names)
    return (_EXTENDED if extended else "") + _HEADER


def atom_snippet(name: str) -> str:
    """The definition of a wrapper: `accumulator` is the first of the thread's accumulator registers."""
    atom = Atom.parse(name)
    word = "float" if atom.accumulator == "f32" else "unsigned"
    lhs = "const void* lhs" if atom.lhs_in_registers else "long long lhs"
    operands = [f"a[{i}]" for i in range(4)] if atom.lhs_in_registers else ["(uint64_t)lhs"]
    arguments = ", ".join([*operands, "(uint64_t)rhs", *(f"d[{i}]" for i in range(atom.registers))])
    registers = "  const unsigned* a = (const unsigned*)lhs;\n" if atom.lhs_in_registers else ""
    scale = "cute::SM90::GMMA::ScaleOut::"
    return (
        f"DEVICE void {name}(void* accumulator, {lhs}, long long rhs, bool accumulate) {{\n"
        f"  {word}* d = ({word}*)accumulator;\n{registers}"
        f"  {atom.struct}::fma({arguments}, accumulate ? {scale}One : {scale}Zero);\n}}\n"
    )


def _major(transposed: bool) -> str:
    return "MN" if transposed else "K"
