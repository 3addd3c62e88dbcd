// RUN: irc-opt %s -p arrange-convolutions | filecheck %s
// RUN: irc-opt %s -p arrange-convolutions --arch sm_80 | filecheck %s --check-prefix=SM80
// RUN: irc-opt %s -p arrange-convolutions --arch cpu | filecheck %s --check-prefix=CPU

// Channels first: x is copied with channels last, the kernel likewise, and the result is as it was.
// CHECK-LABEL: func.func @channels_first
// CHECK-NEXT:    %[[X:.*]] = nd.permute %x {permutation = [0, 2, 3, 1]}
// CHECK-NEXT:    %[[W:.*]] = nd.permute %w {permutation = [0, 2, 3, 1]}
// CHECK-NEXT:    nd.conv %[[X]], %[[W]] {{.*}}, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], nd.declared = bf16} : {{.*}} -> tensor<64x128x28x28xf32>
// SM80-LABEL:  func.func @channels_first
// SM80-NEXT:     nd.conv %x, %w
// CPU-LABEL:   func.func @channels_first
// CPU-NEXT:      nd.conv %x, %w
func.func @channels_first(%x: tensor<64x128x28x28xbf16>, %w: tensor<128x128x3x3xbf16>) -> tensor<64x128x28x28xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, nd.declared = bf16} : (tensor<64x128x28x28xbf16>, tensor<128x128x3x3xbf16>) -> tensor<64x128x28x28xf32>
  %cast = nd.cast %conv : tensor<64x128x28x28xf32> -> tensor<64x128x28x28xbf16>
  func.return %cast : tensor<64x128x28x28xbf16>
}

// Rows of channels that are no multiples of 16 bytes have zeros behind them, in both operands; up to 32 bytes, where
// so much is read that pixels which begin inside of a sector take longer than the zeros.
// CHECK-LABEL: func.func @ragged
// CHECK:         %[[X:.*]] = nd.pad %x, {{.*}} {low = [0, 0, 0, 0], high = [0, 0, 0, 15]}
// CHECK:         %[[W:.*]] = nd.pad %w, {{.*}} {low = [0, 0, 0, 0], high = [0, 0, 0, 15]}
// CHECK-NEXT:    nd.conv %[[X]], %[[W]]
func.func @ragged(%x: tensor<32x57x61x33xbf16>, %w: tensor<77x3x3x33xbf16>) -> tensor<32x57x61x77xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<32x57x61x33xbf16>, tensor<77x3x3x33xbf16>) -> tensor<32x57x61x77xf32>
  %cast = nd.cast %conv : tensor<32x57x61x77xf32> -> tensor<32x57x61x77xbf16>
  func.return %cast : tensor<32x57x61x77xbf16>
}

// Rows of 48 bytes that TMA can read have them too, where windows read a pixel often.
// CHECK-LABEL: func.func @split_sectors
// CHECK:         %[[X:.*]] = nd.pad %x, {{.*}} {low = [0, 0, 0, 0], high = [0, 0, 0, 8]}
// CHECK:         %[[W:.*]] = nd.pad %w, {{.*}} {low = [0, 0, 0, 0], high = [0, 0, 0, 8]}
// CHECK-NEXT:    nd.conv %[[X]], %[[W]] {{.*}}, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16}
// SM80-LABEL:  func.func @split_sectors
// SM80-NEXT:     nd.conv %x, %w
func.func @split_sectors(%x: tensor<505x17x61x24xbf16>, %w: tensor<16x3x3x24xbf16>) -> tensor<505x17x61x16xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<505x17x61x24xbf16>, tensor<16x3x3x24xbf16>) -> tensor<505x17x61x16xf32>
  %cast = nd.cast %conv : tensor<505x17x61x16xf32> -> tensor<505x17x61x16xbf16>
  func.return %cast : tensor<505x17x61x16xbf16>
}

