"""cuda to CUDA C++: each family of ops prints, compiles for every architecture that has it, and gives the instructions meant."""

from __future__ import annotations

from collections import Counter

import pytest
from drawing import long
from xdsl.context import Context
from xdsl.dialects import arith, builtin, math, scf
from xdsl.parser import Parser

from irc.codegen import print_module
from irc.codegen.nvrtc import Compilation, compile_source
from irc.codegen.sass import disassemble, opcodes, uses
from irc.dialects.cuda import Cuda
from irc.layout.tcgen05 import instruction_descriptor
from irc.support.diagnostics import IrcError
from irc.support.parameters import layout_of_set

ARCHS = ("sm_80", "sm_89", "sm_90a", "sm_100a")


def parse(text: str) -> builtin.ModuleOp:
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, math.Math, scf.Scf, Cuda):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def kernel(body: str, arguments: str = "", clauses: str = "") -> str:
    """The C++ of a kernel with these ops; constants %c0.. are of index, %s0.. of i32."""
    constants = "".join(
        f"%c{n} = arith.constant {n} : index\n%s{n} = arith.constant {n} : i32\n" for n in (0, 1, 2, 4, 8, 16)
    )
    if "%t" not in arguments:
        constants += "%t = cuda.thread_id\n"
    return print_module(
        parse(f"cuda.kernel @k({arguments}) grid [2, 1, 1] block 128 {clauses} {{\n{constants}{body}\ncuda.return\n}}")
    )


def build(source: str, arch: str = "sm_90a") -> Compilation:
    return compile_source(source, arch, name="k")


@pytest.mark.parametrize("letters", ["p", "pi", "pid", "pip", "m", "pm", "mi", "pmp", "iiiiiiii", "pmiiiiiiii"])
def test_a_set_of_operands_lies_as_the_runtime_writes_it(letters: str) -> None:
    map = "!cuda.tensor_map<bf16, [64, 64], box [64, 64], swizzle 128>"
    types = {"p": "!cuda.ptr<bf16>", "m": map, "i": "i8", "d": "f64"}
    arguments = ", ".join(f"%a{i}: {types[letter]}" for i, letter in enumerate(letters))
    source = kernel("", arguments, f"writes {[0] * len(letters)} sets 8")
    _, size = layout_of_set([letter == "m" for letter in letters])
    build(source + f"static_assert(sizeof(k_set) == {size});\nstatic_assert(sizeof(k_sets) == {8 * size});\n")


def test_a_kernel_of_sets_reads_its_own_without_a_copy() -> None:
    """From where it lies in the constant bank; loads of what is read only go through the texture path as without."""
    body = """%r = cuda.registers : !cuda.registers<4 x f32>
    %o = arith.muli %t, %c4 : index
    cuda.load %x[%o] -> %r[%c0] {count = 4} : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
    cuda.store %r[%c0], %y[%o] {count = 4} : !cuda.registers<4 x f32> -> !cuda.ptr<f32>"""
    alone = kernel(body, "%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>", "writes [0, 1]")
    of_sets = kernel(body, "%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>", "writes [0, 1] sets 256")
    for source in (alone, of_sets):
        found = opcodes(build(source).cubin)
        assert not any(name.startswith(("LDL", "STL")) for name in found)
        assert sum(count for name, count in found.items() if name.startswith("LDG.E.128")) == 1


def test_vector_accesses_are_one_instruction() -> None:
    source = kernel(
        """%r = cuda.registers : !cuda.registers<8 x bf16>
        %o = arith.muli %t, %c8 : index
        cuda.load %x[%o] -> %r[%c0] {count = 8} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
        scf.for %i = %c0 to %c8 step %c1 {
          %v = cuda.get %r[%i] : !cuda.registers<8 x bf16>
          %w = arith.extf %v : bf16 to f32
          %e = arith.mulf %w, %w : f32
          %n = arith.truncf %e : f32 to bf16
          cuda.set %r[%i], %n : !cuda.registers<8 x bf16>
        } {unroll}
        cuda.store %r[%c0], %y[%o] {count = 8} : !cuda.registers<8 x bf16> -> !cuda.ptr<bf16>""",
        "%x: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>",
        "writes [0, 1]",
    )
    assert "k(const bf16* __restrict__ x, bf16* __restrict__ y) {" in source
    compiled = build(source)
    counts = opcodes(compiled.cubin)
    assert uses(counts, "LDG.E.128") and counts["STG.E.128"] == 1, counts
    assert counts["F2FP.BF16.F32.PACK_AB"] == 4, "two roundings in one instruction"
    assert compiled.resources["k"].stack == 0 and compiled.resources["k"].spills == 0


