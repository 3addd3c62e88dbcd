// RUN: irc-opt %s -p choose-config | filecheck %s

// Rows begin inside lines of memory, and 132 tiles of 192 x 176 are one round: they share their left operands in pairs.
// CHECK-LABEL: @transposed_0
// CHECK-SAME:  config<tile = {m = 192, n = 176, k = 64}, stages = 4, cluster = [1, 2], warps = 12, schedule = "persistent"
func.func @transposed(%x: tensor<2056x2056xbf16>, %w: tensor<2056x2056xbf16>) -> tensor<2056x2056xbf16> {
  %fused = kernel.fused @transposed_0 matmul (%x_1 = %x : tensor<2056x2056xbf16>, %w_1 = %w : tensor<2056x2056xbf16>) -> tensor<2056x2056xbf16> {
    // core
    %product = nd.matmul %x_1, %w_1 {lhs_contract = [0], rhs_contract = [1]} : tensor<2056x2056xbf16> -> tensor<2056x2056xf32>
    // epilogue
    %cast = nd.cast %product : tensor<2056x2056xf32> -> tensor<2056x2056xbf16>
    kernel.yield %cast : tensor<2056x2056xbf16>
  }
  func.return %fused : tensor<2056x2056xbf16>
}

// Two products of a few rows have them along N: a tile of 64 would read 60 rows that are not there.
// CHECK-LABEL: @gated_0
// CHECK-SAME:  config<tile = {m = 16, n = 64, k = 128}, {{.*}}swap_ab = true>
func.func @gated(%x: tensor<4x2048xbf16>, %w: tensor<8192x2048xbf16>, %v: tensor<8192x2048xbf16>) -> tensor<4x8192xbf16> {
  %fused = kernel.fused @gated_0 matmul (%x_1 = %x : tensor<4x2048xbf16>, %w_1 = %w : tensor<8192x2048xbf16>, %v_1 = %v : tensor<8192x2048xbf16>) -> tensor<4x8192xbf16> {
    // core
    %0 = nd.matmul %x_1, %w_1 {lhs_contract = [1], rhs_contract = [1]} : (tensor<4x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<4x8192xf32>
    %1 = nd.matmul %x_1, %v_1 {lhs_contract = [1], rhs_contract = [1]} : (tensor<4x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<4x8192xf32>
    // epilogue
    %2 = nd.mul %0, %1 : tensor<4x8192xf32>
    %3 = nd.cast %2 : tensor<4x8192xf32> -> tensor<4x8192xbf16>
    kernel.yield %3 : tensor<4x8192xbf16>
  }
  func.return %fused : tensor<4x8192xbf16>
}

// A product has more parts where the kernel behind it adds them up than where a kernel of its own does.
// CHECK-LABEL: @read_0
// CHECK-SAME:  split = 2
// CHECK-LABEL: @returned_0
// CHECK-SAME:  config<tile = {m = 16, n = 64, k = 128}, stages = 8, cluster
func.func @read(%x: tensor<16x2048xbf16>, %w: tensor<2048x2048xbf16>) -> tensor<16x2048xbf16> {
  %0 = kernel.fused @read_0 matmul (%x_1 = %x : tensor<16x2048xbf16>, %w_1 = %w : tensor<2048x2048xbf16>) -> tensor<16x2048xbf16> {
    %1 = nd.matmul %x_1, %w_1 {lhs_contract = [1], rhs_contract = [1]} : (tensor<16x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<16x2048xf32>
    %2 = nd.cast %1 : tensor<16x2048xf32> -> tensor<16x2048xbf16>
    kernel.yield %2 : tensor<16x2048xbf16>
  }
  %3 = kernel.fused @read_1 reduce (%y = %0 : tensor<16x2048xbf16>) -> tensor<16x2048xbf16> {
    %4 = nd.cast %y : tensor<16x2048xbf16> -> tensor<16x2048xf32>
    %5 = nd.max %4 {axes = [1]} : tensor<16x2048xf32> -> tensor<16xf32>
    %6 = nd.broadcast %5 {dims = [0]} : tensor<16xf32> -> tensor<16x2048xf32>
    %7 = nd.sub %4, %6 : tensor<16x2048xf32>
    %8 = nd.cast %7 : tensor<16x2048xf32> -> tensor<16x2048xbf16>
    kernel.yield %8 : tensor<16x2048xbf16>
  }
  func.return %3 : tensor<16x2048xbf16>
}

func.func @returned(%x: tensor<16x2048xbf16>, %w: tensor<2048x2048xbf16>) -> tensor<16x2048xbf16> {
  %0 = kernel.fused @returned_0 matmul (%x_1 = %x : tensor<16x2048xbf16>, %w_1 = %w : tensor<2048x2048xbf16>) -> tensor<16x2048xbf16> {
    %1 = nd.matmul %x_1, %w_1 {lhs_contract = [1], rhs_contract = [1]} : (tensor<16x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<16x2048xf32>
    %2 = nd.cast %1 : tensor<16x2048xf32> -> tensor<16x2048xbf16>
    kernel.yield %2 : tensor<16x2048xbf16>
  }
  func.return %0 : tensor<16x2048xbf16>
}
