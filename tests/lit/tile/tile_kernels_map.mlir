// tile-kernels on maps and permutations: one load for each operand, one map for a chain, one store.
// RUN: irc-opt %s -p tile-kernels | filecheck %s

// Contiguous elementwise work is one dimension, whatever the rank; a view is a reinterpretation of the array.
// CHECK-LABEL: func.func @chain
// CHECK:         kernel.launch @chain_0(%x, %y) : (tensor<4x8x512xbf16>, tensor<4x8x512xbf16>) -> tensor<4x8x512xbf16>
// CHECK:       tile.program @chain_0(%a: !tile.view<16384xbf16>, %b: !tile.view<16384xbf16>, %r: !tile.view<16384xbf16>) {results = 1 : i64, config = #kernel.config<tile = {d = 1024}>} {
// CHECK-NEXT:    tile.for_tiles ([[I:%[0-9]+]]) extents [16384] steps [1024] {
// CHECK-NEXT:      [[A:%[0-9]+]] = tile.load %a{{\[}}[[I]]] : !tile.view<16384xbf16> -> tensor<1024xbf16>
// CHECK-NEXT:      [[B:%[0-9]+]] = tile.load %b
// CHECK-NEXT:      [[R:%[0-9]+]] = tile.map [[A]], [[B]]
// CHECK-NEXT:      ^bb0
// CHECK-NEXT:        arith.extf
// CHECK-NEXT:        arith.extf
// CHECK-NEXT:        arith.addf
// CHECK-NEXT:        math.exp
// CHECK-NEXT:        arith.truncf
// CHECK-NEXT:        tile.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      tile.store [[R]], %r{{\[}}[[I]]]
// CHECK-NOT:     tile.load
func.func @chain(%x: tensor<4x8x512xbf16>, %y: tensor<4x8x512xbf16>) -> tensor<4x8x512xbf16> {
  %r = kernel.fused @chain_0 map config<tile = {d = 1024}> (%a = %x : tensor<4x8x512xbf16>, %b = %y : tensor<4x8x512xbf16>) -> tensor<4x8x512xbf16> {
    %c = nd.cast %a : tensor<4x8x512xbf16> -> tensor<4x8x512xf32>
    %d = nd.cast %b : tensor<4x8x512xbf16> -> tensor<4x8x512xf32>
    %s = nd.add %c, %d : tensor<4x8x512xf32>
    %e = nd.exp %s : tensor<4x8x512xf32>
    %f = nd.cast %e : tensor<4x8x512xf32> -> tensor<4x8x512xbf16>
    kernel.yield %f : tensor<4x8x512xbf16>
  }
  func.return %r : tensor<4x8x512xbf16>
}

// A bias keeps its dimension apart; the others merge. Extents that tiles do not divide are checked.
// CHECK-LABEL: tile.program @bias_0(%a: !tile.view<60x300xf32>, %b: !tile.view<300xf32>
// CHECK:         tile.for_tiles ([[I:%[0-9]+]], [[J:%[0-9]+]]) extents [60, 300] steps [{{[0-9]+}}, [[N:[0-9]+]]]
// CHECK:           tile.load %a{{\[}}[[I]], [[J]]] {checked = array<i64: 0, 1>}
// CHECK:           tile.load %b{{\[}}[[I]], [[J]]] {map = affine_map<(d0, d1) -> (d1)>, checked = array<i64: 0>} : !tile.view<300xf32> -> tensor<1x[[N]]xf32>
func.func @bias(%x: tensor<4x15x300xf32>, %y: tensor<300xf32>) -> tensor<4x15x300xf32> {
  %r = kernel.fused @bias_0 map (%a = %x : tensor<4x15x300xf32>, %b = %y : tensor<300xf32>) -> tensor<4x15x300xf32> {
    %c = nd.broadcast %b {dims = [2]} : tensor<300xf32> -> tensor<4x15x300xf32>
    %s = nd.add %a, %c : tensor<4x15x300xf32>
    kernel.yield %s : tensor<4x15x300xf32>
  }
  func.return %r : tensor<4x15x300xf32>
}

