// RUN: irc-opt %s -p fuse-kernels | filecheck %s
// RUN: irc-opt %s --arch cpu -p fuse-kernels | filecheck %s --check-prefix=CPU

// One word that is normalized before it meets the rows of weights is normalized by each block that multiplies some of
// them. What is normalized, the sum of two arrays, ends a kernel of its own.
// CHECK-LABEL: func.func @norm
// CHECK:      %[[X:.*]] = kernel.fused @norm_0 map
// CHECK:      %[[ROW:.*]] = nd.reshape %[[X]] : tensor<1x2048xbf16> -> tensor<2048xbf16>
// CHECK:      kernel.fused @norm_1 reduce ({{.*}} = %[[ROW]] : tensor<2048xbf16>
// CHECK:        %[[MEAN:.*]] = nd.sum {{.*}} {axes = [1]} : tensor<2048x2048xf32> -> tensor<2048xf32>
// CHECK:        nd.add %[[MEAN]]
// CHECK:        nd.rsqrt
// CHECK:        nd.sum {{.*}} {axes = [1]} : tensor<2048x2048xf32> -> tensor<2048xf32>
// CHECK:        nd.sum {{.*}} {axes = [1]} : tensor<2048x2048xf32> -> tensor<2048xf32>
// CHECK:        nd.mul
// CHECK:        kernel.yield {{%[^ ,]*}} : tensor<2048xf32>
// CHECK-NOT:  kernel.fused
// CHECK:      func.return
// CPU-LABEL: func.func @norm
// CPU: kernel.fused {{.*}} reduce
// CPU-SAME: -> (tensor<1x2048xbf16>, tensor<1x2048xbf16>)
func.func @norm(%a: tensor<1x2048xbf16>, %b: tensor<1x2048xbf16>, %g: tensor<2048xbf16>, %w: tensor<2048x2048xbf16>, %v: tensor<2048x2048xbf16>) -> (tensor<1x2048xbf16>, tensor<2048xf32>) {
  %0 = nd.cast %a : tensor<1x2048xbf16> -> tensor<1x2048xf32>
  %1 = nd.cast %b : tensor<1x2048xbf16> -> tensor<1x2048xf32>
  %2 = nd.add %0, %1 {nd.declared = bf16} : tensor<1x2048xf32>
  %3 = nd.cast %2 : tensor<1x2048xf32> -> tensor<1x2048xbf16>
  %4 = nd.mul %2, %2 : tensor<1x2048xf32>
  %5 = nd.sum %4 {axes = [1]} : tensor<1x2048xf32> -> tensor<1xf32>
  %6 = nd.constant 1.0e-05 : tensor<1xf32>
  %7 = nd.add %5, %6 : tensor<1xf32>
  %8 = nd.rsqrt %7 : tensor<1xf32>
  %9 = nd.broadcast %8 {dims = [0]} : tensor<1xf32> -> tensor<1x2048xf32>
  %10 = nd.mul %2, %9 : tensor<1x2048xf32>
  %11 = nd.cast %g : tensor<2048xbf16> -> tensor<2048xf32>
  %12 = nd.reshape %11 : tensor<2048xf32> -> tensor<1x2048xf32>
  %13 = nd.mul %10, %12 : tensor<1x2048xf32>
  %14 = nd.cast %13 : tensor<1x2048xf32> -> tensor<1x2048xbf16>
  %15 = nd.cast %14 : tensor<1x2048xbf16> -> tensor<1x2048xf32>
  %16 = nd.reshape %15 : tensor<1x2048xf32> -> tensor<2048xf32>
  %17 = nd.broadcast %16 {dims = [1]} : tensor<2048xf32> -> tensor<2048x2048xf32>
  %18 = nd.cast %w : tensor<2048x2048xbf16> -> tensor<2048x2048xf32>
  %19 = nd.mul %18, %17 : tensor<2048x2048xf32>
  %20 = nd.sum %19 {axes = [1]} : tensor<2048x2048xf32> -> tensor<2048xf32>
  %21 = nd.cast %v : tensor<2048x2048xbf16> -> tensor<2048x2048xf32>
  %22 = nd.mul %21, %17 : tensor<2048x2048xf32>
  %23 = nd.sum %22 {axes = [1]} : tensor<2048x2048xf32> -> tensor<2048xf32>
  %24 = nd.mul %20, %23 : tensor<2048xf32>
  func.return %3, %24 : tensor<1x2048xbf16>, tensor<2048xf32>
}

