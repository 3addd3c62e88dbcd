// RUN: irc-opt %s -p row-products | filecheck %s

// Queries beside keys of fewer heads are several sums, as long as the keys' one.
// CHECK-LABEL: func.func @parts
// CHECK-SAME:    (%x: tensor<1x512xbf16>, %q: tensor<1024x512xbf16>
// CHECK:         nd.slice %q {starts = [0, 0], stops = [512, 512], steps = [1, 1]} : tensor<1024x512xbf16> -> tensor<512x512xbf16>
// CHECK-NEXT:    nd.slice %q {starts = [512, 0], stops = [1024, 512], steps = [1, 1]} : tensor<1024x512xbf16> -> tensor<512x512xbf16>
// CHECK:         %[[A:.*]] = nd.sum {{.*}} {axes = [1]} : tensor<512x512xf32> -> tensor<512xf32>
// CHECK:         %[[B:.*]] = nd.sum {{.*}} {axes = [1]} : tensor<512x512xf32> -> tensor<512xf32>
// CHECK:         nd.concat %[[A]], %[[B]] {axis = 0} : tensor<512xf32> -> tensor<1024xf32>
// CHECK:         nd.sum {{.*}} {axes = [1]} : tensor<512x512xf32> -> tensor<512xf32>
// CHECK-NOT:     nd.concat
// CHECK:         func.return
func.func @parts(%x: tensor<1x512xbf16>, %q: tensor<1024x512xbf16>, %k: tensor<512x512xbf16>) -> (tensor<1x1024xf32>, tensor<1x512xf32>) {
  %0 = nd.matmul %x, %q {lhs_contract = [1], rhs_contract = [1]} : (tensor<1x512xbf16>, tensor<1024x512xbf16>) -> tensor<1x1024xf32>
  %1 = nd.matmul %x, %k {lhs_contract = [1], rhs_contract = [1]} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xf32>
  func.return %0, %1 : tensor<1x1024xf32>, tensor<1x512xf32>
}

// Not where one has rows for few SMs, nor where they are no multiples.
// CHECK-LABEL: func.func @whole
// CHECK-COUNT-4: nd.sum
// CHECK-NOT:     nd.concat
func.func @whole(%x: tensor<1x2048xbf16>, %q: tensor<1024x2048xbf16>, %k: tensor<128x2048xbf16>, %y: tensor<1x2048xbf16>, %v: tensor<768x2048xbf16>)
    -> (tensor<1x1024xf32>, tensor<1x128xf32>, tensor<1x1024xf32>, tensor<1x768xf32>) {
  %0 = nd.matmul %x, %q {lhs_contract = [1], rhs_contract = [1]} : (tensor<1x2048xbf16>, tensor<1024x2048xbf16>) -> tensor<1x1024xf32>
  %1 = nd.matmul %x, %k {lhs_contract = [1], rhs_contract = [1]} : (tensor<1x2048xbf16>, tensor<128x2048xbf16>) -> tensor<1x128xf32>
  %2 = nd.matmul %y, %q {lhs_contract = [1], rhs_contract = [1]} : (tensor<1x2048xbf16>, tensor<1024x2048xbf16>) -> tensor<1x1024xf32>
  %3 = nd.matmul %y, %v {lhs_contract = [1], rhs_contract = [1]} : (tensor<1x2048xbf16>, tensor<768x2048xbf16>) -> tensor<1x768xf32>
  func.return %0, %1, %2, %3 : tensor<1x1024xf32>, tensor<1x128xf32>, tensor<1x1024xf32>, tensor<1x768xf32>
}
