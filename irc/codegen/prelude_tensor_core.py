"""Snippets: matrix loads and stores of a warp, mma.sync, wgmma's descriptors (PTX ISA, 9.7.14 and
9.7.15)."""

from __future__ import annotations

from irc.codegen.snippet import Snippet, placeholders


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


MMA_NAMES: dict[tuple[str, str, str], str] = {}
"""The snippet of an mma by its shape and the PTX types of its operands."""


def _mma(shape: str, types: tuple[str, str, str], registers: tuple[int, int, int], letters: str) -> Snippet:
    """`types` are PTX's of a, b and the accumulator; `registers` how many each takes; `letters` asm constraints of
    operands and it."""
    lhs, rhs, accumulated = types
    name = f"mma_{shape}_{accumulated}_{lhs}_{rhs}"
    MMA_NAMES[shape, lhs, rhs] = name
    word = {"r": "unsigned", "d": "double", "f": "float"}
    counts = dict(zip("abd", registers, strict=True))
    d = placeholders(0, counts["d"])
    a, b = placeholders(counts["d"], counts["a"]), placeholders(counts["d"] + counts["a"], counts["b"])
    outputs = ", ".join(f'"+{letters[1]}"(d[{i}])' for i in range(counts["d"]))
    inputs = ", ".join(f'"{letters[0]}"({m}[{i}])' for m in "ab" for i in range(counts[m]))
    text = (
        f"DEVICE void {name}(void* accumulator, const void* lhs, const void* rhs) {{\n"
        f"  {word[letters[1]]}* d = ({word[letters[1]]}*)accumulator;\n"
        f"  {word[letters[0]]} a[{counts['a']}], b[{counts['b']}];\n"
        "  memcpy(a, lhs, sizeof a);\n  memcpy(b, rhs, sizeof b);\n"
        f'  asm volatile("mma.sync.aligned.{shape}.row.col.{accumulated}.{lhs}.{rhs}.{accumulated} "\n'
        f'    "{d}, {a}, {b}, {d};"\n'
        f"    : {outputs} : {inputs});\n}}\n"
    )
    return Snippet(name, text)


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

TENSOR_CORE: tuple[Snippet, ...] = (
    *(_ldmatrix(count, transpose) for count in (1, 2, 4) for transpose in (False, True)),
    *(_stmatrix(count, transpose) for count in (1, 2, 4) for transpose in (False, True)),
    *(_mma("m16n8k16", (t, t, "f32"), (4, 2, 4), "rf") for t in ("bf16", "f16")),
    _mma("m16n8k8", ("tf32", "tf32", "f32"), (4, 2, 4), "rf"),
    Snippet("mma_tf32", _TF32, ("mma_m16n8k8_f32_tf32_tf32",)),
    *(_mma("m16n8k32", (a, b, "s32"), (4, 2, 4), "rr") for a in ("s8", "u8") for b in ("s8", "u8")),
    _mma("m8n8k4", ("f64", "f64", "f64"), (1, 1, 2), "dd"),
    _mma("m16n8k8", ("f64", "f64", "f64"), (4, 2, 4), "dd"),
    Snippet("wgmma_descriptor", _DESCRIPTOR),
)
