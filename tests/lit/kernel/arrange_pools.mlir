// RUN: irc-opt %s -p arrange-convolutions | filecheck %s
// RUN: irc-opt %s -p arrange-convolutions --arch sm_80 | filecheck %s --check-prefix=ALONE
// RUN: irc-opt %s -p arrange-convolutions --arch cpu | filecheck %s --check-prefix=ALONE

// The elements of the windows at each place are a convolution at strides of two: no place of the last row of x is read.
// CHECK-LABEL: func.func @largest
// CHECK-NEXT:    %[[A:.*]] = nd.conv %x, %w {strides = [2, 2], low = [1, 1], high = [0, 0], {{.*}} nd.declared = bf16} : {{.*}} -> tensor<453x15x14x96xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.conv %x, %w {strides = [2, 2], low = [1, 0], high = [0, 1],
// CHECK-NEXT:    %[[C:.*]] = nd.conv %x, %w {strides = [2, 2], low = [0, 1], high = [0, 0],
// CHECK-NEXT:    %[[D:.*]] = nd.conv %x, %w {strides = [2, 2], low = [0, 0], high = [0, 1],
// CHECK-NEXT:    %[[AB:.*]] = nd.maximum %[[A]], %[[B]]
// CHECK-NEXT:    %[[ABC:.*]] = nd.maximum %[[AB]], %[[C]]
// CHECK-NEXT:    %[[ABCD:.*]] = nd.maximum %[[ABC]], %[[D]] {nd.declared = bf16}
// CHECK-NEXT:    nd.cast %[[ABCD]]
// ALONE-LABEL: func.func @largest
// ALONE-NEXT:    nd.conv
// ALONE-NEXT:    nd.reduce_window
func.func @largest(%x: tensor<453x31x28x32xbf16>, %w: tensor<96x3x3x32xbf16>) -> tensor<453x15x14x96xbf16> {
  %y = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2], nd.declared = bf16} : (tensor<453x31x28x32xbf16>, tensor<96x3x3x32xbf16>) -> tensor<453x31x28x96xf32>
  %p = nd.reduce_window %y {monoid = "max", window = [1, 2, 2, 1], strides = [1, 2, 2, 1], low = [0, 0, 0, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 1, 1, 1], nd.declared = bf16} : tensor<453x31x28x96xf32> -> tensor<453x15x14x96xf32>
  %0 = nd.cast %p : tensor<453x15x14x96xf32> -> tensor<453x15x14x96xbf16>
  func.return %0 : tensor<453x15x14x96xbf16>
}

// What is between them follows each, and what it reads is the same at each place. With channels first all read one copy.
// CHECK-LABEL: func.func @followed
// CHECK-NEXT:    %[[X:.*]] = nd.permute %x
// CHECK-NEXT:    %[[W:.*]] = nd.permute %w
// CHECK-DAG:     %[[HALF:.*]] = nd.constant 0.5 : tensor<64x64x32x32xf32>
// CHECK-DAG:     %[[BIAS:.*]] = nd.broadcast %b {dims = [1]} : tensor<64xf32> -> tensor<64x64x32x32xf32>
// CHECK:         %[[A:.*]] = nd.conv %[[X]], %[[W]] {strides = [2, 2], low = [1, 1], high = [0, 0],
// CHECK-NEXT:    %[[AB:.*]] = nd.add %[[A]], %[[BIAS]] {nd.declared = bf16} : tensor<64x64x32x32xf32>
// CHECK-NEXT:    %[[AR:.*]] = nd.mul %[[AB]], %[[HALF]]
// CHECK-NEXT:    %[[B:.*]] = nd.conv %[[X]], %[[W]] {strides = [2, 2], low = [1, 0], high = [0, 1],
// CHECK-NEXT:    %[[BB:.*]] = nd.add %[[B]], %[[BIAS]]
// CHECK-NEXT:    %[[BR:.*]] = nd.mul %[[BB]], %[[HALF]]
// CHECK-COUNT-2: nd.conv %[[X]], %[[W]]
// CHECK:         nd.add %[[AR]], %[[BR]]
// CHECK-NOT:     nd.reduce_window
// ALONE-LABEL: func.func @followed
// ALONE-COUNT-1: nd.conv
// ALONE:         nd.reduce_window
func.func @followed(%x: tensor<64x64x64x64xbf16>, %w: tensor<64x64x3x3xbf16>, %b: tensor<64xf32>) -> tensor<64x64x32x32xbf16> {
  %y = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, nd.declared = bf16} : (tensor<64x64x64x64xbf16>, tensor<64x64x3x3xbf16>) -> tensor<64x64x64x64xf32>
  %bias = nd.broadcast %b {dims = [1]} : tensor<64xf32> -> tensor<64x64x64x64xf32>
  %s = nd.add %y, %bias {nd.declared = bf16} : tensor<64x64x64x64xf32>
  %half = nd.constant 0.5 : tensor<64x64x64x64xf32>
  %m = nd.mul %s, %half : tensor<64x64x64x64xf32>
  %p = nd.reduce_window %m {monoid = "sum", window = [1, 1, 2, 2], strides = [1, 1, 2, 2], low = [0, 0, 0, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 1, 1, 1]} : tensor<64x64x64x64xf32> -> tensor<64x64x32x32xf32>
  %0 = nd.cast %p : tensor<64x64x32x32xf32> -> tensor<64x64x32x32xbf16>
  func.return %0 : tensor<64x64x32x32xbf16>
}

