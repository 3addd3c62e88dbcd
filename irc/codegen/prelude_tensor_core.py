"""Snippets: matrix loads and stores of a warp, mma.sync, wgmma's descriptors, tcgen05 (PTX ISA, 9.7.14
to 9.7.16)."""

from __future__ import annotations

from irc.codegen.snippet import Snippet, placeholders
from irc.layout.instructions import ATOMS, Atom
from irc.layout.tcgen05 import KINDS, LOADS, Kind


def matrix_name(direction: str, count: int, transpose: bool) -> str:
    """The function that loads or stores `count` 8x8 matrices."""
    return f"{direction}_x{count}{'_transposed' if transpose else ''}"


def _ldmatrix(count: int, transpose: bool) -> Snippet:
    name, suffix = matrix_name("ldmatrix", count, transpose), ".trans" if transpose else ""
    outputs = ", ".join(f'"=r"(r[{i}])' for i in range(count))
    text = (
        f"DEVICE void {name}(void* registers, unsigned address) {{\n  unsigned r[{count}];\n"
        f'  asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{suffix}.shared.b16 {placeholders(0, count)}, '
        f'[%{count}];" : {outputs} : "r"(address) : "memory");\n'
        f"  memcpy(registers, r, {4 * count});\n}}\n"
    )
    return Snippet(name, text)


def _stmatrix(count: int, transpose: bool) -> Snippet:
    name, suffix = matrix_name("stmatrix", count, transpose), ".trans" if transpose else ""
    inputs = ", ".join(f'"r"(r[{i}])' for i in range(count))
    text = (
        f"DEVICE void {name}(unsigned address, const void* registers) {{\n"
        f"  unsigned r[{count}];\n  memcpy(r, registers, {4 * count});\n"
        f'  asm volatile("stmatrix.sync.aligned.m8n8.x{count}{suffix}.shared.b16 [%0], '
        f'{placeholders(1, count)};" :: "r"(address), {inputs} : "memory");\n}}\n'
    )
    return Snippet(name, text)


OPERANDS = {"f32": ("tf32",), "i8": ("s8", "u8")}
"""What PTX calls operands of a type of the IR, where it is not the same: of integers, signed and unsigned ones."""


def mma_name(atom: Atom, accumulator: str, lhs: str, rhs: str) -> str:
    """The function of an mma that adds to a type of the IR, on operands that PTX calls `lhs` and `rhs`."""
    return f"mma_{atom.shape}_{accumulator.replace('i', 's')}_{lhs}_{rhs}"


