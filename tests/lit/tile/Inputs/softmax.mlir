tile.program @softmax(%x: !tile.view<100x1000xf32>, %y: !tile.view<100x1000xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [100] steps [1] {
    %c0 = arith.constant 0 : index
    %lo = arith.constant 0xFF800000 : f32
    %a = tile.load %x[%i, %c0] other %lo : f32 {checked = array<i64: 1>} : !tile.view<100x1000xf32> -> tensor<1x1024xf32>
    %m = tile.reduce %a {axes = array<i64: 1>} : tensor<1x1024xf32> -> tensor<1x1xf32> {
    ^bb0(%0: f32, %1: f32):
      %2 = arith.maximumf %0, %1 : f32
      tile.yield %2 : f32
    }
    %e = tile.map %a, %m : tensor<1x1024xf32>, tensor<1x1xf32> -> tensor<1x1024xf32> {
    ^bb0(%0: f32, %1: f32):
      %2 = arith.subf %0, %1 : f32
      %3 = math.exp %2 : f32
      tile.yield %3 : f32
    }
    %s = tile.reduce %e {axes = array<i64: 1>} : tensor<1x1024xf32> -> tensor<1x1xf32> {
    ^bb0(%0: f32, %1: f32):
      %2 = arith.addf %0, %1 : f32
      tile.yield %2 : f32
    }
    %r = tile.map %e, %s : tensor<1x1024xf32>, tensor<1x1xf32> -> tensor<1x1024xf32> {
    ^bb0(%0: f32, %1: f32):
      %2 = arith.divf %0, %1 : f32
      tile.yield %2 : f32
    }
    tile.store %r, %y[%i, %c0] {checked = array<i64: 1>} : tensor<1x1024xf32>, !tile.view<100x1000xf32>
  }
}
