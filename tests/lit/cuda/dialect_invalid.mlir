// RUN: irc-opt %s --verify-diagnostics --split-input-file | filecheck %s

cuda.kernel @k() grid [4, 1, 1] block 0 {
  cuda.return
}
// CHECK: expected 1 to 1024 threads in a block, found 0

// -----

cuda.kernel @k() grid [3, 1, 1] block 32 cluster [2, 1, 1] {
  cuda.return
}
// CHECK: expected a grid of whole clusters, found (3, 1, 1) in clusters of (2, 1, 1)

// -----

cuda.kernel @k(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 {
  %c0 = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<8 x f32>
  cuda.load %x[%c0] -> %r[%c0] {count = 3} : !cuda.ptr<f32> -> !cuda.registers<8 x f32>
  cuda.return
}
// CHECK: expected cuda.load: bytes of one access to be one of 1, 2, 4, 8, 16, found 12

// -----

cuda.kernel @k(%x: !cuda.ptr<i8>) grid [1, 1, 1] block 32 {
  %c0 = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<8 x i8>
  cuda.load_across %x[%c0] -> %r[%c0] : !cuda.ptr<i8> -> !cuda.registers<8 x i8>
  cuda.return
}
// CHECK: cuda.load_across

// -----

cuda.kernel @k(%x: !cuda.ptr<i8>) grid [1, 1, 1] block 32 {
  %c0 = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<16 x i8>
  cuda.load_across %x[%c0 + %c0] -> %r[%c0] : !cuda.ptr<i8> -> !cuda.registers<16 x i8>
  cuda.return
}
// CHECK: cuda.load_across: expected one offset, found two

// -----

cuda.kernel @k(%x: !cuda.ptr<bf16>) grid [1, 1, 1] block 32 {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %other = arith.constant 0.0 : f32
  %r = cuda.registers : !cuda.registers<8 x bf16>
  cuda.load_or %x[%c0] if %true else %other -> %r[%c0] : !cuda.ptr<bf16>, f32 -> !cuda.registers<8 x bf16>
  cuda.return
}
// CHECK: cuda.load_or: expected bf16, found f32

// -----

cuda.kernel @k(%m: !cuda.tensor_map<f32, [64, 64], box [8, 32]>) grid [1, 1, 1] block 32 {
  %s = cuda.shared {offset = 0}
  cuda.tma_load %m[%s] -> %s, %s : !cuda.tensor_map<f32, [64, 64], box [8, 32]>
  cuda.return
}
// CHECK: expected 2 coordinates for !cuda.tensor_map<f32, [64, 64], box [8, 32]>, found 1

// -----

cuda.kernel @k(%m: !cuda.tensor_map<bf16, [2, 8, 8, 64], window [-1, -1] to [-1, -1] steps [1, 1], box [64, 64], swizzle 128>) grid [1, 1, 1] block 32 {
  %s = cuda.shared {offset = 0}
  cuda.tma_load %m[%s, %s, %s, %s] -> %s, %s : !cuda.tensor_map<bf16, [2, 8, 8, 64], window [-1, -1] to [-1, -1] steps [1, 1], box [64, 64], swizzle 128>
  cuda.return
}
// CHECK: expected a move along 2 dimensions for !cuda.tensor_map<bf16, [2, 8, 8, 64], window [-1, -1] to [-1, -1] steps [1, 1], box [64, 64], swizzle 128>, found 0

// -----

cuda.kernel @k(%m: !cuda.tensor_map<bf16, [2, 8, 64], window [-1] to [-1] steps [1], box [64, 64]>) grid [1, 1, 1] block 32 {
  %s = cuda.shared {offset = 0}
  cuda.tma_store %s -> %m[%s, %s, %s] : !cuda.tensor_map<bf16, [2, 8, 64], window [-1] to [-1] steps [1], box [64, 64]>
  cuda.return
}
// CHECK: expected a tensor map without a window to store to, found !cuda.tensor_map<bf16, [2, 8, 64], window [-1] to [-1] steps [1], box [64, 64]>

// -----

cuda.kernel @k(%m: !cuda.tensor_map<bf16, [2, 8, 8, 8, 64], window [-1, -17, 0] to [0, 0, 0] steps [1, 1, 1], box [64, 64]>) grid [1, 1, 1] block 32 {
  cuda.return
}
// CHECK: expected corners of a window in -16..15, found [-1, -17, 0, 0, 0, 0]

// -----

cuda.kernel @k(%m: !cuda.tensor_map<bf16, [2, 8, 64], window [0] to [0] steps [9], box [64, 64]>) grid [1, 1, 1] block 32 {
  cuda.return
}
// CHECK: expected steps of a window in 1..8, found [9]

// -----

cuda.kernel @k(%m: !cuda.tensor_map<bf16, [8, 64], window [0] to [0] steps [1], box [64, 64]>) grid [1, 1, 1] block 32 {
  cuda.return
}
// CHECK: expected 3 to 5 dimensions in a tensor map with a window, found 2

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %r = cuda.registers : !cuda.registers<2 x f32>
  %z = arith.constant 0 : index
  cuda.packed %r[%z], %r[%z] -> %r[%z] {kind = "addf"} : !cuda.registers<2 x f32>, !cuda.registers<2 x f32> -> !cuda.registers<2 x f32>
  cuda.return
}
// CHECK: expected bf16 or f16 everywhere, found f32

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %r = cuda.registers : !cuda.registers<2 x f16>
  %z = arith.constant 0 : index
  cuda.packed %r[%z], %r[%z] -> %r[%z] {kind = "divf"} : !cuda.registers<2 x f16>, !cuda.registers<2 x f16> -> !cuda.registers<2 x f16>
  cuda.return
}
// CHECK: expected the kind of packed arithmetic to be one of addf, subf, mulf, maximumf, minimumf, found divf

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %s = cuda.registers : !cuda.registers<4 x i16>
  %r = cuda.registers : !cuda.registers<2 x f16>
  %z = arith.constant 0 : index
  cuda.packed_widen %s[%z, %z] -> %r[%z] : !cuda.registers<4 x i16> -> !cuda.registers<2 x f16>
  cuda.return
}
// CHECK: expected i8 or f8 to widen, found i16

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %s = cuda.registers : !cuda.registers<4 x i8>
  %r = cuda.registers : !cuda.registers<2 x f32>
  %z = arith.constant 0 : index
  cuda.packed_widen %s[%z, %z] -> %r[%z] : !cuda.registers<4 x i8> -> !cuda.registers<2 x f32>
  cuda.return
}
// CHECK: expected bf16 or f16 to widen to, found f32

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %s = cuda.registers : !cuda.registers<2 x i8>
  %r = cuda.registers : !cuda.registers<2 x f16>
  %z = arith.constant 0 : index
  cuda.packed_widen %s[%z, %z] -> %r[%z] : !cuda.registers<2 x i8> -> !cuda.registers<2 x f16>
  cuda.return
}
// CHECK: expected a multiple of 4 elements to widen some, found

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %s = cuda.registers : !cuda.registers<4 x i8>
  %r = cuda.registers : !cuda.registers<2 x f16>
  %z = arith.constant 0 : index
  cuda.packed_widen %s[%z, %z] -> %r[%z] {bits = array<i64: 5, 4>} : !cuda.registers<4 x i8> -> !cuda.registers<2 x f16>
  cuda.return
}
// CHECK: expected the first of some bits of 8 and their number, found [5, 4]

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %s = cuda.registers : !cuda.registers<4 x f8E4M3FN>
  %r = cuda.registers : !cuda.registers<2 x f16>
  %z = arith.constant 0 : index
  cuda.packed_widen %s[%z, %z] -> %r[%z] {bits = array<i64: 0, 4>} : !cuda.registers<4 x f8E4M3FN> -> !cuda.registers<2 x f16>
  cuda.return
}
// CHECK: expected bits of i8, found f8E4M3FN

