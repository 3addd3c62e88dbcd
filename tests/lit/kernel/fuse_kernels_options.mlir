// RUN: irc-opt %s -p fuse-kernels | filecheck %s --check-prefix=REPEAT
// RUN: irc-opt %s -p 'fuse-kernels{max-recomputations=0}' | filecheck %s --check-prefix=STORE
// RUN: irc-opt %s -p 'fuse-kernels{explain=true}' 2>&1 | filecheck %s --check-prefix=EXPLAIN

// A cheap op of an argument is repeated in both kernels that read it, or stored once.
// REPEAT:         kernel.fused @f_0 reduce (%x_1 = %x : tensor<64x48xf32>) -> tensor<64xf32> {
// REPEAT-NEXT:      // prologue
// REPEAT-NEXT:      nd.relu
// REPEAT:         kernel.fused @f_1 reduce (%x_1 = %x : tensor<64x48xf32>) -> tensor<48xf32> {
// REPEAT-NEXT:      // prologue
// REPEAT-NEXT:      nd.relu

// STORE:          kernel.fused @f_0 reduce (%x_1 = %x : tensor<64x48xf32>) -> (tensor<64x48xf32>, tensor<64xf32>) {
// STORE:            nd.relu
// STORE:          kernel.fused @f_1 reduce
// STORE-NOT:        nd.relu
// STORE:          func.return

// EXPLAIN:      f_0: 2 ops, 1 operands, 1 results
// EXPLAIN-NEXT:   Core:
// EXPLAIN-NEXT:     v1: tensor<64xf32> = sum(v0)
// EXPLAIN-NEXT:   Mainloop:
// EXPLAIN-NEXT:     v0: tensor<64x48xf32> = relu(x)
// EXPLAIN-NEXT:   Stores: v1: tensor<64xf32>
func.func @f(%x: tensor<64x48xf32>) -> (tensor<64xf32>, tensor<48xf32>) {
  %0 = nd.relu %x : tensor<64x48xf32>
  %1 = nd.sum %0 {axes = [1]} : tensor<64x48xf32> -> tensor<64xf32>
  %2 = nd.sum %0 {axes = [0]} : tensor<64x48xf32> -> tensor<48xf32>
  func.return %1, %2 : tensor<64xf32>, tensor<48xf32>
}