@pytest.mark.parametrize(
    "cache, instruction",
    [
        *(("streaming", "LDG.E.EF"), ("read_only", "LDG.E.CONSTANT"), ("evict_last", "LDG.E.CONSTANT")),
        ("global", "LDG.E.STRONG.GPU"),
    ],
)
def test_cache_hints(cache: str, instruction: str) -> None:
    source = kernel(
        f"""%r = cuda.registers : !cuda.registers<1 x f32>
        cuda.load %x[%t] -> %r[%c0] {{cache = "{cache}"}} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
        cuda.store %r[%c0], %y[%t] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>""",
        "%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>",
        "writes [0, 1]",
    )
    assert uses(opcodes(build(source).cubin), instruction)


@pytest.mark.parametrize(("elements", "condition"), [(1, ""), (2, ""), (8, ""), (8, " if %p else %z")])
def test_a_load_before_a_wait_is_issued_before_it(elements: int, condition: str) -> None:
    """The assembler may put a wait before a load of memory that nothing writes during the kernel."""
    op, types = ("load_or", "!cuda.ptr<bf16>, bf16") if condition else ("load", "!cuda.ptr<bf16>")
    source = kernel(
        f"""%r = cuda.registers : !cuda.registers<{elements} x bf16>
        %z = arith.constant 0.0 : bf16
        %p = arith.cmpi ult, %t, %c16 : index
        %o = arith.muli %t, %c{elements} : index
        cuda.{op} %x[%o]{condition} -> %r[%c0] {{count = {elements} : i64, cache = "global"}} : {types} -> !cuda.registers<{elements} x bf16>
        cuda.dependency_wait
        cuda.store %r[%c0], %y[%o] {{count = {elements} : i64}} : !cuda.registers<{elements} x bf16> -> !cuda.ptr<bf16>""",
        "%x: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>",
        "writes [0, 1]",
    )
    sass = disassemble(build(source).cubin)
    assert sass.index("LDG") < sass.index("ACQBULK")


def test_keeping_what_is_loaded_takes_a_constant() -> None:
    """Instructions that make the policy would stand in the branch of every guarded load."""

    def counts(cache: str) -> Counter[str]:
        source = kernel(
            f"""%r = cuda.registers : !cuda.registers<8 x bf16>
            cuda.load %x[%t] -> %r[%c0] {{count = 8 : i64, cache = "{cache}"}} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
            cuda.store %r[%c0], %y[%t] {{count = 8 : i64}} : !cuda.registers<8 x bf16> -> !cuda.ptr<bf16>""",
            "%x: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>",
            "writes [0, 1]",
        )
        return opcodes(build(source).cubin)

    assert set(counts("evict_last") - counts("read_only")) <= {"UMOV", "NOP", "ULDC.64"}