// -----

cuda.kernel @k(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] sets 257 {
  cuda.return
}
// CHECK: expected at most 256 sets: of 16 bytes in 4096, one where a kernel uses its place along z; found 257

// -----

cuda.kernel @k(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] sets 2 {
  %z = cuda.block_id {axis = 2 : i64}
  cuda.return
}
// CHECK: expected at most 1 sets: of 16 bytes in 4096, one where a kernel uses its place along z; found 2

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %s = cuda.scratch {bytes = 0}
  cuda.return
}
// CHECK: expected a number of bytes, found 0

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  cuda.shared_access "both"
  cuda.return
}
// CHECK: expected kind to be one of write, read, begin_read, end_read, found both

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  cuda.shared_access "read" {bytes = 4}
  cuda.return
}
// CHECK: expected an address and a number of bytes, or neither

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  cuda.shared_access "read" {each_warp = 4}
  cuda.return
}
// CHECK: expected each_warp for an address only

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  cuda.shared_access "read" {barrier = 1}
  cuda.return
}
// CHECK: expected a barrier and the number of threads that meet there, or neither

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  cuda.shared_access "read" {barrier = 1, threads = 48}
  cuda.return
}
// CHECK: expected a multiple of 32 threads up to 1024, found 48

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %t = cuda.thread_id
  %c = cuda.channel %t {stages = 0, full = 0, arrivals = 1, empty = 8, releases = 1}
  cuda.return
}
// CHECK: expected a stage at least, found 0

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %t = cuda.thread_id
  %c = cuda.channel %t {stages = 1, full = 0, arrivals = 1, empty = 8, releases = 1, turns = 2}
  cuda.return
}
// CHECK: expected a place for barriers of turns, their number and their passes, or none

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  %t = cuda.thread_id
  %c = cuda.channel %t {stages = 1, full = 0, arrivals = 1, empty = 8, releases = 1, cluster = array<i64: 2>}
  cuda.return
}
// CHECK: expected blocks along two dimensions, found (2,)

