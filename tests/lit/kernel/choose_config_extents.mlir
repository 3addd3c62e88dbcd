// RUN: irc-opt --split-input-file --arch sm_90a -p choose-config %s | filecheck %s

// 521 stands for 1 to 64 rows, or for so many of which most calls have 24: tiles are those of 64 rows, and of 24.
// CHECK:      @up_to_64 matmul config<tile = {m = 64, n = 32, k = 128}, {{.*}}instruction = "wgmma">
builtin.module attributes {irc.dims = {N = array<i64: 1, 64, 1, 521>}} {
  func.func @up_to_64(%x: tensor<521x2048xbf16>, %w: tensor<2048x4096xbf16>) -> tensor<521x4096xbf16> {
    %r = kernel.fused @up_to_64 matmul (%a = %x : tensor<521x2048xbf16>, %b = %w : tensor<2048x4096xbf16>) -> tensor<521x4096xbf16> {
      %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<521x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<521x4096xf32>
      %y = nd.cast %p : tensor<521x4096xf32> -> tensor<521x4096xbf16>
      kernel.yield %y : tensor<521x4096xbf16>
    }
    func.return %r : tensor<521x4096xbf16>
  }
}

// -----

// CHECK:      @usually_24 matmul config<tile = {m = 32, {{.*}}swap_ab = true>
builtin.module attributes {irc.dims = {N = array<i64: 1, 64, 1, 521, 24>}} {
  func.func @usually_24(%x: tensor<521x2048xbf16>, %w: tensor<2048x4096xbf16>) -> tensor<521x4096xbf16> {
    %r = kernel.fused @usually_24 matmul (%a = %x : tensor<521x2048xbf16>, %b = %w : tensor<2048x4096xbf16>) -> tensor<521x4096xbf16> {
      %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<521x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<521x4096xf32>
      %y = nd.cast %p : tensor<521x4096xf32> -> tensor<521x4096xbf16>
      kernel.yield %y : tensor<521x4096xbf16>
    }
    func.return %r : tensor<521x4096xbf16>
  }
}

// -----

// One row is multiplied by threads that have all rows. No tile has 521: the next config for one row is taken.
// CHECK:      @usually_1 matmul config<tile = {m = 16, {{.*}}swap_ab = true>
builtin.module attributes {irc.dims = {N = array<i64: 1, 64, 1, 521, 1>}} {
  func.func @usually_1(%x: tensor<521x2048xbf16>, %w: tensor<2048x4096xbf16>) -> tensor<521x4096xbf16> {
    %r = kernel.fused @usually_1 matmul (%a = %x : tensor<521x2048xbf16>, %b = %w : tensor<2048x4096xbf16>) -> tensor<521x4096xbf16> {
      %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<521x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<521x4096xf32>
      %y = nd.cast %p : tensor<521x4096xf32> -> tensor<521x4096xbf16>
      kernel.yield %y : tensor<521x4096xbf16>
    }
    func.return %r : tensor<521x4096xbf16>
  }
}
