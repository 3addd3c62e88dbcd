// RUN: irc-opt %s -p choose-config | filecheck %s

// The rest is chosen around a field that is given: tiles for two warp groups, rows along N, warps that
// share a tile.
// CHECK:      @around_warps matmul config<tile = {m = 128, {{.*}}, warps = 8, schedule = "persistent", {{.*}}instruction = "wgmma">
func.func @around_warps(%x: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>) -> tensor<1024x1024xf32> {
  %r = kernel.fused @around_warps matmul config<warps = 8> (%a = %x : tensor<1024x1024xbf16>, %b = %w : tensor<1024x1024xbf16>) -> tensor<1024x1024xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : tensor<1024x1024xbf16> -> tensor<1024x1024xf32>
    kernel.yield %c : tensor<1024x1024xf32>
  }
  func.return %r : tensor<1024x1024xf32>
}

// CHECK:      @around_rows matmul config<tile = {m = 32, n = 64, k = 128}, {{.*}}instruction = "wgmma", swap_ab = true>
func.func @around_rows(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<256x256xf32> {
  %r = kernel.fused @around_rows matmul config<swap_ab = true> (%a = %x : tensor<256x256xbf16>, %b = %w : tensor<256x256xbf16>) -> tensor<256x256xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : tensor<256x256xbf16> -> tensor<256x256xf32>
    kernel.yield %c : tensor<256x256xf32>
  }
  func.return %r : tensor<256x256xf32>
}

// CHECK:      @around_wide matmul config<tile = {m = 32, n = 32, k = 32}, {{.*}}warps = 8, {{.*}}instruction = "mma">
func.func @around_wide(%x: tensor<64x64xf64>, %w: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %r = kernel.fused @around_wide matmul config<warps = 8> (%a = %x : tensor<64x64xf64>, %b = %w : tensor<64x64xf64>) -> tensor<64x64xf64> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xf64>
    kernel.yield %c : tensor<64x64xf64>
  }
  func.return %r : tensor<64x64xf64>
}

// Of a tile, too, what is left out is chosen: the rows are given, or the step along K.
// CHECK:      @around_a_size matmul config<tile = {m = 192, n = {{[0-9]+}}, k = 64}, {{.*}}warps = 12, {{.*}}instruction = "wgmma">
func.func @around_a_size(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
  %r = kernel.fused @around_a_size matmul config<tile = {m = 192}> (%a = %x : tensor<4096x4096xbf16>, %b = %w : tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
    kernel.yield %c : tensor<4096x4096xf32>
  }
  func.return %r : tensor<4096x4096xf32>
}

// CHECK:      @around_a_step matmul config<tile = {m = {{[0-9]+}}, n = {{[0-9]+}}, k = 8}, {{.*}}instruction = "fma">
func.func @around_a_step(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %r = kernel.fused @around_a_step matmul config<tile = {k = 8}, instruction = "fma"> (%a = %x : tensor<512x512xf32>, %b = %w : tensor<512x512xf32>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// CHECK:      @around_rows_of_a_reduction reduce config<tile = {d = 2, r = 1024}, {{.*}}reduction = "persistent"
func.func @around_rows_of_a_reduction(%x: tensor<4096x1024xf32>) -> tensor<4096xf32> {
  %r = kernel.fused @around_rows_of_a_reduction reduce config<tile = {d = 2}> (%a = %x : tensor<4096x1024xf32>) -> tensor<4096xf32> {
    %c = nd.sum %a {axes = [1]} : tensor<4096x1024xf32> -> tensor<4096xf32>
    kernel.yield %c : tensor<4096xf32>
  }
  func.return %r : tensor<4096xf32>
}

// Short steps leave registers for a third warp group.
// CHECK:      @around_steps cascade config<tile = {m = 192, k = 32}, stages = 2, warps = 12, {{.*}}instruction = "wgmma", turns = true>
func.func @around_steps(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  %r = kernel.fused @around_steps cascade config<tile = {k = 32}> (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// The parts that are given fill the SMs with the largest tiles.
// CHECK:      @around_parts matmul config<tile = {m = 128, n = 128, k = 16}, {{.*}}split = 8, {{.*}}instruction = "fma">
func.func @around_parts(%x: tensor<512x8192xf32>, %w: tensor<8192x512xf32>) -> tensor<512x512xf32> {
  %r = kernel.fused @around_parts matmul config<split = 8, instruction = "fma"> (%a = %x : tensor<512x8192xf32>, %b = %w : tensor<8192x512xf32>) -> tensor<512x512xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x8192xf32>, tensor<8192x512xf32>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// Parts of K are as many as fill the blocks that an SM is to have room for.
// CHECK:      @around_blocks matmul config<{{.*}}split = 32, occupancy = 2, {{.*}}instruction = "mma">
func.func @around_blocks(%x: tensor<32x57x61x64xbf16>, %g: tensor<32x57x61x64xbf16>) -> tensor<64x3x3x64xf32> {
  %fused = kernel.fused @around_blocks matmul config<occupancy = 2> (%x_1 = %x : tensor<32x57x61x64xbf16>, %g_1 = %g : tensor<32x57x61x64xbf16>) -> tensor<64x3x3x64xf32> {
    %conv = nd.conv %x_1, %g_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2], result_axes = [3, 0, 1, 2]} : tensor<32x57x61x64xbf16> -> tensor<64x3x3x64xf32>
    kernel.yield %conv : tensor<64x3x3x64xf32>
  }
  func.return %fused : tensor<64x3x3x64xf32>
}

// How operands are read says which instructions multiply: warp groups read by TMA alone.
// CHECK:      @around_pointers matmul config<{{.*}}indexing = "pointers", instruction = "mma">
func.func @around_pointers(%x: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>) -> tensor<1024x1024xf32> {
  %r = kernel.fused @around_pointers matmul config<indexing = "pointers"> (%a = %x : tensor<1024x1024xbf16>, %b = %w : tensor<1024x1024xbf16>) -> tensor<1024x1024xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : tensor<1024x1024xbf16> -> tensor<1024x1024xf32>
    kernel.yield %c : tensor<1024x1024xf32>
  }
  func.return %r : tensor<1024x1024xf32>
}

// CHECK:      @few_rows matmul config<{{.*}}indexing = "pointers", instruction = "mma">
// CHECK:      @around_tma matmul config<{{.*}}indexing = "tma", instruction = "wgmma"{{.*}}>
func.func @few(%x: tensor<8x256xbf16>, %w: tensor<256x256xbf16>) -> (tensor<8x256xf32>, tensor<8x256xf32>) {
  %r = kernel.fused @few_rows matmul (%a = %x : tensor<8x256xbf16>, %b = %w : tensor<256x256xbf16>) -> tensor<8x256xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<8x256xbf16>, tensor<256x256xbf16>) -> tensor<8x256xf32>
    kernel.yield %c : tensor<8x256xf32>
  }
  %s = kernel.fused @around_tma matmul config<indexing = "tma"> (%a = %x : tensor<8x256xbf16>, %b = %w : tensor<256x256xbf16>) -> tensor<8x256xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<8x256xbf16>, tensor<256x256xbf16>) -> tensor<8x256xf32>
    kernel.yield %c : tensor<8x256xf32>
  }
  func.return %r, %s : tensor<8x256xf32>, tensor<8x256xf32>
}
