"""Small kernels of the cuda dialect, written by hand, that are right; tests plant bugs in them by editing their text.

Constants: %c0, %c1, ... are of index, %s0, ... of i32.
"""

from __future__ import annotations

from collections.abc import Sequence


def constants(numbers: Sequence[int] = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 128)) -> str:
    return "\n".join(f"%c{n} = arith.constant {n} : index\n%s{n} = arith.constant {n} : i32" for n in numbers)


def edited(text: str, old: str, new: str = "") -> str:
    """The text with one place changed; it has to be there exactly once."""
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new)


_MAP = "!cuda.tensor_map<f32, [8, 40], box [8, 32], swizzle 128>"

ROUND_TRIP = f"""
cuda.kernel @round_trip(%in: {_MAP}, %out: {_MAP}) grid [2, 1, 1] block 64 shared 4096 writes [0, 1] {{
  {constants()}
  %thread = cuda.thread_id
  %block = cuda.block_id
  %first = arith.cmpi eq, %thread, %c0 : index
  %tile = arith.muli %block, %c32 : index
  %column = arith.index_cast %tile : index to i32
  %box = cuda.shared {{offset = 0, align = 1024}}
  %stage = cuda.shared {{offset = 1024, align = 1024}}
  %full = cuda.shared {{offset = 2048, align = 1024}}
  scf.if %first {{
    cuda.barrier_init %full {{count = 1}}
    cuda.fence_barrier_init
  }}
  cuda.sync  // initialized
  scf.if %first {{
    cuda.barrier_expect %full {{bytes = 1024}}
    cuda.tma_load %in[%s0, %column] -> %box, %full : {_MAP}
  }}
  cuda.barrier_wait %full, %s0
  %r = cuda.registers : !cuda.registers<4 x f32>
  %place = arith.muli %thread, %c16 : index
  %byte = arith.index_cast %place : index to i32
  %from = arith.addi %box, %byte : i32
  %to = arith.addi %stage, %byte : i32
  cuda.shared_load %from -> %r[%c0] {{count = 4}} : !cuda.registers<4 x f32>
  scf.for %i = %c0 to %c4 step %c1 {{
    %x = cuda.get %r[%i] : !cuda.registers<4 x f32>
    %y = arith.addf %x, %x : f32
    cuda.set %r[%i], %y : !cuda.registers<4 x f32>
  }} {{unroll}}
  cuda.shared_store %r[%c0], %to {{count = 4}} : !cuda.registers<4 x f32>
  cuda.fence_proxy_async
  cuda.sync  // staged
  scf.if %first {{
    cuda.tma_store %stage -> %out[%s0, %column] : {_MAP}
    cuda.tma_store_commit
    cuda.tma_store_wait {{read = true}}
  }}
  cuda.return
}}
"""
"""y = 2 x for f32[8, 40], by boxes of 8 x 32 through shared memory; the second box hangs over the end."""

_ACC = "!cuda.registers<16 x f32>"
_HALF = "!cuda.registers<8 x bf16>"

