// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,schedule-loops,expand-schedule | filecheck %s
// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,schedule-loops,expand-schedule,await-dots | filecheck %s --check-prefix=AWAIT
// RUN: sed 's/%n = arith.constant 256 : index/%n = arith.muli %i, %i : index/' %s | irc-opt - -p place-operands,slice-dots,assign-layouts,make-channels,specialize-warps,schedule-loops,expand-schedule,await-dots | filecheck %s --check-prefix=VALUES

// The first block's softmax stands before the loop, the last block's product with the values behind it. In the loop both
// dots are issued before the softmax, and the stage of the values belongs to the block before.
// CHECK:       } {
// CHECK:         [[S:%s]] = tile.dot
// CHECK:         %p = tile.map
// CHECK:         %a1 = tile.map %a0, %r
// CHECK:         %pb = tile.map
// CHECK:         scf.for {{.*}} iter_args(%l = %l1, %m = %m1, [[P:%pb[_0-9]*]] = %pb, [[A:%a1[_0-9]*]] = %a1)
// CHECK-NOT:       scheduled = #tile.at
// CHECK:           [[SK:%slot[_0-9]*]], {{.*}} = tile.wait
// CHECK-NEXT:      [[S1:%s[_0-9]*]] = tile.dot
// CHECK-NEXT:      [[SV:%slot[_0-9]*]], {{.*}} = tile.wait
// CHECK-NEXT:      [[O:%a2[_0-9]*]] = tile.dot [[P]], {{.*}}, [[A]] {instruction
// CHECK-NEXT:      tile.release [[SK]] after [[S1]]
// CHECK-NEXT:      tile.reduce [[S1]]
// CHECK:           tile.release [[SV]] after [[O]]
// CHECK-NEXT:      [[NEXT:%a1[_0-9]*]] = tile.map [[O]], {{%r[_0-9]*}}
// CHECK:           [[W:%pb[_0-9]*]] = tile.map
// CHECK:           scf.yield {{.*}}, [[W]], [[NEXT]]
// CHECK:         tile.wait
// CHECK-NEXT:    tile.dot
// CHECK-NEXT:    tile.release
// CHECK:         tile.store

// AWAIT:       scf.for %j_1
// AWAIT:         [[S:%s[_0-9]*]] = tile.dot {{.*}} -> !tile.pending
// AWAIT:         [[O:%a2[_0-9]*]] = tile.dot {{.*}} -> !tile.pending
// AWAIT-NEXT:    tile.dot_wait [[S]]
// AWAIT-NEXT:    tile.release {{%slot[_0-9]*$}}
// AWAIT:         tile.dot_wait [[O]]
// AWAIT-NEXT:    tile.release {{%slot[_0-9]*$}}
// AWAIT-NEXT:    tile.map

// With bounds that depend on the tile, both partitions compute them. The consumer's loop is in a branch, with the first
// scores and the last product with the values, and all dots are waited for in it.
// VALUES:      @load
// VALUES:        arith.muli %i, %i
// VALUES:        scf.for {{.*}} to %n
// VALUES:      @compute
// VALUES:        [[RUNS:%[0-9]+]] = arith.cmpi slt, %c0{{[_0-9]*}}, %n{{[_0-9]*}} : index
// VALUES:        [[RESULTS:%acc[_0-9]*]], [[SUMS:%sums[_0-9]*]] = scf.if [[RUNS]]
// VALUES:            tile.dot_wait
// VALUES:          scf.for
// VALUES:            scf.yield
// VALUES:          [[LAST:%a2[_0-9]*]] = tile.dot_wait
// VALUES-NEXT:     tile.release
// VALUES-NEXT:     scf.yield [[LAST]]
// VALUES:        } else {
// VALUES-NEXT:     scf.yield %a0
// VALUES:        tile.map [[RESULTS]], [[SUMS]]

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