// A copy that x needs for its order of axes has zeros up to 32 bytes, too.
// CHECK-LABEL: func.func @split_sectors_first
// CHECK-NEXT:    %[[X:.*]] = nd.permute %x {permutation = [0, 2, 3, 1]}
// CHECK:         %[[Z:.*]] = nd.pad %[[X]], {{.*}} {low = [0, 0, 0, 0], high = [0, 0, 0, 8]}
// CHECK:         nd.pad {{.*}} {low = [0, 0, 0, 0], high = [0, 0, 0, 8]}
// CHECK-NEXT:    nd.conv %[[Z]]
func.func @split_sectors_first(%x: tensor<277x24x61x31xbf16>, %w: tensor<16x24x3x3xbf16>) -> tensor<277x16x61x31xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, nd.declared = bf16} : (tensor<277x24x61x31xbf16>, tensor<16x24x3x3xbf16>) -> tensor<277x16x61x31xf32>
  %cast = nd.cast %conv : tensor<277x16x61x31xf32> -> tensor<277x16x61x31xbf16>
  func.return %cast : tensor<277x16x61x31xbf16>
}

// Left alone: 3x3 windows at strides of 2 read a pixel twice, which takes less than its copy; rows of 32 bytes begin
// where sectors do.
// CHECK-LABEL: func.func @split_sectors_strided
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @whole_sectors
// CHECK-NEXT:    nd.conv %x, %w
func.func @split_sectors_strided(%x: tensor<176x31x96x24xbf16>, %w: tensor<16x3x3x24xbf16>) -> tensor<176x16x48x16xbf16> {
  %conv = nd.conv %x, %w {strides = [2, 2], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<176x31x96x24xbf16>, tensor<16x3x3x24xbf16>) -> tensor<176x16x48x16xf32>
  %cast = nd.cast %conv : tensor<176x16x48x16xf32> -> tensor<176x16x48x16xbf16>
  func.return %cast : tensor<176x16x48x16xbf16>
}
func.func @whole_sectors(%x: tensor<505x17x61x16xbf16>, %w: tensor<16x3x3x16xbf16>) -> tensor<505x17x61x16xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<505x17x61x16xbf16>, tensor<16x3x3x16xbf16>) -> tensor<505x17x61x16xf32>
  %cast = nd.cast %conv : tensor<505x17x61x16xf32> -> tensor<505x17x61x16xbf16>
  func.return %cast : tensor<505x17x61x16xbf16>
}

// Channels of each of several groups have zeros behind them, so that a step of 16 is inside of one group.
// CHECK-LABEL: func.func @groups_of_8
// CHECK-NEXT:    %[[G:.*]] = nd.reshape %x : tensor<62x56x56x64xbf16> -> tensor<62x56x56x8x8xbf16>
// CHECK:         %[[Z:.*]] = nd.pad %[[G]], {{.*}} {low = [0, 0, 0, 0, 0], high = [0, 0, 0, 0, 8]}
// CHECK-NEXT:    %[[X:.*]] = nd.reshape %[[Z]] : {{.*}} -> tensor<62x56x56x128xbf16>
// CHECK:         %[[W:.*]] = nd.pad %w, {{.*}} {low = [0, 0, 0, 0], high = [0, 0, 0, 8]}
// CHECK-NEXT:    nd.conv %[[X]], %[[W]] {{.*}}groups = 8,
// SM80-LABEL:  func.func @groups_of_8
// SM80-NEXT:     nd.conv %x, %w
func.func @groups_of_8(%x: tensor<62x56x56x64xbf16>, %w: tensor<192x3x3x8xbf16>) -> tensor<62x56x56x192xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 8, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<62x56x56x64xbf16>, tensor<192x3x3x8xbf16>) -> tensor<62x56x56x192xf32>
  %cast = nd.cast %conv : tensor<62x56x56x192xf32> -> tensor<62x56x56x192xbf16>
  func.return %cast : tensor<62x56x56x192xbf16>
}

