// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// A convolution takes in what a product does: bias, activation, residual and rounding after it, channels last as well.
// CHECK-LABEL: func.func @block
// CHECK-NEXT:    kernel.fused @block_0 matmul
// CHECK-NEXT:      // core
// CHECK-NEXT:      nd.conv
// CHECK-NEXT:      // epilogue
// CHECK:           nd.relu
// CHECK:           kernel.yield
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @block(%x: tensor<2x12x12x16xbf16>, %w: tensor<24x16x3x3xbf16>, %b: tensor<24xbf16>, %r: tensor<2x12x12x24xbf16>) -> tensor<2x12x12x24xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<2x12x12x16xbf16>, tensor<24x16x3x3xbf16>) -> tensor<2x12x12x24xf32>
  %cast = nd.cast %b : tensor<24xbf16> -> tensor<24xf32>
  %broadcast = nd.broadcast %cast {dims = [3]} : tensor<24xf32> -> tensor<2x12x12x24xf32>
  %add = nd.add %conv, %broadcast {nd.declared = bf16} : tensor<2x12x12x24xf32>
  %r_1 = nd.cast %r : tensor<2x12x12x24xbf16> -> tensor<2x12x12x24xf32>
  %add_1 = nd.add %add, %r_1 {nd.declared = bf16} : tensor<2x12x12x24xf32>
  %relu = nd.relu %add_1 {nd.declared = bf16} : tensor<2x12x12x24xf32>
  %cast_1 = nd.cast %relu : tensor<2x12x12x24xf32> -> tensor<2x12x12x24xbf16>
  func.return %cast_1 : tensor<2x12x12x24xbf16>
}

// Statistics of the next norm are reductions of the epilogue, several results of one kernel.
// CHECK-LABEL: func.func @statistics
// CHECK-NEXT:    {{.*}}, {{.*}}, {{.*}} = kernel.fused @statistics_0 matmul
// CHECK:           nd.sum {{.*}} {axes = [0, 2, 3]}
// CHECK:           nd.sum {{.*}} {axes = [0, 2, 3]}
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @statistics(%x: tensor<2x16x12x12xbf16>, %w: tensor<24x16x3x3xbf16>) -> (tensor<2x24x12x12xbf16>, tensor<24xf32>, tensor<24xf32>) {
  %y = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x16x12x12xbf16>, tensor<24x16x3x3xbf16>) -> tensor<2x24x12x12xf32>
  %cast = nd.cast %y : tensor<2x24x12x12xf32> -> tensor<2x24x12x12xbf16>
  %sum = nd.sum %y {axes = [0, 2, 3]} : tensor<2x24x12x12xf32> -> tensor<24xf32>
  %mul = nd.mul %y, %y : tensor<2x24x12x12xf32>
  %sum_1 = nd.sum %mul {axes = [0, 2, 3]} : tensor<2x24x12x12xf32> -> tensor<24xf32>
  func.return %cast, %sum, %sum_1 : tensor<2x24x12x12xbf16>, tensor<24xf32>, tensor<24xf32>
}

// Channels are the columns of a tile: what reduces them and reads them again is in the kernel, wherever they lie.
// CHECK-LABEL: func.func @softmax_of_channels
// CHECK-NEXT:    kernel.fused @softmax_of_channels_0 matmul
// CHECK:           nd.max {{.*}} {axes = [1]}
// CHECK:           nd.exp
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @softmax_of_channels(%x: tensor<2x16x12x12xbf16>, %w: tensor<24x16x3x3xbf16>) -> tensor<2x24x12x12xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, nd.declared = bf16} : (tensor<2x16x12x12xbf16>, tensor<24x16x3x3xbf16>) -> tensor<2x24x12x12xf32>
  %max = nd.max %conv {axes = [1]} : tensor<2x24x12x12xf32> -> tensor<2x12x12xf32>
  %broadcast = nd.broadcast %max {dims = [0, 2, 3]} : tensor<2x12x12xf32> -> tensor<2x24x12x12xf32>
  %sub = nd.sub %conv, %broadcast : tensor<2x24x12x12xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<2x24x12x12xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<2x24x12x12xf32> -> tensor<2x12x12xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<2x12x12xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0, 2, 3]} : tensor<2x12x12xf32> -> tensor<2x24x12x12xf32>
  %mul = nd.mul %exp, %broadcast_1 {nd.declared = bf16} : tensor<2x24x12x12xf32>
  %cast = nd.cast %mul : tensor<2x24x12x12xf32> -> tensor<2x24x12x12xbf16>
  func.return %cast : tensor<2x24x12x12xbf16>
}

