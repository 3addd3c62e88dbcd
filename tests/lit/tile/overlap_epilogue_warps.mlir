// Warps of mma that lie side by side have whole instructions of each subtile: four of 8 columns beside 80 rows, which one
// warp has; else a subtile is a row of 128 bytes of the result.
// RUN: irc-opt %s -p choose-config,tile-kernels,place-operands,overlap-epilogue --split-input-file | filecheck %s

// CHECK-LABEL: tile.program @beside
// CHECK:         scf.for %column = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           tile.slice {{.*}} : tensor<80x96xf64> -> tensor<80x32xf64>
func.func @f(%x: tensor<160x64xf64>, %w: tensor<64x192xf64>) -> tensor<160x192xf64> {
  %r = kernel.fused @beside matmul config<tile = {m = 80, n = 96, k = 16}, warps = 4, instruction = "mma"> (%a = %x : tensor<160x64xf64>, %b = %w : tensor<64x192xf64>) -> tensor<160x192xf64> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<160x64xf64>, tensor<64x192xf64>) -> tensor<160x192xf64>
    kernel.yield %c : tensor<160x192xf64>
  }
  func.return %r : tensor<160x192xf64>
}

// -----

// CHECK-LABEL: tile.program @stacked
// CHECK:         scf.for %column = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           tile.slice {{.*}} : tensor<64x96xf64> -> tensor<64x16xf64>
func.func @f(%x: tensor<160x64xf64>, %w: tensor<64x192xf64>) -> tensor<160x192xf64> {
  %r = kernel.fused @stacked matmul config<tile = {m = 64, n = 96, k = 16}, warps = 4, instruction = "mma"> (%a = %x : tensor<160x64xf64>, %b = %w : tensor<64x192xf64>) -> tensor<160x192xf64> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<160x64xf64>, tensor<64x192xf64>) -> tensor<160x192xf64>
    kernel.yield %c : tensor<160x192xf64>
  }
  func.return %r : tensor<160x192xf64>
}
