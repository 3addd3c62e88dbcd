// What the verifiers of kernel reject, and how they say it.
// RUN: irc-opt %s --split-input-file --verify-diagnostics

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{block argument 0 has the type tensor<8xf32>, its operand has tensor<4xf32>}}
  %r = "kernel.fused"(%x) <{anchor = #kernel.anchor map}> ({
  ^bb0(%a: tensor<8xf32>):
    "kernel.yield"(%a) : (tensor<8xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{expected as many yielded values as results, found 0 and 1}}
  %r = kernel.fused map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    kernel.yield
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{a kernel with the anchor reduce needs a reduction or a scan, found none}}
  %r = kernel.fused reduce (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %n = nd.neg %a : tensor<4xf32>
    kernel.yield %n : tensor<4xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4x4xf32>) {
  // expected-error @below {{a kernel with the anchor map may not hold nd.matmul}}
  %r = kernel.fused map (%a = %x : tensor<4x4xf32>) -> tensor<4x4xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    kernel.yield %c : tensor<4x4xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{the body holds nd ops, found builtin.module}}
  %r = kernel.fused map (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    builtin.module {
    }
    kernel.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{no program is named @nothing}}
  %r = kernel.launch @nothing(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
