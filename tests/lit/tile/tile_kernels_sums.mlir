// RUN: irc-opt %s -p tile-kernels --split-input-file | filecheck %s

// A product that sums over the rows: a step multiplies its columns by what the block holds, and adds that to the sums. It
// comes before the last product, which runs meanwhile.
// CHECK-LABEL: tile.program @gradients_0(
// CHECK-SAME:      %dq: !tile.view<256x64xf32>, %dk: !tile.view<256x64xf32>, %dv: !tile.view<256x64xf32>) {results = 3 : i64, sums = array<i64: 4>
// CHECK:         %[[K:.*]] = tile.load %k[%{{.*}}, %{{.*}}] : !tile.view<256x64xbf16> -> tensor<128x64xbf16>
// CHECK:         scf.for %[[STEP:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(
// CHECK:           %[[W:.*]] = tile.map %{{.*}}, %{{.*}} : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xbf16>
// CHECK:           %[[T:.*]] = tile.permute %[[W]] {dims = array<i64: 1, 0>} : tensor<128x128xbf16> -> tensor<128x128xbf16>
// CHECK-NEXT:      %[[PART:.*]] = tile.dot %[[T]], %[[K]], %{{.*}} -> tensor<128x64xf32>
// CHECK:           tile.dot %[[W]], %{{.*}} -> tensor<128x64xf32>
// CHECK-NEXT:      tile.store %[[PART]], %dq[%[[STEP]], %{{.*}}] {add} : tensor<128x64xf32>, !tile.view<256x64xf32>
// CHECK-NEXT:      scf.yield
// CHECK:         tile.store %{{.*}}, %dk[%{{.*}}, %{{.*}}] : tensor<128x64xf32>
func.func @gradients(%q: tensor<256x64xbf16>, %k: tensor<256x64xbf16>, %v: tensor<256x64xbf16>, %g: tensor<256x64xbf16>) -> (tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>) {
  %dq, %dk, %dv = kernel.fused @gradients_0 cascade config<tile = {m = 128, k = 128}, stages = 1, warps = 8, schedule = "grid", indexing = "tma", instruction = "wgmma"> (%q_1 = %q : tensor<256x64xbf16>, %k_1 = %k : tensor<256x64xbf16>, %v_1 = %v : tensor<256x64xbf16>, %g_1 = %g : tensor<256x64xbf16>) -> (tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>) {
    %s = nd.matmul %q_1, %k_1 {lhs_contract = [1], rhs_contract = [1]} : tensor<256x64xbf16> -> tensor<256x256xf32>
    %p = nd.exp2 %s : tensor<256x256xf32>
    %t = nd.matmul %g_1, %v_1 {lhs_contract = [1], rhs_contract = [1]} : tensor<256x64xbf16> -> tensor<256x256xf32>
    %d = nd.mul %p, %t : tensor<256x256xf32>
    %c = nd.cast %d : tensor<256x256xf32> -> tensor<256x256xbf16>
    %w = nd.cast %p : tensor<256x256xf32> -> tensor<256x256xbf16>
    %0 = nd.matmul %c, %k_1 {lhs_contract = [1], rhs_contract = [0], nd.any_order} : (tensor<256x256xbf16>, tensor<256x64xbf16>) -> tensor<256x64xf32>
    %1 = nd.matmul %c, %q_1 {lhs_contract = [0], rhs_contract = [0]} : (tensor<256x256xbf16>, tensor<256x64xbf16>) -> tensor<256x64xf32>
    %2 = nd.matmul %w, %g_1 {lhs_contract = [0], rhs_contract = [0]} : (tensor<256x256xbf16>, tensor<256x64xbf16>) -> tensor<256x64xf32>
    kernel.yield %0, %1, %2 : tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>
  }
  func.return %dq, %dk, %dv : tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>
}

// -----

// Two warp groups cannot share the 64 columns of a step as rows of an instruction, but those of the sums.
// CHECK-LABEL: tile.program @gradients_1(
// CHECK:         %[[K:.*]] = tile.load %k[%{{.*}}, %{{.*}}] : !tile.view<256x128xbf16> -> tensor<128x128xbf16>
// CHECK:           %[[T:.*]] = tile.permute %[[K]] {dims = array<i64: 1, 0>} : tensor<128x128xbf16> -> tensor<128x128xbf16>
// CHECK-NEXT:      %[[PART:.*]] = tile.dot %[[T]], %{{.*}} : tensor<128x128xbf16>, tensor<128x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
// CHECK-NEXT:      %[[TURNED:.*]] = tile.permute %[[PART]] {dims = array<i64: 1, 0>} : tensor<128x64xf32> -> tensor<64x128xf32>
// CHECK:           tile.store %[[TURNED]], %dq[%{{.*}}, %{{.*}}] {add} : tensor<64x128xf32>, !tile.view<256x128xf32>
func.func @gradients_wide(%q: tensor<256x128xbf16>, %k: tensor<256x128xbf16>, %v: tensor<256x128xbf16>, %g: tensor<256x128xbf16>) -> (tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>) {
  %dq, %dk, %dv = kernel.fused @gradients_1 cascade config<tile = {m = 128, k = 64}, stages = 1, warps = 8, schedule = "grid", indexing = "tma", instruction = "wgmma"> (%q_1 = %q : tensor<256x128xbf16>, %k_1 = %k : tensor<256x128xbf16>, %v_1 = %v : tensor<256x128xbf16>, %g_1 = %g : tensor<256x128xbf16>) -> (tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>) {
    %s = nd.matmul %q_1, %k_1 {lhs_contract = [1], rhs_contract = [1]} : tensor<256x128xbf16> -> tensor<256x256xf32>
    %p = nd.exp2 %s : tensor<256x256xf32>
    %t = nd.matmul %g_1, %v_1 {lhs_contract = [1], rhs_contract = [1]} : tensor<256x128xbf16> -> tensor<256x256xf32>
    %d = nd.mul %p, %t : tensor<256x256xf32>
    %c = nd.cast %d : tensor<256x256xf32> -> tensor<256x256xbf16>
    %w = nd.cast %p : tensor<256x256xf32> -> tensor<256x256xbf16>
    %0 = nd.matmul %c, %k_1 {lhs_contract = [1], rhs_contract = [0], nd.any_order} : (tensor<256x256xbf16>, tensor<256x128xbf16>) -> tensor<256x128xf32>
    %1 = nd.matmul %c, %q_1 {lhs_contract = [0], rhs_contract = [0]} : (tensor<256x256xbf16>, tensor<256x128xbf16>) -> tensor<256x128xf32>
    %2 = nd.matmul %w, %g_1 {lhs_contract = [0], rhs_contract = [0]} : (tensor<256x256xbf16>, tensor<256x128xbf16>) -> tensor<256x128xf32>
    kernel.yield %0, %1, %2 : tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>
  }
  func.return %dq, %dk, %dv : tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>
}
