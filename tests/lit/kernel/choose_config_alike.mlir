// RUN: irc-opt %s -p choose-config | filecheck %s

// Kernels that compute the same get the same config. What another kernel has just written arrives more slowly: a product
// of that has a config of its own. So has one of which something is set.
// CHECK: @a matmul config<tile = {m = 128, n = 192, k = 64}, stages = 4, {{.*}}schedule = "pingpong"
// CHECK: @b matmul config<tile = {m = 128, n = 192, k = 64}, stages = 4, {{.*}}schedule = "pingpong"
// CHECK: @c matmul config<tile = {m = 128, n = 256, k = 64}, stages = 4, {{.*}}schedule = "persistent"
// CHECK: @d matmul config<tile = {m = 128, n = 192, k = 64}, stages = 3, {{.*}}schedule = "pingpong"
func.func @f(%x: tensor<16384x3072xbf16>, %y: tensor<16384x3072xbf16>, %w: tensor<3072x768xbf16>) -> (tensor<16384x768xbf16>, tensor<16384x768xbf16>, tensor<16384x768xbf16>, tensor<16384x768xbf16>) {
  %a = kernel.fused @a matmul (%x_a = %x : tensor<16384x3072xbf16>, %w_a = %w : tensor<3072x768xbf16>) -> tensor<16384x768xbf16> {
    %p_a = nd.matmul %x_a, %w_a {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x3072xbf16>, tensor<3072x768xbf16>) -> tensor<16384x768xf32>
    %c_a = nd.cast %p_a : tensor<16384x768xf32> -> tensor<16384x768xbf16>
    kernel.yield %c_a : tensor<16384x768xbf16>
  }
  %relu = kernel.fused @relu map (%x_r = %x : tensor<16384x3072xbf16>) -> tensor<16384x3072xbf16> {
    %r = nd.relu %x_r : tensor<16384x3072xbf16>
    kernel.yield %r : tensor<16384x3072xbf16>
  }
  %b = kernel.fused @b matmul (%x_b = %y : tensor<16384x3072xbf16>, %w_b = %w : tensor<3072x768xbf16>) -> tensor<16384x768xbf16> {
    %p_b = nd.matmul %x_b, %w_b {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x3072xbf16>, tensor<3072x768xbf16>) -> tensor<16384x768xf32>
    %c_b = nd.cast %p_b : tensor<16384x768xf32> -> tensor<16384x768xbf16>
    kernel.yield %c_b : tensor<16384x768xbf16>
  }
   %c = kernel.fused @c matmul (%x_c = %relu : tensor<16384x3072xbf16>, %w_c = %w : tensor<3072x768xbf16>) -> tensor<16384x768xbf16> {
    %p_c = nd.matmul %x_c, %w_c {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x3072xbf16>, tensor<3072x768xbf16>) -> tensor<16384x768xf32>
    %c_c = nd.cast %p_c : tensor<16384x768xf32> -> tensor<16384x768xbf16>
    kernel.yield %c_c : tensor<16384x768xbf16>
  }
   %d = kernel.fused @d matmul config<stages = 3> (%x_d = %y : tensor<16384x3072xbf16>, %w_d = %w : tensor<3072x768xbf16>) -> tensor<16384x768xbf16> {
    %p_d = nd.matmul %x_d, %w_d {lhs_contract = [1], rhs_contract = [0]} : (tensor<16384x3072xbf16>, tensor<3072x768xbf16>) -> tensor<16384x768xf32>
    %c_d = nd.cast %p_d : tensor<16384x768xf32> -> tensor<16384x768xbf16>
    kernel.yield %c_d : tensor<16384x768xbf16>
  }
  func.return %a, %b, %c, %d : tensor<16384x768xbf16>, tensor<16384x768xbf16>, tensor<16384x768xbf16>, tensor<16384x768xbf16>
}
