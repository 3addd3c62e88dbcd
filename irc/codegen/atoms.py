"""The functions through which kernels call wgmma (PTX ISA, 9.7.15.5.2).

The instruction takes every accumulator register as an operand of its own; the function takes a pointer to the first.
"""

from __future__ import annotations

from dataclasses import dataclass

from irc.codegen.snippet import placeholders

PTX_TYPES = {
    "bf16": "bf16",
    "f16": "f16",
    "f32": "tf32",
    "i8": "s8",
    "ui8": "u8",
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
}
"""What PTX calls each operand type of the IR."""

_ACCUMULATORS = {"f32": "f32", "f16": "f16", "i32": "s32"}

LHS_REGISTERS = 4
"""Registers of a thread of a left operand."""


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
        """The name of the function, from which `parse` gets the atom back."""
        source = "registers" if self.lhs_in_registers else "shared"
        majors = f"{_major(self.transpose_lhs)}_{_major(self.transpose_rhs)}"
        return f"wgmma_{self.n}_{self.k}_{self.accumulator}_{self.lhs}_{self.rhs}_{source}_{majors}"

    @staticmethod
    def parse(name: str) -> Atom:
        """The atom of a function's name."""
        _, n, k, accumulator, lhs, rhs, source, lhs_major, rhs_major = name.split("_")
        return Atom(int(n), int(k), accumulator, lhs, rhs, source == "registers", lhs_major == "MN", rhs_major == "MN")

    @property
    def mnemonic(self) -> str:
        """The instruction with its types."""
        types = f"{_ACCUMULATORS[self.accumulator]}.{PTX_TYPES[self.lhs]}.{PTX_TYPES[self.rhs]}"
        return f"wgmma.mma_async.sync.aligned.m64n{self.n}k{self.k}.{types}"

    @property
    def immediates(self) -> tuple[int, ...]:
        """The last operands: the factors of the operands, 1 or -1, which products of integers do not have, and whether
        those are transposed that can be: of 16 bits, in shared memory."""
        if self.accumulator == "i32":
            return ()
        if self.k != 16:
            return (1, 1)
        transposed = (self.transpose_rhs,) if self.lhs_in_registers else (self.transpose_lhs, self.transpose_rhs)
        return (1, 1, *map(int, transposed))

    @property
    def registers(self) -> int:
        """32-bit accumulator registers of a thread."""
        return self.n // (4 if self.accumulator == "f16" else 2)


def atom_snippet(name: str) -> str:
    """The definition of a function: `accumulator` is the first of the thread's accumulator registers."""
    atom = Atom.parse(name)
    word, letter = ("float", "f") if atom.accumulator == "f32" else ("unsigned", "r")
    lhs, held = ("const void* lhs", LHS_REGISTERS) if atom.lhs_in_registers else ("long long lhs", 1)
    first, count = atom.registers, atom.registers + held
    left = placeholders(first, held) if atom.lhs_in_registers else f"%{first}"
    inputs = [f'"r"(a[{i}])' for i in range(held)] if atom.lhs_in_registers else ['"l"(lhs)']
    operands = [placeholders(0, first), left, f"%{count}", "p", *map(str, atom.immediates)]
    outputs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(first))
    registers = "  const unsigned* a = (const unsigned*)lhs;\n" if atom.lhs_in_registers else ""
    return (
        f"DEVICE void {name}(void* accumulator, {lhs}, long long rhs, bool accumulate) {{\n"
        f"  {word}* d = ({word}*)accumulator;\n{registers}"
        f'  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{count + 1}, 0; {atom.mnemonic} "\n'
        f'    "{", ".join(operands)}; }}"\n'
        f'    : {outputs}\n    : {", ".join(inputs)}, "l"(rhs), "r"((int)accumulate));\n}}\n'
    )


def _major(transposed: bool) -> str:
    return "MN" if transposed else "K"
