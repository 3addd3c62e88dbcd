// RUN: irc-opt %s -p tile-kernels | filecheck %s

// tile-kernels on convolutions.

// One loop over K goes over the channels of one tap after the other: a step reads x at one place of the window, which leaves
// the array where the view's ends say so.
// CHECK-LABEL: tile.program @channels_0(%a: !tile.view<2x9x11x64xbf16>, %b: !tile.view<24x9x64xbf16>
// CHECK:         tile.for_tiles ([[M:%[a-z0-9_]+]], [[N:%[a-z0-9_]+]]) extents [198, 24] steps [64, 32]
// CHECK:           scf.for [[K:%[a-z0-9_]+]] = {{.*}} to [[END:%[a-z0-9_]+]] step
// CHECK-NEXT:        [[TAP:%[a-z0-9_]+]] = arith.floordivsi [[K]], [[C:%[a-z0-9_]+]] : index
// CHECK-NEXT:        [[START:%[a-z0-9_]+]] = arith.muli [[TAP]], [[C]] : index
// CHECK-NEXT:        [[AT:%[a-z0-9_]+]] = arith.subi [[K]], [[START]] : index
// CHECK-NEXT:        [[A:%[a-z0-9_]+]] = tile.load %a{{\[}}[[M]], [[AT]]] symbols([[TAP]] : index) {map = affine_map<(d0, d1)[s0] -> ((d0 floordiv 99), ((((d0 floordiv 11) mod 9) + (s0 floordiv 3)) + -1), (((s0 mod 3) + (d0 mod 11)) + -1), d1)>, checked = array<i64: 0, 1, 2>} : !tile.view<2x9x11x64xbf16> -> tensor<64x32xbf16>
// CHECK-NEXT:        [[B:%[a-z0-9_]+]] = tile.load %b{{\[}}[[AT]], [[N]]] symbols([[TAP]] : index) {map = affine_map<(d0, d1)[s0] -> (d1, s0, d0)>, checked = array<i64: 0>} : !tile.view<24x9x64xbf16> -> tensor<32x32xbf16>
// CHECK-NEXT:        tile.dot [[A]], [[B]]
// CHECK:           tile.store {{.*}} !tile.view<198x24xf32>
func.func @channels(%x: tensor<2x9x11x64xbf16>, %w: tensor<24x3x3x64xbf16>) -> tensor<2x9x11x24xf32> {
  %r = kernel.fused @channels_0 matmul config<tile = {m = 64, n = 32, k = 32}, stages = 3, warps = 4, instruction = "mma"> (%a = %x : tensor<2x9x11x64xbf16>, %b = %w : tensor<24x3x3x64xbf16>) -> tensor<2x9x11x24xf32> {
    // core
    %c = nd.conv %a, %b {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<2x9x11x64xbf16>, tensor<24x3x3x64xbf16>) -> tensor<2x9x11x24xf32>
    kernel.yield %c : tensor<2x9x11x24xf32>
  }
  func.return %r : tensor<2x9x11x24xf32>
}

// Channels that steps do not divide are one dimension with the taps; beyond the end of K, x is masked.
// CHECK-LABEL: tile.program @few_0(%a: !tile.view<2x9x11x3xbf16>, %b: !tile.view<24x27xbf16>
// CHECK:           scf.for [[K:%[a-z0-9_]+]] =
// CHECK-NEXT:        [[A:%[a-z0-9_]+]] = tile.load %a[{{.*}}, [[K]]] {map = affine_map<(d0, d1) -> ((d0 floordiv 99), ((((d0 floordiv 11) mod 9) + (d1 floordiv 9)) + -1), ((((d1 floordiv 3) mod 3) + (d0 mod 11)) + -1), (d1 mod 3))>, checked = array<i64: 0, 1, 2>}
// CHECK-NEXT:        [[I:%[a-z0-9_]+]] = tile.iota [[K]]
// CHECK-NEXT:        [[Z:%[a-z0-9_]+]] = tile.map [[A]], [[I]]
// CHECK:             arith.select
// CHECK:             [[B:%[a-z0-9_]+]] = tile.load %b{{.*}} : !tile.view<24x27xbf16>
// CHECK-NEXT:        tile.dot [[Z]], [[B]]
func.func @few(%x: tensor<2x9x11x3xbf16>, %w: tensor<24x3x3x3xbf16>) -> tensor<2x9x11x24xf32> {
  %r = kernel.fused @few_0 matmul config<tile = {m = 64, n = 32, k = 32}, warps = 4, instruction = "mma"> (%a = %x : tensor<2x9x11x3xbf16>, %b = %w : tensor<24x3x3x3xbf16>) -> tensor<2x9x11x24xf32> {
    // core
    %c = nd.conv %a, %b {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<2x9x11x3xbf16>, tensor<24x3x3x3xbf16>) -> tensor<2x9x11x24xf32>
    kernel.yield %c : tensor<2x9x11x24xf32>
  }
  func.return %r : tensor<2x9x11x24xf32>
}

