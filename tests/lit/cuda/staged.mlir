// RUN: irc-opt %s -p assign-layouts,plan-shared,lower-schedule,lower-to-cuda | filecheck %s

// Rows of 523 begin anywhere: the words of memory that hold those of a tile go to shared memory as they are (17 for a row, 67 rows for tiles
// that begin where words of the result do), and each thread takes the elements of its words from there.
tile.program @odd(%x: !tile.view<1021x523xf32>, %y: !tile.view<523x1021xf32>) {results = 1 : i64, config = #kernel.config<warps = 8>} {
  tile.for_tiles (%i, %j) extents [523, 1024] steps [64, 64] {
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1 - d0 mod 4, d0)>, checked = array<i64: 0, 1>} : !tile.view<1021x523xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] {map = affine_map<(d0, d1) -> (d0, d1 - d0 mod 4)>, checked = array<i64: 0, 1>} : tensor<64x64xf32>, !tile.view<523x1021xf32>
  }
}
// CHECK-LABEL:  cuda.kernel @odd
// CHECK:          cuda.registers : !cuda.registers<20 x f32>
// CHECK:          cuda.load {{.*}} {count = 4 : i64, cache = "read_only"}
// CHECK:          cuda.shared_store {{.*}} {count = 4 : i64}
// The last word of the view has one element, which few tiles reach.
// CHECK:          cuda.load {{.*}} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
// CHECK:          cuda.shared_store {{.*}} : !cuda.registers<1 x f32>
// CHECK:          cuda.sync
// CHECK:          cuda.shared_load {{.*}} : !cuda.registers<4 x f32>
// CHECK:          cuda.store {{.*}} {count = 4 : i64}
// CHECK-NOT:      cuda.sync
