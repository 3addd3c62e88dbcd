"""From tile programs to the code of a thread: vectors, work per thread, exchanges and where barriers are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import prod
from pathlib import Path
from typing import TypeVar

import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from irc.diagnostics import IrcError
from irc.dialects import cuda
from irc.ir_parser import parse_ir
from irc.layout.shared import IDENTITY, panels
from irc.lowering import lower as lower_module
from irc.lowering import passes_of, run_passes
from irc.program import new_context, parse

OpT = TypeVar("OpT", bound=Operation)

LOWER = ("assign-layouts", "plan-shared", "lower-schedule", "lower-to-cuda")
PRODUCT = ("merge-dots", "place-operands", *LOWER)
LINE = 128
"""Bytes that scratch memory is rounded up to."""
RING = (
    "merge-dots",
    "place-operands",
    "overlap-epilogue",
    "assign-layouts",
    "pipeline",
    "specialise-warps",
    *LOWER[1:],
)
INPUTS = Path(__file__).parents[1] / "lit" / "tile" / "Inputs"

ADD = """{
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      tile.yield %r : f32
    }"""


@dataclass(frozen=True)
class Code:
    """A kernel and what its threads execute. Loops around the counted ops have constant bounds."""

    kernel: cuda.KernelOp

    @property
    def threads(self) -> int:
        return self.kernel.block.value.data

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        return self.kernel.shared.value.data if self.kernel.shared is not None else 0

    def ops(self, kind: type[OpT]) -> list[OpT]:
        return [op for op in self.kernel.walk() if isinstance(op, kind)]

    def count(self, kind: type[Operation]) -> int:
        """How often a thread executes ops of a kind."""
        return sum(executions(op) for op in self.ops(kind))

    def vectors(self, kind: type[cuda.LoadOp | cuda.StoreOp | cuda.SharedLoadOp | cuda.SharedStoreOp]) -> list[int]:
        return [op.count.value.data for op in self.ops(kind)]

    def elements(self, kind: type[cuda.LoadOp | cuda.StoreOp]) -> list[int]:
        """The elements that all threads access together, by op."""
        return [self.threads * executions(op) * op.count.value.data for op in self.ops(kind)]

    @property
    def shared_accesses(self) -> str:
        """In program order, runs of shared writes `w` and reads `r`, and barriers of the crew `|`."""
        letters: dict[type[Operation], str] = {
            cuda.SharedStoreOp: "w",
            cuda.SharedLoadOp: "r",
            cuda.LdmatrixOp: "r",
            cuda.SyncOp: "|",
            cuda.NamedSyncOp: "|",
        }
        found = [letters[type(op)] for op in self.kernel.walk() if type(op) in letters]
        return "".join(letter if letter != "|" else "|" * len(list(run)) for letter, run in groupby(found))


def executions(op: Operation) -> int:
    """How often a thread that is there executes an op."""
    loops: list[scf.ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp):
            loops.append(parent)
        parent = parent.parent_op()
    return prod(-(-(number(loop.ub) - number(loop.lb)) // number(loop.step)) for loop in loops)


def number(value: SSAValue) -> int:
    assert isinstance(value.owner, arith.ConstantOp)
    assert isinstance(value.owner.value, IntegerAttr)
    return value.owner.value.value.data


def run(text: str, passes: tuple[str, ...], arch: str = "sm_90a") -> ModuleOp:
    module = parse_ir(new_context(), text, "program.mlir")
    run_passes(module, passes_of(passes, arch=arch))
    return module


def lower(text: str, passes: tuple[str, ...] = LOWER) -> Code:
    (kernel,) = [op for op in run(text, passes).ops if isinstance(op, cuda.KernelOp)]
    return Code(kernel)


def one_tile(views: str, body: str, config: str = "") -> str:
    """A program of one block. `views` are in order, the last one the result; %c0 is the offset of everything."""
    attributes = f"results = 1 : i64, config = #kernel.config<{config}>" if config else "results = 1 : i64"
    return f"""tile.program @program({views}) {{{attributes}}} {{
  tile.for_tiles (%t) extents [1] steps [1] {{
    %c0 = arith.constant 0 : index
    {body}
  }}
}}"""


# Indices


@pytest.mark.parametrize(("elements", "bits"), [(2**31 - 2**24 - 1, 32), (2**31 - 1, 64), (2**31, 64)])
def test_offsets_have_64_bits_where_a_tile_over_the_end_passes_31(elements: int, bits: int) -> None:
    view = f"!tile.view<{elements}xi8>"
    text = f"""tile.program @program(%x: {view}, %y: {view}) {{results = 1 : i64}} {{
  tile.for_tiles (%t) extents [{elements}] steps [1024] {{
    %a = tile.load %x[%t] {{checked = array<i64: 0>}} : {view} -> tensor<1024xi8>
    tile.store %a, %y[%t] {{checked = array<i64: 0>}} : tensor<1024xi8>, {view}
  }}
}}"""
    assert lower(text).kernel.index.value.data == bits


# Loads and stores


def copy(view: str, shape: str, load: str = "", store: str = "", out: str | None = None, element: str = "f32") -> Code:
    return lower(
        one_tile(
            f"%x: !tile.view<{view}>, %y: !tile.view<{out or view}>",
            f"""%a = tile.load %x[%c0, %c0] {load} : !tile.view<{view}> -> tensor<{shape}x{element}>
    tile.store %a, %y[%c0, %c0] {store} : tensor<{shape}x{element}>, !tile.view<{out or view}>""",
        )
    )


def test_a_row_major_tile_moves_in_16_byte_vectors_each_element_once() -> None:
    code = copy("64x64xf32", "64x64")
    assert code.threads == 256
    assert code.vectors(cuda.LoadOp) == [4]
    assert code.elements(cuda.LoadOp) == code.elements(cuda.StoreOp) == [64 * 64]
    assert code.shared == 0
    assert code.shared_accesses == ""


def test_half_the_size_is_twice_the_vector() -> None:
    code = copy("64x64xbf16", "64x64", element="bf16")
    assert code.vectors(cuda.LoadOp) == [8]
    assert code.vectors(cuda.StoreOp) == [8]


@pytest.mark.parametrize(("extent", "vector"), [(64, 4), (62, 2), (61, 1)])
def test_a_mask_along_rows_limits_the_vector_to_what_divides_the_extent(extent: int, vector: int) -> None:
    mask = "{checked = array<i64: 1>}"
    code = copy(f"64x{extent}xf32", "64x64", mask, mask)
    assert code.vectors(cuda.LoadOp) == [vector]
    (load,) = code.ops(cuda.LoadOp)
    branch = load.parent_op()
    assert isinstance(branch, scf.IfOp)
    fills = [op for op in branch.false_region.block.ops if isinstance(op, cuda.SetOp)]
    assert len(fills) == vector
    (store,) = code.ops(cuda.StoreOp)
    assert isinstance(store.parent_op(), scf.IfOp)


def test_a_mask_across_rows_does_not_limit_the_vector() -> None:
    mask = "{checked = array<i64: 0>}"
    assert copy("61x64xf32", "64x64", mask, mask).vectors(cuda.LoadOp) == [4]


def test_a_tile_inside_the_view_has_accesses_without_checks() -> None:
    view = "!tile.view<100x64xf32>"
    code = lower(f"""tile.program @program(%x: {view}, %y: {view}) {{results = 1 : i64}} {{
  tile.for_tiles (%i, %j) extents [100, 64] steps [64, 64] {{
    %a = tile.load %x[%i, %j] {{checked = array<i64: 0>}} : {view} -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] {{checked = array<i64: 0>}} : tensor<64x64xf32>, {view}
  }}
}}""")
    for kind in (cuda.LoadOp, cuda.StoreOp):
        inside, checked = (_branches_around(op) for op in code.ops(kind))
        assert checked == inside + 1


def _branches_around(op: Operation | None) -> int:
    """How many branches decide whether an op runs."""
    count = 0
    while (op := op.parent_op() if op is not None else None) is not None:
        count += isinstance(op, scf.IfOp)
    return count


def test_without_a_mask_there_is_no_branch_around_an_access() -> None:
    code = copy("64x64xf32", "64x64")
    (load,) = code.ops(cuda.LoadOp)
    assert not isinstance(load.parent_op(), scf.IfOp)


@pytest.mark.parametrize(("pitch", "vector"), [(64, 4), (66, 2), (65, 1)])
def test_the_alignment_of_rows_limits_the_vector(pitch: int, vector: int) -> None:
    code = copy("64x64xf32", "64x64", out=f"64x64xf32, strides [{pitch}, 1]")
    assert code.vectors(cuda.StoreOp)[0] == vector


def test_rows_that_begin_anywhere_are_loaded_in_words() -> None:
    """All words are whole but the last one of the view, whose elements are loaded one by one."""
    code = copy("64x64xf32, strides [65, 1]", "64x64", out="64x64xf32")
    assert code.vectors(cuda.LoadOp) == [4, 1]
    assert code.vectors(cuda.SharedLoadOp) == [1]


def test_a_map_that_splits_a_dimension_keeps_the_vector_inside_its_parts() -> None:
    load = "{map = affine_map<(d0, d1) -> (d1 floordiv 2, d0, d1 mod 2)>}"
    assert copy("32x64x2xf32", "64x64", load, out="64x64xf32").vectors(cuda.LoadOp) == [2]
    load = "{map = affine_map<(d0, d1) -> (d1 floordiv 16, d0, d1 mod 16)>}"
    assert copy("4x64x16xf32", "64x64", load, out="64x64xf32").vectors(cuda.LoadOp) == [4]


def test_a_gather_along_rows_reads_whole_vectors_of_each() -> None:
    views = "%x: !tile.view<100x64xf32>, %i: !tile.view<64xi32>, %y: !tile.view<64x64xf32>"
    code = lower(
        one_tile(
            views,
            """%r = tile.load %i[%c0, %c0] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<64xi32> -> tensor<64x1xi32>
    %a = tile.load %x[%c0, %c0] symbols(%r : tensor<64x1xi32>) {map = affine_map<(d0, d1)[s0] -> (s0, d1)>} : !tile.view<100x64xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>""",
        )
    )
    assert code.vectors(cuda.LoadOp)[-1] == 4


# Exchanges


def test_a_transpose_goes_through_shared_memory_once() -> None:
    code = copy("64x64xf32", "64x64", store="{map = affine_map<(d0, d1) -> (d1, d0)>}")
    assert code.vectors(cuda.LoadOp) == code.vectors(cuda.StoreOp) == [4]
    assert code.shared == 64 * 64 * 4
    assert code.shared_accesses == "w|r"


def test_a_second_exchange_waits_for_the_readers_of_the_first() -> None:
    views = "%x: !tile.view<64x64xf32>, %z: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>"
    store = "{map = affine_map<(d0, d1) -> (d1, d0)>} : tensor<64x64xf32>, !tile.view<64x64xf32>"
    code = lower(
        one_tile(
            views,
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    %b = tile.load %z[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%c0, %c0] {store}
    tile.store %b, %y[%c0, %c0] {store}""",
        )
    )
    assert code.shared_accesses == "w|r|w|r"
    assert code.shared == 64 * 64 * 4