// The norm and activation of x are computed on the way where few tiles read an element, and a second convolution of x
// shares the kernel.
// CHECK-LABEL: func.func @gated
// CHECK-NEXT:    kernel.fused @gated_0 matmul
// CHECK-NEXT:      // prologue
// CHECK:           nd.relu
// CHECK:           // core
// CHECK-NEXT:      nd.conv
// CHECK-NEXT:      nd.conv
// CHECK-NEXT:      // epilogue
// CHECK:           nd.sigmoid
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @gated(%x: tensor<2x16x12xf32>, %s: tensor<16xf32>, %w: tensor<24x16x3xf32>, %v: tensor<24x16x3xf32>) -> tensor<2x24x10xf32> {
  %broadcast = nd.broadcast %s {dims = [1]} : tensor<16xf32> -> tensor<2x16x12xf32>
  %mul = nd.mul %x, %broadcast : tensor<2x16x12xf32>
  %y = nd.relu %mul : tensor<2x16x12xf32>
  %conv = nd.conv %y, %w {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1} : (tensor<2x16x12xf32>, tensor<24x16x3xf32>) -> tensor<2x24x10xf32>
  %sigmoid = nd.sigmoid %conv : tensor<2x24x10xf32>
  %conv_1 = nd.conv %y, %v {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1} : (tensor<2x16x12xf32>, tensor<24x16x3xf32>) -> tensor<2x24x10xf32>
  %mul_1 = nd.mul %sigmoid, %conv_1 : tensor<2x24x10xf32>
  func.return %mul_1 : tensor<2x24x10xf32>
}

// The channels of several groups are no columns of one tile: their reductions are kernels of their own.
// CHECK-LABEL: func.func @groups
// CHECK-NEXT:    kernel.fused @groups_0 matmul
// CHECK-NOT:       nd.sum
// CHECK:         kernel.fused @groups_1 reduce
// CHECK:           nd.sum
// CHECK:         func.return
func.func @groups(%x: tensor<2x32x12x12xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<2x10x10xf32> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 2} : (tensor<2x32x12x12xf32>, tensor<32x16x3x3xf32>) -> tensor<2x32x10x10xf32>
  %sum = nd.sum %conv {axes = [1]} : tensor<2x32x10x10xf32> -> tensor<2x10x10xf32>
  func.return %sum : tensor<2x10x10xf32>
}

// The norm behind a depthwise convolution reads its sum with the bias, in bf16: no reduction computes windows, and the
// convolution alone would be stored in f32.
// CHECK-LABEL: func.func @norm_behind_windows
// CHECK-NEXT:    %[[SUM:.*]] = kernel.fused @norm_behind_windows_0 map ({{.*}}) -> tensor<2x12x12x24xbf16>
// CHECK:           nd.conv
// CHECK:           nd.add
// CHECK-NEXT:      nd.cast {{.*}} -> tensor<2x12x12x24xbf16>
// CHECK-NEXT:      kernel.yield
// CHECK:         kernel.fused @norm_behind_windows_1 reduce ({{.*}} = %[[SUM]] : tensor<2x12x12x24xbf16>)
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @norm_behind_windows(%x: tensor<2x12x12x24xbf16>, %w: tensor<3x3x1x24xbf16>, %b: tensor<24xbf16>) -> tensor<2x12x12x24xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 24, x_axes = [0, 3, 1, 2], kernel_axes = [3, 2, 0, 1], result_axes = [0, 3, 1, 2]} : (tensor<2x12x12x24xbf16>, tensor<3x3x1x24xbf16>) -> tensor<2x12x12x24xf32>
  %cast = nd.cast %b : tensor<24xbf16> -> tensor<24xf32>
  %broadcast = nd.broadcast %cast {dims = [3]} : tensor<24xf32> -> tensor<2x12x12x24xf32>
  %add = nd.add %conv, %broadcast {nd.declared = bf16} : tensor<2x12x12x24xf32>
  %sum = nd.sum %add {axes = [3]} : tensor<2x12x12x24xf32> -> tensor<2x12x12xf32>
  %broadcast_1 = nd.broadcast %sum {dims = [0, 1, 2]} : tensor<2x12x12xf32> -> tensor<2x12x12x24xf32>
  %sub = nd.sub %add, %broadcast_1 {nd.declared = bf16} : tensor<2x12x12x24xf32>
  %cast_1 = nd.cast %sub : tensor<2x12x12x24xf32> -> tensor<2x12x12x24xbf16>
  func.return %cast_1 : tensor<2x12x12x24xbf16>
}

