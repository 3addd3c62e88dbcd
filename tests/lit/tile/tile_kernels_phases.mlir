// tile-kernels on transposed convolutions: a tile has the places of one phase.
// RUN: irc-opt %s -p tile-kernels | filecheck %s

// Phases are batches. The loop over K goes over the taps that a phase has, one or two along each axis here, and reads no zeros
// between elements of x. The result is stored at every second place.
// CHECK-LABEL: tile.program @phases_0(%a: !tile.view<2x6x5x64xbf16>, %b: !tile.view<32x3x3x64xbf16>, %r: !tile.view<240x32xf32>)
// CHECK:         tile.for_tiles ([[H:%[0-9]+]], [[W:%[0-9]+]], [[M:%[0-9]+]], [[N:%[0-9]+]]) extents [2, 2, 60, 32] steps [1, 1, 64, 32]
// CHECK:           [[H1:%[0-9]+]] = arith.divsi
// CHECK-NEXT:      [[ROWS:%[0-9]+]] = arith.addi [[H1]]
// CHECK:           [[W1:%[0-9]+]] = arith.divsi
// CHECK-NEXT:      [[COLUMNS:%[0-9]+]] = arith.addi [[W1]]
// CHECK:           [[TAPS:%[0-9]+]] = arith.muli [[ROWS]], [[COLUMNS]]
// CHECK-NEXT:      [[END:%[0-9]+]] = arith.muli [[TAPS]]
// CHECK-NEXT:      scf.for {{.*}} to [[END]] step
// CHECK:             [[TAP:%[0-9]+]] = arith.minsi
// CHECK-NEXT:        tile.load %a{{.*}} symbols([[TAP]] : index) {map = affine_map<(d0, d1)[s0] -> ((d0 floordiv 30), (((d0 floordiv 5) mod 6) + (s0 floordiv 2)), ((s0 mod 2) + (d0 mod 5)), d1)>
// CHECK-NEXT:        tile.load %b{{.*}} symbols([[H]], [[TAP]], [[W]] : index, index, index)
// CHECK-NEXT:        tile.dot
// CHECK:           tile.store {{.*}} symbols([[H]], [[W]] : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (((((s0 * 10) + s1) + (d0 * 2)) + ((d0 floordiv 5) * 10)), d1)>
func.func @phases(%x: tensor<2x6x5x64xbf16>, %w: tensor<32x3x3x64xbf16>) -> tensor<2x12x10x32xf32> {
  %r = kernel.fused @phases_0 matmul config<tile = {m = 64, n = 32, k = 64}, stages = 3, warps = 4, instruction = "wgmma", indexing = "tma"> (%a = %x : tensor<2x6x5x64xbf16>, %b = %w : tensor<32x3x3x64xbf16>) -> tensor<2x12x10x32xf32> {
    %c = nd.conv %a, %b {strides = [1, 1], low = [1, 1], high = [2, 2], dilation = [1, 1], input_dilation = [2, 2], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<2x6x5x64xbf16>, tensor<32x3x3x64xbf16>) -> tensor<2x12x10x32xf32>
    kernel.yield %c : tensor<2x12x10x32xf32>
  }
  func.return %r : tensor<2x12x10x32xf32>
}

// Of points at strides of two one phase has a tap; others have a loop without a step.
// CHECK-LABEL: tile.program @points_0(%a: !tile.view<60x64xbf16>, %b: !tile.view<32x1x1x64xbf16>, %r: !tile.view<240x32xf32>)
// CHECK:         tile.for_tiles ([[H:%[0-9]+]], [[W:%[0-9]+]],
// CHECK:           [[Y:%[0-9]+]] = arith.minsi
// CHECK:           [[X:%[0-9]+]] = arith.minsi
// CHECK:           [[TAPS:%[0-9]+]] = arith.muli [[Y]], [[X]]
// CHECK-NEXT:      [[END:%[0-9]+]] = arith.muli [[TAPS]]
// CHECK-NEXT:      scf.for {{.*}} to [[END]] step
func.func @points(%x: tensor<2x6x5x64xbf16>, %w: tensor<32x1x1x64xbf16>) -> tensor<2x12x10x32xf32> {
  %r = kernel.fused @points_0 matmul config<tile = {m = 64, n = 32, k = 64}, stages = 3, warps = 4, instruction = "wgmma", indexing = "tma"> (%a = %x : tensor<2x6x5x64xbf16>, %b = %w : tensor<32x1x1x64xbf16>) -> tensor<2x12x10x32xf32> {
    %c = nd.conv %a, %b {strides = [1, 1], low = [0, 0], high = [1, 1], dilation = [1, 1], input_dilation = [2, 2], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<2x6x5x64xbf16>, tensor<32x1x1x64xbf16>) -> tensor<2x12x10x32xf32>
    kernel.yield %c : tensor<2x12x10x32xf32>
  }
  func.return %r : tensor<2x12x10x32xf32>
}

// Left alone: a window that moves by two over elements with zeros between them multiplies these, in a loop of a constant length.
// CHECK-LABEL: tile.program @strided_0
// CHECK:         tile.for_tiles ([[M:%[0-9]+]], [[N:%[0-9]+]]) extents [60, 32]
// CHECK:           [[END:%[0-9]+]] = arith.constant 576 : index
// CHECK:           scf.for {{.*}} to [[END]] step
func.func @strided(%x: tensor<2x6x5x64xbf16>, %w: tensor<32x3x3x64xbf16>) -> tensor<2x6x5x32xf32> {
  %r = kernel.fused @strided_0 matmul config<tile = {m = 64, n = 32, k = 64}, stages = 3, warps = 4, instruction = "mma"> (%a = %x : tensor<2x6x5x64xbf16>, %b = %w : tensor<32x3x3x64xbf16>) -> tensor<2x6x5x32xf32> {
    %c = nd.conv %a, %b {strides = [2, 2], low = [1, 1], high = [2, 2], dilation = [1, 1], input_dilation = [2, 2], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<2x6x5x64xbf16>, tensor<32x3x3x64xbf16>) -> tensor<2x6x5x32xf32>
    kernel.yield %c : tensor<2x6x5x32xf32>
  }
  func.return %r : tensor<2x6x5x32xf32>
}