def test_readers_of_one_write_meet_once() -> None:
    buffer = "!tile.buffer<64x64xf32, #tile.shared<(64,64):(64,1)>>"
    code = lower(
        one_tile(
            "%x: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>",
            f"""%s = tile.alloc : {buffer}
    %a = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    tile.write %a, %s : tensor<64x64xf32>, {buffer}
    %b = tile.read %s : {buffer} -> tensor<64x64xf32>
    %c = tile.read %s : {buffer} -> tensor<64x64xf32>
    %d = tile.map %b, %c : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32> {ADD}
    tile.store %d, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>""",
        )
    )
    assert code.shared_accesses == "w|r"
    assert code.vectors(cuda.SharedStoreOp) == [4]
    assert code.shared == 64 * 64 * 4


def test_each_side_of_a_branch_waits_for_what_was_written_before_it() -> None:
    buffer = "!tile.buffer<64x64xf32, #tile.shared<(64,64):(64,1)>>"
    read = f"""%b = tile.read %s : {buffer} -> tensor<64x64xf32>
      tile.store %b, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>"""
    code = lower(
        one_tile(
            "%x: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>",
            f"""%s = tile.alloc : {buffer}
    %a = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    tile.write %a, %s : tensor<64x64xf32>, {buffer}
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {{
      {read}
    }} else {{
      {read}
    }}
    tile.write %a, %s : tensor<64x64xf32>, {buffer}""",
        )
    )
    assert code.shared_accesses == "w|r|r|w"


