// RUN: irc-opt %s -p lower-to-cuda | filecheck %s
// RUN: irc-opt %s -p lower-to-cuda -t cuda | filecheck %s --check-prefix=PRINTED

// Part 1 of 3 waits for the semaphore of its tile, adds, and counts it on to the next; the last would count it back to the first.
// CHECK-LABEL: cuda.kernel @parts
// CHECK:         cuda.sync
// CHECK:         [[FIRST:%.*]] = arith.cmpi eq, %thread, %{{.*}} : index
// CHECK-NEXT:    scf.if [[FIRST]] {
// CHECK:           cuda.await %{{.*}}[[[WORD:%.*]]], %{{.*}} : !cuda.ptr<i32>
// CHECK:         cuda.sync
// CHECK:         cuda.atomic "add" %{{.*}} : !cuda.ptr<f32>
// CHECK:         cuda.sync
// CHECK-NEXT:    scf.if [[FIRST]] {
// CHECK-NEXT:      cuda.fence "device"
// CHECK:         [[LAST:%.*]] = arith.cmpi eq
// CHECK:         arith.select [[LAST]]
// CHECK:         cuda.atomic "add" %{{.*}}[[[WORD]]] : !cuda.ptr<i32>
// CHECK-NOT:     cuda.atomic

// PRINTED: ld.acquire.gpu.global.s32
// PRINTED: await_word(
// PRINTED: __threadfence();
#frag = #tile.fragment<((32,4),(4,4)):((4,512),(1,128))>
tile.program @parts(%x: !tile.view<128x64xf32>, %y: !tile.view<128x64xf32>, %semaphores: !tile.view<16x8xi32>) {results = 2 : i64, sums = array<i64: 1, 2>, threads = 128 : i64, shared = 0 : i64, grid = 4 : i64, config = #kernel.config<warps = 4>} {
  %part = cuda.block_id
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<128x64xf32> -> tensor<128x16xf32, #frag>
  tile.store %a, %y[%c0, %c0] part %part in %semaphores : !tile.view<16x8xi32> {add, of_parts = 3 : i64} : tensor<128x16xf32, #frag>, !tile.view<128x64xf32>
}