// What is outside of a computed operand is 0, not what is computed of 0.
// CHECK-LABEL: tile.program @computed_0
// CHECK:             [[A:%[a-z0-9_]+]] = tile.load %a
// CHECK:             [[E:%[a-z0-9_]+]] = tile.map [[A]]
// CHECK:               math.exp
// CHECK:               arith.select
// CHECK:             tile.dot [[E]]
func.func @computed(%x: tensor<2x9x64xbf16>, %w: tensor<24x3x64xbf16>) -> tensor<2x9x24xf32> {
  %r = kernel.fused @computed_0 matmul config<tile = {m = 16, n = 32, k = 32}, warps = 1, instruction = "mma"> (%a = %x : tensor<2x9x64xbf16>, %b = %w : tensor<24x3x64xbf16>) -> tensor<2x9x24xf32> {
    // prologue
    %f = nd.cast %a : tensor<2x9x64xbf16> -> tensor<2x9x64xf32>
    %e = nd.exp %f : tensor<2x9x64xf32>
    %g = nd.cast %e : tensor<2x9x64xf32> -> tensor<2x9x64xbf16>
    // core
    %c = nd.conv %g, %b {strides = [1], low = [1], high = [1], dilation = [1], input_dilation = [1], groups = 1, x_axes = [0, 2, 1], kernel_axes = [0, 2, 1], result_axes = [0, 2, 1]} : (tensor<2x9x64xbf16>, tensor<24x3x64xbf16>) -> tensor<2x9x24xf32>
    kernel.yield %c : tensor<2x9x24xf32>
  }
  func.return %r : tensor<2x9x24xf32>
}

// Groups are walked one by one, as batches are; their channels are parts of one axis.
// CHECK-LABEL: tile.program @groups_0
// CHECK:         tile.for_tiles ([[G:%[a-z0-9_]+]], {{.*}}, {{.*}}) extents [2, 22, 24] steps [1, 16, 32]
// CHECK:             tile.load %a{{.*}} symbols({{.*}}[[G]]{{.*}}) {map = affine_map<(d0, d1)[s0, s1] -> ((d0 floordiv 11), (((d0 mod 11) + s0) + -1), ((s1 * 32) + d1))>
// CHECK:             tile.load %b{{.*}} symbols({{.*}}[[G]]{{.*}})
// CHECK:           tile.store {{.*}} symbols([[G]] : index)
func.func @groups(%x: tensor<2x11x64xbf16>, %w: tensor<48x3x32xbf16>) -> tensor<2x11x48xf32> {
  %r = kernel.fused @groups_0 matmul config<tile = {m = 16, n = 32, k = 32}, warps = 1, instruction = "mma"> (%a = %x : tensor<2x11x64xbf16>, %b = %w : tensor<48x3x32xbf16>) -> tensor<2x11x48xf32> {
    // core
    %c = nd.conv %a, %b {strides = [1], low = [1], high = [1], dilation = [1], input_dilation = [1], groups = 2, x_axes = [0, 2, 1], kernel_axes = [0, 2, 1], result_axes = [0, 2, 1]} : (tensor<2x11x64xbf16>, tensor<48x3x32xbf16>) -> tensor<2x11x48xf32>
    kernel.yield %c : tensor<2x11x48xf32>
  }
  func.return %r : tensor<2x11x48xf32>
}

