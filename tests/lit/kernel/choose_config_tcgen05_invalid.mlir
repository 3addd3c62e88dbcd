// Configs of tcgen05 that are not possible: the error says what would be.
// RUN: irc-opt %s --arch sm_100a --split-input-file --verify-diagnostics -p choose-config

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: tcgen05 computes tiles of a multiple of 128 rows and of 16 columns up to 256, found 64 x 64}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 64, k = 64}, instruction = "tcgen05"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: tcgen05 computes tiles of a multiple of 128 rows and of 16 columns up to 256, found 128 x 512}}
  %r = kernel.fused @k matmul config<tile = {m = 128, n = 512, k = 32}, instruction = "tcgen05"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: groups of 4 warps load equal parts of the columns of tcgen05, found 6 warps of 64 columns}}
  %r = kernel.fused @k matmul config<tile = {m = 128, n = 64, k = 64}, warps = 6, instruction = "tcgen05"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: tcgen05 takes steps of 16 along K, found a tile of 8}}
  %r = kernel.fused @k matmul config<tile = {m = 128, n = 64, k = 8}, instruction = "tcgen05"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: sums of {m = 384, n = 256, k = 16} take 1024 columns of Tensor Memory, a block has 512}}
  %r = kernel.fused @k matmul config<tile = {m = 384, n = 256, k = 16}, warps = 8, instruction = "tcgen05"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: only wgmma kernels have clusters, found cluster = [2, 1]}}
  %r = kernel.fused @k matmul config<cluster = [2, 1], instruction = "tcgen05"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xf64>) -> tensor<512x512xf64> {
  // expected-error @below {{kernel k: tcgen05 computes products of tf32, bf16, f16, f8e4m3, f8e5m2, i8, u8, of one left matrix, and reads no row of more than 128 again; found f64 and f64 to f64}}
  %r = kernel.fused @k matmul config<instruction = "tcgen05"> (%a = %x : tensor<512x512xf64>) -> tensor<512x512xf64> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xf64>, tensor<512x512xf64>) -> tensor<512x512xf64>
    kernel.yield %c : tensor<512x512xf64>
  }
  func.return %r : tensor<512x512xf64>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: tcgen05 computes tiles of a multiple of 128 rows and of 16 columns up to 256, found 128 x 256 of 2 products}}
  %r = kernel.fused @k matmul config<tile = {m = 128, n = 256, k = 64}, instruction = "tcgen05"> (%a = %x : tensor<512x512xbf16>, %b = %x : tensor<512x512xbf16>, %d = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    %e = nd.matmul %a, %d {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    %g = nd.mul %c, %e : tensor<512x512xf32>
    kernel.yield %g : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x64xbf16>, %w: tensor<64x128xbf16>) -> tensor<512x128xf32> {
  // expected-error @below {{kernel k: rows that are reduced and read again are those of 4 warps of tcgen05, found 8 warps}}
  %r = kernel.fused @k matmul config<tile = {m = 128, n = 128, k = 64}, warps = 8, instruction = "tcgen05"> (%a = %x : tensor<512x64xbf16>, %b = %w : tensor<64x128xbf16>) -> tensor<512x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x64xbf16>, tensor<64x128xbf16>) -> tensor<512x128xf32>
    %s = nd.max %c {axes = [1]} : tensor<512x128xf32> -> tensor<512xf32>
    %e = nd.broadcast %s {dims = [0]} : tensor<512xf32> -> tensor<512x128xf32>
    %g = nd.sub %c, %e : tensor<512x128xf32>
    kernel.yield %g : tensor<512x128xf32>
  }
  func.return %r : tensor<512x128xf32>
}
