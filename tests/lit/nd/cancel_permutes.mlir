// RUN: irc-opt %s --split-input-file -p cancel-permutes | filecheck %s

// A batch normalization between memory with channels last and itself: everything is done in memory's order.
// CHECK-LABEL: func.func @norm
// CHECK-NOT:     nd.permute
// CHECK:         %[[C:.*]] = nd.cast %x : tensor<4x6x6x8xbf16> -> tensor<4x6x6x8xf32>
// CHECK-NEXT:    %[[S:.*]] = nd.sum %[[C]] {axes = [0, 1, 2]} : tensor<4x6x6x8xf32> -> tensor<8xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[S]] {dims = [3]} : tensor<8xf32> -> tensor<4x6x6x8xf32>
// CHECK-NEXT:    %[[D:.*]] = nd.sub %[[C]], %[[B]] {nd.declared = bf16} : tensor<4x6x6x8xf32>
// CHECK-NEXT:    %[[T:.*]] = nd.constant 2.0 : tensor<4x6x6x8xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.mul %[[D]], %[[T]] {nd.declared = bf16}
// CHECK-NEXT:    %[[R:.*]] = nd.cast %[[M]] : tensor<4x6x6x8xf32> -> tensor<4x6x6x8xbf16>
// CHECK-NEXT:    func.return %[[R]], %[[S]]
func.func @norm(%x: tensor<4x6x6x8xbf16>) -> (tensor<4x6x6x8xbf16>, tensor<8xf32>) {
  %0 = nd.permute %x {permutation = [0, 3, 1, 2]} : tensor<4x6x6x8xbf16> -> tensor<4x8x6x6xbf16>
  %1 = nd.cast %0 : tensor<4x8x6x6xbf16> -> tensor<4x8x6x6xf32>
  %2 = nd.sum %1 {axes = [0, 2, 3]} : tensor<4x8x6x6xf32> -> tensor<8xf32>
  %3 = nd.broadcast %2 {dims = [1]} : tensor<8xf32> -> tensor<4x8x6x6xf32>
  %4 = nd.sub %1, %3 {nd.declared = bf16} : tensor<4x8x6x6xf32>
  %5 = nd.constant 2.0 : tensor<4x8x6x6xf32>
  %6 = nd.mul %4, %5 {nd.declared = bf16} : tensor<4x8x6x6xf32>
  %7 = nd.cast %6 : tensor<4x8x6x6xf32> -> tensor<4x8x6x6xbf16>
  %8 = nd.permute %7 {permutation = [0, 2, 3, 1]} : tensor<4x8x6x6xbf16> -> tensor<4x6x6x8xbf16>
  func.return %8, %2 : tensor<4x6x6x8xbf16>, tensor<8xf32>
}

// -----

// Pads, slices, concats and flips, iotas, positions.
// CHECK-LABEL: func.func @moved
// CHECK-NOT:     nd.permute
// CHECK:         %[[P:.*]] = nd.pad %x, %v {low = [0, 1, 0, 0], high = [0, 0, 2, 0]} : (tensor<4x6x6x8xf32>, tensor<f32>) -> tensor<4x7x8x8xf32>
// CHECK-NEXT:    %[[S:.*]] = nd.slice %[[P]] {starts = [0, 1, 0, 0], stops = [4, 7, 8, 8], steps = [1, 2, 1, 1]}
// CHECK-NEXT:    %[[C:.*]] = nd.concat %[[S]], %[[S]] {axis = 3}
// CHECK-NEXT:    %[[F:.*]] = nd.flip %[[C]] {axes = [1, 3]}
// CHECK-NEXT:    %[[I:.*]] = nd.iota {axis = 1} : tensor<4x3x8x16xf32>
// CHECK-NEXT:    %[[A:.*]] = nd.add %[[F]], %[[I]]
// CHECK-NEXT:    %[[N:.*]] = nd.argmax %[[F]] {axis = 3} : tensor<4x3x8x16xf32> -> tensor<4x3x8xi64>
// CHECK-NEXT:    func.return %[[A]], %[[N]]
func.func @moved(%x: tensor<4x6x6x8xf32>, %v: tensor<f32>) -> (tensor<4x3x8x16xf32>, tensor<4x3x8xi64>) {
  %0 = nd.permute %x {permutation = [0, 3, 1, 2]} : tensor<4x6x6x8xf32> -> tensor<4x8x6x6xf32>
  %1 = nd.pad %0, %v {low = [0, 0, 1, 0], high = [0, 0, 0, 2]} : (tensor<4x8x6x6xf32>, tensor<f32>) -> tensor<4x8x7x8xf32>
  %2 = nd.slice %1 {starts = [0, 0, 1, 0], stops = [4, 8, 7, 8], steps = [1, 1, 2, 1]} : tensor<4x8x7x8xf32> -> tensor<4x8x3x8xf32>
  %3 = nd.concat %2, %2 {axis = 1} : (tensor<4x8x3x8xf32>, tensor<4x8x3x8xf32>) -> tensor<4x16x3x8xf32>
  %4 = nd.flip %3 {axes = [1, 2]} : tensor<4x16x3x8xf32>
  %5 = nd.iota {axis = 2} : tensor<4x16x3x8xf32>
  %6 = nd.add %4, %5 : tensor<4x16x3x8xf32>
  %7 = nd.permute %6 {permutation = [0, 2, 3, 1]} : tensor<4x16x3x8xf32> -> tensor<4x3x8x16xf32>
  %8 = nd.argmax %4 {axis = 1} : tensor<4x16x3x8xf32> -> tensor<4x3x8xi64>
  func.return %7, %8 : tensor<4x3x8x16xf32>, tensor<4x3x8xi64>
}

