// RUN: irc-opt %s -p choose-config | filecheck %s

// Gradients of attention with heads that share keys: what is added up over heads and over positions, which are not side
// by side in q and in the gradient of the result, comes by TMA as it lies.
// CHECK: kernel.fused @gradients cascade config<tile = {m = 128, {{.*}} indexing = "tma", instruction = "wgmma">
func.func @kernel(%0: tensor<4x4x4x1024xf32>, %1: tensor<4x1024x16x128xbf16>, %2: tensor<4x1024x4x128xbf16>, %3: tensor<4x1024x4x4x128xbf16>, %4: tensor<4x1024x4x4x128xbf16>, %5: tensor<4x1024x4x128xbf16>, %6: tensor<4x4x4x1024xf32>) -> (tensor<4x4x1024x128xbf16>, tensor<4x1024x4x128xf32>, tensor<4x4x4x1024x128xf32>, tensor<4x1024x4x128xbf16>) {
  %7, %8, %9, %10 = kernel.fused @gradients cascade (%11 = %0 : tensor<4x4x4x1024xf32>, %12 = %1 : tensor<4x1024x16x128xbf16>, %13 = %2 : tensor<4x1024x4x128xbf16>, %14 = %3 : tensor<4x1024x4x4x128xbf16>, %15 = %4 : tensor<4x1024x4x4x128xbf16>, %16 = %5 : tensor<4x1024x4x128xbf16>, %17 = %6 : tensor<4x4x4x1024xf32>) -> (tensor<4x4x1024x128xbf16>, tensor<4x1024x4x128xf32>, tensor<4x4x4x1024x128xf32>, tensor<4x1024x4x128xbf16>) {
    // prologue
    %18 = nd.constant 1.442695 : tensor<4x4x4x1024xf32>
    %19 = nd.mul %11, %18 : tensor<4x4x4x1024xf32>
    %20 = nd.permute %12 {permutation = [0, 2, 1, 3]} : tensor<4x1024x16x128xbf16> -> tensor<4x16x1024x128xbf16>
    %21 = nd.reshape %20 : tensor<4x16x1024x128xbf16> -> tensor<4x4x4x1024x128xbf16>
    %22 = nd.iota {axis = 4, nd.repeated} : tensor<4x4x4x1024x1024xi32>
    %23 = nd.iota {axis = 3, nd.repeated} : tensor<4x4x4x1024x1024xi32>
    %24 = nd.less_equal %22, %23 {nd.repeated} : tensor<4x4x4x1024x1024xi32> -> tensor<4x4x4x1024x1024xi1>
    %25 = nd.constant -inf {nd.repeated} : tensor<4x4x4x1024x1024xf32>
    %26 = nd.constant 0.12751743 {nd.repeated} : tensor<4x4x4x1024x1024xf32>
    %27 = nd.broadcast %19 {dims = [0, 1, 2, 3], nd.repeated} : tensor<4x4x4x1024xf32> -> tensor<4x4x4x1024x1024xf32>
    %28 = nd.permute %15 {permutation = [0, 2, 3, 1, 4]} : tensor<4x1024x4x4x128xbf16> -> tensor<4x4x4x1024x128xbf16>
    %29 = nd.broadcast %17 {dims = [0, 1, 2, 3], nd.repeated} : tensor<4x4x4x1024xf32> -> tensor<4x4x4x1024x1024xf32>
    // core
    %30 = nd.matmul %21, %13 {lhs_batch = [0, 1], rhs_batch = [0, 2], lhs_contract = [4], rhs_contract = [3]} : (tensor<4x4x4x1024x128xbf16>, tensor<4x1024x4x128xbf16>) -> tensor<4x4x4x1024x1024xf32>
    %31 = nd.where %24, %30, %25 : (tensor<4x4x4x1024x1024xi1>, tensor<4x4x4x1024x1024xf32>, tensor<4x4x4x1024x1024xf32>) -> tensor<4x4x4x1024x1024xf32>
    %32 = nd.mul %31, %26 : tensor<4x4x4x1024x1024xf32>
    %33 = nd.sub %32, %27 : tensor<4x4x4x1024x1024xf32>
    %34 = nd.exp2 %33 {nd.relaxed} : tensor<4x4x4x1024x1024xf32>
    %35 = nd.cast %34 : tensor<4x4x4x1024x1024xf32> -> tensor<4x4x4x1024x1024xbf16>
    %36 = nd.matmul %35, %14 {lhs_batch = [0, 1], rhs_batch = [0, 2], lhs_contract = [2, 3], rhs_contract = [3, 1]} : (tensor<4x4x4x1024x1024xbf16>, tensor<4x1024x4x4x128xbf16>) -> tensor<4x4x1024x128xf32>
    %37 = nd.matmul %28, %16 {lhs_batch = [0, 1], rhs_batch = [0, 2], lhs_contract = [4], rhs_contract = [3]} : (tensor<4x4x4x1024x128xbf16>, tensor<4x1024x4x128xbf16>) -> tensor<4x4x4x1024x1024xf32>
    %38 = nd.sub %37, %29 : tensor<4x4x4x1024x1024xf32>
    %39 = nd.mul %34, %38 : tensor<4x4x4x1024x1024xf32>
    %40 = nd.cast %39 : tensor<4x4x4x1024x1024xf32> -> tensor<4x4x4x1024x1024xbf16>
    %41 = nd.matmul %40, %21 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [2, 3], rhs_contract = [2, 3]} : (tensor<4x4x4x1024x1024xbf16>, tensor<4x4x4x1024x128xbf16>) -> tensor<4x4x1024x128xf32>
    %42 = nd.matmul %40, %13 {lhs_batch = [0, 1], rhs_batch = [0, 2], lhs_contract = [4], rhs_contract = [1], nd.any_order} : (tensor<4x4x4x1024x1024xbf16>, tensor<4x1024x4x128xbf16>) -> tensor<4x4x4x1024x128xf32>
    // epilogue
    %43 = nd.cast %36 : tensor<4x4x1024x128xf32> -> tensor<4x4x1024x128xbf16>
    %44 = nd.permute %41 {permutation = [0, 2, 1, 3]} : tensor<4x4x1024x128xf32> -> tensor<4x1024x4x128xf32>
    %45 = nd.permute %43 {permutation = [0, 2, 1, 3]} : tensor<4x4x1024x128xbf16> -> tensor<4x1024x4x128xbf16>
    kernel.yield %43, %44, %42, %45 : tensor<4x4x1024x128xbf16>, tensor<4x1024x4x128xf32>, tensor<4x4x4x1024x128xf32>, tensor<4x1024x4x128xbf16>
  }
  func.return %7, %8, %9, %10 : tensor<4x4x1024x128xbf16>, tensor<4x1024x4x128xf32>, tensor<4x4x4x1024x128xf32>, tensor<4x1024x4x128xbf16>
}

