// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,order-groups | filecheck %s
// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,order-groups{explain=true} 2>&1 | filecheck %s --check-prefix=EXPLAIN
// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,order-groups,order-groups | filecheck %s --check-prefix=TWICE
// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,order-groups,schedule-loops,expand-schedule,await-dots | filecheck %s --check-prefix=INTURN
// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,order-groups,schedule-loops | sed '/tile.pass/s/order = 3/order = 5/;/tile.dot/s/order = 5/order = 4/;/tile.wait/s/order = 4/order = 3/' | irc-opt - -p expand-schedule | filecheck %s --check-prefix=EDITED
// RUN: sed 's/, turns = true//' %s | irc-opt - -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,order-groups | filecheck %s --check-prefix=LEFT
// RUN: sed 's/warps = 8/warps = 4/;s/128/64/g' %s | irc-opt - -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,order-groups | filecheck %s --check-prefix=LEFT
// RUN: sed 's/instruction = "wgmma"/instruction = "wgmma", turns = true/' %S/Inputs/gating.mlir | irc-opt - -p merge-dots,place-operands,assign-layouts,make-channels,specialize-warps,order-groups | filecheck %s --check-prefix=LEFT

// Two warp groups of a partition take turns in issuing the product of the scores, which feeds the one with the values.
// CHECK:       @load
// CHECK-NOT:     tile.order
// CHECK:       } @compute warps 8
// CHECK:         [[ORDER:%[0-9]+]] = tile.order
// CHECK:         scf.for
// CHECK-NEXT:      tile.wait
// CHECK-NEXT:      %token = tile.take [[ORDER]]
// CHECK-NEXT:      [[S:%s]] = tile.dot
// CHECK-NEXT:      tile.pass %token
// CHECK-NOT:     tile.take
// CHECK:         tile.store

// EXPLAIN:     attention_0 @load: 1 warp group, no turns
// EXPLAIN:     attention_0 @compute: 2 warp groups issue the product at {{.*}}order_groups.mlir:{{[0-9]+}}:{{[0-9]+}} in turn

// A partition has one order.
// TWICE:       tile.order
// TWICE-NOT:   tile.order
// TWICE:       tile.take
// TWICE-NOT:   tile.take

// Wherever the product is issued, it is so in turn: before the loop and in it. That of the values of the block before is
// issued behind the turn.
// INTURN:    [[ORDER:%[0-9]+]] = tile.order
// INTURN:         [[FIRST:%token[_0-9]*]] = tile.take [[ORDER]]
// INTURN-NEXT:    %s = tile.dot
// INTURN-NEXT:    tile.pass [[FIRST]]
// INTURN-NEXT:    tile.dot_wait
// INTURN:         scf.for
// INTURN:           [[NEXT:%token[_0-9]*]] = tile.take [[ORDER]]
// INTURN-NEXT:      [[S:%s[_0-9]*]] = tile.dot
// INTURN-NEXT:      tile.pass [[NEXT]]
// INTURN-NEXT:      tile.wait
// INTURN-NEXT:      tile.dot
// INTURN-NEXT:      tile.dot_wait [[S]]
// INTURN-NOT:     tile.take
// INTURN:         tile.store

// The places of `take` and `pass` may be edited: the turn may last until the second product is issued.
// EDITED:      scf.for
// EDITED:      scf.for
// EDITED:        [[NEXT:%token[_0-9]*]] = tile.take
// EDITED-NEXT:   tile.dot
// EDITED-NEXT:   tile.wait
// EDITED-NEXT:   tile.dot
// EDITED-NEXT:   tile.pass [[NEXT]]

// Left alone: programs whose config does not ask for turns, partitions of one warp group, and loops whose dots do not
// feed each other.
// LEFT:        tile.partitions
// LEFT-NOT:    tile.order
// LEFT:        tile.store


