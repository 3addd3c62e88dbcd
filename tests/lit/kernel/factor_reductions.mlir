// RUN: irc-opt %s -p factor-reductions --split-input-file | filecheck %s

// The factor of each row leaves the product, with the type that was declared; the weights are rounded without it.
// CHECK-LABEL: func.func @weighted
// CHECK:         %[[E:.*]] = nd.exp
// CHECK:         %[[R:.*]] = nd.reciprocal
// CHECK-NEXT:    %[[P:.*]] = nd.cast %[[E]] : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
// CHECK-NEXT:    %[[O:.*]] = nd.matmul %[[P]], %v {lhs_contract = [1], rhs_contract = [0]} :
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[R]] {dims = [0]} : tensor<4096xf32> -> tensor<4096x64xf32>
// CHECK-NEXT:    %[[Y:.*]] = nd.mul %[[O]], %[[B]] {nd.declared = bf16} : tensor<4096x64xf32>
// CHECK-NEXT:    nd.cast %[[Y]]
func.func @weighted(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> tensor<4096x64xbf16> {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %m = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %s, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 : tensor<4096x4096xf32>
  %l = nd.sum %e {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %r = nd.reciprocal %l : tensor<4096xf32>
  %2 = nd.broadcast %r {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %3 = nd.mul %e, %2 : tensor<4096x4096xf32>
  %p = nd.cast %3 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  %y = nd.cast %o : tensor<4096x64xf32> -> tensor<4096x64xbf16>
  func.return %y : tensor<4096x64xbf16>
}

// A quotient; rows of a batch whose extent is 1.
// CHECK-LABEL: func.func @quotient
// CHECK:         %[[O:.*]] = nd.matmul
// CHECK:         %[[O:.*]] = nd.matmul
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %{{.*}} {dims = [1]} : tensor<4096xf32> -> tensor<1x4096x64xf32>
// CHECK-NEXT:    nd.div %[[O]], %[[B]] : tensor<1x4096x64xf32>
func.func @quotient(%q: tensor<1x4096x64xf16>, %k: tensor<1x4096x64xf16>, %v: tensor<1x4096x64xf16>) -> tensor<1x4096x64xf32> {
  %s = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<1x4096x64xf16> -> tensor<1x4096x4096xf32>
  %m = nd.max %s {axes = [2]} : tensor<1x4096x4096xf32> -> tensor<1x4096xf32>
  %0 = nd.reshape %m : tensor<1x4096xf32> -> tensor<4096xf32>
  %1 = nd.broadcast %0 {dims = [1]} : tensor<4096xf32> -> tensor<1x4096x4096xf32>
  %2 = nd.sub %s, %1 : tensor<1x4096x4096xf32>
  %e = nd.exp %2 : tensor<1x4096x4096xf32>
  %l = nd.sum %e {axes = [2]} : tensor<1x4096x4096xf32> -> tensor<1x4096xf32>
  %3 = nd.reshape %l : tensor<1x4096xf32> -> tensor<4096xf32>
  %4 = nd.broadcast %3 {dims = [1]} : tensor<4096xf32> -> tensor<1x4096x4096xf32>
  %5 = nd.div %e, %4 : tensor<1x4096x4096xf32>
  %p = nd.cast %5 : tensor<1x4096x4096xf32> -> tensor<1x4096x4096xf16>
  %o = nd.matmul %p, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<1x4096x4096xf16>, tensor<1x4096x64xf16>) -> tensor<1x4096x64xf32>
  func.return %o : tensor<1x4096x64xf32>
}

// Without the maximum the exponentials may not fit the type that is multiplied.
// CHECK-LABEL: func.func @unbounded
// CHECK:         nd.mul {{.*}} : tensor<4096x4096xf32>
// CHECK-NEXT:    nd.cast
// CHECK-NEXT:    nd.matmul
// CHECK-NEXT:    func.return
func.func @unbounded(%q: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> tensor<4096x64xf32> {
  %s = nd.matmul %q, %v {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %e = nd.exp %s : tensor<4096x4096xf32>
  %l = nd.sum %e {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %r = nd.reciprocal %l : tensor<4096xf32>
  %2 = nd.broadcast %r {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %3 = nd.mul %e, %2 : tensor<4096x4096xf32>
  %p = nd.cast %3 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  func.return %o : tensor<4096x64xf32>
}

// A factor of columns is none of rows.
// CHECK-LABEL: func.func @columns
// CHECK:         nd.mul {{.*}} : tensor<4096x4096xf32>
// CHECK-NEXT:    nd.cast
// CHECK-NEXT:    nd.matmul
// CHECK-NEXT:    func.return
func.func @columns(%q: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %c: tensor<4096xf32>) -> tensor<4096x64xf32> {
  %s = nd.matmul %q, %v {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %m = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %s, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 : tensor<4096x4096xf32>
  %2 = nd.broadcast %c {dims = [1]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %3 = nd.mul %e, %2 : tensor<4096x4096xf32>
  %p = nd.cast %3 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  func.return %o : tensor<4096x64xf32>
}

// Weights that are dropped behind the factor stay dropped, and the sum is that of all.
// CHECK-LABEL: func.func @dropped
// CHECK:         %[[E:.*]] = nd.exp
// CHECK-NEXT:    %[[L:.*]] = nd.sum %[[E]]
// CHECK:         %[[K:.*]] = nd.where %kept, %[[E]], %{{.*}} :
// CHECK-NEXT:    %[[P:.*]] = nd.cast %[[K]] : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
// CHECK-NEXT:    %[[O:.*]] = nd.matmul %[[P]], %v
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[L]] {dims = [0]} : tensor<4096xf32> -> tensor<4096x64xf32>
// CHECK-NEXT:    nd.div %[[O]], %[[B]] : tensor<4096x64xf32>
func.func @dropped(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %kept: tensor<4096x4096xi1>) -> tensor<4096x64xf32> {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %m = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %s, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 : tensor<4096x4096xf32>
  %l = nd.sum %e {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %2 = nd.broadcast %l {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %3 = nd.div %e, %2 : tensor<4096x4096xf32>
  %none = nd.constant 0.0 : tensor<4096x4096xf32>
  %d = nd.where %kept, %3, %none : (tensor<4096x4096xi1>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %p = nd.cast %d : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  func.return %o : tensor<4096x64xf32>
}

// Another number in place of what is dropped would need the factor, too.
// CHECK-LABEL: func.func @replaced
// CHECK:         nd.div {{.*}} : tensor<4096x4096xf32>
// CHECK:         nd.where
// CHECK-NEXT:    nd.cast
// CHECK-NEXT:    nd.matmul
// CHECK-NEXT:    func.return
func.func @replaced(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %kept: tensor<4096x4096xi1>) -> tensor<4096x64xf32> {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %m = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %s, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 : tensor<4096x4096xf32>
  %l = nd.sum %e {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %2 = nd.broadcast %l {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %3 = nd.div %e, %2 : tensor<4096x4096xf32>
  %some = nd.constant 0.5 : tensor<4096x4096xf32>
  %d = nd.where %kept, %3, %some : (tensor<4096x4096xi1>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %p = nd.cast %d : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  func.return %o : tensor<4096x64xf32>
}

// -----

// CHECK-LABEL: func.func @weighted
// CHECK:         nd.mul {{.*}} : tensor<4096x4096xf32>
// CHECK-NEXT:    nd.cast
// CHECK-NEXT:    nd.matmul

builtin.module attributes {irc.strict_rounding} {
  func.func @weighted(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> tensor<4096x64xbf16> {
    %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
    %m = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
    %broadcast = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
    %sub = nd.sub %s, %broadcast : tensor<4096x4096xf32>
    %e = nd.exp %sub : tensor<4096x4096xf32>
    %l = nd.sum %e {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
    %r = nd.reciprocal %l : tensor<4096xf32>
    %broadcast_1 = nd.broadcast %r {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
    %mul = nd.mul %e, %broadcast_1 : tensor<4096x4096xf32>
    %p = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
    %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
    %y = nd.cast %o : tensor<4096x64xf32> -> tensor<4096x64xbf16>
    func.return %y : tensor<4096x64xbf16>
  }
}