// -----

cuda.kernel @f(%e: !cuda.channel_end) grid [1, 1, 1] block 32 {
  cuda.channel_commit %e
  cuda.return
}
// CHECK: expected the result of a cuda.channel_end

// -----

cuda.kernel @k() grid [1, 1, 1] block 32 {
  %x = arith.constant 1.0 : f32
  %y = cuda.instruction "ex3.approx.f32" %x : (f32) -> f32
  cuda.return
}
// CHECK: expected the instruction to be one of cos.approx.f32, {{.*}}, found ex3.approx.f32

// -----

cuda.kernel @k() grid [1, 1, 1] block 32 {
  %x = arith.constant 1.0 : f32
  %y = cuda.instruction "div.full.f32" %x : (f32) -> f32
  cuda.return
}
// CHECK: expected div.full.f32 : (f32, f32) -> f32, found (f32) -> f32

// -----

cuda.kernel @k() grid [1, 1, 1] block 32 {
  %x = arith.constant 1 : i32
  %y = cuda.lookup %x {values = array<i64>}
  cuda.return
}
// CHECK: expected a table with values, found none

// -----

cuda.kernel @k(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 entry "k" {
  cuda.return
}
// CHECK: expected code beside entry, given and image, found none

// -----

cuda.kernel @k(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 code ["text"] {
  cuda.return
}
// CHECK: expected entry to be the name of the kernel in code

// -----

cuda.kernel @k(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 entry "k" code ["text"] {
  cuda.sync
  cuda.return
}
// CHECK: expected code or ops in a kernel, found both

// -----

cuda.kernel @k(%x: i32) grid [1, 1, 1] block 32 entry "k" code ["text"] {
  cuda.return
}
// CHECK: expected pointers as the arguments of a kernel of code

// -----

#s = #tile.shared<(64,64):(64,1)>
cuda.kernel @f() grid [1, 1, 1] block 32 {
  %z = arith.constant 0 : index
  %a = cuda.matrix %z from [%z] : !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected a row and a column, found 1 coordinates

// -----

#s = #tile.shared<(64):(1)>
cuda.kernel @f() grid [1, 1, 1] block 32 {
  %z = arith.constant 0 : index
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected a layout of two dimensions, found #tile.shared<(64):(1)>

// -----

#s = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f() grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<32 x f32>
  %r = cuda.registers : !cuda.registers<32 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "fma", warps = array<i64: 4, 1>} : !cuda.registers<32 x f32>, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected the instruction of a dot to be one of wgmma, tcgen05, m16n8k16

// -----

#s = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f() grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<32 x f32>
  %r = cuda.registers : !cuda.registers<32 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64>, instruction = "wgmma", warps = array<i64: 4, 1>} : !cuda.registers<32 x f32>, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected 3 extents of at least 1, found [64, 64]

// -----

#s = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f() grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<32 x f32>
  %r = cuda.registers : !cuda.registers<32 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %acc[%z], %r, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "wgmma", warps = array<i64: 4, 1>} : !cuda.registers<32 x f32>, !cuda.registers<32 x bf16>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected an index of a left operand in registers, and of no other

// -----

#s = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f() grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<32 x f32>
  %r = cuda.registers : !cuda.registers<32 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "wgmma", warps = array<i64: 2, 2>} : !cuda.registers<32 x f32>, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected warp groups along M for wgmma, without parts and tf32x3

// -----

#s = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f() grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<32 x f32>
  %r = cuda.registers : !cuda.registers<32 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 24>, instruction = "wgmma", warps = array<i64: 4, 1>} : !cuda.registers<32 x f32>, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected k to be a multiple of 16 for wgmma, found 24

