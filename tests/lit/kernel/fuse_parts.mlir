// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// A cascade reads parts of an array in place, where a tile does not go beyond their ends: parts of what it holds whole.
// CHECK-LABEL: func.func @packed
// CHECK-NEXT:    kernel.fused @packed_0 cascade (%x_1 = %x : tensor<8x512x3072xbf16>)
// CHECK:           nd.slice %x_1 {starts = [0, 0, 0]
// CHECK:           nd.slice %x_1 {starts = [0, 0, 1024]
// CHECK:           nd.slice %x_1 {starts = [0, 0, 2048]
// CHECK-NOT:     kernel.fused
// CHECK:         func.return

// Parts of rows, and of keys, are copied.
// CHECK-LABEL: func.func @rows
// CHECK:         kernel.fused @rows_0 map
// CHECK:           nd.slice
// CHECK:         kernel.fused @rows_{{[0-9]+}} cascade
// CHECK-NOT:       nd.slice
// CHECK:         func.return

// So are parts of rows that a tensor map cannot load, and of what nothing else needs all of.
// CHECK-LABEL: func.func @odd
// CHECK:         kernel.fused @odd_{{[0-9]+}} map
// CHECK:         kernel.fused @odd_{{[0-9]+}} cascade
// CHECK-NOT:       nd.slice
// CHECK:         func.return
// CHECK-LABEL: func.func @first
// CHECK:         kernel.fused @first_0 map
// CHECK:         kernel.fused @first_{{[0-9]+}} cascade
// CHECK-NOT:       nd.slice
// CHECK:         func.return
// Parts of what a product gives are those of the array as it is stored. It is stored once, for results too.
// CHECK-LABEL: func.func @projected
// CHECK-NEXT:    %[[QKV:.*]] = kernel.fused @projected_0 matmul
// CHECK:           %[[ROUNDED:.*]] = nd.cast
// CHECK-NEXT:      kernel.yield %[[ROUNDED]] :
// CHECK:         kernel.fused @projected_1 cascade (%[[ARRAY:.*]] = %[[QKV]] : tensor<8x512x3072xbf16>)
// CHECK:           nd.slice %[[ARRAY]] {starts = [0, 0, 0]
// CHECK:           nd.slice %[[ARRAY]] {starts = [0, 0, 1024]
// CHECK:           nd.slice %[[ARRAY]] {starts = [0, 0, 2048]
// CHECK-NOT:     kernel.fused
// CHECK:         func.return %[[QKV]],

