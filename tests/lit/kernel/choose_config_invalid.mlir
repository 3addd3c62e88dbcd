// Configs that a target cannot run: the error names the limit and the numbers.
// RUN: irc-opt %s --split-input-file --verify-diagnostics -p choose-config

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: 8 stages of {m = 128, n = 256, k = 64} need 385 KiB of shared memory, but a block of sm_90a has 227 KiB}}
  %r = kernel.fused @k matmul config<tile = {m = 128, n = 256, k = 64}, stages = 8> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: accumulators of 1 x 256 x 256 need about 2088 registers in each of 32 threads, but a thread of sm_90a has 255}}
  %r = kernel.fused @k matmul config<tile = {m = 256, n = 256, k = 16}, warps = 1, instruction = "fma"> (%a = %x : tensor<512x512xf32>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xf64>) -> tensor<512x512xf64> {
  // expected-error @below {{kernel k: wgmma multiplies bf16, f16, f32, tf32, f8e4m3, f8e5m2, i8, u8, two of a kind or both f8, those of 16 bits loaded by tensor maps, found f64 and f64 to f64, loadable}}
  %r = kernel.fused @k matmul config<instruction = "wgmma"> (%a = %x : tensor<512x512xf64>) -> tensor<512x512xf64> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : tensor<512x512xf64>
    kernel.yield %c : tensor<512x512xf64>
  }
  func.return %r : tensor<512x512xf64>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: wgmma takes steps of 16 along K, found a tile of 8}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 64, k = 8}, instruction = "wgmma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512xf32>) -> tensor<512xf32> {
  // expected-error @below {{kernel k: 1280 threads, but a block of sm_90a has at most 1024}}
  %r = kernel.fused @k map config<warps = 40> (%a = %x : tensor<512xf32>) -> tensor<512xf32> {
    %c = nd.exp %a : tensor<512xf32>
    kernel.yield %c : tensor<512xf32>
  }
  func.return %r : tensor<512xf32>
}

// -----

func.func @f(%x: tensor<512xf32>) -> tensor<512xf32> {
  // expected-error @below {{kernel k: tile sizes are powers of two, found d = 48}}
  %r = kernel.fused @k map config<tile = {d = 48}> (%a = %x : tensor<512xf32>) -> tensor<512xf32> {
    %c = nd.exp %a : tensor<512xf32>
    kernel.yield %c : tensor<512xf32>
  }
  func.return %r : tensor<512xf32>
}

// -----

func.func @f(%x: tensor<512xf32>) -> tensor<512xf32> {
  // expected-error @below {{nd.sort runs on the cpu target only so far}}
  %r = nd.sort %x {axis = 0} : tensor<512xf32>
  func.return %r : tensor<512xf32>
}

// -----