WGMMA = f"""
cuda.kernel @product(%a: !cuda.ptr<bf16>, %b: !cuda.ptr<bf16>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 128 shared 4096 writes [0, 0, 1] {{
  {constants()}
  %true = arith.constant true
  %false = arith.constant false
  %zero = arith.constant 0.0 : f32
  %thread = cuda.thread_id
  %lhs = cuda.shared {{offset = 0, align = 1024}}
  %rhs = cuda.shared {{offset = 2048, align = 1024}}
  %row = arith.shrui %thread, %c1 : index
  %chunk = arith.andi %thread, %c1 : index
  %above = arith.shrui %row, %c2 : index
  %odd = arith.andi %above, %c1 : index
  %moved = arith.xori %chunk, %odd : index
  %line = arith.muli %row, %c32 : index
  %inside = arith.muli %moved, %c16 : index
  %place = arith.addi %line, %inside : index
  %byte = arith.index_cast %place : index to i32
  %offset = arith.muli %thread, %c8 : index
  %r = cuda.registers : {_HALF}
  cuda.load %a[%offset] -> %r[%c0] {{count = 8}} : !cuda.ptr<bf16> -> {_HALF}
  %lhs_at = arith.addi %lhs, %byte : i32
  cuda.shared_store %r[%c0], %lhs_at {{count = 8}} : {_HALF}
  %low = arith.cmpi ult, %thread, %c64 : index
  scf.if %low {{
    cuda.load %b[%offset] -> %r[%c0] {{count = 8}} : !cuda.ptr<bf16> -> {_HALF}
    %rhs_at = arith.addi %rhs, %byte : i32
    cuda.shared_store %r[%c0], %rhs_at {{count = 8}} : {_HALF}
  }}
  cuda.fence_proxy_async
  cuda.sync
  %acc = cuda.registers : {_ACC}
  scf.for %i = %c0 to %c16 step %c1 {{
    cuda.set %acc[%i], %zero : {_ACC}
  }} {{unroll}}
  %da = cuda.descriptor %lhs {{leading = 16, stride = 256, swizzle = 32}}
  %db = cuda.descriptor %rhs {{leading = 16, stride = 256, swizzle = 32}}
  cuda.registers_fence %acc : {_ACC}
  cuda.wgmma_fence
  cuda.wgmma %acc[%c0], %da, %db, %true {{n = 32, k = 16, lhs_type = bf16, rhs_type = bf16}} : {_ACC}, i1
  cuda.wgmma_commit
  cuda.wgmma_wait
  cuda.registers_fence %acc : {_ACC}
  %warp = arith.shrui %thread, %c5 : index
  %lane = arith.andi %thread, %c31 : index
  %quad = arith.shrui %lane, %c2 : index
  %pair = arith.andi %lane, %c3 : index
  %m0 = arith.muli %warp, %c16 : index
  %m1 = arith.addi %m0, %quad : index
  %n0 = arith.muli %pair, %c2 : index
  scf.for %j = %c0 to %c4 step %c1 {{
    scf.for %h = %c0 to %c2 step %c1 {{
      %m2 = arith.muli %h, %c8 : index
      %m = arith.addi %m1, %m2 : index
      %n1 = arith.muli %j, %c8 : index
      %n = arith.addi %n0, %n1 : index
      %start = arith.muli %m, %c32 : index
      %at = arith.addi %start, %n : index
      %j4 = arith.muli %j, %c4 : index
      %h2 = arith.muli %h, %c2 : index
      %v = arith.addi %j4, %h2 : index
      cuda.store %acc[%v], %c[%at] {{count = 2}} : {_ACC} -> !cuda.ptr<f32>
    }} {{unroll}}
  }} {{unroll}}
  cuda.return
}}
"""
"""c = a b^T for bf16[64, 16] and bf16[32, 16], operands written to shared memory by threads, 32-byte swizzle."""

_STAGE = "!cuda.tensor_map<f32, [40, 32], box [8, 32]>"

