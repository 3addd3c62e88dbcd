// RUN: irc-opt %s -p overlap-epilogue | filecheck %s

// What follows the last reduction has subtiles, but for what has one element for each row.
// CHECK:       [[EXP:%[a-z0-9_]+]] = tile.map {{.*}} -> tensor<64x256xf32>
// CHECK:       [[SUM:%[a-z0-9_]+]] = tile.reduce [[EXP]]
// CHECK:       tile.store [[SUM]]
// CHECK:       scf.for %column
// CHECK:         [[PART:%[a-z0-9_]+]] = tile.slice [[EXP]][{{%[a-z0-9_]+}}, %column] {at = array<i64: 0, 0>} : tensor<64x256xf32> -> tensor<64x32xf32>
// CHECK:         [[ROWS:%[a-z0-9_]+]] = tile.slice [[SUM]] {at = array<i64: 0, 0>} : tensor<64x1xf32> -> tensor<64x1xf32>
// CHECK-NEXT:    tile.map [[PART]], [[ROWS]]
// CHECK:       } {unroll}
func.func @f(%x: tensor<512x128xbf16>, %w: tensor<128x256xbf16>) -> (tensor<512x256xf32>, tensor<512xf32>) {
  %p, %t = kernel.launch @rows(%x, %w) : (tensor<512x128xbf16>, tensor<128x256xbf16>) -> (tensor<512x256xf32>, tensor<512xf32>)
  func.return %p, %t : tensor<512x256xf32>, tensor<512xf32>
}
tile.program @rows(%a: !tile.view<512x128xbf16>, %b: !tile.view<128x256xbf16>, %p: !tile.view<512x256xf32>, %t: !tile.view<512xf32>) {results = 2 : i64, config = #kernel.config<tile = {m = 64, n = 256, k = 64}, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [512, 256] steps [64, 256] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x256xf32>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %alloc = tile.alloc : !tile.buffer<64x64xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<64x256xbf16>
    %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x256xf32>) {
      tile.copy %a[%arg, %k] -> %alloc {via = "tma"} : !tile.view<512x128xbf16> -> !tile.buffer<64x64xbf16>
      tile.copy %b[%k, %arg_1] -> %alloc_1 {via = "tma"} : !tile.view<128x256xbf16> -> !tile.buffer<64x256xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x64xbf16>, !tile.buffer<64x256xbf16>, tensor<64x256xf32> -> tensor<64x256xf32>
      scf.yield %sum : tensor<64x256xf32>
    }
    %reduce = tile.reduce %acc {axes = array<i64: 1>} : tensor<64x256xf32> -> tensor<64x1xf32> {
    ^bb0(%x: f32, %y: f32):
      %maximumf = arith.maximumf %x, %y : f32
      tile.yield %maximumf : f32
    }
    %map = tile.map %acc, %reduce : tensor<64x256xf32>, tensor<64x1xf32> -> tensor<64x256xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %subf = arith.subf %a_1, %b_1 : f32
      %exp = math.exp %subf : f32
      tile.yield %exp : f32
    }
    %reduce_1 = tile.reduce %map {axes = array<i64: 1>} : tensor<64x256xf32> -> tensor<64x1xf32> {
    ^bb0(%x_1: f32, %y_1: f32):
      %addf = arith.addf %x_1, %y_1 : f32
      tile.yield %addf : f32
    }
    %map_1 = tile.map %map, %reduce_1 : tensor<64x256xf32>, tensor<64x1xf32> -> tensor<64x256xf32> {
    ^bb0(%a_2: f32, %b_2: f32):
      %divf = arith.divf %a_2, %b_2 : f32
      tile.yield %divf : f32
    }
    tile.store %map_1, %p[%arg, %arg_1] : tensor<64x256xf32>, !tile.view<512x256xf32>
    tile.store %reduce_1, %t[%arg, %arg_1] {map = affine_map<(d0, d1) -> (d0)>} : tensor<64x1xf32>, !tile.view<512xf32>
  }
}