def test_a_permutation_moves_nothing() -> None:
    code = lower(
        one_tile(
            "%x: !tile.view<64x32xf32>, %y: !tile.view<32x64xf32, strides [1, 32]>",
            """%a = tile.load %x[%c0, %c0] : !tile.view<64x32xf32> -> tensor<64x32xf32>
    %b = tile.permute %a {dims = array<i64: 1, 0>} : tensor<64x32xf32> -> tensor<32x64xf32>
    tile.store %b, %y[%c0, %c0] : tensor<32x64xf32>, !tile.view<32x64xf32, strides [1, 32]>""",
        )
    )
    assert code.shared == 0
    assert code.vectors(cuda.LoadOp) == [4]


def test_slices_of_a_tile_stay_in_their_threads() -> None:
    code = lower(
        one_tile(
            "%x: !tile.view<64x64xf32>, %y: !tile.view<32x64xf32>",
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    %b = tile.slice %a {{at = array<i64: 0, 0>}} : tensor<64x64xf32> -> tensor<32x64xf32>
    %c = tile.slice %a {{at = array<i64: 32, 0>}} : tensor<64x64xf32> -> tensor<32x64xf32>
    %d = tile.map %b, %c : tensor<32x64xf32>, tensor<32x64xf32> -> tensor<32x64xf32> {ADD}
    tile.store %d, %y[%c0, %c0] : tensor<32x64xf32>, !tile.view<32x64xf32>""",
        )
    )
    assert code.shared == 0
    assert code.count(arith.AddfOp) * code.threads == 32 * 64


def test_a_concatenation_stays_in_its_threads() -> None:
    code = lower(
        one_tile(
            "%x: !tile.view<32x64xf32>, %y: !tile.view<64x64xf32>",
            """%a = tile.load %x[%c0, %c0] : !tile.view<32x64xf32> -> tensor<32x64xf32>
    %b = tile.concat %a, %a {axis = 0 : i64} : tensor<32x64xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
    tile.store %b, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>""",
        )
    )
    assert code.shared == 0
    assert code.elements(cuda.StoreOp) == [64 * 64]


# Reductions and scans


def reduction(rows: int, columns: int, axis: int, warps: int) -> Code:
    shape = f"{rows}x{columns}xf32"
    kept = f"1x{columns}xf32" if axis == 0 else f"{rows}x1xf32"
    return lower(
        one_tile(
            f"%x: !tile.view<{shape}>, %y: !tile.view<{kept}>",
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<{shape}> -> tensor<{shape}>
    %b = tile.reduce %a {{axes = array<i64: {axis}>}} : tensor<{shape}> -> tensor<{kept}> {ADD}
    tile.store %b, %y[%c0, %c0] : tensor<{kept}>, !tile.view<{kept}>""",
            f"warps = {warps}",
        )
    )


