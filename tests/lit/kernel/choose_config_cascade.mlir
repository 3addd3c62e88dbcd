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

// Gradients with loops up to the diagonal: of up to 128 batches that share two thirds of the L2, as many are walked over
// together as give each of 264 blocks about as much to do.
// CHECK: @shares cascade config<tile = {m = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", group = 88, occupancy = 2,
func.func @shares(%q: tensor<192x1024x64xbf16>, %k: tensor<192x1024x64xbf16>, %v: tensor<192x1024x64xbf16>, %g: tensor<192x1024x64xbf16>) -> (tensor<192x1024x64xf32>, tensor<192x1024x64xf32>) {
  %dk, %dv = kernel.fused @shares cascade (%a = %q : tensor<192x1024x64xbf16>, %b = %k : tensor<192x1024x64xbf16>, %c = %v : tensor<192x1024x64xbf16>, %d = %g : tensor<192x1024x64xbf16>) -> (tensor<192x1024x64xf32>, tensor<192x1024x64xf32>) {
    %columns = nd.iota {axis = 2} : tensor<192x1024x1024xi32>
    %rows = nd.iota {axis = 1} : tensor<192x1024x1024xi32>
    %seen = nd.less_equal %columns, %rows : tensor<192x1024x1024xi32> -> tensor<192x1024x1024xi1>
    %none = nd.constant -inf : tensor<192x1024x1024xf32>
    %scores = nd.matmul %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<192x1024x64xbf16>, tensor<192x1024x64xbf16>) -> tensor<192x1024x1024xf32>
    %masked = nd.where %seen, %scores, %none : (tensor<192x1024x1024xi1>, tensor<192x1024x1024xf32>, tensor<192x1024x1024xf32>) -> tensor<192x1024x1024xf32>
    %p = nd.exp2 %masked : tensor<192x1024x1024xf32>
    %slope = nd.matmul %d, %c {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<192x1024x64xbf16>, tensor<192x1024x64xbf16>) -> tensor<192x1024x1024xf32>
    %ds = nd.mul %p, %slope : tensor<192x1024x1024xf32>
    %left = nd.cast %ds : tensor<192x1024x1024xf32> -> tensor<192x1024x1024xbf16>
    %dk = nd.matmul %left, %a {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<192x1024x1024xbf16>, tensor<192x1024x64xbf16>) -> tensor<192x1024x64xf32>
    %weights = nd.cast %p : tensor<192x1024x1024xf32> -> tensor<192x1024x1024xbf16>
    %dv = nd.matmul %weights, %d {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<192x1024x1024xbf16>, tensor<192x1024x64xbf16>) -> tensor<192x1024x64xf32>
    kernel.yield %dk, %dv : tensor<192x1024x64xf32>, tensor<192x1024x64xf32>
  }
  func.return %dk, %dv : tensor<192x1024x64xf32>, tensor<192x1024x64xf32>
}

// What numbers that do not fall say of documents leaves a block few steps: small ones share an SM, and take tiles while
// they run.
// CHECK: @documents cascade config<tile = {m = 64, k = 128}, stages = 2, warps = 4, schedule = "dynamic", group = 16, occupancy = 2,
func.func @documents(%q: tensor<64x4096x128xbf16>, %k: tensor<64x4096x128xbf16>, %ids: tensor<4096xi32>) -> tensor<64x4096x128xbf16> {
  %r = kernel.fused @documents cascade (%a = %q : tensor<64x4096x128xbf16>, %b = %k : tensor<64x4096x128xbf16>, %i = %ids : tensor<4096xi32>) -> tensor<64x4096x128xbf16> {
    %sorted = nd.ascending %i : tensor<4096xi32>
    %row = nd.broadcast %sorted {dims = [1]} : tensor<4096xi32> -> tensor<64x4096x4096xi32>
    %column = nd.broadcast %sorted {dims = [2]} : tensor<4096xi32> -> tensor<64x4096x4096xi32>
    %seen = nd.equal %row, %column : tensor<64x4096x4096xi32> -> tensor<64x4096x4096xi1>
    %none = nd.constant 0.0 : tensor<64x4096x4096xf32>
    %scores = nd.matmul %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<64x4096x128xbf16>, tensor<64x4096x128xbf16>) -> tensor<64x4096x4096xf32>
    %masked = nd.where %seen, %scores, %none : (tensor<64x4096x4096xi1>, tensor<64x4096x4096xf32>, tensor<64x4096x4096xf32>) -> tensor<64x4096x4096xf32>
    %p = nd.cast %masked : tensor<64x4096x4096xf32> -> tensor<64x4096x4096xbf16>
    %s = nd.matmul %p, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<64x4096x4096xbf16>, tensor<64x4096x128xbf16>) -> tensor<64x4096x128xf32>
    %y = nd.cast %s : tensor<64x4096x128xf32> -> tensor<64x4096x128xbf16>
    kernel.yield %y : tensor<64x4096x128xbf16>
  }
  func.return %r : tensor<64x4096x128xbf16>
}