func.func @f(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: K of 512 has no 3 equal parts}}
  %r = kernel.fused @k matmul config<split = 3> (%a = %x : tensor<512x512xf32>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xf32>) -> tensor<512xf32> {
  // expected-error @below {{kernel k: nd.sum needs whole products, its config asks for 2 parts of K}}
  %r = kernel.fused @k matmul config<split = 2> (%a = %x : tensor<512x512xf32>) -> tensor<512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : tensor<512x512xf32>
    %s = nd.sum %c {axes = [0]} : tensor<512x512xf32> -> tensor<512xf32>
    kernel.yield %s : tensor<512xf32>
  }
  func.return %r : tensor<512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: columns of wgmma, which are contiguous along N, are a multiple of 16, found 40}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 40, k = 64}, instruction = "wgmma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: 12 warps compute tiles of a multiple of 192 rows by wgmma, found 128}}
  %r = kernel.fused @k matmul config<tile = {m = 128, n = 64, k = 64}, warps = 12, instruction = "wgmma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: accumulators of 1 x 192 x 256 need about 168 registers in each of 384 threads, but each of the 384 that compute in a block has 152}}
  %r = kernel.fused @k matmul config<tile = {m = 192, n = 256, k = 64}, instruction = "wgmma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<256x256xbf16>) -> tensor<256x256xf32> {
  // expected-error @below {{kernel k: rows of 256 that are reduced and read again need a tile of as many columns, found 128}}
  %r = kernel.fused @k matmul config<tile = {m = 128, n = 128, k = 64}> (%a = %x : tensor<256x256xbf16>) -> tensor<256x256xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
    %m = nd.max %c {axes = [1]} : tensor<256x256xf32> -> tensor<256xf32>
    %b = nd.broadcast %m {dims = [0]} : tensor<256xf32> -> tensor<256x256xf32>
    %d = nd.sub %c, %b : tensor<256x256xf32>
    kernel.yield %d : tensor<256x256xf32>
  }
  func.return %r : tensor<256x256xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: only wgmma kernels compute transposed products, found swap_ab = true}}
  %r = kernel.fused @k matmul config<swap_ab = true, instruction = "mma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<32x512xbf16>, %y: tensor<32x512xbf16>, %w: tensor<512x512xbf16>) -> tensor<32x512xf32> {
  // expected-error @below {{kernel k: products of one left operand can have their rows along N, found swap_ab = true of 2}}
  %r = kernel.fused @k matmul config<tile = {m = 32, n = 64, k = 64}, swap_ab = true, instruction = "wgmma"> (%a = %x : tensor<32x512xbf16>, %b = %y : tensor<32x512xbf16>, %v = %w : tensor<512x512xbf16>) -> tensor<32x512xf32> {
    %c = nd.matmul %a, %v {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [1]} : (tensor<32x512xbf16>, tensor<512x512xbf16>) -> tensor<32x512xf32>
    %d = nd.matmul %b, %v {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [1]} : (tensor<32x512xbf16>, tensor<512x512xbf16>) -> tensor<32x512xf32>
    %e = nd.add %c, %d : tensor<32x512xf32>
    kernel.yield %e : tensor<32x512xf32>
  }
  func.return %r : tensor<32x512xf32>
}

// -----

func.func @f(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  // expected-error @below {{kernel k: its config asks for 2 parts, which are for products, and for reductions whose rows nothing reads again}}
  %r = kernel.fused @k reduce config<split = 2> (%a = %x : tensor<64x256xf32>) -> tensor<64x256xf32> {
    %m = nd.max %a {axes = [1]} : tensor<64x256xf32> -> tensor<64xf32>
    %b = nd.broadcast %m {dims = [0]} : tensor<64xf32> -> tensor<64x256xf32>
    %d = nd.sub %a, %b : tensor<64x256xf32>
    %e = nd.exp %d : tensor<64x256xf32>
    %s = nd.sum %e {axes = [1]} : tensor<64x256xf32> -> tensor<64xf32>
    %t = nd.broadcast %s {dims = [0]} : tensor<64xf32> -> tensor<64x256xf32>
    %q = nd.div %e, %t : tensor<64x256xf32>
    kernel.yield %q : tensor<64x256xf32>
  }
  func.return %r : tensor<64x256xf32>
}

// -----

func.func @f(%x: tensor<1024x1024xbf16>) -> tensor<1024x1024xf32> {
  // expected-error @below {{kernel k: 3 warps compute tiles of a multiple of 64 rows by wgmma, found 64}}
  %r = kernel.fused @k matmul config<warps = 3> (%a = %x : tensor<1024x1024xbf16>) -> tensor<1024x1024xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : tensor<1024x1024xbf16> -> tensor<1024x1024xf32>
    kernel.yield %c : tensor<1024x1024xf32>
  }
  func.return %r : tensor<1024x1024xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: columns of wgmma are a multiple of 8, found 4}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 4, k = 64}, instruction = "wgmma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [1]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: tile sizes are powers of two or multiples of 8, found n = 84}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 84, k = 32}, instruction = "fma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: tile sizes are powers of two, found k = 48}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 64, k = 48}, instruction = "mma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: 8 warps of mma compute equal parts of a tile, multiples of 16 x 8, found 64 x 72}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 72, k = 32}, warps = 8, instruction = "mma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xi8>) -> tensor<512x512xi32> {
  // expected-error @below {{kernel k: columns of wgmma on integers are 8, 24 or a multiple of 16, found 72}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 72, k = 64}, instruction = "wgmma"> (%a = %x : tensor<512x512xi8>) -> tensor<512x512xi32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [1]} : (tensor<512x512xi8>, tensor<512x512xi8>) -> tensor<512x512xi32>
    kernel.yield %c : tensor<512x512xi32>
  }
  func.return %r : tensor<512x512xi32>
}