// Channels first: one copy permutes and fills. Groups of 24 channels are too long for sums in registers.
// CHECK-LABEL: func.func @groups_of_24_first
// CHECK-NEXT:    %[[G:.*]] = nd.reshape %x : tensor<34x192x31x61xbf16> -> tensor<34x8x24x31x61xbf16>
// CHECK-NEXT:    %[[P:.*]] = nd.permute %[[G]] {permutation = [0, 3, 4, 1, 2]}
// CHECK:         %[[Z:.*]] = nd.pad %[[P]], {{.*}} {low = [0, 0, 0, 0, 0], high = [0, 0, 0, 0, 8]}
// CHECK-NEXT:    %[[X:.*]] = nd.reshape %[[Z]] : {{.*}} -> tensor<34x31x61x256xbf16>
// CHECK:         nd.conv %[[X]], {{.*}}groups = 8, {{.*}}x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2]
func.func @groups_of_24_first(%x: tensor<34x192x31x61xbf16>, %w: tensor<128x24x3x3xbf16>) -> tensor<34x128x31x61xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 8, nd.declared = bf16} : (tensor<34x192x31x61xbf16>, tensor<128x24x3x3xbf16>) -> tensor<34x128x31x61xf32>
  %cast = nd.cast %conv : tensor<34x128x31x61xf32> -> tensor<34x128x31x61xbf16>
  func.return %cast : tensor<34x128x31x61xbf16>
}

// Left alone: with as few outputs as channels, and with two channels, sums in registers take no longer than pixels of
// zeros; zeros between elements of x are beyond the im2col mode.
// CHECK-LABEL: func.func @groups_of_8_to_8
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @groups_of_2
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @groups_transposed
// CHECK-NEXT:    nd.conv %x, %w
func.func @groups_of_8_to_8(%x: tensor<128x56x56x256xbf16>, %w: tensor<256x3x3x8xbf16>) -> tensor<128x56x56x256xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 32, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<128x56x56x256xbf16>, tensor<256x3x3x8xbf16>) -> tensor<128x56x56x256xf32>
  %cast = nd.cast %conv : tensor<128x56x56x256xf32> -> tensor<128x56x56x256xbf16>
  func.return %cast : tensor<128x56x56x256xbf16>
}
func.func @groups_of_2(%x: tensor<512x17x56x16xbf16>, %w: tensor<96x3x3x2xbf16>) -> tensor<512x17x56x96xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 8, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<512x17x56x16xbf16>, tensor<96x3x3x2xbf16>) -> tensor<512x17x56x96xf32>
  %cast = nd.cast %conv : tensor<512x17x56x96xf32> -> tensor<512x17x56x96xbf16>
  func.return %cast : tensor<512x17x56x96xbf16>
}
func.func @groups_transposed(%x: tensor<62x28x28x64xbf16>, %w: tensor<192x4x4x8xbf16>) -> tensor<62x56x56x192xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [2, 2], high = [2, 2], dilation = [1, 1], input_dilation = [2, 2], groups = 8, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<62x28x28x64xbf16>, tensor<192x4x4x8xbf16>) -> tensor<62x56x56x192xf32>
  %cast = nd.cast %conv : tensor<62x56x56x192xf32> -> tensor<62x56x56x192xbf16>
  func.return %cast : tensor<62x56x56x192xbf16>
}

// A kernel whose taps are innermost is turned by itself.
// CHECK-LABEL: func.func @kernel_alone
// CHECK-NEXT:    %[[W:.*]] = nd.permute %w {permutation = [0, 2, 3, 1]}
// CHECK-NEXT:    nd.conv %x, %[[W]]
// CPU-LABEL:   func.func @kernel_alone
// CPU-NEXT:      %[[W:.*]] = nd.permute %w {permutation = [0, 2, 3, 1]}
// CPU-NEXT:      nd.conv %x, %[[W]] {{.*}}kernel_axes = [0, 3, 1, 2]
func.func @kernel_alone(%x: tensor<64x28x28x128xbf16>, %w: tensor<128x128x3x3xbf16>) -> tensor<64x28x28x128xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<64x28x28x128xbf16>, tensor<128x128x3x3xbf16>) -> tensor<64x28x28x128xf32>
  %cast = nd.cast %conv : tensor<64x28x28x128xf32> -> tensor<64x28x28x128xbf16>
  func.return %cast : tensor<64x28x28x128xbf16>
}

