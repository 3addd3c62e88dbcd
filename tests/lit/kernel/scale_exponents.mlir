// RUN: irc-opt %s -p scale-exponents --split-input-file | filecheck %s

// 0.125 log2(e) for the elements, and for the maximum of what is not scaled yet. The mask is one of that.
// CHECK-LABEL: func.func @masked
// CHECK:         %[[S:.*]] = nd.matmul
// CHECK:         %[[X:.*]] = nd.where %seen, %[[S]], %{{.*}} :
// CHECK-NEXT:    %[[M:.*]] = nd.max %[[X]] {axes = [1]}
// CHECK-NEXT:    %[[C:.*]] = nd.constant 0.18033688 : tensor<4096x4096xf32>
// CHECK-NEXT:    %[[A:.*]] = nd.mul %[[X]], %[[C]] : tensor<4096x4096xf32>
// CHECK-NEXT:    %[[D:.*]] = nd.constant 0.18033688 : tensor<4096xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.mul %[[M]], %[[D]] : tensor<4096xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[R]] {dims = [0]}
// CHECK-NEXT:    %[[E:.*]] = nd.sub %[[A]], %[[B]]
// CHECK-NEXT:    nd.exp2 %[[E]] {nd.relaxed}
func.func @masked(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %seen: tensor<4096x4096xi1>) -> tensor<4096x64xf32> {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %c = nd.constant 0.125 : tensor<4096x4096xf32>
  %x = nd.mul %s, %c : tensor<4096x4096xf32>
  %inf = nd.constant -inf : tensor<4096x4096xf32>
  %w = nd.where %seen, %x, %inf : (tensor<4096x4096xi1>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %m = nd.max %w {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %w, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 {nd.relaxed} : tensor<4096x4096xf32>
  %p = nd.cast %e : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  func.return %o : tensor<4096x64xf32>
}

// Without a factor, log2(e) alone; the maximum that is returned stays what it was.
// CHECK-LABEL: func.func @plain
// CHECK:         %[[M:.*]] = nd.max
// CHECK-NEXT:    nd.constant 1.442695 : tensor<4096x4096xf32>
// CHECK:         nd.exp2
// CHECK:         func.return %{{.*}}, %[[M]]
func.func @plain(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> (tensor<4096x64xf32>, tensor<4096xf32>) {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %m = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %s, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 {nd.relaxed} : tensor<4096x4096xf32>
  %p = nd.cast %e : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  func.return %o, %m : tensor<4096x64xf32>, tensor<4096xf32>
}

// To the accuracy of f32, and of a softmax alone, which waits for memory: nothing changes.
// CHECK-LABEL: func.func @accurate
// CHECK-NOT:     nd.exp2
func.func @accurate(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> tensor<4096x64xf32> {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %m = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %s, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 : tensor<4096x4096xf32>
  %p = nd.cast %e : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  func.return %o : tensor<4096x64xf32>
}

// CHECK-LABEL: func.func @alone
// CHECK-NOT:     nd.exp2
func.func @alone(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %m = nd.max %x {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %x, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 {nd.relaxed} : tensor<4096x4096xf32>
  func.return %e : tensor<4096x4096xf32>
}

// What is subtracted for each row, or column, is multiplied once, for all exponentials that it is subtracted in.
// CHECK-LABEL: func.func @vector
// CHECK-NEXT:    nd.constant 1.442695 : tensor<16384xf32>
// CHECK-NEXT:    %[[V:.*]] = nd.mul %lse, %{{.*}} : tensor<16384xf32>
// CHECK:         %[[R:.*]] = nd.broadcast %[[V]] {dims = [0]}
// CHECK-NEXT:    nd.constant 0.18033688 : tensor<16384x16384xf32>
// CHECK-NEXT:    %[[A:.*]] = nd.mul
// CHECK-NEXT:    %[[E:.*]] = nd.sub %[[A]], %[[R]]
// CHECK-NEXT:    nd.exp2 %[[E]] {nd.relaxed}
// CHECK:         nd.broadcast %[[V]] {dims = [0]}
// CHECK:         nd.exp2
// CHECK-NOT:     nd.mul %lse
// CHECK:         func.return
func.func @vector(%q: tensor<16384x64xbf16>, %k: tensor<16384x64xbf16>, %g: tensor<16384x64xbf16>, %lse: tensor<16384xf32>) -> (tensor<16384x64xf32>, tensor<16384x64xf32>) {
  %c = nd.constant 0.125 : tensor<16384x16384xf32>
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<16384x64xbf16> -> tensor<16384x16384xf32>
  %0 = nd.mul %s, %c : tensor<16384x16384xf32>
  %1 = nd.broadcast %lse {dims = [0]} : tensor<16384xf32> -> tensor<16384x16384xf32>
  %2 = nd.sub %0, %1 : tensor<16384x16384xf32>
  %3 = nd.exp %2 {nd.relaxed} : tensor<16384x16384xf32>
  %4 = nd.cast %3 : tensor<16384x16384xf32> -> tensor<16384x16384xbf16>
  %5 = nd.matmul %4, %g {lhs_contract = [0], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x64xbf16>) -> tensor<16384x64xf32>
  %s2 = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<16384x64xbf16> -> tensor<16384x16384xf32>
  %6 = nd.broadcast %lse {dims = [0]} : tensor<16384xf32> -> tensor<16384x16384xf32>
  %7 = nd.sub %s2, %6 : tensor<16384x16384xf32>
  %8 = nd.exp %7 {nd.relaxed} : tensor<16384x16384xf32>
  %9 = nd.cast %8 : tensor<16384x16384xf32> -> tensor<16384x16384xbf16>
  %10 = nd.matmul %9, %k {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x64xbf16>) -> tensor<16384x64xf32>
  func.return %5, %10 : tensor<16384x64xf32>, tensor<16384x64xf32>
}

// An exponential that was declared narrow may be approximated, too.
// CHECK-LABEL: func.func @declared
// CHECK:         nd.exp2
func.func @declared(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> tensor<4096x64xf32> {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %m = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %s, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %p = nd.cast %e : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  func.return %o : tensor<4096x64xf32>
}

// -----

// CHECK-LABEL: func.func @masked
// CHECK-NOT:     nd.exp2

builtin.module attributes {irc.strict_rounding} {
  func.func @masked(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %seen: tensor<4096x4096xi1>) -> tensor<4096x64xf32> {
    %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
    %c = nd.constant 0.125 : tensor<4096x4096xf32>
    %x = nd.mul %s, %c : tensor<4096x4096xf32>
    %inf = nd.constant -inf : tensor<4096x4096xf32>
    %w = nd.where %seen, %x, %inf : (tensor<4096x4096xi1>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %m = nd.max %w {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
    %broadcast = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
    %sub = nd.sub %w, %broadcast : tensor<4096x4096xf32>
    %e = nd.exp %sub {nd.relaxed} : tensor<4096x4096xf32>
    %p = nd.cast %e : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
    %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
    func.return %o : tensor<4096x64xf32>
  }
}