SHARED = """
  %b = cuda.registers : !cuda.registers<16 x i8>
  %h = cuda.registers : !cuda.registers<8 x f16>
  %base = cuda.shared {offset = 256 : i64, align = 128 : i64}
  cuda.load %x[%t] -> %h[%c0] : !cuda.ptr<f16> -> !cuda.registers<8 x f16>
  cuda.shared_store %h[%c0], %base {count = 8} : !cuda.registers<8 x f16>
  cuda.shared_store %h[%c0], %base {count = 4} : !cuda.registers<8 x f16>
  cuda.shared_store %h[%c0], %base {count = 2} : !cuda.registers<8 x f16>
  cuda.shared_store %h[%c0], %base {count = 1} : !cuda.registers<8 x f16>
  cuda.sync
  cuda.shared_load %base -> %b[%c0] {count = 16} : !cuda.registers<16 x i8>
  cuda.store %b[%c0], %y[%t] {count = 16} : !cuda.registers<16 x i8> -> !cuda.ptr<i8>
  cuda.shared_load %base -> %b[%c0] {count = 8} : !cuda.registers<16 x i8>
  cuda.shared_load %base -> %b[%c0] {count = 4} : !cuda.registers<16 x i8>
  cuda.shared_load %base -> %b[%c0] {count = 2} : !cuda.registers<16 x i8>
  cuda.shared_load %base -> %b[%c0] {count = 1} : !cuda.registers<16 x i8>
  cuda.load_across %y[%t] -> %b[%c0] {size = 15, cache = "evict_last"} : !cuda.ptr<i8> -> !cuda.registers<16 x i8>
  cuda.load_across %x[%t] -> %h[%c0] {size = 1001, cache = "read_only"} : !cuda.ptr<f16> -> !cuda.registers<8 x f16>
  cuda.load_across %x[%t] -> %h[%c0] : !cuda.ptr<f16> -> !cuda.registers<8 x f16>
  cuda.ldmatrix %base -> %h[%c0] {count = 4 : i64, transpose = true} : !cuda.registers<8 x f16>
  cuda.cp_async %base, %x[%c8] : !cuda.ptr<f16>
  %low = arith.cmpi slt, %t, %c4 : index
  cuda.cp_async %base, %x[%c8] if %low {bytes = 8 : i64} : !cuda.ptr<f16>
  cuda.cp_async_commit
  cuda.cp_async_wait
  cuda.sync
  cuda.store %h[%c0], %x[%t] {count = 4} : !cuda.registers<8 x f16> -> !cuda.ptr<f16>
  cuda.store %b[%c0], %y[%t] {count = 16, cache = "streaming"} : !cuda.registers<16 x i8> -> !cuda.ptr<i8>
  cuda.store %b[%c0], %y[%t] {count = 16, cache = "write_back"} : !cuda.registers<16 x i8> -> !cuda.ptr<i8>
"""

SHUFFLED = ("f32", "f64", "i64", "i32", "i16", "i8", "f16", "bf16", "f8E4M3FN", "i1")


def shuffles() -> str:
    lines: list[str] = []
    for number, type in enumerate(SHUFFLED):
        lines += [
            f"%r{number} = cuda.registers : !cuda.registers<1 x {type}>",
            f"cuda.load %x{number}[%t] -> %r{number}[%c0] : !cuda.ptr<{type}> -> !cuda.registers<1 x {type}>",
            f"%v{number} = cuda.get %r{number}[%c0] : !cuda.registers<1 x {type}>",
            f'%w{number} = cuda.shuffle "{("xor", "up", "down", "index")[number % 4]}" %v{number}, %s4 : {type}',
            f"cuda.set %r{number}[%c0], %w{number} : !cuda.registers<1 x {type}>",
            f"cuda.store %r{number}[%c0], %x{number}[%t] : !cuda.registers<1 x {type}> -> !cuda.ptr<{type}>",
        ]
    return "\n".join(lines)


MMA = {
    "m16n8k16": (("bf16", 8, 4, "f32", 4), ("f16", 8, 4, "f32", 4)),
    "m16n8k8": (("f32", 4, 2, "f32", 4),),
    "m16n8k32": (("i8", 16, 8, "i32", 4),),
    "m16n8k16_b8": (("i8", 8, 4, "i32", 4),),
    "m8n8k4": (("f64", 1, 1, "f64", 2),),
}
MMA_SM90 = {"m16n8k8": (("f64", 4, 2, "f64", 4),)}


def mmas(table: dict[str, tuple[tuple[str, int, int, str, int], ...]]) -> str:
    lines: list[str] = []
    for shape, rows in table.items():
        for number, (type, a, b, accumulator, d) in enumerate(rows):
            x = f"{shape}_{number}"
            ra, rb, rd = (f"!cuda.registers<{n} x {t}>" for n, t in ((a, type), (b, type), (d, accumulator)))
            zero = "0" if accumulator == "i32" else "0.0"
            lines += [
                f"%a{x} = cuda.registers : {ra}",
                f"%b{x} = cuda.registers : {rb}",
                f"%d{x} = cuda.registers : {rd}",
                f"%z{x} = arith.constant {zero} : {accumulator}",
                f"scf.for %i = %c0 to %n{x} step %c1 {{",
                f"cuda.set %d{x}[%i], %z{x} : {rd}",
                "} {unroll}",
                f"cuda.shared_load %base -> %a{x}[%c0] {{count = {1 if type == 'f64' else a // 2}}} : {ra}",
                f"cuda.shared_load %base -> %b{x}[%c0] {{count = {1 if type == 'f64' else b // 2}}} : {rb}",
                f'cuda.mma %d{x}[%c0], %a{x}[%c0], %b{x}[%c0] {{instruction = "{shape}"}} : {rd}, {ra}, {rb}',
                f"cuda.shared_store %d{x}[%c0], %base {{count = {2}}} : {rd}",
            ]
            lines.insert(0, f"%n{x} = arith.constant {d} : index")
    return "%base = cuda.shared {offset = 0 : i64}\n" + "\n".join(lines)


