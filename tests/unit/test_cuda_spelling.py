"""Rows of device instructions: what C++ has of one, and which threads it needs."""

from __future__ import annotations

import pytest
from sim_kernels import POINTER, X, fails, shared
from test_cuda_printer import kernel
from xdsl.irdl import IRDLOperation

from irc.dialects.cuda import SPELLINGS
from irc.dialects.cuda.spelling import PLACE, RESULT_TYPE


def test_the_places_of_a_text_are_what_the_op_has() -> None:
    for op, row in SPELLINGS.items():
        assert issubclass(op, IRDLOperation)
        definition = op.get_irdl_definition()
        known = {name for name, _ in definition.operands} | set(definition.properties) | {RESULT_TYPE}
        if isinstance(row.text, str):
            assert {name for name, _ in PLACE.findall(row.text)} <= known, op.name


def test_an_instruction_with_operands_is_a_function_of_them() -> None:
    """Vectors are innermost first, and one function does for all ops with the same text."""
    map = "!cuda.tensor_map<bf16, [4, 4, 64], window [-1] to [-1] steps [1], box [64, 32], swizzle 64>"
    load = f"cuda.tma_load %m[%s1, %s2, %s4] moved [%s8] -> %s1, %s2 multicast %s4 : {map}"
    source = kernel(f"{load}\n{load}", f"%m: {map}", "cluster [2, 1, 1]")
    function = """\
DEVICE void tma_load_im2col_multicast_3d(const TensorMap& map, unsigned address, unsigned barrier, unsigned mask, \
unsigned coordinates0, unsigned coordinates1, unsigned coordinates2, unsigned moved0) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster \
[%0], [%1, {%2, %3, %4}], [%5], {%6}, %7;"
    :: "r"(address), "l"(&map), "r"(coordinates2), "r"(coordinates1), "r"(coordinates0), "r"(barrier), \
"h"((unsigned short)moved0), "h"((unsigned short)mask) : "memory");
}
"""
    assert source.count(function) == 1
    assert source.count("  tma_load_im2col_multicast_3d(m, 1, 2, 4, 1, 2, 4, 8);\n") == 2


def test_numbers_are_arguments_after_the_operands() -> None:
    source = kernel("cuda.barrier_init %s8 {count = 3 : i64}\ncuda.named_sync %s1 {threads = 64 : i64}")
    assert "  barrier_init(8, 3);\n" in source
    assert "  named_sync(1, 64);\n" in source


def test_an_instruction_without_operands_stands_where_it_is_used() -> None:
    source = kernel("cuda.tma_store_wait {pending = 2 : i64, read = true}\ncuda.sync")
    assert '  asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");\n  __syncthreads();\n' in source


def test_a_value_is_not_called_as_an_instruction_is() -> None:
    source = kernel("%barrier_arrive = arith.addi %n, %n : i32\ncuda.barrier_arrive %barrier_arrive", "%n: i32")
    assert "  barrier_arrive(barrier_arrive_1);\n" in source


OF_WHOLE_WARPS = {
    "any": "%v = cuda.any %some",
    "named_arrive": "cuda.named_arrive %four {threads = 64 : i64}",
    "named_sync": "cuda.named_sync %four {threads = 64 : i64}",
    "set_registers": "cuda.set_registers {count = 40 : i64, grow = false}",
    "warp_sync": "cuda.warp_sync",
    "warp_uniform": "%v = cuda.warp_uniform %ti : i32",
    "wgmma_commit": "cuda.wgmma_commit",
    "wgmma_fence": "cuda.wgmma_fence",
    "wgmma_wait": "cuda.wgmma_wait",
    "tcgen05_alloc": "cuda.tcgen05_alloc %base {columns = 32 : i64}",
    "tcgen05_dealloc": "cuda.tcgen05_dealloc %base {columns = 32 : i64}",
    "tcgen05_relinquish": "cuda.tcgen05_relinquish",
}


def test_the_instructions_of_whole_warps() -> None:
    assert {f"cuda.{name}" for name in OF_WHOLE_WARPS} == {op.name for op, row in SPELLINGS.items() if row.whole_warps}


@pytest.mark.parametrize("name", OF_WHOLE_WARPS)
def test_a_branch_of_some_lanes_is_refused(name: str) -> None:
    body = f"""
  %bound = arith.constant 7 : index
  %some = arith.cmpi slt, %t, %bound : index
  scf.if %some {{
    {OF_WHOLE_WARPS[name]}
  }}"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "divergence"
    assert f"cuda.{name} needs all lanes of a warp" in error.message
