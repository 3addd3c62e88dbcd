// RUN: irc-opt %s -p tile-arrays | filecheck %s

// A store keeps its end, along the dimension that the ended axis of the array has in the tile.
// CHECK-LABEL: @ended
// CHECK:         tile.store %{{.*}}, %y[%m, %c0] end %e {end_dim = 0 : i64} : tensor<64x64xf32>, !tile.view<128x64xf32>
tile.program @ended(%x: !tile.view<128x64xf32>, %ends: !tile.view<1xi32>, %y: !tile.view<128x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [128] steps [64] {
    %c0 = arith.constant 0 : index
    %e = tile.load_index %ends[%c0] {most = 128 : i64} : !tile.view<1xi32>
    %0 = tile.load %x[%m, %c0] : !tile.view<128x64xf32> -> tensor<64x64xf32>
    %1 = nd.exp %0 : tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %1, %y[%m, %c0] end %e {end_dim = 0 : i64} : tensor<64x64xf32>, !tile.view<128x64xf32>
  }
}
