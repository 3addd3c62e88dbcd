// RUN: irc-opt %s -p choose-config | filecheck %s

// Rows begin inside lines of memory, and 132 tiles of 192 x 176 are one round: they share their left operands in pairs.
// CHECK-LABEL: @transposed_0
// CHECK-SAME:  config<tile = {m = 192, n = 176, k = 64}, stages = 4, cluster = [1, 2], warps = 12, schedule = "persistent"
func.func @transposed(%x: tensor<2056x2056xbf16>, %w: tensor<2056x2056xbf16>) -> tensor<2056x2056xbf16> {
  %fused = kernel.fused @transposed_0 matmul (%x_1 = %x : tensor<2056x2056xbf16>, %w_1 = %w : tensor<2056x2056xbf16>) -> tensor<2056x2056xbf16> {
    // core
    %product = nd.matmul %x_1, %w_1 {lhs_contract = [0], rhs_contract = [1]} : tensor<2056x2056xbf16> -> tensor<2056x2056xf32>
    // epilogue
    %cast = nd.cast %product : tensor<2056x2056xf32> -> tensor<2056x2056xbf16>
    kernel.yield %cast : tensor<2056x2056xbf16>
  }
  func.return %fused : tensor<2056x2056xbf16>
}
