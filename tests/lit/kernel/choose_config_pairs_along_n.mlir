// RUN: irc-opt %s -p choose-config | filecheck %s

// A right operand that lies along N has boxes of 64 or 32 columns: no tile has 16 more.
// CHECK-LABEL: @plain_0
// CHECK-SAME:  config<tile = {m = 192, n = 192, k = 64}, stages = 4, cluster = [1, 1]
func.func @plain(%x: tensor<2056x2056xbf16>, %w: tensor<2056x2056xbf16>) -> tensor<2056x2056xbf16> {
  %fused = kernel.fused @plain_0 matmul (%x_1 = %x : tensor<2056x2056xbf16>, %w_1 = %w : tensor<2056x2056xbf16>) -> tensor<2056x2056xbf16> {
    // core
    %product = nd.matmul %x_1, %w_1 {lhs_contract = [1], rhs_contract = [0]} : tensor<2056x2056xbf16> -> tensor<2056x2056xf32>
    // epilogue
    %cast = nd.cast %product : tensor<2056x2056xf32> -> tensor<2056x2056xbf16>
    kernel.yield %cast : tensor<2056x2056xbf16>
  }
  func.return %fused : tensor<2056x2056xbf16>
}