SYNCHRONIZATION = """
  %id = arith.constant 3 : i32
  cuda.warp_sync
  cuda.named_sync %id {threads = 128 : i64}
  cuda.named_arrive %id {threads = 128 : i64}
  cuda.fence "device"
  cuda.fence "block"
  %n = arith.index_cast %t : index to i32
  %u = cuda.warp_uniform %n : i32
  %alone = arith.cmpi eq, %n, %s0 : i32
  scf.if %alone {
    %own = cuda.first_lane %n : i32
    %taken = cuda.atomic "add" %own, %i[%c0] : !cuda.ptr<i32>
  }
  %one = arith.constant 1.0 : f32
  %old = cuda.atomic "add" %u, %i[%c0] : !cuda.ptr<i32>
  %oldf = cuda.atomic "add" %one, %f[%c0] : !cuda.ptr<f32>
  %wide = arith.extsi %old : i32 to i64
  %ol = cuda.atomic "add" %wide, %l[%c0] : !cuda.ptr<i64>
  %om = cuda.atomic "max" %wide, %l[%c1] : !cuda.ptr<i64>
  %oe = cuda.atomic "exchange" %wide, %l[%c2] : !cuda.ptr<i64>
"""

FAMILIES = {
    "shared": (SHARED, "%x: !cuda.ptr<f16>, %y: !cuda.ptr<i8>"),
    "shuffle": (shuffles(), ", ".join(f"%x{n}: !cuda.ptr<{type}>" for n, type in enumerate(SHUFFLED))),
    "mma": (mmas(MMA), ""),
    "synchronization": (SYNCHRONIZATION, "%i: !cuda.ptr<i32>, %f: !cuda.ptr<f32>, %l: !cuda.ptr<i64>"),
}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("family", FAMILIES)
def test_family_compiles(family: str, arch: str) -> None:
    body, arguments = FAMILIES[family]
    compiled = build(kernel(body, arguments), arch)
    assert compiled.cubin[:4] == b"\x7fELF"
    assert compiled.resources["k"].stack == 0, compiled.log


def test_matrix_instructions() -> None:
    body, arguments = FAMILIES["mma"]
    counts = opcodes(build(kernel(body, arguments), "sm_80").cubin)
    integers = "IMMA.16832.S8.S8", "IMMA.16816.S8.S8"
    for opcode in ("HMMA.16816.F32.BF16", "HMMA.16816.F32", "HMMA.1688.F32.TF32", *integers, "DMMA.884"):
        assert uses(counts, opcode), counts
    assert uses(opcodes(build(kernel(mmas(MMA_SM90), "")).cubin), "DMMA.16x8x8")
    body, arguments = FAMILIES["shared"]
    counts = opcodes(build(kernel(body, arguments), "sm_80").cubin)
    for opcode in ("LDSM.16.MT88.4", "LDGSTS.E.BYPASS.128", "LDS.128", "STS.64", "STG.E.EF.128"):
        assert uses(counts, opcode), counts


TMA = """
  %a = cuda.shared {offset = 0 : i64, align = 1024 : i64}
  %bar = cuda.shared {offset = 4096 : i64}
  %three = arith.constant 3 : i32
  cuda.barrier_init %bar {count = 1 : i64}
  cuda.fence_barrier_init
  cuda.cluster_sync
  %rank = cuda.cluster_rank
  %r = arith.index_cast %rank : index to i32
  cuda.barrier_expect %bar {bytes = 1024 : i64}
  cuda.tma_load %m[COORDINATES] -> %a, %bar : !MAP
  cuda.tma_load %m[COORDINATES] -> %a, %bar multicast %three : !MAP
  cuda.barrier_wait %bar, %s0
  cuda.barrier_arrive %bar
  cuda.barrier_arrive_cluster %bar, %r
  cuda.fence_proxy_async
  cuda.tma_store %a -> %m[COORDINATES] : !MAP
  cuda.tma_store_commit
  cuda.tma_store_wait {pending = 1 : i64, read = true}
  cuda.tma_store_wait
  cuda.dependency_wait
  cuda.launch_dependents
  cuda.set_registers {count = 40 : i64, grow = false}
  cuda.set_registers {count = 80 : i64, grow = true}
"""


