// RUN: irc-opt %s -p lower-schedule --split-input-file --verify-diagnostics | filecheck %s

builtin.module attributes {irc.dims = {N = array<i64: 1, 4096, 1, 4099>}} {
// Of the number of tiles a block needs no more than the columns, which are known: the host has the grid from the domain.
// CHECK-LABEL: @grid
// CHECK-SAME:    grid = 195 : i64, domains = [array<i64: 1, 0, 4099, 64, 192, 64>]
// CHECK-NOT:     tile.extent
// CHECK:         tile.load
tile.program @grid(%x: !tile.view<4099x192xf32>, %y: !tile.view<4099x192xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4099, 192] steps [64, 64] {
    %a = tile.load %x[%i, %j] {checked = array<i64: 0>} : !tile.view<4099x192xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] {checked = array<i64: 0>} : tensor<64x64xf32>, !tile.view<4099x192xf32>
  }
}

// Blocks that take tiles in turn know how many there are, and how high the last group of rows is.
// CHECK-LABEL: @persistent
// CHECK-SAME:    grid = 132 : i64, domains = [array<i64: 1, 132, 4099, 64, 4096, 64>]
// CHECK:         [[N:%[a-z0-9_]+]] = tile.extent 4099 : index
// CHECK:         [[UP:%[a-z0-9_]+]] = arith.addi [[N]]
// CHECK:         [[ROWS:%[a-z0-9_]+]] = arith.shrui [[UP]]
// CHECK:         [[TILES:%[a-z0-9_]+]] = arith.shli [[ROWS]]
// CHECK:         scf.for %tile = {{.*}} to [[TILES]]
// CHECK:           [[LEFT:%[a-z0-9_]+]] = arith.subi [[ROWS]]
// CHECK:           arith.minsi [[LEFT]]
tile.program @persistent(%x: !tile.view<4099x4096xf32>, %y: !tile.view<4099x4096xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4099, 4096] steps [64, 64] schedule "persistent" group 8 {
    %a = tile.load %x[%i, %j] {checked = array<i64: 0>} : !tile.view<4099x4096xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] {checked = array<i64: 0>} : tensor<64x64xf32>, !tile.view<4099x4096xf32>
  }
}
}

// -----

builtin.module attributes {irc.dims = {N = array<i64: 1, 4096, 1, 4099>}} {
// expected-error @+1 {{clusters cannot lie along a run-time extent}}
tile.program @cluster(%x: !tile.view<16396x128xf32>, %y: !tile.view<16396x128xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [16396, 128] steps [2, 64] schedule "persistent" cluster [2, 1] {
    %a = tile.load %x[%i, %j] : !tile.view<16396x128xf32> -> tensor<2x64xf32>
    tile.store %a, %y[%i, %j] : tensor<2x64xf32>, !tile.view<16396x128xf32>
  }
}
}