// -----

// What is small is permuted instead: a broadcast's operand and a reduction's result, whose axes change places.
// CHECK-LABEL: func.func @small
// CHECK:         %[[S:.*]] = nd.permute %s {permutation = [1, 0]} : tensor<8x6xf32> -> tensor<6x8xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[S]] {dims = [1, 3]} : tensor<6x8xf32> -> tensor<32x6x6x8xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.mul %x, %[[B]]
// CHECK-NEXT:    %[[E:.*]] = nd.exp %[[M]]
// CHECK-NEXT:    %[[R:.*]] = nd.max %[[E]] {axes = [0, 2]} : tensor<32x6x6x8xf32> -> tensor<6x8xf32>
// CHECK-NEXT:    %[[T:.*]] = nd.permute %[[R]] {permutation = [1, 0]}
// CHECK-NEXT:    func.return %[[E]], %[[T]]
func.func @small(%x: tensor<32x6x6x8xf32>, %s: tensor<8x6xf32>) -> (tensor<32x6x6x8xf32>, tensor<8x6xf32>) {
  %0 = nd.permute %x {permutation = [0, 3, 1, 2]} : tensor<32x6x6x8xf32> -> tensor<32x8x6x6xf32>
  %1 = nd.broadcast %s {dims = [1, 2]} : tensor<8x6xf32> -> tensor<32x8x6x6xf32>
  %2 = nd.mul %0, %1 : tensor<32x8x6x6xf32>
  %3 = nd.exp %2 : tensor<32x8x6x6xf32>
  %4 = nd.max %3 {axes = [0, 3]} : tensor<32x8x6x6xf32> -> tensor<8x6xf32>
  %5 = nd.permute %3 {permutation = [0, 2, 3, 1]} : tensor<32x8x6x6xf32> -> tensor<32x6x6x8xf32>
  func.return %5, %4 : tensor<32x6x6x8xf32>, tensor<8x6xf32>
}

// -----

// Of two halves of a region the one that has permutes on both sides is turned; what passes between them is permuted.
// CHECK-LABEL: func.func @half
// CHECK:         %[[E:.*]] = nd.exp %x : tensor<16x32xf32>
// CHECK-NEXT:    %[[P:.*]] = nd.permute %[[E]] {permutation = [1, 0]}
// CHECK-NEXT:    %[[T:.*]] = nd.tanh %[[E]]
// CHECK-NEXT:    %[[A:.*]] = nd.add %[[T]], %y
// CHECK-NEXT:    %[[N:.*]] = nd.neg %[[P]] : tensor<32x16xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.mul %[[N]], %z
// CHECK-NEXT:    func.return %[[A]], %[[M]]
func.func @half(%x: tensor<16x32xf32>, %y: tensor<16x32xf32>, %z: tensor<32x16xf32>) -> (tensor<16x32xf32>, tensor<32x16xf32>) {
  %0 = nd.permute %x {permutation = [1, 0]} : tensor<16x32xf32> -> tensor<32x16xf32>
  %1 = nd.exp %0 : tensor<32x16xf32>
  %2 = nd.tanh %1 : tensor<32x16xf32>
  %3 = nd.permute %y {permutation = [1, 0]} : tensor<16x32xf32> -> tensor<32x16xf32>
  %4 = nd.add %2, %3 : tensor<32x16xf32>
  %5 = nd.permute %4 {permutation = [1, 0]} : tensor<32x16xf32> -> tensor<16x32xf32>
  %6 = nd.neg %1 : tensor<32x16xf32>
  %7 = nd.mul %6, %z : tensor<32x16xf32>
  func.return %5, %7 : tensor<16x32xf32>, tensor<32x16xf32>
}