// Many taps of a few channels are summed in registers: a step multiplies a row and a column of the tile, whose columns go over groups.
// CHECK-LABEL: tile.program @direct_0
// CHECK:         tile.for_tiles ([[M:%[a-z0-9_]+]], [[N:%[a-z0-9_]+]]) extents [22, 48] steps [8, 32] {
// CHECK:           scf.for [[K:%[a-z0-9_]+]] = {{.*}} iter_args([[ACC:%[a-z0-9_]+]] = {{.*}}) -> (tensor<8x32xf32>) {
// CHECK-NEXT:        [[A:%[a-z0-9_]+]] = tile.load %a{{.*}} symbols([[K]] : index) {{.*}} -> tensor<8x32xbf16>
// CHECK-NEXT:        [[B:%[a-z0-9_]+]] = tile.load %b{{.*}} symbols([[K]] : index) {{.*}} -> tensor<1x32xbf16>
// CHECK-NEXT:        tile.map [[ACC]], [[A]], [[B]] : tensor<8x32xf32>, tensor<8x32xbf16>, tensor<1x32xbf16> -> tensor<8x32xf32>
// CHECK:             arith.mulf
// CHECK-NEXT:        arith.addf
// CHECK:           } {unroll = {{[0-9]+}} : i64}
// CHECK-NOT:     tile.dot
func.func @direct(%x: tensor<2x11x48xbf16>, %w: tensor<41x2x48xbf16>) -> tensor<2x11x48xf32> {
  %r = kernel.fused @direct_0 matmul config<tile = {m = 8, n = 32, k = 1}, warps = 1, instruction = "direct"> (%a = %x : tensor<2x11x48xbf16>, %b = %w : tensor<41x2x48xbf16>) -> tensor<2x11x48xf32> {
    // core
    %c = nd.conv %a, %b {strides = [1], low = [20], high = [20], dilation = [1], input_dilation = [1], groups = 24, x_axes = [0, 2, 1], kernel_axes = [2, 1, 0], result_axes = [0, 2, 1]} : (tensor<2x11x48xbf16>, tensor<41x2x48xbf16>) -> tensor<2x11x48xf32>
    kernel.yield %c : tensor<2x11x48xf32>
  }
  func.return %r : tensor<2x11x48xf32>
}