def test_a_reduction_in_a_thread_exchanges_nothing() -> None:
    code = reduction(4, 128, 0, 1)
    assert code.threads == 32
    assert code.ops(cuda.ShuffleOp) == []
    assert code.shared == 0
    assert code.count(arith.AddfOp) * code.threads == 3 * 128


def test_a_reduction_in_a_warp_is_five_butterflies() -> None:
    code = reduction(1, 128, 1, 1)
    masks = [number(op.lane) for op in code.ops(cuda.ShuffleOp)]
    assert masks == [1, 2, 4, 8, 16]
    assert code.shared == 0
    assert code.shared_accesses == ""


@pytest.mark.parametrize("warps", [2, 8])
def test_a_reduction_between_warps_meets_in_shared_memory_once(warps: int) -> None:
    code = reduction(1, 1024, 1, warps)
    assert len(code.ops(cuda.ShuffleOp)) == 5
    assert code.shared == LINE
    assert code.shared_accesses == "w|r"
    (store,) = code.ops(cuda.SharedStoreOp)
    assert isinstance(store.parent_op(), scf.IfOp), "one lane of a warp writes"
    assert code.count(cuda.SharedLoadOp) == warps
    assert code.count(arith.AddfOp) == 1024 // code.threads - 1 + 5 + warps - 1


def test_a_warp_reduces_rows_of_its_own_where_there_are_enough() -> None:
    code = reduction(16, 1024, 1, 8)
    assert code.shared == 0
    assert code.vectors(cuda.LoadOp) == [4]


def test_every_warp_has_a_partial_of_every_column() -> None:
    """Rows are contiguous and lie across the reduction: the warps share it."""
    code = reduction(1024, 32, 0, 8)
    assert code.shared == 32 * 8 * 4
    assert code.count(cuda.SharedLoadOp) * code.threads >= 32 * 8
    assert code.shared_accesses == "w|r"


