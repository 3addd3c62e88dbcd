// RUN: irc-opt %s | irc-opt | filecheck %s

// CHECK:      cuda.kernel @memory(%x: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>) grid [4, 1, 1] block 256 shared 4096 index 64 operands [0, 1] writes [0, 1] {
cuda.kernel @memory(%x: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>) grid [4, 1, 1] block 256 shared 4096 index 64 operands [0, 1] writes [0, 1] {
  // CHECK: cuda.thread_id
  %t = cuda.thread_id
  // CHECK: cuda.block_id {axis = 2 : i64}
  %z = cuda.block_id {axis = 2}
  // CHECK: %r = cuda.registers : !cuda.registers<8 x bf16>
  %r = cuda.registers : !cuda.registers<8 x bf16>
  // CHECK: cuda.load %x[%t] -> %r[%z] {count = 8 : i64, cache = "streaming"} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
  cuda.load %x[%t] -> %r[%z] {count = 8, cache = "streaming"} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
  // CHECK: cuda.load %x[%t + %z] -> %r[%z] : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
  cuda.load %x[%t + %z] -> %r[%z] : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
  // CHECK: %v = cuda.get %r[%z] : !cuda.registers<8 x bf16>
  %v = cuda.get %r[%z] : !cuda.registers<8 x bf16>
  // CHECK: cuda.set %r[%z], %v : !cuda.registers<8 x bf16>
  cuda.set %r[%z], %v : !cuda.registers<8 x bf16>
  // CHECK: cuda.packed %r[%z], %r[%z] -> %r[%z] {kind = "mulf"} : !cuda.registers<8 x bf16>, !cuda.registers<8 x bf16> -> !cuda.registers<8 x bf16>
  cuda.packed %r[%z], %r[%z] -> %r[%z] {kind = "mulf"} : !cuda.registers<8 x bf16>, !cuda.registers<8 x bf16> -> !cuda.registers<8 x bf16>
  // CHECK: %b = cuda.registers : !cuda.registers<4 x i8>
  %b = cuda.registers : !cuda.registers<4 x i8>
  // CHECK: cuda.packed_widen %b[%z, %z] -> %r[%z] {unsigned} : !cuda.registers<4 x i8> -> !cuda.registers<8 x bf16>
  cuda.packed_widen %b[%z, %z] -> %r[%z] {unsigned} : !cuda.registers<4 x i8> -> !cuda.registers<8 x bf16>
  // CHECK: cuda.packed_widen %b[%z, %z] -> %r[%z] {bits = array<i64: 4, 4>} : !cuda.registers<4 x i8> -> !cuda.registers<8 x bf16>
  cuda.packed_widen %b[%z, %z] -> %r[%z] {bits = array<i64: 4, 4>} : !cuda.registers<4 x i8> -> !cuda.registers<8 x bf16>
  // CHECK: %power = cuda.instruction "ex2.approx.f32" %exponent : (f32) -> f32
  %exponent = arith.constant 2.5 : f32
  %power = cuda.instruction "ex2.approx.f32" %exponent : (f32) -> f32
  // CHECK: %entry = cuda.lookup %place {values = array<i64: 5, -7>}
  %place = arith.constant 1 : i32
  %entry = cuda.lookup %place {values = array<i64: 5, -7>}
  // CHECK: %rest = scalar.fmod %half, %half : f32
  %half = arith.constant 1.5 : f32
  %rest = scalar.fmod %half, %half : f32
  // CHECK: %index = scalar.check_index %z64, %in -4 to 10 : i64
  %z64 = arith.constant 0 : i64
  %in = arith.constant true
  %index = scalar.check_index %z64, %in -4 to 10 : i64
  // CHECK: %s = cuda.shared {offset = 1024 : i64, align = 1024 : i64}
  %s = cuda.shared {offset = 1024, align = 1024}
  // CHECK: cuda.shared_store %r[%z], %s {count = 4 : i64} : !cuda.registers<8 x bf16>
  cuda.shared_store %r[%z], %s {count = 4} : !cuda.registers<8 x bf16>
  // CHECK: cuda.shared_load %s -> %r[%z] : !cuda.registers<8 x bf16>
  cuda.shared_load %s -> %r[%z] : !cuda.registers<8 x bf16>
  // CHECK: cuda.load_across %x[%t] -> %r[%z] {size = 1001 : i64, cache = "read_only"} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
  cuda.load_across %x[%t] -> %r[%z] {size = 1001, cache = "read_only"} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
  %is_inside = arith.constant true
  %none = cuda.get %r[%z] : !cuda.registers<8 x bf16>
  // CHECK: cuda.load_or %x[%t] if %is_inside else %none -> %r[%z] {count = 8 : i64, cache = "read_only"} : !cuda.ptr<bf16>, bf16 -> !cuda.registers<8 x bf16>
  cuda.load_or %x[%t] if %is_inside else %none -> %r[%z] {count = 8, cache = "read_only"} : !cuda.ptr<bf16>, bf16 -> !cuda.registers<8 x bf16>
  // CHECK: cuda.ldmatrix %s -> %r[%z] {transpose = true} : !cuda.registers<8 x bf16>
  cuda.ldmatrix %s -> %r[%z] {transpose = true} : !cuda.registers<8 x bf16>
  // CHECK: cuda.stmatrix %r[%z], %s {count = 2 : i64} : !cuda.registers<8 x bf16>
  cuda.stmatrix %r[%z], %s {count = 2} : !cuda.registers<8 x bf16>
  // CHECK: cuda.cp_async %s, %x[%t] : !cuda.ptr<bf16>
  cuda.cp_async %s, %x[%t] : !cuda.ptr<bf16>
  // CHECK: cuda.cp_async_wait {pending = 2 : i64}
  cuda.cp_async_wait {pending = 2}
  // CHECK: cuda.shuffle "xor" %v, %s : bf16
  %w = cuda.shuffle "xor" %v, %s : bf16
  // CHECK: cuda.store %r[%z], %y[%t] : !cuda.registers<8 x bf16> -> !cuda.ptr<bf16>
  cuda.store %r[%z], %y[%t] : !cuda.registers<8 x bf16> -> !cuda.ptr<bf16>
  // CHECK: cuda.store %r[%z], %y[%t + %z] {count = 4 : i64} : !cuda.registers<8 x bf16> -> !cuda.ptr<bf16>
  cuda.store %r[%z], %y[%t + %z] {count = 4} : !cuda.registers<8 x bf16> -> !cuda.ptr<bf16>
  cuda.return
}

