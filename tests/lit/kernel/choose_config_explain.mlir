// RUN: irc-opt %s -p 'choose-config{explain=true}' 2>&1 >/dev/null | filecheck %s
// RUN: irc-opt %s -p 'choose-config{explain=true}' --arch sm_80 2>&1 >/dev/null | filecheck %s --check-prefix=SM80

// The plans that end first, by the model of an SM's cycles, the best first: the one that is chosen.
// CHECK:      f_0: 1 x 1 x 2056 x 2056 x 2056 bf16
// CHECK-NEXT:   {{[0-9]+}} cycles: persistent 192 x 192: 121 tiles, 0.92 rounds, each 48113 of products and 3686 of epilogue; memory takes {{[0-9]+}}
// CHECK-NEXT:   {{[0-9]+}} cycles: persistent 192 x 96: 242 tiles, 1.83 rounds
// CHECK-NEXT:   {{[0-9]+}} cycles:
// CHECK-NEXT:   {{[0-9]+}} cycles:
// SM80:       f_0: 1 x 1 x 2056 x 2056 x 2056 bf16: by mma, whose tiles no model of cycles chooses
func.func @f(%x: tensor<2056x2056xbf16>, %w: tensor<2056x2056xbf16>) -> tensor<2056x2056xbf16> {
  %fused = kernel.fused @f_0 matmul (%x_1 = %x : tensor<2056x2056xbf16>, %w_1 = %w : tensor<2056x2056xbf16>) -> tensor<2056x2056xbf16> {
    // core
    %product = nd.matmul %x_1, %w_1 {lhs_contract = [1], rhs_contract = [0]} : tensor<2056x2056xbf16> -> tensor<2056x2056xf32>
    // epilogue
    %cast = nd.cast %product : tensor<2056x2056xf32> -> tensor<2056x2056xbf16>
    kernel.yield %cast : tensor<2056x2056xbf16>
  }
  func.return %fused : tensor<2056x2056xbf16>
}
