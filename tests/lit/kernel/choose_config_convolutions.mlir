// RUN: irc-opt %s -p choose-config | filecheck %s
// RUN: irc-opt %s -p choose-config --arch sm_80 | filecheck %s --check-prefix=SM80

// A step along K is inside of the channels of one tap: 32 of 96. TMA brings the pixels.
// CHECK:      @channels_0 matmul config<{{.*}}k = 32}, {{.*}}instruction = "wgmma">
// SM80:       @channels_0 matmul config<{{.*}}k = 32}, {{.*}}instruction = "mma">
func.func @channels(%x: tensor<32x64x64x96xbf16>, %w: tensor<96x5x5x96xbf16>) -> tensor<32x64x64x96xbf16> {
  %fused = kernel.fused @channels_0 matmul (%x_1 = %x : tensor<32x64x64x96xbf16>, %w_1 = %w : tensor<96x5x5x96xbf16>) -> tensor<32x64x64x96xbf16> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [4, 4], high = [4, 4], dilation = [2, 2], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<32x64x64x96xbf16>, tensor<96x5x5x96xbf16>) -> tensor<32x64x64x96xf32>
    // epilogue
    %cast = nd.cast %conv : tensor<32x64x64x96xf32> -> tensor<32x64x64x96xbf16>
    kernel.yield %cast : tensor<32x64x64x96xbf16>
  }
  func.return %fused : tensor<32x64x64x96xbf16>
}

// Two channels in each group would multiply zeros on tensor cores: sums of 98 products in registers, a line of channels in each row of a tile.
// CHECK:      @pairs_0 matmul config<tile = {m = 32, n = 64, k = 1}, {{.*}}instruction = "direct">
// SM80:       @pairs_0 matmul config<tile = {m = 32, n = 64, k = 1}, {{.*}}instruction = "direct">
func.func @pairs(%x: tensor<64x112x112x144xbf16>, %w: tensor<7x7x2x144xbf16>) -> tensor<64x112x112x144xbf16> {
  %fused = kernel.fused @pairs_0 matmul (%x_1 = %x : tensor<64x112x112x144xbf16>, %w_1 = %w : tensor<7x7x2x144xbf16>) -> tensor<64x112x112x144xbf16> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 72, x_axes = [0, 3, 1, 2], kernel_axes = [3, 2, 0, 1], result_axes = [0, 3, 1, 2]} : (tensor<64x112x112x144xbf16>, tensor<7x7x2x144xbf16>) -> tensor<64x112x112x144xf32>
    // epilogue
    %cast = nd.cast %conv : tensor<64x112x112x144xf32> -> tensor<64x112x112x144xbf16>
    kernel.yield %cast : tensor<64x112x112x144xbf16>
  }
  func.return %fused : tensor<64x112x112x144xbf16>
}

// Channels first: pixels lie side by side.
// CHECK:      @pairs_first_0 matmul config<tile = {m = 1024, n = 2, k = 1}, {{.*}}instruction = "direct">
func.func @pairs_first(%x: tensor<64x144x112x112xbf16>, %w: tensor<144x2x7x7xbf16>) -> tensor<64x144x112x112xbf16> {
  %fused = kernel.fused @pairs_first_0 matmul (%x_1 = %x : tensor<64x144x112x112xbf16>, %w_1 = %w : tensor<144x2x7x7xbf16>) -> tensor<64x144x112x112xbf16> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 72} : (tensor<64x144x112x112xbf16>, tensor<144x2x7x7xbf16>) -> tensor<64x144x112x112xf32>
    // epilogue
    %cast = nd.cast %conv : tensor<64x144x112x112xf32> -> tensor<64x144x112x112xbf16>
    kernel.yield %cast : tensor<64x144x112x112xbf16>
  }
  func.return %fused : tensor<64x144x112x112xbf16>
}