// -----

// A permute that is alone stays where it is: at the start, at the end, and at what a product takes.
// CHECK-LABEL: func.func @alone
// CHECK:         nd.permute %x
// CHECK-NEXT:    nd.cast
// CHECK-NEXT:    nd.exp
// CHECK-NEXT:    nd.tanh %y
// CHECK-NEXT:    nd.cast
// CHECK-NEXT:    nd.permute
// CHECK-NEXT:    func.return
func.func @alone(%x: tensor<16x32xbf16>, %y: tensor<16x32xf32>) -> (tensor<32x16xf32>, tensor<32x16xbf16>) {
  %0 = nd.permute %x {permutation = [1, 0]} : tensor<16x32xbf16> -> tensor<32x16xbf16>
  %1 = nd.cast %0 : tensor<32x16xbf16> -> tensor<32x16xf32>
  %2 = nd.exp %1 : tensor<32x16xf32>
  %3 = nd.tanh %y : tensor<16x32xf32>
  %4 = nd.cast %3 : tensor<16x32xf32> -> tensor<16x32xbf16>
  %5 = nd.permute %4 {permutation = [1, 0]} : tensor<16x32xbf16> -> tensor<32x16xbf16>
  func.return %2, %5 : tensor<32x16xf32>, tensor<32x16xbf16>
}

// -----

// One array of three in another order: the kernel has one whichever order it takes.
// CHECK-LABEL: func.func @one_of_three
// CHECK:         nd.permute %x
// CHECK-NEXT:    nd.permute %y
// CHECK-NEXT:    nd.mul
// CHECK-NEXT:    func.return
func.func @one_of_three(%x: tensor<16x32xf32>, %y: tensor<16x32xf32>) -> tensor<32x16xf32> {
  %0 = nd.permute %x {permutation = [1, 0]} : tensor<16x32xf32> -> tensor<32x16xf32>
  %1 = nd.permute %y {permutation = [1, 0]} : tensor<16x32xf32> -> tensor<32x16xf32>
  %2 = nd.mul %0, %1 : tensor<32x16xf32>
  func.return %2 : tensor<32x16xf32>
}

// -----

// A reshape that merges axes cares for their order, and so does a scan, which is fast along the last axis.
// CHECK-LABEL: func.func @ordered
// CHECK:         nd.permute %x
// CHECK-NEXT:    nd.cumsum
// CHECK-NEXT:    nd.permute
// CHECK-NEXT:    nd.reshape
// CHECK-NEXT:    nd.exp
// CHECK-NEXT:    nd.reshape
// CHECK-NEXT:    nd.permute
func.func @ordered(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %0 = nd.permute %x {permutation = [1, 0]} : tensor<16x32xf32> -> tensor<32x16xf32>
  %1 = nd.cumsum %0 {axis = 1} : tensor<32x16xf32>
  %2 = nd.permute %1 {permutation = [1, 0]} : tensor<32x16xf32> -> tensor<16x32xf32>
  %3 = nd.reshape %2 : tensor<16x32xf32> -> tensor<512xf32>
  %4 = nd.exp %3 : tensor<512xf32>
  %5 = nd.reshape %4 : tensor<512xf32> -> tensor<32x16xf32>
  %6 = nd.permute %5 {permutation = [1, 0]} : tensor<32x16xf32> -> tensor<16x32xf32>
  func.return %6 : tensor<16x32xf32>
}

// -----

