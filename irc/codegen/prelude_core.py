"""Snippets: storage types, vector accesses, warp and block synchronisation."""

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
    "kept": "load_kept({})",
    "global": "__ldcg({})",
}
_STORES = {"": "*{0} = {1}", "streaming": "__stcs({0}, {1})", "write_back": "__stwb({0}, {1})"}


def access_name(direction: str, size: int, cache: str = "") -> str:
    """The function that moves `size` bytes between a register array and global memory."""
    return "_".join(part for part in (direction, cache, str(size)) if part)


def _load(size: int, cache: str) -> Snippet:
    name = access_name("load", size, cache)
    text = f"DEVICE void {name}(void* registers, const void* memory) {{{_load_body(size, _LOADS[cache])}}}\n"
    return Snippet(name, text, (f"kept_{size}",) if cache == "kept" else ())


_KEEP = 0x14F0000000000000
"""The policy that `createpolicy.fractional.L2::evict_last.b64` makes for all of what is read (CUTLASS has it as
`TMA::CacheHintSm90::EVICT_LAST`). Made by that instruction, it stands in the branch of each load that is guarded, which
ptxas then does not turn into a predicate."""


def _kept(size: int) -> Snippet:
    """The load, by the policy. The asm is not volatile: nothing writes what it reads during the kernel."""
    type, count, bits = _TYPES[size], max(1, size // 4), min(32, 8 * size)
    places = _braced(", ".join(f"%{i}" for i in range(count)), count)
    parts = ("",) if count == 1 else (".x", ".y", ".z", ".w")[:count]
    outputs = ", ".join(f'"={"h" if bits < 32 else "r"}"(v{part})' for part in parts)
    text = f"""\
DEVICE {type} load_kept(const {type}* memory) {{
  {type if size > 1 else _TYPES[2]} v;
  asm("ld.global.nc.L2::cache_hint{_vector(count)}.u{bits} {places}, [%{count}], %{count + 1};"
      : {outputs} : "l"(memory), "l"({_KEEP:#x}ull));
  return v;
}}
"""
    return Snippet(f"kept_{size}", text)


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


def _vector(count: int) -> str:
    return "" if count == 1 else f".v{count}"


def _braced(places: str, count: int) -> str:
    return places if count == 1 else f"{{{places}}}"


def _storage(name: str, bits: str) -> Snippet:
    return Snippet(name, f"struct {name} {{ {bits} bits; }};\n")


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

_ACROSS = """\
template <int SIZE> DEVICE void shared_load_across(void* registers, unsigned low, unsigned high, int skip) {
  unsigned w[8], *r = (unsigned*)registers;
  shared_load_16(w, low);
  shared_load_16(w + 4, high);
  const int bytes = SIZE * skip;
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

CORE: tuple[Snippet, ...] = (
    _storage("f16", "unsigned short"),
    _storage("bf16", "unsigned short"),
    _storage("f8e4m3", "unsigned char"),
    _storage("f8e5m2", "unsigned char"),
    Snippet("TensorMap", "struct alignas(64) TensorMap { unsigned char opaque[128]; };\n"),
    *(_kept(size) for size in _TYPES),
    *(_load(size, cache) for cache in _LOADS for size in (1, 2, 4, 8, 16)),
    *(_store(size, cache) for cache in _STORES for size in (1, 2, 4, 8, 16)),
    *(_shared_load(size) for size in (1, 2, 4, 8, 16)),
    *(_shared_store(size) for size in (1, 2, 4, 8, 16)),
    Snippet("shared_load_across", _ACROSS, ("shared_load_16",)),
    Snippet("registers_fence", _FENCE),
    Snippet(
        "cluster_sync",
        'DEVICE void cluster_sync() { asm volatile("barrier.cluster.arrive.release.aligned;\\n'
        'barrier.cluster.wait.acquire.aligned;" ::: "memory"); }\n',
    ),
    Snippet(
        "cluster_rank",
        'DEVICE int cluster_rank() { int rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); return rank; }\n',
    ),
    Snippet(
        "named_sync",
        "DEVICE void named_sync(int id, int threads) {\n"
        '  asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory");\n}\n',
    ),
    Snippet(
        "named_arrive",
        "DEVICE void named_arrive(int id, int threads) {\n"
        '  asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(threads) : "memory");\n}\n',
    ),
    Snippet(
        "grow_registers",
        "template <int N> DEVICE void grow_registers() {\n"
        '  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N));\n}\n',
    ),
    Snippet(
        "shrink_registers",
        "template <int N> DEVICE void shrink_registers() {\n"
        '  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N));\n}\n',
    ),
    Snippet(
        "dependency_wait", 'DEVICE void dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }\n'
    ),
    Snippet(
        "launch_dependents",
        'DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }\n',
    ),
)
