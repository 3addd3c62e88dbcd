// RUN: irc-opt %s --arch sm_100a -p choose-config | filecheck %s

// A tile of 128 rows, as wide as its steps along K end first: rounds of tiles over 148 SMs, and bytes of the operands.
// CHECK-LABEL: func.func @large
// CHECK:         config<tile = {m = 128, n = 256, k = 64}, stages = 4, cluster = [1, 1], warps = 8, schedule = "persistent", group = 8, indexing = "tma", instruction = "tcgen05">
func.func @large(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
  %r = kernel.fused @large matmul (%p = %x : tensor<4096x4096xbf16>, %q = %w : tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
    %c = nd.matmul %p, %q {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xf32>
    kernel.yield %c : tensor<4096x4096xf32>
  }
  func.return %r : tensor<4096x4096xf32>
}

// CHECK-LABEL: func.func @small
// CHECK:         config<tile = {m = 128, n = 32, k = 64}, stages = 8, cluster = [1, 1], warps = 4, schedule = "persistent", group = 8, indexing = "tma", instruction = "tcgen05">
func.func @small(%x: tensor<256x512xf16>, %w: tensor<512x256xf16>) -> tensor<256x256xf32> {
  %r = kernel.fused @small matmul (%p = %x : tensor<256x512xf16>, %q = %w : tensor<512x256xf16>) -> tensor<256x256xf32> {
    %c = nd.matmul %p, %q {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x512xf16>, tensor<512x256xf16>) -> tensor<256x256xf32>
    kernel.yield %c : tensor<256x256xf32>
  }
  func.return %r : tensor<256x256xf32>
}

// What TMA does not bring, and what tcgen05 does not multiply so far, is left to mma.sync.
// CHECK-LABEL: func.func @narrow_rows
// CHECK:         instruction = "mma"
func.func @narrow_rows(%x: tensor<256x500xbf16>, %w: tensor<500x256xbf16>) -> tensor<256x256xf32> {
  %r = kernel.fused @narrow_rows matmul (%p = %x : tensor<256x500xbf16>, %q = %w : tensor<500x256xbf16>) -> tensor<256x256xf32> {
    %c = nd.matmul %p, %q {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x500xbf16>, tensor<500x256xbf16>) -> tensor<256x256xf32>
    kernel.yield %c : tensor<256x256xf32>
  }
  func.return %r : tensor<256x256xf32>
}

// CHECK-LABEL: func.func @doubles
// CHECK:         instruction = "mma"
func.func @doubles(%x: tensor<256x512xf64>, %w: tensor<512x256xf64>) -> tensor<256x256xf64> {
  %r = kernel.fused @doubles matmul (%p = %x : tensor<256x512xf64>, %q = %w : tensor<512x256xf64>) -> tensor<256x256xf64> {
    %c = nd.matmul %p, %q {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x512xf64>, tensor<512x256xf64>) -> tensor<256x256xf64>
    kernel.yield %c : tensor<256x256xf64>
  }
  func.return %r : tensor<256x256xf64>
}

// CHECK-LABEL: func.func @few_rows
// CHECK:         instruction = "mma"
func.func @few_rows(%x: tensor<8x512xbf16>, %w: tensor<512x64xbf16>) -> tensor<8x64xf32> {
  %r = kernel.fused @few_rows matmul (%p = %x : tensor<8x512xbf16>, %q = %w : tensor<512x64xbf16>) -> tensor<8x64xf32> {
    %c = nd.matmul %p, %q {lhs_contract = [1], rhs_contract = [0]} : (tensor<8x512xbf16>, tensor<512x64xbf16>) -> tensor<8x64xf32>
    kernel.yield %c : tensor<8x64xf32>
  }
  func.return %r : tensor<8x64xf32>
}

// So is what goes with no config of it.
// CHECK-LABEL: func.func @given
// CHECK:         config<tile = {m = 64, n = 64, k = 32}, {{.*}} instruction = "mma">
func.func @given(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  %r = kernel.fused @given matmul config<tile = {m = 64, n = 64}> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}
