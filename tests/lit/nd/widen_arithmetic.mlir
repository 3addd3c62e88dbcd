// RUN: irc-opt %s -p widen-arithmetic | filecheck %s
// RUN: irc-opt %s -p 'widen-arithmetic{strict-rounding=true}' | filecheck %s --check-prefix=STRICT

// Arithmetic is f32 and rounds once, at the result. The literal keeps its bf16 value.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %[[X:.*]] = nd.cast %x : tensor<4xbf16> -> tensor<4xf32>
// CHECK-NEXT:    %[[C:.*]] = nd.constant 0.100097656 : tensor<4xf32>
// CHECK-NEXT:    %[[Y:.*]] = nd.mul %[[X]], %[[C]] {nd.declared = bf16} : tensor<4xf32>
// CHECK-NEXT:    %[[Z:.*]] = nd.exp %[[Y]] {nd.declared = bf16} : tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.cast %[[Z]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK-NEXT:    func.return %[[R]]
// STRICT-LABEL: func.func @chain
// STRICT:         %[[Y:.*]] = nd.mul {{.*}} : tensor<4xf32>
// STRICT-NEXT:    %[[N:.*]] = nd.cast %[[Y]] : tensor<4xf32> -> tensor<4xbf16>
// STRICT-NEXT:    %[[W:.*]] = nd.cast %[[N]] : tensor<4xbf16> -> tensor<4xf32>
// STRICT-NEXT:    %[[Z:.*]] = nd.exp %[[W]] : tensor<4xf32>
// STRICT-NEXT:    nd.cast %[[Z]] : tensor<4xf32> -> tensor<4xbf16>
func.func @chain(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %c = nd.constant 0.1 : tensor<4xbf16>
  %y = nd.mul %x, %c : tensor<4xbf16>
  %z = nd.exp %y : tensor<4xbf16>
  func.return %z : tensor<4xbf16>
}

// Operands of a product are rounded, its result is the accumulator; a cast to f32 by the user is that.
// CHECK-LABEL: func.func @product
// CHECK:         %[[Y:.*]] = nd.exp {{.*}} {nd.declared = bf16} : tensor<4x4xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.cast %[[Y]] : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK-NEXT:    %[[M:.*]] = nd.matmul %[[R]], %w {lhs_contract = [1], rhs_contract = [0]} : tensor<4x4xbf16> -> tensor<4x4xf32>
// CHECK-NEXT:    func.return %[[M]]
func.func @product(%x: tensor<4x4xbf16>, %w: tensor<4x4xbf16>) -> tensor<4x4xf32> {
  %y = nd.exp %x : tensor<4x4xbf16>
  %m = nd.matmul %y, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<4x4xbf16>
  %f = nd.cast %m : tensor<4x4xbf16> -> tensor<4x4xf32>
  func.return %f : tensor<4x4xf32>
}

// A cast to bf16 by the user rounds in the middle of a chain; one by a decomposition does not.
// CHECK-LABEL: func.func @casts
// CHECK-NEXT:    %[[A:.*]] = nd.exp %x {nd.declared = bf16}
// CHECK-NEXT:    %[[B:.*]] = nd.neg %[[A]] {nd.declared = bf16}
// CHECK-NEXT:    %[[C:.*]] = nd.exp %x
// CHECK-NEXT:    %[[D:.*]] = nd.cast %[[C]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK-NEXT:    nd.cast %[[D]] : tensor<4xbf16> -> tensor<4xf32>
func.func @casts(%x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xbf16>) {
  %a = nd.exp %x : tensor<4xf32>
  %b = nd.cast %a {nd.deferred} : tensor<4xf32> -> tensor<4xbf16>
  %c = nd.neg %b : tensor<4xbf16>
  %d = nd.exp %x : tensor<4xf32>
  %e = nd.cast %d : tensor<4xf32> -> tensor<4xbf16>
  %f = nd.neg %e : tensor<4xbf16>
  func.return %c, %f : tensor<4xbf16>, tensor<4xbf16>
}

// What moves an argument stays bf16; what moves a widened value is f32.
// CHECK-LABEL: func.func @moves
// CHECK-NEXT:    %[[P:.*]] = nd.permute %x {permutation = [1, 0]} : tensor<4x8xbf16> -> tensor<8x4xbf16>
// CHECK:         %[[Y:.*]] = nd.exp
// CHECK-NEXT:    nd.permute %[[Y]] {permutation = [1, 0], nd.declared = bf16} : tensor<4x8xf32> -> tensor<8x4xf32>
func.func @moves(%x: tensor<4x8xbf16>) -> (tensor<8x4xbf16>, tensor<8x4xbf16>) {
  %p = nd.permute %x {permutation = [1, 0]} : tensor<4x8xbf16> -> tensor<8x4xbf16>
  %y = nd.exp %x : tensor<4x8xbf16>
  %q = nd.permute %y {permutation = [1, 0]} : tensor<4x8xbf16> -> tensor<8x4xbf16>
  func.return %p, %q : tensor<8x4xbf16>, tensor<8x4xbf16>
}

// Sums get their operand in the accumulator's type, integers too.
// CHECK-LABEL: func.func @sums
// CHECK:         nd.sum {{.*}} {axes = [0], nd.declared = bf16} : tensor<4xf32> -> tensor<f32>
// CHECK:         nd.cast %i : tensor<4xi8> -> tensor<4xi32>
// CHECK-NEXT:    nd.sum {{.*}} {axes = [0]} : tensor<4xi32> -> tensor<i32>
func.func @sums(%x: tensor<4xbf16>, %i: tensor<4xi8>) -> (tensor<bf16>, tensor<i32>) {
  %a = nd.sum %x {axes = [0]} : tensor<4xbf16> -> tensor<bf16>
  %b = nd.sum %i {axes = [0]} : tensor<4xi8> -> tensor<i32>
  func.return %a, %b : tensor<bf16>, tensor<i32>
}

