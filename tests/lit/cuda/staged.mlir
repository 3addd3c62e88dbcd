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

// Bytes of rows (a, b) of 17 x 17: a run of 4 of them is two pieces at most, each at equal distances in shared memory, which are those of
// memory, 291, but for words of 16. Where all 4 are in the result they are stored together; the ends of rows are stored by threads of their own.
tile.program @bytes(%x: !tile.view<17x17x291xi8>, %y: !tile.view<291x289xi8>) {results = 1 : i64, config = #kernel.config<warps = 8>} {
  tile.for_tiles (%i, %j) extents [291, 320] steps [128, 128] {
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> ((d1 - d0 mod 32) floordiv 17, (d1 - d0 mod 32) mod 17, d0)>, checked = array<i64: 0, 2>} : !tile.view<17x17x291xi8> -> tensor<128x128xi8>
    tile.store %a, %y[%i, %j] {map = affine_map<(d0, d1) -> (d0, d1 - d0 mod 32)>, checked = array<i64: 0, 1>} : tensor<128x128xi8>, !tile.view<291x289xi8>
  }
}
// CHECK-LABEL:  cuda.kernel @bytes
// CHECK:          cuda.load {{.*}} {count = 16 : i64, cache = "read_only"}
// CHECK:          cuda.sync
// CHECK:          scf.if
// CHECK:            arith.divui
// CHECK:            [[END:%.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK:            scf.for [[N:%.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NOT:          arith.{{divui|remui}}
// CHECK:              arith.cmpi sle, %{{.*}}, [[N]] : index
// CHECK:              arith.select
// CHECK:              cuda.shared_load
// CHECK:            cuda.store {{.*}} {count = 4 : i64}
// The first 31 elements of a row of tiles can be before the rows of the result.
// CHECK:          [[BEFORE:%.*]] = arith.constant 31 : index
// CHECK-NEXT:     [[FIRST:%.*]] = arith.cmpi slt, %{{.*}}, [[BEFORE]] : index
// CHECK-NEXT:     scf.if [[FIRST]]
// CHECK:            cuda.shared_load
// CHECK:            cuda.store {{.*}} : !cuda.registers<4 x i8> -> !cuda.ptr<i8>
// CHECK:          scf.if
// CHECK:            cuda.shared_load
// CHECK:            cuda.store {{.*}} : !cuda.registers<4 x i8> -> !cuda.ptr<i8>
