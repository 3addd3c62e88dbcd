// tile-kernels: what a tile that reaches over the end of the domain stores there is outside the view of the result.
// RUN: irc-opt %s -p tile-kernels | filecheck %s

// Dimensions of extent 1 between two others do not make them one. The result is one row; the coordinates of its end say what is outside.
// CHECK-LABEL: tile.program @ones_0(%a: !tile.view<5x7xf32>, %r: !tile.view<35xf32>)
// CHECK-NEXT:    tile.for_tiles ([[I:%[0-9]+]]) extents [35] steps [64] {
// CHECK-NEXT:      tile.load %a{{\[}}[[I]]] {map = affine_map<(d0) -> ((d0 mod 5), (d0 floordiv 5))>, checked = array<i64: 1>}
// CHECK-NEXT:      tile.store %{{[0-9]+}}, %r{{\[}}[[I]]] {checked = array<i64: 0>}
func.func @ones(%x: tensor<1x5x1x7xf32>) -> tensor<7x1x5x1xf32> {
  %r = kernel.fused @ones_0 permute (%a = %x : tensor<1x5x1x7xf32>) -> tensor<7x1x5x1xf32> {
    %p = nd.permute %a {permutation = [3, 0, 1, 2]} : tensor<1x5x1x7xf32> -> tensor<7x1x5x1xf32>
    kernel.yield %p : tensor<7x1x5x1xf32>
  }
  func.return %r : tensor<7x1x5x1xf32>
}

// Two halves of 66: the 96 elements of three tiles of the first must not reach into the second.
// CHECK-LABEL: tile.program @halves_0(%a: !tile.view<66xf32>, %r: !tile.view<2x66xf32>)
// CHECK-NEXT:    tile.for_tiles ([[I:%[0-9]+]], [[J:%[0-9]+]]) extents [2, 66] steps [2, 32] {
// CHECK:           tile.store %{{[0-9]+}}, %r{{\[}}[[I]], [[J]]] {checked = array<i64: 1>}
func.func @halves(%x: tensor<33x2xf32>) -> tensor<66x2xf32> {
  %r = kernel.fused @halves_0 map config<tile = {d = 128}> (%a = %x : tensor<33x2xf32>) -> tensor<66x2xf32> {
    %b = nd.broadcast %a {dims = [1, 2]} : tensor<33x2xf32> -> tensor<2x33x2xf32>
    %s = nd.reshape %b : tensor<2x33x2xf32> -> tensor<66x2xf32>
    %f = nd.flip %s {axes = [0, 1]} : tensor<66x2xf32>
    kernel.yield %f : tensor<66x2xf32>
  }
  func.return %r : tensor<66x2xf32>
}

// (x mod 5) * 3 + x floordiv 5 would be one division less, and 3 for x = 15.
// CHECK-LABEL: tile.program @outer_0
// CHECK-SAME:    %s: !tile.view<5x5x3x3xf16>)
// CHECK:         tile.for_tiles {{.*}} extents [15, 15] steps [16, 16]
// CHECK:         tile.store {{.*}}(d1 mod 5), (d0 mod 5), (d0 floordiv 5), (d1 floordiv 5))>, checked = array<i64: 2, 3>} : tensor<16x16xf16>
func.func @outer(%x: tensor<3x5xf32>) -> (tensor<5x5x3x3xf32>, tensor<5x5x3x3xf16>) {
  %r, %s = kernel.fused @outer_0 matmul (%a = %x : tensor<3x5xf32>) -> (tensor<5x5x3x3xf32>, tensor<5x5x3x3xf16>) {
    %b = nd.reshape %a : tensor<3x5xf32> -> tensor<3x1x5xf32>
    %d = nd.matmul %b, %b {lhs_contract = [1], rhs_contract = [1]} : tensor<3x1x5xf32> -> tensor<3x5x3x5xf32>
    %p = nd.permute %d {permutation = [3, 1, 0, 2]} : tensor<3x5x3x5xf32> -> tensor<5x5x3x3xf32>
    %h = nd.cast %p : tensor<5x5x3x3xf32> -> tensor<5x5x3x3xf16>
    kernel.yield %p, %h : tensor<5x5x3x3xf32>, tensor<5x5x3x3xf16>
  }
  func.return %r, %s : tensor<5x5x3x3xf32>, tensor<5x5x3x3xf16>
}

// A scan over one element is that element.
// CHECK-LABEL: tile.program @one_0
// CHECK-NOT:     tile.scan
func.func @one(%x: tensor<9x1xf32>) -> tensor<9x1xf32> {
  %r = kernel.fused @one_0 map (%a = %x : tensor<9x1xf32>) -> tensor<9x1xf32> {
    %s = nd.cumsum %a {axis = 1} : tensor<9x1xf32>
    kernel.yield %s : tensor<9x1xf32>
  }
  func.return %r : tensor<9x1xf32>
}