// Two convolutions share a copy of what they read.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:    %[[X:.*]] = nd.permute %x
// CHECK-NOT:     nd.permute %x
// CHECK:         nd.conv %[[X]]
// CHECK:         nd.conv %[[X]]
func.func @shared(%x: tensor<64x128x28x28xbf16>, %w: tensor<128x128x3x3xbf16>, %v: tensor<128x128x1x3xbf16>) -> (tensor<64x128x26x26xbf16>, tensor<64x128x28x26xbf16>) {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, nd.declared = bf16} : (tensor<64x128x28x28xbf16>, tensor<128x128x3x3xbf16>) -> tensor<64x128x26x26xf32>
  %conv_1 = nd.conv %x, %v {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, nd.declared = bf16} : (tensor<64x128x28x28xbf16>, tensor<128x128x1x3xbf16>) -> tensor<64x128x28x26xf32>
  %cast = nd.cast %conv : tensor<64x128x26x26xf32> -> tensor<64x128x26x26xbf16>
  %cast_1 = nd.cast %conv_1 : tensor<64x128x28x26xf32> -> tensor<64x128x28x26xbf16>
  func.return %cast, %cast_1 : tensor<64x128x26x26xbf16>, tensor<64x128x28x26xbf16>
}

// The kernel of a depthwise convolution has output channels last, as x and the result have them, on every target.
// CHECK-LABEL: func.func @depthwise
// CHECK-NEXT:    %[[W:.*]] = nd.permute %w {permutation = [1, 2, 3, 0]}
// CHECK-NEXT:    nd.conv %x, %[[W]] {{.*}}groups = 96, {{.*}}kernel_axes = [3, 0, 1, 2]
// SM80-LABEL:  func.func @depthwise
// SM80-NEXT:     nd.permute %w {permutation = [1, 2, 3, 0]}
func.func @depthwise(%x: tensor<64x56x56x96xbf16>, %w: tensor<96x1x7x7xbf16>) -> tensor<64x56x56x96xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 96, x_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<64x56x56x96xbf16>, tensor<96x1x7x7xbf16>) -> tensor<64x56x56x96xf32>
  %cast = nd.cast %conv : tensor<64x56x56x96xf32> -> tensor<64x56x56x96xbf16>
  func.return %cast : tensor<64x56x56x96xbf16>
}

// Left alone: depthwise with channels first, of few points, with a kernel that lies so.
// CHECK-LABEL: func.func @depthwise_first
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @depthwise_small
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @depthwise_turned
// CHECK-NEXT:    nd.conv %x, %w
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

// Left alone: arrays that tensor maps read, a small convolution, few channels, groups of few, f32, and zeros between
// the elements of x over which a window moves by three.
// CHECK-LABEL: func.func @as_they_are
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @small
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @few
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @groups_of_few
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @wide
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @dilated
// CHECK-NEXT:    nd.conv %x, %w
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
func.func @dilated(%x: tensor<64x128x28x28xbf16>, %w: tensor<128x128x3x3xbf16>) -> tensor<64x128x18x18xbf16> {
  %conv = nd.conv %x, %w {strides = [3, 3], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [2, 2], groups = 1, nd.declared = bf16} : (tensor<64x128x28x28xbf16>, tensor<128x128x3x3xbf16>) -> tensor<64x128x18x18xf32>
  %cast = nd.cast %conv : tensor<64x128x18x18xf32> -> tensor<64x128x18x18xbf16>
  func.return %cast : tensor<64x128x18x18xbf16>
}