@long(2)
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_tma(rank: int, arch: str) -> None:
    extents, box = [4] * (rank - 1) + [64], [2] * (rank - 1) + [32]
    map = f"!cuda.tensor_map<bf16, {extents}, box {box}, swizzle 64>"
    coordinates = ", ".join(["%s1", "%s2", "%s4", "%s8", "%s16"][:rank])
    body = TMA.replace("!MAP", map).replace("COORDINATES", coordinates)
    source = kernel(body, f"%m: {map}", "cluster [2, 1, 1]")
    last_first = ", ".join(f'"r"(coordinates{i})' for i in reversed(range(rank)))
    assert last_first in source, "PTX takes the innermost coordinate first"
    counts = opcodes(build(source, arch).cubin)
    assert uses(counts, f"UTMALDG.{rank}D") and uses(counts, f"UTMASTG.{rank}D"), counts


@long(2)
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("rank", [3, 4, 5])
def test_tma_of_windows(rank: int, arch: str) -> None:
    space = rank - 2
    extents, corners = [4] * (rank - 1) + [64], [-1] * space
    map = f"!cuda.tensor_map<bf16, {extents}, window {corners} to {corners} steps {[1] * space}, box [64, 32], swizzle 64>"
    coordinates, moved = (", ".join(["%s1", "%s2", "%s4", "%s8", "%s16"][:count]) for count in (rank, space))
    load = f"cuda.tma_load %m[{coordinates}] moved [{moved}] -> %a, %bar"
    body = f"""
  %a = cuda.shared {{offset = 0 : i64, align = 1024 : i64}}
  %bar = cuda.shared {{offset = 8192 : i64}}
  %three = arith.constant 3 : i32
  {load} : {map}
  {load} multicast %three : {map}
"""
    source = kernel(body, f"%m: {map}", "cluster [2, 1, 1]")
    last_first = ", ".join(f'"h"((unsigned short)moved{i})' for i in reversed(range(space)))
    assert last_first in source, "PTX takes the innermost move first"
    counts = opcodes(build(source, arch).cubin)
    assert uses(counts, f"UTMALDG.{rank}D"), counts
    assert any("IM2COL" in opcode for opcode in counts), counts


WGMMA = [
    ("bf16", "bf16", "f32", 256, 16, ""),
    ("bf16", "bf16", "f32", 128, 16, ", transpose_lhs = true, transpose_rhs = true"),
    ("f16", "f16", "f32", 64, 16, ", transpose_rhs = true"),
    ("f16", "f16", "f16", 32, 16, ""),
    ("bf16", "bf16", "f32", 80, 16, ""),
    ("f32", "f32", "f32", 96, 8, ""),
    ("i8", "i8", "i32", 192, 32, ""),
    ("f8E4M3FN", "f8E5M2", "f32", 64, 32, ""),
]


@long(3)
@pytest.mark.parametrize("lhs, rhs, accumulator, n, k, majors", WGMMA)
def test_wgmma_atom(lhs: str, rhs: str, accumulator: str, n: int, k: int, majors: str) -> None:
    array = f"!cuda.registers<{n // 2} x {accumulator}>"
    source = kernel(
        f"""%acc = cuda.registers : {array}
        %yes = arith.constant true
        %no = arith.constant false
        %n = arith.constant {n // 2} : index
        %a = cuda.shared {{offset = 0 : i64, align = 1024 : i64}}
        %d = cuda.descriptor %a {{leading = 16 : i64, stride = 1024 : i64}}
        cuda.wgmma_fence
        cuda.wgmma %acc[%c0], %d, %d, %no {{n = {n}, k = {k}, lhs_type = {lhs}, rhs_type = {rhs}{majors}}} : {array}, i1
        cuda.wgmma %acc[%c0], %d, %d, %yes {{n = {n}, k = {k}, lhs_type = {lhs}, rhs_type = {rhs}{majors}}} : {array}, i1
        cuda.wgmma_commit
        cuda.wgmma_wait
        cuda.registers_fence %acc : {array}
        %o = arith.muli %t, %n : index
        scf.for %i = %c0 to %n step %c1 {{
          %p = arith.addi %o, %i : index
          cuda.store %acc[%i], %y[%p] : {array} -> !cuda.ptr<{accumulator}>
        }} {{unroll}}""",
        f"%y: !cuda.ptr<{accumulator}>",
    )
    compiled = build(source)
    family = {"i8": "IGMMA", "f8E4M3FN": "QGMMA"}.get(lhs, "HGMMA")
    assert uses(opcodes(compiled.cubin), f"{family}.64x{n}x{k}"), compiled.log
    assert compiled.resources["k"].spills == 0 and not compiled.warnings


