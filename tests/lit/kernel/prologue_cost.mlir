// RUN: irc-opt %s -p 'fuse-kernels{explain=true}' 2>&1 >/dev/null | filecheck %s
// RUN: irc-opt %s -p 'fuse-kernels{explain=true}' --arch sm_80 2>&1 >/dev/null | filecheck %s --check-prefix=SM80

// An A100 has no warp groups: the threads that multiply compute either operand, in tiles of 128 x 128, and no product
// runs beside their instructions.
// SM80:       left operand (relu, mul, cast): 1.61 cycles an element in 32 tiles, 0.46 stored first: stored
// SM80:       both_0: {{.*}} 2 operands
// SM80:       right operand (relu, cast): 0.12 cycles an element in 32 tiles, 0.52 stored first: fused

// Computed on the way: two elements an instruction, by the threads that multiply.
// CHECK:      packed_0: {{.*}} 3 operands
// CHECK:        Mainloop:
// CHECK:      left operand (relu, mul, cast): 0.28 cycles an element in 16 tiles, 0.32 stored first: fused
func.func @packed(%x: tensor<4096x4096xbf16>, %s: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %x_1 = nd.cast %x : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %relu = nd.relu %x_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %s_1 = nd.cast %s : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %mul = nd.mul %relu, %s_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %cast, %w {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %cast_1 = nd.cast %product : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  func.return %cast_1 : tensor<4096x4096xbf16>
}

// Stored first: two roundings are computed in f32.
// CHECK:      wide_0: {{.*}} 2 operands
// CHECK:      wide_1: {{.*}} 2 operands
// CHECK:      left operand (mul, mul, cast): 0.46 cycles an element in 16 tiles, 0.32 stored first: stored
func.func @wide(%x: tensor<4096x4096xbf16>, %s: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %x_1 = nd.cast %x : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %s_1 = nd.cast %s : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %mul = nd.mul %x_1, %s_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %mul_1 = nd.mul %mul, %x_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast = nd.cast %mul_1 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %cast, %w {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %cast_1 = nd.cast %product : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  func.return %cast_1 : tensor<4096x4096xbf16>
}

// A right operand is computed by the threads that multiply in the transposed product.
// CHECK:      right operand (relu, cast): 0.00 cycles an element in 16 tiles, 0.22 stored first: fused
func.func @right(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %w_1 = nd.cast %w : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %relu = nd.relu %w_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast = nd.cast %relu : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %cast {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %cast_1 = nd.cast %product : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  func.return %cast_1 : tensor<4096x4096xbf16>
}

// Few tiles: nothing is stored.
// CHECK:      right operand (relu, cast): 0.00 cycles an element in 1 tiles, 0.22 stored first: fused
func.func @few(%x: tensor<64x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<64x4096xbf16> {
  %w_1 = nd.cast %w : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %relu = nd.relu %w_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast = nd.cast %relu : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %cast {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xf32>
  %cast_1 = nd.cast %product : tensor<64x4096xf32> -> tensor<64x4096xbf16>
  func.return %cast_1 : tensor<64x4096xbf16>
}

// Where the left one is computed too, a producer writes it.
// CHECK:      left operand (relu, cast): 0.00 cycles an element in 1 tiles, 0.22 stored first: fused
// CHECK:      right operand (relu, cast): 7.04 cycles an element in 32 tiles, 0.58 stored first: stored
func.func @both(%x: tensor<4096x4096xbf16>, %w: tensor<4096x256xbf16>) -> tensor<4096x256xbf16> {
  %x_1 = nd.cast %x : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %relu = nd.relu %x_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %w_1 = nd.cast %w : tensor<4096x256xbf16> -> tensor<4096x256xf32>
  %relu_1 = nd.relu %w_1 {nd.declared = bf16} : tensor<4096x256xf32>
  %cast = nd.cast %relu : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %cast_1 = nd.cast %relu_1 : tensor<4096x256xf32> -> tensor<4096x256xbf16>
  %product = nd.matmul %cast, %cast_1 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<4096x4096xbf16>, tensor<4096x256xbf16>) -> tensor<4096x256xf32>
  %cast_2 = nd.cast %product : tensor<4096x256xf32> -> tensor<4096x256xbf16>
  func.return %cast_2 : tensor<4096x256xbf16>
}

// Bytes that are widened, two at a time, beside products that take longer.
// CHECK:      channels_0: {{.*}} 3 operands
// CHECK:      right operand (cast, mul, cast): 0.00 cycles an element in 16 tiles, 0.17 stored first: fused
func.func @channels(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xi8>, %s: tensor<4096xbf16>) -> tensor<4096x4096xbf16> {
  %cast = nd.cast %w : tensor<4096x4096xi8> -> tensor<4096x4096xf32>
  %cast_1 = nd.cast %s : tensor<4096xbf16> -> tensor<4096xf32>
  %broadcast = nd.broadcast %cast_1 {dims = [1]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %mul = nd.mul %cast, %broadcast {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast_2 = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %cast_2 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %cast_3 = nd.cast %product : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  func.return %cast_3 : tensor<4096x4096xbf16>
}

// Those that are contiguous along K are read in pairs, each by itself: computed for 16 tiles, stored for 64.
// CHECK:      along_0: {{.*}} 2 operands
// CHECK:      right operand (cast): 0.04 cycles an element in 16 tiles, 0.17 stored first: fused
func.func @along(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xi8>) -> tensor<4096x4096xbf16> {
  %permute = nd.permute %w {permutation = [1, 0]} : tensor<4096x4096xi8>
  %cast = nd.cast %permute : tensor<4096x4096xi8> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %cast {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %cast_1 = nd.cast %product : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  func.return %cast_1 : tensor<4096x4096xbf16>
}

// CHECK:      longer_0: {{.*}} 1 operands
// CHECK:      longer_1: {{.*}} 2 operands
// CHECK:      right operand (cast): 0.17 cycles an element in 64 tiles, 0.16 stored first: stored
func.func @longer(%x: tensor<16384x4096xbf16>, %w: tensor<8192x4096xi8>) -> tensor<16384x8192xbf16> {
  %permute = nd.permute %w {permutation = [1, 0]} : tensor<8192x4096xi8> -> tensor<4096x8192xi8>
  %cast = nd.cast %permute : tensor<4096x8192xi8> -> tensor<4096x8192xbf16>
  %product = nd.matmul %x, %cast {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<16384x4096xbf16>, tensor<4096x8192xbf16>) -> tensor<16384x8192xf32>
  %cast_1 = nd.cast %product : tensor<16384x8192xf32> -> tensor<16384x8192xbf16>
  func.return %cast_1 : tensor<16384x8192xbf16>
}

// With scales of f32 each is widened alone: stored for 16 tiles, computed for 4.
// CHECK:      scaled_0: {{.*}} 2 operands
// CHECK:      scaled_1: {{.*}} 2 operands
// CHECK:      right operand (cast, mul, cast): 0.26 cycles an element in 16 tiles, 0.17 stored first: stored
func.func @scaled(%x: tensor<4096x4096xbf16>, %w: tensor<32x128x4096xi8>, %s: tensor<32x1x4096xf32>) -> tensor<4096x4096xbf16> {
  %cast = nd.cast %w : tensor<32x128x4096xi8> -> tensor<32x128x4096xf32>
  %reshape = nd.reshape %s : tensor<32x1x4096xf32> -> tensor<32x4096xf32>
  %broadcast = nd.broadcast %reshape {dims = [0, 2]} : tensor<32x4096xf32> -> tensor<32x128x4096xf32>
  %mul = nd.mul %cast, %broadcast : tensor<32x128x4096xf32>
  %cast_1 = nd.cast %mul : tensor<32x128x4096xf32> -> tensor<32x128x4096xbf16>
  %reshape_1 = nd.reshape %cast_1 : tensor<32x128x4096xbf16> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %reshape_1 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %cast_2 = nd.cast %product : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  func.return %cast_2 : tensor<4096x4096xbf16>
}

// CHECK:      fewer_0: {{.*}} 3 operands
// CHECK:      right operand (cast, mul, cast): 0.07 cycles an element in 4 tiles, 0.17 stored first: fused
func.func @fewer(%x: tensor<1024x4096xbf16>, %w: tensor<32x128x4096xi8>, %s: tensor<32x1x4096xf32>) -> tensor<1024x4096xbf16> {
  %cast = nd.cast %w : tensor<32x128x4096xi8> -> tensor<32x128x4096xf32>
  %reshape = nd.reshape %s : tensor<32x1x4096xf32> -> tensor<32x4096xf32>
  %broadcast = nd.broadcast %reshape {dims = [0, 2]} : tensor<32x4096xf32> -> tensor<32x128x4096xf32>
  %mul = nd.mul %cast, %broadcast : tensor<32x128x4096xf32>
  %cast_1 = nd.cast %mul : tensor<32x128x4096xf32> -> tensor<32x128x4096xbf16>
  %reshape_1 = nd.reshape %cast_1 : tensor<32x128x4096xbf16> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %reshape_1 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<1024x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1024x4096xf32>
  %cast_2 = nd.cast %product : tensor<1024x4096xf32> -> tensor<1024x4096xbf16>
  func.return %cast_2 : tensor<1024x4096xbf16>
}

// Groups of K with scales of their own, in one kernel: the reshape is in its mainloop. So is what turns an operand.
// CHECK:      groups_0: {{.*}} 3 operands
// CHECK:        Mainloop:
// CHECK:          reshape
func.func @groups(%x: tensor<64x4096xbf16>, %w: tensor<32x128x4096xi8>, %s: tensor<32x1x4096xbf16>) -> tensor<64x4096xbf16> {
  %cast = nd.cast %w : tensor<32x128x4096xi8> -> tensor<32x128x4096xf32>
  %cast_1 = nd.cast %s : tensor<32x1x4096xbf16> -> tensor<32x1x4096xf32>
  %reshape = nd.reshape %cast_1 : tensor<32x1x4096xf32> -> tensor<32x4096xf32>
  %broadcast = nd.broadcast %reshape {dims = [0, 2]} : tensor<32x4096xf32> -> tensor<32x128x4096xf32>
  %mul = nd.mul %cast, %broadcast {nd.declared = bf16} : tensor<32x128x4096xf32>
  %cast_2 = nd.cast %mul : tensor<32x128x4096xf32> -> tensor<32x128x4096xbf16>
  %reshape_1 = nd.reshape %cast_2 : tensor<32x128x4096xbf16> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %reshape_1 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xf32>
  %cast_3 = nd.cast %product : tensor<64x4096xf32> -> tensor<64x4096xbf16>
  func.return %cast_3 : tensor<64x4096xbf16>
}

// CHECK:      turned_0: {{.*}} 3 operands
// CHECK:          permute
func.func @turned(%x: tensor<64x4096xbf16>, %w: tensor<4096x4096xi8>, %s: tensor<4096xbf16>) -> tensor<64x4096xbf16> {
  %permute = nd.permute %w {permutation = [1, 0]} : tensor<4096x4096xi8>
  %cast = nd.cast %permute : tensor<4096x4096xi8> -> tensor<4096x4096xf32>
  %cast_1 = nd.cast %s : tensor<4096xbf16> -> tensor<4096xf32>
  %broadcast = nd.broadcast %cast_1 {dims = [1]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %mul = nd.mul %cast, %broadcast {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast_2 = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %cast_2 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xf32>
  %cast_3 = nd.cast %product : tensor<64x4096xf32> -> tensor<64x4096xbf16>
  func.return %cast_3 : tensor<64x4096xbf16>
}

// A unit whose weights are made of bytes is two products in few tiles; in more they are stored first, for one kernel,
// whose producer would write two operands.
// CHECK:      unit_0: {{.*}} 3 operands
// CHECK:      unit_1: {{.*}} 4 operands
func.func @unit(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xi8>, %u: tensor<4096x4096xi8>, %s: tensor<4096xbf16>) -> tensor<16x4096xbf16> {
  %cast = nd.cast %w : tensor<4096x4096xi8> -> tensor<4096x4096xf32>
  %cast_1 = nd.cast %s : tensor<4096xbf16> -> tensor<4096xf32>
  %broadcast = nd.broadcast %cast_1 {dims = [1]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %mul = nd.mul %cast, %broadcast {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast_2 = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %cast_2 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<16x4096xf32>
  %sigmoid = nd.sigmoid %product {nd.relaxed} : tensor<16x4096xf32>
  %mul_1 = nd.mul %product, %sigmoid {nd.declared = bf16} : tensor<16x4096xf32>
  %cast_3 = nd.cast %u : tensor<4096x4096xi8> -> tensor<4096x4096xf32>
  %mul_2 = nd.mul %cast_3, %broadcast {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast_4 = nd.cast %mul_2 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product_1 = nd.matmul %x, %cast_4 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<16x4096xf32>
  %mul_3 = nd.mul %mul_1, %product_1 {nd.declared = bf16} : tensor<16x4096xf32>
  %cast_5 = nd.cast %mul_3 : tensor<16x4096xf32> -> tensor<16x4096xbf16>
  func.return %cast_5 : tensor<16x4096xbf16>
}

// CHECK:      units_0: {{.*}} 2 operands
// CHECK:      units_1: {{.*}} 2 operands
// CHECK:      units_2: {{.*}} 3 operands
// CHECK:      right operand (cast, mul, cast): 7.04 cycles an element in 32 tiles, 0.17 stored first: stored
func.func @units(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xi8>, %u: tensor<4096x4096xi8>, %s: tensor<4096xbf16>) -> tensor<4096x4096xbf16> {
  %cast = nd.cast %w : tensor<4096x4096xi8> -> tensor<4096x4096xf32>
  %cast_1 = nd.cast %s : tensor<4096xbf16> -> tensor<4096xf32>
  %broadcast = nd.broadcast %cast_1 {dims = [1]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %mul = nd.mul %cast, %broadcast {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast_2 = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %x, %cast_2 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %sigmoid = nd.sigmoid %product {nd.relaxed} : tensor<4096x4096xf32>
  %mul_1 = nd.mul %product, %sigmoid {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast_3 = nd.cast %u : tensor<4096x4096xi8> -> tensor<4096x4096xf32>
  %mul_2 = nd.mul %cast_3, %broadcast {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast_4 = nd.cast %mul_2 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product_1 = nd.matmul %x, %cast_4 {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %mul_3 = nd.mul %mul_1, %product_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast_5 = nd.cast %mul_3 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  func.return %cast_5 : tensor<4096x4096xbf16>
}

// What a kernel of a reduction gives is an array: there is nothing to compare.
// CHECK:      reduced_0: {{.*}} 1 operands
// CHECK:      reduced_1: {{.*}} 2 operands
// CHECK-NOT:  operand (
func.func @reduced(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %x_1 = nd.cast %x : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %sum = nd.sum %x_1 {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %rows = nd.broadcast %sum {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %div = nd.div %x_1, %rows {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast = nd.cast %div : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %cast, %w {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
  %cast_1 = nd.cast %product : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  func.return %cast_1 : tensor<4096x4096xbf16>
}

// Nothing to choose for f32.
// CHECK:      single_0: {{.*}} 2 operands
// CHECK-NOT:  operand (
func.func @single(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %relu = nd.relu %x : tensor<4096x4096xf32>
  %product = nd.matmul %relu, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<4096x4096xf32>
  func.return %product : tensor<4096x4096xf32>
}