// A transposed convolution goes over pixels as any other: a phase of it reads no zeros.
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT:    %[[X:.*]] = nd.permute %x {permutation = [0, 2, 3, 1]}
// CHECK-NEXT:    %[[W:.*]] = nd.permute %w {permutation = [0, 2, 3, 1]}
// CHECK-NEXT:    nd.conv %[[X]], %[[W]]
func.func @transposed(%x: tensor<64x128x28x28xbf16>, %w: tensor<128x128x3x3xbf16>) -> tensor<64x128x53x53xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [2, 2], groups = 1, nd.declared = bf16} : (tensor<64x128x28x28xbf16>, tensor<128x128x3x3xbf16>) -> tensor<64x128x53x53xf32>
  %cast = nd.cast %conv : tensor<64x128x53x53xf32> -> tensor<64x128x53x53xbf16>
  func.return %cast : tensor<64x128x53x53xbf16>
}

// The gradient of a kernel reads both arrays as they lie, with channels last: pixels are along K. Of channels first it has
// copies whose images are innermost.
// CHECK-LABEL: func.func @gradient
// CHECK-NEXT:    nd.conv %x, %g
func.func @gradient(%x: tensor<64x28x28x128xbf16>, %g: tensor<64x28x28x128xbf16>) -> tensor<128x3x3x128xf32> {
  %conv = nd.conv %x, %g {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2], result_axes = [3, 0, 1, 2]} : tensor<64x28x28x128xbf16> -> tensor<128x3x3x128xf32>
  func.return %conv : tensor<128x3x3x128xf32>
}

// CHECK-LABEL: func.func @gradient_first
// CHECK-NEXT:    nd.permute %x
// CHECK-NEXT:    nd.permute %g
// CHECK-NEXT:    nd.conv
func.func @gradient_first(%x: tensor<64x128x28x28xbf16>, %g: tensor<64x128x28x28xbf16>) -> tensor<128x128x3x3xf32> {
  %conv = nd.conv %x, %g {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [1, 0, 2, 3], kernel_axes = [1, 0, 2, 3], result_axes = [1, 0, 2, 3]} : tensor<64x128x28x28xbf16> -> tensor<128x128x3x3xf32>
  func.return %conv : tensor<128x128x3x3xf32>
}

// Images: a row of taps and its channels is one of 32 elements, from a whole pair of elements of x on. Of an image of odd
// rows none is a pair, and K of 11 rows is too long.
// CHECK-LABEL: func.func @image
// CHECK:         %[[K:.*]] = nd.pad %{{.*}}, %{{.*}} {low = [0, 0, 1], high = [0, 0, 10]} : (tensor<64x7x21xbf16>, tensor<bf16>) -> tensor<64x7x32xbf16>
// CHECK:         %[[X:.*]] = nd.reshape %x : tensor<64x224x224x3xbf16> -> tensor<64x224x672x1xbf16>
// CHECK:         %[[W:.*]] = nd.reshape %[[K]] : tensor<64x7x32xbf16> -> tensor<64x7x32x1xbf16>
// CHECK:         nd.conv %[[X]], %[[W]] {strides = [2, 6], low = [3, 10], high = [3, 16], {{.*}}taps = [1, 22]
// SM80-LABEL:  func.func @image
// SM80-NEXT:     nd.conv %x, %w
func.func @image(%x: tensor<64x224x224x3xbf16>, %w: tensor<64x7x7x3xbf16>) -> tensor<64x112x112x64xf32> {
  %conv = nd.conv %x, %w {strides = [2, 2], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x224x224x3xbf16>, tensor<64x7x7x3xbf16>) -> tensor<64x112x112x64xf32>
  func.return %conv : tensor<64x112x112x64xf32>
}