// One channel in each group is a window, in a map. A thread has as many elements as it has registers for, of what 3x3 taps read.
// CHECK:      @depthwise_0 map config<tile = {d = 4096}, warps = 4, schedule = "grid"
// SM80:       @depthwise_0 map config<tile = {d = 4096}, warps = 4, schedule = "grid"
func.func @depthwise(%x: tensor<64x112x112x144xbf16>, %w: tensor<3x3x1x144xbf16>) -> tensor<64x112x112x144xbf16> {
  %fused = kernel.fused @depthwise_0 map (%x_1 = %x : tensor<64x112x112x144xbf16>, %w_1 = %w : tensor<3x3x1x144xbf16>) -> tensor<64x112x112x144xbf16> {
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 144, x_axes = [0, 3, 1, 2], kernel_axes = [3, 2, 0, 1], result_axes = [0, 3, 1, 2]} : (tensor<64x112x112x144xbf16>, tensor<3x3x1x144xbf16>) -> tensor<64x112x112x144xf32>
    %cast = nd.cast %conv : tensor<64x112x112x144xf32> -> tensor<64x112x112x144xbf16>
    kernel.yield %cast : tensor<64x112x112x144xbf16>
  }
  func.return %fused : tensor<64x112x112x144xbf16>
}

// Of 7x7 taps there are more to hold.
// CHECK:      @wide_windows_0 map config<tile = {d = 2048}, warps = 4, schedule = "grid"
func.func @wide_windows(%x: tensor<128x56x56x96xbf16>, %w: tensor<7x7x1x96xbf16>) -> tensor<128x56x56x96xbf16> {
  %fused = kernel.fused @wide_windows_0 map (%x_1 = %x : tensor<128x56x56x96xbf16>, %w_1 = %w : tensor<7x7x1x96xbf16>) -> tensor<128x56x56x96xbf16> {
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 96, x_axes = [0, 3, 1, 2], kernel_axes = [3, 2, 0, 1], result_axes = [0, 3, 1, 2]} : (tensor<128x56x56x96xbf16>, tensor<7x7x1x96xbf16>) -> tensor<128x56x56x96xf32>
    %cast = nd.cast %conv : tensor<128x56x56x96xf32> -> tensor<128x56x56x96xbf16>
    kernel.yield %cast : tensor<128x56x56x96xbf16>
  }
  func.return %fused : tensor<128x56x56x96xbf16>
}

// Channels first: windows reach along what lies side by side.
// CHECK:      @depthwise_first_0 map config<tile = {d = 4096}, warps = 4, schedule = "grid"
func.func @depthwise_first(%x: tensor<64x144x112x112xbf16>, %w: tensor<144x1x3x3xbf16>) -> tensor<64x144x112x112xbf16> {
  %fused = kernel.fused @depthwise_first_0 map (%x_1 = %x : tensor<64x144x112x112xbf16>, %w_1 = %w : tensor<144x1x3x3xbf16>) -> tensor<64x144x112x112xbf16> {
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 144} : (tensor<64x144x112x112xbf16>, tensor<144x1x3x3xbf16>) -> tensor<64x144x112x112xf32>
    %cast = nd.cast %conv : tensor<64x144x112x112xf32> -> tensor<64x144x112x112xbf16>
    kernel.yield %cast : tensor<64x144x112x112xbf16>
  }
  func.return %fused : tensor<64x144x112x112xbf16>
}

// Groups of sixteen channels are worth a matrix instruction for each.
// CHECK:      @groups_0 matmul config<{{.*}}instruction = "wgmma">
func.func @groups(%x: tensor<16x56x56x256xbf16>, %w: tensor<256x3x3x16xbf16>) -> tensor<16x56x56x256xbf16> {
  %fused = kernel.fused @groups_0 matmul (%x_1 = %x : tensor<16x56x56x256xbf16>, %w_1 = %w : tensor<256x3x3x16xbf16>) -> tensor<16x56x56x256xbf16> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 16, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<16x56x56x256xbf16>, tensor<256x3x3x16xbf16>) -> tensor<16x56x56x256xf32>
    // epilogue
    %cast = nd.cast %conv : tensor<16x56x56x256xf32> -> tensor<16x56x56x256xbf16>
    kernel.yield %cast : tensor<16x56x56x256xbf16>
  }
  func.return %fused : tensor<16x56x56x256xbf16>
}

