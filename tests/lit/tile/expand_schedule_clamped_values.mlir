// RUN: irc-opt %s -p expand-schedule --arch sm_80 | filecheck %s

// The bounds of the loop depend on the tile, which may have no step at all: the loop, and what is filled ahead of it, are
// in a branch that runs where it has one. Bounds may be negative.
// CHECK:       tile.for_tiles
// CHECK:         [[RUNS:%[a-z0-9_]+]] = arith.cmpi slt, %c0, %end : index
// CHECK-NEXT:    [[SUM:%sum[_0-9]*]] = scf.if [[RUNS]]
// CHECK:           tile.acquire
// CHECK:           tile.load %w
// CHECK:           tile.commit
// CHECK:           scf.for %k = %c0 to %end
// CHECK:             arith.cmpi slt, {{%[a-z0-9_]+}}, %end : index
// CHECK-NOT:         scf.if
// CHECK:             tile.load %w
// CHECK:             tile.dot
// CHECK:           tile.skip
// CHECK:           scf.yield
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %z
// CHECK:         tile.convert [[SUM]]

#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(1,32) swizzle(3,2,4)>
#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((64,2),(16)):((32,1),(2))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @staged(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x63xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "mma">} {
  %channel = tile.channel {stages = 2 : i64, in_step} : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  tile.for_tiles (%i) extents [4] steps [1] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 32 : index
    %end = arith.muli %i, %ck : index
    %zero = arith.constant 0.000000e+00 : f32
    %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
    %sum = scf.for %k = %c0 to %end step %ck iter_args(%acc = %z) -> (tensor<64x64xf32, #frag>) {
      %slot, %a, %b = tile.acquire %channel {scheduled = #tile.at<stage = 0, order = 2>} : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
      %b_1 = tile.load %w[%k, %c0] {scheduled = #tile.at<stage = 0, order = 3>, checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16, #frag1>
      tile.copy %x[%c0, %k] -> %a {scheduled = #tile.at<stage = 0, order = 4>, via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
      tile.write %b_1, %b {scheduled = #tile.at<stage = 0, order = 6>} : tensor<32x64xbf16, #frag1>, !tile.buffer<32x64xbf16, #shared1>
      tile.commit %slot {scheduled = #tile.at<stage = 0, order = 7>}
      %slot_1, %a_1, %b_2 = tile.wait %channel {scheduled = #tile.at<stage = 1, order = 0>} : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
      %next = tile.dot %a_1, %b_2, %acc {scheduled = #tile.at<stage = 1, order = 5>, instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      tile.release %slot_1 {scheduled = #tile.at<stage = 2, order = 1>}
      scf.yield %next : tensor<64x64xf32, #frag>
    } {clamped}
    %convert = tile.convert %sum {through = #shared2} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
    tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
  }
}