// CHECK: cuda.kernel @counting
cuda.kernel @counting(%n: !cuda.ptr<i32>) grid [1, 1, 1] block 32 {
  %t = cuda.thread_id
  %one = arith.constant 1 : i32
  // CHECK: cuda.atomic "add" %one, %n[%t] : !cuda.ptr<i32>
  %before = cuda.atomic "add" %one, %n[%t] : !cuda.ptr<i32>
  // CHECK: cuda.atomic "add" %one, %n[%t + %t] : !cuda.ptr<i32>
  %again = cuda.atomic "add" %one, %n[%t + %t] : !cuda.ptr<i32>
  cuda.return
}

// CHECK: cuda.kernel @window(%m: !cuda.tensor_map<bf16, [2, 8, 8, 64], window [-1, -1] to [-1, 0] steps [1, 2], box [128, 64], swizzle 128>)
cuda.kernel @window(%m: !cuda.tensor_map<bf16, [2, 8, 8, 64], window [-1, -1] to [-1, 0] steps [1, 2], box [128, 64], swizzle 128>) grid [1, 1, 1] block 128 {
  %s = cuda.shared {offset = 0, align = 1024}
  // CHECK: cuda.tma_load %m[%s, %s, %s, %s] moved[%s, %s] -> %s, %s : !cuda.tensor_map
  cuda.tma_load %m[%s, %s, %s, %s] moved [%s, %s] -> %s, %s : !cuda.tensor_map<bf16, [2, 8, 8, 64], window [-1, -1] to [-1, 0] steps [1, 2], box [128, 64], swizzle 128>
  cuda.return
}

