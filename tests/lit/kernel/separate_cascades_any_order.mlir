// RUN: irc-opt %s -p 'separate-cascades{any-order=true}' | filecheck %s
// RUN: irc-opt %s -p separate-cascades | filecheck %s --check-prefix=FIXED

// Where sums may be added up in any order, what sums over the rows stays with those that sum over the columns: there are
// five products, in place of seven.
// CHECK-LABEL:     func.func @gradients
// CHECK-COUNT-2:   nd.matmul
// CHECK:           nd.matmul %c, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1], nd.any_order}
// CHECK-COUNT-2:   nd.matmul
// CHECK-NOT:       nd.matmul
// FIXED-LABEL:     func.func @gradients
// FIXED-COUNT-7:   nd.matmul
// FIXED-NOT:       nd.any_order
func.func @gradients(%q: tensor<64x4096x128xbf16>, %k: tensor<64x4096x128xbf16>, %v: tensor<64x4096x128xbf16>, %g: tensor<64x4096x128xbf16>) -> (tensor<64x4096x128xf32>, tensor<64x4096x128xf32>, tensor<64x4096x128xf32>) {
  %s = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x4096x128xbf16> -> tensor<64x4096x4096xf32>
  %p = nd.exp2 %s : tensor<64x4096x4096xf32>
  %t = nd.matmul %g, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x4096x128xbf16> -> tensor<64x4096x4096xf32>
  %d = nd.mul %p, %t : tensor<64x4096x4096xf32>
  %c = nd.cast %d : tensor<64x4096x4096xf32> -> tensor<64x4096x4096xbf16>
  %w = nd.cast %p : tensor<64x4096x4096xf32> -> tensor<64x4096x4096xbf16>
  %dq = nd.matmul %c, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1], nd.declared = bf16} : (tensor<64x4096x4096xbf16>, tensor<64x4096x128xbf16>) -> tensor<64x4096x128xf32>
  %dk = nd.matmul %c, %q {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<64x4096x4096xbf16>, tensor<64x4096x128xbf16>) -> tensor<64x4096x128xf32>
  %dv = nd.matmul %w, %g {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<64x4096x4096xbf16>, tensor<64x4096x128xbf16>) -> tensor<64x4096x128xf32>
  func.return %dq, %dk, %dv : tensor<64x4096x128xf32>, tensor<64x4096x128xf32>, tensor<64x4096x128xf32>
}

// Warp groups divide the columns of a step where 64 columns of sums are too few.
// CHECK-LABEL:     func.func @narrow
// CHECK-COUNT-2:   nd.matmul
// CHECK:           nd.matmul %c, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1], nd.any_order}
// CHECK-COUNT-2:   nd.matmul
// CHECK-NOT:       nd.matmul
func.func @narrow(%q: tensor<64x4096x64xbf16>, %k: tensor<64x4096x64xbf16>, %v: tensor<64x4096x64xbf16>, %g: tensor<64x4096x64xbf16>) -> (tensor<64x4096x64xf32>, tensor<64x4096x64xf32>, tensor<64x4096x64xf32>) {
  %s = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x4096x64xbf16> -> tensor<64x4096x4096xf32>
  %p = nd.exp2 %s : tensor<64x4096x4096xf32>
  %t = nd.matmul %g, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x4096x64xbf16> -> tensor<64x4096x4096xf32>
  %d = nd.mul %p, %t : tensor<64x4096x4096xf32>
  %c = nd.cast %d : tensor<64x4096x4096xf32> -> tensor<64x4096x4096xbf16>
  %w = nd.cast %p : tensor<64x4096x4096xf32> -> tensor<64x4096x4096xbf16>
  %dq = nd.matmul %c, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1], nd.declared = bf16} : (tensor<64x4096x4096xbf16>, tensor<64x4096x64xbf16>) -> tensor<64x4096x64xf32>
  %dk = nd.matmul %c, %q {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<64x4096x4096xbf16>, tensor<64x4096x64xbf16>) -> tensor<64x4096x64xf32>
  %dv = nd.matmul %w, %g {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<64x4096x4096xbf16>, tensor<64x4096x64xbf16>) -> tensor<64x4096x64xf32>
  func.return %dq, %dk, %dv : tensor<64x4096x64xf32>, tensor<64x4096x64xf32>, tensor<64x4096x64xf32>
}

