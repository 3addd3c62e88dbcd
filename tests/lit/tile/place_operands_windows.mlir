// place-operands on pixels of windows: TMA brings them in its im2col mode.
// RUN: irc-opt %s -p tile-kernels,place-operands | filecheck %s
// RUN: irc-opt %s -p tile-kernels,place-operands,assign-layouts | filecheck %s --check-prefix=LAYOUT

// The window's corners and steps come from the access; scalars of the loop move its pixels.
// CHECK-LABEL: tile.program @strides
// CHECK:         tile.copy %a[{{.*}}] symbols([[TAP:%[0-9]+]] : index) -> %{{.*}} {map = {{.*}}, via = #tile.im2col<dims = [0, 1, 2, 3], lower = [-1, 0], upper = [-2, -2], steps = [2, 1]>}
// CHECK-NEXT:    tile.copy %b[{{.*}}] symbols([[TAP]] : index) -> %{{.*}} via = "tma"}
// LAYOUT:        #shared = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
// LAYOUT-LABEL:  tile.program @strides
// LAYOUT:        tile.copy %a{{.*}} -> !tile.buffer<64x128xbf16, #shared>
func.func @strides(%x: tensor<4x16x16x128xbf16>, %w: tensor<64x3x3x128xbf16>) -> tensor<4x8x14x64xf32> {
  %r = kernel.fused @strides_0 matmul config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<4x16x16x128xbf16>, %b = %w : tensor<64x3x3x128xbf16>) -> tensor<4x8x14x64xf32> {
    %c = nd.conv %a, %b {strides = [2, 1], low = [1, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<4x16x16x128xbf16>, tensor<64x3x3x128xbf16>) -> tensor<4x8x14x64xf32>
    kernel.yield %c : tensor<4x8x14x64xf32>
  }
  func.return %r : tensor<4x8x14x64xf32>
}

// One image, which does not move.
// CHECK-LABEL: tile.program @image
// CHECK:         tile.copy %a{{.*}} via = #tile.im2col<dims = [0, 1, 2, 3], lower = [0, 0], upper = [-2, -2], steps = [1, 1]>}
func.func @image(%x: tensor<16x16x64xbf16>, %w: tensor<64x3x3x64xbf16>) -> tensor<1x14x14x64xf32> {
  %v = nd.reshape %x : tensor<16x16x64xbf16> -> tensor<1x16x16x64xbf16>
  %r = kernel.fused @image_0 matmul config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma"> (%a = %v : tensor<1x16x16x64xbf16>, %b = %w : tensor<64x3x3x64xbf16>) -> tensor<1x14x14x64xf32> {
    %c = nd.conv %a, %b {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<1x16x16x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<1x14x14x64xf32>
    kernel.yield %c : tensor<1x14x14x64xf32>
  }
  func.return %r : tensor<1x14x14x64xf32>
}

// No pixels of a window: steps of 9, and moves by more than 255.
// CHECK-LABEL: tile.program @steps
// CHECK-NOT:     tile.copy %a
// CHECK:         tile.write
func.func @steps(%x: tensor<2x64x64x64xbf16>, %w: tensor<64x1x1x64xbf16>) -> tensor<2x8x8x64xf32> {
  %r = kernel.fused @steps_0 matmul config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<2x64x64x64xbf16>, %b = %w : tensor<64x1x1x64xbf16>) -> tensor<2x8x8x64xf32> {
    %c = nd.conv %a, %b {strides = [9, 9], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<2x64x64x64xbf16>, tensor<64x1x1x64xbf16>) -> tensor<2x8x8x64xf32>
    kernel.yield %c : tensor<2x8x8x64xf32>
  }
  func.return %r : tensor<2x8x8x64xf32>
}

// CHECK-LABEL: tile.program @moves
// CHECK-NOT:     tile.copy %a
// CHECK:         tile.write
func.func @moves(%x: tensor<1x300x8x64xbf16>, %w: tensor<64x2x1x64xbf16>) -> tensor<1x40x8x64xf32> {
  %r = kernel.fused @moves_0 matmul config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<1x300x8x64xbf16>, %b = %w : tensor<64x2x1x64xbf16>) -> tensor<1x40x8x64xf32> {
    %c = nd.conv %a, %b {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [260, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<1x300x8x64xbf16>, tensor<64x2x1x64xbf16>) -> tensor<1x40x8x64xf32>
    kernel.yield %c : tensor<1x40x8x64xf32>
  }
  func.return %r : tensor<1x40x8x64xf32>
}

// Images that are innermost in the result: a window moves over them too.
// CHECK-LABEL: tile.program @images_last
// CHECK:         tile.copy %a{{.*}} via = #tile.im2col<dims = [-1, 1, 2, 0, 3], lower = [-1, -1, 0], upper = [-1, -1, 0], steps = [1, 1, 1]>}
func.func @images_last(%x: tensor<4x16x16x64xbf16>, %w: tensor<64x3x3x64xbf16>) -> tensor<16x16x4x64xf32> {
  %r = kernel.fused @images_last_0 matmul config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<4x16x16x64xbf16>, %b = %w : tensor<64x3x3x64xbf16>) -> tensor<16x16x4x64xf32> {
    %c = nd.conv %a, %b {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [2, 3, 0, 1]} : (tensor<4x16x16x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<16x16x4x64xf32>
    kernel.yield %c : tensor<16x16x4x64xf32>
  }
  func.return %r : tensor<16x16x4x64xf32>
}

// The gradient of a kernel: pixels lie along K, in both operands, and a tile is at one place of the window. Parts of the
// images move the first of a tile.
// CHECK-LABEL: tile.program @gradient
// CHECK:         tile.for_tiles {{.*}} extents [2, 3, 3, 64, 64]
// CHECK:         tile.copy %a{{.*}} via = #tile.im2col<dims = [0, 1, 2, 3], lower = [-1, -1], upper = [-1, -1], steps = [1, 1]>}
// CHECK-NEXT:    tile.copy %b{{.*}} via = "tma"}
func.func @gradient(%x: tensor<4x8x8x64xbf16>, %g: tensor<4x8x8x64xbf16>) -> tensor<2x1x1x64x3x3x64xf32> {
  %r = kernel.fused @gradient_0 matmul config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<4x8x8x64xbf16>, %b = %g : tensor<4x8x8x64xbf16>) -> tensor<2x1x1x64x3x3x64xf32> {
    %c = nd.conv %a, %b {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2], result_axes = [3, 0, 1, 2], parts = [2, 1, 1]} : tensor<4x8x8x64xbf16> -> tensor<2x1x1x64x3x3x64xf32>
    kernel.yield %c : tensor<2x1x1x64x3x3x64xf32>
  }
  func.return %r : tensor<2x1x1x64x3x3x64xf32>
}