// A permutation is tiled in both contiguous dimensions, in the order of the result; the batch enters the accesses as a symbol. The result's view has the strides.
// CHECK-LABEL: tile.program @permute_0(%a: !tile.view<8x256x128xbf16>, %r: !tile.view<8x256x128xbf16, strides [32768, 1, 256]>)
// CHECK-NEXT:    tile.for_tiles ([[B:%[0-9]+]], [[I:%[0-9]+]], [[J:%[0-9]+]]) extents [8, 128, 256] steps [1, 64, 64] {
// CHECK-NEXT:      [[T:%[0-9]+]] = tile.load %a{{\[}}[[I]], [[J]]] symbols([[B]] : index) {map = affine_map<(d0, d1)[s0] -> (s0, d1, d0)>}
// CHECK-NEXT:      tile.store [[T]], %r{{\[}}[[I]], [[J]]] symbols([[B]] : index)
func.func @permute(%x: tensor<8x256x128xbf16>) -> tensor<8x128x256xbf16> {
  %r = kernel.fused @permute_0 permute (%a = %x : tensor<8x256x128xbf16>) -> tensor<8x128x256xbf16> {
    %p = nd.permute %a {permutation = [0, 2, 1]} : tensor<8x256x128xbf16> -> tensor<8x128x256xbf16>
    kernel.yield %p : tensor<8x128x256xbf16>
  }
  func.return %r : tensor<8x128x256xbf16>
}

// Short dimensions are tiled together: 12 and 5 of 19 make rows of 60 in the operand. Rows of 187 bytes of the result begin anywhere in a sector of 32: tiles begin where sectors do, 27 bytes on for each of the 19 and 1 for each of the 12.
// CHECK-LABEL: tile.program @short_0(%a: !tile.view<187x228xi8>, %r: !tile.view<12x19x187xi8>)
// CHECK-NEXT:    tile.for_tiles ([[I:%[0-9]+]], [[P:%[0-9]+]], [[J:%[0-9]+]]) extents [60, 4, 218] steps [64, 1, 64] {
// CHECK-NEXT:      tile.load %a{{\[}}[[I]], [[J]]] symbols([[P]] : index) {map = affine_map<(d0, d1)[s0] -> (((((((s0 * 7) + d0) + ((d0 floordiv 12) * 15)) mod 32) * -1) + d1), ((s0 * 60) + d0))>, checked = array<i64: 0, 1>}
// CHECK-NEXT:      tile.store %{{[0-9]+}}, %r{{\[}}[[I]], [[J]]] symbols([[P]] : index) {map = affine_map<(d0, d1)[s0] -> ((d0 mod 12), ((s0 * 5) + (d0 floordiv 12)), ((((((s0 * 7) + d0) + ((d0 floordiv 12) * 15)) mod 32) * -1) + d1))>, checked = array<i64: 1, 2>}
func.func @short(%x: tensor<17x11x19x12xi8>) -> tensor<12x19x17x11xi8> {
  %r = kernel.fused @short_0 permute config<tile = {result = 64, operand = 64}> (%a = %x : tensor<17x11x19x12xi8>) -> tensor<12x19x17x11xi8> {
    %p = nd.permute %a {permutation = [3, 2, 0, 1]} : tensor<17x11x19x12xi8> -> tensor<12x19x17x11xi8>
    kernel.yield %p : tensor<12x19x17x11xi8>
  }
  func.return %r : tensor<12x19x17x11xi8>
}

// Rows of 523 share sectors between neighboring tiles of the operand. A line of 4145 tiles along the result would leave the L2 before these come: so the 9 along
// the operand are the last dimension, which the grid numbers first.
// CHECK-LABEL: tile.program @strip_0
// CHECK-NEXT:    tile.for_tiles ({{.*}}) extents [265196, 523] steps [64, 64] {
func.func @strip(%x: tensor<265189x523xf32>) -> tensor<523x265189xf32> {
  %r = kernel.fused @strip_0 permute config<tile = {result = 64, operand = 64}> (%a = %x : tensor<265189x523xf32>) -> tensor<523x265189xf32> {
    %p = nd.permute %a {permutation = [1, 0]} : tensor<265189x523xf32> -> tensor<523x265189xf32>
    kernel.yield %p : tensor<523x265189xf32>
  }
  func.return %r : tensor<523x265189xf32>
}

// A line of 313 stays in it.
// CHECK-LABEL: tile.program @line_0
// CHECK-NEXT:    tile.for_tiles ({{.*}}) extents [523, 20016] steps [64, 64] {
func.func @line(%x: tensor<20009x523xf32>) -> tensor<523x20009xf32> {
  %r = kernel.fused @line_0 permute config<tile = {result = 64, operand = 64}> (%a = %x : tensor<20009x523xf32>) -> tensor<523x20009xf32> {
    %p = nd.permute %a {permutation = [1, 0]} : tensor<20009x523xf32> -> tensor<523x20009xf32>
    kernel.yield %p : tensor<523x20009xf32>
  }
  func.return %r : tensor<523x20009xf32>
}