// Of eight channels 72 products are few enough for a map of windows.
// CHECK:      @eight_0 map config<tile = {d = 1024}, warps = 4, schedule = "grid"
func.func @eight(%x: tensor<16x56x56x256xbf16>, %w: tensor<256x3x3x8xbf16>) -> tensor<16x56x56x256xbf16> {
  %fused = kernel.fused @eight_0 map (%x_1 = %x : tensor<16x56x56x256xbf16>, %w_1 = %w : tensor<256x3x3x8xbf16>) -> tensor<16x56x56x256xbf16> {
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 32, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<16x56x56x256xbf16>, tensor<256x3x3x8xbf16>) -> tensor<16x56x56x256xf32>
    %cast = nd.cast %conv : tensor<16x56x56x256xf32> -> tensor<16x56x56x256xbf16>
    kernel.yield %cast : tensor<16x56x56x256xbf16>
  }
  func.return %fused : tensor<16x56x56x256xbf16>
}

// f32 by three products of tf32 parts, as in products.
// CHECK:      @wide_0 matmul config<{{.*}}instruction = "wgmma">
// SM80:       @wide_0 matmul config<{{.*}}instruction = "fma">
func.func @wide(%x: tensor<16x56x56x64xf32>, %w: tensor<64x3x3x64xf32>) -> tensor<16x56x56x64xf32> {
  %fused = kernel.fused @wide_0 matmul (%x_1 = %x : tensor<16x56x56x64xf32>, %w_1 = %w : tensor<64x3x3x64xf32>) -> tensor<16x56x56x64xf32> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<16x56x56x64xf32>, tensor<64x3x3x64xf32>) -> tensor<16x56x56x64xf32>
    kernel.yield %conv : tensor<16x56x56x64xf32>
  }
  func.return %fused : tensor<16x56x56x64xf32>
}

// Gradients of kernels have few tiles, and sum over all pixels: parts of these fill the SMs. TMA brings pixels along K.
// CHECK:      @gradient_0 matmul config<tile = {m = 32, n = 64, k = 128}, {{.*}}split = 24, {{.*}}instruction = "wgmma", swap_ab = true>
// SM80:       @gradient_0 matmul config<{{.*}}split = 32, {{.*}}instruction = "mma">
func.func @gradient(%x: tensor<8x24x64x64x32xbf16>, %g: tensor<8x24x64x64x64xbf16>) -> tensor<64x3x3x3x32xf32> {
  %fused = kernel.fused @gradient_0 matmul (%x_1 = %x : tensor<8x24x64x64x32xbf16>, %g_1 = %g : tensor<8x24x64x64x64xbf16>) -> tensor<64x3x3x3x32xf32> {
    // core
    %conv = nd.conv %x_1, %g_1 {strides = [1, 1, 1], low = [1, 1, 1], high = [1, 1, 1], dilation = [1, 1, 1], input_dilation = [1, 1, 1], groups = 1, x_axes = [4, 0, 1, 2, 3], kernel_axes = [4, 0, 1, 2, 3], result_axes = [4, 0, 1, 2, 3]} : (tensor<8x24x64x64x32xbf16>, tensor<8x24x64x64x64xbf16>) -> tensor<64x3x3x3x32xf32>
    kernel.yield %conv : tensor<64x3x3x3x32xf32>
  }
  func.return %fused : tensor<64x3x3x3x32xf32>
}

// A thread has the sums of all taps of a few channels, which lie side by side in both operands. It walks along rows of
// pixels, 8 at a time; threads side by side have the 16 rows of one part.
// CHECK:      @depthwise_gradient_0 matmul config<tile = {m = 16, n = 32, k = 16}, {{.*}}warps = 4, {{.*}}split = 448, unroll = 8, occupancy = 4, {{.*}}instruction = "columns">
func.func @depthwise_gradient(%x: tensor<64x112x112x144xbf16>, %g: tensor<64x112x112x144xbf16>) -> tensor<1x144x3x3xf32> {
  %fused = kernel.fused @depthwise_gradient_0 matmul (%x_1 = %x : tensor<64x112x112x144xbf16>, %g_1 = %g : tensor<64x112x112x144xbf16>) -> tensor<1x144x3x3xf32> {
    // core
    %conv = nd.conv %x_1, %g_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2], batch_groups = 144} : tensor<64x112x112x144xbf16> -> tensor<1x144x3x3xf32>
    kernel.yield %conv : tensor<1x144x3x3xf32>
  }
  func.return %fused : tensor<1x144x3x3xf32>
}