// A part that is computed with before it is rounded is none of the rounded array; the others are.
// CHECK-LABEL: func.func @scaled
// CHECK:         %[[QKV:.*]] = kernel.fused @scaled_0 matmul
// CHECK:         kernel.fused @scaled_1 map
// CHECK:           nd.slice {{.*}} {starts = [0, 0, 0]
// CHECK:         kernel.fused @scaled_2 cascade ({{.*}}, %[[ARRAY:.*]] = %[[QKV]] : tensor<8x512x3072xbf16>)
// CHECK:           nd.slice %[[ARRAY]] {starts = [0, 0, 1024]
// CHECK:           nd.slice %[[ARRAY]] {starts = [0, 0, 2048]
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @packed(%x: tensor<8x512x3072xbf16>) -> tensor<8x16x512x64xbf16> {
  %slice = nd.slice %x {starts = [0, 0, 0], stops = [8, 512, 1024], steps = [1, 1, 1]} : tensor<8x512x3072xbf16> -> tensor<8x512x1024xbf16>
  %reshape = nd.reshape %slice : tensor<8x512x1024xbf16> -> tensor<8x512x16x64xbf16>
  %slice_1 = nd.slice %x {starts = [0, 0, 1024], stops = [8, 512, 2048], steps = [1, 1, 1]} : tensor<8x512x3072xbf16> -> tensor<8x512x1024xbf16>
  %reshape_1 = nd.reshape %slice_1 : tensor<8x512x1024xbf16> -> tensor<8x512x16x64xbf16>
  %slice_2 = nd.slice %x {starts = [0, 0, 2048], stops = [8, 512, 3072], steps = [1, 1, 1]} : tensor<8x512x3072xbf16> -> tensor<8x512x1024xbf16>
  %reshape_2 = nd.reshape %slice_2 : tensor<8x512x1024xbf16> -> tensor<8x512x16x64xbf16>
  %product = nd.matmul %reshape, %reshape_1 {lhs_batch = [0, 2], rhs_batch = [0, 2], lhs_contract = [3], rhs_contract = [3]} : tensor<8x512x16x64xbf16> -> tensor<8x16x512x512xf32>
  %constant = nd.constant 0.125 : tensor<8x16x512x512xf32>
  %mul = nd.mul %product, %constant : tensor<8x16x512x512xf32>
  %max = nd.max %mul {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %broadcast = nd.broadcast %max {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x512xf32>
  %sub = nd.sub %mul, %broadcast : tensor<8x16x512x512xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<8x16x512x512xf32>
  %sum = nd.sum %exp {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<8x16x512xf32>
  %cast = nd.cast %exp : tensor<8x16x512x512xf32> -> tensor<8x16x512x512xbf16>
  %product_1 = nd.matmul %cast, %reshape_2 {lhs_batch = [0, 1], rhs_batch = [0, 2], lhs_contract = [3], rhs_contract = [1]} : (tensor<8x16x512x512xbf16>, tensor<8x512x16x64xbf16>) -> tensor<8x16x512x64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x64xf32>
  %mul_1 = nd.mul %product_1, %broadcast_1 {nd.declared = bf16} : tensor<8x16x512x64xf32>
  %cast_1 = nd.cast %mul_1 : tensor<8x16x512x64xf32> -> tensor<8x16x512x64xbf16>
  func.return %cast_1 : tensor<8x16x512x64xbf16>
}
func.func @rows(%x: tensor<8x16x1536x64xbf16>) -> tensor<8x16x512x64xbf16> {
  %slice = nd.slice %x {starts = [0, 0, 0, 0], stops = [8, 16, 512, 64], steps = [1, 1, 1, 1]} : tensor<8x16x1536x64xbf16> -> tensor<8x16x512x64xbf16>
  %slice_1 = nd.slice %x {starts = [0, 0, 512, 0], stops = [8, 16, 1024, 64], steps = [1, 1, 1, 1]} : tensor<8x16x1536x64xbf16> -> tensor<8x16x512x64xbf16>
  %slice_2 = nd.slice %x {starts = [0, 0, 1024, 0], stops = [8, 16, 1536, 64], steps = [1, 1, 1, 1]} : tensor<8x16x1536x64xbf16> -> tensor<8x16x512x64xbf16>
  %product = nd.matmul %slice, %slice_1 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [3]} : tensor<8x16x512x64xbf16> -> tensor<8x16x512x512xf32>
  %constant = nd.constant 0.125 : tensor<8x16x512x512xf32>
  %mul = nd.mul %product, %constant : tensor<8x16x512x512xf32>
  %max = nd.max %mul {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %broadcast = nd.broadcast %max {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x512xf32>
  %sub = nd.sub %mul, %broadcast : tensor<8x16x512x512xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<8x16x512x512xf32>
  %sum = nd.sum %exp {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<8x16x512xf32>
  %cast = nd.cast %exp : tensor<8x16x512x512xf32> -> tensor<8x16x512x512xbf16>
  %product_1 = nd.matmul %cast, %slice_2 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<8x16x512x512xbf16>, tensor<8x16x512x64xbf16>) -> tensor<8x16x512x64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x64xf32>
  %mul_1 = nd.mul %product_1, %broadcast_1 {nd.declared = bf16} : tensor<8x16x512x64xf32>
  %cast_1 = nd.cast %mul_1 : tensor<8x16x512x64xf32> -> tensor<8x16x512x64xbf16>
  func.return %cast_1 : tensor<8x16x512x64xbf16>
}
func.func @odd(%x: tensor<8x16x512x193xbf16>) -> tensor<8x16x512x64xbf16> {
  %slice = nd.slice %x {starts = [0, 0, 0, 0], stops = [8, 16, 512, 64], steps = [1, 1, 1, 1]} : tensor<8x16x512x193xbf16> -> tensor<8x16x512x64xbf16>
  %slice_1 = nd.slice %x {starts = [0, 0, 0, 64], stops = [8, 16, 512, 128], steps = [1, 1, 1, 1]} : tensor<8x16x512x193xbf16> -> tensor<8x16x512x64xbf16>
  %slice_2 = nd.slice %x {starts = [0, 0, 0, 128], stops = [8, 16, 512, 192], steps = [1, 1, 1, 1]} : tensor<8x16x512x193xbf16> -> tensor<8x16x512x64xbf16>
  %product = nd.matmul %slice, %slice_1 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [3]} : tensor<8x16x512x64xbf16> -> tensor<8x16x512x512xf32>
  %constant = nd.constant 0.125 : tensor<8x16x512x512xf32>
  %mul = nd.mul %product, %constant : tensor<8x16x512x512xf32>
  %max = nd.max %mul {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %broadcast = nd.broadcast %max {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x512xf32>
  %sub = nd.sub %mul, %broadcast : tensor<8x16x512x512xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<8x16x512x512xf32>
  %sum = nd.sum %exp {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<8x16x512xf32>
  %cast = nd.cast %exp : tensor<8x16x512x512xf32> -> tensor<8x16x512x512xbf16>
  %product_1 = nd.matmul %cast, %slice_2 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<8x16x512x512xbf16>, tensor<8x16x512x64xbf16>) -> tensor<8x16x512x64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x64xf32>
  %mul_1 = nd.mul %product_1, %broadcast_1 {nd.declared = bf16} : tensor<8x16x512x64xf32>
  %cast_1 = nd.cast %mul_1 : tensor<8x16x512x64xf32> -> tensor<8x16x512x64xbf16>
  func.return %cast_1 : tensor<8x16x512x64xbf16>
}
func.func @first(%x: tensor<8x16x512x256xbf16>, %k: tensor<8x16x512x64xbf16>, %v: tensor<8x16x512x64xbf16>) -> tensor<8x16x512x64xbf16> {
  %slice = nd.slice %x {starts = [0, 0, 0, 0], stops = [8, 16, 512, 64], steps = [1, 1, 1, 1]} : tensor<8x16x512x256xbf16> -> tensor<8x16x512x64xbf16>
  %product = nd.matmul %slice, %k {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [3]} : tensor<8x16x512x64xbf16> -> tensor<8x16x512x512xf32>
  %constant = nd.constant 0.125 : tensor<8x16x512x512xf32>
  %mul = nd.mul %product, %constant : tensor<8x16x512x512xf32>
  %max = nd.max %mul {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %broadcast = nd.broadcast %max {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x512xf32>
  %sub = nd.sub %mul, %broadcast : tensor<8x16x512x512xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<8x16x512x512xf32>
  %sum = nd.sum %exp {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<8x16x512xf32>
  %cast = nd.cast %exp : tensor<8x16x512x512xf32> -> tensor<8x16x512x512xbf16>
  %product_1 = nd.matmul %cast, %v {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<8x16x512x512xbf16>, tensor<8x16x512x64xbf16>) -> tensor<8x16x512x64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x64xf32>
  %mul_1 = nd.mul %product_1, %broadcast_1 {nd.declared = bf16} : tensor<8x16x512x64xf32>
  %cast_1 = nd.cast %mul_1 : tensor<8x16x512x64xf32> -> tensor<8x16x512x64xbf16>
  func.return %cast_1 : tensor<8x16x512x64xbf16>
}
func.func @projected(%x: tensor<8x512x256xbf16>, %w: tensor<256x3072xbf16>) -> (tensor<8x512x3072xbf16>, tensor<8x16x512x64xbf16>) {
  %y = nd.matmul %x, %w {lhs_contract = [2], rhs_contract = [0], nd.declared = bf16} : (tensor<8x512x256xbf16>, tensor<256x3072xbf16>) -> tensor<8x512x3072xf32>
  %slice = nd.slice %y {starts = [0, 0, 0], stops = [8, 512, 1024], steps = [1, 1, 1], nd.declared = bf16} : tensor<8x512x3072xf32> -> tensor<8x512x1024xf32>
  %slice_1 = nd.slice %y {starts = [0, 0, 1024], stops = [8, 512, 2048], steps = [1, 1, 1], nd.declared = bf16} : tensor<8x512x3072xf32> -> tensor<8x512x1024xf32>
  %slice_2 = nd.slice %y {starts = [0, 0, 2048], stops = [8, 512, 3072], steps = [1, 1, 1], nd.declared = bf16} : tensor<8x512x3072xf32> -> tensor<8x512x1024xf32>
  %cast = nd.cast %slice : tensor<8x512x1024xf32> -> tensor<8x512x1024xbf16>
  %reshape = nd.reshape %cast : tensor<8x512x1024xbf16> -> tensor<8x512x16x64xbf16>
  %cast_1 = nd.cast %slice_1 : tensor<8x512x1024xf32> -> tensor<8x512x1024xbf16>
  %reshape_1 = nd.reshape %cast_1 : tensor<8x512x1024xbf16> -> tensor<8x512x16x64xbf16>
  %product = nd.matmul %reshape, %reshape_1 {lhs_batch = [0, 2], rhs_batch = [0, 2], lhs_contract = [3], rhs_contract = [3]} : tensor<8x512x16x64xbf16> -> tensor<8x16x512x512xf32>
  %constant = nd.constant 0.125 : tensor<8x16x512x512xf32>
  %mul = nd.mul %product, %constant : tensor<8x16x512x512xf32>
  %max = nd.max %mul {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %broadcast = nd.broadcast %max {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x512xf32>
  %sub = nd.sub %mul, %broadcast : tensor<8x16x512x512xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<8x16x512x512xf32>
  %sum = nd.sum %exp {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<8x16x512xf32>
  %cast_2 = nd.cast %slice_2 : tensor<8x512x1024xf32> -> tensor<8x512x1024xbf16>
  %reshape_2 = nd.reshape %cast_2 : tensor<8x512x1024xbf16> -> tensor<8x512x16x64xbf16>
  %cast_3 = nd.cast %exp : tensor<8x16x512x512xf32> -> tensor<8x16x512x512xbf16>
  %product_1 = nd.matmul %cast_3, %reshape_2 {lhs_batch = [0, 1], rhs_batch = [0, 2], lhs_contract = [3], rhs_contract = [1]} : (tensor<8x16x512x512xbf16>, tensor<8x512x16x64xbf16>) -> tensor<8x16x512x64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x64xf32>
  %mul_1 = nd.mul %product_1, %broadcast_1 {nd.declared = bf16} : tensor<8x16x512x64xf32>
  %y_1 = nd.cast %y : tensor<8x512x3072xf32> -> tensor<8x512x3072xbf16>
  %cast_4 = nd.cast %mul_1 : tensor<8x16x512x64xf32> -> tensor<8x16x512x64xbf16>
  func.return %y_1, %cast_4 : tensor<8x512x3072xbf16>, tensor<8x16x512x64xbf16>
}
func.func @scaled(%x: tensor<8x512x256xbf16>, %w: tensor<256x3072xbf16>) -> tensor<8x16x512x64xbf16> {
  %y = nd.matmul %x, %w {lhs_contract = [2], rhs_contract = [0], nd.declared = bf16} : (tensor<8x512x256xbf16>, tensor<256x3072xbf16>) -> tensor<8x512x3072xf32>
  %slice = nd.slice %y {starts = [0, 0, 0], stops = [8, 512, 1024], steps = [1, 1, 1], nd.declared = bf16} : tensor<8x512x3072xf32> -> tensor<8x512x1024xf32>
  %constant = nd.constant 3.0 : tensor<8x512x1024xf32>
  %mul = nd.mul %slice, %constant {nd.declared = bf16} : tensor<8x512x1024xf32>
  %slice_1 = nd.slice %y {starts = [0, 0, 1024], stops = [8, 512, 2048], steps = [1, 1, 1], nd.declared = bf16} : tensor<8x512x3072xf32> -> tensor<8x512x1024xf32>
  %slice_2 = nd.slice %y {starts = [0, 0, 2048], stops = [8, 512, 3072], steps = [1, 1, 1], nd.declared = bf16} : tensor<8x512x3072xf32> -> tensor<8x512x1024xf32>
  %cast = nd.cast %mul : tensor<8x512x1024xf32> -> tensor<8x512x1024xbf16>
  %reshape = nd.reshape %cast : tensor<8x512x1024xbf16> -> tensor<8x512x16x64xbf16>
  %cast_1 = nd.cast %slice_1 : tensor<8x512x1024xf32> -> tensor<8x512x1024xbf16>
  %reshape_1 = nd.reshape %cast_1 : tensor<8x512x1024xbf16> -> tensor<8x512x16x64xbf16>
  %product = nd.matmul %reshape, %reshape_1 {lhs_batch = [0, 2], rhs_batch = [0, 2], lhs_contract = [3], rhs_contract = [3]} : tensor<8x512x16x64xbf16> -> tensor<8x16x512x512xf32>
  %constant_1 = nd.constant 0.125 : tensor<8x16x512x512xf32>
  %mul_1 = nd.mul %product, %constant_1 : tensor<8x16x512x512xf32>
  %max = nd.max %mul_1 {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %broadcast = nd.broadcast %max {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x512xf32>
  %sub = nd.sub %mul_1, %broadcast : tensor<8x16x512x512xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<8x16x512x512xf32>
  %sum = nd.sum %exp {axes = [3]} : tensor<8x16x512x512xf32> -> tensor<8x16x512xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<8x16x512xf32>
  %cast_2 = nd.cast %slice_2 : tensor<8x512x1024xf32> -> tensor<8x512x1024xbf16>
  %reshape_2 = nd.reshape %cast_2 : tensor<8x512x1024xbf16> -> tensor<8x512x16x64xbf16>
  %cast_3 = nd.cast %exp : tensor<8x16x512x512xf32> -> tensor<8x16x512x512xbf16>
  %product_1 = nd.matmul %cast_3, %reshape_2 {lhs_batch = [0, 1], rhs_batch = [0, 2], lhs_contract = [3], rhs_contract = [1]} : (tensor<8x16x512x512xbf16>, tensor<8x512x16x64xbf16>) -> tensor<8x16x512x64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0, 1, 2]} : tensor<8x16x512xf32> -> tensor<8x16x512x64xf32>
  %mul_2 = nd.mul %product_1, %broadcast_1 {nd.declared = bf16} : tensor<8x16x512x64xf32>
  %cast_4 = nd.cast %mul_2 : tensor<8x16x512x64xf32> -> tensor<8x16x512x64xbf16>
  func.return %cast_4 : tensor<8x16x512x64xbf16>
}
