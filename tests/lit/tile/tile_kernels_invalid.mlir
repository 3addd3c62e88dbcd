// What tile-kernels cannot tile is an error at the op.
// RUN: irc-opt %s -p tile-kernels --split-input-file --verify-diagnostics

func.func @crossing(%x: tensor<256x192xf32>, %w: tensor<192x512xf32>) -> tensor<256xf32> {
  %t = kernel.fused matmul config<tile = {m = 64, n = 64, k = 16}> (%a = %x : tensor<256x192xf32>, %b = %w : tensor<192x512xf32>) -> tensor<256xf32> {
    %p = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<256x192xf32>, tensor<192x512xf32>) -> tensor<256x512xf32>
    // expected-error @below {{a reduction crosses the tiles of a kernel}}
    %s = nd.sum %p {axes = [1]} : tensor<256x512xf32> -> tensor<256xf32>
    kernel.yield %s : tensor<256xf32>
  }
  func.return %t : tensor<256xf32>
}

// -----

func.func @sorted(%x: tensor<256xf32>) -> tensor<256xf32> {
  %t = kernel.fused map (%a = %x : tensor<256xf32>) -> tensor<256xf32> {
    // expected-error @below {{nd.sort has no kernel}}
    %p = nd.sort %a {axis = 0} : tensor<256xf32>
    kernel.yield %p : tensor<256xf32>
  }
  func.return %t : tensor<256xf32>
}
