// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// Rows that fill the GPU, a block each, are gone over again: a softmax is one kernel, however long they are.
// CHECK-LABEL: func.func @many_long_rows
// CHECK:         kernel.fused @many_long_rows_0 reduce
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @many_long_rows(%x: tensor<256x65536xf32>) -> tensor<256x65536xf32> {
  %max = nd.max %x {axes = [1]} : tensor<256x65536xf32> -> tensor<256xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<256xf32> -> tensor<256x65536xf32>
  %sub = nd.sub %x, %broadcast : tensor<256x65536xf32>
  %exp = nd.exp %sub : tensor<256x65536xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<256x65536xf32> -> tensor<256xf32>
  %reciprocal = nd.reciprocal %sum : tensor<256xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<256xf32> -> tensor<256x65536xf32>
  %mul = nd.mul %exp, %broadcast_1 : tensor<256x65536xf32>
  func.return %mul : tensor<256x65536xf32>
}

// So are a few that are short.
// CHECK-LABEL: func.func @few_short_rows
// CHECK:         kernel.fused @few_short_rows_0 reduce
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @few_short_rows(%x: tensor<8x16384xf32>) -> tensor<8x16384xf32> {
  %max = nd.max %x {axes = [1]} : tensor<8x16384xf32> -> tensor<8xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<8xf32> -> tensor<8x16384xf32>
  %sub = nd.sub %x, %broadcast : tensor<8x16384xf32>
  %exp = nd.exp %sub : tensor<8x16384xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<8x16384xf32> -> tensor<8xf32>
  %reciprocal = nd.reciprocal %sum : tensor<8xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<8xf32> -> tensor<8x16384xf32>
  %mul = nd.mul %exp, %broadcast_1 : tensor<8x16384xf32>
  func.return %mul : tensor<8x16384xf32>
}

// A batch normalization has a row for each of 64 channels: more kernels read with the whole GPU. The variance's and the
// last one compute the distances from the mean again, and none of them stores an array of f32.
// CHECK-LABEL: func.func @channels
// CHECK:         kernel.fused @channels_0 reduce
// CHECK-SAME:      -> tensor<64xf32>
// CHECK:         kernel.fused @channels_1 reduce
// CHECK:           nd.sub
// CHECK-NEXT:      nd.mul
// CHECK:           nd.sum
// CHECK:         kernel.fused @channels_2 map
// CHECK:           nd.sub
// CHECK-NEXT:      nd.broadcast
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @channels(%x: tensor<64x64x56x56xbf16>) -> tensor<64x64x56x56xbf16> {
  %x_1 = nd.cast %x : tensor<64x64x56x56xbf16> -> tensor<64x64x56x56xf32>
  %sum = nd.sum %x_1 {axes = [0, 2, 3]} : tensor<64x64x56x56xf32> -> tensor<64xf32>
  %constant = nd.constant 200704.0 : tensor<64xf32>
  %div = nd.div %sum, %constant : tensor<64xf32>
  %broadcast = nd.broadcast %div {dims = [1]} : tensor<64xf32> -> tensor<64x64x56x56xf32>
  %d = nd.sub %x_1, %broadcast : tensor<64x64x56x56xf32>
  %mul = nd.mul %d, %d : tensor<64x64x56x56xf32>
  %sum_1 = nd.sum %mul {axes = [0, 2, 3]} : tensor<64x64x56x56xf32> -> tensor<64xf32>
  %div_1 = nd.div %sum_1, %constant : tensor<64xf32>
  %constant_1 = nd.constant 1.0e-05 : tensor<64xf32>
  %add = nd.add %div_1, %constant_1 : tensor<64xf32>
  %rsqrt = nd.rsqrt %add : tensor<64xf32>
  %broadcast_1 = nd.broadcast %rsqrt {dims = [1]} : tensor<64xf32> -> tensor<64x64x56x56xf32>
  %mul_1 = nd.mul %d, %broadcast_1 : tensor<64x64x56x56xf32>
  %cast = nd.cast %mul_1 : tensor<64x64x56x56xf32> -> tensor<64x64x56x56xbf16>
  func.return %cast : tensor<64x64x56x56xbf16>
}

