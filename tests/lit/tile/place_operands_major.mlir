// RUN: irc-opt %S/Inputs/products.mlir -p place-operands | filecheck %s
// RUN: irc-opt %S/Inputs/products.mlir -p place-operands,assign-layouts | filecheck %s --check-prefix=LAYOUT

// wgmma reads 8-bit operands along K only. TMA copies what lies so in memory; what does not is turned in registers.
// CHECK-LABEL: @f8
// CHECK:         tile.copy %x[%c0, %k]
// CHECK:         tile.copy %w[%k, %c0]
// CHECK-LABEL: @i8
// CHECK:         [[B:%[a-z0-9_]+]] = tile.load %w[%k, %c0]
// CHECK:         tile.copy %x[%c0, %k]
// CHECK:         tile.write [[B]]

// The buffer is contiguous along K (dimension 0 of the right operand), in rows of 128 bytes. Four threads lie along K; a
// thread reads 4 columns at a time in 16 rows, and writes 16 rows at a time.
// LAYOUT:       [[TURNING:#frag[0-9]*]] = #tile.fragment<((4,8,2,2),(4,16)):((16,512,64,4096),(128,1))>
// LAYOUT-LABEL: @i8
// LAYOUT:         tile.load %w{{.*}} -> tensor<128x64xi8, [[TURNING]]>
// LAYOUT:         tile.write
