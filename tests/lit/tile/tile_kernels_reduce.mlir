// tile-kernels on reductions.
// RUN: irc-opt %s -p tile-kernels | filecheck %s

// Persistent: a row is one tile, loaded once for both phases; masked lanes hold the neutral element. The exponential, which both the
// sum and the result use, is computed once.
// CHECK-LABEL: tile.program @softmax_0
// CHECK-NEXT:    tile.for_tiles ([[I:%[0-9]+]]) extents [64] steps [2] {
// CHECK:           [[X:%[0-9]+]] = tile.load %a{{\[}}[[I]], %{{[0-9]+}}] {checked = array<i64: 1>} : !tile.view<64x1000xf32> -> tensor<2x1024xf32>
// CHECK-NEXT:      [[P:%[0-9]+]] = tile.iota
// CHECK-NEXT:      [[M:%[0-9]+]] = tile.map [[X]], [[P]]
// CHECK:             arith.constant 0xff800000 : f32
// CHECK:             arith.cmpi slt
// CHECK:             arith.select
// CHECK:           [[MAX:%[0-9]+]] = tile.reduce [[M]] {axes = array<i64: 1>} : tensor<2x1024xf32> -> tensor<2x1xf32> {
// CHECK:           [[E:%[0-9]+]] = tile.map [[X]], [[MAX]]
// CHECK:             math.exp
// CHECK:           [[F:%[0-9]+]] = tile.map [[E]], [[P]]
// CHECK:           [[SUM:%[0-9]+]] = tile.reduce [[F]]
// CHECK:           [[R:%[0-9]+]] = tile.map [[E]], [[SUM]]
// CHECK:           tile.store [[R]], %r{{\[}}[[I]], %{{[0-9]+}}] {checked = array<i64: 1>}
// CHECK-NOT:     tile.load
func.func @softmax(%x: tensor<64x1000xf32>) -> tensor<64x1000xf32> {
  %r = kernel.fused @softmax_0 reduce config<tile = {d = 2, r = 1024}, reduction = "persistent"> (%a = %x : tensor<64x1000xf32>) -> tensor<64x1000xf32> {
    %m = nd.max %a {axes = [1]} : tensor<64x1000xf32> -> tensor<64xf32>
    %mb = nd.broadcast %m {dims = [0]} : tensor<64xf32> -> tensor<64x1000xf32>
    %s = nd.sub %a, %mb : tensor<64x1000xf32>
    %e = nd.exp %s : tensor<64x1000xf32>
    %t = nd.sum %e {axes = [1]} : tensor<64x1000xf32> -> tensor<64xf32>
    %tb = nd.broadcast %t {dims = [0]} : tensor<64xf32> -> tensor<64x1000xf32>
    %d = nd.div %e, %tb : tensor<64x1000xf32>
    kernel.yield %d : tensor<64x1000xf32>
  }
  func.return %r : tensor<64x1000xf32>
}

// Looped: a loop for each phase, with an accumulator for each element of the chunk. Row values are computed once, between the loops.
// CHECK-LABEL: tile.program @norm_0
// CHECK:         [[ACC:%[0-9]+]] = scf.for %{{[0-9]+}} = %{{[0-9]+}} to %{{[0-9]+}} step %{{[0-9]+}} iter_args(%{{[0-9]+}} = %{{[0-9]+}}) -> (tensor<1x1024xf32>) {
// CHECK:           tile.load %a
// CHECK-NOT:       tile.reduce
// CHECK:           scf.yield
// CHECK:         [[SUM:%[0-9]+]] = tile.reduce [[ACC]]
// CHECK:         [[SCALE:%[0-9]+]] = tile.map [[SUM]] : tensor<1x1xf32> -> tensor<1x1xf32> {
// CHECK:           math.rsqrt
// CHECK:         scf.for
// CHECK:           tile.load %a
// CHECK:           tile.map %{{[0-9]+}}, [[SCALE]] : tensor<1x1024xf32>, tensor<1x1xf32>
// CHECK-NOT:       math.rsqrt
// CHECK:           tile.store
func.func @norm(%x: tensor<8x65536xf32>) -> tensor<8x65536xf32> {
  %r = kernel.fused @norm_0 reduce config<tile = {d = 1, r = 1024}, reduction = "looped"> (%a = %x : tensor<8x65536xf32>) -> tensor<8x65536xf32> {
    %q = nd.mul %a, %a : tensor<8x65536xf32>
    %t = nd.sum %q {axes = [1]} : tensor<8x65536xf32> -> tensor<8xf32>
    %u = nd.rsqrt %t : tensor<8xf32>
    %ub = nd.broadcast %u {dims = [0]} : tensor<8xf32> -> tensor<8x65536xf32>
    %d = nd.mul %a, %ub : tensor<8x65536xf32>
    kernel.yield %d : tensor<8x65536xf32>
  }
  func.return %r : tensor<8x65536xf32>
}