RING = f"""
cuda.kernel @ring(%in: {_STAGE}, %y: !cuda.ptr<f32>) grid [1, 1, 1] block 64 shared 4096 writes [0, 1] {{
  {constants()}
  %thread = cuda.thread_id
  %stages = cuda.shared {{offset = 0, align = 1024}}
  %full = cuda.shared {{offset = 2048}}
  %empty = cuda.shared {{offset = 2064}}
  %first = arith.cmpi eq, %thread, %c0 : index
  scf.if %first {{
    scf.for %i = %c0 to %c2 step %c1 {{
      %i8 = arith.muli %i, %c8 : index
      %at = arith.index_cast %i8 : index to i32
      %f = arith.addi %full, %at : i32
      %e = arith.addi %empty, %at : i32
      cuda.barrier_init %f {{count = 1}}
      cuda.barrier_init %e {{count = 1}}
    }} {{unroll}}
  }}
  cuda.fence_barrier_init
  cuda.sync
  %warp = arith.shrui %thread, %c5 : index
  %role = cuda.warp_uniform %warp : index
  %producer = arith.cmpi eq, %role, %c0 : index
  scf.if %producer {{
    scf.if %first {{
      scf.for %step = %c0 to %c5 step %c1 {{
        %stage = arith.andi %step, %c1 : index
        %turn = arith.shrui %step, %c1 : index
        %parity = arith.andi %turn, %c1 : index
        %fresh = arith.xori %parity, %c1 : index
        %phase = arith.index_cast %fresh : index to i32
        %eight = arith.muli %stage, %c8 : index
        %at = arith.index_cast %eight : index to i32
        %f = arith.addi %full, %at : i32
        %e = arith.addi %empty, %at : i32
        cuda.barrier_wait %e, %phase
        cuda.barrier_expect %f {{bytes = 1024}}
        %k = arith.constant 1024 : index
        %s1024 = arith.muli %stage, %k : index
        %from = arith.index_cast %s1024 : index to i32
        %box = arith.addi %stages, %from : i32
        %r8 = arith.muli %step, %c8 : index
        %row = arith.index_cast %r8 : index to i32
        cuda.tma_load %in[%row, %s0] -> %box, %f : {_STAGE}
      }}
    }}
  }} else {{
    %lane = arith.andi %thread, %c31 : index
    %sum = cuda.registers : !cuda.registers<1 x f32>
    %r = cuda.registers : !cuda.registers<1 x f32>
    %zero = arith.constant 0.0 : f32
    cuda.set %sum[%c0], %zero : !cuda.registers<1 x f32>
    scf.for %step = %c0 to %c5 step %c1 {{
      %stage = arith.andi %step, %c1 : index
      %turn = arith.shrui %step, %c1 : index
      %parity = arith.andi %turn, %c1 : index
      %phase = arith.index_cast %parity : index to i32
      %eight = arith.muli %stage, %c8 : index
      %at = arith.index_cast %eight : index to i32
      %f = arith.addi %full, %at : i32
      %e = arith.addi %empty, %at : i32
      cuda.barrier_wait %f, %phase
      scf.for %row = %c0 to %c8 step %c1 {{
        %k = arith.constant 1024 : index
        %s1024 = arith.muli %stage, %k : index
        %r128 = arith.muli %row, %c128 : index
        %lane4 = arith.muli %lane, %c4 : index
        %b0 = arith.addi %s1024, %r128 : index
        %b1 = arith.addi %b0, %lane4 : index
        %byte = arith.index_cast %b1 : index to i32
        %from = arith.addi %stages, %byte : i32
        cuda.shared_load %from -> %r[%c0] : !cuda.registers<1 x f32>
        %x = cuda.get %r[%c0] : !cuda.registers<1 x f32>
        %before = cuda.get %sum[%c0] : !cuda.registers<1 x f32>
        %after = arith.addf %before, %x : f32
        cuda.set %sum[%c0], %after : !cuda.registers<1 x f32>
      }} {{unroll}}
      cuda.warp_sync
      %elected = arith.cmpi eq, %lane, %c0 : index
      scf.if %elected {{
        cuda.barrier_arrive %e
      }}
    }}
    cuda.store %sum[%c0], %y[%lane] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  }}
  cuda.return
}}
"""
"""y = column sums of f32[40, 32]: a producer thread loads 8 rows at a time into two stages, a warp adds them."""

TURNS = f"""
cuda.kernel @turns(%y: !cuda.ptr<f32>) grid [1, 1, 1] block 64 shared 16 writes [1] {{
  {constants()}
  %thread = cuda.thread_id
  %barriers = cuda.shared {{offset = 0}}
  %first = arith.cmpi eq, %thread, %c0 : index
  scf.if %first {{
    %next = arith.addi %barriers, %s8 : i32
    cuda.barrier_init %barriers {{count = 1}}
    cuda.barrier_init %next {{count = 1}}
  }}
  cuda.sync
  %warp = arith.shrui %thread, %c5 : index
  %lane = arith.andi %thread, %c31 : index
  %elected = arith.cmpi eq, %lane, %c0 : index
  %other = arith.xori %warp, %c1 : index
  %own8 = arith.muli %warp, %c8 : index
  %other8 = arith.muli %other, %c8 : index
  %own_at = arith.index_cast %own8 : index to i32
  %other_at = arith.index_cast %other8 : index to i32
  %own = arith.addi %barriers, %own_at : i32
  %next = arith.addi %barriers, %other_at : i32
  scf.for %turn = %c0 to %c4 step %c1 {{
    %later = arith.addi %turn, %other : index
    %parity = arith.andi %later, %c1 : index
    %phase = arith.index_cast %parity : index to i32
    cuda.barrier_wait %own, %phase
    cuda.warp_sync
    scf.if %elected {{
      cuda.barrier_arrive %next
    }}
  }}
  %r = cuda.registers : !cuda.registers<1 x f32>
  %one = arith.constant 1.0 : f32
  cuda.set %r[%c0], %one : !cuda.registers<1 x f32>
  cuda.store %r[%c0], %y[%thread] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  cuda.return
}}
"""
"""y = 64 ones: two warps take four turns each, the first one at once."""