// A convolution makes and reads arrays in any order: what follows it is done in memory's.
// CHECK-LABEL: func.func @convolutions
// CHECK-NOT:     nd.permute
// CHECK:         %[[C:.*]] = nd.conv %x, %w {{.*}}x_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]}
// CHECK-NEXT:    %[[A:.*]] = nd.add %[[C]], %r : tensor<2x6x6x4xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.relu %[[A]] : tensor<2x6x6x4xf32>
// CHECK-NEXT:    nd.conv %[[R]], %w {{.*}}x_axes = [0, 3, 1, 2]}
// CHECK-NEXT:    func.return
func.func @convolutions(%x: tensor<2x8x8x4xf32>, %w: tensor<4x4x3x3xf32>, %r: tensor<2x6x6x4xf32>) -> (tensor<2x6x6x4xf32>, tensor<2x4x4x4xf32>) {
  %0 = nd.permute %x {permutation = [0, 3, 1, 2]} : tensor<2x8x8x4xf32> -> tensor<2x4x8x8xf32>
  %1 = nd.conv %0, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<2x4x6x6xf32>
  %2 = nd.permute %r {permutation = [0, 3, 1, 2]} : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %3 = nd.add %1, %2 : tensor<2x4x6x6xf32>
  %4 = nd.relu %3 : tensor<2x4x6x6xf32>
  %5 = nd.permute %4 {permutation = [0, 2, 3, 1]} : tensor<2x4x6x6xf32> -> tensor<2x6x6x4xf32>
  %6 = nd.conv %4, %w {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<2x4x4x4xf32>
  func.return %5, %6 : tensor<2x6x6x4xf32>, tensor<2x4x4x4xf32>
}

// -----

// A product reads its operands, or parts of their axes, in any order that leaves the last axis in its place: the sum
// beside it decides. It is done in memory's order.
// CHECK-LABEL: func.func @beside_products
// CHECK-NEXT:    %[[Y:.*]] = nd.permute %y
// CHECK-NEXT:    %[[XY:.*]] = nd.mul %x, %y
// CHECK-NEXT:    %[[SUM:.*]] = nd.sum %[[XY]] {axes = [3]}
// CHECK-NEXT:    nd.permute %[[SUM]]
// CHECK-NEXT:    nd.matmul %x, %w {lhs_batch = [0, 2], rhs_batch = [0, 1]
// CHECK-NEXT:    %[[SPLIT:.*]] = nd.reshape %[[Y]]
// CHECK-NEXT:    nd.matmul %[[SPLIT]], %v
// CHECK-NEXT:    func.return
func.func @beside_products(%x: tensor<2x64x4x16xf32>, %y: tensor<2x64x4x16xf32>, %w: tensor<2x4x64x16xf32>, %v: tensor<2x2x64x16xf32>)
    -> (tensor<2x4x64xf32>, tensor<2x4x64x64xf32>, tensor<2x2x2x64x64xf32>) {
  %0 = nd.permute %x {permutation = [0, 2, 1, 3]} : tensor<2x64x4x16xf32> -> tensor<2x4x64x16xf32>
  %1 = nd.permute %y {permutation = [0, 2, 1, 3]} : tensor<2x64x4x16xf32> -> tensor<2x4x64x16xf32>
  %2 = nd.mul %0, %1 : tensor<2x4x64x16xf32>
  %3 = nd.sum %2 {axes = [3]} : tensor<2x4x64x16xf32> -> tensor<2x4x64xf32>
  %4 = nd.matmul %0, %w {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [3]} : tensor<2x4x64x16xf32> -> tensor<2x4x64x64xf32>
  %5 = nd.reshape %1 : tensor<2x4x64x16xf32> -> tensor<2x2x2x64x16xf32>
  %6 = nd.matmul %5, %v {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [4], rhs_contract = [3]} : (tensor<2x2x2x64x16xf32>, tensor<2x2x64x16xf32>) -> tensor<2x2x2x64x64xf32>
  func.return %3, %4, %6 : tensor<2x4x64xf32>, tensor<2x4x64x64xf32>, tensor<2x2x2x64x64xf32>
}

// What a convolution makes has channels last where nothing asks for another order: work after it is done so, and another
// convolution and a product of its channels read it so.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %[[Y:.*]] = nd.conv %x, %k {{{.*}}, x_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : {{.*}} -> tensor<2x8x8x16xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.relu %[[Y]] : tensor<2x8x8x16xf32>
// CHECK-NEXT:    %[[Z:.*]] = nd.conv %[[R]], %l {{{.*}}, x_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]}
// CHECK-NEXT:    %[[E:.*]] = nd.exp %[[Z]] : tensor<2x8x8x16xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.matmul %[[E]], %m {lhs_contract = [3], rhs_contract = [1]}
// CHECK-NEXT:    func.return %[[M]]
func.func @chain(%x: tensor<2x8x8x4xf32>, %k: tensor<16x4x3x3xf32>, %l: tensor<16x16x3x3xf32>, %m: tensor<5x16xf32>) -> tensor<2x8x8x5xf32> {
  %0 = nd.conv %x, %k {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2]} : (tensor<2x8x8x4xf32>, tensor<16x4x3x3xf32>) -> tensor<2x16x8x8xf32>
  %1 = nd.relu %0 : tensor<2x16x8x8xf32>
  %2 = nd.conv %1, %l {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x8x8xf32>
  %3 = nd.exp %2 : tensor<2x16x8x8xf32>
  %4 = nd.matmul %3, %m {lhs_contract = [1], rhs_contract = [1]} : (tensor<2x16x8x8xf32>, tensor<5x16xf32>) -> tensor<2x8x8x5xf32>
  func.return %4 : tensor<2x8x8x5xf32>
}

// Several uses of its result in one order are one array.
// CHECK-LABEL: func.func @several
// CHECK:         %[[Y:.*]] = nd.conv {{.*}} result_axes = [0, 3, 1, 2]}
// CHECK-NEXT:    %[[R:.*]] = nd.relu %[[Y]]
// CHECK-NEXT:    %[[E:.*]] = nd.exp %[[Y]]
// CHECK-NEXT:    func.return %[[R]], %[[E]]
func.func @several(%x: tensor<2x8x8x4xf32>, %k: tensor<16x4x3x3xf32>) -> (tensor<2x8x8x16xf32>, tensor<2x8x8x16xf32>) {
  %0 = nd.conv %x, %k {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 3, 1, 2]} : (tensor<2x8x8x4xf32>, tensor<16x4x3x3xf32>) -> tensor<2x16x8x8xf32>
  %1 = nd.relu %0 : tensor<2x16x8x8xf32>
  %2 = nd.permute %1 {permutation = [0, 2, 3, 1]} : tensor<2x16x8x8xf32> -> tensor<2x8x8x16xf32>
  %3 = nd.exp %0 : tensor<2x16x8x8xf32>
  %4 = nd.permute %3 {permutation = [0, 2, 3, 1]} : tensor<2x16x8x8xf32> -> tensor<2x8x8x16xf32>
  func.return %2, %4 : tensor<2x8x8x16xf32>, tensor<2x8x8x16xf32>
}