// -----

func.func @f(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  // expected-error @below {{kernel k: {m = 128, k = 128} in 5 stages needs 258 KiB of shared memory, a block of sm_90a has 227}}
  %r = kernel.fused @k cascade config<tile = {m = 128, k = 128}, stages = 5> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// -----

func.func @f(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  // expected-error @below {{kernel k: each 4 warps of wgmma compute 64 rows of a cascade, found 4 warps and m = 128}}
  %r = kernel.fused @k cascade config<tile = {m = 128, k = 128}, warps = 4, instruction = "wgmma"> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// -----

func.func @f(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  // expected-error @below {{kernel k: steps are multiples of 16, the depth of an instruction, found k = 24}}
  %r = kernel.fused @k cascade config<tile = {m = 128, k = 24}> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// -----

func.func @f(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  // expected-error @below {{kernel k: steps of k = 256 need about 296 registers in each thread, sm_90a has 255}}
  %r = kernel.fused @k cascade config<tile = {m = 64, k = 256}> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// -----

func.func @f(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  // expected-error @below {{kernel k: columns of 448 have no 3 equal parts}}
  %r = kernel.fused @k cascade config<split = 3> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// -----

func.func @f(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  // expected-error @below {{kernel k: turns are of two warp groups or more, found 4 warps and turns = true}}
  %r = kernel.fused @k cascade config<tile = {m = 64, k = 64}, turns = true> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// -----

func.func @f(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  // expected-error @below {{kernel k: only the warp groups of a cascade of wgmma take turns, found turns = true}}
  %r = kernel.fused @k cascade config<instruction = "mma", turns = true> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: only the warp groups of a cascade of wgmma take turns, found turns = true}}
  %r = kernel.fused @k matmul config<turns = true> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [1]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  // expected-error @below {{kernel k: lag is of exponentials relative to a maximum or minimum, of which it has none, found 8}}
  %r = kernel.fused @k cascade config<lag = 8> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: only cascades have exponentials that are rescaled, found lag = 8}}
  %r = kernel.fused @k matmul config<lag = 8> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [1]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: 8 warps that multiply have up to 232 registers a thread beside 4 that load, found registers = 240}}
  %r = kernel.fused @k matmul config<tile = {m = 128, n = 128, k = 64}, warps = 8, registers = 240, instruction = "wgmma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [1]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: only kernels of wgmma and tcgen05 divide a block's registers, found registers = 96}}
  %r = kernel.fused @k matmul config<registers = 96, instruction = "mma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [1]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: only kernels of wgmma and tcgen05 divide a block's shared memory, found store_stages = 4}}
  %r = kernel.fused @k matmul config<store_stages = 4, instruction = "mma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [1]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  // expected-error @below {{kernel k: steps of k = 128 hold 160 registers in each thread, of 2 blocks on an SM it has 72}}
  %r = kernel.fused @k cascade config<tile = {m = 128, k = 128}, occupancy = 2, instruction = "wgmma"> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// -----

func.func @whole_columns(%x: tensor<4x8x7x8xf32>, %g: tensor<4x8x7x8xf32>) -> tensor<1x8x3x3xf32> {
  // expected-error @below {{kernel k: K of 4 x 8 x 7 has no 1 parts with 4 places side by side and runs of 2}}
  %r = kernel.fused @k matmul config<tile = {m = 16, n = 32, k = 4}, unroll = 2, warps = 1, instruction = "columns"> (%a = %x : tensor<4x8x7x8xf32>, %b = %g : tensor<4x8x7x8xf32>) -> tensor<1x8x3x3xf32> {
    %c = nd.conv %a, %b {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2], batch_groups = 8} : tensor<4x8x7x8xf32> -> tensor<1x8x3x3xf32>
    kernel.yield %c : tensor<1x8x3x3xf32>
  }
  func.return %r : tensor<1x8x3x3xf32>
}