_PART = "!cuda.tensor_map<f32, [8, 32], box [8, 32]>"

CLUSTER = f"""
cuda.kernel @cluster(%in: {_PART}, %y: !cuda.ptr<f32>) grid [2, 1, 1] block 32 cluster [2, 1, 1] shared 2048 writes [0, 1] {{
  {constants()}
  %thread = cuda.thread_id
  %block = cuda.block_id
  %rank = cuda.cluster_rank
  %box = cuda.shared {{offset = 0, align = 1024}}
  %full = cuda.shared {{offset = 1024}}
  %empty = cuda.shared {{offset = 1032}}
  %first = arith.cmpi eq, %thread, %c0 : index
  scf.if %first {{
    cuda.barrier_init %full {{count = 1}}
    cuda.barrier_init %empty {{count = 2}}
    cuda.fence_barrier_init
  }}
  cuda.cluster_sync  // initialized
  %leader = arith.cmpi eq, %rank, %c0 : index
  %r = cuda.registers : !cuda.registers<1 x f32>
  scf.for %step = %c0 to %c2 step %c1 {{
    %phase = arith.index_cast %step : index to i32
    %other = arith.xori %step, %c1 : index
    %before = arith.index_cast %other : index to i32
    scf.if %first {{
      cuda.barrier_expect %full {{bytes = 1024}}
      scf.if %leader {{
        cuda.barrier_wait %empty, %before
        cuda.tma_load %in[%s0, %s0] -> %box, %full multicast %s3 : {_PART}
      }}
    }}
    cuda.barrier_wait %full, %phase
    scf.for %row = %c0 to %c8 step %c1 {{
      %r128 = arith.muli %row, %c128 : index
      %lane4 = arith.muli %thread, %c4 : index
      %b0 = arith.addi %r128, %lane4 : index
      %byte = arith.index_cast %b0 : index to i32
      %from = arith.addi %box, %byte : i32
      cuda.shared_load %from -> %r[%c0] : !cuda.registers<1 x f32>
      %k = arith.constant 256 : index
      %o0 = arith.muli %block, %k : index
      %o1 = arith.muli %row, %c32 : index
      %o2 = arith.addi %o0, %o1 : index
      %o = arith.addi %o2, %thread : index
      cuda.store %r[%c0], %y[%o] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
    }} {{unroll}}
    cuda.warp_sync
    scf.if %first {{
      cuda.barrier_arrive_cluster %empty, %s0
    }}
  }}
  cuda.cluster_sync  // before leaving
  cuda.return
}}
"""
"""y[b] = x for each of the two blocks b of a cluster, twice: block 0 loads for both by multicast."""

COPY_ASYNC = f"""
cuda.kernel @copy_async(%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>) grid [1, 1, 1] block 64 shared 2048 writes [0, 1] {{
  {constants()}
  %thread = cuda.thread_id
  %stages = cuda.shared {{offset = 0, align = 1024}}
  %s1024 = arith.constant 1024 : i32
  %second = arith.addi %stages, %s1024 : i32
  %o = arith.muli %thread, %c4 : index
  %o16 = arith.muli %thread, %c16 : index
  %byte = arith.index_cast %o16 : index to i32
  %to0 = arith.addi %stages, %byte : i32
  %to1 = arith.addi %second, %byte : i32
  %k = arith.constant 256 : index
  %next = arith.addi %o, %k : index
  %c60 = arith.constant 60 : index
  %inside = arith.cmpi ult, %thread, %c60 : index
  cuda.cp_async %to0, %x[%o] : !cuda.ptr<f32>
  cuda.cp_async_commit  // 0
  cuda.cp_async %to1, %x[%next] if %inside : !cuda.ptr<f32>
  cuda.cp_async_commit  // 1
  %flip = arith.constant 63 : index
  %mirror = arith.subi %flip, %thread : index
  %m16 = arith.muli %mirror, %c16 : index
  %there = arith.index_cast %m16 : index to i32
  %from0 = arith.addi %stages, %there : i32
  %from1 = arith.addi %second, %there : i32
  %r = cuda.registers : !cuda.registers<4 x f32>
  cuda.cp_async_wait {{pending = 1}}
  cuda.sync  // first
  cuda.shared_load %from0 -> %r[%c0] {{count = 4}} : !cuda.registers<4 x f32>
  cuda.store %r[%c0], %y[%o] {{count = 4}} : !cuda.registers<4 x f32> -> !cuda.ptr<f32>
  cuda.cp_async_wait {{pending = 0}}
  cuda.sync  // second
  cuda.shared_load %from1 -> %r[%c0] {{count = 4}} : !cuda.registers<4 x f32>
  cuda.store %r[%c0], %y[%next] {{count = 4}} : !cuda.registers<4 x f32> -> !cuda.ptr<f32>
  cuda.return
}}
"""
"""y = two halves of x of 256 f32, each with its 16-byte groups reversed; the last 4 groups of the second are zero."""