// CHECK-LABEL: func.func @odd_rows
// CHECK:         nd.conv {{.*}}low = [3, 9], {{.*}}taps = [0, 21]
func.func @odd_rows(%x: tensor<64x225x225x3xbf16>, %w: tensor<64x7x7x3xbf16>) -> tensor<64x113x113x64xf32> {
  %conv = nd.conv %x, %w {strides = [2, 2], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x225x225x3xbf16>, tensor<64x7x7x3xbf16>) -> tensor<64x113x113x64xf32>
  func.return %conv : tensor<64x113x113x64xf32>
}

// Frames: K has the rows of taps of three images.
// CHECK-LABEL: func.func @frames
// CHECK:         %[[K:.*]] = nd.pad %{{.*}} -> tensor<64x3x7x32xbf16>
// CHECK:         %[[X:.*]] = nd.reshape %x : tensor<16x16x112x112x3xbf16> -> tensor<16x16x112x336x1xbf16>
// CHECK:         nd.conv %[[X]], %{{.*}} {strides = [1, 2, 6], low = [1, 3, 10], high = [1, 3, 16], {{.*}}taps = [1, 22]
func.func @frames(%x: tensor<16x16x112x112x3xbf16>, %w: tensor<64x3x7x7x3xbf16>) -> tensor<16x16x56x56x64xf32> {
  %conv = nd.conv %x, %w {strides = [1, 2, 2], low = [1, 3, 3], high = [1, 3, 3], dilation = [1, 1, 1], input_dilation = [1, 1, 1], groups = 1, x_axes = [0, 4, 1, 2, 3], kernel_axes = [0, 4, 1, 2, 3], result_axes = [0, 4, 1, 2, 3]} : (tensor<16x16x112x112x3xbf16>, tensor<64x3x7x7x3xbf16>) -> tensor<16x16x56x56x64xf32>
  func.return %conv : tensor<16x16x56x56x64xf32>
}

// CHECK-LABEL: func.func @long_k
// CHECK-NEXT:    nd.conv %x, %w
func.func @long_k(%x: tensor<64x227x227x3xbf16>, %w: tensor<64x11x11x3xbf16>) -> tensor<64x55x55x64xf32> {
  %conv = nd.conv %x, %w {strides = [4, 4], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x227x227x3xbf16>, tensor<64x11x11x3xbf16>) -> tensor<64x55x55x64xf32>
  func.return %conv : tensor<64x55x55x64xf32>
}

// Few output channels take as long to gather for as many do.
// CHECK-LABEL: func.func @few_outputs
// CHECK-NEXT:    %[[X:.*]] = nd.permute %x {permutation = [0, 2, 3, 1]}
// CHECK-NEXT:    %[[W:.*]] = nd.permute %w {permutation = [0, 2, 3, 1]}
// CHECK-NEXT:    nd.conv %[[X]], %[[W]]
func.func @few_outputs(%x: tensor<32x32x56x56xbf16>, %w: tensor<16x32x3x3xbf16>) -> tensor<32x16x56x56xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, nd.declared = bf16} : (tensor<32x32x56x56xbf16>, tensor<16x32x3x3xbf16>) -> tensor<32x16x56x56xf32>
  %cast = nd.cast %conv : tensor<32x16x56x56xf32> -> tensor<32x16x56x56xbf16>
  func.return %cast : tensor<32x16x56x56xbf16>
}