// What is stored no narrower than the convolution is the reduction's.
// CHECK-LABEL: func.func @norm_behind_wide_windows
// CHECK-NEXT:    kernel.fused @norm_behind_wide_windows_0 map ({{.*}}) -> tensor<2x12x12x24xbf16>
// CHECK-NOT:       nd.add
// CHECK:         kernel.fused @norm_behind_wide_windows_1 reduce
// CHECK:           nd.add
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @norm_behind_wide_windows(%x: tensor<2x12x12x24xbf16>, %w: tensor<3x3x1x24xbf16>, %b: tensor<24xbf16>) -> tensor<2x12x12x24xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 24, x_axes = [0, 3, 1, 2], kernel_axes = [3, 2, 0, 1], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<2x12x12x24xbf16>, tensor<3x3x1x24xbf16>) -> tensor<2x12x12x24xf32>
  %cast = nd.cast %b : tensor<24xbf16> -> tensor<24xf32>
  %broadcast = nd.broadcast %cast {dims = [3]} : tensor<24xf32> -> tensor<2x12x12x24xf32>
  %add = nd.add %conv, %broadcast {nd.declared = bf16} : tensor<2x12x12x24xf32>
  %sum = nd.sum %add {axes = [3]} : tensor<2x12x12x24xf32> -> tensor<2x12x12xf32>
  %broadcast_1 = nd.broadcast %sum {dims = [0, 1, 2]} : tensor<2x12x12xf32> -> tensor<2x12x12x24xf32>
  %sub = nd.sub %add, %broadcast_1 {nd.declared = bf16} : tensor<2x12x12x24xf32>
  %cast_1 = nd.cast %sub : tensor<2x12x12x24xf32> -> tensor<2x12x12x24xbf16>
  func.return %cast_1 : tensor<2x12x12x24xbf16>
}

