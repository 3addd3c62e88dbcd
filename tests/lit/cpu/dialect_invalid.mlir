// RUN: irc-opt %s --verify-diagnostics --split-input-file | filecheck %s

cpu.kernel @k(%x: memref<8x8xf32>, %first: index, %end: index) {results = 1 : i64, tiles = 1 : i64} {
}
// CHECK: expected 1-d memrefs as arguments of a kernel, found memref<8x8xf32>

// -----

cpu.kernel @k(%x: memref<64xf32>, %first: index) {results = 1 : i64, tiles = 1 : i64} {
}
// CHECK: expected the first tile and the end of the range as the last two arguments

// -----

cpu.kernel @k(%x: memref<64xf32>, %first: index, %end: index) {results = 2 : i64, tiles = 1 : i64} {
}
// CHECK: expected at most 1 results, found 2

// -----

cpu.kernel @k(%a: memref<64xf32>, %b: memref<64xf64>, %c: memref<64xf32>, %first: index, %end: index) {results = 1 : i64, tiles = 1 : i64} {
  %c8 = arith.constant 8 : index
  cpu.gemm %a[%c8], %b[%c8] -> %c sizes %c8, %c8, %c8 {lhs_stride = 8, lhs_transposed = false, rhs_stride = 8, rhs_transposed = false, width = 8} : memref<64xf32>, memref<64xf64> -> memref<64xf32>
}
// CHECK: expected three of f32 or of f64, or bf16, bf16 and f32, found f32, f64, f32

// -----

cpu.kernel @k(%a: memref<64xf32>, %c: memref<64xf64>, %first: index, %end: index) {results = 1 : i64, tiles = 1 : i64} {
  %c8 = arith.constant 8 : index
  cpu.transpose %a[%c8] -> %c[%c8] sizes %c8, %c8 {pitch = 8, width = 8} : memref<64xf32> -> memref<64xf64>
}
// CHECK: expected elements of f32, found f64
