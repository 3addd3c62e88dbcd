// RUN: irc-opt %s -p assign-layouts | filecheck %s

// Steps of 32 elements along K in four parts, one for each warp: the instruction is of 8 elements, not of 16.
// CHECK-LABEL: @four_parts
// CHECK:         tile.dot {{.*}} {parts = 4 : i64, instruction = "mma", atom = "m16n8k8_b16"}
// CHECK-LABEL: @two_parts
// CHECK:         tile.dot {{.*}} {parts = 2 : i64, instruction = "mma", atom = "m16n8k16"}
tile.program @four_parts(%x: !tile.view<32x32xbf16>, %w: !tile.view<32x32xbf16>, %y: !tile.view<32x32xf32>) {results = 1 : i64, config = #kernel.config<warps = 4, warp_grid = [1, 1, 4], instruction = "mma">} {
  tile.for_tiles (%i) extents [32] steps [32] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %blank = tile.splat %zero : f32 -> tensor<32x32xf32>
    %a = tile.load %x[%i, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
    %b = tile.load %w[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
    %a_shared = tile.alloc : !tile.buffer<32x32xbf16>
    tile.write %a, %a_shared : tensor<32x32xbf16>, !tile.buffer<32x32xbf16>
    %b_shared = tile.alloc : !tile.buffer<32x32xbf16>
    tile.write %b, %b_shared : tensor<32x32xbf16>, !tile.buffer<32x32xbf16>
    %parts = tile.dot %a_shared, %b_shared, %blank {parts = 4 : i64} : !tile.buffer<32x32xbf16>, !tile.buffer<32x32xbf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    %sum = tile.sum_warps %parts {parts = 4 : i64} : tensor<32x32xf32> -> tensor<32x32xf32>
    tile.store %sum, %y[%i, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  }
}

tile.program @two_parts(%x: !tile.view<32x32xbf16>, %w: !tile.view<32x32xbf16>, %y: !tile.view<32x32xf32>) {results = 1 : i64, config = #kernel.config<warps = 2, warp_grid = [1, 1, 2], instruction = "mma">} {
  tile.for_tiles (%i) extents [32] steps [32] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %blank = tile.splat %zero : f32 -> tensor<32x32xf32>
    %a = tile.load %x[%i, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
    %b = tile.load %w[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
    %a_shared = tile.alloc : !tile.buffer<32x32xbf16>
    tile.write %a, %a_shared : tensor<32x32xbf16>, !tile.buffer<32x32xbf16>
    %b_shared = tile.alloc : !tile.buffer<32x32xbf16>
    tile.write %b, %b_shared : tensor<32x32xbf16>, !tile.buffer<32x32xbf16>
    %parts = tile.dot %a_shared, %b_shared, %blank {parts = 2 : i64} : !tile.buffer<32x32xbf16>, !tile.buffer<32x32xbf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    %sum = tile.sum_warps %parts {parts = 2 : i64} : tensor<32x32xf32> -> tensor<32x32xf32>
    tile.store %sum, %y[%i, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  }
}