// A block takes several columns together, so that fewer blocks go over columns than over as many rows.
// CHECK-LABEL: func.func @columns
// CHECK:         kernel.fused @columns_0 reduce
// CHECK:         kernel.fused @columns_1 reduce
// CHECK:         kernel.fused @columns_2 map
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @columns(%x: tensor<16384x64xf32>) -> tensor<16384x64xf32> {
  %max = nd.max %x {axes = [0]} : tensor<16384x64xf32> -> tensor<64xf32>
  %broadcast = nd.broadcast %max {dims = [1]} : tensor<64xf32> -> tensor<16384x64xf32>
  %sub = nd.sub %x, %broadcast : tensor<16384x64xf32>
  %exp = nd.exp %sub : tensor<16384x64xf32>
  %sum = nd.sum %exp {axes = [0]} : tensor<16384x64xf32> -> tensor<64xf32>
  %reciprocal = nd.reciprocal %sum : tensor<64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [1]} : tensor<64xf32> -> tensor<16384x64xf32>
  %mul = nd.mul %exp, %broadcast_1 : tensor<16384x64xf32>
  func.return %mul : tensor<16384x64xf32>
}

// The gradient behind a relu, which a reduction and a later kernel need, is computed in both: from an array and its mask
// that takes fewer bytes than to store it and to read it twice.
// CHECK-LABEL: func.func @masked
// CHECK:         kernel.fused @masked_0 reduce
// CHECK-SAME:      -> (tensor<64xf32>, tensor<64xf32>)
// CHECK:           nd.where
// CHECK:           nd.sum
// CHECK:           nd.sum
// CHECK:         kernel.fused @masked_1 map
// CHECK:           nd.where
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @masked(%g: tensor<64x56x56x64xbf16>, %m: tensor<64x56x56x64xi1>, %x: tensor<64x56x56x64xbf16>) -> tensor<64x56x56x64xbf16> {
  %constant = nd.constant 0.0 : tensor<64x56x56x64xbf16>
  %where = nd.where %m, %constant, %g : (tensor<64x56x56x64xi1>, tensor<64x56x56x64xbf16>, tensor<64x56x56x64xbf16>) -> tensor<64x56x56x64xbf16>
  %w = nd.cast %where : tensor<64x56x56x64xbf16> -> tensor<64x56x56x64xf32>
  %x_1 = nd.cast %x : tensor<64x56x56x64xbf16> -> tensor<64x56x56x64xf32>
  %mul = nd.mul %w, %x_1 : tensor<64x56x56x64xf32>
  %s = nd.sum %mul {axes = [0, 1, 2]} : tensor<64x56x56x64xf32> -> tensor<64xf32>
  %broadcast = nd.broadcast %s {dims = [3]} : tensor<64xf32> -> tensor<64x56x56x64xf32>
  %mul_1 = nd.mul %x_1, %broadcast : tensor<64x56x56x64xf32>
  %sub = nd.sub %w, %mul_1 : tensor<64x56x56x64xf32>
  %sum = nd.sum %w {axes = [0, 1, 2]} : tensor<64x56x56x64xf32> -> tensor<64xf32>
  %broadcast_1 = nd.broadcast %sum {dims = [3]} : tensor<64xf32> -> tensor<64x56x56x64xf32>
  %sub_1 = nd.sub %sub, %broadcast_1 : tensor<64x56x56x64xf32>
  %cast = nd.cast %sub_1 : tensor<64x56x56x64xf32> -> tensor<64x56x56x64xbf16>
  func.return %cast : tensor<64x56x56x64xbf16>
}