// A product whose rows lie on both sides of what is contracted, and whose columns a permute moves there, is a
// convolution of one tap with channels first: its kernel has what follows.
// CHECK-LABEL: func.func @points_first
// CHECK-NEXT:    %[[W:.*]] = nd.reshape %w : tensor<128x96xbf16> -> tensor<128x1x1x96xbf16>
// CHECK-NEXT:    %[[X:.*]] = nd.permute %x {permutation = [0, 2, 3, 1]}
// CHECK-NEXT:    %[[Y:.*]] = nd.conv %[[X]], %[[W]] {{.*}}, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], nd.declared = bf16} : {{.*}} -> tensor<48x128x48x56xf32>
// CHECK-NEXT:    nd.relu %[[Y]]
// SM80-LABEL:  func.func @points_first
// SM80-NEXT:     nd.matmul %x, %w
func.func @points_first(%x: tensor<48x96x48x56xbf16>, %w: tensor<128x96xbf16>) -> tensor<48x128x48x56xbf16> {
  %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : (tensor<48x96x48x56xbf16>, tensor<128x96xbf16>) -> tensor<48x48x56x128xf32>
  %y = nd.permute %0 {permutation = [0, 3, 1, 2], nd.declared = bf16} : tensor<48x48x56x128xf32> -> tensor<48x128x48x56xf32>
  %1 = nd.relu %y {nd.declared = bf16} : tensor<48x128x48x56xf32>
  %2 = nd.cast %1 : tensor<48x128x48x56xf32> -> tensor<48x128x48x56xbf16>
  func.return %2 : tensor<48x128x48x56xbf16>
}

// Left alone: what follows has many instructions for an element, which take longer behind products of warp groups than
// in a kernel of its own.
// CHECK-LABEL: func.func @points_before_gelu
// CHECK-NEXT:    nd.matmul %x, %w
func.func @points_before_gelu(%x: tensor<88x96x31x48xbf16>, %w: tensor<96x96xbf16>) -> tensor<88x96x31x48xbf16> {
  %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : (tensor<88x96x31x48xbf16>, tensor<96x96xbf16>) -> tensor<88x31x48x96xf32>
  %y = nd.permute %0 {permutation = [0, 3, 1, 2], nd.declared = bf16} : tensor<88x31x48x96xf32> -> tensor<88x96x31x48xf32>
  %half = nd.constant 0.5 : tensor<88x96x31x48xf32>
  %1 = nd.mul %y, %half : tensor<88x96x31x48xf32>
  %root = nd.constant 0.70710677 : tensor<88x96x31x48xf32>
  %2 = nd.mul %y, %root : tensor<88x96x31x48xf32>
  %3 = nd.erf %2 {nd.relaxed} : tensor<88x96x31x48xf32>
  %one = nd.constant 1.0 : tensor<88x96x31x48xf32>
  %4 = nd.add %3, %one : tensor<88x96x31x48xf32>
  %5 = nd.mul %1, %4 {nd.declared = bf16} : tensor<88x96x31x48xf32>
  %6 = nd.cast %5 : tensor<88x96x31x48xf32> -> tensor<88x96x31x48xbf16>
  func.return %6 : tensor<88x96x31x48xbf16>
}

// Left alone: few outputs that nothing follows take less than the copy of so many channels; rows on one side of what is
// contracted; a product whose columns stay.
// CHECK-LABEL: func.func @points_few_outputs
// CHECK-NEXT:    nd.matmul %x, %w
// CHECK-LABEL: func.func @points_one_image
// CHECK-NEXT:    nd.matmul %x, %w
// CHECK-LABEL: func.func @points_last
// CHECK-NEXT:    nd.matmul %x, %w
func.func @points_few_outputs(%x: tensor<56x256x28x31xbf16>, %w: tensor<24x256xbf16>) -> tensor<56x24x28x31xbf16> {
  %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : (tensor<56x256x28x31xbf16>, tensor<24x256xbf16>) -> tensor<56x28x31x24xf32>
  %y = nd.permute %0 {permutation = [0, 3, 1, 2], nd.declared = bf16} : tensor<56x28x31x24xf32> -> tensor<56x24x28x31xf32>
  %1 = nd.cast %y : tensor<56x24x28x31xf32> -> tensor<56x24x28x31xbf16>
  func.return %1 : tensor<56x24x28x31xbf16>
}
func.func @points_one_image(%x: tensor<1x96x480x560xbf16>, %w: tensor<128x96xbf16>) -> tensor<1x128x480x560xbf16> {
  %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : (tensor<1x96x480x560xbf16>, tensor<128x96xbf16>) -> tensor<1x480x560x128xf32>
  %y = nd.permute %0 {permutation = [0, 3, 1, 2], nd.declared = bf16} : tensor<1x480x560x128xf32> -> tensor<1x128x480x560xf32>
  %1 = nd.relu %y {nd.declared = bf16} : tensor<1x128x480x560xf32>
  %2 = nd.cast %1 : tensor<1x128x480x560xf32> -> tensor<1x128x480x560xbf16>
  func.return %2 : tensor<1x128x480x560xbf16>
}
func.func @points_last(%x: tensor<48x96x48x56xbf16>, %w: tensor<128x96xbf16>) -> tensor<48x48x56x128xbf16> {
  %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : (tensor<48x96x48x56xbf16>, tensor<128x96xbf16>) -> tensor<48x48x56x128xf32>
  %1 = nd.relu %0 {nd.declared = bf16} : tensor<48x48x56x128xf32>
  %2 = nd.cast %1 : tensor<48x48x56x128xf32> -> tensor<48x48x56x128xbf16>
  func.return %2 : tensor<48x48x56x128xbf16>
}

