// RUN: irc-opt %s -p assign-layouts,plan-shared,lower-schedule,lower-to-cuda --split-input-file | filecheck %s

// Rows of 953 bytes begin anywhere in a word: words of 16 bytes are put together from two of shared memory, those that
// the tile or the view ends in are left out or stored byte by byte, and so are the ends of rows.
tile.program @odd(%x: !tile.view<953x4096xi8>, %y: !tile.view<4096x953xi8>) {results = 1 : i64, config = #kernel.config<warps = 8>} {
  tile.for_tiles (%i, %j) extents [4096, 953] steps [128, 128] {
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0>} : !tile.view<953x4096xi8> -> tensor<128x128xi8>
    tile.store %a, %y[%i, %j] {checked = array<i64: 1>} : tensor<128x128xi8>, !tile.view<4096x953xi8>
  }
}
// CHECK-LABEL:  cuda.kernel @odd
// CHECK:          cuda.sync
// CHECK:          cuda.shared_load_across
// CHECK:          cuda.shared_load {{.*}} : !cuda.registers<8 x i8>
// CHECK:          cuda.store {{.*}} {count = 16 : i64}
// CHECK:            cuda.store {{.*}} {count = 16 : i64}
// CHECK-NEXT:     } else {
// CHECK:            scf.for
// CHECK:              cuda.store {{.*}} : !cuda.registers<64 x i8> -> !cuda.ptr<i8>
// CHECK:          cuda.store {{.*}} : !cuda.registers<8 x i8> -> !cuda.ptr<i8>
// CHECK:          cuda.store {{.*}} : !cuda.registers<8 x i8> -> !cuda.ptr<i8>
// CHECK-NOT:      cuda.store

// -----

// Rows of whole words are stored from registers.
tile.program @even(%x: !tile.view<960x4096xi8>, %y: !tile.view<4096x960xi8>) {results = 1 : i64, config = #kernel.config<warps = 8>} {
  tile.for_tiles (%i, %j) extents [4096, 960] steps [128, 128] {
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0>} : !tile.view<960x4096xi8> -> tensor<128x128xi8>
    tile.store %a, %y[%i, %j] {checked = array<i64: 1>} : tensor<128x128xi8>, !tile.view<4096x960xi8>
  }
}
// CHECK-LABEL:  cuda.kernel @even
// CHECK-NOT:      cuda.shared_load_across
