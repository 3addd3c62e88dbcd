// RUN: irc-opt %s -p 'row-products{min-elements=4096}' | filecheck %s
// RUN: irc-opt %s -p row-products | filecheck %s --check-prefix=LARGE
// RUN: irc-opt %s --arch cpu -p 'row-products{min-elements=4096}' | filecheck %s --check-prefix=CPU

// LARGE-NOT: nd.sum
// CPU-NOT: nd.sum

// CHECK-LABEL: func.func @row
// CHECK-NEXT:    %[[W:.*]] = nd.cast %w : tensor<16x512xbf16> -> tensor<16x512xf32>
// CHECK-NEXT:    %[[X:.*]] = nd.cast %x : tensor<1x512xbf16> -> tensor<1x512xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.reshape %[[X]] : tensor<1x512xf32> -> tensor<512xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[R]] {dims = [1]} : tensor<512xf32> -> tensor<16x512xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.mul %[[W]], %[[B]] : tensor<16x512xf32>
// CHECK-NEXT:    %[[S:.*]] = nd.sum %[[M]] {axes = [1]} : tensor<16x512xf32> -> tensor<16xf32>
// CHECK-NEXT:    nd.reshape %[[S]] {nd.declared = bf16} : tensor<16xf32> -> tensor<1x16xf32>
func.func @row(%x: tensor<1x512xbf16>, %w: tensor<16x512xbf16>) -> tensor<1x16xf32> {
  %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : (tensor<1x512xbf16>, tensor<16x512xbf16>) -> tensor<1x16xf32>
  func.return %0 : tensor<1x16xf32>
}

// A column on the right is a row of its own.
// CHECK-LABEL: func.func @column
// CHECK:         nd.sum {{.*}} {axes = [1]} : tensor<16x512xf32> -> tensor<16xf32>
// CHECK-NOT:     nd.matmul
func.func @column(%w: tensor<16x512xf16>, %x: tensor<512x1xf16>) -> tensor<16x1xf32> {
  %0 = nd.matmul %w, %x {lhs_contract = [1], rhs_contract = [0]} : (tensor<16x512xf16>, tensor<512x1xf16>) -> tensor<16x1xf32>
  func.return %0 : tensor<16x1xf32>
}

// CHECK-LABEL: func.func @others
// CHECK-NOT:     nd.sum
func.func @others(%x: tensor<1x512xbf16>, %two: tensor<2x512xbf16>, %w: tensor<16x512xbf16>, %t: tensor<512x16xbf16>,
                  %f: tensor<1x512xf32>, %g: tensor<16x512xf32>, %a: tensor<2x1x512xbf16>, %b: tensor<2x16x512xbf16>)
    -> (tensor<2x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<2x1x16xf32>) {
  // CHECK: nd.matmul %two, %w
  %0 = nd.matmul %two, %w {lhs_contract = [1], rhs_contract = [1]} : (tensor<2x512xbf16>, tensor<16x512xbf16>) -> tensor<2x16xf32>
  // CHECK: nd.matmul %x, %t
  %1 = nd.matmul %x, %t {lhs_contract = [1], rhs_contract = [0]} : (tensor<1x512xbf16>, tensor<512x16xbf16>) -> tensor<1x16xf32>
  // CHECK: nd.matmul %f, %g
  %2 = nd.matmul %f, %g {lhs_contract = [1], rhs_contract = [1]} : (tensor<1x512xf32>, tensor<16x512xf32>) -> tensor<1x16xf32>
  // CHECK: nd.matmul %a, %b
  %3 = nd.matmul %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<2x1x512xbf16>, tensor<2x16x512xbf16>) -> tensor<2x1x16xf32>
  func.return %0, %1, %2, %3 : tensor<2x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<2x1x16xf32>
}