// -----

func.func @no_window(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{kernel k: a thread cannot have whole columns of this product, of 64 rows}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 32, k = 1}, instruction = "columns"> (%a = %x : tensor<64x64xf32>, %b = %y : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xf32>
    kernel.yield %c : tensor<64x64xf32>
  }
  func.return %r : tensor<64x64xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>, %w: tensor<4x512x512xbf16>, %e: tensor<4xi32>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: no sums in registers alone go over groups whose ends are data}}
  %r = kernel.fused @k matmul config<instruction = "direct"> (%a = %x : tensor<512x512xbf16>, %b = %w : tensor<4x512x512xbf16>, %d = %e : tensor<4xi32>) -> tensor<512x512xf32> {
    %c = nd.grouped_matmul %a, %b, %d {rhs_contract = 1} : (tensor<512x512xbf16>, tensor<4x512x512xbf16>, tensor<4xi32>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>, %w: tensor<4x512x512xbf16>, %e: tensor<4xi32>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: K of 512 has no 2 equal parts}}
  %r = kernel.fused @k matmul config<split = 2> (%a = %x : tensor<512x512xbf16>, %b = %w : tensor<4x512x512xbf16>, %d = %e : tensor<4xi32>) -> tensor<512x512xf32> {
    %c = nd.grouped_matmul %a, %b, %d {rhs_contract = 1} : (tensor<512x512xbf16>, tensor<4x512x512xbf16>, tensor<4xi32>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<4x64x128xf8E4M3FN>, %w: tensor<4x64x128xf8E4M3FN>) -> tensor<64x64xf32> {
  // expected-error @below {{kernel k: a step along K is a block of 128 elements, which are scaled together, found k = 64}}
  %r = kernel.fused @k matmul config<tile = {m = 64, n = 64, k = 64}> (%a = %x : tensor<4x64x128xf8E4M3FN>, %b = %w : tensor<4x64x128xf8E4M3FN>) -> tensor<64x64xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x64x128xf8E4M3FN>, tensor<4x64x128xf8E4M3FN>) -> tensor<4x64x64xf32>
    %d = nd.relu %c : tensor<4x64x64xf32>
    %e = nd.sum %d {axes = [0]} : tensor<4x64x64xf32> -> tensor<64x64xf32>
    kernel.yield %e : tensor<64x64xf32>
  }
  func.return %r : tensor<64x64xf32>
}

// -----

func.func @f(%q: tensor<4x64x64xbf16>, %pool: tensor<99x32x64xbf16>, %table: tensor<4x16xi32>) -> tensor<4x64x64xf32> {
  // expected-error @below {{kernel k: a step is of one page of 32 rows, found k = 64}}
  %r = kernel.fused @k cascade config<tile = {m = 64, k = 64}> (%q_1 = %q : tensor<4x64x64xbf16>, %pool_1 = %pool : tensor<99x32x64xbf16>, %table_1 = %table : tensor<4x16xi32>) -> tensor<4x64x64xf32> {
    %taken = nd.take %pool_1, %table_1 {axis = 0} : (tensor<99x32x64xbf16>, tensor<4x16xi32>) -> tensor<4x16x32x64xbf16>
    %k = nd.reshape %taken : tensor<4x16x32x64xbf16> -> tensor<4x512x64xbf16>
    %s = nd.matmul %q_1, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x64x64xbf16>, tensor<4x512x64xbf16>) -> tensor<4x64x512xf32>
    %e = nd.relu %s : tensor<4x64x512xf32>
    %p = nd.cast %e : tensor<4x64x512xf32> -> tensor<4x64x512xbf16>
    %y = nd.matmul %p, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<4x64x512xbf16>, tensor<4x512x64xbf16>) -> tensor<4x64x64xf32>
    kernel.yield %y : tensor<4x64x64xf32>
  }
  func.return %r : tensor<4x64x64xf32>
}

// -----

