// RUN: irc-opt %s -p assign-layouts,plan-shared,lower-schedule,lower-to-cuda,lower-channels,allocate-scratch,insert-barriers | filecheck %s
// RUN: irc-opt %s -p assign-layouts,plan-shared,lower-schedule,lower-to-cuda,lower-channels,allocate-scratch,insert-barriers -t cuda | filecheck %s --check-prefix=PRINTED

// A tile in registers is added element by element, one in a buffer by TMA (PTX ISA, cp.reduce.async.bulk.tensor). The
// kernel says which of its operands are zero before.
// CHECK-LABEL: cuda.kernel @add(
// CHECK-SAME:      sums [1, 2]
// CHECK:         cuda.atomic "add" %{{.*}}, %y[%{{.*}}] : !cuda.ptr<f32>
// CHECK:         cuda.tma_store %{{.*}} -> %{{.*}}[%{{.*}}, %{{.*}}] {add = true} : !cuda.tensor_map<f32, [64, 64], box [64, 32], swizzle 128>
// PRINTED:       cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group
// PRINTED:       atomicAdd(
// PRINTED:       tma_store_add_2d(
tile.program @add(%x: !tile.view<256x64xf32>, %y: !tile.view<64x64xf32>, %z: !tile.view<64x64xf32>) {results = 2 : i64, sums = array<i64: 1, 2>} {
  %buffer = tile.alloc : !tile.buffer<64x64xf32>
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%i, %c0] : !tile.view<256x64xf32> -> tensor<64x64xf32>
    tile.store %t, %y[%c0, %c0] {add} : tensor<64x64xf32>, !tile.view<64x64xf32>
    tile.write %t, %buffer : tensor<64x64xf32>, !tile.buffer<64x64xf32>
    tile.store %buffer, %z[%c0, %c0] {add} : !tile.buffer<64x64xf32>, !tile.view<64x64xf32>
  }
  tile.store_wait
}
