// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// Two products of one operand that meet in the epilogue are one kernel; the biases' casts are repeated in it.
// CHECK-LABEL: func.func @gating
// CHECK-NEXT:    %r = kernel.fused @gating_0 matmul
// CHECK-NEXT:      // core
// CHECK-NEXT:      nd.matmul
// CHECK-NEXT:      nd.matmul
// CHECK-NEXT:      // epilogue
// CHECK-NEXT:      nd.cast
// CHECK-NEXT:      nd.broadcast
// CHECK-NEXT:      nd.add
// CHECK-NEXT:      nd.sigmoid
// CHECK-NEXT:      nd.mul
// CHECK-NEXT:      nd.cast
// CHECK-NEXT:      kernel.yield
// CHECK:         func.return %r
func.func @gating(%x: tensor<64x32xbf16>, %w1: tensor<32x48xbf16>, %w2: tensor<32x48xbf16>, %b: tensor<48xbf16>) -> tensor<64x48xbf16> {
  %bf = nd.cast %b : tensor<48xbf16> -> tensor<48xf32>
  %bb = nd.broadcast %bf {dims = [1]} : tensor<48xf32> -> tensor<64x48xf32>
  %0 = nd.matmul %x, %w1 {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xf32>
  %h = nd.add %0, %bb : tensor<64x48xf32>
  %g = nd.matmul %x, %w2 {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xf32>
  %s = nd.sigmoid %h : tensor<64x48xf32>
  %m = nd.mul %s, %g : tensor<64x48xf32>
  %r = nd.cast %m : tensor<64x48xf32> -> tensor<64x48xbf16>
  func.return %r : tensor<64x48xbf16>
}

// The second product starts a kernel of its own; what lies between is the epilogue of the first, and is rounded where it is stored.
// CHECK-LABEL: func.func @mlp
// CHECK:         kernel.fused @mlp_0 matmul
// CHECK:           // epilogue
// CHECK-NEXT:      nd.gelu
// CHECK-NEXT:      nd.cast
// CHECK-NEXT:      kernel.yield
// CHECK:         kernel.fused @mlp_1 matmul
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @mlp(%x: tensor<64x32xbf16>, %w1: tensor<32x32xbf16>) -> tensor<64x32xf32> {
  %0 = nd.matmul %x, %w1 {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xf32>
  %1 = nd.gelu %0 : tensor<64x32xf32>
  %2 = nd.cast %1 : tensor<64x32xf32> -> tensor<64x32xbf16>
  %3 = nd.matmul %2, %w1 {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xf32>
  func.return %3 : tensor<64x32xf32>
}

// Elementwise work that only an operand needs is the prologue.
// CHECK-LABEL: func.func @prologue
// CHECK:         // prologue
// CHECK-NEXT:    nd.relu
// CHECK-NEXT:    nd.mul
// CHECK-NEXT:    // core
// CHECK-NEXT:    nd.matmul
func.func @prologue(%x: tensor<64x32xf32>, %s: tensor<64x32xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %0 = nd.relu %x : tensor<64x32xf32>
  %1 = nd.mul %0, %s : tensor<64x32xf32>
  %2 = nd.matmul %1, %w {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  func.return %2 : tensor<64x48xf32>
}

// A reduction of the product joins it when nothing reads the product again...
// CHECK-LABEL: func.func @row_sums
// CHECK:         kernel.fused @row_sums_0 matmul
// CHECK:           nd.sum
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @row_sums(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>) -> tensor<64xf32> {
  %0 = nd.matmul %x, %w {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %1 = nd.mul %0, %0 : tensor<64x48xf32>
  %2 = nd.sum %1 {axes = [1]} : tensor<64x48xf32> -> tensor<64xf32>
  func.return %2 : tensor<64xf32>
}

// ... and leaves it alone when something does and rows do not fit a tile: the softmax is a second kernel. (row_cost.irc
// has rows that fit.)
// CHECK-LABEL: func.func @softmax_of_product
// CHECK:         kernel.fused @softmax_of_product_0 matmul
// CHECK-NOT:       nd.max
// CHECK:         kernel.fused @softmax_of_product_1 reduce
// CHECK:           nd.max
// CHECK:           nd.exp
// CHECK:           nd.sum
// CHECK:           // epilogue
// CHECK:           nd.div
func.func @softmax_of_product(%x: tensor<64x32xf32>, %w: tensor<32x512xf32>) -> tensor<64x512xf32> {
  %0 = nd.matmul %x, %w {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xf32>, tensor<32x512xf32>) -> tensor<64x512xf32>
  %1 = nd.max %0 {axes = [1]} : tensor<64x512xf32> -> tensor<64xf32>
  %2 = nd.broadcast %1 {dims = [0]} : tensor<64xf32> -> tensor<64x512xf32>
  %3 = nd.sub %0, %2 : tensor<64x512xf32>
  %4 = nd.exp %3 : tensor<64x512xf32>
  %5 = nd.sum %4 {axes = [1]} : tensor<64x512xf32> -> tensor<64xf32>
  %6 = nd.broadcast %5 {dims = [0]} : tensor<64xf32> -> tensor<64x512xf32>
  %7 = nd.div %4, %6 : tensor<64x512xf32>
  func.return %7 : tensor<64x512xf32>
}

// Two reductions of equal shape that read nothing together are one kernel where it alone reads both results, on rows...
// CHECK-LABEL: func.func @joined
// CHECK:         kernel.fused @joined_0 reduce
// CHECK-COUNT-2:   nd.sum
// CHECK:           // epilogue
// CHECK:           nd.mul
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @joined(%a: tensor<64x32xf32>, %b: tensor<64x32xf32>) -> tensor<64xf32> {
  %0 = nd.sum %a {axes = [1]} : tensor<64x32xf32> -> tensor<64xf32>
  %1 = nd.sum %b {axes = [1]} : tensor<64x32xf32> -> tensor<64xf32>
  %2 = nd.exp %0 : tensor<64xf32>
  %3 = nd.exp %1 : tensor<64xf32>
  %4 = nd.mul %2, %3 : tensor<64xf32>
  func.return %4 : tensor<64xf32>
}

// ... and two where one's result is stored anyway.
// CHECK-LABEL: func.func @joined_and_stored
// CHECK:         kernel.fused @joined_and_stored_0 reduce
// CHECK:         kernel.fused @joined_and_stored_1 reduce
func.func @joined_and_stored(%a: tensor<64x32xf32>, %b: tensor<64x32xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = nd.sum %a {axes = [1]} : tensor<64x32xf32> -> tensor<64xf32>
  %1 = nd.sum %b {axes = [1]} : tensor<64x32xf32> -> tensor<64xf32>
  %2 = nd.mul %0, %1 : tensor<64xf32>
  func.return %1, %2 : tensor<64xf32>, tensor<64xf32>
}

// Reductions over other axes of the same values are kernels of their own.
// CHECK-LABEL: func.func @other_axes
// CHECK:         kernel.fused @other_axes_0 reduce
// CHECK:         kernel.fused @other_axes_1 reduce
func.func @other_axes(%x: tensor<64x48xf32>) -> (tensor<64xf32>, tensor<48xf32>) {
  %0 = nd.sum %x {axes = [1]} : tensor<64x48xf32> -> tensor<64xf32>
  %1 = nd.sum %x {axes = [0]} : tensor<64x48xf32> -> tensor<48xf32>
  func.return %0, %1 : tensor<64xf32>, tensor<48xf32>
}

// Reductions over the same axes of the same array are one.
// CHECK-LABEL: func.func @same_axes
// CHECK:         kernel.fused @same_axes_0 reduce
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @same_axes(%x: tensor<64x48xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = nd.sum %x {axes = [1]} : tensor<64x48xf32> -> tensor<64xf32>
  %1 = nd.max %x {axes = [1]} : tensor<64x48xf32> -> tensor<64xf32>
  func.return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// A permutation of an elementwise result is one kernel, anchored at the permutation.
// CHECK-LABEL: func.func @permute
// CHECK:         kernel.fused @permute_0 permute
// CHECK-NEXT:      nd.exp
// CHECK-NEXT:      nd.permute
func.func @permute(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = nd.exp %x : tensor<4x8xf32>
  %1 = nd.permute %0 {permutation = [1, 0]} : tensor<4x8xf32> -> tensor<8x4xf32>
  func.return %1 : tensor<8x4xf32>
}

// Heads are split by the store of the product.
// CHECK-LABEL: func.func @heads
// CHECK:         kernel.fused @heads_0 matmul
// CHECK:           // epilogue
// CHECK-NEXT:      nd.reshape
// CHECK-NEXT:      nd.permute
func.func @heads(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>) -> tensor<2x16x4xf32> {
  %0 = nd.matmul %x, %w {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %1 = nd.reshape %0 : tensor<16x8xf32> -> tensor<16x2x4xf32>
  %2 = nd.permute %1 {permutation = [1, 0, 2]} : tensor<16x2x4xf32> -> tensor<2x16x4xf32>
  func.return %2 : tensor<2x16x4xf32>
}

// A reshape of a stored array is a view and stays outside.
// CHECK-LABEL: func.func @view
// CHECK:         kernel.fused @view_0 map
// CHECK:         nd.reshape %0 : tensor<4x8xf32> -> tensor<32xf32>
// CHECK-NEXT:    func.return
func.func @view(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %0 = nd.exp %x : tensor<4x8xf32>
  %1 = nd.reshape %0 : tensor<4x8xf32> -> tensor<32xf32>
  func.return %1 : tensor<32xf32>
}

// So does one that a product reads, where something else reads the array, too.
// CHECK-LABEL: func.func @view_of_shared
// CHECK:         %[[D:.*]] = kernel.fused @view_of_shared_0 map
// CHECK:         %[[V:.*]] = nd.reshape %[[D]] : tensor<2x8x16xf32> -> tensor<16x16xf32>
// CHECK:         kernel.fused @view_of_shared_1 matmul (%{{.*}} = %[[V]] : tensor<16x16xf32>)
// CHECK:         kernel.fused @view_of_shared_2 matmul (%{{.*}} = %[[D]] : tensor<2x8x16xf32>)
func.func @view_of_shared(%x: tensor<2x8x16xf32>) -> (tensor<16x16xf32>, tensor<2x8x8xf32>) {
  %0 = nd.exp %x : tensor<2x8x16xf32>
  %1 = nd.reshape %0 : tensor<2x8x16xf32> -> tensor<16x16xf32>
  %2 = nd.matmul %1, %1 {lhs_batch = [], rhs_batch = [], lhs_contract = [0], rhs_contract = [0]} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = nd.matmul %0, %0 {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x8xf32>
  func.return %2, %3 : tensor<16x16xf32>, tensor<2x8x8xf32>
}

// A value declared bf16 is rounded where it is stored between kernels, and widened where it is read.
// CHECK-LABEL: func.func @declared
// CHECK:         kernel.fused @declared_0 reduce {{.*}} -> tensor<64xbf16> {
// CHECK:           nd.cast {{.*}} : tensor<64xf32> -> tensor<64xbf16>
// CHECK-NEXT:      kernel.yield
// CHECK:         kernel.fused @declared_1 reduce
// CHECK-NEXT:      // prologue
// CHECK-NEXT:      nd.cast {{.*}} : tensor<64xbf16> -> tensor<64xf32>
func.func @declared(%x: tensor<64x48xf32>) -> tensor<f32> {
  %0 = nd.max %x {axes = [1]} : tensor<64x48xf32> -> tensor<64xf32>
  %1 = nd.exp %0 {nd.declared = bf16} : tensor<64xf32>
  %2 = nd.sum %1 {axes = [0]} : tensor<64xf32> -> tensor<f32>
  func.return %2 : tensor<f32>
}

// It has that type then: to cast a view of it to that, for several products, takes no kernel.
// CHECK-LABEL: func.func @declared_and_cast
// CHECK:         %[[D:.*]], %{{.*}} = kernel.fused @declared_and_cast_0 reduce {{.*}} -> (tensor<8x8x16xbf16>, tensor<8x8xf32>)
// CHECK-NOT:     map
// CHECK:         %[[V:.*]] = nd.reshape %[[D]] : tensor<8x8x16xbf16> -> tensor<64x16xbf16>
// CHECK-NOT:     map
// CHECK:         kernel.fused @declared_and_cast_1 matmul ({{.*}} = %y : tensor<64x16xbf16>, {{.*}} = %[[V]] : tensor<64x16xbf16>)
// CHECK-NOT:     map
// CHECK:         kernel.fused @declared_and_cast_2 matmul ({{.*}} = %z : tensor<64x16xbf16>, {{.*}} = %[[V]] : tensor<64x16xbf16>)
func.func @declared_and_cast(%x: tensor<8x8x16xf32>, %y: tensor<64x16xbf16>, %z: tensor<64x16xbf16>) -> (tensor<8x8xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<8x16xf32>) {
  %0 = nd.exp %x {nd.declared = bf16} : tensor<8x8x16xf32>
  %1 = nd.sum %0 {axes = [2]} : tensor<8x8x16xf32> -> tensor<8x8xf32>
  %2 = nd.reshape %0 : tensor<8x8x16xf32> -> tensor<64x16xf32>
  %3 = nd.cast %2 : tensor<64x16xf32> -> tensor<64x16xbf16>
  %4 = nd.matmul %y, %3 {lhs_batch = [], rhs_batch = [], lhs_contract = [0], rhs_contract = [0]} : (tensor<64x16xbf16>, tensor<64x16xbf16>) -> tensor<16x16xf32>
  %5 = nd.matmul %z, %3 {lhs_batch = [], rhs_batch = [], lhs_contract = [0], rhs_contract = [0]} : (tensor<64x16xbf16>, tensor<64x16xbf16>) -> tensor<16x16xf32>
  %6 = nd.sum %0 {axes = [0]} : tensor<8x8x16xf32> -> tensor<8x16xf32>
  func.return %1, %4, %5, %6 : tensor<8x8xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<8x16xf32>
}

// What one other kernel reads beside the array that it is computed from is computed there; what it reads alone, or what
// others read, too, is stored.
// CHECK-LABEL: func.func @handed_over
// CHECK:         kernel.fused @handed_over_0 matmul ({{.*}}) -> (tensor<64x2048xf32>, tensor<64x2048xf32>) {
// CHECK:           %[[C:.*]] = nd.matmul
// CHECK:           %[[A:.*]] = nd.abs %[[C]]
// CHECK:           kernel.yield %[[C]], %[[A]]
// CHECK:         kernel.fused @handed_over_1 reduce (%[[X:.*]] = %{{.*}} : tensor<64x2048xf32>)
// CHECK:           nd.sum %[[X]]
// CHECK:           nd.mul %[[X]], %{{.*}}
// CHECK:           nd.sub
func.func @handed_over(%x: tensor<64x16xf32>, %w: tensor<16x2048xf32>) -> (tensor<64x2048xf32>, tensor<64x2048xf32>) {
  %0 = nd.matmul %x, %w {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<64x16xf32>, tensor<16x2048xf32>) -> tensor<64x2048xf32>
  %1 = nd.constant 64.0 : tensor<64x2048xf32>
  %2 = nd.mul %0, %1 : tensor<64x2048xf32>
  %3 = nd.sum %0 {axes = [1]} : tensor<64x2048xf32> -> tensor<64xf32>
  %4 = nd.broadcast %3 {dims = [0]} : tensor<64xf32> -> tensor<64x2048xf32>
  %5 = nd.sub %2, %4 : tensor<64x2048xf32>
  %6 = nd.abs %0 : tensor<64x2048xf32>
  func.return %5, %6 : tensor<64x2048xf32>, tensor<64x2048xf32>
}

// What kernels cannot hold stays between them.
// CHECK-LABEL: func.func @sort
// CHECK:         kernel.fused @sort_0 map
// CHECK:         nd.sort
// CHECK:         kernel.fused @sort_1 map
func.func @sort(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %0 = nd.exp %x : tensor<64x48xf32>
  %1 = nd.sort %0 {axis = 1} : tensor<64x48xf32>
  %2 = nd.neg %1 : tensor<64x48xf32>
  func.return %2 : tensor<64x48xf32>
}

// A function without ops is left alone.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    func.return %x
func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// What is summed along the other axis is computed again from the row's few results: the normalized array is not stored.
// CHECK-LABEL: func.func @across
// CHECK-NEXT:    {{.*}} = kernel.fused @across_0 reduce {{.*}} -> (tensor<512xf32>, tensor<512x64xf32>)
// CHECK:         kernel.fused @across_1 reduce
// CHECK-NEXT:      // prologue
// CHECK:           nd.broadcast
// CHECK-NEXT:      nd.mul
// CHECK:           // core
// CHECK-NEXT:      nd.sum {{.*}} {axes = [0]}
// CHECK:         func.return
func.func @across(%x: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>) {
  %s = nd.sum %x {axes = [1]} : tensor<512x64xf32> -> tensor<512xf32>
  %q = nd.rsqrt %s : tensor<512xf32>
  %b = nd.broadcast %q {dims = [0]} : tensor<512xf32> -> tensor<512x64xf32>
  %y = nd.mul %x, %b : tensor<512x64xf32>
  %c = nd.sum %y {axes = [0]} : tensor<512x64xf32> -> tensor<64xf32>
  %r = nd.exp %y : tensor<512x64xf32>
  func.return %r, %c : tensor<512x64xf32>, tensor<64xf32>
}

// What takes many instructions, or comes from more bytes than it has, is stored.
// CHECK-LABEL: func.func @costly
// CHECK-NEXT:    {{.*}} = kernel.fused @costly_0 reduce {{.*}} -> (tensor<512x64xf32>, tensor<512x64xf32>)
// CHECK:         func.return
func.func @costly(%x: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>) {
  %s = nd.sum %x {axes = [1]} : tensor<512x64xf32> -> tensor<512xf32>
  %b = nd.broadcast %s {dims = [0]} : tensor<512xf32> -> tensor<512x64xf32>
  %y = nd.sub %x, %b : tensor<512x64xf32>
  %e = nd.exp %y : tensor<512x64xf32>
  %f = nd.sin %e : tensor<512x64xf32>
  %g = nd.tanh %f : tensor<512x64xf32>
  %c = nd.sum %g {axes = [0]} : tensor<512x64xf32> -> tensor<64xf32>
  %r = nd.mul %g, %g : tensor<512x64xf32>
  func.return %r, %c : tensor<512x64xf32>, tensor<64xf32>
}

// CHECK-LABEL: func.func @many
// CHECK-NEXT:    {{.*}} = kernel.fused @many_0 reduce {{.*}} -> (tensor<512x64xf32>, tensor<512x64xf32>)
// CHECK:         func.return
func.func @many(%x: tensor<512x64xf32>, %p: tensor<512x64xf32>, %q: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>) {
  %s = nd.sum %x {axes = [1]} : tensor<512x64xf32> -> tensor<512xf32>
  %b = nd.broadcast %s {dims = [0]} : tensor<512xf32> -> tensor<512x64xf32>
  %y = nd.mul %x, %b : tensor<512x64xf32>
  %z = nd.mul %y, %p : tensor<512x64xf32>
  %g = nd.mul %z, %q : tensor<512x64xf32>
  %c = nd.sum %g {axes = [0]} : tensor<512x64xf32> -> tensor<64xf32>
  %r = nd.exp %g : tensor<512x64xf32>
  func.return %r, %c : tensor<512x64xf32>, tensor<64xf32>
}

// Reductions that compute something else each of one array read it together: the sums of a cosine.
// CHECK-LABEL: func.func @cosine
// CHECK:         kernel.fused @cosine_0 reduce
// CHECK-COUNT-3: nd.sum
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @cosine(%x: tensor<64x512xf32>, %y: tensor<64x512xf32>) -> tensor<64xf32> {
  %xx = nd.mul %x, %x : tensor<64x512xf32>
  %yy = nd.mul %y, %y : tensor<64x512xf32>
  %xy = nd.mul %x, %y : tensor<64x512xf32>
  %a = nd.sum %xx {axes = [1]} : tensor<64x512xf32> -> tensor<64xf32>
  %b = nd.sum %yy {axes = [1]} : tensor<64x512xf32> -> tensor<64xf32>
  %c = nd.sum %xy {axes = [1]} : tensor<64x512xf32> -> tensor<64xf32>
  %ab = nd.mul %a, %b : tensor<64xf32>
  %r = nd.rsqrt %ab : tensor<64xf32>
  %s = nd.mul %c, %r : tensor<64xf32>
  func.return %s : tensor<64xf32>
}

// Two that read nothing together are two kernels.
// CHECK-LABEL: func.func @apart
// CHECK:         kernel.fused @apart_0 reduce
// CHECK:         kernel.fused @apart_1 reduce
func.func @apart(%x: tensor<64x512xf32>, %y: tensor<64x512xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %xx = nd.mul %x, %x : tensor<64x512xf32>
  %yy = nd.mul %y, %y : tensor<64x512xf32>
  %a = nd.sum %xx {axes = [1]} : tensor<64x512xf32> -> tensor<64xf32>
  %b = nd.sum %yy {axes = [1]} : tensor<64x512xf32> -> tensor<64xf32>
  func.return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// Two sums of one array are one kernel where ranks exchange them together, and two where one exchange would wait for the
// other's sum.
// CHECK-LABEL: func.func @exchanged_together
// CHECK:         kernel.fused @exchanged_together_0 reduce
// CHECK-NOT:     kernel.fused
// CHECK:         nd.all_reduce
func.func @exchanged_together(%x: tensor<64x128xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %s = nd.sum %x {axes = [1]} : tensor<64x128xf32> -> tensor<64xf32>
  %m = nd.max %x {axes = [1]} : tensor<64x128xf32> -> tensor<64xf32>
  %a, %b = nd.all_reduce %s, %m {monoid = "sum", over = "d"} : tensor<64xf32>
  func.return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// CHECK-LABEL: func.func @exchanged_apart
// CHECK:         kernel.fused @exchanged_apart_0 reduce
// CHECK:         nd.all_reduce
// CHECK:         kernel.fused @exchanged_apart_1 reduce
// CHECK:         nd.all_reduce
func.func @exchanged_apart(%x: tensor<64x128xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %s = nd.sum %x {axes = [1]} : tensor<64x128xf32> -> tensor<64xf32>
  %a = nd.all_reduce %s {monoid = "sum", over = "d"} : tensor<64xf32>
  %m = nd.max %x {axes = [1]} : tensor<64x128xf32> -> tensor<64xf32>
  %b = nd.all_reduce %m {monoid = "sum", over = "d"} : tensor<64xf32>
  func.return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// A product is stored as the bf16 that it was declared with, not as its product with weights, which the reduction makes
// again: half the bytes. What the epilogue has is not rounded.
// CHECK-LABEL: func.func @widened
// CHECK:         kernel.fused @widened_0 matmul
// CHECK:           %[[P:.*]] = nd.matmul
// CHECK:           nd.mul %[[P]]
// CHECK:           %[[N:.*]] = nd.cast %[[P]] : tensor<4096x2048xf32> -> tensor<4096x2048xbf16>
// CHECK-NEXT:      kernel.yield %[[N]], %{{.*}} : tensor<4096x2048xbf16>, tensor<4096x2048xf32>
// CHECK:         kernel.fused @widened_1 reduce (%[[X:.*]] = %{{.*}} : tensor<4096x2048xbf16>, %w
// CHECK:           nd.cast %[[X]]
// CHECK:           nd.mul
// CHECK:           nd.sum {{.*}} {axes = [1]}
func.func @widened(%x: tensor<4096x512xbf16>, %y: tensor<512x2048xbf16>, %w: tensor<2048xf32>) -> (tensor<4096x2048xf32>, tensor<4096x2048xf32>) {
  %0 = nd.matmul %x, %y {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<4096x512xbf16>, tensor<512x2048xbf16>) -> tensor<4096x2048xf32>
  %1 = nd.broadcast %w {dims = [1]} : tensor<2048xf32> -> tensor<4096x2048xf32>
  %2 = nd.mul %0, %1 : tensor<4096x2048xf32>
  %3 = nd.mul %2, %2 : tensor<4096x2048xf32>
  %4 = nd.sum %2 {axes = [1]} : tensor<4096x2048xf32> -> tensor<4096xf32>
  %5 = nd.broadcast %4 {dims = [0]} : tensor<4096xf32> -> tensor<4096x2048xf32>
  %6 = nd.sub %2, %5 : tensor<4096x2048xf32>
  func.return %3, %6 : tensor<4096x2048xf32>, tensor<4096x2048xf32>
}

// What was declared f32 is stored with its weights.
// CHECK-LABEL: func.func @declared_wide
// CHECK:         kernel.fused @declared_wide_0 matmul
// CHECK:           nd.matmul
// CHECK:           %[[Q:.*]] = nd.mul
// CHECK:           kernel.yield {{.*}}%[[Q]]
// CHECK:         kernel.fused @{{.*}} reduce ({{.*}} : tensor<4096x2048xf32>
func.func @declared_wide(%x: tensor<4096x512xbf16>, %y: tensor<512x2048xbf16>, %w: tensor<2048xf32>) -> tensor<4096x2048xf32> {
  %0 = nd.matmul %x, %y {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x512xbf16>, tensor<512x2048xbf16>) -> tensor<4096x2048xf32>
  %1 = nd.broadcast %w {dims = [1]} : tensor<2048xf32> -> tensor<4096x2048xf32>
  %2 = nd.mul %0, %1 : tensor<4096x2048xf32>
  %7 = nd.sum %2 {axes = [1]} : tensor<4096x2048xf32> -> tensor<4096xf32>
  %8 = nd.broadcast %7 {dims = [0]} : tensor<4096xf32> -> tensor<4096x2048xf32>
  %9 = nd.sub %2, %8 : tensor<4096x2048xf32>
  func.return %9 : tensor<4096x2048xf32>
}
