// RUN: not irc-opt %s --split-input-file -t cutlass 2>&1 | filecheck %s

// CHECK: invalid.mlir:8:{{[0-9]+}}: error: CUTLASS's collectives cannot say products of 64 x 64 and of 64 x 32 in one kernel (nd.matmul)
// CHECK: hint: accepted: products of one shape
func.func @dual(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %v: tensor<64x32xbf16>) -> (tensor<64x64xf32>, tensor<64x32xf32>) {
  %0, %9 = kernel.fused @dual_0 matmul (%a = %x : tensor<64x64xbf16>, %b = %w : tensor<64x64xbf16>, %c = %v : tensor<64x32xbf16>) -> (tensor<64x64xf32>, tensor<64x32xf32>) {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %2 = nd.matmul %a, %c {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x32xbf16>) -> tensor<64x32xf32>
    kernel.yield %1, %2 : tensor<64x64xf32>, tensor<64x32xf32>
  }
  func.return %0, %9 : tensor<64x64xf32>, tensor<64x32xf32>
}

// -----

// CHECK: error: no kernel before a product computes its operand by this op (nd.neg)
// CHECK: hint: accepted: abs, add,
func.func @prologue(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %0 = kernel.fused @prologue_0 matmul (%a = %x : tensor<64x64xbf16>, %b = %w : tensor<64x64xbf16>) -> tensor<64x64xf32> {
    %1 = nd.neg %a : tensor<64x64xbf16>
    %2 = nd.matmul %1, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    kernel.yield %2 : tensor<64x64xf32>
  }
  func.return %0 : tensor<64x64xf32>
}

// -----

// CHECK: error: an epilogue visitor tree has no node for results of shape [64] alone (nd.sum)
// CHECK: hint: accepted: a result of [64, 64], and reductions beside it
func.func @reduction(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64xf32> {
  %0 = kernel.fused @reduction_0 matmul (%a = %x : tensor<64x64xbf16>, %b = %w : tensor<64x64xbf16>) -> tensor<64xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %2 = nd.sum %1 {axes = [1]} : tensor<64x64xf32> -> tensor<64xf32>
    kernel.yield %2 : tensor<64xf32>
  }
  func.return %0 : tensor<64xf32>
}

// -----

// CHECK: error: an epilogue visitor tree has no node for a result of shape [4, 64] (nd.sum)
// CHECK: hint: accepted: results of [64, 64], and sum, max, min of them over rows, columns or both, before split-reductions
func.func @parts(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<4x64xf32>) {
  %0, %1 = kernel.fused @parts_0 matmul (%a = %x : tensor<64x64xbf16>, %b = %w : tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<4x64xf32>) {
    %2 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %3 = nd.reshape %2 : tensor<64x64xf32> -> tensor<4x16x64xf32>
    %4 = nd.sum %3 {axes = [1]} : tensor<4x16x64xf32> -> tensor<4x64xf32>
    kernel.yield %2, %4 : tensor<64x64xf32>, tensor<4x64xf32>
  }
  func.return %0, %1 : tensor<64x64xf32>, tensor<4x64xf32>
}

// -----

// CHECK: error: an epilogue visitor tree has no node for max of f32 (nd.max)
// CHECK: hint: accepted: sum, max, min of f32, of both rows and columns sum
func.func @largest(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<f32>) {
  %0, %1 = kernel.fused @largest_0 matmul (%a = %x : tensor<64x64xbf16>, %b = %w : tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<f32>) {
    %2 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %3 = nd.max %2 {axes = [0, 1]} : tensor<64x64xf32> -> tensor<f32>
    kernel.yield %2, %3 : tensor<64x64xf32>, tensor<f32>
  }
  func.return %0, %1 : tensor<64x64xf32>, tensor<f32>
}

// -----

// CHECK: error: an epilogue visitor tree has no node for this op after a product (nd.mod)
// CHECK: hint: accepted: abs, add,
func.func @op(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %0 = kernel.fused @op_0 matmul (%a = %x : tensor<64x64xbf16>, %b = %w : tensor<64x64xbf16>) -> tensor<64x64xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %2 = nd.mod %1, %1 : tensor<64x64xf32>
    kernel.yield %2 : tensor<64x64xf32>
  }
  func.return %0 : tensor<64x64xf32>
}

// -----

// CHECK: error: CUTLASS's collectives cannot say a product of f32 and f32 (nd.matmul)
// CHECK: hint: accepted: bf16, f16, f8e4m3, f8e5m2, i8, u8, and f32 with precision tf32
func.func @f32(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = kernel.fused @f32_0 matmul (%a = %x : tensor<64x64xf32>, %b = %w : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    kernel.yield %1 : tensor<64x64xf32>
  }
  func.return %0 : tensor<64x64xf32>
}

// -----

// CHECK: error: CUTLASS's collectives cannot say rows of 65 x bf16 of operand 0 (nd.matmul)
// CHECK: hint: accepted: rows of a multiple of 16 bytes
func.func @unaligned(%x: tensor<64x65xbf16>, %w: tensor<65x64xbf16>) -> tensor<64x64xf32> {
  %0 = kernel.fused @unaligned_0 matmul (%a = %x : tensor<64x65xbf16>, %b = %w : tensor<65x64xbf16>) -> tensor<64x64xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x65xbf16>, tensor<65x64xbf16>) -> tensor<64x64xf32>
    kernel.yield %1 : tensor<64x64xf32>
  }
  func.return %0 : tensor<64x64xf32>
}

// -----

// CHECK: error: an epilogue visitor tree has no node for b of shape [32] in the epilogue (nd.matmul)
func.func @part(%x: tensor<64x64xbf16>, %w: tensor<64x2x32xbf16>, %v: tensor<32xf32>) -> tensor<64x2x32xf32> {
  %0 = kernel.fused @part_0 matmul (%a = %x : tensor<64x64xbf16>, %m = %w : tensor<64x2x32xbf16>, %b = %v : tensor<32xf32>) -> tensor<64x2x32xf32> {
    %1 = nd.matmul %a, %m {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x2x32xbf16>) -> tensor<64x2x32xf32>
    %2 = nd.broadcast %b {dims = [2]} : tensor<32xf32> -> tensor<64x2x32xf32>
    %3 = nd.add %1, %2 : tensor<64x2x32xf32>
    kernel.yield %3 : tensor<64x2x32xf32>
  }
  func.return %0 : tensor<64x2x32xf32>
}

// -----

// CHECK: error: -t cutlass writes one kernel, found 0 matmul kernels
func.func @map(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = kernel.fused @map_0 map (%a = %x : tensor<64xf32>) -> tensor<64xf32> {
    %1 = nd.neg %a : tensor<64xf32>
    kernel.yield %1 : tensor<64xf32>
  }
  func.return %0 : tensor<64xf32>
}
