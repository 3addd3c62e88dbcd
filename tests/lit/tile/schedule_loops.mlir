// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,schedule-loops | filecheck %s
// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,schedule-loops{explain=true} 2>&1 | filecheck %s --check-prefix=EXPLAIN
// RUN: sed 's/stages = 2/stages = 1/' %s | irc-opt - -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,schedule-loops | filecheck %s --check-prefix=ONE
// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels,specialize-warps,schedule-loops | filecheck %s --check-prefix=PLAIN
// RUN: irc-opt %S/Inputs/softmax.mlir -p assign-layouts,make-channels,schedule-loops | filecheck %s --check-prefix=ALONE

// Attention: the weights of block j + 1 are computed while the product of block j with the values is in flight. The dot
// of the scores comes first, then that of the values of the block before, the softmax behind it, and last what needs the
// sums, and the weights' registers.
// CHECK:       scf.for
// CHECK-NOT:     scheduled = #tile.at
// CHECK:         tile.commit
// CHECK:       scf.for
// CHECK:         tile.wait {{%[0-9]+}} {scheduled = #tile.at<stage = 0, order = 0>}
// CHECK:         %s = tile.dot {{.*}} {scheduled = #tile.at<stage = 0, order = 1>, instruction = "wgmma"}
// CHECK-NEXT:    tile.release {{.*}} after %s {{.*}}scheduled = #tile.at<stage = 0, order = 4>
// CHECK:         %most = tile.reduce {{.*}}scheduled = #tile.at<stage = 0, order = 5>
// CHECK:         %a1 = tile.map {{.*}}scheduled = #tile.at<stage = 0, order = 12>
// CHECK:         %pb = tile.map {{.*}}scheduled = #tile.at<stage = 0, order = 13>
// CHECK:         tile.wait {{%[0-9]+}} {scheduled = #tile.at<stage = 1, order = 2>}
// CHECK:         tile.dot {{.*}} {scheduled = #tile.at<stage = 1, order = 3>, instruction = "wgmma"}
// CHECK-NEXT:    tile.release {{.*}}scheduled = #tile.at<stage = 1, order = 11>

// EXPLAIN: attention_0: in order: 84 registers
// EXPLAIN: attention_0: overlapped: {{[0-9]+}} registers, chosen

// Channels of one stage have none to fill meanwhile: the order stays.
// ONE:         %pb = tile.map {{.*}}scheduled = #tile.at<stage = 0
// ONE:         tile.wait {{%[0-9]+}} {scheduled = #tile.at<stage = 0

// A product: its dot stays in flight, and its stage is released an iteration later.
// PLAIN:       tile.partitions
// PLAIN:       } @compute
// PLAIN:         tile.wait {{%[0-9]+}} {scheduled = #tile.at<stage = 0, order = 0>}
// PLAIN:         tile.dot {{.*}} {scheduled = #tile.at<stage = 0, order = 1>, instruction = "wgmma"}
// PLAIN-NEXT:    tile.release {{.*}}scheduled = #tile.at<stage = 1, order = 2>

// ALONE-NOT: #tile.at
// ALONE:     tile.store

builtin.module {
func.func @attention(%q: tensor<128x64xbf16>, %k: tensor<256x64xbf16>, %v: tensor<256x64xbf16>) -> tensor<128x64xbf16> {
%0 = kernel.launch @attention_0(%q, %k, %v) : (tensor<128x64xbf16>, tensor<256x64xbf16>, tensor<256x64xbf16>) -> tensor<128x64xbf16>
func.return %0 : tensor<128x64xbf16>
}
tile.program @attention_0(%q: !tile.view<128x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %o: !tile.view<128x64xbf16>) {results = 1 : i64, config = #kernel.config<instruction = "wgmma", warps = 4, stages = 2>} {
tile.for_tiles (%i) extents [128] steps [64] {
%c0 = arith.constant 0 : index
%n = arith.constant 256 : index
%step = arith.constant 64 : index
%zero = arith.constant 0.000000e+00 : f32
%least = arith.constant -1.000000e+30 : f32
%a0 = tile.splat %zero : f32 -> tensor<64x64xf32>
%s0 = tile.splat %zero : f32 -> tensor<64x64xf32>
%l0 = tile.splat %zero : f32 -> tensor<64x1xf32>
%m0 = tile.splat %least : f32 -> tensor<64x1xf32>
%qt = tile.load %q[%i, %c0] : !tile.view<128x64xbf16> -> tensor<64x64xbf16>
%acc, %sums, %maxima = scf.for %j = %c0 to %n step %step iter_args(%a = %a0, %l = %l0, %m = %m0) -> (tensor<64x64xf32>, tensor<64x1xf32>, tensor<64x1xf32>) {
%kt = tile.load %k[%c0, %j] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<256x64xbf16> -> tensor<64x64xbf16>
%s = tile.dot %qt, %kt, %s0 : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
%most = tile.reduce %s {axes = array<i64: 1>} : tensor<64x64xf32> -> tensor<64x1xf32> {
^bb0(%x: f32, %y: f32):
%z = arith.maximumf %x, %y : f32
tile.yield %z : f32
}
%m1 = tile.map %m, %most : tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x1xf32> {
^bb0(%x0: f32, %x1: f32):
%z = arith.maximumf %x0, %x1 : f32
tile.yield %z : f32
}
%p = tile.map %s, %m1 : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x64xf32> {
^bb0(%x0: f32, %x1: f32):
%d = arith.subf %x0, %x1 : f32
%z = math.exp %d : f32
tile.yield %z : f32
}
%sum = tile.reduce %p {axes = array<i64: 1>} : tensor<64x64xf32> -> tensor<64x1xf32> {
^bb0(%x: f32, %y: f32):
%z = arith.addf %x, %y : f32
tile.yield %z : f32
}
%r = tile.map %m, %m1 : tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x1xf32> {
^bb0(%x0: f32, %x1: f32):
%d = arith.subf %x0, %x1 : f32
%z = math.exp %d : f32
tile.yield %z : f32
}
%l1 = tile.map %l, %r, %sum : tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x1xf32> {
^bb0(%x0: f32, %x1: f32, %x2: f32):
%f = arith.mulf %x0, %x1 : f32
%z = arith.addf %f, %x2 : f32
tile.yield %z : f32
}
%a1 = tile.map %a, %r : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x64xf32> {
^bb0(%x0: f32, %x1: f32):
%z = arith.mulf %x0, %x1 : f32
tile.yield %z : f32
}
%pb = tile.map %p : tensor<64x64xf32> -> tensor<64x64xbf16> {
^bb0(%x0: f32):
%z = arith.truncf %x0 : f32 to bf16
tile.yield %z : bf16
}
%vt = tile.load %v[%j, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16>
%a2 = tile.dot %pb, %vt, %a1 : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
scf.yield %a2, %l1, %m1 : tensor<64x64xf32>, tensor<64x1xf32>, tensor<64x1xf32>
}
%y = tile.map %acc, %sums : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x64xbf16> {
^bb0(%x0: f32, %x1: f32):
%d = arith.divf %x0, %x1 : f32
%z = arith.truncf %d : f32 to bf16
tile.yield %z : bf16
}
tile.store %y, %o[%i, %c0] : tensor<64x64xbf16>, !tile.view<128x64xbf16>
}
}
}
