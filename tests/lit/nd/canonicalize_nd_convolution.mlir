// RUN: irc-opt %s -p canonicalize-nd | filecheck %s

// Arrays with channels last are read and written as they lie.
// CHECK-LABEL: func.func @channels_last
// CHECK-NEXT:    %[[C:.*]] = nd.conv %x, %w {strides = [2, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [3, 2, 0, 1], result_axes = [0, 3, 1, 2]} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x4x8x6xf32>
// CHECK-NEXT:    func.return %[[C]]
func.func @channels_last(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) -> tensor<2x4x8x6xf32> {
  %a = nd.permute %x {permutation = [0, 3, 1, 2]} : tensor<2x8x8x4xf32> -> tensor<2x4x8x8xf32>
  %b = nd.permute %w {permutation = [3, 2, 0, 1]} : tensor<3x3x4x6xf32> -> tensor<6x4x3x3xf32>
  %c = nd.conv %a, %b {strides = [2, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x4x8xf32>
  %r = nd.permute %c {permutation = [0, 2, 3, 1]} : tensor<2x6x4x8xf32> -> tensor<2x4x8x6xf32>
  func.return %r : tensor<2x4x8x6xf32>
}

// Permutes go one after the other into axes that are in another order already.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    nd.conv %x, %w {{.*}}x_axes = [2, 0, 1], kernel_axes = [1, 2, 0], result_axes = [2, 0, 1]
// CHECK-NEXT:    func.return
func.func @twice(%x: tensor<4x9x2xf32>, %w: tensor<3x6x4xf32>) -> tensor<6x7x2xf32> {
  %a = nd.permute %x {permutation = [2, 1, 0]} : tensor<4x9x2xf32> -> tensor<2x9x4xf32>
  %c = nd.conv %a, %w {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1, x_axes = [0, 2, 1], kernel_axes = [1, 2, 0], result_axes = [0, 2, 1]} : (tensor<2x9x4xf32>, tensor<3x6x4xf32>) -> tensor<2x7x6xf32>
  %r = nd.permute %c {permutation = [2, 1, 0]} : tensor<2x7x6xf32> -> tensor<6x7x2xf32>
  func.return %r : tensor<6x7x2xf32>
}

// A kernel that is flipped along all spatial axes, also where another has one element; one that is flipped along some stays.
// CHECK-LABEL: func.func @flipped
// CHECK-NEXT:    nd.conv %x, %w {{.*}}groups = 1} :
// CHECK-NEXT:    nd.conv %x, %v {{.*}}groups = 1, flipped = true} :
// CHECK-NEXT:    nd.flip %w {axes = [3]}
// CHECK-NEXT:    nd.conv
// CHECK-NEXT:    func.return
func.func @flipped(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x2x3xf32>, %v: tensor<6x4x1x3xf32>) -> (tensor<1x6x7x6xf32>, tensor<1x6x8x6xf32>, tensor<1x6x7x6xf32>) {
  %a = nd.flip %w {axes = [2, 3]} : tensor<6x4x2x3xf32>
  %c = nd.conv %x, %a {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, flipped = true} : (tensor<1x4x8x8xf32>, tensor<6x4x2x3xf32>) -> tensor<1x6x7x6xf32>
  %b = nd.flip %v {axes = [3]} : tensor<6x4x1x3xf32>
  %d = nd.conv %x, %b {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<1x4x8x8xf32>, tensor<6x4x1x3xf32>) -> tensor<1x6x8x6xf32>
  %s = nd.flip %w {axes = [3]} : tensor<6x4x2x3xf32>
  %e = nd.conv %x, %s {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<1x4x8x8xf32>, tensor<6x4x2x3xf32>) -> tensor<1x6x7x6xf32>
  func.return %c, %d, %e : tensor<1x6x7x6xf32>, tensor<1x6x8x6xf32>, tensor<1x6x7x6xf32>
}

// Zeros around x are padding; other values, and zeros around channels or before what is dilated, are not.
// CHECK-LABEL: func.func @padded
// CHECK:         %[[A:.*]] = nd.pad %x, %zero
// CHECK-NEXT:    nd.conv %x, %w {strides = [1], low = [2], high = [3]
// CHECK-NEXT:    %[[B:.*]] = nd.pad %x, %one
// CHECK-NEXT:    nd.conv %[[B]], %w {strides = [1], low = [1], high = [1]
// CHECK-NEXT:    nd.conv %[[A]], %w {strides = [1], low = [1], high = [1]
// CHECK-NEXT:    func.return
func.func @padded(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>) -> (tensor<2x6x11xf32>, tensor<2x6x11xf32>, tensor<2x6x19xf32>) {
  %zero = nd.constant 0.0 : tensor<f32>
  %one = nd.constant 1.0 : tensor<f32>
  %a = nd.pad %x, %zero {low = [0, 0, 1], high = [0, 0, 2]} : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x11xf32>
  %c = nd.conv %a, %w {strides = [1], low = [1], high = [1], dilation = [1], input_dilation = [1], groups = 1} : (tensor<2x4x11xf32>, tensor<6x4x3xf32>) -> tensor<2x6x11xf32>
  %b = nd.pad %x, %one {low = [0, 0, 1], high = [0, 0, 2]} : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x11xf32>
  %d = nd.conv %b, %w {strides = [1], low = [1], high = [1], dilation = [1], input_dilation = [1], groups = 1} : (tensor<2x4x11xf32>, tensor<6x4x3xf32>) -> tensor<2x6x11xf32>
  %e = nd.conv %a, %w {strides = [1], low = [1], high = [1], dilation = [2], input_dilation = [2], groups = 1} : (tensor<2x4x11xf32>, tensor<6x4x3xf32>) -> tensor<2x6x19xf32>
  func.return %c, %d, %e : tensor<2x6x11xf32>, tensor<2x6x11xf32>, tensor<2x6x19xf32>
}

// Windows of one place: a product of the channels, of the rows of memory.
// CHECK-LABEL: func.func @points
// CHECK-NEXT:    %[[W:.*]] = nd.reshape %w : tensor<6x4x1x1xf32> -> tensor<6x4xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.matmul %x, %[[W]] {lhs_contract = [3], rhs_contract = [1]} : (tensor<2x8x8x4xf32>, tensor<6x4xf32>) -> tensor<2x8x8x6xf32>
// CHECK-NEXT:    func.return %[[M]]
func.func @points(%x: tensor<2x8x8x4xf32>, %w: tensor<6x4x1x1xf32>) -> tensor<2x8x8x6xf32> {
  %c = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<2x8x8x4xf32>, tensor<6x4x1x1xf32>) -> tensor<2x8x8x6xf32>
  func.return %c : tensor<2x8x8x6xf32>
}

// A window that covers an axis: a product of that axis, too.
// CHECK-LABEL: func.func @covered
// CHECK-NEXT:    %[[W:.*]] = nd.reshape %w : tensor<6x4x8x1xf32> -> tensor<6x4x8xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.matmul %x, %[[W]] {lhs_contract = [1, 2], rhs_contract = [1, 2]} : (tensor<2x4x8x5xf32>, tensor<6x4x8xf32>) -> tensor<2x5x6xf32>
// CHECK-NEXT:    %[[P:.*]] = nd.permute %[[M]] {permutation = [0, 2, 1]} : tensor<2x5x6xf32> -> tensor<2x6x5xf32>
// CHECK-NEXT:    nd.reshape %[[P]] : tensor<2x6x5xf32> -> tensor<2x6x1x5xf32>
// CHECK-NEXT:    func.return
func.func @covered(%x: tensor<2x4x8x5xf32>, %w: tensor<6x4x8x1xf32>) -> tensor<2x6x1x5xf32> {
  %c = nd.conv %x, %w {strides = [3, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x4x8x5xf32>, tensor<6x4x8x1xf32>) -> tensor<2x6x1x5xf32>
  func.return %c : tensor<2x6x1x5xf32>
}

// No products: strides, padding, groups, and a result that another op reads as it is.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT:    nd.conv
// CHECK-NEXT:    nd.conv
// CHECK-NEXT:    nd.conv
// CHECK-NEXT:    nd.permute
// CHECK-NEXT:    nd.neg
// CHECK-NEXT:    func.return
func.func @left_alone(%x: tensor<2x4x8xf32>, %w: tensor<6x4x1xf32>, %v: tensor<6x2x1xf32>) -> (tensor<2x6x4xf32>, tensor<2x6x10xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32>) {
  %a = nd.conv %x, %w {strides = [2], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1} : (tensor<2x4x8xf32>, tensor<6x4x1xf32>) -> tensor<2x6x4xf32>
  %b = nd.conv %x, %w {strides = [1], low = [1], high = [1], dilation = [1], input_dilation = [1], groups = 1} : (tensor<2x4x8xf32>, tensor<6x4x1xf32>) -> tensor<2x6x10xf32>
  %c = nd.conv %x, %v {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 2} : (tensor<2x4x8xf32>, tensor<6x2x1xf32>) -> tensor<2x6x8xf32>
  %p = nd.permute %c {permutation = [0, 2, 1]} : tensor<2x6x8xf32> -> tensor<2x8x6xf32>
  %n = nd.neg %c : tensor<2x6x8xf32>
  func.return %a, %b, %p, %n : tensor<2x6x4xf32>, tensor<2x6x10xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32>
}

// A transposed convolution of a few output channels whose windows do not meet is a product: its columns are the output
// channels at each tap, the last tap first where the kernel is not flipped. With more channels, where windows meet, and
// where the padding cuts some off, it is none.
// CHECK-LABEL: func.func @of_phases
// CHECK-NEXT:    %[[P:.*]] = nd.matmul %x, %w {lhs_contract = [3], rhs_contract = [0]} : (tensor<2x5x7x8xf32>, tensor<8x3x2x4xf32>) -> tensor<2x5x7x3x2x4xf32>
// CHECK-NEXT:    %[[Q:.*]] = nd.permute %[[P]] {permutation = [0, 1, 4, 2, 5, 3]} : tensor<2x5x7x3x2x4xf32> -> tensor<2x5x2x7x4x3xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.reshape %[[Q]]
// CHECK-NEXT:    %[[F:.*]] = nd.flip %v {axes = [2]}
// CHECK-NEXT:    %[[S:.*]] = nd.matmul %y, %[[F]] {lhs_contract = [1], rhs_contract = [1]} : (tensor<2x8x5xf32>, tensor<3x8x2xf32>) -> tensor<2x5x3x2xf32>
// CHECK-NEXT:    %[[T:.*]] = nd.permute %[[S]] {permutation = [0, 2, 1, 3]}
// CHECK-NEXT:    %[[U:.*]] = nd.reshape %[[T]] : tensor<2x3x5x2xf32> -> tensor<2x3x10xf32>
// CHECK-NEXT:    func.return %[[R]], %[[U]]
// CHECK-LABEL: func.func @not_of_phases
// CHECK-NEXT:    nd.conv
// CHECK-NEXT:    nd.conv
// CHECK-NEXT:    nd.conv
// CHECK-NEXT:    func.return
func.func @of_phases(%x: tensor<2x5x7x8xf32>, %w: tensor<8x3x2x4xf32>, %y: tensor<2x8x5xf32>, %v: tensor<3x8x2xf32>) -> (tensor<2x10x28x3xf32>, tensor<2x3x10xf32>) {
  %c = nd.conv %x, %w {strides = [1, 1], low = [1, 3], high = [1, 3], dilation = [1, 1], input_dilation = [2, 4], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [1, 0, 2, 3], result_axes = [0, 3, 1, 2], flipped = true} : (tensor<2x5x7x8xf32>, tensor<8x3x2x4xf32>) -> tensor<2x10x28x3xf32>
  %d = nd.conv %y, %v {strides = [1], low = [1], high = [1], dilation = [1], input_dilation = [2], groups = 1} : (tensor<2x8x5xf32>, tensor<3x8x2xf32>) -> tensor<2x3x10xf32>
  func.return %c, %d : tensor<2x10x28x3xf32>, tensor<2x3x10xf32>
}
func.func @not_of_phases(%y: tensor<2x8x5xf32>, %w: tensor<16x8x2xf32>, %v: tensor<3x8x3xf32>, %u: tensor<3x8x2xf32>) -> (tensor<2x16x10xf32>, tensor<2x3x11xf32>, tensor<2x3x9xf32>) {
  %c = nd.conv %y, %w {strides = [1], low = [1], high = [1], dilation = [1], input_dilation = [2], groups = 1} : (tensor<2x8x5xf32>, tensor<16x8x2xf32>) -> tensor<2x16x10xf32>
  %d = nd.conv %y, %v {strides = [1], low = [2], high = [2], dilation = [1], input_dilation = [2], groups = 1} : (tensor<2x8x5xf32>, tensor<3x8x3xf32>) -> tensor<2x3x11xf32>
  %e = nd.conv %y, %u {strides = [1], low = [0], high = [1], dilation = [1], input_dilation = [2], groups = 1} : (tensor<2x8x5xf32>, tensor<3x8x2xf32>) -> tensor<2x3x9xf32>
  func.return %c, %d, %e : tensor<2x16x10xf32>, tensor<2x3x11xf32>, tensor<2x3x9xf32>
}
