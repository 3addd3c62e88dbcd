// RUN: irc-opt %s -p choose-config --split-input-file | filecheck %s

// An operand that is computed part by part takes some cycles for each part, whatever the tile: parts of K and tiles of
// all rows of x are worth more here than for plain products.
// CHECK-LABEL: func.func @f(
// CHECK: kernel.fused @f_0 matmul config<tile = {m = 64, n = 64, k = 128}, {{.*}}cluster = [1, 2], {{.*}} split = 2, {{.*}} swap_ab = true>
func.func @f(%x: tensor<64x4096xbf16>, %w: tensor<4096x4096xi8>, %s: tensor<4096xbf16>) -> tensor<64x4096xbf16> {
  %fused = kernel.fused @f_0 matmul (%w_1 = %w : tensor<4096x4096xi8>, %s_1 = %s : tensor<4096xbf16>, %x_1 = %x : tensor<64x4096xbf16>) -> tensor<64x4096xbf16> {
    // prologue
    %cast = nd.cast %w_1 : tensor<4096x4096xi8> -> tensor<4096x4096xf32>
    %cast_1 = nd.cast %s_1 : tensor<4096xbf16> -> tensor<4096xf32>
    %broadcast = nd.broadcast %cast_1 {dims = [1]} : tensor<4096xf32> -> tensor<4096x4096xf32>
    %mul = nd.mul %cast, %broadcast : tensor<4096x4096xf32>
    %cast_2 = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
    // core
    %product = nd.matmul %x_1, %cast_2 {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xf32>
    // epilogue
    %cast_3 = nd.cast %product : tensor<64x4096xf32> -> tensor<64x4096xbf16>
    kernel.yield %cast_3 : tensor<64x4096xbf16>
  }
  func.return %fused : tensor<64x4096xbf16>
}
func.func @scaled(%x: tensor<64x4096xbf16>, %w: tensor<32x128x4096xi8>, %s: tensor<32x1x4096xf32>) -> tensor<64x4096xbf16> {
  %reshape = nd.reshape %s : tensor<32x1x4096xf32> -> tensor<32x4096xf32>
  %fused = kernel.fused @scaled_0 matmul (%w_1 = %w : tensor<32x128x4096xi8>, %arg = %reshape : tensor<32x4096xf32>, %x_1 = %x : tensor<64x4096xbf16>) -> tensor<64x4096xbf16> {
    // prologue
    %cast = nd.cast %w_1 : tensor<32x128x4096xi8> -> tensor<32x128x4096xf32>
    %broadcast = nd.broadcast %arg {dims = [0, 2]} : tensor<32x4096xf32> -> tensor<32x128x4096xf32>
    %mul = nd.mul %cast, %broadcast : tensor<32x128x4096xf32>
    %cast_1 = nd.cast %mul : tensor<32x128x4096xf32> -> tensor<32x128x4096xbf16>
    %reshape_1 = nd.reshape %cast_1 : tensor<32x128x4096xbf16> -> tensor<4096x4096xbf16>
    // core
    %product = nd.matmul %x_1, %reshape_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xf32>
    // epilogue
    %cast_2 = nd.cast %product : tensor<64x4096xf32> -> tensor<64x4096xbf16>
    kernel.yield %cast_2 : tensor<64x4096xbf16>
  }
  func.return %fused : tensor<64x4096xbf16>
}

// -----

// CHECK-LABEL: func.func @f(
// Two blocks along M share the weights that they compute.
// CHECK:  kernel.fused @f_0 matmul config<tile = {m = 128, n = 64, k = 128}, stages = 4, cluster = [2, 1], {{.*}} swap_ab = true>
func.func @f(%x: tensor<256x4096xbf16>, %w: tensor<4096x4096xi8>, %s: tensor<4096xbf16>) -> tensor<256x4096xbf16> {
  %fused = kernel.fused @f_0 matmul (%w_1 = %w : tensor<4096x4096xi8>, %s_1 = %s : tensor<4096xbf16>, %x_1 = %x : tensor<256x4096xbf16>) -> tensor<256x4096xbf16> {
    // prologue
    %cast = nd.cast %w_1 : tensor<4096x4096xi8> -> tensor<4096x4096xf32>
    %cast_1 = nd.cast %s_1 : tensor<4096xbf16> -> tensor<4096xf32>
    %broadcast = nd.broadcast %cast_1 {dims = [1]} : tensor<4096xf32> -> tensor<4096x4096xf32>
    %mul = nd.mul %cast, %broadcast : tensor<4096x4096xf32>
    %cast_2 = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
    // core
    %product = nd.matmul %x_1, %cast_2 {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<256x4096xf32>
    // epilogue
    %cast_3 = nd.cast %product : tensor<256x4096xf32> -> tensor<256x4096xbf16>
    kernel.yield %cast_3 : tensor<256x4096xbf16>
  }
  func.return %fused : tensor<256x4096xbf16>
}
func.func @scaled(%x: tensor<256x4096xbf16>, %w: tensor<32x128x4096xi8>, %s: tensor<32x1x4096xf32>) -> tensor<256x4096xbf16> {
  %reshape = nd.reshape %s : tensor<32x1x4096xf32> -> tensor<32x4096xf32>
  %fused = kernel.fused @scaled_0 matmul (%w_1 = %w : tensor<32x128x4096xi8>, %arg = %reshape : tensor<32x4096xf32>, %x_1 = %x : tensor<256x4096xbf16>) -> tensor<256x4096xbf16> {
    // prologue
    %cast = nd.cast %w_1 : tensor<32x128x4096xi8> -> tensor<32x128x4096xf32>
    %broadcast = nd.broadcast %arg {dims = [0, 2]} : tensor<32x4096xf32> -> tensor<32x128x4096xf32>
    %mul = nd.mul %cast, %broadcast : tensor<32x128x4096xf32>
    %cast_1 = nd.cast %mul : tensor<32x128x4096xf32> -> tensor<32x128x4096xbf16>
    %reshape_1 = nd.reshape %cast_1 : tensor<32x128x4096xbf16> -> tensor<4096x4096xbf16>
    // core
    %product = nd.matmul %x_1, %reshape_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<256x4096xf32>
    // epilogue
    %cast_2 = nd.cast %product : tensor<256x4096xf32> -> tensor<256x4096xbf16>
    kernel.yield %cast_2 : tensor<256x4096xbf16>
  }
  func.return %fused : tensor<256x4096xbf16>
}

// -----

// What a kernel before has written comes from the L2 cache more slowly: tiles that load less.
// CHECK-LABEL: func.func @f(
// CHECK:  kernel.fused @scaled_0 map
// CHECK:  kernel.fused @scaled_1 matmul config<tile = {m = 128, n = 256, k = 64}, {{.*}} schedule = "persistent"
func.func @f(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xi8>, %s: tensor<4096xbf16>) -> tensor<4096x4096xbf16> {
  %fused = kernel.fused @f_0 matmul (%w_1 = %w : tensor<4096x4096xi8>, %s_1 = %s : tensor<4096xbf16>, %x_1 = %x : tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    // prologue
    %cast = nd.cast %w_1 : tensor<4096x4096xi8> -> tensor<4096x4096xf32>
    %cast_1 = nd.cast %s_1 : tensor<4096xbf16> -> tensor<4096xf32>
    %broadcast = nd.broadcast %cast_1 {dims = [1]} : tensor<4096xf32> -> tensor<4096x4096xf32>
    %mul = nd.mul %cast, %broadcast : tensor<4096x4096xf32>
    %cast_2 = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
    // core
    %product = nd.matmul %x_1, %cast_2 {lhs_contract = [1], rhs_contract = [0]} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
    // epilogue
    %cast_3 = nd.cast %product : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
    kernel.yield %cast_3 : tensor<4096x4096xbf16>
  }
  func.return %fused : tensor<4096x4096xbf16>
}
func.func @scaled(%x: tensor<4096x4096xbf16>, %w: tensor<32x128x4096xi8>, %s: tensor<32x1x4096xf32>) -> tensor<4096x4096xbf16> {
  %reshape = nd.reshape %s : tensor<32x1x4096xf32> -> tensor<32x4096xf32>
  %fused = kernel.fused @scaled_0 map (%w_1 = %w : tensor<32x128x4096xi8>, %arg = %reshape : tensor<32x4096xf32>) -> tensor<32x128x4096xbf16> {
    %cast = nd.cast %w_1 : tensor<32x128x4096xi8> -> tensor<32x128x4096xf32>
    %broadcast = nd.broadcast %arg {dims = [0, 2]} : tensor<32x4096xf32> -> tensor<32x128x4096xf32>
    %mul = nd.mul %cast, %broadcast : tensor<32x128x4096xf32>
    %cast_1 = nd.cast %mul : tensor<32x128x4096xf32> -> tensor<32x128x4096xbf16>
    kernel.yield %cast_1 : tensor<32x128x4096xbf16>
  }
  %reshape_1 = nd.reshape %fused : tensor<32x128x4096xbf16> -> tensor<4096x4096xbf16>
  %fused_1 = kernel.fused @scaled_1 matmul (%x_1 = %x : tensor<4096x4096xbf16>, %arg = %reshape_1 : tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    // core
    %product = nd.matmul %x_1, %arg {lhs_contract = [1], rhs_contract = [0]} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
    // epilogue
    %cast = nd.cast %product : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
    kernel.yield %cast : tensor<4096x4096xbf16>
  }
  func.return %fused_1 : tensor<4096x4096xbf16>
}
