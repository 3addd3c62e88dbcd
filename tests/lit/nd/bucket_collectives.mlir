// RUN: irc-opt %s -p 'bucket-collectives{bytes=64}' | filecheck %s

// Reductions that do not need each other go together, up to 64 bytes; other ranks, other monoids and what needs one of
// them stay apart. Updates, which no collective needs, come last.
// CHECK-LABEL: func.func @step
// CHECK-NEXT:    %[[A:.*]] = nd.exp %x
// CHECK-NEXT:    %[[B:.*]] = nd.exp %[[A]]
// CHECK-NEXT:    %[[R:.*]], %[[S:.*]] = nd.all_reduce %[[A]], %[[B]] {monoid = "sum", over = "d"} : tensor<8xf32>
// CHECK-NEXT:    %[[N:.*]] = nd.neg %[[R]]
// CHECK-NEXT:    %[[T:.*]] = nd.all_reduce %[[N]] {monoid = "sum", over = "d"}
// CHECK-NEXT:    %[[C:.*]] = nd.exp %[[B]]
// CHECK-NEXT:    %[[U:.*]] = nd.all_reduce %[[C]] {monoid = "sum", over = "d"}
// CHECK-NEXT:    %[[V:.*]] = nd.all_reduce %[[C]] {monoid = "max", over = "d"}
// CHECK-NEXT:    nd.sub %x, %[[R]]
// CHECK-NEXT:    nd.sub %x, %[[S]]
func.func @step(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = nd.exp %x : tensor<8xf32>
  %r = nd.all_reduce %a {monoid = "sum", over = "d"} : tensor<8xf32>
  %p = nd.sub %x, %r : tensor<8xf32>
  %n = nd.neg %r : tensor<8xf32>
  %t = nd.all_reduce %n {monoid = "sum", over = "d"} : tensor<8xf32>
  %b = nd.exp %a : tensor<8xf32>
  %s = nd.all_reduce %b {monoid = "sum", over = "d"} : tensor<8xf32>
  %q = nd.sub %x, %s : tensor<8xf32>
  %c = nd.exp %b : tensor<8xf32>
  %u = nd.all_reduce %c {monoid = "sum", over = "d"} : tensor<8xf32>
  %v = nd.all_reduce %c {monoid = "max", over = "d"} : tensor<8xf32>
  func.return %p, %q, %t, %u, %v : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// The gradient of the last weight is computed and exchanged before the pass back goes on, whatever the order of weights;
// its update comes first, beside the exchange of the other.
// CHECK-LABEL: func.func @gradients
// CHECK-NEXT:    %[[A:.*]] = nd.exp %x
// CHECK-NEXT:    %[[B:.*]] = nd.exp %[[A]]
// CHECK-NEXT:    %[[G1:.*]] = nd.neg %[[B]]
// CHECK-NEXT:    %[[W1:.*]] = nd.mul %[[A]], %[[G1]]
// CHECK-NEXT:    %[[R1:.*]] = nd.all_reduce %[[W1]]
// CHECK-NEXT:    %[[G0:.*]] = nd.neg %[[G1]]
// CHECK-NEXT:    %[[W0:.*]] = nd.mul %x, %[[G0]]
// CHECK-NEXT:    %[[R0:.*]] = nd.all_reduce %[[W0]]
// CHECK-NEXT:    nd.sub %x, %[[R1]]
// CHECK-NEXT:    nd.sub %x, %[[R0]]
func.func @gradients(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %a = nd.exp %x : tensor<16xf32>
  %b = nd.exp %a : tensor<16xf32>
  %g1 = nd.neg %b : tensor<16xf32>
  %g0 = nd.neg %g1 : tensor<16xf32>
  %w0 = nd.mul %x, %g0 : tensor<16xf32>
  %r0 = nd.all_reduce %w0 {monoid = "sum", over = "d"} : tensor<16xf32>
  %u0 = nd.sub %x, %r0 : tensor<16xf32>
  %w1 = nd.mul %a, %g1 : tensor<16xf32>
  %r1 = nd.all_reduce %w1 {monoid = "sum", over = "d"} : tensor<16xf32>
  %u1 = nd.sub %x, %r1 : tensor<16xf32>
  func.return %u0, %u1 : tensor<16xf32>, tensor<16xf32>
}

// A sum is exchanged in the type that it was declared with, and in the order of axes in which it is used: the gradients
// of a table that is read in two ways are added before they are one exchange. A cast that the user wrote stays behind.
// CHECK-LABEL: func.func @narrow
// CHECK:         %[[T:.*]] = nd.all_reduce %{{.*}} {monoid = "sum", over = "d"} : tensor<8x4xf32>
// CHECK-NEXT:    %[[A:.*]] = nd.cast %x {nd.deferred} : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK-NEXT:    %[[P:.*]] = nd.permute %[[A]] {permutation = [1, 0]} : tensor<4x8xbf16> -> tensor<8x4xbf16>
// CHECK-NEXT:    %[[B:.*]] = nd.cast %y {nd.deferred} : tensor<8x4xf32> -> tensor<8x4xbf16>
// CHECK-NEXT:    %[[S:.*]] = nd.add %[[P]], %[[B]] : tensor<8x4xbf16>
// CHECK-NEXT:    nd.all_reduce %[[S]] {monoid = "sum", over = "d"} : tensor<8x4xbf16>
// CHECK-NEXT:    nd.cast %[[T]] : tensor<8x4xf32> -> tensor<8x4xbf16>
func.func @narrow(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> (tensor<8x4xbf16>, tensor<8x4xbf16>) {
  %r = nd.all_reduce %x {monoid = "sum", over = "d"} : tensor<4x8xf32>
  %a = nd.cast %r {nd.deferred} : tensor<4x8xf32> -> tensor<4x8xbf16>
  %p = nd.permute %a {permutation = [1, 0]} : tensor<4x8xbf16> -> tensor<8x4xbf16>
  %s = nd.all_reduce %y {monoid = "sum", over = "d"} : tensor<8x4xf32>
  %b = nd.cast %s {nd.deferred} : tensor<8x4xf32> -> tensor<8x4xbf16>
  %g = nd.add %p, %b : tensor<8x4xbf16>
  %n = nd.neg %y : tensor<8x4xf32>
  %t = nd.all_reduce %n {monoid = "sum", over = "d"} : tensor<8x4xf32>
  %c = nd.cast %t : tensor<8x4xf32> -> tensor<8x4xbf16>
  func.return %g, %c : tensor<8x4xbf16>, tensor<8x4xbf16>
}

// What a scattered sum is used as beside a cast stays behind it.
// CHECK-LABEL: func.func @scattered
// CHECK-NEXT:    %[[C:.*]] = nd.cast %x {nd.deferred} : tensor<8x4xf32> -> tensor<8x4xbf16>
// CHECK-NEXT:    %[[R:.*]] = nd.reduce_scatter %[[C]] {monoid = "sum", over = "d"} : tensor<8x4xbf16> -> tensor<4x4xbf16>
// CHECK-NEXT:    nd.permute %[[R]]
func.func @scattered(%x: tensor<8x4xf32>) -> tensor<4x4xbf16> {
  %r = nd.reduce_scatter %x {monoid = "sum", over = "d"} : tensor<8x4xf32> -> tensor<4x4xf32>
  %c = nd.cast %r {nd.deferred} : tensor<4x4xf32> -> tensor<4x4xbf16>
  %p = nd.permute %c {permutation = [1, 0]} : tensor<4x4xbf16> -> tensor<4x4xbf16>
  func.return %p : tensor<4x4xbf16>
}
