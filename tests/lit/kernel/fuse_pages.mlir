// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// A cascade reads the pages of keys and values in place. Its kernel computes their numbers.
// CHECK-LABEL: func.func @pages
// CHECK-NEXT:    kernel.fused @pages_0 cascade (%q_1 = %q : tensor<512x64x64xbf16>, %pool_1 = %pool : tensor<99x32x64xbf16>, %table_1 = %table : tensor<512x16xi32>)
// CHECK:           nd.check_indices
// CHECK:           nd.take %pool_1
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @pages(%q: tensor<512x64x64xbf16>, %pool: tensor<99x32x64xbf16>, %table: tensor<512x16xi32>) -> tensor<512x64x64xf32> {
  %one = nd.constant 1 : tensor<512x16xi32>
  %number = nd.sub %table, %one : tensor<512x16xi32>
  %checked = nd.check_indices %number {low = 0, high = 99} : tensor<512x16xi32>
  %taken = nd.take %pool, %checked {axis = 0} : (tensor<99x32x64xbf16>, tensor<512x16xi32>) -> tensor<512x16x32x64xbf16>
  %k = nd.reshape %taken : tensor<512x16x32x64xbf16> -> tensor<512x512x64xbf16>
  %s = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<512x64x64xbf16>, tensor<512x512x64xbf16>) -> tensor<512x64x512xf32>
  %e = nd.relu %s : tensor<512x64x512xf32>
  %p = nd.cast %e : tensor<512x64x512xf32> -> tensor<512x64x512xbf16>
  %y = nd.matmul %p, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<512x64x512xbf16>, tensor<512x512x64xbf16>) -> tensor<512x64x64xf32>
  func.return %y : tensor<512x64x64xf32>
}

// Pages of fewer rows than an instruction is deep are gathered, and those whose numbers are computed from floats.
// CHECK-LABEL: func.func @small
// CHECK:         kernel.fused @small_0 map
// CHECK:           nd.take
// CHECK:         kernel.fused @small_1 cascade
// CHECK-NOT:       nd.take
// CHECK:         func.return
func.func @small(%q: tensor<512x64x64xbf16>, %pool: tensor<99x8x64xbf16>, %table: tensor<512x64xi32>) -> tensor<512x64x64xf32> {
  %taken = nd.take %pool, %table {axis = 0} : (tensor<99x8x64xbf16>, tensor<512x64xi32>) -> tensor<512x64x8x64xbf16>
  %k = nd.reshape %taken : tensor<512x64x8x64xbf16> -> tensor<512x512x64xbf16>
  %s = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<512x64x64xbf16>, tensor<512x512x64xbf16>) -> tensor<512x64x512xf32>
  %e = nd.relu %s : tensor<512x64x512xf32>
  %p = nd.cast %e : tensor<512x64x512xf32> -> tensor<512x64x512xbf16>
  %y = nd.matmul %p, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<512x64x512xbf16>, tensor<512x512x64xbf16>) -> tensor<512x64x64xf32>
  func.return %y : tensor<512x64x64xf32>
}
// CHECK-LABEL: func.func @floats
// CHECK:         kernel.fused @floats_0 map
// CHECK:           nd.take
// CHECK:         kernel.fused @floats_1 cascade
// CHECK-NOT:       nd.take
// CHECK:         func.return
func.func @floats(%q: tensor<512x64x64xbf16>, %pool: tensor<99x32x64xbf16>, %table: tensor<512x16xf32>) -> tensor<512x64x64xf32> {
  %number = nd.cast %table : tensor<512x16xf32> -> tensor<512x16xi32>
  %taken = nd.take %pool, %number {axis = 0} : (tensor<99x32x64xbf16>, tensor<512x16xi32>) -> tensor<512x16x32x64xbf16>
  %k = nd.reshape %taken : tensor<512x16x32x64xbf16> -> tensor<512x512x64xbf16>
  %s = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<512x64x64xbf16>, tensor<512x512x64xbf16>) -> tensor<512x64x512xf32>
  %e = nd.relu %s : tensor<512x64x512xf32>
  %p = nd.cast %e : tensor<512x64x512xf32> -> tensor<512x64x512xbf16>
  %y = nd.matmul %p, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<512x64x512xbf16>, tensor<512x512x64xbf16>) -> tensor<512x64x64xf32>
  func.return %y : tensor<512x64x64xf32>
}
