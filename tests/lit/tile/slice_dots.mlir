// RUN: irc-opt %S/Inputs/streamed.mlir -p place-operands,slice-dots | filecheck %s

// A dot for each 16 of K, on parts of the buffers. What a part is computed from is read before the part before it.
// CHECK-LABEL: @streamed
// CHECK:         scf.for {{.*}} iter_args([[ACC:%[a-z0-9_]+]] =
// CHECK:           [[X0:%[0-9]+]] = tile.subview %x1 {at = array<i64: 0, 0>} : !tile.buffer<64x32xbf16> -> !tile.buffer<64x16xbf16>
// CHECK:           tile.read [[X0]] : !tile.buffer<64x16xbf16> -> tensor<64x16xbf16>
// CHECK:           [[X1:%[0-9]+]] = tile.subview %x1 {at = array<i64: 0, 16>}
// CHECK-NEXT:      tile.read [[X1]] : !tile.buffer<64x16xbf16> -> tensor<64x16xbf16>
// CHECK:           [[A0:%[a-z0-9_]+]] = tile.map
// CHECK:           [[W0:%[0-9]+]] = tile.subview {{.*}} {at = array<i64: 0, 0>} : !tile.buffer<32x64xbf16> -> !tile.buffer<16x64xbf16>
// CHECK:           [[D0:%[a-z0-9_]+]] = tile.dot [[A0]], [[W0]], [[ACC]]
// CHECK-NEXT:      [[A1:%[a-z0-9_]+]] = tile.map
// CHECK:           [[W1:%[0-9]+]] = tile.subview {{.*}} {at = array<i64: 16, 0>}
// CHECK:           [[D1:%[a-z0-9_]+]] = tile.dot [[A1]], [[W1]], [[D0]]
// CHECK-NEXT:      scf.yield [[D1]]

// A vector is read from where the part begins.
// CHECK-LABEL: @vector
// CHECK:           tile.subview %v1 {at = array<i64: 0, 16>} : !tile.buffer<1x32xbf16> -> !tile.buffer<1x16xbf16>
// CHECK-NEXT:      tile.read {{.*}} -> tensor<1x16xbf16>

// Left alone.
// CHECK-LABEL: @shared
// CHECK-NOT:     tile.subview
