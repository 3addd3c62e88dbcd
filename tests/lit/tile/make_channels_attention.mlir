// RUN: irc-opt %s -p place-operands,slice-dots,assign-layouts,make-channels | filecheck %s

// Attention: the queries are filled before the loop over keys and held all through it, in a channel of one stage. The
// keys and the values are read by dots of their own, so each has a channel. The weights, which are what the first dot
// gave, stay in registers.

// CHECK-DAG:   [[Q:%[0-9]+]] = tile.channel {stages = 1 : i64}
// CHECK-DAG:   [[K:%[0-9]+]] = tile.channel {stages = 2 : i64}
// CHECK-DAG:   [[V:%[0-9]+]] = tile.channel {stages = 2 : i64}
// CHECK:       [[QF:%slot[_0-9]*]], {{.*}} = tile.acquire [[Q]]
// CHECK-NEXT:  tile.copy %q
// CHECK-NEXT:  tile.commit [[QF]]
// CHECK:       [[QS:%slot[_0-9]*]], [[QB:%[a-z_0-9]+]] = tile.wait [[Q]]
// CHECK:       scf.for
// CHECK:         tile.copy %k
// CHECK:         tile.copy %v
// CHECK:         [[KS:%slot[_0-9]*]], [[KB:%[a-z_0-9]+]] = tile.wait
// CHECK-NEXT:    [[S:%[a-z_0-9]+]] = tile.dot [[QB]], [[KB]]
// CHECK-NEXT:    tile.release [[KS]] after [[S]]
// CHECK-NOT:     tile.write
// CHECK:         [[P:%pb]] = tile.map
// CHECK:         [[VS:%slot[_0-9]*]], [[VB:%[a-z_0-9]+]] = tile.wait
// CHECK-NEXT:    [[O:%[a-z_0-9]+]] = tile.dot [[P]], [[VB]]
// CHECK-NEXT:    tile.release [[VS]] after [[O]]
// CHECK-NEXT:    scf.yield [[O]]
// CHECK:       tile.release [[QS]]

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
