// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// The launch of a hand-written kernel stays behind what it reads and before what reads it; what is computed around it
// is no kernel of its own where that would make a cycle.
// CHECK-LABEL: func.func @f
// CHECK:         %0 = kernel.fused @f_0
// CHECK-NEXT:      nd.tanh
// CHECK:         %1 = kernel.launch @body(%0)
// CHECK-NEXT:    %2 = kernel.fused @f_1 map (%3 = %1 : tensor<8xf32>, %4 = %0 : tensor<8xf32>)
// CHECK:           nd.add
// CHECK:         %3 = kernel.launch @body(%2)
// CHECK-NEXT:    func.return %3, %0
func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = nd.tanh %x : tensor<8xf32>
  %1 = kernel.launch @body(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = nd.add %1, %0 : tensor<8xf32>
  %3 = kernel.launch @body(%2) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %3, %0 : tensor<8xf32>, tensor<8xf32>
}

tile.program @body(%a: !tile.view<8xf32>, %r: !tile.view<8xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [8] steps [8] {
    %0 = tile.load %a[%i] : !tile.view<8xf32> -> tensor<8xf32>
    tile.store %0, %r[%i] : tensor<8xf32>, !tile.view<8xf32>
  }
}
