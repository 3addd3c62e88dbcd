// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,overlap-epilogue | filecheck %s
// RUN: irc-opt %S/Inputs/softmax.mlir -p overlap-epilogue | filecheck %s --check-prefix=ALONE

// The epilogue of a large accumulator runs over subtiles of its columns.
// CHECK:       [[ACC:%[0-9]+]] = scf.for %k
// CHECK:       scf.for %column = {{%[0-9]+}} to {{%[0-9]+}} step
// CHECK:         tile.slice [[ACC]][{{%[0-9]+}}, %column] {at = array<i64: 0, 0>} : tensor<128x256xf32> -> tensor<128x64xf32>
// CHECK:         tile.slice [[ACC]][{{%[0-9]+}}, %column] {at = array<i64: 0, 128>} : tensor<128x256xf32> -> tensor<128x64xf32>
// CHECK:         [[N:%[0-9]+]] = arith.addi %n, %column : index
// CHECK-NEXT:    %u = tile.load %b1[%c0, [[N]]]{{.*}} -> tensor<1x64xbf16>
// CHECK:         tile.map {{.*}} -> tensor<128x64xbf16>
// CHECK:         tile.store %o, %y[%m, {{%[0-9]+}}] : tensor<128x64xbf16>
// CHECK:       } {unroll}

// Left alone: no product.
// ALONE-NOT: scf.for
// ALONE:     tile.store