def test_copies_of_a_result_are_stored_once() -> None:
    code = reduction(1, 1024, 1, 8)
    (store,) = code.ops(cuda.StoreOp)
    assert isinstance(store.parent_op(), scf.IfOp)


def scan(columns: int, warps: int) -> Code:
    shape = f"1x{columns}xf32"
    return lower(
        one_tile(
            f"%x: !tile.view<{shape}>, %y: !tile.view<{shape}>",
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<{shape}> -> tensor<{shape}>
    %b = tile.scan %a {{axis = 1 : i64}} : tensor<{shape}> -> tensor<{shape}> {ADD}
    tile.store %b, %y[%c0, %c0] : tensor<{shape}>, !tile.view<{shape}>""",
            f"warps = {warps}",
        )
    )


def test_a_scan_in_a_warp_shuffles_up_and_shifts_by_one() -> None:
    code = scan(128, 1)
    shuffles = code.ops(cuda.ShuffleOp)
    assert {op.mode.data for op in shuffles} == {"up"}
    assert [number(op.lane) for op in shuffles] == [1, 2, 4, 8, 16, 1]
    assert code.shared == 0


def test_a_scan_between_warps_adds_the_totals_of_the_warps_before() -> None:
    code = scan(1024, 8)
    assert len(code.ops(cuda.ShuffleOp)) == 6
    assert code.shared_accesses == "w|r"
    assert code.shared == LINE
    # The last warp has seven before it.
    assert code.count(cuda.SharedLoadOp) == 7


# Products


def product(m: int, n: int, k: int, element: str, acc: str, config: str, passes: tuple[str, ...] = PRODUCT) -> Code:
    """One tile of a product with K in steps of `k`, twice."""
    return lower(
        one_tile(
            f"%x: !tile.view<{m}x{2 * k}x{element}>, %w: !tile.view<{2 * k}x{n}x{element}>, %y: !tile.view<{m}x{n}x{acc}>",
            f"""%ck = arith.constant {k} : index
    %cK = arith.constant {2 * k} : index
    %zero = arith.constant 0.0 : {acc}
    %z = tile.splat %zero : {acc} -> tensor<{m}x{n}x{acc}>
    %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<{m}x{n}x{acc}>) {{
      %a = tile.load %x[%c0, %k] : !tile.view<{m}x{2 * k}x{element}> -> tensor<{m}x{k}x{element}>
      %b = tile.load %w[%k, %c0] : !tile.view<{2 * k}x{n}x{element}> -> tensor<{k}x{n}x{element}>
      %d = tile.dot %a, %b, %c : tensor<{m}x{k}x{element}>, tensor<{k}x{n}x{element}>, tensor<{m}x{n}x{acc}> -> tensor<{m}x{n}x{acc}>
      scf.yield %d : tensor<{m}x{n}x{acc}>
    }}
    tile.store %h, %y[%c0, %c0] : tensor<{m}x{n}x{acc}>, !tile.view<{m}x{n}x{acc}>""",
            config,
        ),
        passes,
    )


def test_a_product_by_multiply_adds() -> None:
    code = product(64, 32, 16, "f32", "f32", 'warps = 4, instruction = "fma"')
    assert code.threads == 128
    assert code.count(arith.MulfOp) * code.threads == 64 * 32 * 16 * 2
    # A step writes both operands after the last one's readers, and reads after both are written.
    assert code.shared_accesses == "|w|r"
    assert code.shared == (64 * 16 + 16 * 32) * 4


@pytest.mark.parametrize("warps", [1, 2, 4])
def test_a_product_by_mma(warps: int) -> None:
    code = product(64, 32, 32, "bf16", "f32", f'warps = {warps}, instruction = "mma"')
    assert {op.instruction.data for op in code.ops(cuda.MmaOp)} == {"m16n8k16"}
    assert code.count(cuda.MmaOp) * warps == (64 // 16) * (32 // 8) * (32 // 16) * 2
    # Like multiply-adds; then the accumulator is exchanged for wide stores.
    assert code.shared_accesses == "|w|r|w|r"


def test_both_ways_hold_each_element_of_the_result_once() -> None:
    for config, element in (('warps = 4, instruction = "fma"', "f32"), ('warps = 4, instruction = "mma"', "bf16")):
        assert sum(product(64, 32, 32, element, "f32", config).elements(cuda.StoreOp)) == 64 * 32


def test_a_ring_program_has_its_barriers_and_its_work() -> None:
    code = lower((INPUTS / "gating.mlir").read_text(), RING)
    assert code.threads == 128 + 256
    stages = 4
    inits = code.ops(cuda.BarrierInitOp)
    assert [(executions(op), op.count.value.data) for op in inits] == [(stages, 1), (stages, 2)]
    stage = (128 * 64 + 64 * 256) * 2
    (expect,) = code.ops(cuda.BarrierExpectOp)
    assert expect.bytes.value.data == stage
    assert code.shared > stages * stage
    wgmma = code.ops(cuda.WgmmaOp)
    assert {op.n.value.data for op in wgmma} == {256}
    boxes = [argument.type for argument in code.kernel.body.block.args if isinstance(argument.type, cuda.TensorMapType)]
    assert len(boxes) == 3


@pytest.mark.parametrize(("left", "copied"), [("w", (64 + 32) * 64 * 2), ("relu(w)", 64 * 64 * 2)])
def test_threads_that_write_a_part_of_a_stage_arrive_beside_its_copies(left: str, copied: int) -> None:
    """Products of one left operand share a stage, whose parts a prologue or TMA fills."""
    text = f"""func gate(x: bf16[512, 512], w: bf16[512, 256], v: bf16[512, 256]) -> bf16[512, 256] {{
    return silu(x @ {left}) * (x @ relu(v))
}}"""
    module = lower_module(parse(text, "gate.irc"), "cuda", arch="sm_90a")
    (kernel,) = [op for op in module.ops if isinstance(op, cuda.KernelOp)]
    code = Code(kernel)
    full, _ = [op.count.value.data for op in code.ops(cuda.BarrierInitOp)]
    assert full == 1 + 128
    (expect,) = code.ops(cuda.BarrierExpectOp)
    assert expect.bytes.value.data == copied


def evaluate(value: SSAValue, variable: int) -> int:
    """An index expression of one loop variable."""
    if not isinstance(value.owner, Operation):
        return variable
    if isinstance(value.owner, arith.ConstantOp):
        return number(value)
    operands = [evaluate(operand, variable) for operand in value.owner.operands]
    match value.owner:
        case arith.AddiOp():
            return operands[0] + operands[1]
        case arith.AndIOp():
            return operands[0] & operands[1]
        case arith.ShLIOp():
            return operands[0] << operands[1]
        case arith.ShRUIOp():
            return operands[0] >> operands[1]
        case arith.IndexCastOp():
            return operands[0]
        case other:
            raise AssertionError(f"{other.name} in an index expression")


@pytest.mark.parametrize("k", [16, 64, 128])
def test_wgmma_walks_along_k_from_panel_to_panel(k: int) -> None:
    code = product(64, 64, k, "bf16", "f32", 'warps = 4, stages = 2, instruction = "wgmma"', RING)
    (wgmma,) = code.ops(cuda.WgmmaOp)
    assert executions(wgmma) == 2 * k // 16
    assert isinstance(wgmma.lhs.owner, arith.AddiOp)
    lhs = panels((64, k), 1, min(64, k), IDENTITY)
    units = [evaluate(wgmma.lhs.owner.rhs, step) for step in range(k // 16)]
    assert units == [lhs((0, 16 * step)) * 2 // 16 for step in range(k // 16)]


@pytest.mark.parametrize(("stages", "releases", "pending"), [(1, 1, [0]), (2, 2, [1, 0, 0])])
def test_a_ring_of_one_stage_is_released_before_it_is_waited_for(
    stages: int, releases: int, pending: list[int]
) -> None:
    """With a dot in flight over one stage, the producer and the consumers would wait for each other."""
    code = product(64, 64, 64, "bf16", "f32", f'warps = 4, stages = {stages}, instruction = "wgmma"', RING)
    assert len(code.ops(cuda.BarrierArriveOp)) == releases
    assert [op.pending.value.data for op in code.ops(cuda.WgmmaWaitOp)] == pending


def test_an_accumulator_from_outside_a_loop_is_the_same_in_every_iteration() -> None:
    code = lower(
        one_tile(
            "%x: !tile.view<16x32xf32>, %w: !tile.view<32x16xf32>, %c: !tile.view<16x16xf32>, %y: !tile.view<16x16xf32>",
            """%c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %bias = tile.load %c[%c0, %c0] : !tile.view<16x16xf32> -> tensor<16x16xf32>
    scf.for %k = %c0 to %c32 step %c16 {
      %a = tile.load %x[%c0, %k] : !tile.view<16x32xf32> -> tensor<16x16xf32>
      %b = tile.load %w[%k, %c0] : !tile.view<32x16xf32> -> tensor<16x16xf32>
      %d = tile.dot %a, %b, %bias : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
      tile.store %d, %y[%c0, %c0] : tensor<16x16xf32>, !tile.view<16x16xf32>
    }""",
            'warps = 1, instruction = "fma"',
        ),
        PRODUCT,
    )
    assert not {op.array for op in code.ops(cuda.LoadOp)} & {op.array for op in code.ops(cuda.SetOp)}


# Errors


def fails(text: str, passes: tuple[str, ...] = LOWER, arch: str = "sm_90a") -> IrcError:
    with pytest.raises(IrcError) as caught:
        run(text, passes, arch)
    return caught.value


def test_a_scan_over_threads_without_runs_is_refused() -> None:
    fragment = "#tile.fragment<((32),(4)):((1),(32))>"
    tensor = f"tensor<1x128xf32, {fragment}>"
    error = fails(
        one_tile(
            "%x: !tile.view<1x128xf32>, %y: !tile.view<1x128xf32>",
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<1x128xf32> -> {tensor}
    %b = tile.scan %a {{axis = 1 : i64}} : {tensor} -> {tensor} {ADD}
    tile.store %b, %y[%c0, %c0] : {tensor}, !tile.view<1x128xf32>""",
        ).replace("results = 1", "threads = 32 : i64, results = 1"),
        ("lower-schedule", "lower-to-cuda"),
    )
    assert "do not hold runs of neighbours" in error.message
    assert "program.mlir:5" in str(error)