def test_wgmma_with_the_left_operand_in_registers() -> None:
    source = kernel(
        """%acc = cuda.registers : !cuda.registers<64 x f32>
        %p = cuda.registers : !cuda.registers<16 x bf16>
        cuda.load %x[%c0] -> %p[%c8] {count = 8} : !cuda.ptr<bf16> -> !cuda.registers<16 x bf16>
        %a = cuda.shared {offset = 0 : i64, align = 1024 : i64}
        %d = cuda.descriptor %a {leading = 8192 : i64, stride = 1024 : i64}
        cuda.wgmma_fence
        cuda.wgmma_registers %acc[%c0], %p[%c8], %d, %s0 {n = 64, k = 16, lhs_type = bf16, rhs_type = bf16, transpose_rhs = true} : !cuda.registers<64 x f32>, !cuda.registers<16 x bf16>, i32
        cuda.wgmma_commit
        cuda.wgmma_wait
        cuda.registers_fence %acc : !cuda.registers<64 x f32>
        cuda.store %acc[%c0], %y[%t] : !cuda.registers<64 x f32> -> !cuda.ptr<f32>""",
        "%x: !cuda.ptr<bf16>, %y: !cuda.ptr<f32>",
        "writes [0, 1]",
    )
    assert uses(opcodes(build(source).cubin), "HGMMA.64x64x16.F32.BF16")


@pytest.mark.parametrize(
    "lhs, rhs, accumulator, opcode",
    [
        ("bf16", "bf16", "f32", "UTCHMMA"),
        ("f16", "f16", "f32", "UTCHMMA"),
        ("f32", "f32", "f32", "UTCHMMA"),
        ("f8E4M3FN", "f8E5M2", "f32", "UTCQMMA"),
        ("ui8", "i8", "i32", "UTCIMMA"),
    ],
)
def test_tcgen05(lhs: str, rhs: str, accumulator: str, opcode: str) -> None:
    array = f"!cuda.registers<128 x {accumulator}>"
    source = kernel(
        f"""%sums = cuda.registers : {array}
        %no = arith.constant false
        %a = cuda.shared {{offset = 0 : i64, align = 1024 : i64}}
        cuda.tcgen05_alloc %a {{columns = 128 : i64}}
        cuda.tcgen05_relinquish
        %d = cuda.tcgen05_descriptor %a {{leading = 16 : i64, stride = 1024 : i64}}
        cuda.tcgen05_mma %own, %d, %d, %no {{n = 128, lhs_type = {lhs}, rhs_type = {rhs}}}
        cuda.tcgen05_commit %a
        cuda.tcgen05_fence_after
        cuda.tcgen05_load %own -> %sums[%c0] {{count = 128 : i64}} : {array}
        cuda.tcgen05_fence_before
        cuda.tcgen05_dealloc %own {{columns = 128 : i64}}
        cuda.store %sums[%c4], %y[%t] : {array} -> !cuda.ptr<{accumulator}>""",
        f"%own: i32, %y: !cuda.ptr<{accumulator}>",
        "writes [0, 1]",
    )
    counts = opcodes(build(source, "sm_100a").cubin)
    assert all(uses(counts, name) for name in (opcode, "UTCBAR", "LDTM.x128")), counts


@pytest.mark.parametrize(
    "lhs, majors, bits",
    [("bf16", (False, False), 0x8200490), ("f16", (False, True), 0x8210010), ("i8", (False, False), 0x82004A0)],
)
def test_instruction_descriptors(lhs: str, majors: tuple[bool, bool], bits: int) -> None:
    """Written out by hand: of 128 rows and 128 columns."""
    transpose_lhs, transpose_rhs = majors
    assert instruction_descriptor(128, lhs, lhs, transpose_lhs=transpose_lhs, transpose_rhs=transpose_rhs) == bits


