// RUN: irc-opt %s -p split-reductions | filecheck %s

// Few parts of a product are added up by the kernel that reads the sum, each half of a row at a place of its own.
// CHECK-LABEL: func.func @halves
// CHECK:      %[[PARTS:.*]] = kernel.fused @p matmul
// CHECK-SAME:   -> tensor<4x8x64xf32>
// CHECK-NOT:  kernel.fused @p_finish
// CHECK:      kernel.fused @q map {{.*}} (%[[C:.*]] = %c : tensor<32xf32>, %[[IN:.*]] = %[[PARTS]] : tensor<4x8x64xf32>) -> tensor<8x32xbf16>
// CHECK:        %[[A:.*]] = nd.slice %[[IN]] {starts = [0, 0, 0], stops = [1, 8, 64], steps = [1, 1, 1]}
// CHECK-NEXT:   nd.reshape %[[A]] : tensor<1x8x64xf32> -> tensor<8x64xf32>
// CHECK-COUNT-3: nd.add
// CHECK-NEXT:   nd.cast {{.*}} : tensor<8x64xf32> -> tensor<8x64xbf16>
// CHECK-NEXT:   nd.reshape {{.*}} -> tensor<8x2x32xbf16>
// CHECK-NOT:    nd.sum
// CHECK:        kernel.yield
func.func @halves(%x: tensor<8x1024xbf16>, %w: tensor<64x1024xbf16>, %c: tensor<32xf32>) -> tensor<8x32xbf16> {
  %0 = kernel.fused @p matmul config<tile = {m = 16, n = 64, k = 128}, stages = 4, schedule = "persistent", split = 4, instruction = "wgmma", swap_ab = true> (%a = %x : tensor<8x1024xbf16>, %b = %w : tensor<64x1024xbf16>) -> tensor<8x64xbf16> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<8x1024xbf16>, tensor<64x1024xbf16>) -> tensor<8x64xf32>
    %2 = nd.cast %1 : tensor<8x64xf32> -> tensor<8x64xbf16>
    kernel.yield %2 : tensor<8x64xbf16>
  }
  %3 = nd.reshape %0 : tensor<8x64xbf16> -> tensor<8x2x32xbf16>
  %4 = kernel.fused @q map config<tile = {d = 128}, warps = 2> (%y = %3 : tensor<8x2x32xbf16>, %d = %c : tensor<32xf32>) -> tensor<8x32xbf16> {
    %5 = nd.cast %y : tensor<8x2x32xbf16> -> tensor<8x2x32xf32>
    %6 = nd.slice %5 {starts = [0, 0, 0], stops = [8, 1, 32], steps = [1, 1, 1]} : tensor<8x2x32xf32> -> tensor<8x1x32xf32>
    %7 = nd.slice %5 {starts = [0, 1, 0], stops = [8, 2, 32], steps = [1, 1, 1]} : tensor<8x2x32xf32> -> tensor<8x1x32xf32>
    %8 = nd.sub %6, %7 : tensor<8x1x32xf32>
    %9 = nd.reshape %8 : tensor<8x1x32xf32> -> tensor<8x32xf32>
    %10 = nd.broadcast %d {dims = [1]} : tensor<32xf32> -> tensor<8x32xf32>
    %11 = nd.mul %9, %10 : tensor<8x32xf32>
    %12 = nd.cast %11 : tensor<8x32xf32> -> tensor<8x32xbf16>
    kernel.yield %12 : tensor<8x32xbf16>
  }
  func.return %4 : tensor<8x32xbf16>
}

// Left alone: a sum that is a result of the function too, one that a kernel spreads, and one of more parts.
// CHECK-LABEL: func.func @returned
// CHECK: kernel.fused @r_finish
func.func @returned(%x: tensor<8x1024xbf16>, %w: tensor<64x1024xbf16>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %0 = kernel.fused @r matmul config<tile = {m = 16, n = 64, k = 128}, stages = 4, schedule = "persistent", split = 4, instruction = "wgmma", swap_ab = true> (%a = %x : tensor<8x1024xbf16>, %b = %w : tensor<64x1024xbf16>) -> tensor<8x64xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<8x1024xbf16>, tensor<64x1024xbf16>) -> tensor<8x64xf32>
    kernel.yield %1 : tensor<8x64xf32>
  }
  %2 = kernel.fused @s map config<tile = {d = 128}, warps = 2> (%y = %0 : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %3 = nd.exp %y : tensor<8x64xf32>
    kernel.yield %3 : tensor<8x64xf32>
  }
  func.return %0, %2 : tensor<8x64xf32>, tensor<8x64xf32>
}

// CHECK-LABEL: func.func @spread
// CHECK: kernel.fused @t_finish
func.func @spread(%x: tensor<8x1024xbf16>, %w: tensor<64x1024xbf16>) -> tensor<16x8x64xf32> {
  %0 = kernel.fused @t matmul config<tile = {m = 16, n = 64, k = 128}, stages = 4, schedule = "persistent", split = 4, instruction = "wgmma", swap_ab = true> (%a = %x : tensor<8x1024xbf16>, %b = %w : tensor<64x1024xbf16>) -> tensor<8x64xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<8x1024xbf16>, tensor<64x1024xbf16>) -> tensor<8x64xf32>
    kernel.yield %1 : tensor<8x64xf32>
  }
  %2 = kernel.fused @u map config<tile = {d = 128}, warps = 2> (%y = %0 : tensor<8x64xf32>) -> tensor<16x8x64xf32> {
    %3 = nd.exp %y : tensor<8x64xf32>
    %4 = nd.broadcast %3 {dims = [1, 2]} : tensor<8x64xf32> -> tensor<16x8x64xf32>
    kernel.yield %4 : tensor<16x8x64xf32>
  }
  func.return %2 : tensor<16x8x64xf32>
}

// CHECK-LABEL: func.func @many
// CHECK: kernel.fused @v_finish
func.func @many(%x: tensor<8x2048xbf16>, %w: tensor<64x2048xbf16>) -> tensor<8x64xf32> {
  %0 = kernel.fused @v matmul config<tile = {m = 16, n = 64, k = 128}, stages = 4, schedule = "persistent", split = 16, instruction = "wgmma", swap_ab = true> (%a = %x : tensor<8x2048xbf16>, %b = %w : tensor<64x2048xbf16>) -> tensor<8x64xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<8x2048xbf16>, tensor<64x2048xbf16>) -> tensor<8x64xf32>
    kernel.yield %1 : tensor<8x64xf32>
  }
  %2 = kernel.fused @o map config<tile = {d = 128}, warps = 2> (%y = %0 : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %3 = nd.exp %y : tensor<8x64xf32>
    kernel.yield %3 : tensor<8x64xf32>
  }
  func.return %2 : tensor<8x64xf32>
}
