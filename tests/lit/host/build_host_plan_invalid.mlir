// RUN: irc-opt %s -p build-host-plan --verify-diagnostics --split-input-file

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{nd.sort runs on the cpu target only so far}}
  %a = nd.sort %x {axis = 0} : tensor<8xf32>
  func.return %a : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{expected launches, reshapes and a return in a host function, found arith.addf}}
  %a = arith.addf %x, %x : tensor<8xf32>
  func.return %a : tensor<8xf32>
}
