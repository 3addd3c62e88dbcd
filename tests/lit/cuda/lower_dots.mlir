// RUN: irc-opt %s -p lower-dots --split-input-file | filecheck %s

// Each warp group has 64 of the rows, and an instruction for each 16 columns of K, which the descriptors walk along: the
// left one inside of its rows of 128 bytes, the right one from rows to rows. The first instruction overwrites. All are
// one group; the wait for it stays where it was.
// CHECK-LABEL: cuda.kernel @warp_groups
// CHECK:       cuda.registers_fence %acc
// CHECK-NEXT:  cuda.wgmma_fence
// CHECK:       %[[GROUP:.*]] = cuda.warp_uniform
// CHECK:       %[[B:.*]] = cuda.descriptor %{{.*}} {leading = 8192 : i64, stride = 1024 : i64}
// CHECK:       arith.shli %[[GROUP]]
// CHECK:       %[[A:.*]] = cuda.descriptor %{{.*}} {leading = 16 : i64, stride = 1024 : i64}
// CHECK:       %[[STEPS:.*]] = arith.constant 4 : index
// CHECK-NEXT:  scf.for %k = %{{.*}} to %[[STEPS]]
// CHECK:         %[[LEFT:.*]] = arith.addi %[[A]]
// CHECK:         %[[RIGHT:.*]] = arith.addi %[[B]]
// CHECK:         %[[ADDS:.*]] = arith.cmpi ne, %k
// CHECK-NEXT:    cuda.wgmma %acc[%{{.*}}], %[[LEFT]], %[[RIGHT]], %[[ADDS]] {n = 128 : i64, k = 16 : i64, lhs_type = bf16, rhs_type = bf16, transpose_rhs = true}
// CHECK-NEXT:  } {unroll}
// CHECK-NEXT:  cuda.wgmma_commit
// CHECK-NEXT:  cuda.wgmma_wait
// CHECK-NEXT:  cuda.return

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
cuda.kernel @warp_groups() grid [1, 1, 1] block 256 shared 32768 {
  %t = cuda.thread_id
  %c0 = arith.constant 0 : index
  %c16384 = arith.constant 16384 : index
  %acc = cuda.registers : !cuda.registers<64 x f32>
  %a = cuda.matrix %c0 from [%c0, %c0] : !cuda.matrix<bf16, #shared>
  %b = cuda.matrix %c16384 from [%c0, %c0] : !cuda.matrix<bf16, #shared1>
  cuda.dot %acc[%c0], %a, %b by %t {shape = array<i64: 128, 128, 64>, instruction = "wgmma", warps = array<i64: 8, 1>, overwrites} : !cuda.registers<64 x f32>, !cuda.matrix<bf16, #shared>, !cuda.matrix<bf16, #shared1>
  cuda.wgmma_wait
  cuda.return
}

// -----

// Registers of the left operand follow each other step by step; those of the sums begin where the dot says.
// CHECK-LABEL: cuda.kernel @left_in_registers
// CHECK:       cuda.registers_fence %acc
// CHECK-NEXT:  cuda.registers_fence %a
// CHECK-NEXT:  cuda.wgmma_fence
// CHECK:       %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT:  %[[FIRST:.*]] = arith.constant 32 : index
// CHECK-NEXT:  cuda.wgmma_registers %acc[%[[FIRST]]], %a[%{{.*}}], %{{.*}}, %[[TRUE]] {n = 64 : i64, k = 16 : i64
// CHECK:       %[[NEXT:.*]] = arith.constant 8 : index
// CHECK-NEXT:  cuda.wgmma_registers %acc[%[[FIRST]]], %a[%[[NEXT]]], %{{.*}}, %[[TRUE]]
// CHECK-NEXT:  cuda.wgmma_commit
// CHECK-NEXT:  cuda.return
#shared = #tile.shared<(64,64):(1,64) swizzle(3,3,3)>
cuda.kernel @left_in_registers() grid [1, 1, 1] block 128 shared 8192 {
  %t = cuda.thread_id
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %acc = cuda.registers : !cuda.registers<64 x f32>
  %a = cuda.registers : !cuda.registers<16 x bf16>
  %b = cuda.matrix %c0 from [%c0, %c0] : !cuda.matrix<bf16, #shared>
  cuda.dot %acc[%c32], %a[%c0], %b by %t {shape = array<i64: 64, 64, 32>, instruction = "wgmma", warps = array<i64: 4, 1>} : !cuda.registers<64 x f32>, !cuda.registers<16 x bf16>, !cuda.matrix<bf16, #shared>
  cuda.return
}