func.func @f(%q: tensor<4x64x64xbf16>, %pool: tensor<99x32x64xbf16>, %table: tensor<4x16xi32>) -> tensor<4x64x64xf32> {
  // expected-error @below {{kernel k: columns of 512 have no 32 equal parts of whole pages of 32 rows}}
  %r = kernel.fused @k cascade config<split = 32> (%q_1 = %q : tensor<4x64x64xbf16>, %pool_1 = %pool : tensor<99x32x64xbf16>, %table_1 = %table : tensor<4x16xi32>) -> tensor<4x64x64xf32> {
    %taken = nd.take %pool_1, %table_1 {axis = 0} : (tensor<99x32x64xbf16>, tensor<4x16xi32>) -> tensor<4x16x32x64xbf16>
    %k = nd.reshape %taken : tensor<4x16x32x64xbf16> -> tensor<4x512x64xbf16>
    %s = nd.matmul %q_1, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x64x64xbf16>, tensor<4x512x64xbf16>) -> tensor<4x64x512xf32>
    %e = nd.relu %s : tensor<4x64x512xf32>
    %p = nd.cast %e : tensor<4x64x512xf32> -> tensor<4x64x512xbf16>
    %y = nd.matmul %p, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<4x64x512xbf16>, tensor<4x512x64xbf16>) -> tensor<4x64x64xf32>
    kernel.yield %y : tensor<4x64x64xf32>
  }
  func.return %r : tensor<4x64x64xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: mma on sm_90a multiplies bf16 in shapes [16, 8, 16], [16, 8, 8], found shape = [16, 8, 4]}}
  %r = kernel.fused @k matmul config<instruction = "mma", shape = [16, 8, 4]> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: only mma has several shapes, found shape = [16, 8, 8]}}
  %r = kernel.fused @k matmul config<instruction = "wgmma", shape = [16, 8, 8]> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: mma takes steps of 8 along K, found a tile of 4}}
  %r = kernel.fused @k matmul config<tile = {k = 4}, instruction = "mma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: a grid of 2 x 2 x 2 warps, found warps = 4}}
  %r = kernel.fused @k matmul config<warps = 4, warp_grid = [2, 2, 2], instruction = "mma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: only products by mma have warps in a grid along M, N and K, found warp_grid = [2, 2, 1]}}
  %r = kernel.fused @k matmul config<warp_grid = [2, 2, 1], instruction = "wgmma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: mma takes steps of 8 along K in each of 8 parts, found a tile of 32}}
  %r = kernel.fused @k matmul config<tile = {k = 32}, warp_grid = [1, 1, 8], instruction = "mma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: 8 warps of mma compute equal parts of a tile, multiples of 16 x 8, found 32 x 32}}
  %r = kernel.fused @k matmul config<tile = {m = 32, n = 32}, warp_grid = [8, 1, 1], instruction = "mma"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// -----

func.func @f(%x: tensor<64x96xbf16>, %w: tensor<96x32xbf16>, %ends: tensor<3xi32>) -> tensor<3x64x32xf32> {
  // expected-error @below {{kernel k: groups that data cuts along K end inside of a step, which no warps along K share, found warp_grid = [1, 1, 2]}}
  %r = kernel.fused @k matmul config<tile = {k = 64}, warp_grid = [1, 1, 2], instruction = "mma"> (%a = %x : tensor<64x96xbf16>, %b = %w : tensor<96x32xbf16>, %e = %ends : tensor<3xi32>) -> tensor<3x64x32xf32> {
    %c = nd.grouped_matmul %a, %b, %e {lhs_contract = 1, rhs_contract = 0} : (tensor<64x96xbf16>, tensor<96x32xbf16>, tensor<3xi32>) -> tensor<3x64x32xf32>
    kernel.yield %c : tensor<3x64x32xf32>
  }
  func.return %r : tensor<3x64x32xf32>
}

// -----

func.func @f(%x: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  // expected-error @below {{kernel k: tcgen05 is an instruction of sm_100a, found sm_90a}}
  %r = kernel.fused @k matmul config<instruction = "tcgen05"> (%a = %x : tensor<512x512xbf16>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}
