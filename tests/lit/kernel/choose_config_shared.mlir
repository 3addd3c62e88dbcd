// RUN: irc-opt %s -p choose-config --split-input-file | filecheck %s

// Where others hold SMs, blocks of a product take tiles while it runs, in no cluster: also where consumers would take
// turns. What a user chose stays, and so do kernels without warp groups.
// CHECK:      builtin.module attributes {irc.shared_gpu
// CHECK:      @large matmul config<{{.*}}cluster = [1, 1], {{.*}}schedule = "dynamic", {{.*}}instruction = "wgmma">
// CHECK:      @turns matmul config<{{.*}}cluster = [1, 1], {{.*}}schedule = "dynamic", {{.*}}instruction = "wgmma">
// CHECK:      @given matmul config<{{.*}}schedule = "persistent"
// CHECK:      @paired matmul config<{{.*}}cluster = [2, 1], {{.*}}schedule = "p
// CHECK:      @by_mma matmul config<{{.*}}schedule = "grid", {{.*}}instruction = "mma"
builtin.module attributes {irc.shared_gpu} {
  func.func @f(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %y: tensor<4096x1024xbf16>, %v: tensor<1024x4096xbf16>) -> (tensor<4096x4096xbf16>, tensor<4096x4096xf32>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
    %a = kernel.fused @large matmul (%x1 = %x : tensor<4096x4096xbf16>, %w1 = %w : tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
      %p1 = nd.matmul %x1, %w1 {lhs_contract = [1], rhs_contract = [0]} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
      %q1 = nd.cast %p1 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
      kernel.yield %q1 : tensor<4096x4096xbf16>
    }
    %b = kernel.fused @turns matmul (%x2 = %y : tensor<4096x1024xbf16>, %w2 = %v : tensor<1024x4096xbf16>) -> tensor<4096x4096xf32> {
      %p2 = nd.matmul %x2, %w2 {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<4096x4096xf32>
      kernel.yield %p2 : tensor<4096x4096xf32>
    }
    %c = kernel.fused @given matmul config<schedule = "persistent"> (%x3 = %x : tensor<4096x4096xbf16>, %w3 = %w : tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
      %p3 = nd.matmul %x3, %w3 {lhs_contract = [1], rhs_contract = [0]} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
      %q3 = nd.cast %p3 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
      kernel.yield %q3 : tensor<4096x4096xbf16>
    }
    %d = kernel.fused @paired matmul config<cluster = [2, 1]> (%x4 = %x : tensor<4096x4096xbf16>, %w4 = %w : tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
      %p4 = nd.matmul %x4, %w4 {lhs_contract = [1], rhs_contract = [0]} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
      %q4 = nd.cast %p4 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
      kernel.yield %q4 : tensor<4096x4096xbf16>
    }
    %e = kernel.fused @by_mma matmul config<instruction = "mma"> (%x5 = %x : tensor<4096x4096xbf16>, %w5 = %w : tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
      %p5 = nd.matmul %x5, %w5 {lhs_contract = [1], rhs_contract = [0]} : tensor<4096x4096xbf16> -> tensor<4096x4096xf32>
      %q5 = nd.cast %p5 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
      kernel.yield %q5 : tensor<4096x4096xbf16>
    }
    func.return %a, %b, %c, %d, %e : tensor<4096x4096xbf16>, tensor<4096x4096xf32>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  }
}

// -----

// In a module that has the GPU to itself nothing of this holds.
// CHECK:      @alone matmul config<{{.*}}schedule = "pingpong"
func.func @g(%y: tensor<4096x1024xbf16>, %v: tensor<1024x4096xbf16>) -> tensor<4096x4096xf32> {
  %b = kernel.fused @alone matmul (%x2 = %y : tensor<4096x1024xbf16>, %w2 = %v : tensor<1024x4096xbf16>) -> tensor<4096x4096xf32> {
    %p2 = nd.matmul %x2, %w2 {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<4096x4096xf32>
    kernel.yield %p2 : tensor<4096x4096xf32>
  }
  func.return %b : tensor<4096x4096xf32>
}
