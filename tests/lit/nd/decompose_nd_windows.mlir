// RUN: irc-opt %s -p decompose-nd | filecheck %s

// CHECK-LABEL: @few
// CHECK:         nd.reduce_window %x {window = [1, 3, 3]
func.func @few(%x: tensor<4x16x16xf32>) -> tensor<4x14x14xf32> {
  %y = nd.reduce_window %x {window = [1, 3, 3], strides = [1, 1, 1], low = [0, 0, 0], high = [0, 0, 0], dilation = [1, 1, 1], input_dilation = [1, 1, 1], monoid = "sum"} : tensor<4x16x16xf32> -> tensor<4x14x14xf32>
  func.return %y : tensor<4x14x14xf32>
}

// Along one axis after another; what is between is not rounded.
// CHECK-LABEL: @many
// CHECK:         %[[ROWS:.*]] = nd.reduce_window %x {window = [1, 7, 1], strides = [1, 2, 1], {{.*}}} : tensor<4x16x16xbf16> -> tensor<4x5x16xf32>
// CHECK:         nd.reduce_window %[[ROWS]] {window = [1, 1, 7], strides = [1, 1, 3], {{.*}}} : tensor<4x5x16xf32> -> tensor<4x5x4xbf16>
func.func @many(%x: tensor<4x16x16xbf16>) -> tensor<4x5x4xbf16> {
  %y = nd.reduce_window %x {window = [1, 7, 7], strides = [1, 2, 3], low = [0, 0, 0], high = [0, 0, 0], dilation = [1, 1, 1], input_dilation = [1, 1, 1], monoid = "sum"} : tensor<4x16x16xbf16> -> tensor<4x5x4xbf16>
  func.return %y : tensor<4x5x4xbf16>
}

// CHECK-LABEL: @apart
// CHECK:         %[[PART:.*]] = nd.slice %x {starts = [0, 0], stops = [4, 80], steps = [1, 1]}
// CHECK:         %[[WINDOWS:.*]] = nd.reshape %[[PART]] : tensor<4x80xf32> -> tensor<4x2x40xf32>
// CHECK:         nd.max %[[WINDOWS]] {axes = [2]} : tensor<4x2x40xf32> -> tensor<4x2xf32>
func.func @apart(%x: tensor<4x90xf32>) -> tensor<4x2xf32> {
  %y = nd.reduce_window %x {window = [1, 40], strides = [1, 40], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], monoid = "max"} : tensor<4x90xf32> -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}

// Long windows that overlap stay.
// CHECK-LABEL: @long
// CHECK:         nd.reduce_window %x {window = [1, 40]
func.func @long(%x: tensor<4x90xf32>) -> tensor<4x51xf32> {
  %y = nd.reduce_window %x {window = [1, 40], strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], monoid = "max"} : tensor<4x90xf32> -> tensor<4x51xf32>
  func.return %y : tensor<4x51xf32>
}