def _mma(atom: Atom, element: str, accumulator: str, lhs: str, rhs: str) -> Snippet:
    name, accumulated = mma_name(atom, accumulator, lhs, rhs), accumulator.replace("i", "s")
    letters = ("d" if element == "f64" else "r") + {"f64": "d", "f32": "f"}.get(accumulator, "r")
    word = {"r": "unsigned", "d": "double", "f": "float"}
    packed = {"i8": 4, "bf16": 2, "f16": 2}
    counts = dict(zip("abd", atom.held, strict=True))
    counts |= {m: counts[m] // packed.get(element, 1) for m in "ab"} | {"d": counts["d"] // packed.get(accumulator, 1)}
    d = placeholders(0, counts["d"])
    a, b = placeholders(counts["d"], counts["a"]), placeholders(counts["d"] + counts["a"], counts["b"])
    outputs = ", ".join(f'"+{letters[1]}"(d[{i}])' for i in range(counts["d"]))
    inputs = ", ".join(f'"{letters[0]}"({m}[{i}])' for m in "ab" for i in range(counts[m]))
    text = (
        f"DEVICE void {name}(void* accumulator, const void* lhs, const void* rhs) {{\n"
        f"{_sums(word[letters[1]], counts['d'], is_packed=accumulator in packed)}"
        f"  {word[letters[0]]} a[{counts['a']}], b[{counts['b']}];\n"
        "  memcpy(a, lhs, sizeof a);\n  memcpy(b, rhs, sizeof b);\n"
        f'  asm volatile("mma.sync.aligned.{atom.shape}.row.col.{accumulated}.{lhs}.{rhs}.{accumulated} "\n'
        f'    "{d}, {a}, {b}, {d};"\n'
        f"    : {outputs} : {inputs});\n{_written(is_packed=accumulator in packed)}}}\n"
    )
    return Snippet(name, text)


def _sums(word: str, count: int, *, is_packed: bool) -> str:
    """The sums in registers: where they are, or as whole words where these hold several."""
    if is_packed:
        return f"  {word} d[{count}];\n  memcpy(d, accumulator, sizeof d);\n"
    return f"  {word}* d = ({word}*)accumulator;\n"


def _written(*, is_packed: bool) -> str:
    return "  memcpy(accumulator, d, sizeof d);\n" if is_packed else ""


_TF32 = """\
DEVICE unsigned to_tf32(float x) { unsigned r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; }
DEVICE void mma_tf32(float* d, const float* a, const float* b) {
  const unsigned ra[4] = {to_tf32(a[0]), to_tf32(a[1]), to_tf32(a[2]), to_tf32(a[3])};
  const unsigned rb[2] = {to_tf32(b[0]), to_tf32(b[1])};
  mma_m16n8k8_f32_tf32_tf32(d, ra, rb);
}
"""

_DESCRIPTOR = """\
DEVICE long long wgmma_descriptor(unsigned address, unsigned leading, unsigned stride, unsigned layout) {
  return (long long)((unsigned long long)((address & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16
    | (unsigned long long)(stride >> 4) << 32 | (unsigned long long)layout << 62);
}
"""

_TCGEN05_DESCRIPTOR = """\
DEVICE long long tcgen05_descriptor(unsigned address, unsigned leading, unsigned stride, unsigned layout) {
  return (long long)((unsigned long long)((address & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16
    | (unsigned long long)(stride >> 4) << 32 | 1ull << 46 | (unsigned long long)layout << 61);
}
"""
"""Bit 46 tells that it is one of tcgen05 (PTX ISA, 9.7.16.4.1)."""


def _tcgen05_mma(kind: Kind) -> Snippet:
    name = f"tcgen05_mma_{kind.name}"
    text = (
        f"DEVICE void {name}(unsigned tensor, long long lhs, long long rhs, unsigned instruction, bool accumulate) {{\n"
        '  asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; "\n'
        f'    "tcgen05.mma.cta_group::1.kind::{kind.name} [%0], %1, %2, %3, p; }}"\n'
        '    :: "r"(tensor), "l"(lhs), "l"(rhs), "r"(instruction), "r"((int)accumulate) : "memory");\n}\n'
    )
    return Snippet(name, text)


def _tcgen05_load(count: int) -> Snippet:
    """The registers hold nothing before the wait, which is why it is in the same statement."""
    name = f"tcgen05_load_x{count}"
    outputs = ", ".join(f'"=r"(r[{i}])' for i in range(count))
    text = (
        f"DEVICE void {name}(void* registers, unsigned tensor) {{\n  unsigned r[{count}];\n"
        f'  asm volatile("tcgen05.ld.sync.aligned.32x32b.x{count}.b32 {placeholders(0, count)}, [%{count}];\\n"\n'
        f'    "tcgen05.wait::ld.sync.aligned;" : {outputs} : "r"(tensor) : "memory");\n'
        f"  memcpy(registers, r, {4 * count});\n}}\n"
    )
    return Snippet(name, text)


TENSOR_CORE: tuple[Snippet, ...] = (
    *(_ldmatrix(count, transpose) for count in (1, 2, 4) for transpose in (False, True)),
    *(_stmatrix(count, transpose) for count in (1, 2, 4) for transpose in (False, True)),
    *(
        _mma(atom, element, accumulator, lhs, rhs)
        for atom in ATOMS.values()
        for element, accumulators in atom.accumulators.items()
        for accumulator in accumulators
        for lhs in OPERANDS.get(element, (element,))
        for rhs in OPERANDS.get(element, (element,))
    ),
    Snippet("mma_tf32", _TF32, ("mma_m16n8k8_f32_tf32_tf32",)),
    Snippet("wgmma_descriptor", _DESCRIPTOR),
    Snippet("tcgen05_descriptor", _TCGEN05_DESCRIPTOR),
    *map(_tcgen05_mma, KINDS),
    *map(_tcgen05_load, LOADS),
)