// Rows of 17 places leave almost half of the threads of rows of 32 nothing to multiply: where the result has channels
// last, a depthwise convolution reads a copy of x that has, too. Of 3x3 taps there is too little to multiply, and of rows
// of 28 too little beyond them.
// CHECK-LABEL: func.func @depthwise_short_rows
// CHECK-NEXT:    %[[X:.*]] = nd.permute %x {permutation = [0, 2, 3, 1]}
// CHECK-NEXT:    %[[W:.*]] = nd.permute %w {permutation = [1, 2, 3, 0]}
// CHECK-NEXT:    nd.conv %[[X]], %[[W]] {{.*}}result_axes = [0, 3, 1, 2], x_axes = [0, 3, 1, 2], kernel_axes = [3, 0, 1, 2], nd.declared = bf16}
// CHECK-LABEL: func.func @depthwise_few_taps
// CHECK-NEXT:    nd.conv %x, %w
// CHECK-LABEL: func.func @depthwise_long_rows
// CHECK-NEXT:    nd.conv %x, %w
// CPU-LABEL:   func.func @depthwise_short_rows
// CPU-NEXT:      nd.conv %x, %w
func.func @depthwise_short_rows(%x: tensor<120x128x48x17xbf16>, %w: tensor<128x1x7x7xbf16>) -> tensor<120x48x17x128xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 128, result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<120x128x48x17xbf16>, tensor<128x1x7x7xbf16>) -> tensor<120x48x17x128xf32>
  %cast = nd.cast %conv : tensor<120x48x17x128xf32> -> tensor<120x48x17x128xbf16>
  func.return %cast : tensor<120x48x17x128xbf16>
}
func.func @depthwise_few_taps(%x: tensor<120x128x48x17xbf16>, %w: tensor<128x1x3x3xbf16>) -> tensor<120x48x17x128xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 128, result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<120x128x48x17xbf16>, tensor<128x1x3x3xbf16>) -> tensor<120x48x17x128xf32>
  %cast = nd.cast %conv : tensor<120x48x17x128xf32> -> tensor<120x48x17x128xbf16>
  func.return %cast : tensor<120x48x17x128xbf16>
}
func.func @depthwise_long_rows(%x: tensor<120x128x28x28xbf16>, %w: tensor<128x1x7x7xbf16>) -> tensor<120x28x28x128xbf16> {
  %conv = nd.conv %x, %w {strides = [1, 1], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 128, result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<120x128x28x28xbf16>, tensor<128x1x7x7xbf16>) -> tensor<120x28x28x128xf32>
  %cast = nd.cast %conv : tensor<120x28x28x128xf32> -> tensor<120x28x28x128xbf16>
  func.return %cast : tensor<120x28x28x128xbf16>
}
