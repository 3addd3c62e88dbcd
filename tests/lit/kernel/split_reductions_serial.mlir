// RUN: irc-opt %s --split-input-file -p split-reductions | filecheck %s

// The parts of K are a batch of the product, whose sum stays in the kernel; a semaphore for each 8 rows and columns says which part is next, in the end
// none. What follows the product is a kernel of its own.
// CHECK-LABEL: func.func @f
// CHECK-NEXT:    [[SUM:%[0-9]+]], [[SEMAPHORES:%[0-9]+]] = kernel.fused @product matmul {{.*}} split = 4, split_sums = "serial", {{.*}} -> (tensor<128x192xf32>, tensor<16x24xi32>) {
// CHECK:           [[PARTS:%[0-9]+]] = nd.matmul {{.*}} {lhs_batch = [1], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} {{.*}} -> tensor<4x128x192xf32>
// CHECK:           nd.sum [[PARTS]] {axes = [0]}
// CHECK-NEXT:      nd.constant 0 : tensor<16x24xi32>
// CHECK:         kernel.fused @product_finish map {{.*}} = [[SUM]]
// CHECK-NEXT:      nd.relu
func.func @f(%x: tensor<128x1024xbf16>, %w: tensor<1024x192xbf16>) -> tensor<128x192xbf16> {
  %0 = kernel.fused @product matmul config<tile = {m = 64, n = 64, k = 64}, stages = 4, warps = 4, schedule = "grid", split = 4, split_sums = "serial", instruction = "wgmma"> (%a = %x : tensor<128x1024xbf16>, %b = %w : tensor<1024x192xbf16>) -> tensor<128x192xbf16> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<128x1024xbf16>, tensor<1024x192xbf16>) -> tensor<128x192xf32>
    %2 = nd.relu %1 : tensor<128x192xf32>
    %3 = nd.cast %2 : tensor<128x192xf32> -> tensor<128x192xbf16>
    kernel.yield %3 : tensor<128x192xbf16>
  }
  func.return %0 : tensor<128x192xbf16>
}

// -----

// Where nothing follows there is no second kernel. Of a transposed product a tile's rows lie along N, and so do those of the words.
// CHECK-LABEL: func.func @alone
// CHECK:         kernel.fused @product matmul {{.*}} -> (tensor<128x192xf32>, tensor<24x16xi32>) {
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @alone(%x: tensor<128x1024xbf16>, %w: tensor<1024x192xbf16>) -> tensor<128x192xf32> {
  %0 = kernel.fused @product matmul config<tile = {m = 64, n = 64, k = 64}, stages = 4, warps = 4, schedule = "grid", split = 2, split_sums = "serial", instruction = "wgmma", swap_ab = true> (%a = %x : tensor<128x1024xbf16>, %b = %w : tensor<1024x192xbf16>) -> tensor<128x192xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<128x1024xbf16>, tensor<1024x192xbf16>) -> tensor<128x192xf32>
    kernel.yield %1 : tensor<128x192xf32>
  }
  func.return %0 : tensor<128x192xf32>
}
