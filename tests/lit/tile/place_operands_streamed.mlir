// RUN: irc-opt %s -p place-operands | filecheck %s

// TMA brings what the left operand is computed from, and the threads that multiply read it.
// CHECK-LABEL: @streamed
// CHECK:         scf.for
// CHECK:           tile.copy %x[%c0, %k] -> [[X:%[a-z0-9_]+]] {via = "tma"}
// CHECK-NEXT:      [[X1:%[a-z0-9_]+]] = tile.read [[X]]
// CHECK-NEXT:      tile.copy %s[%c0, %k] -> [[S:%[a-z0-9_]+]] {via = "tma"}
// CHECK-NEXT:      [[S1:%[a-z0-9_]+]] = tile.read [[S]]
// CHECK-NEXT:      [[A:%[a-z0-9_]+]] = tile.map [[X1]], [[S1]]
// CHECK:           tile.copy %w
// CHECK:           tile.dot [[A]], {{.*}} : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>

// Vectors along K too.
// CHECK-LABEL: @vector
// CHECK:         scf.for
// CHECK:           tile.copy %x
// CHECK:           tile.copy %v[%c0, %k] -> {{.*}} -> !tile.buffer<1x32xbf16>
// CHECK:           tile.read {{.*}} -> tensor<1x32xbf16>
// CHECK:           tile.dot {{.*}} : tensor<64x32xbf16>

// Two dots read one that is written.
// CHECK-LABEL: @shared
// CHECK:         tile.write
// CHECK-NOT:     tile.read
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x32xbf16>
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x32xbf16>

tile.program @streamed(%x: !tile.view<64x64xbf16>, %s: !tile.view<64x64xbf16>, %v: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %x1 = tile.load %x[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %s1 = tile.load %s[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %a = tile.map %x1, %s1 : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x32xbf16> {
    ^bb0(%a_1: bf16, %b: bf16):
      %extf = arith.extf %a_1 : bf16 to f32
      %maximumf = arith.maximumf %extf, %zero : f32
      %extf_1 = arith.extf %b : bf16 to f32
      %mulf = arith.mulf %maximumf, %extf_1 : f32
      %truncf = arith.truncf %mulf : f32 to bf16
      tile.yield %truncf : bf16
    }
    %b_1 = tile.load %w[%k, %c0] : !tile.view<64x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b_1, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @vector(%x: !tile.view<64x64xbf16>, %v: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %x1 = tile.load %x[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %v1 = tile.load %v[%c0, %k] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<64xbf16> -> tensor<1x32xbf16>
    %a = tile.map %x1, %v1 : tensor<64x32xbf16>, tensor<1x32xbf16> -> tensor<64x32xbf16> {
    ^bb0(%a_1: bf16, %b: bf16):
      %extf = arith.extf %a_1 : bf16 to f32
      %mulf = arith.mulf %extf, %extf : f32
      %extf_1 = arith.extf %b : bf16 to f32
      %mulf_1 = arith.mulf %mulf, %extf_1 : f32
      %truncf = arith.truncf %mulf_1 : f32 to bf16
      tile.yield %truncf : bf16
    }
    %b_1 = tile.load %w[%k, %c0] : !tile.view<64x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b_1, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @shared(%x: !tile.view<64x64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %x1 = tile.load %x[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %a = tile.map %x1 : tensor<64x32xbf16> -> tensor<64x32xbf16> {
    ^bb0(%a_1: bf16):
      %negf = arith.negf %a_1 : bf16
      tile.yield %negf : bf16
    }
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = tile.dot %a, %b, %d : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