// A thread has a sum for each of two taps of its channels. In each step it multiplies two neighbors of g by x at both
// taps, three elements of which the middle one is loaded once; four threads side by side are at neighboring images.
// CHECK-LABEL: tile.program @columns_0(%a: !tile.view<8x12x48xbf16>, %b: !tile.view<8x12x48xbf16>
// CHECK:         tile.for_tiles ([[C:%[a-z0-9_]+]]) extents [48] steps [32] {
// CHECK:           scf.for [[I:%[a-z0-9_]+]] = {{.*}} -> (tensor<4x32xf32>, tensor<4x32xf32>) {
// CHECK:             scf.for [[P:%[a-z0-9_]+]] = {{.*}} iter_args([[S:%[a-z0-9_]+]] = {{.*}}, [[T:%[a-z0-9_]+]] = {{.*}}) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
// CHECK-NEXT:          [[A:%[a-z0-9_]+]] = tile.load %a{{.*}} symbols([[I]], [[P]] : index, index) {map = affine_map<(d0, d1)[s0, s1] -> ((d0 + (s0 * 4)), ((s1 * 2) + -1), d1)>, checked = array<i64: 1, 2>}
// CHECK-NEXT:          [[G:%[a-z0-9_]+]] = tile.load %b{{.*}} {map = affine_map<(d0, d1)[s0, s1] -> ((d0 + (s0 * 4)), (s1 * 2), d1)>, checked = array<i64: 2>}
// CHECK-NEXT:          [[B:%[a-z0-9_]+]] = tile.load %a{{.*}} -> ((d0 + (s0 * 4)), (s1 * 2), d1)>
// CHECK-NEXT:          [[H:%[a-z0-9_]+]] = tile.load %b{{.*}} -> ((d0 + (s0 * 4)), ((s1 * 2) + 1), d1)>
// CHECK-NEXT:          tile.map [[S]], [[A]], [[G]], [[B]], [[H]]
// CHECK:               [[E:%[a-z0-9_]+]] = tile.load %a{{.*}} -> ((d0 + (s0 * 4)), ((s1 * 2) + 1), d1)>
// CHECK-NEXT:          tile.map [[T]], [[B]], [[G]], [[E]], [[H]]
// CHECK:           tile.reduce {{.*}} {axes = array<i64: 0>} : tensor<4x32xf32>, tensor<4x32xf32> -> tensor<1x32xf32>, tensor<1x32xf32>
// CHECK-COUNT-2:   tile.store
func.func @columns(%x: tensor<8x12x48xbf16>, %g: tensor<8x12x48xbf16>) -> tensor<1x48x2xf32> {
  %r = kernel.fused @columns_0 matmul config<tile = {m = 2, n = 32, k = 4}, unroll = 2, warps = 1, instruction = "columns"> (%a = %x : tensor<8x12x48xbf16>, %b = %g : tensor<8x12x48xbf16>) -> tensor<1x48x2xf32> {
    // core
    %c = nd.conv %a, %b {strides = [1], low = [1], high = [0], dilation = [1], input_dilation = [1], groups = 1, x_axes = [2, 0, 1], kernel_axes = [2, 0, 1], batch_groups = 48} : tensor<8x12x48xbf16> -> tensor<1x48x2xf32>
    kernel.yield %c : tensor<1x48x2xf32>
  }
  func.return %r : tensor<1x48x2xf32>
}

// A few taps of a channel in each group: a map, which loads the taps of its windows and multiplies them. x has ends where windows reach
// beyond them, and what is there is 0.
// CHECK-LABEL: tile.program @depthwise_0
// CHECK:         tile.for_tiles ([[N:%[a-z0-9_]+]], [[I:%[a-z0-9_]+]], [[C:%[a-z0-9_]+]]) extents [2, 11, 48] steps [2, 4, 16]
// CHECK:           [[A:%[a-z0-9_]+]] = tile.load %a{{\[}}[[N]], [[I]], [[C]]] {map = affine_map<(d0, d1, d2) -> (d0, (d1 + -1), d2)>, checked = array<i64: 1>}
// CHECK-NEXT:      [[W:%[a-z0-9_]+]] = tile.load %b{{\[}}[[N]], [[I]], [[C]]] {map = affine_map<(d0, d1, d2) -> (0, d2)>
// CHECK:           tile.map [[A]], [[W]]
// CHECK:             [[P:%[a-z0-9_]+]] = arith.mulf
// CHECK:             [[Q:%[a-z0-9_]+]] = arith.mulf
// CHECK:             arith.addf [[P]], [[Q]]
// CHECK-NOT:     scf.for
func.func @depthwise(%x: tensor<2x11x48xbf16>, %w: tensor<3x1x48xbf16>) -> tensor<2x11x48xf32> {
  %r = kernel.fused @depthwise_0 map config<tile = {d = 512}, warps = 1> (%a = %x : tensor<2x11x48xbf16>, %b = %w : tensor<3x1x48xbf16>) -> tensor<2x11x48xf32> {
    %c = nd.conv %a, %b {strides = [1], low = [1], high = [1], dilation = [1], input_dilation = [1], groups = 48, x_axes = [0, 2, 1], kernel_axes = [2, 1, 0], result_axes = [0, 2, 1]} : (tensor<2x11x48xbf16>, tensor<3x1x48xbf16>) -> tensor<2x11x48xf32>
    kernel.yield %c : tensor<2x11x48xf32>
  }
  func.return %r : tensor<2x11x48xf32>
}