// Left alone: what something else reads too, and what is repeated so often that it takes longer than a launch.
// CHECK-LABEL: func.func @stored
// CHECK: kernel.fused @stored_0 reduce
// CHECK-SAME: -> tensor<2048xf32>
// CHECK: kernel.fused @stored_1 reduce
// CHECK-SAME: -> tensor<2048xf32>
func.func @stored(%x: tensor<2048xf32>, %w: tensor<2048x2048xbf16>) -> (tensor<2048xf32>, tensor<2048xf32>) {
  %0 = nd.max %x {axes = [0]} : tensor<2048xf32> -> tensor<f32>
  %1 = nd.broadcast %0 {dims = []} : tensor<f32> -> tensor<2048xf32>
  %2 = nd.sub %x, %1 : tensor<2048xf32>
  %3 = nd.broadcast %2 {dims = [1]} : tensor<2048xf32> -> tensor<2048x2048xf32>
  %4 = nd.cast %w : tensor<2048x2048xbf16> -> tensor<2048x2048xf32>
  %5 = nd.mul %4, %3 : tensor<2048x2048xf32>
  %6 = nd.sum %5 {axes = [1]} : tensor<2048x2048xf32> -> tensor<2048xf32>
  func.return %2, %6 : tensor<2048xf32>, tensor<2048xf32>
}

// CHECK-LABEL: func.func @many
// CHECK: kernel.fused @many_0 reduce
// CHECK-SAME: -> tensor<2048xf32>
// CHECK: kernel.fused @many_1 reduce
// CHECK-SAME: -> tensor<131072xf32>
func.func @many(%x: tensor<2048xf32>, %w: tensor<131072x2048xbf16>) -> tensor<131072xf32> {
  %0 = nd.exp %x : tensor<2048xf32>
  %1 = nd.sum %0 {axes = [0]} : tensor<2048xf32> -> tensor<f32>
  %2 = nd.reciprocal %1 : tensor<f32>
  %3 = nd.broadcast %2 {dims = []} : tensor<f32> -> tensor<2048xf32>
  %4 = nd.mul %0, %3 : tensor<2048xf32>
  %5 = nd.broadcast %4 {dims = [1]} : tensor<2048xf32> -> tensor<131072x2048xf32>
  %6 = nd.cast %w : tensor<131072x2048xbf16> -> tensor<131072x2048xf32>
  %7 = nd.mul %6, %5 : tensor<131072x2048xf32>
  %8 = nd.sum %7 {axes = [1]} : tensor<131072x2048xf32> -> tensor<131072xf32>
  func.return %8 : tensor<131072xf32>
}

// One of several rows is read by one row of the domain alone.
// CHECK-LABEL: func.func @two_rows
// CHECK: kernel.fused @two_rows_0 reduce
// CHECK-SAME: -> tensor<2x512xf32>
// CHECK: kernel.fused @two_rows_1 reduce
func.func @two_rows(%x: tensor<2x512xf32>, %w: tensor<64x2x512xf32>) -> tensor<64x2xf32> {
  %0 = nd.max %x {axes = [1]} : tensor<2x512xf32> -> tensor<2xf32>
  %1 = nd.broadcast %0 {dims = [0]} : tensor<2xf32> -> tensor<2x512xf32>
  %2 = nd.sub %x, %1 : tensor<2x512xf32>
  %3 = nd.exp %2 : tensor<2x512xf32>
  %4 = nd.broadcast %3 {dims = [1, 2]} : tensor<2x512xf32> -> tensor<64x2x512xf32>
  %5 = nd.mul %w, %4 : tensor<64x2x512xf32>
  %6 = nd.sum %5 {axes = [2]} : tensor<64x2x512xf32> -> tensor<64x2xf32>
  func.return %6 : tensor<64x2xf32>
}

// Two of which one needs the other may be two kernels: what both read is stored for all rows by none.
// CHECK-LABEL: func.func @chain
// CHECK: kernel.fused @chain_0 reduce
// CHECK-SAME: -> tensor<512xf32>
// CHECK: nd.exp {{.*}} : tensor<512xf32>
// CHECK: kernel.fused @chain_1
func.func @chain(%x: tensor<512xf32>, %w: tensor<512x512xbf16>, %v: tensor<512x512xbf16>) -> tensor<512xf32> {
  %0 = nd.exp %x : tensor<512xf32>
  %1 = nd.sum %0 {axes = [0]} : tensor<512xf32> -> tensor<f32>
  %2 = nd.broadcast %1 {dims = []} : tensor<f32> -> tensor<512xf32>
  %3 = nd.div %0, %2 : tensor<512xf32>
  %4 = nd.broadcast %3 {dims = [1]} : tensor<512xf32> -> tensor<512x512xf32>
  %5 = nd.cast %w : tensor<512x512xbf16> -> tensor<512x512xf32>
  %6 = nd.mul %5, %4 : tensor<512x512xf32>
  %7 = nd.sum %6 {axes = [1]} : tensor<512x512xf32> -> tensor<512xf32>
  %8 = nd.broadcast %7 {dims = [1]} : tensor<512xf32> -> tensor<512x512xf32>
  %9 = nd.cast %v : tensor<512x512xbf16> -> tensor<512x512xf32>
  %10 = nd.mul %9, %8 : tensor<512x512xf32>
  %11 = nd.add %10, %4 : tensor<512x512xf32>
  %12 = nd.sum %11 {axes = [1]} : tensor<512x512xf32> -> tensor<512xf32>
  func.return %12 : tensor<512xf32>
}
