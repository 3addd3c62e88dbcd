// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// Products of the same rows in the same groups, with what follows element by element, are one kernel. Ends that are
// computed are an array, although other kernels would repeat what computes them; products in other groups are other
// kernels, and reductions are kernels of their own.
// CHECK:       kernel.fused @f_0 matmul (%x_1 = %x : {{.*}}, %w_1 = %w : {{.*}}, %e_1 = %e : tensor<4xi32>, %v_1 = %v : {{.*}}, %b_1 = %b : tensor<32xf32>)
// CHECK-NEXT:    // core
// CHECK-NEXT:    %p = nd.grouped_matmul %x_1, %w_1, %e_1
// CHECK-NEXT:    %q = nd.grouped_matmul %x_1, %v_1, %e_1
// CHECK-NEXT:    // epilogue
// CHECK-NEXT:    nd.broadcast %b_1
// CHECK-NEXT:    nd.add
// CHECK-NEXT:    nd.mul
// CHECK-NEXT:    kernel.yield
// CHECK:       %wide = kernel.fused @f_1 map
// CHECK:       kernel.fused @f_2 matmul ({{.*}}%wide_1 = %wide : tensor<4xi32>)
// CHECK-NEXT:    // core
// CHECK-NEXT:    nd.grouped_matmul
// CHECK-NEXT:    kernel.yield
// CHECK:       kernel.fused @f_3 reduce
func.func @f(%x: tensor<256x64xbf16>, %w: tensor<4x64x32xbf16>, %v: tensor<4x64x32xbf16>, %e: tensor<4xi32>, %n: tensor<4xi8>, %b: tensor<32xf32>) -> (tensor<256x32xf32>, tensor<256x32xf32>, tensor<256xf32>) {
  %p = nd.grouped_matmul %x, %w, %e {rhs_contract = 1} : (tensor<256x64xbf16>, tensor<4x64x32xbf16>, tensor<4xi32>) -> tensor<256x32xf32>
  %q = nd.grouped_matmul %x, %v, %e {rhs_contract = 1} : (tensor<256x64xbf16>, tensor<4x64x32xbf16>, tensor<4xi32>) -> tensor<256x32xf32>
  %c = nd.broadcast %b {dims = [1]} : tensor<32xf32> -> tensor<256x32xf32>
  %r = nd.add %p, %c : tensor<256x32xf32>
  %s = nd.mul %r, %q : tensor<256x32xf32>
  %wide = nd.cast %n : tensor<4xi8> -> tensor<4xi32>
  %t = nd.grouped_matmul %x, %w, %wide {rhs_contract = 1} : (tensor<256x64xbf16>, tensor<4x64x32xbf16>, tensor<4xi32>) -> tensor<256x32xf32>
  %u = nd.sum %t {axes = [1]} : tensor<256x32xf32> -> tensor<256xf32>
  func.return %s, %t, %u : tensor<256x32xf32>, tensor<256x32xf32>, tensor<256xf32>
}