def test_a_store_from_a_buffer_that_tma_cannot_make_is_refused() -> None:
    buffer = "!tile.buffer<16x16xf32, #tile.shared<(16,16):(16,1)>>"
    error = fails(
        one_tile(
            "%y: !tile.view<16x15xf32>",
            f"""%b = tile.alloc : {buffer}
    tile.store %b, %y[%c0, %c0] {{checked = array<i64: 1>}} : {buffer}, !tile.view<16x15xf32>""",
        ),
        LOWER[1:],
    )
    assert error.message == "TMA cannot store this buffer: it goes to no box of aligned rows"
    assert "program.mlir:5" in str(error)


def test_an_exchange_that_does_not_fit_names_the_limit() -> None:
    views = "%x: !tile.view<256x256xf32>, %y: !tile.view<256x256xf32>"
    rows = "tensor<256x256xf32, #tile.fragment<((256),(256)):((256),(1))>>"
    columns = "tensor<256x256xf32, #tile.fragment<((256),(256)):((1),(256))>>"
    text = one_tile(
        views,
        f"""%a = tile.load %x[%c0, %c0] : !tile.view<256x256xf32> -> {rows}
    %b = tile.convert %a : {rows} -> {columns}
    tile.store %b, %y[%c0, %c0] : {columns}, !tile.view<256x256xf32>""",
    )
    error = fails(text, LOWER[1:])
    assert error.message == "program needs 262144 bytes of shared memory, sm_90a has 232448 a block"
    assert error.hint is not None
    assert "smaller tiles" in error.hint


def test_no_layout_asks_for_an_exchange_that_does_not_fit() -> None:
    view = "!tile.view<256x256xf32>"
    code = lower(
        one_tile(
            f"%x: {view}, %y: {view}",
            f"""%a = tile.load %x[%c0, %c0] : {view} -> tensor<256x256xf32>
    tile.store %a, %y[%c0, %c0] {{map = affine_map<(d0, d1) -> (d1, d0)>}} : tensor<256x256xf32>, {view}""",
        )
    )
    assert code.shared == 0


def test_tiles_without_layouts_are_refused() -> None:
    error = fails(
        one_tile(
            "%x: !tile.view<16x16xf32>, %y: !tile.view<16x16xf32>",
            """%a = tile.load %x[%c0, %c0] : !tile.view<16x16xf32> -> tensor<16x16xf32>
    tile.store %a, %y[%c0, %c0] : tensor<16x16xf32>, !tile.view<16x16xf32>""",
        ),
        ("lower-schedule", "lower-to-cuda"),
    )
    assert "has no layout" in error.message
