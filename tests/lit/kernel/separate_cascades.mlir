// RUN: irc-opt %s -p separate-cascades | filecheck %s

// The scores, and the weights, are computed for each cascade: those that sum over the keys, and over the queries. The
// maximum and the sum stay with the first, which walks over its rows.
// CHECK-LABEL: func.func @weights
// CHECK:         %[[S:.*]] = nd.matmul %q, %k
// CHECK-NEXT:    %[[S1:.*]] = nd.matmul %q, %k
// CHECK-NEXT:    nd.max %[[S]]
// CHECK:         %[[E:.*]] = nd.exp
// CHECK:         %[[P:.*]] = nd.cast %[[E]]
// CHECK-NEXT:    nd.matmul %[[P]], %v {lhs_contract = [1]
// CHECK:         %[[D:.*]] = nd.sub %[[S1]], %{{.*}}
// CHECK-NEXT:    %[[W:.*]] = nd.exp %[[D]]
// CHECK-NEXT:    %[[C:.*]] = nd.cast %[[W]]
// CHECK-NEXT:    nd.matmul %[[C]], %g {lhs_contract = [0]
func.func @weights(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %g: tensor<4096x64xbf16>) -> (tensor<4096x64xf32>, tensor<4096x64xf32>) {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %m = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %0 = nd.broadcast %m {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %1 = nd.sub %s, %0 : tensor<4096x4096xf32>
  %e = nd.exp %1 : tensor<4096x4096xf32>
  %sum = nd.sum %e {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %p = nd.cast %e : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %o = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  %log = nd.log %sum : tensor<4096xf32>
  %lse = nd.add %m, %log : tensor<4096xf32>
  %2 = nd.broadcast %lse {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %3 = nd.sub %s, %2 : tensor<4096x4096xf32>
  %w = nd.exp %3 : tensor<4096x4096xf32>
  %c = nd.cast %w : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %dv = nd.matmul %c, %g {lhs_contract = [0], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  func.return %o, %dv : tensor<4096x64xf32>, tensor<4096x64xf32>
}

// Products that sum over the same axes share what they are computed from. Two of 256 columns are more than a block holds.
// CHECK-LABEL: func.func @together
// CHECK-COUNT-2: nd.matmul %q, %k
// CHECK-NOT:     nd.matmul %q, %k
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-3: nd.matmul %q, %k
func.func @together(%q: tensor<16384x64xbf16>, %k: tensor<16384x64xbf16>, %g: tensor<16384x64xbf16>) -> (tensor<16384x64xf32>, tensor<16384x64xf32>, tensor<16384x64xf32>) {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<16384x64xbf16> -> tensor<16384x16384xf32>
  %p = nd.cast %s : tensor<16384x16384xf32> -> tensor<16384x16384xbf16>
  %n = nd.neg %p : tensor<16384x16384xbf16>
  %0 = nd.matmul %p, %g {lhs_contract = [0], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x64xbf16>) -> tensor<16384x64xf32>
  %1 = nd.matmul %n, %q {lhs_contract = [0], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x64xbf16>) -> tensor<16384x64xf32>
  %2 = nd.matmul %n, %k {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x64xbf16>) -> tensor<16384x64xf32>
  func.return %0, %1, %2 : tensor<16384x64xf32>, tensor<16384x64xf32>, tensor<16384x64xf32>
}
func.func @apart(%q: tensor<16384x256xbf16>, %k: tensor<16384x256xbf16>, %g: tensor<16384x256xbf16>) -> (tensor<16384x256xf32>, tensor<16384x256xf32>, tensor<16384x256xf32>) {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<16384x256xbf16> -> tensor<16384x16384xf32>
  %p = nd.cast %s : tensor<16384x16384xf32> -> tensor<16384x16384xbf16>
  %n = nd.neg %p : tensor<16384x16384xbf16>
  %0 = nd.matmul %p, %g {lhs_contract = [0], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x256xbf16>) -> tensor<16384x256xf32>
  %1 = nd.matmul %n, %q {lhs_contract = [0], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x256xbf16>) -> tensor<16384x256xf32>
  %2 = nd.matmul %n, %k {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x256xbf16>) -> tensor<16384x256xf32>
  func.return %0, %1, %2 : tensor<16384x256xf32>, tensor<16384x256xf32>, tensor<16384x256xf32>
}

// A product that needs the result of another is no part of its kernel.
// CHECK-LABEL: func.func @in_turn
// CHECK-COUNT-2: nd.matmul %q, %k
// CHECK-NOT:     nd.matmul %q, %k
// CHECK:         func.return
func.func @in_turn(%q: tensor<16384x64xbf16>, %k: tensor<16384x64xbf16>, %v: tensor<16384x64xbf16>) -> tensor<16384x64xf32> {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<16384x64xbf16> -> tensor<16384x16384xf32>
  %p = nd.cast %s : tensor<16384x16384xf32> -> tensor<16384x16384xbf16>
  %0 = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x64xbf16>) -> tensor<16384x64xf32>
  %1 = nd.cast %0 : tensor<16384x64xf32> -> tensor<16384x64xbf16>
  %2 = nd.matmul %p, %1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x64xbf16>) -> tensor<16384x64xf32>
  func.return %2 : tensor<16384x64xf32>
}

// The weights are a result: they are stored, and read again.
// CHECK-LABEL: func.func @stored
// CHECK-COUNT-1: nd.matmul %q, %k
// CHECK-NOT:     nd.matmul %q, %k
// CHECK:         func.return
func.func @stored(%q: tensor<16384x64xbf16>, %k: tensor<16384x64xbf16>, %v: tensor<16384x64xbf16>, %g: tensor<16384x64xbf16>) -> (tensor<16384x64xf32>, tensor<16384x64xf32>, tensor<16384x16384xbf16>) {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<16384x64xbf16> -> tensor<16384x16384xf32>
  %p = nd.cast %s : tensor<16384x16384xf32> -> tensor<16384x16384xbf16>
  %0 = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x64xbf16>) -> tensor<16384x64xf32>
  %1 = nd.matmul %p, %g {lhs_contract = [0], rhs_contract = [0]} : (tensor<16384x16384xbf16>, tensor<16384x64xbf16>) -> tensor<16384x64xf32>
  func.return %0, %1, %p : tensor<16384x64xf32>, tensor<16384x64xf32>, tensor<16384x16384xbf16>
}

// Few rows and columns: stored, the scores take less than computing them twice.
// CHECK-LABEL: func.func @small
// CHECK-COUNT-1: nd.matmul %q, %k
// CHECK-NOT:     nd.matmul %q, %k
// CHECK:         func.return
func.func @small(%q: tensor<128x64xbf16>, %k: tensor<2048x64xbf16>, %v: tensor<2048x64xbf16>, %g: tensor<128x64xbf16>) -> (tensor<128x64xf32>, tensor<2048x64xf32>) {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : (tensor<128x64xbf16>, tensor<2048x64xbf16>) -> tensor<128x2048xf32>
  %p = nd.cast %s : tensor<128x2048xf32> -> tensor<128x2048xbf16>
  %0 = nd.matmul %p, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<128x2048xbf16>, tensor<2048x64xbf16>) -> tensor<128x64xf32>
  %1 = nd.matmul %p, %g {lhs_contract = [0], rhs_contract = [0]} : (tensor<128x2048xbf16>, tensor<128x64xbf16>) -> tensor<2048x64xf32>
  func.return %0, %1 : tensor<128x64xf32>, tensor<2048x64xf32>
}