builtin.module {
func.func @attention(%q: tensor<256x64xbf16>, %k: tensor<256x64xbf16>, %v: tensor<256x64xbf16>) -> tensor<256x64xbf16> {
%0 = kernel.launch @attention_0(%q, %k, %v) : (tensor<256x64xbf16>, tensor<256x64xbf16>, tensor<256x64xbf16>) -> tensor<256x64xbf16>
func.return %0 : tensor<256x64xbf16>
}
tile.program @attention_0(%q: !tile.view<256x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %o: !tile.view<256x64xbf16>) {results = 1 : i64, config = #kernel.config<instruction = "wgmma", warps = 8, stages = 2, turns = true>} {
tile.for_tiles (%i) extents [256] steps [128] {
%c0 = arith.constant 0 : index
%n = arith.constant 256 : index
%step = arith.constant 64 : index
%zero = arith.constant 0.000000e+00 : f32
%least = arith.constant -1.000000e+30 : f32
%a0 = tile.splat %zero : f32 -> tensor<128x64xf32>
%s0 = tile.splat %zero : f32 -> tensor<128x64xf32>
%l0 = tile.splat %zero : f32 -> tensor<128x1xf32>
%m0 = tile.splat %least : f32 -> tensor<128x1xf32>
%qt = tile.load %q[%i, %c0] : !tile.view<256x64xbf16> -> tensor<128x64xbf16>
%first = arith.constant 0 : index
%last = arith.constant 256 : index
%acc, %sums, %maxima = scf.for %j = %first to %last step %step iter_args(%a = %a0, %l = %l0, %m = %m0) -> (tensor<128x64xf32>, tensor<128x1xf32>, tensor<128x1xf32>) {
%kt = tile.load %k[%c0, %j] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<256x64xbf16> -> tensor<64x64xbf16>
%s = tile.dot %qt, %kt, %s0 : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
%most = tile.reduce %s {axes = array<i64: 1>} : tensor<128x64xf32> -> tensor<128x1xf32> {
^bb0(%x: f32, %y: f32):
%z = arith.maximumf %x, %y : f32
tile.yield %z : f32
}
%m1 = tile.map %m, %most : tensor<128x1xf32>, tensor<128x1xf32> -> tensor<128x1xf32> {
^bb0(%x0: f32, %x1: f32):
%z = arith.maximumf %x0, %x1 : f32
tile.yield %z : f32
}
%p = tile.map %s, %m1 : tensor<128x64xf32>, tensor<128x1xf32> -> tensor<128x64xf32> {
^bb0(%x0: f32, %x1: f32):
%d = arith.subf %x0, %x1 : f32
%z = math.exp %d : f32
tile.yield %z : f32
}
%sum = tile.reduce %p {axes = array<i64: 1>} : tensor<128x64xf32> -> tensor<128x1xf32> {
^bb0(%x: f32, %y: f32):
%z = arith.addf %x, %y : f32
tile.yield %z : f32
}
%r = tile.map %m, %m1 : tensor<128x1xf32>, tensor<128x1xf32> -> tensor<128x1xf32> {
^bb0(%x0: f32, %x1: f32):
%d = arith.subf %x0, %x1 : f32
%z = math.exp %d : f32
tile.yield %z : f32
}
%l1 = tile.map %l, %r, %sum : tensor<128x1xf32>, tensor<128x1xf32>, tensor<128x1xf32> -> tensor<128x1xf32> {
^bb0(%x0: f32, %x1: f32, %x2: f32):
%f = arith.mulf %x0, %x1 : f32
%z = arith.addf %f, %x2 : f32
tile.yield %z : f32
}
%a1 = tile.map %a, %r : tensor<128x64xf32>, tensor<128x1xf32> -> tensor<128x64xf32> {
^bb0(%x0: f32, %x1: f32):
%z = arith.mulf %x0, %x1 : f32
tile.yield %z : f32
}
%pb = tile.map %p : tensor<128x64xf32> -> tensor<128x64xbf16> {
^bb0(%x0: f32):
%z = arith.truncf %x0 : f32 to bf16
tile.yield %z : bf16
}
%vt = tile.load %v[%j, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16>
%a2 = tile.dot %pb, %vt, %a1 : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
scf.yield %a2, %l1, %m1 : tensor<128x64xf32>, tensor<128x1xf32>, tensor<128x1xf32>
}
%y = tile.map %acc, %sums : tensor<128x64xf32>, tensor<128x1xf32> -> tensor<128x64xbf16> {
^bb0(%x0: f32, %x1: f32):
%d = arith.divf %x0, %x1 : f32
%z = arith.truncf %d : f32 to bf16
tile.yield %z : bf16
}
tile.store %y, %o[%i, %c0] : tensor<128x64xbf16>, !tile.view<256x64xbf16>
}
}
}