// A reduction over rows: columns are contiguous, and several are in a tile. Reductions of one array share its load.
// Indices have 32 bits until they are stored.
// CHECK-LABEL: tile.program @columns_0
// CHECK:         [[X:%[0-9]+]] = tile.load %a[%{{[0-9]+}}, %{{[0-9]+}}] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<64x4096xf32> -> tensor<64x64xf32>
// CHECK:         tile.reduce [[X]] {axes = array<i64: 1>}
// CHECK:         tile.reduce [[X]], %{{[0-9]+}} {axes = array<i64: 1>} : tensor<64x64xf32>, tensor<64x64xi32> -> tensor<64x1xf32>, tensor<64x1xi32>
// CHECK:         arith.extsi {{.*}} : i32 to i64
// CHECK-NOT:     tile.for_tiles
func.func @columns(%x: tensor<64x4096xf32>) -> (tensor<4096xf32>, tensor<4096xi64>) {
  %r, %s = kernel.fused @columns_0 reduce config<tile = {d = 64, r = 64}> (%a = %x : tensor<64x4096xf32>) -> (tensor<4096xf32>, tensor<4096xi64>) {
    %t = nd.sum %a {axes = [0]} : tensor<64x4096xf32> -> tensor<4096xf32>
    %u = nd.argmax %a {axis = 0} : tensor<64x4096xf32> -> tensor<4096xi64>
    kernel.yield %t, %u : tensor<4096xf32>, tensor<4096xi64>
  }
  func.return %r, %s : tensor<4096xf32>, tensor<4096xi64>
}

// A scan of long rows: the loop carries what went before.
// CHECK-LABEL: tile.program @scan_0
// CHECK:         scf.for %{{[0-9]+}} = %{{[0-9]+}} to %{{[0-9]+}} step %{{[0-9]+}} iter_args([[CARRY:%[0-9]+]] = %{{[0-9]+}}) -> (tensor<4x1xf32>) {
// CHECK:           [[S:%[0-9]+]] = tile.scan %{{[0-9]+}} {axis = 1 : i64}
// CHECK:           tile.map [[CARRY]], [[S]]
// CHECK:           tile.store
// CHECK:           tile.reduce
// CHECK:           scf.yield
func.func @scan(%x: tensor<8x65536xf32>) -> tensor<8x65536xf32> {
  %r = kernel.fused @scan_0 reduce config<tile = {d = 4, s = 1024}, reduction = "looped"> (%a = %x : tensor<8x65536xf32>) -> tensor<8x65536xf32> {
    %q = nd.cumsum %a {axis = 1} : tensor<8x65536xf32>
    kernel.yield %q : tensor<8x65536xf32>
  }
  func.return %r : tensor<8x65536xf32>
}

// Rows of whole lines whose ends are not read: the result is seen as the rows that are, and nothing else is stored.
// CHECK-LABEL: tile.program @longer_0
// CHECK-SAME:    !tile.view<8x65xbf16, strides [128, 1]>
// CHECK-COUNT-1: tile.store {{.*}} !tile.view<8x65xbf16, strides [128, 1]>
// CHECK-NOT:     tile.store
func.func @longer(%x: tensor<8x65xf32>) -> tensor<8x128xbf16> {
  %r = kernel.fused @longer_0 reduce config<tile = {d = 1, r = 128}> (%a = %x : tensor<8x65xf32>) -> tensor<8x128xbf16> {
    %s = nd.sum %a {axes = [1]} : tensor<8x65xf32> -> tensor<8xf32>
    %b = nd.broadcast %s {dims = [0]} : tensor<8xf32> -> tensor<8x65xf32>
    %d = nd.sub %a, %b : tensor<8x65xf32>
    %n = nd.cast %d : tensor<8x65xf32> -> tensor<8x65xbf16>
    %z = nd.constant 0.0 : tensor<bf16>
    %p = nd.pad %n, %z {low = [0, 0], high = [0, 63], nd.unread} : (tensor<8x65xbf16>, tensor<bf16>) -> tensor<8x128xbf16>
    kernel.yield %p : tensor<8x128xbf16>
  }
  func.return %r : tensor<8x128xbf16>
}
