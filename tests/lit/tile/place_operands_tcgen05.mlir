// RUN: irc-opt %s --arch sm_100a -p place-operands | filecheck %s

// tcgen05 takes no operand in registers: one that is computed is written to shared memory.
// CHECK-LABEL: tile.program @f_0(
// CHECK:       %[[LEFT:.*]] = tile.alloc : !tile.buffer<128x64xbf16>
// CHECK:       %[[RIGHT:.*]] = tile.alloc : !tile.buffer<64x32xbf16>
// CHECK:       %[[LOADED:.*]] = tile.load %x
// CHECK-NEXT:  %[[MADE:.*]] = tile.map %[[LOADED]]
// CHECK:       tile.write %[[MADE]], %[[LEFT]]
// CHECK-NEXT:  tile.copy %w{{.*}} -> %[[RIGHT]] {via = "tma"}
// CHECK-NEXT:  tile.dot %[[LEFT]], %[[RIGHT]]

tile.program @f_0(%x: !tile.view<128x64xbf16>, %w: !tile.view<64x32xbf16>, %y: !tile.view<128x32xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 64}, stages = 8, warps = 4, instruction = "tcgen05">} {
  tile.for_tiles (%m, %n) extents [128, 32] steps [128, 32] schedule "persistent" group 8 {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x32xf32>
    %ck = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %acc = scf.for %k = %c0 to %ck step %ck iter_args(%before = %init) -> (tensor<128x32xf32>) {
      %x_1 = tile.load %x[%m, %k] : !tile.view<128x64xbf16> -> tensor<128x64xbf16>
      %a = tile.map %x_1 : tensor<128x64xbf16> -> tensor<128x64xbf16> {
      ^bb0(%v12: bf16):
        %v13 = arith.extf %v12 : bf16 to f32
        %v14 = arith.maximumf %v13, %zero : f32
        %v15 = arith.truncf %v14 : f32 to bf16
        tile.yield %v15 : bf16
      }
      %b = tile.load %w[%k, %n] : !tile.view<64x32xbf16> -> tensor<64x32xbf16>
      %sum = tile.dot %a, %b, %before : tensor<128x64xbf16>, tensor<64x32xbf16>, tensor<128x32xf32> -> tensor<128x32xf32>
      scf.yield %sum : tensor<128x32xf32>
    }
    %r = tile.map %acc : tensor<128x32xf32> -> tensor<128x32xbf16> {
    ^bb0(%v19: f32):
      %v20 = arith.truncf %v19 : f32 to bf16
      tile.yield %v20 : bf16
    }
    tile.store %r, %y[%m, %n] : tensor<128x32xbf16>, !tile.view<128x32xbf16>
  }
}