// CHECK: cuda.kernel @asynchronous(%m: !cuda.tensor_map<f32, [8, 64, 64], strides [8192, 128, 1], box [1, 8, 32], swizzle 128>) grid [4, 1, 1] block 128 cluster [2, 1, 1] {
cuda.kernel @asynchronous(%m: !cuda.tensor_map<f32, [8, 64, 64], strides [8192, 128, 1], box [1, 8, 32], swizzle 128>) grid [4, 1, 1] block 128 cluster [2, 1, 1] {
  %s = cuda.shared {offset = 0, align = 1024}
  // CHECK: cuda.barrier_init %s {count = 2 : i64}
  cuda.barrier_init %s {count = 2}
  // CHECK: cuda.barrier_expect %s {bytes = 1024 : i64}
  cuda.barrier_expect %s {bytes = 1024}
  // CHECK: cuda.tma_load %m[%s, %s, %s] -> %s, %s multicast %s : !cuda.tensor_map
  cuda.tma_load %m[%s, %s, %s] -> %s, %s multicast %s : !cuda.tensor_map<f32, [8, 64, 64], strides [8192, 128, 1], box [1, 8, 32], swizzle 128>
  // CHECK: cuda.barrier_wait %s, %s
  cuda.barrier_wait %s, %s
  // CHECK: cuda.tma_store %s -> %m[%s, %s, %s] : !cuda.tensor_map
  cuda.tma_store %s -> %m[%s, %s, %s] : !cuda.tensor_map<f32, [8, 64, 64], strides [8192, 128, 1], box [1, 8, 32], swizzle 128>
  // CHECK: cuda.tma_store %s -> %m[%s, %s, %s] {add = true} : !cuda.tensor_map
  cuda.tma_store %s -> %m[%s, %s, %s] {add = true} : !cuda.tensor_map<f32, [8, 64, 64], strides [8192, 128, 1], box [1, 8, 32], swizzle 128>
  // CHECK: cuda.tma_store_wait {pending = 1 : i64, read = true}
  cuda.tma_store_wait {pending = 1, read = true}
  // CHECK: cuda.barrier_arrive_cluster %s, %s
  cuda.barrier_arrive_cluster %s, %s
  cuda.return
}

// CHECK: cuda.kernel @exchange() grid [1, 1, 1] block 128 {
cuda.kernel @exchange() grid [1, 1, 1] block 128 {
  // CHECK: %s = cuda.scratch {bytes = 64 : i64, rotates, barrier = 1 : i64}
  %s = cuda.scratch {bytes = 64, rotates, barrier = 1}
  // CHECK: cuda.shared_access "write" [%s] {bytes = 64 : i64, each_warp = 0 : i64, barrier = 1 : i64, threads = 128 : i64}
  cuda.shared_access "write" [%s] {bytes = 64, each_warp = 0, barrier = 1, threads = 128}
  // CHECK: cuda.shared_access "end_read"
  cuda.shared_access "end_read"
  // CHECK: cuda.sync {reason = "why"}
  cuda.sync {reason = "why"}
  // CHECK: cuda.named_sync %s {threads = 64 : i64, reason = "why"}
  cuda.named_sync %s {threads = 64, reason = "why"}
  cuda.return
}

// CHECK: cuda.kernel @channel() grid [2, 1, 1] block 256 cluster [2, 1, 1] {
cuda.kernel @channel() grid [2, 1, 1] block 256 cluster [2, 1, 1] {
  %t = cuda.thread_id
  // CHECK: %c = cuda.channel %t {stages = 2 : i64, full = 1024 : i64, arrivals = 1 : i64, empty = 1040 : i64, releases = 4 : i64, turn = 1056 : i64, turns = 2 : i64, passes = 4 : i64, written, by_warp, cluster = array<i64: 2, 1>, align = 1024 : i64}
  %c = cuda.channel %t {stages = 2, full = 1024, arrivals = 1, empty = 1040, releases = 4, turn = 1056, turns = 2, passes = 4, written, by_warp, cluster = array<i64: 2, 1>, align = 1024}
  // CHECK: %e = cuda.channel_end %c {fills}
  %e = cuda.channel_end %c {fills}
  // CHECK: %d = cuda.channel_end %c {first}
  %d = cuda.channel_end %c {first}
  // CHECK: %s = cuda.channel_acquire %e
  %s = cuda.channel_acquire %e
  // CHECK: %b = cuda.channel_barrier %e [%s]
  %b = cuda.channel_barrier %e [%s]
  // CHECK: cuda.channel_commit %e
  cuda.channel_commit %e
  // CHECK: cuda.channel_drain %e
  cuda.channel_drain %e
  // CHECK: cuda.channel_begin_turn %d {turn = 0 : i64}
  cuda.channel_begin_turn %d {turn = 0}
  // CHECK: %f = cuda.channel_wait %d
  %f = cuda.channel_wait %d
  // CHECK: cuda.channel_release %d, %t
  cuda.channel_release %d, %t
  // CHECK: cuda.channel_skip %d, %f
  cuda.channel_skip %d, %f
  // CHECK: cuda.channel_pass_turn %d, %t {turn = 1 : i64}
  cuda.channel_pass_turn %d, %t {turn = 1}
  cuda.return
}