// Windows that a reshape has cut out are some, too. Those of whole axes that stand between others are none.
// CHECK-LABEL: func.func @cut
// CHECK-COUNT-4: nd.conv {{.*}} -> tensor<64x32x32x64xf32>
// CHECK-COUNT-3: nd.minimum
// CHECK-NOT:     nd.reshape
// CHECK-LABEL: func.func @outer
// CHECK-NEXT:    nd.conv {{.*}} -> tensor<64x64x64x64xf32>
// CHECK-NEXT:    nd.reshape
// CHECK-NEXT:    nd.min
// ALONE-LABEL: func.func @cut
// ALONE-NEXT:    nd.conv
// ALONE-NEXT:    nd.reshape
func.func @cut(%x: tensor<64x64x64x64xbf16>, %w: tensor<64x3x3x64xbf16>) -> tensor<64x32x32x64xf32> {
  %y = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x64x64x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<64x64x64x64xf32>
  %v = nd.reshape %y : tensor<64x64x64x64xf32> -> tensor<64x32x2x32x2x64xf32>
  %p = nd.min %v {axes = [2, 4]} : tensor<64x32x2x32x2x64xf32> -> tensor<64x32x32x64xf32>
  func.return %p : tensor<64x32x32x64xf32>
}
func.func @outer(%x: tensor<64x64x64x64xbf16>, %w: tensor<64x3x3x64xbf16>) -> tensor<64x32x64x64xf32> {
  %y = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x64x64x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<64x64x64x64xf32>
  %v = nd.reshape %y : tensor<64x64x64x64xf32> -> tensor<64x2x32x64x64xf32>
  %p = nd.min %v {axes = [1]} : tensor<64x2x32x64x64xf32> -> tensor<64x32x64x64xf32>
  func.return %p : tensor<64x32x64x64xf32>
}

