// RUN: not irc-opt %s -p lower-to-cuda 2>&1 | filecheck %s

// CHECK: requires that every tile and every shared buffer has a layout: found 'tile.load'
// CHECK: run assign-layouts first

tile.program @softmax(%x: !tile.view<100x1000xf32>, %y: !tile.view<100x1000xf32>) {results = 1 : i64, grid = 100 : i64} {
  %block = cuda.block_id
  %c0 = arith.constant 0 : index
  %lo = arith.constant 0xff800000 : f32
  %a = tile.load %x[%block, %c0] other %lo : f32 {checked = array<i64: 1>} : !tile.view<100x1000xf32> -> tensor<1x1024xf32>
  %m = tile.reduce %a {axes = array<i64: 1>} : tensor<1x1024xf32> -> tensor<1x1xf32> {
  ^bb0(%x_1: f32, %y_1: f32):
    %maximumf = arith.maximumf %x_1, %y_1 : f32
    tile.yield %maximumf : f32
  }
  %e = tile.map %a, %m : tensor<1x1024xf32>, tensor<1x1xf32> -> tensor<1x1024xf32> {
  ^bb0(%a_1: f32, %b: f32):
    %subf = arith.subf %a_1, %b : f32
    %exp = math.exp %subf : f32
    tile.yield %exp : f32
  }
  %s = tile.reduce %e {axes = array<i64: 1>} : tensor<1x1024xf32> -> tensor<1x1xf32> {
  ^bb0(%x_2: f32, %y_2: f32):
    %addf = arith.addf %x_2, %y_2 : f32
    tile.yield %addf : f32
  }
  %r = tile.map %e, %s : tensor<1x1024xf32>, tensor<1x1xf32> -> tensor<1x1024xf32> {
  ^bb0(%a_2: f32, %b_1: f32):
    %divf = arith.divf %a_2, %b_1 : f32
    tile.yield %divf : f32
  }
  tile.store %r, %y[%block, %c0] {checked = array<i64: 1>} : tensor<1x1024xf32>, !tile.view<100x1000xf32>
}
