// RUN: irc-opt %s -p tile-kernels --arch cpu | filecheck %s

// What cannot be tiled stays as it is on a CPU, where the interpreter runs it; equals of it, too. Others are tiled.
// CHECK:      kernel.fused matmul
// CHECK:      } attributes {irc.interpreted = "no tiles: a reduction crosses the tiles of a kernel"}
// CHECK:      kernel.fused matmul
// CHECK:      } attributes {irc.interpreted = "no tiles: a reduction crosses the tiles of a kernel"}
// CHECK:      kernel.launch @kernel_{{[0-9]}}(
// CHECK:      func.return
// CHECK:      tile.program
// CHECK-NOT:  tile.program
func.func @f(%x: tensor<256x192xf32>, %w: tensor<192x512xf32>) -> (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) {
  %t = kernel.fused matmul config<tile = {m = 64, n = 64, k = 16}> (%a = %x : tensor<256x192xf32>, %b = %w : tensor<192x512xf32>) -> tensor<256xf32> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x192xf32>, tensor<192x512xf32>) -> tensor<256x512xf32>
    %s = nd.sum %p {axes = [1]} : tensor<256x512xf32> -> tensor<256xf32>
    kernel.yield %s : tensor<256xf32>
  }
  %u = kernel.fused matmul config<tile = {m = 64, n = 64, k = 16}> (%a = %x : tensor<256x192xf32>, %b = %w : tensor<192x512xf32>) -> tensor<256xf32> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x192xf32>, tensor<192x512xf32>) -> tensor<256x512xf32>
    %s = nd.sum %p {axes = [1]} : tensor<256x512xf32> -> tensor<256xf32>
    kernel.yield %s : tensor<256xf32>
  }
  %v = kernel.fused map (%a = %t : tensor<256xf32>) -> tensor<256xf32> {
    %e = nd.exp %a : tensor<256xf32>
    kernel.yield %e : tensor<256xf32>
  }
  func.return %t, %u, %v : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}