def test_carried_values_are_assigned_at_once() -> None:
    source = kernel(
        """%a, %b = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %c1, %y = %c2) -> (index, index) {
          scf.yield %y, %x : index, index
        }
        %r = scf.if %yes -> (index) {
          scf.yield %a : index
        } else {
          scf.yield %b : index
        }
        %w, %v = scf.while (%u = %r, %k = %c0) : (index, index) -> (index, index) {
          %more = arith.cmpi slt, %k, %c8 : index
          scf.condition(%more) %u, %k : index, index
        } do {
        ^bb0(%p: index, %q: index):
          %s = arith.addi %q, %p : index
          scf.yield %q, %s : index, index
        }
        %out = cuda.registers : !cuda.registers<1 x index>
        cuda.set %out[%c0], %w : !cuda.registers<1 x index>""",
        "%yes: i1",
    )
    swap = source[source.index("for (int i") : source.index("if (")]
    assert "const int next_x = y;" in swap and "const int next_y = x;" in swap, swap
    assert build(source).resources["k"].spills == 0


def test_a_cast_that_changes_nothing_is_another_name() -> None:
    """Also of a carried value, which the end of the loop overwrites."""
    source = kernel(
        """%a, %b = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %s1, %y = %s2) -> (i32, i32) {
          %xi = arith.index_cast %x : i32 to index
          %back = arith.index_cast %xi : index to i32
          %sum = arith.addi %x, %y : i32
          scf.yield %sum, %back : i32, i32
        }
        %r = cuda.registers : !cuda.registers<1 x i32>
        cuda.set %r[%c0], %b : !cuda.registers<1 x i32>""",
        "",
    )
    loop = source[source.index("for (int i") :]
    assert "(int)x" not in loop and loop.index("const int next_y = x;") < loop.index("    x = sum;"), loop


def test_index_width_is_the_kernels() -> None:
    body = "%r = cuda.registers : !cuda.registers<1 x f32>\ncuda.load %x[%t] -> %r[%c0] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>"
    assert "const int t = (int)threadIdx.x;" in kernel(body, "%x: !cuda.ptr<f32>")
    assert "const long long t = (long long)threadIdx.x;" in kernel(body, "%x: !cuda.ptr<f32>", "index 64")


def test_names_do_not_clash() -> None:
    source = kernel(
        """%for = arith.addf %expf, %expf : f32
        %exp = math.exp %for : f32
        %minimum = arith.minimumf %exp, %for : f32
        %again = scf.if %yes -> (f32) {
          %minimum_1 = math.exp %minimum : f32
          scf.yield %minimum_1 : f32
        } else {
          %minimum_1 = math.exp2 %minimum : f32
          scf.yield %minimum_1 : f32
        }
        %r = cuda.registers : !cuda.registers<1 x f32>
        cuda.set %r[%c0], %again : !cuda.registers<1 x f32>""",
        "%yes: i1, %expf: f32",
    )
    build(source)


def test_an_op_without_a_form_is_a_diagnostic() -> None:
    with pytest.raises(IrcError, match=r"scf.execute_region has no CUDA C\+\+ form"):
        kernel("scf.execute_region { scf.yield }")


def test_branches_without_results() -> None:
    source = kernel(
        """scf.if %yes {
          cuda.sync
        } else {
        }
        scf.if %yes {
        } else {
          cuda.warp_sync
        }
        scf.for %i = %c0 to %c8 step %c1 {
          cuda.warp_sync
        } {unroll = 4}
        scf.for %i = %c0 to %c8 step %c1 {
          cuda.warp_sync
        } {unroll = 1}""",
        "%yes: i1",
    )
    assert source.count("} else {") == 1
    assert "#pragma unroll 4\n" in source and "#pragma unroll 1\n" in source
    assert build(source).cubin


def test_a_module_without_kernels() -> None:
    assert print_module(parse("builtin.module {}")) == "// no cuda.kernel in this module\n"


def test_places_are_comments() -> None:
    module = parse(
        'cuda.kernel @k() grid [1, 1, 1] block 32 {\n%a = cuda.thread_id loc("dir/gating.irc":4:7)\ncuda.return\n}'
    )
    assert "// gating.irc:4\n  const int a" in print_module(module)


def test_refused_source_names_the_kernel() -> None:
    with pytest.raises(IrcError, match=r"cannot compile gelu for sm_90a:\ngelu.cu\(1\): error"):
        compile_source("nonsense", "sm_90a", name="gelu")