// Tiles of the gradient of a strided convolution have every second place, and reduce nothing. Its sums are of one kernel,
// which reads the gradient as it is stored and computes what the second one sums itself: no array of f32.
// CHECK-LABEL: func.func @sums_of_phases
// CHECK:         kernel.fused @sums_of_phases_0 matmul {{.*}} -> tensor<16x64x64x64xbf16>
// CHECK:           nd.conv
// CHECK-NOT:       nd.mul
// CHECK:           kernel.yield %{{.*}} : tensor<16x64x64x64xbf16>
// CHECK:         kernel.fused @sums_of_phases_1 reduce {{.*}} -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
// CHECK:           nd.mul
// CHECK:           nd.sum
// CHECK:           nd.sum
func.func @sums_of_phases(%g: tensor<16x32x32x128xbf16>, %w: tensor<128x64x1x1xbf16>, %x: tensor<16x64x64x64xbf16>, %m: tensor<64xf32>, %s: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<16x64x64x64xbf16>) {
  %conv = nd.conv %g, %w {strides = [1, 1], low = [0, 0], high = [1, 1], dilation = [1, 1], input_dilation = [2, 2], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [1, 0, 2, 3], result_axes = [0, 3, 1, 2], flipped = true, nd.declared = bf16} : (tensor<16x32x32x128xbf16>, tensor<128x64x1x1xbf16>) -> tensor<16x64x64x64xf32>
  %wide = nd.cast %x : tensor<16x64x64x64xbf16> -> tensor<16x64x64x64xf32>
  %mean = nd.broadcast %m {dims = [3]} : tensor<64xf32> -> tensor<16x64x64x64xf32>
  %distance = nd.sub %wide, %mean : tensor<16x64x64x64xf32>
  %product = nd.mul %conv, %distance : tensor<16x64x64x64xf32>
  %sum = nd.sum %conv {axes = [0, 1, 2]} : tensor<16x64x64x64xf32> -> tensor<64xf32>
  %other = nd.sum %product {axes = [0, 1, 2]} : tensor<16x64x64x64xf32> -> tensor<64xf32>
  %scaled = nd.mul %other, %s : tensor<64xf32>
  %spread = nd.broadcast %scaled {dims = [3]} : tensor<64xf32> -> tensor<16x64x64x64xf32>
  %part = nd.mul %distance, %spread : tensor<16x64x64x64xf32>
  %rest = nd.sub %conv, %part : tensor<16x64x64x64xf32>
  %result = nd.cast %rest : tensor<16x64x64x64xf32> -> tensor<16x64x64x64xbf16>
  func.return %sum, %other, %result : tensor<64xf32>, tensor<64xf32>, tensor<16x64x64x64xbf16>
}

// One convolution at four places, which read one tile of its kernel; of products of other kernels there are three.
// CHECK-LABEL: func.func @places
// CHECK-NEXT:    kernel.fused @places_0 matmul
// CHECK-COUNT-4:   nd.conv
// CHECK:           // epilogue
// CHECK-COUNT-3:   nd.maximum
// CHECK:           kernel.yield
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
// CHECK-LABEL: func.func @kernels
// CHECK:         kernel.fused @kernels_0 matmul
// CHECK:         kernel.fused @kernels_1 matmul
// CHECK:         func.return
func.func @places(%x: tensor<453x31x28x32xbf16>, %w: tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xbf16> {
  %a = nd.conv %x, %w {strides = [2, 2], low = [1, 1], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
  %b = nd.conv %x, %w {strides = [2, 2], low = [1, 0], high = [0, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
  %c = nd.conv %x, %w {strides = [2, 2], low = [0, 1], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
  %d = nd.conv %x, %w {strides = [2, 2], low = [0, 0], high = [0, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
  %m0 = nd.maximum %a, %b : tensor<453x15x14x96xf32>
  %m1 = nd.maximum %m0, %c : tensor<453x15x14x96xf32>
  %m2 = nd.maximum %m1, %d : tensor<453x15x14x96xf32>
  %y = nd.cast %m2 : tensor<453x15x14x96xf32> -> tensor<453x15x14x96xbf16>
  func.return %y : tensor<453x15x14x96xbf16>
}
func.func @kernels(%x: tensor<453x31x28x32xbf16>, %w: tensor<96x3x3x32xbf16>, %u: tensor<96x3x3x32xbf16>, %v: tensor<96x3x3x32xbf16>, %z: tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xbf16> {
  %a = nd.conv %x, %w {strides = [2, 2], low = [1, 1], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
  %b = nd.conv %x, %u {strides = [2, 2], low = [1, 1], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
  %c = nd.conv %x, %v {strides = [2, 2], low = [1, 1], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
  %d = nd.conv %x, %z {strides = [2, 2], low = [1, 1], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xf32>
  %m0 = nd.maximum %a, %b : tensor<453x15x14x96xf32>
  %m1 = nd.maximum %m0, %c : tensor<453x15x14x96xf32>
  %m2 = nd.maximum %m1, %d : tensor<453x15x14x96xf32>
  %y = nd.cast %m2 : tensor<453x15x14x96xf32> -> tensor<453x15x14x96xbf16>
  func.return %y : tensor<453x15x14x96xbf16>
}
