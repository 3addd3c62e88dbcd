// RUN: irc-opt %s --arch sm_100a -p lower-dots | filecheck %s

// The group's first thread issues an instruction for each 16 columns of K, of the first 128 rows and then of the others,
// whose sums lie in the 128 columns behind. The first instruction of each overwrites.
// CHECK-LABEL: cuda.kernel @tensor_memory
// CHECK:       %[[FIRST:.*]] = arith.cmpi eq, %t
// CHECK-NEXT:  scf.if %[[FIRST]] {
// CHECK:         %[[B:.*]] = cuda.tcgen05_descriptor %{{.*}} {leading = 8192 : i64, stride = 1024 : i64}
// CHECK:         %[[A:.*]] = cuda.tcgen05_descriptor %{{.*}} {leading = 16 : i64, stride = 1024 : i64}
// CHECK:         scf.for %k
// CHECK:           %[[LEFT:.*]] = arith.addi %[[A]]
// CHECK:           %[[RIGHT:.*]] = arith.addi %[[B]]
// CHECK:           %[[ADDS:.*]] = arith.cmpi ne, %k
// CHECK-NEXT:      %[[COLUMN:.*]] = arith.constant 64 : i32
// CHECK-NEXT:      %[[SUMS:.*]] = arith.addi %tensor, %[[COLUMN]]
// CHECK-NEXT:      cuda.tcgen05_mma %[[SUMS]], %[[LEFT]], %[[RIGHT]], %[[ADDS]] {n = 128 : i64, lhs_type = bf16, rhs_type = bf16, transpose_rhs = true}
// CHECK-NEXT:    } {unroll}
// CHECK:         %[[BELOW:.*]] = arith.constant 16384 : i32
// CHECK-NEXT:    cuda.tcgen05_descriptor %[[BELOW]]
// CHECK:           %[[NEXT:.*]] = arith.constant 192 : i32
// CHECK-NEXT:      %[[OTHERS:.*]] = arith.addi %tensor, %[[NEXT]]
// CHECK-NEXT:      cuda.tcgen05_mma %[[OTHERS]]
// CHECK-NEXT:    } {unroll}
// CHECK-NEXT:  }
// CHECK-NEXT:  cuda.return

#shared = #tile.shared<(256,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
cuda.kernel @tensor_memory(%tensor: i32) grid [1, 1, 1] block 256 shared 65536 {
  %t = cuda.thread_id
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c32768 = arith.constant 32768 : index
  %a = cuda.matrix %c0 from [%c0, %c0] : !cuda.matrix<bf16, #shared>
  %b = cuda.matrix %c32768 from [%c0, %c0] : !cuda.matrix<bf16, #shared1>
  cuda.dot %tensor[%c64], %a, %b by %t {shape = array<i64: 256, 128, 64>, instruction = "tcgen05", warps = array<i64: 8, 1>, overwrites} : i32, !cuda.matrix<bf16, #shared>, !cuda.matrix<bf16, #shared1>
  cuda.return
}

// Where the product adds in some steps of a loop, its first instruction does too.
// CHECK-LABEL: cuda.kernel @steps
// CHECK:         scf.for %k
// CHECK:           %[[FIRST:.*]] = arith.cmpi ne, %k
// CHECK-NEXT:      %[[ADDS:.*]] = arith.ori %[[FIRST]], %later
// CHECK:           cuda.tcgen05_mma %{{.*}}, %{{.*}}, %{{.*}}, %[[ADDS]]
cuda.kernel @steps(%tensor: i32) grid [1, 1, 1] block 128 shared 65536 {
  %t = cuda.thread_id
  %c0 = arith.constant 0 : index
  %later = arith.cmpi ne, %t, %c0 : index
  %a = cuda.matrix %c0 from [%c0, %c0] : !cuda.matrix<bf16, #shared>
  %b = cuda.matrix %c0 from [%c0, %c0] : !cuda.matrix<bf16, #shared1>
  cuda.dot %tensor[%c0], %a, %b if %later by %t {shape = array<i64: 128, 128, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>, overwrites} : i32, !cuda.matrix<bf16, #shared>, !cuda.matrix<bf16, #shared1>
  cuda.return
}
