// RUN: irc-opt %s | irc-opt | filecheck %s

// CHECK:      cpu.kernel @product(%a: memref<64xf64>, %b: memref<64xf64>, %c: memref<64xf64>, %first: index, %end: index) {results = 1 : i64, tiles = 1 : i64} {
cpu.kernel @product(%a: memref<64xf64>, %b: memref<64xf64>, %c: memref<64xf64>, %first: index, %end: index) {results = 1 : i64, tiles = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // CHECK: cpu.gemm %a[%c0], %b[%c0] -> %c sizes %c8, %c8, %c8 {lhs_stride = 8 : i64, lhs_transposed = false, rhs_stride = 8 : i64, rhs_transposed = true, width = 8 : i64} : memref<64xf64>, memref<64xf64> -> memref<64xf64>
  cpu.gemm %a[%c0], %b[%c0] -> %c sizes %c8, %c8, %c8 {lhs_stride = 8, lhs_transposed = false, rhs_stride = 8, rhs_transposed = true, width = 8} : memref<64xf64>, memref<64xf64> -> memref<64xf64>
  %narrow = memref.alloca() : memref<64xbf16>
  %sums = memref.alloca() : memref<64xf32>
  // CHECK: cpu.gemm %narrow[%c0], %narrow[%c8] -> %sums {{.*}} : memref<64xbf16>, memref<64xbf16> -> memref<64xf32>
  cpu.gemm %narrow[%c0], %narrow[%c8] -> %sums sizes %c8, %c8, %c8 {lhs_stride = 8, lhs_transposed = false, rhs_stride = 8, rhs_transposed = false, width = 8} : memref<64xbf16>, memref<64xbf16> -> memref<64xf32>
  // CHECK: cpu.transpose %a[%c0] -> %c[%c0] sizes %c8, %c8 {pitch = 8 : i64, width = 8 : i64} : memref<64xf64> -> memref<64xf64>
  cpu.transpose %a[%c0] -> %c[%c0] sizes %c8, %c8 {pitch = 8, width = 8} : memref<64xf64> -> memref<64xf64>
}