// Not so where it is stored anyway.
// CHECK-LABEL: func.func @kept
// CHECK:         nd.where
// CHECK-NOT:     nd.where
// CHECK:         func.return
func.func @kept(%g: tensor<64x56x56x64xbf16>, %m: tensor<64x56x56x64xi1>, %x: tensor<64x56x56x64xbf16>) -> (tensor<64x56x56x64xbf16>, tensor<64x56x56x64xbf16>) {
  %constant = nd.constant 0.0 : tensor<64x56x56x64xbf16>
  %w = nd.where %m, %constant, %g : (tensor<64x56x56x64xi1>, tensor<64x56x56x64xbf16>, tensor<64x56x56x64xbf16>) -> tensor<64x56x56x64xbf16>
  %w_1 = nd.cast %w : tensor<64x56x56x64xbf16> -> tensor<64x56x56x64xf32>
  %x_1 = nd.cast %x : tensor<64x56x56x64xbf16> -> tensor<64x56x56x64xf32>
  %mul = nd.mul %w_1, %x_1 : tensor<64x56x56x64xf32>
  %s = nd.sum %mul {axes = [0, 1, 2]} : tensor<64x56x56x64xf32> -> tensor<64xf32>
  %broadcast = nd.broadcast %s {dims = [3]} : tensor<64xf32> -> tensor<64x56x56x64xf32>
  %mul_1 = nd.mul %x_1, %broadcast : tensor<64x56x56x64xf32>
  %sub = nd.sub %w_1, %mul_1 : tensor<64x56x56x64xf32>
  %cast = nd.cast %sub : tensor<64x56x56x64xf32> -> tensor<64x56x56x64xbf16>
  func.return %w, %cast : tensor<64x56x56x64xbf16>, tensor<64x56x56x64xbf16>
}

// Columns that no block holds are not read again by it where the L2 does not have them either: blocks go through all of
// the array at once. So it is with long rows of short runs, of which a line of memory has several.
// CHECK-LABEL: func.func @long_columns
// CHECK:         kernel.fused @long_columns_0 reduce {{.*}} -> tensor<128x64xf32>
// CHECK:         kernel.fused @long_columns_1 map
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @long_columns(%x: tensor<128x12544x64xf32>) -> tensor<128x12544x64xf32> {
  %sum = nd.sum %x {axes = [1]} : tensor<128x12544x64xf32> -> tensor<128x64xf32>
  %broadcast = nd.broadcast %sum {dims = [0, 2]} : tensor<128x64xf32> -> tensor<128x12544x64xf32>
  %sub = nd.sub %x, %broadcast : tensor<128x12544x64xf32>
  func.return %sub : tensor<128x12544x64xf32>
}

// CHECK-LABEL: func.func @short_runs
// CHECK:         kernel.fused @short_runs_0 reduce {{.*}} -> tensor<64x8xf32>
// CHECK:         kernel.fused @short_runs_1 map
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @short_runs(%x: tensor<64x1024x8x4xf32>) -> tensor<64x1024x8x4xf32> {
  %sum = nd.sum %x {axes = [1, 3]} : tensor<64x1024x8x4xf32> -> tensor<64x8xf32>
  %broadcast = nd.broadcast %sum {dims = [0, 2]} : tensor<64x8xf32> -> tensor<64x1024x8x4xf32>
  %sub = nd.sub %x, %broadcast : tensor<64x1024x8x4xf32>
  func.return %sub : tensor<64x1024x8x4xf32>
}

// Short ones a block holds.
// CHECK-LABEL: func.func @held_runs
// CHECK:         kernel.fused @held_runs_0 reduce
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @held_runs(%x: tensor<512x256x8x4xf32>) -> tensor<512x256x8x4xf32> {
  %sum = nd.sum %x {axes = [1, 3]} : tensor<512x256x8x4xf32> -> tensor<512x8xf32>
  %broadcast = nd.broadcast %sum {dims = [0, 2]} : tensor<512x8xf32> -> tensor<512x256x8x4xf32>
  %sub = nd.sub %x, %broadcast : tensor<512x256x8x4xf32>
  func.return %sub : tensor<512x256x8x4xf32>
}
