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

// -----

// The arrays of a launch are those of the program, and have the memory that its views describe.

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{@two has 2 operands, found 1}}
  %r = kernel.launch @two(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

tile.program @two(%x: !tile.view<4xf32>, %y: !tile.view<4xf32>, %out: !tile.view<4xf32>) {results = 1 : i64} {
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{@wide takes f64 as operand 0, found tensor<4xf32>}}
  %r = kernel.launch @wide(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

tile.program @wide(%x: !tile.view<4xf64>, %out: !tile.view<4xf32>) {results = 1 : i64} {
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{@long reaches elements 0 to 6 of operand 0, found tensor<4xf32>}}
  %r = kernel.launch @long(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

tile.program @long(%x: !tile.view<4xf32, strides [2]>, %out: !tile.view<4xf32>) {results = 1 : i64} {
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{@memory reaches elements 0 to 7 of result 0, found tensor<4xf32>}}
  %r = kernel.launch @memory(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

cpu.kernel @memory(%x: memref<4xf32>, %out: memref<8xf32>, %first: index, %end: index) {results = 1 : i64, tiles = 1 : i64} {
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{the tile of a kernel with the anchor matmul has sizes of m, n, k, found r}}
  %r = kernel.fused matmul config<tile = {m = 64, r = 8, k = 16}> (%a = %x : tensor<4xf32>) -> tensor<f32> {
    %n = nd.matmul %a, %a {lhs_contract = [0], rhs_contract = [0]} : tensor<4xf32> -> tensor<f32>
    kernel.yield %n : tensor<f32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{the tile of a kernel with the anchor reduce has sizes of d, r, found m, s}}
  %r = kernel.fused reduce config<tile = {m = 64, s = 8}> (%a = %x : tensor<4xf32>) -> tensor<f32> {
    %n = nd.sum %a {axes = [0]} : tensor<4xf32> -> tensor<f32>
    kernel.yield %n : tensor<f32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{the tile of a kernel with the anchor reduce has sizes of d, s, found r}}
  %r = kernel.fused reduce config<tile = {d = 1, r = 8}> (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %n = nd.cumsum %a {axis = 0} : tensor<4xf32>
    kernel.yield %n : tensor<4xf32>
  }
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{the tile of a kernel with the anchor map has sizes of d, found d0}}
  %r = kernel.fused map config<tile = {d0 = 64}> (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %n = nd.neg %a : tensor<4xf32>
    kernel.yield %n : tensor<4xf32>
  }
  func.return
}
