"""Snippets: storage types, vector accesses, copies to shared memory."""

from __future__ import annotations

from irc.codegen.snippet import Snippet

_BYTES = {1: "unsigned char", 2: "unsigned short"}
_TYPES = {**_BYTES, 4: "unsigned", 8: "uint2", 16: "uint4"}
"""The C++ type of an access of so many bytes. Register arrays have another type: they are copied to and from it as
bytes, since the compiler takes what is written as one type not to be what is read as another."""

_LOADS = {
    "": "*{}",
    "streaming": "__ldcs({})",
    "read_only": "__ldg({})",
    "evict_last": "load_evict_last({})",
    "global": "load_global({})",
}
_STORES = {"": "*{0} = {1}", "streaming": "__stcs({0}, {1})", "write_back": "__stwb({0}, {1})"}


def access_name(direction: str, size: int, cache: str = "") -> str:
    """The function that moves `size` bytes (0: as many as it always does) between a register array and memory."""
    return "_".join(part for part in (direction, cache, str(size or "")) if part)


def _load(size: int, cache: str) -> Snippet:
    name = access_name("load", size, cache)
    text = f"DEVICE void {name}(void* registers, const void* memory) {{{_load_body(size, _LOADS[cache])}}}\n"
    return Snippet(name, text, (f"{cache}_{size}",) if cache in _ASSEMBLED else ())


_EVICT_LAST = 0x14F0000000000000
"""The policy that `createpolicy.fractional.L2::evict_last.b64` makes for all of what is read (CUTLASS has it as
`TMA::CacheHintSm90::EVICT_LAST`). Made by that instruction, it stands in the branch of each load that is guarded, which
ptxas then does not turn into a predicate."""


_OPERATORS = {"": "", "streaming": ".cs", "read_only": ".nc", "evict_last": ".nc.L2::cache_hint", "global": ".cg"}
"""Of `ld.global`, by the cache (PTX ISA, 9.7.9.8)."""

_ASSEMBLED = {
    "evict_last": ("", ", %{}", f', "l"({_EVICT_LAST:#x}ull)', ""),
    "global": (" volatile", "", "", ' : "memory"'),
}
"""Loads that are written as instructions: the qualifier, what names the policy and gives it, and what is clobbered."""


