// RUN: irc-opt %s -p choose-config | filecheck %s

// The rest is chosen around a field that is given: tiles for two warp groups, rows along N, warps that
// share a tile.
// CHECK:      @around_warps matmul config<tile = [128, {{.*}}, warps = 8, schedule = "persistent", {{.*}}instruction = "wgmma">
func.func @around_warps(%x: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>) -> tensor<1024x1024xf32> {
  %r = kernel.fused @around_warps matmul config<warps = 8> (%a = %x : tensor<1024x1024xbf16>, %b = %w : tensor<1024x1024xbf16>) -> tensor<1024x1024xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : tensor<1024x1024xbf16> -> tensor<1024x1024xf32>
    kernel.yield %c : tensor<1024x1024xf32>
  }
  func.return %r : tensor<1024x1024xf32>
}

// CHECK:      @around_rows matmul config<tile = [32, 64, 128], {{.*}}instruction = "wgmma", swap_ab = true>
func.func @around_rows(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<256x256xf32> {
  %r = kernel.fused @around_rows matmul config<swap_ab = true> (%a = %x : tensor<256x256xbf16>, %b = %w : tensor<256x256xbf16>) -> tensor<256x256xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : tensor<256x256xbf16> -> tensor<256x256xf32>
    kernel.yield %c : tensor<256x256xf32>
  }
  func.return %r : tensor<256x256xf32>
}

// CHECK:      @around_wide matmul config<tile = [32, 32, 32], {{.*}}warps = 8, {{.*}}instruction = "mma">
func.func @around_wide(%x: tensor<64x64xf64>, %w: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %r = kernel.fused @around_wide matmul config<warps = 8> (%a = %x : tensor<64x64xf64>, %b = %w : tensor<64x64xf64>) -> tensor<64x64xf64> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xf64>
    kernel.yield %c : tensor<64x64xf64>
  }
  func.return %r : tensor<64x64xf64>
}