// Left alone: windows that overlap, an array that differs from place to place, a result that is returned too, elements
// whose windows would begin inside of x, and columns that need more tiles than the pool takes.
// CHECK-LABEL: func.func @overlapping
// CHECK-NEXT:    nd.conv {{.*}} -> tensor<64x64x64x64xf32>
// CHECK-NEXT:    nd.reduce_window
// CHECK-LABEL: func.func @residual
// CHECK-NEXT:    nd.conv {{.*}} -> tensor<64x64x64x64xf32>
// CHECK-NEXT:    nd.add
// CHECK-NEXT:    nd.reduce_window
// CHECK-LABEL: func.func @returned
// CHECK-NEXT:    nd.conv {{.*}} -> tensor<64x64x64x64xf32>
// CHECK-NEXT:    nd.reduce_window
// CHECK-LABEL: func.func @inside
// CHECK-NEXT:    nd.conv {{.*}} -> tensor<64x62x62x64xf32>
// CHECK-NEXT:    nd.reduce_window
// CHECK-LABEL: func.func @wide
// CHECK-NEXT:    nd.conv {{.*}} -> tensor<64x64x64x256xf32>
// CHECK-NEXT:    nd.reduce_window
func.func @overlapping(%x: tensor<64x64x64x64xbf16>, %w: tensor<64x3x3x64xbf16>) -> tensor<64x31x31x64xf32> {
  %y = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x64x64x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<64x64x64x64xf32>
  %p = nd.reduce_window %y {monoid = "max", window = [1, 3, 3, 1], strides = [1, 2, 2, 1], low = [0, 0, 0, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 1, 1, 1]} : tensor<64x64x64x64xf32> -> tensor<64x31x31x64xf32>
  func.return %p : tensor<64x31x31x64xf32>
}
func.func @residual(%x: tensor<64x64x64x64xbf16>, %w: tensor<64x3x3x64xbf16>, %r: tensor<64x64x64x64xf32>) -> tensor<64x32x32x64xf32> {
  %y = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x64x64x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<64x64x64x64xf32>
  %s = nd.add %y, %r : tensor<64x64x64x64xf32>
  %p = nd.reduce_window %s {monoid = "max", window = [1, 2, 2, 1], strides = [1, 2, 2, 1], low = [0, 0, 0, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 1, 1, 1]} : tensor<64x64x64x64xf32> -> tensor<64x32x32x64xf32>
  func.return %p : tensor<64x32x32x64xf32>
}
func.func @returned(%x: tensor<64x64x64x64xbf16>, %w: tensor<64x3x3x64xbf16>) -> (tensor<64x32x32x64xf32>, tensor<64x64x64x64xf32>) {
  %y = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x64x64x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<64x64x64x64xf32>
  %p = nd.reduce_window %y {monoid = "max", window = [1, 2, 2, 1], strides = [1, 2, 2, 1], low = [0, 0, 0, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 1, 1, 1]} : tensor<64x64x64x64xf32> -> tensor<64x32x32x64xf32>
  func.return %p, %y : tensor<64x32x32x64xf32>, tensor<64x64x64x64xf32>
}
func.func @inside(%x: tensor<64x64x64x64xbf16>, %w: tensor<64x3x3x64xbf16>) -> tensor<64x31x31x64xf32> {
  %y = nd.conv %x, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x64x64x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<64x62x62x64xf32>
  %p = nd.reduce_window %y {monoid = "max", window = [1, 2, 2, 1], strides = [1, 2, 2, 1], low = [0, 0, 0, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 1, 1, 1]} : tensor<64x62x62x64xf32> -> tensor<64x31x31x64xf32>
  func.return %p : tensor<64x31x31x64xf32>
}
func.func @wide(%x: tensor<64x64x64x256xbf16>, %w: tensor<256x3x3x256xbf16>) -> tensor<64x32x32x256xf32> {
  %y = nd.conv %x, %w {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<64x64x64x256xbf16>, tensor<256x3x3x256xbf16>) -> tensor<64x64x64x256xf32>
  %p = nd.reduce_window %y {monoid = "max", window = [1, 2, 2, 1], strides = [1, 2, 2, 1], low = [0, 0, 0, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 1, 1, 1]} : tensor<64x64x64x256xf32> -> tensor<64x32x32x256xf32>
  func.return %p : tensor<64x32x32x256xf32>
}

// Four products in a tile are four times the work of one: where SMs have few of them, some would have one more.
// CHECK-LABEL: func.func @few_tiles
// CHECK-NEXT:    nd.conv {{.*}} -> tensor<60x48x17x48xf32>
// CHECK-NEXT:    nd.reduce_window
func.func @few_tiles(%x: tensor<60x48x17x256xbf16>, %w: tensor<48x7x7x256xbf16>) -> tensor<60x24x8x48xf32> {
  %y = nd.conv %x, %w {strides = [1, 1], low = [3, 3], high = [3, 3], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2], kernel_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<60x48x17x256xbf16>, tensor<48x7x7x256xbf16>) -> tensor<60x48x17x48xf32>
  %p = nd.reduce_window %y {monoid = "max", window = [1, 2, 2, 1], strides = [1, 2, 2, 1], low = [0, 0, 0, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 1, 1, 1]} : tensor<60x48x17x48xf32> -> tensor<60x24x8x48xf32>
  func.return %p : tensor<60x24x8x48xf32>
}