// -----

#s = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f() grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<32 x f32>
  %r = cuda.registers : !cuda.registers<32 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 16>, instruction = "m16n8k16", warps = array<i64: 2, 1>, parts = 2} : !cuda.registers<32 x f32>, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected k to be a multiple of 32 for m16n8k16, found 16

// -----

#s = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f() grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<32 x f32>
  %r = cuda.registers : !cuda.registers<32 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "m16n8k16", warps = array<i64: 4, 1>, overwrites} : !cuda.registers<32 x f32>, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected operands in shared memory for mma, added to what there is

// -----

#s = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f() grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<16 x f32>
  %r = cuda.registers : !cuda.registers<32 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "wgmma", warps = array<i64: 4, 1>} : !cuda.registers<16 x f32>, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: cuda.dot: expected elements inside of !cuda.registers<16 x f32>, found 32 from 0

// -----

cuda.kernel @f() grid [1, 1, 1] block 128 {
  %z = arith.constant 0 : index
  %no = arith.constant false
  %a = cuda.shared {offset = 0}
  %d = cuda.tcgen05_descriptor %a {leading = 16, stride = 1024}
  %sums = cuda.registers : !cuda.registers<64 x f32>
  cuda.tcgen05_alloc %a {columns = 48}
  cuda.return
}
// CHECK: expected a power of two of 32 to 512 columns, found 48

// -----

cuda.kernel @f() grid [1, 1, 1] block 128 {
  %z = arith.constant 0 : index
  %no = arith.constant false
  %a = cuda.shared {offset = 0}
  %d = cuda.tcgen05_descriptor %a {leading = 16, stride = 1024}
  %sums = cuda.registers : !cuda.registers<64 x f32>
  cuda.tcgen05_dealloc %a {columns = 16}
  cuda.return
}
// CHECK: expected a power of two of 32 to 512 columns, found 16

// -----

cuda.kernel @f() grid [1, 1, 1] block 128 {
  %z = arith.constant 0 : index
  %no = arith.constant false
  %a = cuda.shared {offset = 0}
  %d = cuda.tcgen05_descriptor %a {leading = 16, stride = 1024}
  %sums = cuda.registers : !cuda.registers<64 x f32>
  cuda.tcgen05_mma %a, %d, %d, %no {n = 24, lhs_type = bf16, rhs_type = bf16}
  cuda.return
}
// CHECK: expected n to be a multiple of 16 in 16..256 for 128 rows, found 24

// -----

cuda.kernel @f() grid [1, 1, 1] block 128 {
  %z = arith.constant 0 : index
  %no = arith.constant false
  %a = cuda.shared {offset = 0}
  %d = cuda.tcgen05_descriptor %a {leading = 16, stride = 1024}
  %sums = cuda.registers : !cuda.registers<64 x f32>
  cuda.tcgen05_mma %a, %d, %d, %no {n = 64, lhs_type = f64, rhs_type = f64}
  cuda.return
}
// CHECK: expected the operand type of tcgen05 to be one of f16, bf16, f32, f8E4M3FN, f8E5M2, ui8, i8, found f64

// -----

cuda.kernel @f() grid [1, 1, 1] block 128 {
  %z = arith.constant 0 : index
  %no = arith.constant false
  %a = cuda.shared {offset = 0}
  %d = cuda.tcgen05_descriptor %a {leading = 16, stride = 1024}
  %sums = cuda.registers : !cuda.registers<64 x f32>
  cuda.tcgen05_mma %a, %d, %d, %no {n = 64, lhs_type = bf16, rhs_type = f16}
  cuda.return
}
// CHECK: expected the right operand's type beside bf16 to be one of bf16, found f16

// -----

cuda.kernel @f() grid [1, 1, 1] block 128 {
  %z = arith.constant 0 : index
  %no = arith.constant false
  %a = cuda.shared {offset = 0}
  %d = cuda.tcgen05_descriptor %a {leading = 16, stride = 1024}
  %sums = cuda.registers : !cuda.registers<64 x f32>
  cuda.tcgen05_mma %a, %d, %d, %no {n = 64, lhs_type = f32, rhs_type = f32, transpose_lhs = true}
  cuda.return
}
// CHECK: expected a transposed operand of 16-bit type, found f32