_A = "!cuda.registers<8 x bf16>"
_B = "!cuda.registers<4 x bf16>"
_C = "!cuda.registers<4 x f32>"

MMA = f"""
cuda.kernel @mma(%a: !cuda.ptr<bf16>, %b: !cuda.ptr<bf16>, %c: !cuda.ptr<bf16>) grid [1, 1, 1] block 32 shared 2048 writes [0, 0, 1] {{
  {constants()}
  %thread = cuda.thread_id
  %lhs = cuda.shared {{offset = 0, align = 1024}}
  %rhs = cuda.shared {{offset = 512, align = 1024}}
  %out = cuda.shared {{offset = 1024, align = 1024}}
  %o = arith.muli %thread, %c8 : index
  %o16 = arith.muli %thread, %c16 : index
  %byte = arith.index_cast %o16 : index to i32
  %to = arith.addi %lhs, %byte : i32
  cuda.cp_async %to, %a[%o] : !cuda.ptr<bf16>
  %half = arith.cmpi ult, %thread, %c16 : index
  scf.if %half {{
    %rhs_to = arith.addi %rhs, %byte : i32
    cuda.cp_async %rhs_to, %b[%o] : !cuda.ptr<bf16>
  }}
  cuda.cp_async_commit
  cuda.cp_async_wait
  cuda.warp_sync
  %ra = cuda.registers : {_A}
  %rb = cuda.registers : {_B}
  %rc = cuda.registers : {_C}
  %rd = cuda.registers : {_B}
  %zero = arith.constant 0.0 : f32
  %c15 = arith.constant 15 : index
  %row = arith.andi %thread, %c15 : index
  %side = arith.shrui %thread, %c4 : index
  %row32 = arith.muli %row, %c32 : index
  %side16 = arith.muli %side, %c16 : index
  %a0 = arith.addi %row32, %side16 : index
  %a1 = arith.index_cast %a0 : index to i32
  %a_at = arith.addi %lhs, %a1 : i32
  cuda.ldmatrix %a_at -> %ra[%c0] {{count = 4}} : {_A}
  %row16 = arith.muli %row, %c16 : index
  %b1 = arith.index_cast %row16 : index to i32
  %b_at = arith.addi %rhs, %b1 : i32
  cuda.ldmatrix %b_at -> %rb[%c0] {{count = 2, transpose = true}} : {_B}
  scf.for %i = %c0 to %c4 step %c1 {{
    cuda.set %rc[%i], %zero : {_C}
  }} {{unroll}}
  cuda.mma %rc[%c0], %ra[%c0], %rb[%c0] {{instruction = "m16n8k16"}} : {_C}, {_A}, {_B}
  scf.for %i = %c0 to %c4 step %c1 {{
    %v = cuda.get %rc[%i] : {_C}
    %w = arith.truncf %v : f32 to bf16
    cuda.set %rd[%i], %w : {_B}
  }} {{unroll}}
  %d_at = arith.addi %out, %b1 : i32
  cuda.stmatrix %rd[%c0], %d_at {{count = 2}} : {_B}
  cuda.warp_sync  // stored
  scf.if %half {{
    %from = arith.addi %out, %byte : i32
    cuda.shared_load %from -> %ra[%c0] {{count = 8}} : {_A}
    cuda.store %ra[%c0], %c[%o] {{count = 8}} : {_A} -> !cuda.ptr<bf16>
  }}
  cuda.return
}}
"""
"""c = a b for bf16[16, 16] and bf16[16, 8], by one warp: cp.async, ldmatrix, mma, stmatrix."""