def _load_or(size: int, cache: str) -> Snippet:
    """The load where the condition holds, else copies of the value: an instruction with a predicate, which leaves
    registers that hold the value alone. Of a branch the compiler chooses element by element, and computes the address
    again in each of many."""
    name, count, bits = access_name("load_or", size, cache), max(1, size // 4), min(32, 8 * size)
    word, constraint = ("unsigned short", "h") if bits < 32 else ("unsigned", "r")
    words = ", ".join(f"o[sizeof(T) == 8 ? {i % 2} : 0]" if bits == 32 else f"({word})o[0]" for i in range(count))
    places = _braced(", ".join(f"%{i}" for i in range(count)), count)
    policy, hint = (f", %{count + 2}", f', "l"({_EVICT_LAST:#x}ull)') if cache == "evict_last" else ("", "")
    outputs = ", ".join(f'"+{constraint}"(w[{i}])' for i in range(count))
    is_constant = cache in ("read_only", "evict_last")
    qualifier, clobbers = ("", "") if is_constant else (" volatile", ' : "memory"')
    text = f"""\
template <typename T> DEVICE void {name}(void* registers, const void* memory, bool condition, T other) {{
  unsigned o[2] = {{0, 0}};
  memcpy(o, &other, sizeof(T));
  if (sizeof(T) == 2) o[0] *= 0x10001u;
  if (sizeof(T) == 1) o[0] *= 0x1010101u;
  {word} w[{count}] = {{{words}}};
  asm{qualifier}("{{.reg .pred p; setp.ne.s32 p, %{count + 1}, 0;"
      " @p ld.global{_OPERATORS[cache]}{_vector(count)}.u{bits} {places}, [%{count}]{policy};}}"
      : {outputs} : "l"(memory), "r"((int)condition){hint}{clobbers});
  memcpy(registers, w, {size});
}}
"""
    return Snippet(name, text)


def _load_assembled(size: int, cache: str) -> Snippet:
    """The load as an instruction. By the policy it is not volatile: nothing writes what it reads during the kernel."""
    qualifier, policy, hint, clobbers = _ASSEMBLED[cache]
    type, count, bits = _TYPES[size], max(1, size // 4), min(32, 8 * size)
    places = _braced(", ".join(f"%{i}" for i in range(count)), count)
    parts = ("",) if count == 1 else (".x", ".y", ".z", ".w")[:count]
    outputs = ", ".join(f'"={"h" if bits < 32 else "r"}"(v{part})' for part in parts)
    text = f"""\
DEVICE {type} load_{cache}(const {type}* memory) {{
  {type if size > 1 else _TYPES[2]} v;
  asm{qualifier}("ld.global{_OPERATORS[cache]}{_vector(count)}.u{bits} {places}, [%{count}]{policy.format(count + 1)};"
      : {outputs} : "l"(memory){hint}{clobbers});
  return v;
}}
"""
    return Snippet(f"{cache}_{size}", text)


def _load_body(size: int, read: str) -> str:
    type = _TYPES[size]
    return f" const {type} v = {read.format(f'(const {type}*)memory')}; memcpy(registers, &v, {size}); "


def _store(size: int, cache: str) -> Snippet:
    name = access_name("store", size, cache)
    body = _store_body(size, _STORES[cache])
    return Snippet(name, f"DEVICE void {name}(void* memory, const void* registers) {{{body}}}\n")


def _store_body(size: int, write: str) -> str:
    type = _TYPES[size]
    return f" {type} v; memcpy(&v, registers, {size}); {write.format(f'({type}*)memory', 'v')}; "


def _shared_load(size: int) -> Snippet:
    name = access_name("shared_load", size)
    if size in _BYTES:
        body = (
            f'unsigned short v; asm volatile("ld.shared.u{8 * size} %0, [%1];" : "=h"(v) : "r"(address) : "memory"); '
            f"memcpy(registers, &v, {size});"
        )
    else:
        count = size // 4
        outputs = ", ".join(f'"=r"(r[{i}])' for i in range(count))
        places = ", ".join(f"%{i}" for i in range(count))
        body = (
            f'unsigned r[{count}]; asm volatile("ld.shared{_vector(count)}.b32 {_braced(places, count)}, [%{count}];" '
            f': {outputs} : "r"(address) : "memory"); memcpy(registers, r, {size});'
        )
    return Snippet(name, f"DEVICE void {name}(void* registers, unsigned address) {{ {body} }}\n")


def _shared_store(size: int) -> Snippet:
    name = access_name("shared_store", size)
    if size in _BYTES:
        type = _BYTES[size]
        body = (
            f"{type} v; memcpy(&v, registers, {size}); "
            f'asm volatile("st.shared.u{8 * size} [%0], %1;" :: "r"(address), "h"((unsigned short)v) : "memory");'
        )
    else:
        count = size // 4
        inputs = ", ".join(f'"r"(r[{i}])' for i in range(count))
        places = ", ".join(f"%{i + 1}" for i in range(count))
        body = (
            f"unsigned r[{count}]; memcpy(r, registers, {size}); "
            f'asm volatile("st.shared{_vector(count)}.b32 [%0], {_braced(places, count)};" '
            f':: "r"(address), {inputs} : "memory");'
        )
    return Snippet(name, f"DEVICE void {name}(unsigned address, const void* registers) {{ {body} }}\n")


def _cp_async(size: int) -> Snippet:
    """Through L2 alone (cg) where the instruction has it, which is for 16 bytes."""
    cache = "cg" if size == 16 else "ca"
    text = (
        f"DEVICE void cp_async_{size}(unsigned address, const void* memory, bool predicate = true) {{\n"
        f'  asm volatile("cp.async.{cache}.shared.global [%0], [%1], {size}, %2;"\n'
        f'    :: "r"(address), "l"(__cvta_generic_to_global(memory)), "r"(predicate ? {size} : 0) : "memory");\n}}\n'
    )
    return Snippet(f"cp_async_{size}", text)


def _vector(count: int) -> str:
    return "" if count == 1 else f".v{count}"


def _braced(places: str, count: int) -> str:
    return places if count == 1 else f"{{{places}}}"


def _storage(name: str, bits: str) -> Snippet:
    return Snippet(name, f"struct {name} {{ {bits} bits; }};\n")


_AWAIT = """\
DEVICE void await_word(const int* word, int value) {
  int found;
  do {
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];"
      : "=r"(found) : "l"(__cvta_generic_to_global(word)) : "memory");
  } while (found != value);
}
"""

_FENCE = """\
template <int N> DEVICE void registers_fence(float (&r)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(r[i]) :: "memory");
}
template <int N> DEVICE void registers_fence(double (&r)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+d"(r[i]) :: "memory");
}
template <typename T, int N> DEVICE void registers_fence(T (&r)[N]) {
  static_assert(sizeof(r) % 4 == 0, "register arrays that are fenced are whole words");
#pragma unroll
  for (int i = 0; i < int(sizeof(r) / 4); ++i) {
    unsigned word;
    memcpy(&word, (const char*)r + 4 * i, 4);
    asm volatile("" : "+r"(word) :: "memory");
    memcpy((char*)r + 4 * i, &word, 4);
  }
}
"""

_REALIGN = """\
template <int SIZE> DEVICE void realign(void* registers, unsigned (&w)[8], int bytes) {
  unsigned* r = (unsigned*)registers;
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = bytes & 8 ? w[i + 2] : w[i];
  if (SIZE < 8) {
#pragma unroll
    for (int i = 0; i < 5; ++i) w[i] = bytes & 4 ? w[i + 1] : w[i];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) r[i] = SIZE < 4 ? __funnelshift_r(w[i], w[i + 1], 8 * (bytes & 3)) : w[i];
}
"""
"""16 of 32 bytes, from byte `bytes` on, a multiple of SIZE below 16."""


def _across(cache: str) -> Snippet:
    """A load of 16 bytes from any element on. `whole`: the words that memory has, with LEFT bytes after them; negative
    where there are more than are read. Nothing branches, so that many loads are in flight."""
    load, name = _LOADS[cache].format, access_name("load_across", 0, cache)
    parts = "".join(
        f"""\
  if ((LEFT & {size}) && i == whole) {{
    const {_TYPES[size]} v = {load(f"((const {_TYPES[size]}*)(memory + (LEFT & {32 - 2 * size})))")};
    memcpy((char*)w + (LEFT & {32 - 2 * size}), &v, {size});
  }}
"""
        for size in (8, 4, 2, 1)
    )
    text = f"""\
template <int LEFT, typename I> DEVICE void {name}_word(unsigned* w, const char* memory, I i, I whole) {{
  uint4 v = make_uint4(0, 0, 0, 0);
  if (whole < 0 || i >= 0 && i < whole) v = {load("((const uint4*)memory)")};
  memcpy(w, &v, 16);
{parts}}}
template <int SIZE, int LEFT, typename I> DEVICE void {name}(void* registers, const void* memory, I offset, I whole) {{
  unsigned w[8];
  const I word = offset >> (SIZE == 1 ? 4 : SIZE == 2 ? 3 : SIZE == 4 ? 2 : 1);
  const char* at = (const char*)memory + 16 * (long long)word;
  {name}_word<LEFT>(w, at, word, whole);
  {name}_word<LEFT>(w + 4, at + 16, word + 1, whole);
  realign<SIZE>(registers, w, ((int)offset & (16 / SIZE - 1)) * SIZE);
}}
"""
    return Snippet(
        name, text, ("realign", *(f"evict_last_{size}" for size in (_TYPES if cache == "evict_last" else ())))
    )


CORE: tuple[Snippet, ...] = (
    _storage("f16", "unsigned short"),
    _storage("bf16", "unsigned short"),
    _storage("f8e4m3", "unsigned char"),
    _storage("f8e5m2", "unsigned char"),
    Snippet("TensorMap", "struct alignas(64) TensorMap { unsigned char opaque[128]; };\n"),
    *(_load_assembled(size, cache) for cache in _ASSEMBLED for size in _TYPES),
    *(_load(size, cache) for cache in _LOADS for size in (1, 2, 4, 8, 16)),
    *(_load_or(size, cache) for cache in _LOADS for size in (1, 2, 4, 8, 16)),
    *(_store(size, cache) for cache in _STORES for size in (1, 2, 4, 8, 16)),
    *(_shared_load(size) for size in (1, 2, 4, 8, 16)),
    *(_shared_store(size) for size in (1, 2, 4, 8, 16)),
    *(_cp_async(size) for size in (4, 8, 16)),
    Snippet("await_word", _AWAIT),
    Snippet("realign", _REALIGN),
    *(_across(cache) for cache in ("", "read_only", "evict_last")),
    Snippet("registers_fence", _FENCE),
    Snippet(
        "cluster_rank",
        'DEVICE int cluster_rank() { int rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); return rank; }\n',
    ),
)