// So has it the sums of all taps and channels of a group of 8: for a matrix instruction threads would gather x.
// CHECK:      @groups_gradient_0 matmul config<tile = {m = 128, n = 64, k = 2}, {{.*}}split = 128, unroll = 8, {{.*}}instruction = "columns">
func.func @groups_gradient(%x: tensor<128x56x56x256xbf16>, %g: tensor<128x56x56x256xbf16>) -> tensor<8x256x3x3xf32> {
  %fused = kernel.fused @groups_gradient_0 matmul (%x_1 = %x : tensor<128x56x56x256xbf16>, %g_1 = %g : tensor<128x56x56x256xbf16>) -> tensor<8x256x3x3xf32> {
    // core
    %conv = nd.conv %x_1, %g_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2], batch_groups = 32} : tensor<128x56x56x256xbf16> -> tensor<8x256x3x3xf32>
    kernel.yield %conv : tensor<8x256x3x3xf32>
  }
  func.return %fused : tensor<8x256x3x3xf32>
}

// TMA moves pixels by up to 31 in three dimensions of space: parts are of images alone, not of 64 slices each.
// CHECK:      @slices_gradient_0 matmul config<{{.*}}split = 4, {{.*}}instruction = "wgmma"
func.func @slices_gradient(%x: tensor<4x64x64x64x64xbf16>, %g: tensor<4x64x64x64x64xbf16>) -> tensor<64x3x3x3x64xf32> {
  %fused = kernel.fused @slices_gradient_0 matmul (%x_1 = %x : tensor<4x64x64x64x64xbf16>, %g_1 = %g : tensor<4x64x64x64x64xbf16>) -> tensor<64x3x3x3x64xf32> {
    // core
    %conv = nd.conv %x_1, %g_1 {strides = [1, 1, 1], low = [1, 1, 1], high = [1, 1, 1], dilation = [1, 1, 1], input_dilation = [1, 1, 1], groups = 1, x_axes = [4, 0, 1, 2, 3], kernel_axes = [4, 0, 1, 2, 3], result_axes = [4, 0, 1, 2, 3]} : tensor<4x64x64x64x64xbf16> -> tensor<64x3x3x3x64xf32>
    kernel.yield %conv : tensor<64x3x3x3x64xf32>
  }
  func.return %fused : tensor<64x3x3x3x64xf32>
}

// Steps of pixels have no end inside of them: 57 rows of 61 pixels are no whole steps.
// CHECK:      @odd_gradient_0 matmul config<{{.*}}split = 96, {{.*}}instruction = "mma">
func.func @odd_gradient(%x: tensor<32x57x61x64xbf16>, %g: tensor<32x57x61x64xbf16>) -> tensor<64x3x3x64xf32> {
  %fused = kernel.fused @odd_gradient_0 matmul (%x_1 = %x : tensor<32x57x61x64xbf16>, %g_1 = %g : tensor<32x57x61x64xbf16>) -> tensor<64x3x3x64xf32> {
    // core
    %conv = nd.conv %x_1, %g_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2], result_axes = [3, 0, 1, 2]} : tensor<32x57x61x64xbf16> -> tensor<64x3x3x64xf32>
    kernel.yield %conv : tensor<64x3x3x64xf32>
  }
  func.return %fused : tensor<64x3x3x64xf32>
}

// What is reduced after a convolution needs whole sums.
// CHECK:      @reduced_0 matmul config<
// CHECK-NOT:  split
// CHECK-SAME: instruction =
func.func @reduced(%x: tensor<8x64x64x32xbf16>, %g: tensor<8x64x64x64xbf16>) -> tensor<64xf32> {
  %fused = kernel.fused @reduced_0 matmul (%x_1 = %x : tensor<8x64x64x32xbf16>, %g_1 = %g : tensor<8x64x64x64xbf16>) -> tensor<64xf32> {
    // core
    %conv = nd.conv %x_1, %g_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2]} : (tensor<8x64x64x32xbf16>, tensor<8x64x64x64xbf16>) -> tensor<32x64x3x3xf32>
    // epilogue
    %sum = nd.sum %conv {axes = [0, 2, 3]} : tensor<32x64x3x3xf32> -> tensor<64xf32>
    kernel.yield %sum : tensor<64xf32>
  }
  func.return %fused : tensor<64xf32>
}

