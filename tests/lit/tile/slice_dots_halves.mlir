// RUN: irc-opt %s -p slice-dots | filecheck %s

// The dots of several stages of mma: two halves of K each, the first one of as many 32-byte panels more where K is no
// power of two.

// CHECK-LABEL: @equal
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x32xbf16>, !tile.buffer<32x64xbf16>
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x32xbf16>, !tile.buffer<32x64xbf16>
// CHECK-NOT:     tile.dot
tile.program @equal(%x: !tile.view<64x64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 2, instruction = "mma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %xt = tile.alloc : !tile.buffer<64x64xbf16>
    tile.copy %x[%i, %c0] -> %xt {via = "cp_async"} : !tile.view<64x64xbf16> -> !tile.buffer<64x64xbf16>
    %wt = tile.alloc : !tile.buffer<64x64xbf16>
    tile.copy %w[%c0, %c0] -> %wt {via = "cp_async"} : !tile.view<64x64xbf16> -> !tile.buffer<64x64xbf16>
    %s = tile.dot %xt, %wt, %s0 : !tile.buffer<64x64xbf16>, !tile.buffer<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}

// Halves multiply as the whole does.
// CHECK-LABEL: @tf32
// CHECK:         tile.dot {{.*}} {precision = "tf32"} : !tile.buffer<64x32xf32>
// CHECK:         tile.dot {{.*}} {precision = "tf32"} : !tile.buffer<64x32xf32>
tile.program @tf32(%x: !tile.view<64x64xf32>, %w: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 2, instruction = "mma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %xt = tile.alloc : !tile.buffer<64x64xf32>
    tile.copy %x[%i, %c0] -> %xt {via = "cp_async"} : !tile.view<64x64xf32> -> !tile.buffer<64x64xf32>
    %wt = tile.alloc : !tile.buffer<64x64xf32>
    tile.copy %w[%c0, %c0] -> %wt {via = "cp_async"} : !tile.view<64x64xf32> -> !tile.buffer<64x64xf32>
    %s = tile.dot %xt, %wt, %s0 {precision = "tf32"} : !tile.buffer<64x64xf32>, !tile.buffer<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}

// CHECK-LABEL: @unsigned
// CHECK:         tile.dot {{.*}} {unsigned} : !tile.buffer<64x32xi8>
// CHECK:         tile.dot {{.*}} {unsigned} : !tile.buffer<64x32xi8>
tile.program @unsigned(%x: !tile.view<64x64xi8>, %w: !tile.view<64x64xi8>, %y: !tile.view<64x64xi32>) {results = 1 : i64, config = #kernel.config<stages = 2, instruction = "mma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %s0 = tile.splat %zero : i32 -> tensor<64x64xi32>
    %xt = tile.alloc : !tile.buffer<64x64xi8>
    tile.copy %x[%i, %c0] -> %xt {via = "cp_async"} : !tile.view<64x64xi8> -> !tile.buffer<64x64xi8>
    %wt = tile.alloc : !tile.buffer<64x64xi8>
    tile.copy %w[%c0, %c0] -> %wt {via = "cp_async"} : !tile.view<64x64xi8> -> !tile.buffer<64x64xi8>
    %s = tile.dot %xt, %wt, %s0 {unsigned} : !tile.buffer<64x64xi8>, !tile.buffer<64x64xi8>, tensor<64x64xi32> -> tensor<64x64xi32>
    tile.store %s, %y[%i, %c0] : tensor<64x64xi32>, !tile.view<64x64xi32>
  }
}

// CHECK-LABEL: @unequal
// CHECK:         [[X:%[a-z0-9_]+]] = tile.subview %xt {at = array<i64: 0, 0>}
// CHECK:         [[PART:%[a-z0-9_]+]] = tile.dot [[X]], {{.*}} : !tile.buffer<64x48xbf16>, !tile.buffer<48x64xbf16>
// CHECK:         [[Y:%[a-z0-9_]+]] = tile.subview %xt {at = array<i64: 0, 48>}
// CHECK:         tile.dot [[Y]], {{.*}}, [[PART]] : !tile.buffer<64x32xbf16>, !tile.buffer<32x64xbf16>
// CHECK-NOT:     tile.dot
tile.program @unequal(%x: !tile.view<64x80xbf16>, %w: !tile.view<80x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 2, instruction = "mma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %xt = tile.alloc : !tile.buffer<64x80xbf16>
    tile.copy %x[%i, %c0] -> %xt {via = "cp_async"} : !tile.view<64x80xbf16> -> !tile.buffer<64x80xbf16>
    %wt = tile.alloc : !tile.buffer<80x64xbf16>
    tile.copy %w[%c0, %c0] -> %wt {via = "cp_async"} : !tile.view<80x64xbf16> -> !tile.buffer<80x64xbf16>
    %s = tile.dot %xt, %wt, %s0 : !tile.buffer<64x80xbf16>, !tile.buffer<80x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}

// A half would be no whole instruction.
// CHECK-LABEL: @short
// CHECK-NOT:     tile.subview
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x16xbf16>, !tile.buffer<16x64xbf16>
tile.program @short(%x: !tile.view<64x16xbf16>, %w: !tile.view<16x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 2, instruction = "mma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %xt = tile.alloc : !tile.buffer<64x16xbf16>
    tile.copy %x[%i, %c0] -> %xt {via = "cp_async"} : !tile.view<64x16xbf16> -> !tile.buffer<64x16xbf16>
    %wt = tile.alloc : !tile.buffer<16x64xbf16>
    tile.copy %w[%c0, %c0] -> %wt {via = "cp_async"} : !tile.view<16x64xbf16> -> !tile.buffer<16x64xbf16>
    %s = tile.dot %xt, %wt, %s0 : !tile.buffer<64x16xbf16>, !tile.buffer<16x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}
