// RUN: irc-opt %s -p split-reductions | filecheck %s

// Columns of an odd number are put together in parts; an axis of extent 1 before the reduced one is no side of its own.
// CHECK: kernel.fused @f_0 reduce
// CHECK: [[X:%\S+]] = nd.reshape %x_1 : tensor<1x15630x507xf32> -> tensor<15630x507xf32>
// CHECK: nd.reshape {{.*}} -> tensor<11x88x8112xf32>
// CHECK: kernel.fused @{{.*}} reduce
func.func @f(%x: tensor<1x15630x507xf32>) -> tensor<1x507xf32> {
  %fused = kernel.fused @f_0 reduce config<tile = {d = 128, r = 8}, warps = 8, schedule = "grid", split = 15, reduction = "looped", unroll = 4, occupancy = 8> (%x_1 = %x : tensor<1x15630x507xf32>) -> tensor<1x507xf32> {
    // core
    %sum = nd.sum %x_1 {axes = [1]} : tensor<1x15630x507xf32> -> tensor<1x507xf32>
    kernel.yield %sum : tensor<1x507xf32>
  }
  func.return %fused : tensor<1x507xf32>
}
