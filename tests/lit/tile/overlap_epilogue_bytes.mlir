// RUN: irc-opt %s -p overlap-epilogue | filecheck %s

// A thread of twelve warps has 48 elements of the accumulator, which are no reason for subtiles. But all of the tile of
// f32 has 73728 bytes, for which there is no room beside a channel of 184320, in the 232448 of a block.
// CHECK-LABEL: tile.program @wide
// CHECK:         [[ACC:%[a-z0-9_]+]] = scf.for
// CHECK:         scf.for %column
// CHECK:           [[SUBTILE:%[a-z0-9_]+]] = tile.slice [[ACC]][{{%[a-z0-9_]+}}, %column] {at = array<i64: 0, 0>} : tensor<192x96xf32> -> tensor<192x32xf32>
// CHECK:           tile.store [[SUBTILE]], {{.*}} : tensor<192x32xf32>
// CHECK:         } {unroll}

// Of bf16 it has 36864 bytes, more than are kept for epilogues, too.
// CHECK-LABEL: tile.program @narrow
// CHECK:         tile.store {{.*}} : tensor<192x32xbf16>

// Left alone: a third of that.
// CHECK-LABEL: tile.program @third
// CHECK-NOT:     %column
// CHECK:         tile.store {{.*}} : tensor<64x96xbf16>
func.func @wide(%x: tensor<768x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<768x768xf32> {
  %y = kernel.launch @wide_0(%x, %w) : (tensor<768x1024xbf16>, tensor<1024x768xbf16>) -> tensor<768x768xf32>
  func.return %y : tensor<768x768xf32>
}
tile.program @wide_0(%a: !tile.view<768x1024xbf16>, %b: !tile.view<1024x768xbf16>, %y: !tile.view<768x768xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 192, n = 96, k = 64}, stages = 5, warps = 12, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [768, 768] steps [192, 96] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<192x96xf32>
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %c64 = arith.constant 64 : index
    %acc = scf.for %k = %c0 to %c1024 step %c64 iter_args(%acc_1 = %init) -> (tensor<192x96xf32>) {
      %a_tile = tile.load %a[%arg, %k] : !tile.view<768x1024xbf16> -> tensor<192x64xbf16>
      %b_tile = tile.load %b[%k, %arg_1] : !tile.view<1024x768xbf16> -> tensor<64x96xbf16>
      %sum = tile.dot %a_tile, %b_tile, %acc_1 : tensor<192x64xbf16>, tensor<64x96xbf16>, tensor<192x96xf32> -> tensor<192x96xf32>
      scf.yield %sum : tensor<192x96xf32>
    }
    tile.store %acc, %y[%arg, %arg_1] : tensor<192x96xf32>, !tile.view<768x768xf32>
  }
}
func.func @narrow(%x: tensor<768x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<768x768xbf16> {
  %y = kernel.launch @narrow_0(%x, %w) : (tensor<768x1024xbf16>, tensor<1024x768xbf16>) -> tensor<768x768xbf16>
  func.return %y : tensor<768x768xbf16>
}
tile.program @narrow_0(%a: !tile.view<768x1024xbf16>, %b: !tile.view<1024x768xbf16>, %y: !tile.view<768x768xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 192, n = 96, k = 64}, stages = 5, warps = 12, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [768, 768] steps [192, 96] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<192x96xf32>
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %c64 = arith.constant 64 : index
    %acc = scf.for %k = %c0 to %c1024 step %c64 iter_args(%acc_1 = %init) -> (tensor<192x96xf32>) {
      %a_tile = tile.load %a[%arg, %k] : !tile.view<768x1024xbf16> -> tensor<192x64xbf16>
      %b_tile = tile.load %b[%k, %arg_1] : !tile.view<1024x768xbf16> -> tensor<64x96xbf16>
      %sum = tile.dot %a_tile, %b_tile, %acc_1 : tensor<192x64xbf16>, tensor<64x96xbf16>, tensor<192x96xf32> -> tensor<192x96xf32>
      scf.yield %sum : tensor<192x96xf32>
    }
    %map = tile.map %acc : tensor<192x96xf32> -> tensor<192x96xbf16> {
    ^bb0(%a_1: f32):
      %truncf = arith.truncf %a_1 : f32 to bf16
      tile.yield %truncf : bf16
    }
    tile.store %map, %y[%arg, %arg_1] : tensor<192x96xbf16>, !tile.view<768x768xbf16>
  }
}
func.func @third(%x: tensor<768x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<768x768xbf16> {
  %y = kernel.launch @third_0(%x, %w) : (tensor<768x1024xbf16>, tensor<1024x768xbf16>) -> tensor<768x768xbf16>
  func.return %y : tensor<768x768xbf16>
}
tile.program @third_0(%a: !tile.view<768x1024xbf16>, %b: !tile.view<1024x768xbf16>, %y: !tile.view<768x768xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 96, k = 64}, stages = 5, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [768, 768] steps [64, 96] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x96xf32>
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %c64 = arith.constant 64 : index
    %acc = scf.for %k = %c0 to %c1024 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x96xf32>) {
      %a_tile = tile.load %a[%arg, %k] : !tile.view<768x1024xbf16> -> tensor<64x64xbf16>
      %b_tile = tile.load %b[%k, %arg_1] : !tile.view<1024x768xbf16> -> tensor<64x96xbf16>
      %sum = tile.dot %a_tile, %b_tile, %acc_1 : tensor<64x64xbf16>, tensor<64x96xbf16>, tensor<64x96xf32> -> tensor<64x96xf32>
      scf.yield %sum : tensor<64x96xf32>
    }
    %map = tile.map %acc : tensor<64x96xf32> -> tensor<64x96xbf16> {
    ^bb0(%a_1: f32):
      %truncf = arith.truncf %a_1 : f32 to bf16
      tile.yield %truncf : bf16
    }
    tile.store %map, %y[%arg, %arg_1] : tensor<64x96xbf16>, !tile.view<768x768xbf16>
  }
}
