// The ops and attributes of kernel, printed as they are written; also from the generic form.
// RUN: irc-opt %s | irc-opt | filecheck %s
// RUN: irc-opt %s --print-op-generic | irc-opt | filecheck %s

// The groups are comments; the config prints only what is set.
// CHECK:      func.func @matmul
// CHECK-NEXT:   %r, %s = kernel.fused @gate matmul config<tile = {m = 128, n = 256, k = 64}, stages = 4, cluster = [1, 1], warps = 8, schedule = "persistent", group = 8, split = 2, reduction = "looped", indexing = "tma", subtile = 64, instruction = "wgmma", loop_order = [1, 0]> (%a = %x : tensor<8x4xf32>, %b = %w : tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
// CHECK-NEXT:     // prologue
// CHECK-NEXT:     %p = nd.relu %a
// CHECK-NEXT:     // core
// CHECK-NEXT:     %c = nd.matmul %p, %b
// CHECK-NEXT:     // epilogue
// CHECK-NEXT:     %e = nd.exp %c
// CHECK-NEXT:     %m = nd.max %e
// CHECK-NEXT:     kernel.yield %e, %m : tensor<8x8xf32>, tensor<8xf32>
// CHECK-NEXT:   } attributes {tool.note}
func.func @matmul(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %r, %s = kernel.fused @gate matmul config<tile = {m = 128, n = 256, k = 64}, stages = 4, cluster = [1, 1], warps = 8, schedule = "persistent", group = 8, split = 2, reduction = "looped", indexing = "tma", subtile = 64, instruction = "wgmma", loop_order = [1, 0]> (%a = %x : tensor<8x4xf32>, %b = %w : tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
    %p = nd.relu %a : tensor<8x4xf32>
    %c = nd.matmul %p, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %e = nd.exp %c : tensor<8x8xf32>
    %m = nd.max %e {axes = [1]} : tensor<8x8xf32> -> tensor<8xf32>
    kernel.yield %e, %m : tensor<8x8xf32>, tensor<8xf32>
  } attributes {tool.note}
  func.return %r, %s : tensor<8x8xf32>, tensor<8xf32>
}

// What lies between two reductions belongs to the core.
// CHECK:      func.func @reduce
// CHECK:        kernel.fused reduce (%a = %x : tensor<8x4xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     // core
// CHECK-NEXT:     nd.max
// CHECK-NEXT:     nd.broadcast
// CHECK-NEXT:     nd.sub
// CHECK-NEXT:     nd.sum
// CHECK-NEXT:     // epilogue
// CHECK-NEXT:     nd.log
func.func @reduce(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %r = kernel.fused reduce (%a = %x : tensor<8x4xf32>) -> tensor<8xf32> {
    %m = nd.max %a {axes = [1]} : tensor<8x4xf32> -> tensor<8xf32>
    %b = nd.broadcast %m {dims = [0]} : tensor<8xf32> -> tensor<8x4xf32>
    %d = nd.sub %a, %b : tensor<8x4xf32>
    %s = nd.sum %d {axes = [1]} : tensor<8x4xf32> -> tensor<8xf32>
    %l = nd.log %s : tensor<8xf32>
    kernel.yield %l : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// A map has no groups, and may have no operands.
// CHECK:      kernel.fused map () -> tensor<4xi32> {
// CHECK-NEXT:   %i = nd.iota
// CHECK-NEXT:   kernel.yield
func.func @map() -> tensor<4xi32> {
  %r = kernel.fused map () -> tensor<4xi32> {
    %i = nd.iota {axis = 0} : tensor<4xi32>
    kernel.yield %i : tensor<4xi32>
  }
  func.return %r : tensor<4xi32>
}

// CHECK: %r = kernel.launch @map(%x) : (tensor<4xi32>) -> tensor<4xi32>
func.func @launch(%x: tensor<4xi32>) -> tensor<4xi32> {
  %r = kernel.launch @map(%x) : (tensor<4xi32>) -> tensor<4xi32>
  func.return %r : tensor<4xi32>
}

// CHECK: attributes {config = #kernel.config<>, other = #kernel.config<stages = 3>}
func.func @attributes() attributes {config = #kernel.config<>, other = #kernel.config<stages = 3>} {
  func.return
}