// Channels first stay where the program's result has them.
// CHECK-LABEL: func.func @first
// CHECK-NEXT:    nd.conv %x, %k {{{.*}} groups = 1} :
// CHECK-NEXT:    nd.relu
// CHECK-NEXT:    func.return
func.func @first(%x: tensor<2x4x8x8xf32>, %k: tensor<16x4x3x3xf32>) -> tensor<2x16x8x8xf32> {
  %0 = nd.conv %x, %k {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x4x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<2x16x8x8xf32>
  %1 = nd.relu %0 : tensor<2x16x8x8xf32>
  func.return %1 : tensor<2x16x8x8xf32>
}

// The gradients of queries, keys and values beside each other, as the product that made these has them: each is as cheap
// in that order, and the gradient of the weights reads it transposed.
// CHECK-LABEL: func.func @gradients
// CHECK:         %[[C:.*]] = nd.concat %{{.*}}, %{{.*}} {axis = 2} : tensor<2x16x1x4x8xbf16> -> tensor<2x16x2x4x8xbf16>
// CHECK-NEXT:    %[[R:.*]] = nd.reshape %[[C]] : tensor<2x16x2x4x8xbf16> -> tensor<32x64xbf16>
// CHECK-NEXT:    nd.matmul %[[R]], %x {lhs_contract = [0], rhs_contract = [0]} : (tensor<32x64xbf16>, tensor<32x24xbf16>) -> tensor<64x24xbf16>
// CHECK-NEXT:    func.return %[[C]]
func.func @gradients(%p: tensor<2x4x16x16xbf16>, %k: tensor<2x4x16x8xbf16>, %q: tensor<2x4x16x8xbf16>, %x: tensor<32x24xbf16>)
    -> (tensor<2x16x2x4x8xbf16>, tensor<64x24xbf16>) {
  %0 = nd.matmul %p, %k {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<2x4x16x16xbf16>, tensor<2x4x16x8xbf16>) -> tensor<2x4x16x8xbf16>
  %1 = nd.matmul %p, %q {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [2], rhs_contract = [2]} : (tensor<2x4x16x16xbf16>, tensor<2x4x16x8xbf16>) -> tensor<2x4x16x8xbf16>
  %2 = nd.reshape %0 : tensor<2x4x16x8xbf16> -> tensor<1x2x4x16x8xbf16>
  %3 = nd.reshape %1 : tensor<2x4x16x8xbf16> -> tensor<1x2x4x16x8xbf16>
  %4 = nd.concat %2, %3 {axis = 0} : tensor<1x2x4x16x8xbf16> -> tensor<2x2x4x16x8xbf16>
  %5 = nd.permute %4 {permutation = [1, 3, 0, 2, 4]} : tensor<2x2x4x16x8xbf16> -> tensor<2x16x2x4x8xbf16>
  %6 = nd.permute %4 {permutation = [0, 2, 4, 1, 3]} : tensor<2x2x4x16x8xbf16> -> tensor<2x4x8x2x16xbf16>
  %7 = nd.reshape %6 : tensor<2x4x8x2x16xbf16> -> tensor<64x32xbf16>
  %8 = nd.matmul %7, %x {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xbf16>, tensor<32x24xbf16>) -> tensor<64x24xbf16>
  func.return %5, %8 : tensor<2x16x2x4x8xbf16>, tensor<64x24xbf16>
}

// Nothing is saved where no product makes them, and where products of f32 read no transposed operand.
// CHECK-LABEL: func.func @made
// CHECK:         nd.concat {{.*}} {axis = 0}
// CHECK-NEXT:    nd.permute
// CHECK-LABEL: func.func @wide
// CHECK:         nd.concat {{.*}} {axis = 0}
// CHECK-NEXT:    nd.permute
func.func @made(%a: tensor<1x2x4x16x8xbf16>, %b: tensor<1x2x4x16x8xbf16>, %x: tensor<32x24xbf16>)
    -> (tensor<32x64xbf16>, tensor<64x24xbf16>) {
  %0 = nd.concat %a, %b {axis = 0} : tensor<1x2x4x16x8xbf16> -> tensor<2x2x4x16x8xbf16>
  %1 = nd.permute %0 {permutation = [1, 3, 0, 2, 4]} : tensor<2x2x4x16x8xbf16> -> tensor<2x16x2x4x8xbf16>
  %2 = nd.reshape %1 : tensor<2x16x2x4x8xbf16> -> tensor<32x64xbf16>
  %3 = nd.permute %2 {permutation = [1, 0]} : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %4 = nd.matmul %3, %x {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xbf16>, tensor<32x24xbf16>) -> tensor<64x24xbf16>
  func.return %2, %4 : tensor<32x64xbf16>, tensor<64x24xbf16>
}

func.func @wide(%p: tensor<2x4x16x16xf32>, %k: tensor<2x4x16x8xf32>, %x: tensor<32x24xf32>)
    -> (tensor<2x16x2x4x8xf32>, tensor<64x24xf32>) {
  %0 = nd.matmul %p, %k {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<2x4x16x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
  %1 = nd.matmul %p, %k {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [2], rhs_contract = [2]} : (tensor<2x4x16x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
  %2 = nd.reshape %0 : tensor<2x4x16x8xf32> -> tensor<1x2x4x16x8xf32>
  %3 = nd.reshape %1 : tensor<2x4x16x8xf32> -> tensor<1x2x4x16x8xf32>
  %4 = nd.concat %2, %3 {axis = 0} : tensor<1x2x4x16x8xf32> -> tensor<2x2x4x16x8xf32>
  %5 = nd.permute %4 {permutation = [1, 3, 0, 2, 4]} : tensor<2x2x4x16x8xf32> -> tensor<2x16x2x4x8xf32>
  %6 = nd.permute %4 {permutation = [0, 2, 4, 1, 3]} : tensor<2x2x4x16x8xf32> -> tensor<2x4x8x2x16xf32>
  %7 = nd.reshape %6 : tensor<2x4x8x2x16xf32> -> tensor<64x32xf32>
  %8 = nd.matmul %7, %x {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xf32>, tensor<32x24xf32>) -> tensor<64x24xf32>
  func.return %5, %8 : tensor<2x16x2x4x8xf32>, tensor<64x24xf32>
}

// -----

// Convolutions of points are products of rows of channels. What several of them add up is read by others with channels
// last as well: nothing is permuted, and what is added is the end of a product.
// CHECK-LABEL: func.func @residual
// CHECK-NOT:     nd.permute
// CHECK:         nd.matmul %{{.*}}, %v {lhs_contract = [3], rhs_contract = [1]} : (tensor<2x8x8x64xbf16>, tensor<16x64xbf16>)
// CHECK-NOT:     nd.permute
// CHECK:         nd.matmul %{{.*}}, %v {lhs_contract = [3], rhs_contract = [1]} : (tensor<2x8x8x64xbf16>, tensor<16x64xbf16>)
// CHECK-NEXT:    func.return
func.func @residual(%x: tensor<2x8x8x16xbf16>, %y: tensor<2x8x8x16xbf16>, %w: tensor<64x16xbf16>, %v: tensor<16x64xbf16>) -> (tensor<2x8x8x16xbf16>, tensor<2x8x8x16xbf16>) {
  %0 = nd.matmul %x, %w {lhs_contract = [3], rhs_contract = [1]} : (tensor<2x8x8x16xbf16>, tensor<64x16xbf16>) -> tensor<2x8x8x64xf32>
  %1 = nd.permute %0 {permutation = [0, 3, 1, 2]} : tensor<2x8x8x64xf32> -> tensor<2x64x8x8xf32>
  %2 = nd.relu %1 {nd.declared = bf16} : tensor<2x64x8x8xf32>
  %3 = nd.cast %2 : tensor<2x64x8x8xf32> -> tensor<2x64x8x8xbf16>
  %4 = nd.matmul %3, %v {lhs_contract = [1], rhs_contract = [1]} : (tensor<2x64x8x8xbf16>, tensor<16x64xbf16>) -> tensor<2x8x8x16xbf16>
  %5 = nd.matmul %y, %w {lhs_contract = [3], rhs_contract = [1]} : (tensor<2x8x8x16xbf16>, tensor<64x16xbf16>) -> tensor<2x8x8x64xf32>
  %6 = nd.permute %5 {permutation = [0, 3, 1, 2]} : tensor<2x8x8x64xf32> -> tensor<2x64x8x8xf32>
  %7 = nd.add %2, %6 {nd.declared = bf16} : tensor<2x64x8x8xf32>
  %8 = nd.relu %7 {nd.declared = bf16} : tensor<2x64x8x8xf32>
  %9 = nd.cast %8 : tensor<2x64x8x8xf32> -> tensor<2x64x8x8xbf16>
  %10 = nd.matmul %9, %v {lhs_contract = [1], rhs_contract = [1]} : (tensor<2x64x8x8xbf16>, tensor<16x64xbf16>) -> tensor<2x8x8x16xbf16>
  func.return %4, %10 : tensor<2x8x8x16xbf16>, tensor<2x8x8x16xbf16>
}

// Where neither a product nor a convolution makes them, the products say in which order they read.
// CHECK-LABEL: func.func @copied
// CHECK-NEXT:    nd.permute
// CHECK-NEXT:    nd.neg
// CHECK-NEXT:    nd.matmul {{.*}} {lhs_contract = [1], rhs_contract = [1]}
func.func @copied(%x: tensor<2x8x8x64xbf16>, %y: tensor<2x8x8x64xbf16>, %v: tensor<16x64xbf16>) -> (tensor<2x8x8x16xbf16>, tensor<2x8x8x16xbf16>) {
  %0 = nd.permute %x {permutation = [0, 3, 1, 2]} : tensor<2x8x8x64xbf16> -> tensor<2x64x8x8xbf16>
  %1 = nd.neg %0 : tensor<2x64x8x8xbf16>
  %2 = nd.matmul %1, %v {lhs_contract = [1], rhs_contract = [1]} : (tensor<2x64x8x8xbf16>, tensor<16x64xbf16>) -> tensor<2x8x8x16xbf16>
  %3 = nd.permute %y {permutation = [0, 3, 1, 2]} : tensor<2x8x8x64xbf16> -> tensor<2x64x8x8xbf16>
  %4 = nd.add %1, %3 : tensor<2x64x8x8xbf16>
  %5 = nd.matmul %4, %v {lhs_contract = [1], rhs_contract = [1]} : (tensor<2x64x8x8xbf16>, tensor<16x64xbf16>) -> tensor<2x8x8x16xbf16>
  func.return %2, %5 : tensor<2x8x8x16xbf16>, tensor<2x8x8x16xbf16>
}

// -----

// Work on groups of the channels that convolutions make and read has them last, too.
// CHECK-LABEL: func.func @groups
// CHECK-NOT:     nd.permute
// CHECK:         %[[A:.*]] = nd.conv %x, %k {{{.*}}, result_axes = [0, 3, 1, 2]}
// CHECK:         %[[B:.*]] = nd.add %[[A]], %{{.*}} {nd.declared = bf16} : tensor<2x8x8x16xf32>
// CHECK-NEXT:    %[[G:.*]] = nd.reshape %[[B]] {nd.declared = bf16} : tensor<2x8x8x16xf32> -> tensor<2x8x8x4x4xf32>
// CHECK-NEXT:    %[[S:.*]] = nd.sum %[[G]] {axes = [1, 2, 4]} : tensor<2x8x8x4x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:    nd.broadcast %[[S]] {dims = [0, 3]} : tensor<2x4xf32> -> tensor<2x8x8x4x4xf32>
// CHECK:         %[[M:.*]] = nd.reshape %{{.*}} : tensor<2x8x8x4x4xbf16> -> tensor<2x8x8x16xbf16>
// CHECK-NEXT:    nd.conv %[[M]], %l {{{.*}}, x_axes = [0, 3, 1, 2]
func.func @groups(%x: tensor<2x4x8x8xbf16>, %k: tensor<16x4x3x3xbf16>, %b: tensor<16xf32>, %l: tensor<16x16x3x3xbf16>) -> tensor<2x16x8x8xf32> {
  %0 = nd.conv %x, %k {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x4x8x8xbf16>, tensor<16x4x3x3xbf16>) -> tensor<2x16x8x8xf32>
  %1 = nd.broadcast %b {dims = [1]} : tensor<16xf32> -> tensor<2x16x8x8xf32>
  %2 = nd.add %0, %1 {nd.declared = bf16} : tensor<2x16x8x8xf32>
  %3 = nd.reshape %2 {nd.declared = bf16} : tensor<2x16x8x8xf32> -> tensor<2x4x4x8x8xf32>
  %4 = nd.sum %3 {axes = [2, 3, 4]} : tensor<2x4x4x8x8xf32> -> tensor<2x4xf32>
  %5 = nd.broadcast %4 {dims = [0, 1]} : tensor<2x4xf32> -> tensor<2x4x4x8x8xf32>
  %6 = nd.sub %3, %5 {nd.declared = bf16} : tensor<2x4x4x8x8xf32>
  %7 = nd.cast %6 : tensor<2x4x4x8x8xf32> -> tensor<2x4x4x8x8xbf16>
  %8 = nd.reshape %7 : tensor<2x4x4x8x8xbf16> -> tensor<2x16x8x8xbf16>
  %9 = nd.conv %8, %l {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x16x8x8xbf16>, tensor<16x16x3x3xbf16>) -> tensor<2x16x8x8xf32>
  func.return %9 : tensor<2x16x8x8xf32>
}

// Where the work ends in a result with channels first, it stays so: the convolution makes them as that has them.
// CHECK-LABEL: func.func @groups_returned
// CHECK-NOT:     nd.permute
// CHECK:         nd.conv %x, %k {{{.*}}groups = 1} :
// CHECK-NOT:     nd.permute
// CHECK:         nd.sum %{{.*}} {axes = [2, 3, 4]} : tensor<2x4x4x8x8xf32> -> tensor<2x4xf32>
// CHECK-NOT:     nd.permute
// CHECK:         func.return
func.func @groups_returned(%x: tensor<2x4x8x8xbf16>, %k: tensor<16x4x3x3xbf16>) -> tensor<2x16x8x8xbf16> {
  %0 = nd.conv %x, %k {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x4x8x8xbf16>, tensor<16x4x3x3xbf16>) -> tensor<2x16x8x8xf32>
  %3 = nd.reshape %0 {nd.declared = bf16} : tensor<2x16x8x8xf32> -> tensor<2x4x4x8x8xf32>
  %4 = nd.sum %3 {axes = [2, 3, 4]} : tensor<2x4x4x8x8xf32> -> tensor<2x4xf32>
  %5 = nd.broadcast %4 {dims = [0, 1]} : tensor<2x4xf32> -> tensor<2x4x4x8x8xf32>
  %6 = nd.sub %3, %5 {nd.declared = bf16} : tensor<2x4x4x8x8xf32>
  %7 = nd.cast %6 : tensor<2x4x4x8x8xf32> -> tensor<2x4x4x8x8xbf16>
  %8 = nd.reshape %7 : tensor<2x4x4x8x8xbf16> -> tensor<2x16x8x8xbf16>
  func.return %8 : tensor<2x16x8x8xbf16>
}

// The kernel of a convolution, whose channels a permute has put there, is no such array.
// CHECK-LABEL: func.func @groups_of_kernels
// CHECK-COUNT-1: nd.permute
// CHECK-NOT:     nd.permute
// CHECK:         nd.conv
func.func @groups_of_kernels(%x: tensor<2x8x8x16xbf16>, %k: tensor<4x4x3x3x4xbf16>) -> tensor<2x8x8x16xf32> {
  %1 = nd.permute %k {permutation = [0, 4, 1, 2, 3]} : tensor<4x4x3x3x4xbf16> -> tensor<4x4x4x3x3xbf16>
  %2 = nd.reshape %1 : tensor<4x4x4x3x3xbf16> -> tensor<16x4x3x3xbf16>
  %3 = nd.conv %x, %2 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 4, x_axes = [0, 3, 1, 2], result_axes = [0, 3, 1, 2]} : (tensor<2x8x8x16xbf16>, tensor<16x4x3x3xbf16>) -> tensor<2x8x8x16xf32>
  func.return %3 : tensor<2x8x8x16xf32>
}
