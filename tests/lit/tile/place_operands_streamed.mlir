// RUN: irc-opt %S/Inputs/streamed.mlir -p place-operands | filecheck %s

// TMA brings what the left operand is computed from, and the threads that multiply read it.
// CHECK-LABEL: @streamed
// CHECK:         scf.for
// CHECK:           tile.copy %x[%c0, %k] -> [[X:%[a-z0-9_]+]] {via = "tma"}
// CHECK-NEXT:      [[X1:%[a-z0-9_]+]] = tile.read [[X]]
// CHECK-NEXT:      tile.copy %s[%c0, %k] -> [[S:%[a-z0-9_]+]] {via = "tma"}
// CHECK-NEXT:      [[S1:%[a-z0-9_]+]] = tile.read [[S]]
// CHECK-NEXT:      [[A:%[a-z0-9_]+]] = tile.map [[X1]], [[S1]]
// CHECK:           tile.copy %w
// CHECK:           tile.dot [[A]], {{.*}} : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>

// Vectors along K too.
// CHECK-LABEL: @vector
// CHECK:         scf.for
// CHECK:           tile.copy %x
// CHECK:           tile.copy %v[%c0, %k] -> {{.*}} -> !tile.buffer<1x32xbf16>
// CHECK:           tile.read {{.*}} -> tensor<1x32xbf16>
// CHECK:           tile.dot {{.*}} : tensor<64x32xbf16>

// Two dots read one that is written.
// CHECK-LABEL: @shared
// CHECK:         tile.write
// CHECK-NOT:     tile.read
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x32xbf16>
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x32xbf16>