// Not along a short walk, which does not pay for the sums.
// CHECK-LABEL:     func.func @short
// CHECK-NOT:       nd.any_order
func.func @short(%q: tensor<64x1024x64xbf16>, %k: tensor<64x1024x64xbf16>, %v: tensor<64x1024x64xbf16>, %g: tensor<64x1024x64xbf16>) -> (tensor<64x1024x64xf32>, tensor<64x1024x64xf32>, tensor<64x1024x64xf32>) {
  %s = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x1024x64xbf16> -> tensor<64x1024x1024xf32>
  %p = nd.exp2 %s : tensor<64x1024x1024xf32>
  %t = nd.matmul %g, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x1024x64xbf16> -> tensor<64x1024x1024xf32>
  %d = nd.mul %p, %t : tensor<64x1024x1024xf32>
  %c = nd.cast %d : tensor<64x1024x1024xf32> -> tensor<64x1024x1024xbf16>
  %w = nd.cast %p : tensor<64x1024x1024xf32> -> tensor<64x1024x1024xbf16>
  %dq = nd.matmul %c, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1], nd.declared = bf16} : (tensor<64x1024x1024xbf16>, tensor<64x1024x64xbf16>) -> tensor<64x1024x64xf32>
  %dk = nd.matmul %c, %q {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<64x1024x1024xbf16>, tensor<64x1024x64xbf16>) -> tensor<64x1024x64xf32>
  %dv = nd.matmul %w, %g {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<64x1024x1024xbf16>, tensor<64x1024x64xbf16>) -> tensor<64x1024x64xf32>
  func.return %dq, %dk, %dv : tensor<64x1024x64xf32>, tensor<64x1024x64xf32>, tensor<64x1024x64xf32>
}

// Nor behind a mask, whose branch spills registers beside steps of 128 columns.
// CHECK-LABEL:     func.func @masked
// CHECK-NOT:       nd.any_order
func.func @masked(%m: tensor<64x4096x4096xi1>, %z: tensor<64x4096x4096xf32>, %q: tensor<64x4096x64xbf16>, %k: tensor<64x4096x64xbf16>, %v: tensor<64x4096x64xbf16>, %g: tensor<64x4096x64xbf16>) -> (tensor<64x4096x64xf32>, tensor<64x4096x64xf32>, tensor<64x4096x64xf32>) {
  %s = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x4096x64xbf16> -> tensor<64x4096x4096xf32>
  %h = nd.where %m, %s, %z : (tensor<64x4096x4096xi1>, tensor<64x4096x4096xf32>, tensor<64x4096x4096xf32>) -> tensor<64x4096x4096xf32>
  %p = nd.exp2 %h : tensor<64x4096x4096xf32>
  %t = nd.matmul %g, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x4096x64xbf16> -> tensor<64x4096x4096xf32>
  %d = nd.mul %p, %t : tensor<64x4096x4096xf32>
  %c = nd.cast %d : tensor<64x4096x4096xf32> -> tensor<64x4096x4096xbf16>
  %w = nd.cast %p : tensor<64x4096x4096xf32> -> tensor<64x4096x4096xbf16>
  %dq = nd.matmul %c, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1], nd.declared = bf16} : (tensor<64x4096x4096xbf16>, tensor<64x4096x64xbf16>) -> tensor<64x4096x64xf32>
  %dk = nd.matmul %c, %q {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<64x4096x4096xbf16>, tensor<64x4096x64xbf16>) -> tensor<64x4096x64xf32>
  %dv = nd.matmul %w, %g {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<64x4096x4096xbf16>, tensor<64x4096x64xbf16>) -> tensor<64x4096x64xf32>
  func.return %dq, %dk, %dv : tensor<64x4096x64xf32>, tensor<64x4096x64xf32>, tensor<64x4096x64xf32>
}

// The scores of few rows are stored: no kernel walks over them, and sums keep their order.
// CHECK-LABEL:     func.func @few
// CHECK-NOT:       nd.any_order
func.func @few(%q: tensor<1x512x128xbf16>, %k: tensor<1x512x128xbf16>, %v: tensor<1x512x128xbf16>, %g: tensor<1x512x128xbf16>) -> (tensor<1x512x128xf32>, tensor<1x512x128xf32>, tensor<1x512x128xf32>) {
  %s = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<1x512x128xbf16> -> tensor<1x512x512xf32>
  %p = nd.exp2 %s : tensor<1x512x512xf32>
  %t = nd.matmul %g, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<1x512x128xbf16> -> tensor<1x512x512xf32>
  %d = nd.mul %p, %t : tensor<1x512x512xf32>
  %c = nd.cast %d : tensor<1x512x512xf32> -> tensor<1x512x512xbf16>
  %w = nd.cast %p : tensor<1x512x512xf32> -> tensor<1x512x512xbf16>
  %dq = nd.matmul %c, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1], nd.declared = bf16} : (tensor<1x512x512xbf16>, tensor<1x512x128xbf16>) -> tensor<1x512x128xf32>
  %dk = nd.matmul %c, %q {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<1x512x512xbf16>, tensor<1x512x128xbf16>) -> tensor<1x512x128xf32>
  %dv = nd.matmul %w, %g {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<1x512x512xbf16>, tensor<1x512x128xbf16>) -> tensor<1x512x128xf32>
  func.return %dq, %dk, %dv : tensor<1x512x128xf32>, tensor<1x512x128xf32>, tensor<1x512x128xf32>
}