// Rows of taps: all of K is one step, and two groups take turns, also for a few columns. More columns leave room for fewer rows.
// CHECK:      @image_0 matmul config<tile = {m = 128, n = 64, k = 224}, stages = 1, {{.*}}schedule = "pingpong", {{.*}}instruction = "wgmma">
func.func @image(%x: tensor<64x224x672x1xbf16>, %w: tensor<64x7x32x1xbf16>) -> tensor<64x112x112x64xf32> {
  %fused = kernel.fused @image_0 matmul (%x_1 = %x : tensor<64x224x672x1xbf16>, %w_1 = %w : tensor<64x7x32x1xbf16>) -> tensor<64x112x112x64xf32> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [2, 6], low = [3, 10], high = [3, 16], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], taps = [1, 22]} : (tensor<64x224x672x1xbf16>, tensor<64x7x32x1xbf16>) -> tensor<64x112x112x64xf32>
    kernel.yield %conv : tensor<64x112x112x64xf32>
  }
  func.return %fused : tensor<64x112x112x64xf32>
}

// CHECK:      @wide_image_0 matmul config<tile = {m = 64, n = 128, k = 224}
func.func @wide_image(%x: tensor<64x224x672x1xbf16>, %w: tensor<128x7x32x1xbf16>) -> tensor<64x112x112x128xf32> {
  %fused = kernel.fused @wide_image_0 matmul (%x_1 = %x : tensor<64x224x672x1xbf16>, %w_1 = %w : tensor<128x7x32x1xbf16>) -> tensor<64x112x112x128xf32> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [2, 6], low = [3, 10], high = [3, 16], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], taps = [1, 22]} : (tensor<64x224x672x1xbf16>, tensor<128x7x32x1xbf16>) -> tensor<64x112x112x128xf32>
    kernel.yield %conv : tensor<64x112x112x128xf32>
  }
  func.return %fused : tensor<64x112x112x128xf32>
}

// Of a longer K a group has the rows of one instruction, and fewer columns.
// CHECK:      @frames_0 matmul config<tile = {m = 64, n = 64, k = 672}, stages = 1, {{.*}}schedule = "pingpong", {{.*}}instruction = "wgmma">
func.func @frames(%x: tensor<16x16x112x336x1xbf16>, %w: tensor<64x3x7x32x1xbf16>) -> tensor<16x16x56x56x64xf32> {
  %fused = kernel.fused @frames_0 matmul (%x_1 = %x : tensor<16x16x112x336x1xbf16>, %w_1 = %w : tensor<64x3x7x32x1xbf16>) -> tensor<16x16x56x56x64xf32> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 2, 6], low = [1, 3, 10], high = [1, 3, 16], dilation = [1, 1, 1], input_dilation = [1, 1, 1], groups = 1, x_axes = [0, 4, 1, 2, 3], kernel_axes = [0, 4, 1, 2, 3], result_axes = [0, 4, 1, 2, 3], taps = [1, 22]} : (tensor<16x16x112x336x1xbf16>, tensor<64x3x7x32x1xbf16>) -> tensor<16x16x56x56x64xf32>
    kernel.yield %conv : tensor<16x16x56x56x64xf32>
  }
  func.return %fused : tensor<16x16x56x56x64xf32>
}

