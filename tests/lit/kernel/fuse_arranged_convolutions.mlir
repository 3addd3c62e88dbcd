// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// CHECK:       kernel.fused @channels_first_0 permute
// CHECK:       kernel.fused @channels_first_1 permute
// CHECK:       kernel.fused @channels_first_2 matmul
// CHECK-NEXT:    // core
// CHECK-NEXT:    nd.conv
func.func @channels_first(%x: tensor<64x128x28x28xbf16>, %w: tensor<128x128x3x3xbf16>) -> tensor<64x128x28x28xbf16> {
  %permute = nd.permute %x {permutation = [0, 2, 3, 1]} : tensor<64x128x28x28xbf16> -> tensor<64x28x28x128xbf16>
  %permute_1 = nd.permute %w {permutation = [0, 2, 3, 1]} : tensor<128x128x3x3xbf16> -> tensor<128x3x3x128xbf16>
  %conv = nd.conv %permute, %permute_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<64x28x28x128xbf16>, tensor<128x3x3x128xbf16>) -> tensor<64x128x28x28xf32>
  %cast = nd.cast %conv : tensor<64x128x28x28xf32> -> tensor<64x128x28x28xbf16>
  func.return %cast : tensor<64x128x28x28xbf16>
}
func.func @ragged(%x: tensor<32x57x61x33xbf16>, %w: tensor<77x3x3x33xbf16>) -> tensor<32x57x61x77xbf16> {
  %constant = nd.constant 0.0 : tensor<bf16>
  %pad = nd.pad %x, %constant {low = [0, 0, 0, 0], high = [0, 0, 0, 7]} : (tensor<32x57x61x33xbf16>, tensor<bf16>) -> tensor<32x57x61x40xbf16>
  %constant_1 = nd.constant 0.0 : tensor<bf16>
  %pad_1 = nd.pad %w, %constant_1 {low = [0, 0, 0, 0], high = [0, 0, 0, 7]} : (tensor<77x3x3x33xbf16>, tensor<bf16>) -> tensor<77x3x3x40xbf16>
  %conv = nd.conv %pad, %pad_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<32x57x61x40xbf16>, tensor<77x3x3x40xbf16>) -> tensor<32x57x61x77xf32>
  %cast = nd.cast %conv : tensor<32x57x61x77xf32> -> tensor<32x57x61x77xbf16>
  func.return %cast : tensor<32x57x61x77xbf16>
}
func.func @kernel_alone(%x: tensor<64x28x28x128xbf16>, %w: tensor<128x128x3x3xbf16>) -> tensor<64x28x28x128xbf16> {
  %permute = nd.permute %w {permutation = [0, 2, 3, 1]} : tensor<128x128x3x3xbf16> -> tensor<128x3x3x128xbf16>
  %conv = nd.conv %x, %permute {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<64x28x28x128xbf16>, tensor<128x3x3x128xbf16>) -> tensor<64x28x28x128xf32>
  %cast = nd.cast %conv : tensor<64x28x28x128xf32> -> tensor<64x28x28x128xbf16>
  func.return %cast : tensor<64x28x28x128xbf16>
}
func.func @shared(%x: tensor<64x128x28x28xbf16>, %w: tensor<128x128x3x3xbf16>, %v: tensor<128x128x1x3xbf16>) -> (tensor<64x128x26x26xbf16>, tensor<64x128x28x26xbf16>) {
  %permute = nd.permute %x {permutation = [0, 2, 3, 1]} : tensor<64x128x28x28xbf16> -> tensor<64x28x28x128xbf16>
  %permute_1 = nd.permute %w {permutation = [0, 2, 3, 1]} : tensor<128x128x3x3xbf16> -> tensor<128x3x3x128xbf16>
  %conv = nd.conv %permute, %permute_1 {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<64x28x28x128xbf16>, tensor<128x3x3x128xbf16>) -> tensor<64x128x26x26xf32>
  %permute_2 = nd.permute %v {permutation = [0, 2, 3, 1]} : tensor<128x128x1x3xbf16> -> tensor<128x1x3x128xbf16>
  %conv_1 = nd.conv %permute, %permute_2 {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<64x28x28x128xbf16>, tensor<128x1x3x128xbf16>) -> tensor<64x128x28x26xf32>
  %cast = nd.cast %conv : tensor<64x128x26x26xf32> -> tensor<64x128x26x26xbf16>
  %cast_1 = nd.cast %conv_1 : tensor<64x128x28x26xf32> -> tensor<64x128x28x26xbf16>
  func.return %cast, %cast_1 : tensor<64x128x26x26xbf16>, tensor<64x128x28x26xbf16>
}
func.func @depthwise(%x: tensor<64x56x56x96xbf16>, %w: tensor<96x1x7x7xbf16>) -> tensor<64x56x56x96xbf16> {
  %permute = nd.permute %w {permutation = [1, 2, 3, 0]} : tensor<96x1x7x7xbf16> -> tensor<1x7x7x96xbf16>
  %conv = nd.conv %x, %permute {strides = [1, 1], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 96, x_axes = [0, 3, 1, 2], kernel_axes = [3, 0, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<64x56x56x96xbf16>, tensor<1x7x7x96xbf16>) -> tensor<64x56x56x96xf32>
  %cast = nd.cast %conv : tensor<64x56x56x96xf32> -> tensor<64x56x56x96xbf16>
  func.return %cast : tensor<64x56x56x96xbf16>
}
func.func @depthwise_first(%x: tensor<64x96x56x56xbf16>, %w: tensor<96x1x7x7xbf16>) -> tensor<64x96x50x50xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 96, nd.declared = bf16} : (tensor<64x96x56x56xbf16>, tensor<96x1x7x7xbf16>) -> tensor<64x96x50x50xf32>
  %cast = nd.cast %conv : tensor<64x96x50x50xf32> -> tensor<64x96x50x50xbf16>
  func.return %cast : tensor<64x96x50x50xbf16>
}
func.func @depthwise_small(%x: tensor<1x56x56x96xbf16>, %w: tensor<96x1x7x7xbf16>) -> tensor<1x50x50x96xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 96, x_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<1x56x56x96xbf16>, tensor<96x1x7x7xbf16>) -> tensor<1x50x50x96xf32>
  %cast = nd.cast %conv : tensor<1x50x50x96xf32> -> tensor<1x50x50x96xbf16>
  func.return %cast : tensor<1x50x50x96xbf16>
}
func.func @depthwise_turned(%x: tensor<64x56x56x96xbf16>, %w: tensor<7x7x1x96xbf16>) -> tensor<64x50x50x96xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 96, x_axes = [0, 3, 1, 2], kernel_axes = [3, 2, 0, 1], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<64x56x56x96xbf16>, tensor<7x7x1x96xbf16>) -> tensor<64x50x50x96xf32>
  %cast = nd.cast %conv : tensor<64x50x50x96xf32> -> tensor<64x50x50x96xbf16>
  func.return %cast : tensor<64x50x50x96xbf16>
}
func.func @as_they_are(%x: tensor<64x28x28x128xbf16>, %w: tensor<3x3x128x128xbf16>) -> tensor<64x28x28x128xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [3, 2, 0, 1], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<64x28x28x128xbf16>, tensor<3x3x128x128xbf16>) -> tensor<64x28x28x128xf32>
  %cast = nd.cast %conv : tensor<64x28x28x128xf32> -> tensor<64x28x28x128xbf16>
  func.return %cast : tensor<64x28x28x128xbf16>
}
func.func @small(%x: tensor<1x16x8x8xbf16>, %w: tensor<16x16x3x3xbf16>) -> tensor<1x16x6x6xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, nd.declared = bf16} : (tensor<1x16x8x8xbf16>, tensor<16x16x3x3xbf16>) -> tensor<1x16x6x6xf32>
  %cast = nd.cast %conv : tensor<1x16x6x6xf32> -> tensor<1x16x6x6xbf16>
  func.return %cast : tensor<1x16x6x6xbf16>
}
func.func @few(%x: tensor<256x3x224x224xbf16>, %w: tensor<64x3x7x7xbf16>) -> tensor<256x64x218x218xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, nd.declared = bf16} : (tensor<256x3x224x224xbf16>, tensor<64x3x7x7xbf16>) -> tensor<256x64x218x218xf32>
  %cast = nd.cast %conv : tensor<256x64x218x218xf32> -> tensor<256x64x218x218xbf16>
  func.return %cast : tensor<256x64x218x218xbf16>
}
func.func @groups_of_few(%x: tensor<128x256x56x56xbf16>, %w: tensor<256x8x3x3xbf16>) -> tensor<128x256x54x54xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 32, nd.declared = bf16} : (tensor<128x256x56x56xbf16>, tensor<256x8x3x3xbf16>) -> tensor<128x256x54x54xf32>
  %cast = nd.cast %conv : tensor<128x256x54x54xf32> -> tensor<128x256x54x54xbf16>
  func.return %cast : tensor<128x256x54x54xbf16>
}
func.func @wide(%x: tensor<64x128x28x28xf32>, %w: tensor<128x128x3x3xf32>) -> tensor<64x128x26x26xf32> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<64x128x28x28xf32>, tensor<128x128x3x3xf32>) -> tensor<64x128x26x26xf32>
  func.return %conv : tensor<64x128x26x26xf32>
}
func.func @dilated(%x: tensor<64x128x28x28xbf16>, %w: tensor<128x128x3x3xbf16>) -> tensor<64x128x53x53xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [2, 2], groups = 1, nd.declared = bf16} : (tensor<64x128x28x28xbf16>, tensor<128x128x3x3xbf16>) -> tensor<64x128x53x53xf32>
  %cast = nd.cast %conv : tensor<64x128x53x53xf32> -> tensor<64x128x53x53xbf16>
  func.return %cast : tensor<64x128x53x53xbf16>
}
func.func @gradient(%x: tensor<64x28x28x128xbf16>, %g: tensor<64x28x28x128xbf16>) -> tensor<128x3x3x128xf32> {
  %conv = nd.conv %x, %g {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2], result_axes = [3, 0, 1, 2]} : tensor<64x28x28x128xbf16> -> tensor<128x3x3x128xf32>
  func.return %conv : tensor<128x3x3x128xf32>
}
func.func @gradient_first(%x: tensor<64x128x28x28xbf16>, %g: tensor<64x128x28x28xbf16>) -> tensor<128x128x3x3xf32> {
  %permute = nd.permute %x {permutation = [1, 2, 3, 0]} : tensor<64x128x28x28xbf16> -> tensor<128x28x28x64xbf16>
  %permute_1 = nd.permute %g {permutation = [1, 2, 3, 0]} : tensor<64x128x28x28xbf16> -> tensor<128x28x28x64xbf16>
  %conv = nd.conv %permute, %permute_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [1, 0, 2, 3]} : tensor<128x28x28x64xbf16> -> tensor<128x128x3x3xf32>
  func.return %conv : tensor<128x128x3x3xf32>
}