// f32, f64 and integers are left alone.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT:    nd.exp %x : tensor<4xf32>
// CHECK-NEXT:    nd.exp %y : tensor<4xf64>
// CHECK-NEXT:    nd.add %i, %i : tensor<4xi8>
// CHECK-NEXT:    func.return
func.func @left_alone(%x: tensor<4xf32>, %y: tensor<4xf64>, %i: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf64>, tensor<4xi8>) {
  %a = nd.exp %x : tensor<4xf32>
  %b = nd.exp %y : tensor<4xf64>
  %c = nd.add %i, %i : tensor<4xi8>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf64>, tensor<4xi8>
}

// A grouped product is as any: of rounded operands, and the unrounded accumulator.
// CHECK-LABEL: func.func @grouped
// CHECK-NEXT:    %[[Y:.*]] = nd.grouped_matmul %x, %w, %e {{.*}}nd.declared = bf16{{.*}} -> tensor<8x4xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.cast %[[Y]] : tensor<8x4xf32> -> tensor<8x4xbf16>
// CHECK-NEXT:    func.return %[[R]]
func.func @grouped(%x: tensor<8x16xbf16>, %w: tensor<2x16x4xbf16>, %e: tensor<2xi32>) -> tensor<8x4xbf16> {
  %y = nd.grouped_matmul %x, %w, %e {lhs_contract = 1, rhs_contract = 1} : (tensor<8x16xbf16>, tensor<2x16x4xbf16>, tensor<2xi32>) -> tensor<8x4xbf16>
  func.return %y : tensor<8x4xbf16>
}

// What a decomposition cast to f32 is declared narrow in another shape and order, too, so that it is kept as it was; what
// is computed of it is not, nor what the user cast.
// CHECK-LABEL: func.func @moved
// CHECK:         %[[A:.*]] = nd.exp %{{.*}} {nd.declared = bf16} : tensor<8x4xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.reshape %[[A]] {nd.declared = bf16} : tensor<8x4xf32> -> tensor<2x4x4xf32>
// CHECK-NEXT:    %[[C:.*]] = nd.permute %[[B]] {permutation = [1, 0, 2], nd.declared = bf16}
// CHECK-NEXT:    nd.mul %[[C]], %[[C]] : tensor<4x2x4xf32>
// CHECK-NEXT:    %[[D:.*]] = nd.neg %{{.*}} : tensor<8x4xf32>
// CHECK-NEXT:    nd.reshape %[[D]] : tensor<8x4xf32> -> tensor<2x4x4xf32>
func.func @moved(%x: tensor<8x4xbf16>) -> (tensor<4x2x4xf32>, tensor<2x4x4xf32>) {
  %a = nd.exp %x : tensor<8x4xbf16>
  %f = nd.cast %a {nd.deferred} : tensor<8x4xbf16> -> tensor<8x4xf32>
  %b = nd.reshape %f : tensor<8x4xf32> -> tensor<2x4x4xf32>
  %c = nd.permute %b {permutation = [1, 0, 2]} : tensor<2x4x4xf32> -> tensor<4x2x4xf32>
  %m = nd.mul %c, %c : tensor<4x2x4xf32>
  %n = nd.neg %x : tensor<8x4xbf16>
  %g = nd.cast %n : tensor<8x4xbf16> -> tensor<8x4xf32>
  %r = nd.reshape %g : tensor<8x4xf32> -> tensor<2x4x4xf32>
  func.return %m, %r : tensor<4x2x4xf32>, tensor<2x4x4xf32>
}

// Ranks exchange narrow values as such: what is computed of them before is rounded.
// CHECK-LABEL: func.func @exchanged
// CHECK:         %[[R:.*]] = nd.cast %{{.*}} : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         nd.all_reduce %[[R]] {monoid = "sum", over = "d"} : tensor<4xbf16>
// CHECK:         nd.all_gather %x {over = "d"} : tensor<4xbf16> -> tensor<8xbf16>
func.func @exchanged(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<8xbf16>) {
  %0 = nd.exp %x : tensor<4xbf16>
  %1 = nd.all_reduce %0 {monoid = "sum", over = "d"} : tensor<4xbf16>
  %2 = nd.all_gather %x {over = "d"} : tensor<4xbf16> -> tensor<8xbf16>
  func.return %1, %2 : tensor<4xbf16>, tensor<8xbf16>
}

// Sums that are to be f16 stay so: what follows takes them as they are.
// CHECK-LABEL: @short_sums
// CHECK:         [[SUM:%[a-z0-9_]+]] = nd.matmul %x, %x {{.*}}precision = "f16"} : tensor<8x8xf16>
// CHECK-NEXT:    [[WIDE:%[a-z0-9_]+]] = nd.cast [[SUM]] : tensor<8x8xf16> -> tensor<8x8xf32>
// CHECK-NEXT:    nd.exp [[WIDE]]
func.func @short_sums(%x: tensor<8x8xf16>) -> tensor<8x8xf16> {
  %s = nd.matmul %x, %x {lhs_contract = [1], rhs_contract = [0], precision = "f16"} : tensor<8x8xf16> -> tensor<8x8xf16>
  %e = nd.exp %s : tensor<8x8xf16>
  func.return %e : tensor<8x8xf16>
}