// Loops up to the diagonal: of up to 128 batches that share a third of the L2, as many are walked over together as give
// each of 396 blocks about as much to do.
// CHECK: @shares cascade config<tile = {m = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", group = 66, occupancy = 3,
func.func @shares(%x: tensor<192x1024x64xbf16>, %w: tensor<192x1024x64xbf16>, %seen: tensor<1024x1024xi1>) -> tensor<192x1024x64xf32> {
  %r = kernel.fused @shares cascade (%a = %x : tensor<192x1024x64xbf16>, %b = %w : tensor<192x1024x64xbf16>, %m = %seen : tensor<1024x1024xi1>) -> tensor<192x1024x64xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<192x1024x64xbf16>, tensor<192x1024x64xbf16>) -> tensor<192x1024x1024xf32>
    %z = nd.constant 0.0 : tensor<192x1024x1024xf32>
    %n = nd.broadcast %m {dims = [1, 2]} : tensor<1024x1024xi1> -> tensor<192x1024x1024xi1>
    %s = nd.where %n, %c, %z : (tensor<192x1024x1024xi1>, tensor<192x1024x1024xf32>, tensor<192x1024x1024xf32>) -> tensor<192x1024x1024xf32>
    %d = nd.cast %s : tensor<192x1024x1024xf32> -> tensor<192x1024x1024xbf16>
    %e = nd.matmul %d, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<192x1024x1024xbf16>, tensor<192x1024x64xbf16>) -> tensor<192x1024x64xf32>
    kernel.yield %e : tensor<192x1024x64xf32>
  }
  func.return %r : tensor<192x1024x64xf32>
}
