// RUN: irc-opt %s -p check-extents --split-input-file --verify-diagnostics | filecheck %s

// Along an extent that is known when the program is called, points may have nothing to do with each other.
// CHECK-LABEL: func.func @rows
builtin.module attributes {irc.dims = {N = array<i64: 1, 512, 1, 521>}} {
  func.func @rows(%x: tensor<521x4x8xf32>, %w: tensor<8x16xf32>, %i: tensor<521xi32>, %table: tensor<7x8xf32>) -> (tensor<521x4xf32>, tensor<2084x16xf32>, tensor<521x8xf32>) {
    %0 = nd.sum %x {axes = [2]} : tensor<521x4x8xf32> -> tensor<521x4xf32>
    %1 = nd.reshape %x : tensor<521x4x8xf32> -> tensor<2084x8xf32>
    %2 = nd.matmul %1, %w {lhs_contract = [1], rhs_contract = [0]} : (tensor<2084x8xf32>, tensor<8x16xf32>) -> tensor<2084x16xf32>
    %3 = nd.take %table, %i {axis = 0} : (tensor<7x8xf32>, tensor<521xi32>) -> tensor<521x8xf32>
    func.return %0, %2, %3 : tensor<521x4xf32>, tensor<2084x16xf32>, tensor<521x8xf32>
  }
}

// -----

// It may be any axis of a value.
// CHECK-LABEL: func.func @inner
builtin.module attributes {irc.dims = {N = array<i64: 1, 512, 1, 521>}} {
  func.func @inner(%x: tensor<521x8xf32>) -> tensor<8x521xf32> {
    %0 = nd.permute %x {permutation = [1, 0]} : tensor<521x8xf32> -> tensor<8x521xf32>
    func.return %0 : tensor<8x521xf32>
  }
}

// -----

// Another extent may be summed over, and 521 is a number as any other where no dim has it.
// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<521x8xf32>) -> tensor<8xf32> {
  %0 = nd.sum %x {axes = [0]} : tensor<521x8xf32> -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// It may be reduced, and multiplied along.
// CHECK-LABEL: func.func @sum
builtin.module attributes {irc.dims = {N = array<i64: 1, 512, 1, 521>}} {
  func.func @sum(%x: tensor<521x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>) {
    %0 = nd.sum %x {axes = [0]} : tensor<521x8xf32> -> tensor<8xf32>
    %1 = nd.matmul %x, %x {lhs_contract = [0], rhs_contract = [0]} : tensor<521x8xf32> -> tensor<8x8xf32>
    func.return %0, %1 : tensor<8xf32>, tensor<8x8xf32>
  }
}

// -----

builtin.module attributes {irc.dims = {N = array<i64: 1, 512, 1, 521>}} {
  func.func @scan(%x: tensor<521x8xf32>) -> tensor<521x8xf32> {
    // expected-error @+1 {{nd.cumsum: N is known when the program is called, and cannot be walked over}}
    %0 = nd.cumsum %x {axis = 0} : tensor<521x8xf32>
    func.return %0 : tensor<521x8xf32>
  }
}

// -----

builtin.module attributes {irc.dims = {N = array<i64: 1, 512, 1, 521>}} {
  func.func @slice(%x: tensor<1042x8xf32>) -> tensor<4x8xf32> {
    // expected-error @+1 {{nd.slice: N * 2 is known when the program is called, and cannot be cut, shifted or gathered from}}
    %0 = nd.slice %x {starts = [0, 0], stops = [4, 8], steps = [1, 1]} : tensor<1042x8xf32> -> tensor<4x8xf32>
    func.return %0 : tensor<4x8xf32>
  }
}

// -----

// expected-error @+1 {{irc.dims: expected a dictionary with four or five numbers of i64 for each dim, found}}
builtin.module attributes {irc.dims = {N = array<i64: 1, 512, 1>}} {
}
