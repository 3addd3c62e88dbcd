// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// Sums over many rows of what a product made, and what is computed of both: the gradient of a batch norm. No block holds a
// column, so that the product's kernel has both sums, and nothing is stored for the second one.
// CHECK-LABEL: func.func @many_rows
// CHECK:         kernel.fused @many_rows_0 matmul
// CHECK:           nd.matmul
// CHECK:           nd.sum
// CHECK:           nd.sum
// CHECK:           kernel.yield {{.*}} : tensor<8192x64xbf16>, tensor<64xf32>, tensor<64xf32>
// CHECK:         kernel.fused @many_rows_1 map
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @many_rows(%x: tensor<8192x64xbf16>, %w: tensor<64x64xbf16>, %z: tensor<8192x64xbf16>, %m: tensor<64xf32>) -> tensor<8192x64xbf16> {
  %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<8192x64xbf16>, tensor<64x64xbf16>) -> tensor<8192x64xf32>
  %1 = nd.sum %0 {axes = [0]} : tensor<8192x64xf32> -> tensor<64xf32>
  %2 = nd.cast %z : tensor<8192x64xbf16> -> tensor<8192x64xf32>
  %3 = nd.broadcast %m {dims = [1]} : tensor<64xf32> -> tensor<8192x64xf32>
  %4 = nd.sub %2, %3 : tensor<8192x64xf32>
  %5 = nd.mul %0, %4 : tensor<8192x64xf32>
  %6 = nd.sum %5 {axes = [0]} : tensor<8192x64xf32> -> tensor<64xf32>
  %7 = nd.broadcast %6 {dims = [1]} : tensor<64xf32> -> tensor<8192x64xf32>
  %8 = nd.mul %4, %7 : tensor<8192x64xf32>
  %9 = nd.sub %0, %8 : tensor<8192x64xf32>
  %10 = nd.broadcast %1 {dims = [1]} : tensor<64xf32> -> tensor<8192x64xf32>
  %11 = nd.sub %9, %10 : tensor<8192x64xf32>
  %12 = nd.cast %11 : tensor<8192x64xf32> -> tensor<8192x64xbf16>
  func.return %12 : tensor<8192x64xbf16>
}

// Few rows a kernel behind the product reduces and reads again.
// CHECK-LABEL: func.func @few_rows
// CHECK:         kernel.fused @few_rows_0 matmul
// CHECK-NOT:       nd.sum
// CHECK:         kernel.fused @few_rows_1 reduce
// CHECK:           nd.sum
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @few_rows(%x: tensor<256x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<256x64xbf16> {
  %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<256x64xbf16>, tensor<64x64xbf16>) -> tensor<256x64xf32>
  %1 = nd.sum %0 {axes = [0]} : tensor<256x64xf32> -> tensor<64xf32>
  %2 = nd.broadcast %1 {dims = [1]} : tensor<64xf32> -> tensor<256x64xf32>
  %3 = nd.sub %0, %2 : tensor<256x64xf32>
  %4 = nd.cast %3 : tensor<256x64xf32> -> tensor<256x64xbf16>
  func.return %4 : tensor<256x64xbf16>
}
