// RUN: irc-opt %s -p propagate-shardings --split-input-file --verify-diagnostics

builtin.module attributes {irc.mesh = {data = 2 : i64}} {
  // expected-error @+1 {{unknown axis 'model' of the mesh}}
  func.func @f(%x: tensor<8xf32> {irc.sharding = ["model"]}) -> tensor<8xf32> {
    func.return %x : tensor<8xf32>
  }
}

// -----

builtin.module attributes {irc.mesh = {data = 4 : i64}} {
  // expected-error @+1 {{f: x: axis 0 of extent 6 does not divide among the 4 ranks of data}}
  func.func @f(%x: tensor<6xf32> {irc.sharding = ["data"]}) -> tensor<6xf32> {
    func.return %x : tensor<6xf32>
  }
}

// -----

builtin.module attributes {irc.mesh = {data = 2 : i64}} {
  // expected-error @+1 {{f: x: expected each axis of the mesh once, found data, data}}
  func.func @f(%x: tensor<4x4xf32> {irc.sharding = ["data", "data"]}) -> tensor<4x4xf32> {
    func.return %x : tensor<4x4xf32>
  }
}

// -----

builtin.module attributes {irc.mesh = {data = 2 : i64}} {
  // expected-error @+1 {{f: x: expected a sharding of 2 axes, found 1}}
  func.func @f(%x: tensor<4x4xf32> {irc.sharding = ["data"]}) -> tensor<4x4xf32> {
    func.return %x : tensor<4x4xf32>
  }
}
