// RUN: irc-opt %s -p fuse-kernels | filecheck %s
// RUN: irc-opt %s --arch cpu -p fuse-kernels | filecheck %s --check-prefix=CPU

// Sums of products of one word with two small weights are one kernel: neither takes as long as a launch.
// CHECK-LABEL: func.func @keys_and_values
// CHECK: kernel.fused @keys_and_values_0 reduce
// CHECK-SAME: -> (tensor<512xf32>, tensor<512xf32>)
// CHECK-NOT: kernel.fused
// CHECK: func.return
// CPU-LABEL: func.func @keys_and_values
// CPU-COUNT-2: kernel.fused @keys_and_values_{{.}} reduce
func.func @keys_and_values(%x: tensor<2048xf32>, %k: tensor<512x2048xbf16>, %v: tensor<512x2048xbf16>) -> (tensor<512xf32>, tensor<512xf32>) {
  %0 = nd.broadcast %x {dims = [1]} : tensor<2048xf32> -> tensor<512x2048xf32>
  %1 = nd.cast %k : tensor<512x2048xbf16> -> tensor<512x2048xf32>
  %2 = nd.mul %1, %0 : tensor<512x2048xf32>
  %3 = nd.sum %2 {axes = [1]} : tensor<512x2048xf32> -> tensor<512xf32>
  %4 = nd.broadcast %x {dims = [1]} : tensor<2048xf32> -> tensor<512x2048xf32>
  %5 = nd.cast %v : tensor<512x2048xbf16> -> tensor<512x2048xf32>
  %6 = nd.mul %5, %4 : tensor<512x2048xf32>
  %7 = nd.sum %6 {axes = [1]} : tensor<512x2048xf32> -> tensor<512xf32>
  func.return %3, %7 : tensor<512xf32>, tensor<512xf32>
}

// Left alone: weights that take long to read, other rows, one that needs the other.
// CHECK-LABEL: func.func @large
// CHECK-COUNT-2: kernel.fused @large_{{.}} reduce
func.func @large(%x: tensor<2048xf32>, %k: tensor<2048x2048xbf16>, %v: tensor<2048x2048xbf16>) -> (tensor<2048xf32>, tensor<2048xf32>) {
  %0 = nd.broadcast %x {dims = [1]} : tensor<2048xf32> -> tensor<2048x2048xf32>
  %1 = nd.cast %k : tensor<2048x2048xbf16> -> tensor<2048x2048xf32>
  %2 = nd.mul %1, %0 : tensor<2048x2048xf32>
  %3 = nd.sum %2 {axes = [1]} : tensor<2048x2048xf32> -> tensor<2048xf32>
  %4 = nd.broadcast %x {dims = [1]} : tensor<2048xf32> -> tensor<2048x2048xf32>
  %5 = nd.cast %v : tensor<2048x2048xbf16> -> tensor<2048x2048xf32>
  %6 = nd.mul %5, %4 : tensor<2048x2048xf32>
  %7 = nd.sum %6 {axes = [1]} : tensor<2048x2048xf32> -> tensor<2048xf32>
  func.return %3, %7 : tensor<2048xf32>, tensor<2048xf32>
}

// CHECK-LABEL: func.func @other_rows
// CHECK-COUNT-2: kernel.fused @other_rows_{{.}} reduce
func.func @other_rows(%x: tensor<2048xf32>, %y: tensor<2048xf32>, %k: tensor<512x2048xbf16>, %v: tensor<512x2048xbf16>) -> (tensor<512xf32>, tensor<512xf32>) {
  %0 = nd.broadcast %x {dims = [1]} : tensor<2048xf32> -> tensor<512x2048xf32>
  %1 = nd.cast %k : tensor<512x2048xbf16> -> tensor<512x2048xf32>
  %2 = nd.mul %1, %0 : tensor<512x2048xf32>
  %3 = nd.sum %2 {axes = [1]} : tensor<512x2048xf32> -> tensor<512xf32>
  %4 = nd.broadcast %y {dims = [1]} : tensor<2048xf32> -> tensor<512x2048xf32>
  %5 = nd.cast %v : tensor<512x2048xbf16> -> tensor<512x2048xf32>
  %6 = nd.mul %5, %4 : tensor<512x2048xf32>
  %7 = nd.sum %6 {axes = [1]} : tensor<512x2048xf32> -> tensor<512xf32>
  func.return %3, %7 : tensor<512xf32>, tensor<512xf32>
}

// CHECK-LABEL: func.func @chain
// CHECK-COUNT-2: kernel.fused @chain_{{.}} reduce
func.func @chain(%x: tensor<512xf32>, %k: tensor<512x512xbf16>, %v: tensor<512x512xbf16>) -> tensor<512xf32> {
  %0 = nd.broadcast %x {dims = [1]} : tensor<512xf32> -> tensor<512x512xf32>
  %1 = nd.cast %k : tensor<512x512xbf16> -> tensor<512x512xf32>
  %2 = nd.mul %1, %0 : tensor<512x512xf32>
  %3 = nd.sum %2 {axes = [1]} : tensor<512x512xf32> -> tensor<512xf32>
  %4 = nd.add %3, %x : tensor<512xf32>
  %5 = nd.broadcast %4 {dims = [1]} : tensor<512xf32> -> tensor<512x512xf32>
  %6 = nd.cast %v : tensor<512x512xbf16> -> tensor<512x512xf32>
  %7 = nd.mul %6, %5 : tensor<512x512xf32>
  %8 = nd.add %7, %0 : tensor<512x512xf32>
  %9 = nd.sum %8 {axes = [1]} : tensor<512x512xf32> -> tensor<512xf32>
  func.return %9 : tensor<512xf32>
}