// CHECK:      @wide_frames_0 matmul config<tile = {m = 64, n = 64, k = 672}, stages = 1
func.func @wide_frames(%x: tensor<16x16x112x336x1xbf16>, %w: tensor<128x3x7x32x1xbf16>) -> tensor<16x16x56x56x128xf32> {
  %fused = kernel.fused @wide_frames_0 matmul (%x_1 = %x : tensor<16x16x112x336x1xbf16>, %w_1 = %w : tensor<128x3x7x32x1xbf16>) -> tensor<16x16x56x56x128xf32> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 2, 6], low = [1, 3, 10], high = [1, 3, 16], dilation = [1, 1, 1], input_dilation = [1, 1, 1], groups = 1, x_axes = [0, 4, 1, 2, 3], kernel_axes = [0, 4, 1, 2, 3], result_axes = [0, 4, 1, 2, 3], taps = [1, 22]} : (tensor<16x16x112x336x1xbf16>, tensor<128x3x7x32x1xbf16>) -> tensor<16x16x56x56x128xf32>
    kernel.yield %conv : tensor<16x16x56x56x128xf32>
  }
  func.return %fused : tensor<16x16x56x56x128xf32>
}

// Rows that begin at whole fours of elements go through shared memory.
// CHECK:      @fours_0 matmul config<tile = {m = 64, n = 64, k = 576}, stages = 1
func.func @fours(%x: tensor<16x64x256x1xbf16>, %w: tensor<64x9x64x1xbf16>) -> tensor<16x64x64x64xf32> {
  %fused = kernel.fused @fours_0 matmul (%x_1 = %x : tensor<16x64x256x1xbf16>, %w_1 = %w : tensor<64x9x64x1xbf16>) -> tensor<16x64x64x64xf32> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 4], low = [4, 16], high = [4, 44], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], taps = [0, 36]} : (tensor<16x64x256x1xbf16>, tensor<64x9x64x1xbf16>) -> tensor<16x64x64x64xf32>
    kernel.yield %conv : tensor<16x64x64x64xf32>
  }
  func.return %fused : tensor<16x64x64x64xf32>
}

// CHECK:      @narrow_image_0 matmul config<tile = {m = 128, n = 16, k = 48}, stages = 1, {{.*}}schedule = "pingpong", {{.*}}instruction = "wgmma">
func.func @narrow_image(%x: tensor<64x224x672x1xbf16>, %w: tensor<16x3x16x1xbf16>) -> tensor<64x112x112x16xf32> {
  %fused = kernel.fused @narrow_image_0 matmul (%x_1 = %x : tensor<64x224x672x1xbf16>, %w_1 = %w : tensor<16x3x16x1xbf16>) -> tensor<64x112x112x16xf32> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [2, 6], low = [1, 4], high = [1, 8], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], taps = [1, 10]} : (tensor<64x224x672x1xbf16>, tensor<16x3x16x1xbf16>) -> tensor<64x112x112x16xf32>
    kernel.yield %conv : tensor<64x112x112x16xf32>
  }
  func.return %fused : tensor<64x112x112x16xf32>
}