// -----

// A warp loads its part of a step's operands, the right one transposed as it lies with N in rows, and multiplies each
// atom of one with each of the other. What says that the threads read shared memory stays.
// CHECK-LABEL: cuda.kernel @warps
// CHECK:       cuda.shared_access "read"
// CHECK:       scf.for %k
// CHECK:         %[[A:.*]] = cuda.registers : !cuda.registers<16 x bf16>
// CHECK:         cuda.ldmatrix %{{.*}} -> %[[A]][%{{.*}}] : !cuda.registers<16 x bf16>
// CHECK:         %[[B:.*]] = cuda.registers : !cuda.registers<16 x bf16>
// CHECK:         cuda.ldmatrix %{{.*}} -> %[[B]][%{{.*}}] {transpose = true} : !cuda.registers<16 x bf16>
// CHECK:         scf.for %m
// CHECK:           scf.for %n
// CHECK:             cuda.mma %acc[%{{.*}}], %[[A]][%{{.*}}], %[[B]][%{{.*}}] {instruction = "m16n8k16"}
// CHECK-NOT:   cuda.{{dot|matrix}}
// CHECK:       cuda.return
#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(64,1) swizzle(3,3,3)>
cuda.kernel @warps() grid [1, 1, 1] block 128 shared 8192 {
  %t = cuda.thread_id
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %acc = cuda.registers : !cuda.registers<32 x f32>
  %a = cuda.matrix %c0 from [%c0, %c0] : !cuda.matrix<bf16, #shared>
  %b = cuda.matrix %c4096 from [%c0, %c0] : !cuda.matrix<bf16, #shared1>
  cuda.shared_access "read"
  cuda.dot %acc[%c0], %a, %b by %t {shape = array<i64: 64, 64, 32>, instruction = "m16n8k16", warps = array<i64: 2, 2>} : !cuda.registers<32 x f32>, !cuda.matrix<bf16, #shared>, !cuda.matrix<bf16, #shared1>
  cuda.return
}

// -----

// Each warp has its part of K: it begins half of it further on. ldmatrix loads no f32. An operand is a high and a low
// part, whose products are added the small ones first.
// CHECK-LABEL: cuda.kernel @parts_of_f32
// CHECK:       %[[WARP:.*]] = arith.shrui %t
// CHECK-NEXT:  %[[BITS:.*]] = arith.constant 3 : index
// CHECK-NEXT:  %[[FIRST:.*]] = arith.shli %[[WARP]], %[[BITS]] : index
// CHECK:       arith.addi %{{.*}}, %[[FIRST]] : index
// CHECK:       cuda.shared_load %{{.*}} -> %{{.*}} : !cuda.registers<4 x f32>
// CHECK:       arith.addi %{{.*}}, %[[FIRST]] : index
// CHECK:       cuda.shared_load %{{.*}} -> %{{.*}} : !cuda.registers<2 x f32>
// CHECK-NOT:   cuda.ldmatrix
// CHECK:       cuda.mma %acc[%{{.*}}], %low[%{{.*}}], %high_1[%{{.*}}] {instruction = "m16n8k8", truncated = true}
// CHECK-NEXT:  cuda.mma %acc[%{{.*}}], %high[%{{.*}}], %low_1[%{{.*}}]
// CHECK-NEXT:  cuda.mma %acc[%{{.*}}], %high[%{{.*}}], %high_1[%{{.*}}]
// CHECK-NEXT:  cuda.return
#shared = #tile.shared<(16,16):(16,1)>
#shared1 = #tile.shared<(16,8):(1,16)>
cuda.kernel @parts_of_f32() grid [1, 1, 1] block 64 shared 2048 {
  %t = cuda.thread_id
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %acc = cuda.registers : !cuda.registers<4 x f32>
  %a = cuda.matrix %c0 from [%c0, %c0] : !cuda.matrix<f32, #shared>
  %b = cuda.matrix %c1024 from [%c0, %c0] : !cuda.matrix<f32, #shared1>
  cuda.dot %acc[%c0], %a, %b by %t {shape = array<i64: 16, 8, 16>, instruction = "m16n8k8", warps = array<i64: 1, 1>, parts = 2, tf32x3} : !cuda.registers<4 x f32>, !cuda.matrix<f32, #shared>, !cuda.matrix<f32, #shared1>
  cuda.return
}