#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
// CHECK: cuda.kernel @dots() grid [1, 1, 1] block 128 {
cuda.kernel @dots() grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<64 x f32>
  %left = cuda.registers : !cuda.registers<32 x bf16>
  // CHECK: %a = cuda.matrix %z from [%z, %t] : !cuda.matrix<bf16, #shared>
  %a = cuda.matrix %z from [%z, %t] : !cuda.matrix<bf16, #shared>
  // CHECK: cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "wgmma", warps = array<i64: 4, 1>, overwrites} : !cuda.registers<64 x f32>, !cuda.matrix<bf16, #shared>, !cuda.matrix<bf16, #shared>
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "wgmma", warps = array<i64: 4, 1>, overwrites} : !cuda.registers<64 x f32>, !cuda.matrix<bf16, #shared>, !cuda.matrix<bf16, #shared>
  // CHECK: cuda.dot %acc[%z], %left[%z], %a by %t {shape = array<i64: 64, 64, 64>, instruction = "wgmma", warps = array<i64: 4, 1>} : !cuda.registers<64 x f32>, !cuda.registers<32 x bf16>, !cuda.matrix<bf16, #shared>
  cuda.dot %acc[%z], %left[%z], %a by %t {shape = array<i64: 64, 64, 64>, instruction = "wgmma", warps = array<i64: 4, 1>} : !cuda.registers<64 x f32>, !cuda.registers<32 x bf16>, !cuda.matrix<bf16, #shared>
  // CHECK: cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "m16n8k16", warps = array<i64: 2, 1>, parts = 2 : i64} :
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "m16n8k16", warps = array<i64: 2, 1>, parts = 2} : !cuda.registers<64 x f32>, !cuda.matrix<bf16, #shared>, !cuda.matrix<bf16, #shared>
  cuda.return
}

// CHECK: cuda.kernel @tensor_memory() grid [1, 1, 1] block 128 {
cuda.kernel @tensor_memory() grid [1, 1, 1] block 128 {
  %z = arith.constant 0 : index
  %no = arith.constant false
  %a = cuda.shared {offset = 0}
  %sums = cuda.registers : !cuda.registers<64 x f32>
  // CHECK: cuda.tcgen05_alloc %a {columns = 64 : i64}
  cuda.tcgen05_alloc %a {columns = 64}
  // CHECK: cuda.tcgen05_relinquish
  cuda.tcgen05_relinquish
  // CHECK: %d = cuda.tcgen05_descriptor %a {leading = 16 : i64, stride = 1024 : i64}
  %d = cuda.tcgen05_descriptor %a {leading = 16, stride = 1024}
  // CHECK: cuda.tcgen05_mma %a, %d, %d, %no {n = 64 : i64, lhs_type = bf16, rhs_type = bf16, transpose_rhs = true}
  cuda.tcgen05_mma %a, %d, %d, %no {n = 64, lhs_type = bf16, rhs_type = bf16, transpose_rhs = true}
  // CHECK: cuda.tcgen05_mma %a, %d, %d, %no {n = 256 : i64, lhs_type = ui8, rhs_type = i8}
  cuda.tcgen05_mma %a, %d, %d, %no {n = 256, lhs_type = ui8, rhs_type = i8}
  // CHECK: cuda.tcgen05_commit %a
  cuda.tcgen05_commit %a
  // CHECK: cuda.tcgen05_fence_after
  cuda.tcgen05_fence_after
  // CHECK: cuda.tcgen05_load %a -> %sums[%z] {count = 64 : i64} : !cuda.registers<64 x f32>
  cuda.tcgen05_load %a -> %sums[%z] {count = 64} : !cuda.registers<64 x f32>
  // CHECK: cuda.tcgen05_fence_before
  cuda.tcgen05_fence_before
  // CHECK: cuda.tcgen05_dealloc %a {columns = 64 : i64}
  cuda.tcgen05_dealloc %a {columns = 64}
  cuda.return
}

// CHECK: cuda.kernel @sums_in_tensor_memory(%x: i32, %later: i1) grid [1, 1, 1] block 128 {
cuda.kernel @sums_in_tensor_memory(%x: i32, %later: i1) grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>
  // CHECK: cuda.dot %x[%z], %a, %a if %later by %t {shape = array<i64: 128, 64, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>, overwrites} : i32,
  cuda.dot %x[%z], %a, %a if %later by %t {shape = array<i64: 128, 64, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>, overwrites} : i32, !cuda.matrix<bf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>, !cuda.matrix<bf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>
  // CHECK: cuda.dot %x[%z], %a, %a by %t {shape = array<i64: 128, 64, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>} : i32,
  cuda.dot %x[%z], %a, %a by %t {shape = array<i64: 128, 64, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>} : i32, !cuda.matrix<bf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>, !cuda.matrix<bf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>
  cuda.return
}
