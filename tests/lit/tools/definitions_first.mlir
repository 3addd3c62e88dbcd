// Values are defined before they are used; in a module alone functions and kernels have no order.
// RUN: irc-opt %s --split-input-file --verify-diagnostics -p all

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'nd.add': operand 1 is used before it is defined}}
  %0 = nd.add %x, %1 : tensor<4xf32>
  %1 = nd.mul %x, %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'nd.add': operand 1 is used before it is defined}}
  %0 = nd.add %x, %1 : tensor<4xf32>
  %1 = nd.mul %0, %x : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

builtin.module {
  func.func @f(%q: tensor<2x32x16xbf16>, %k: tensor<2x32x16xbf16>, %v: tensor<2x32x16xbf16>) -> tensor<2x32x16xbf16> {
    %0 = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<2x32x16xbf16> -> tensor<2x32x32xf32>
    // expected-error @below {{'nd.max': operand 0 is used before it is defined}}
    %3 = nd.max %2 {axes = [2]} : tensor<2x32x32xf32> -> tensor<2x32xf32>
    %2 = nd.mul %0, %1 : tensor<2x32x32xf32>
    %1 = nd.constant 0.25 {nd.repeated} : tensor<2x32x32xf32>
    %4 = nd.broadcast %3 {dims = [0, 1]} : tensor<2x32xf32> -> tensor<2x32x32xf32>
    %5 = nd.sub %2, %4 : tensor<2x32x32xf32>
    %6 = nd.exp %5 {nd.relaxed} : tensor<2x32x32xf32>
    %7 = nd.sum %6 {axes = [2]} : tensor<2x32x32xf32> -> tensor<2x32xf32>
    %8 = nd.reciprocal %7 {nd.relaxed} : tensor<2x32xf32>
    %9 = nd.broadcast %8 {dims = [0, 1]} : tensor<2x32xf32> -> tensor<2x32x32xf32>
    %10 = nd.mul %6, %9 : tensor<2x32x32xf32>
    %11 = nd.cast %10 : tensor<2x32x32xf32> -> tensor<2x32x32xbf16>
    %12 = nd.matmul %11, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1], nd.declared = bf16} : (tensor<2x32x32xbf16>, tensor<2x32x16xbf16>) -> tensor<2x32x16xf32>
    %13 = nd.cast %12 : tensor<2x32x16xf32> -> tensor<2x32x16xbf16>
    func.return %13 : tensor<2x32x16xbf16>
  }
}

// -----

builtin.module {
  func.func @f(%a: tensor<32x64xbf16>, %b: tensor<32x64xbf16>) -> tensor<64x64xbf16> {
    %0 = kernel.fused @f_0 map (%a_1 = %a : tensor<32x64xbf16>, %b_1 = %b : tensor<32x64xbf16>) -> tensor<64x64xbf16> {
      %1 = nd.concat %a_1, %b_1 {axis = 0} : tensor<32x64xbf16> -> tensor<64x64xbf16>
      kernel.yield %1 : tensor<64x64xbf16>
    }
    %1 = kernel.fused @f_1 map (%b_1 = %b : tensor<32x64xbf16>, %a_1 = %a : tensor<32x64xbf16>) -> tensor<64x64xbf16> {
      %2 = nd.concat %b_1, %a_1 {axis = 0} : tensor<32x64xbf16> -> tensor<64x64xbf16>
      kernel.yield %2 : tensor<64x64xbf16>
    }
    %2 = kernel.fused @f_2 matmul (%3 = %0 : tensor<64x64xbf16>, %4 = %1 : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
      // core
      // expected-error @below {{'nd.matmul': operand 0 is used before it is defined}}
      %5 = nd.matmul %6, %4 {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xbf16> -> tensor<64x64xf32>
      // epilogue
      %6 = nd.cast %5 : tensor<64x64xf32> -> tensor<64x64xbf16>
      kernel.yield %6 : tensor<64x64xbf16>
    }
    func.return %2 : tensor<64x64xbf16>
  }
}

// -----

// What a block defines is there in the blocks that run behind it alone.
func.func @f(%a: i32, %c: i1) -> i32 {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %0 = arith.addi %a, %a : i32
  cf.br ^bb2
^bb2:
  // expected-error @below {{'func.return': operand 0 is used before it is defined}}
  func.return %0 : i32
}

// -----

// Nor do nd ops stand before what they read in a module.
builtin.module {
  %x = nd.constant 1.0 : tensor<4xf32>
  // expected-error @below {{'nd.neg': operand 0 is used before it is defined}}
  %0 = nd.neg %1 : tensor<4xf32>
  %1 = nd.neg %0 : tensor<4xf32>
}