// A gather: the clamped indices are a symbol of the load.
// CHECK-LABEL: tile.program @take_0
// CHECK:         [[I:%[0-9]+]] = tile.load %i
// CHECK-NEXT:    [[K:%[0-9]+]] = tile.map [[I]] : tensor<[[N:[0-9]+]]x1xi32> -> tensor<[[N]]x1xindex>
// CHECK:           arith.maxsi
// CHECK:           arith.minsi
// CHECK:         tile.load %a[%{{[0-9]+}}, %{{[0-9]+}}] symbols([[K]] : tensor<[[N]]x1xindex>) {map = affine_map<(d0, d1)[s0] -> (s0, d1)>
func.func @take(%x: tensor<50x64xf32>, %j: tensor<32xi32>) -> tensor<32x64xf32> {
  %r = kernel.fused @take_0 map (%a = %x : tensor<50x64xf32>, %i = %j : tensor<32xi32>) -> tensor<32x64xf32> {
    %t = nd.take %a, %i {axis = 0} : (tensor<50x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
    kernel.yield %t : tensor<32x64xf32>
  }
  func.return %r : tensor<32x64xf32>
}

// Left alone: functions without kernels, and views of whole arrays between kernels.
// CHECK-LABEL: func.func @untouched
// CHECK-NEXT:    nd.reshape %x
// CHECK-NEXT:    func.return
// CHECK-NOT:   tile.program
func.func @untouched(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  %r = nd.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
  func.return %r : tensor<24xf32>
}

// A check holds where the array has an element alone: the last tile goes beyond it.
// CHECK-LABEL: tile.program @checked_0
// CHECK:         [[I:%[0-9]+]] = tile.iota
// CHECK:         tile.map {{.*}}, [[I]]
// CHECK:           [[IN:%[0-9]+]] = arith.select
// CHECK:           [[HOLDS:%[0-9]+]] = arith.cmpi ult, [[IN]]
// CHECK-NEXT:      scalar.check_index [[IN]], [[HOLDS]] 0 to 50 : i32
func.func @checked(%x: tensor<50x64xf32>, %j: tensor<31xi32>) -> tensor<31x64xf32> {
  %r = kernel.fused @checked_0 map (%a = %x : tensor<50x64xf32>, %i = %j : tensor<31xi32>) -> tensor<31x64xf32> {
    %k = nd.check_indices %i {low = 0, high = 50} : tensor<31xi32>
    %t = nd.take %a, %k {axis = 0} : (tensor<50x64xf32>, tensor<31xi32>) -> tensor<31x64xf32>
    kernel.yield %t : tensor<31x64xf32>
  }
  func.return %r : tensor<31x64xf32>
}

// The only row is read without the index, which is checked all the same.
// CHECK-LABEL: tile.program @only_0
// CHECK:         [[ROW:%[0-9]+]] = tile.load %a[{{.*}}] {map = affine_map<(d0, d1) -> (d1)>}
// CHECK:           scalar.check_index {{.*}} 0 to 1 : i32
// CHECK:         tile.map [[ROW]], {{%[0-9]+}}
func.func @only(%x: tensor<1x64xf32>, %j: tensor<31xi32>) -> tensor<31x64xf32> {
  %r = kernel.fused @only_0 map (%a = %x : tensor<1x64xf32>, %i = %j : tensor<31xi32>) -> tensor<31x64xf32> {
    %k = nd.check_indices %i {low = 0, high = 1} : tensor<31xi32>
    %t = nd.take %a, %k {axis = 0} : (tensor<1x64xf32>, tensor<31xi32>) -> tensor<31x64xf32>
    kernel.yield %t : tensor<31x64xf32>
  }
  func.return %r : tensor<31x64xf32>
}

// A dimension of which one element fits, 3, takes no place in a tile: the next one out fills it.
// CHECK-LABEL: tile.program @joined_0
// CHECK:         tile.for_tiles {{.*}} extents [16, 1024, 3, 12, 64] steps [1, 32, 1, 4, 64] {
func.func @joined(%q: tensor<1x16x12x1024x64xbf16>, %k: tensor<2x16x12x1024x64xbf16>) -> tensor<16x1024x3x12x64xbf16> {
  %r = kernel.fused @joined_0 permute config<tile = {result = 64, operand = 128}> (%a = %q : tensor<1x16x12x1024x64xbf16>, %b = %k : tensor<2x16x12x1024x64xbf16>) -> tensor<16x1024x3x12x64xbf16> {
    %j = nd.concat %a, %b {axis = 0} : (tensor<1x16x12x1024x64xbf16>, tensor<2x16x12x1024x64xbf16>) -> tensor<3x16x12x1024x64xbf16>
    %p = nd.permute %j {permutation = [1, 3, 0, 2, 4]} : tensor<3x16x12x1024x64xbf16> -> tensor<16x1024x3x12x64xbf16>
    kernel.yield %p : tensor<16x1024x3x12x64xbf16>
  }
  func.return %r : tensor<16x1024x3x12x64xbf16>
}
