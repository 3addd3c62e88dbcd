// RUN: irc-opt %s -p build-host-plan --split-input-file --verify-diagnostics

func.func @exchange(%a: tensor<8xf32> {irc.donated = 1 : i64}, %b: tensor<8xf32> {irc.donated = 0 : i64}) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{donated arguments cannot be exchanged for each other}}
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{irc.donated of argument 0: expected a result of its type, found number 0}}
func.func @type(%a: tensor<8xf32> {irc.donated = 0 : i64}, %b: tensor<4xf32>) -> tensor<4xf32> {
  func.return %b : tensor<4xf32>
}

// -----

// expected-error @+1 {{irc.donated of argument 1: expected a result of its own, found 0 : i64}}
func.func @twice(%a: tensor<8xf32> {irc.donated = 0 : i64}, %b: tensor<8xf32> {irc.donated = 0 : i64}) -> tensor<8xf32> {
  func.return %b : tensor<8xf32>
}
