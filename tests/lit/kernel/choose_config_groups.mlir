// RUN: irc-opt %s -p choose-config | filecheck %s

// Groups are taken to be of one size: of 64 rows a tile has no more. Blocks beside each other share rows of a group.
// Where rows are contracted, threads have registers for what is left of a step.
// CHECK:      kernel.fused @rows matmul config<tile = {m = 64, {{.*}} cluster = [1, 2], {{.*}} instruction = "wgmma">
// CHECK:      kernel.fused @gated matmul config<{{.*}} cluster = [1, 2], {{.*}} instruction = "wgmma">
// CHECK:      kernel.fused @over_rows matmul config<tile = {m = 128, n = 256, k = 64}, {{.*}} cluster = [1, 1], warps = 8, schedule = "persistent", {{.*}} instruction = "wgmma">
func.func @f(%x: tensor<8192x4096xbf16>, %w: tensor<128x4096x1536xbf16>, %e: tensor<128xi32>, %y: tensor<8192x4096xbf16>, %v: tensor<8x4096x4096xbf16>, %d: tensor<8xi32>) -> (tensor<8192x1536xf32>, tensor<8192x4096xf32>, tensor<8x4096x4096xf32>) {
  %r = kernel.fused @rows matmul (%a = %x : tensor<8192x4096xbf16>, %b = %w : tensor<128x4096x1536xbf16>, %c = %e : tensor<128xi32>) -> tensor<8192x1536xf32> {
    %0 = nd.grouped_matmul %a, %b, %c {rhs_contract = 1} : (tensor<8192x4096xbf16>, tensor<128x4096x1536xbf16>, tensor<128xi32>) -> tensor<8192x1536xf32>
    kernel.yield %0 : tensor<8192x1536xf32>
  }
  %s = kernel.fused @gated matmul (%a = %x : tensor<8192x4096xbf16>, %b = %v : tensor<8x4096x4096xbf16>, %c = %d : tensor<8xi32>) -> tensor<8192x4096xf32> {
    %0 = nd.grouped_matmul %a, %b, %c {rhs_contract = 1} : (tensor<8192x4096xbf16>, tensor<8x4096x4096xbf16>, tensor<8xi32>) -> tensor<8192x4096xf32>
    %1 = nd.exp %0 : tensor<8192x4096xf32>
    kernel.yield %1 : tensor<8192x4096xf32>
  }
  %t = kernel.fused @over_rows matmul (%a = %x : tensor<8192x4096xbf16>, %b = %y : tensor<8192x4096xbf16>, %c = %d : tensor<8xi32>) -> tensor<8x4096x4096xf32> {
    %0 = nd.grouped_matmul %a, %b, %c {lhs_contract = 0, rhs_contract = 0} : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>, tensor<8xi32>) -> tensor<8x4096x4096xf32>
    kernel.yield %0 : tensor<8x4096x4096xf32>
  }
  func.return %r, %s, %t : tensor<8192x1536xf32>, tensor<8192x4096xf32>, tensor<8x4096x4096xf32>
}
