// RUN: irc-opt %S/Inputs/dequantized.mlir -p place-operands | filecheck %s
// RUN: irc-opt %S/Inputs/dequantized.mlir -p place-operands,slice-dots,narrow-maps | filecheck %s --check-prefix=NARROW
// RUN: irc-opt %S/Inputs/dequantized.mlir -p place-operands,slice-dots,narrow-maps,assign-layouts | filecheck %s --check-prefix=LAYOUT

// Scales of rows are loaded once, before the loop.
// CHECK-LABEL: @channels
// CHECK:         tile.load %s[%c0, %c0] {{.*}} -> tensor<64x1xbf16>
// CHECK:         scf.for
// CHECK-NOT:       tile.load
// CHECK:           tile.copy %x[%c0, %k] {{.*}} !tile.buffer<64x32xi8>
// CHECK-NOT:       tile.load
// CHECK:           tile.dot

// Those of a group come with each step, as a column.
// CHECK-LABEL: @groups
// CHECK:         scf.for
// CHECK:           [[GROUP:%[0-9]+]] = arith.divui %k, {{.*}} : index
// CHECK:           tile.copy %s[%c0, [[GROUP]]] -> {{.*}} {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} {{.*}} -> !tile.buffer<64x1xf32>
// CHECK:           tile.read {{.*}} -> tensor<64x1xf32>

// Bytes are widened in a map of their own where the product has the bits of the narrow type.
// NARROW-LABEL: @channels
// NARROW:         [[WIDE:%[a-z0-9_]+]] = tile.map {{.*}} : tensor<64x16xi8> -> tensor<64x16xbf16> {
// NARROW-NEXT:    ^bb0([[X:%[0-9]+]]: i8):
// NARROW-NEXT:      [[V:%[0-9]+]] = arith.sitofp [[X]] : i8 to bf16
// NARROW-NEXT:      tile.yield [[V]] : bf16
// NARROW:         tile.map [[WIDE]], %s1 : tensor<64x16xbf16>, tensor<64x1xbf16> -> tensor<64x16xbf16> {
// NARROW:           arith.mulf {{.*}} : bf16
// NARROW-LABEL: @groups
// NARROW:           arith.mulf {{.*}} : f32

// Contiguous along the rows, they give threads pairs of neighboring rows; along K, rows that are 8 apart.
// LAYOUT-DAG: [[PAIRED:#frag[0-9]*]] = #tile.fragment<((4,8,4),(2,2,2)):((128,2,16),(64,1,512))>
// LAYOUT-DAG: [[APART:#frag[0-9]*]] = #tile.fragment<((4,8,4),(2,2,2)):((128,1,16),(64,8,512))>
// LAYOUT-LABEL: @channels
// LAYOUT:         tile.read {{.*}} -> tensor<64x16xi8, [[PAIRED]]>
// LAYOUT-LABEL: @groups
// LAYOUT:         tile.read {{.*}} -> tensor<64x16xi8, [[APART]]>