// -----

cuda.kernel @f() grid [1, 1, 1] block 128 {
  %z = arith.constant 0 : index
  %no = arith.constant false
  %a = cuda.shared {offset = 0}
  %d = cuda.tcgen05_descriptor %a {leading = 16, stride = 1024}
  %sums = cuda.registers : !cuda.registers<64 x f32>
  cuda.tcgen05_load %a -> %sums[%z] {count = 48} : !cuda.registers<64 x f32>
  cuda.return
}
// CHECK: expected the columns of cuda.tcgen05_load to be one of 1, 2, 4, 8, 16, 32, 64, 128, found 48

// -----

cuda.kernel @f() grid [1, 1, 1] block 128 {
  %z = arith.constant 0 : index
  %no = arith.constant false
  %a = cuda.shared {offset = 0}
  %d = cuda.tcgen05_descriptor %a {leading = 16, stride = 1024}
  %sums = cuda.registers : !cuda.registers<64 x f32>
  cuda.tcgen05_load %a -> %sums[%z] {count = 128} : !cuda.registers<64 x f32>
  cuda.return
}
// CHECK: cuda.tcgen05_load: expected elements inside of !cuda.registers<64 x f32>, found 128 from 0

// -----

#s = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f(%x: i32) grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<64 x f32>
  %r = cuda.registers : !cuda.registers<64 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %acc[%z], %a, %a by %t {shape = array<i64: 128, 64, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>} : !cuda.registers<64 x f32>, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected the sums of tcgen05 in Tensor Memory, and of no other instruction

// -----

#s = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f(%x: i32) grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<64 x f32>
  %r = cuda.registers : !cuda.registers<64 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %x[%z], %a, %a by %t {shape = array<i64: 64, 64, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>} : i32, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected m to be a multiple of 128 for tcgen05, found 64

// -----

#s = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f(%x: i32) grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<64 x f32>
  %r = cuda.registers : !cuda.registers<64 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %x[%z], %a, %a by %t {shape = array<i64: 128, 24, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>} : i32, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected n to be a multiple of 16 for tcgen05, found 24

// -----

#s = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f(%x: i32) grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<64 x f32>
  %r = cuda.registers : !cuda.registers<64 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %x[%z], %a, %a by %t {shape = array<i64: 128, 512, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>} : i32, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected n to be at most 256 for tcgen05, found 512

// -----

#s = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f(%x: i32) grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %acc = cuda.registers : !cuda.registers<64 x f32>
  %r = cuda.registers : !cuda.registers<64 x bf16>
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %x[%z], %r[%z], %a by %t {shape = array<i64: 128, 64, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>} : i32, !cuda.registers<64 x bf16>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected operands in shared memory for tcgen05, without parts and tf32x3

// -----

cuda.kernel @k(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 entry "k" code ["text"] values [1 : i32] places [1] {
  cuda.return
}
// CHECK: expected an image beside values, found none

// -----

cuda.kernel @k(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 entry "k" code ["text"] image ["AA=="] values [1 : i32] {
  cuda.return
}
// CHECK: expected a place for each of 1 values, found 0

// -----

cuda.kernel @k(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 entry "k" code ["text"] image ["AA=="] values [1 : i32, 2 : i64] places [1, 3] {
  cuda.return
}
// CHECK: expected places of values among the parameters in order, found [1, 3]

// -----

#s = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
cuda.kernel @f(%x: i32) grid [1, 1, 1] block 128 {
  %t = cuda.thread_id
  %z = arith.constant 0 : index
  %later = arith.cmpi ne, %t, %z : index
  %a = cuda.matrix %z from [%z, %z] : !cuda.matrix<bf16, #s>
  cuda.dot %x[%z], %a, %a if %later by %t {shape = array<i64: 128, 64, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>} : i32, !cuda.matrix<bf16, #s>, !cuda.matrix<bf16, #s>
  cuda.return
}
// CHECK: expected a dot of tcgen05 that overwrites where `adds` says whether it adds

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  cuda.cp_async_wait {pending = 64}
  cuda.return
}
// CHECK: cuda.cp_async_wait: expected 0 to 63 pending groups, found 64

// -----

cuda.kernel @f() grid [1, 1, 1] block 32 {
  cuda.tma_store_wait {pending = 8}
  cuda.return
}
// CHECK: cuda.tma_store_wait: expected 0 to 7 pending groups, found 8
