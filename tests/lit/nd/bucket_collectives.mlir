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

// The gradient of the last weight is computed and exchanged before the pass back goes on, whatever the order of weights.
// CHECK-LABEL: func.func @gradients
// CHECK-NEXT:    %[[A:.*]] = nd.exp %x
// CHECK-NEXT:    %[[B:.*]] = nd.exp %[[A]]
// CHECK-NEXT:    %[[G1:.*]] = nd.neg %[[B]]
// CHECK-NEXT:    %[[W1:.*]] = nd.mul %[[A]], %[[G1]]
// CHECK-NEXT:    %[[R1:.*]] = nd.all_reduce %[[W1]]
// CHECK-NEXT:    %[[G0:.*]] = nd.neg %[[G1]]
// CHECK-NEXT:    %[[W0:.*]] = nd.mul %x, %[[G0]]
// CHECK-NEXT:    %[[R0:.*]] = nd.all_reduce %[[W0]]
// CHECK-NEXT:    nd.sub %x, %[[R0]]
// CHECK-NEXT:    nd.sub %x, %[[R1]]
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