// Four products of different left operands: an instruction computes the columns of one, 96 of them. TMA takes as long for
// rows of 32 channels as for those of 64: tiles are tall, as each brings the kernel by itself.
// CHECK:      @places_0 matmul config<tile = {m = 128, n = 96, k = 32}, {{.*}}warps = 8, schedule = "persistent", {{.*}}instruction = "wgmma">
func.func @places(%x: tensor<453x31x28x32xbf16>, %w: tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xbf16> {
  %fused = kernel.fused @places_0 matmul (%x_1 = %x : tensor<453x31x28x32xbf16>, %w_1 = %w : tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xbf16> {
    // core
    %a = nd.conv %x_1, %w_1 {strides = [2, 2], low = [1, 1], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
    %b = nd.conv %x_1, %w_1 {strides = [2, 2], low = [1, 0], high = [0, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
    %c = nd.conv %x_1, %w_1 {strides = [2, 2], low = [0, 1], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
    %d = nd.conv %x_1, %w_1 {strides = [2, 2], low = [0, 0], high = [0, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
    // epilogue
    %m0 = nd.maximum %a, %b : tensor<453x15x14x96xf32>
    %m1 = nd.maximum %m0, %c : tensor<453x15x14x96xf32>
    %m2 = nd.maximum %m1, %d : tensor<453x15x14x96xf32>
    %y = nd.cast %m2 : tensor<453x15x14x96xf32> -> tensor<453x15x14x96xbf16>
    kernel.yield %y : tensor<453x15x14x96xbf16>
  }
  func.return %fused : tensor<453x15x14x96xbf16>
}

// So are those of one product. Beside another array that is read the epilogue takes longer, and groups take turns.
// CHECK:      @short_rows_0 matmul config<tile = {m = 256, n = 96, k = 32}, {{.*}}schedule = "persistent", {{.*}}instruction = "wgmma">
// CHECK:      @residual_0 matmul config<tile = {m = 128, n = 96, k = 32}, {{.*}}schedule = "pingpong", {{.*}}instruction = "wgmma">
func.func @short_rows(%x: tensor<453x31x28x32xbf16>, %w: tensor<96x3x3x32xbf16>) -> tensor<453x31x28x96xbf16> {
  %fused = kernel.fused @short_rows_0 matmul (%x_1 = %x : tensor<453x31x28x32xbf16>, %w_1 = %w : tensor<96x3x3x32xbf16>) -> tensor<453x31x28x96xbf16> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x31x28x96xf32>
    // epilogue
    %cast = nd.cast %conv : tensor<453x31x28x96xf32> -> tensor<453x31x28x96xbf16>
    kernel.yield %cast : tensor<453x31x28x96xbf16>
  }
  func.return %fused : tensor<453x31x28x96xbf16>
}
func.func @residual(%x: tensor<453x31x28x32xbf16>, %w: tensor<96x3x3x32xbf16>, %r: tensor<453x31x28x96xf32>) -> tensor<453x31x28x96xbf16> {
  %fused = kernel.fused @residual_0 matmul (%x_1 = %x : tensor<453x31x28x32xbf16>, %w_1 = %w : tensor<96x3x3x32xbf16>, %r_1 = %r : tensor<453x31x28x96xf32>) -> tensor<453x31x28x96xbf16> {
    // core
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x31x28x96xf32>
    // epilogue
    %add = nd.add %conv, %r_1 : tensor<453x31x28x96xf32>
    %cast = nd.cast %add : tensor<453x31x28x96xf32> -> tensor<453x31x28x96xbf16>
    kernel.yield %cast : tensor<453x31x28x96xbf16>
  }
  func.return %fused : tensor<453x31x28x96xbf16>
}

// Not so tall that one step of four products fills the shared memory: the next one's operands arrive beside it.
// CHECK:      @two_stages_0 matmul config<tile = {m = 128, n = 32, k = 64}, stages = 2, {{.*}}schedule = "persistent", {{.*}}instruction = "wgmma">
func.func @two_stages(%x: tensor<64x56x56x64xbf16>, %w: tensor<32x3x3x64xbf16>) -> tensor<64x28x28x32xbf16> {
  %fused = kernel.fused @two_stages_0 matmul (%x_1 = %x : tensor<64x56x56x64xbf16>, %w_1 = %w : tensor<32x3x3x64xbf16>) -> tensor<64x28x28x32xbf16> {
    // core
    %a = nd.conv %x_1, %w_1 {strides = [2, 2], low = [1, 1], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x56x56x64xbf16>, tensor<32x3x3x64xbf16>) -> tensor<64x28x28x32xf32>
    %b = nd.conv %x_1, %w_1 {strides = [2, 2], low = [1, 0], high = [0, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x56x56x64xbf16>, tensor<32x3x3x64xbf16>) -> tensor<64x28x28x32xf32>
    %c = nd.conv %x_1, %w_1 {strides = [2, 2], low = [0, 1], high = [1, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x56x56x64xbf16>, tensor<32x3x3x64xbf16>) -> tensor<64x28x28x32xf32>
    %d = nd.conv %x_1, %w_1 {strides = [2, 2], low = [0, 0], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x56x56x64xbf16>, tensor<32x3x3x64xbf16>) -> tensor<64x28x28x32xf32>
    // epilogue
    %ab = nd.maximum %a, %b : tensor<64x28x28x32xf32>
    %abc = nd.maximum %ab, %c : tensor<64x28x28x32xf32>
    %abcd = nd.maximum %abc, %d : tensor<64x28x28x32xf32>
    %cast = nd.cast %abcd : tensor<64x28x28x32xf32> -> tensor<64x28x28x32xbf16>
    kernel.yield %cast : tensor<64x28x28x32xbf16>
  }
  func.return %fused : tensor<64x28x28x32xbf16>
}
