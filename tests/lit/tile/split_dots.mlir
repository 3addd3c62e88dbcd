// RUN: irc-opt %S/Inputs/products.mlir -p promote-sums,split-dots | filecheck %s

// The small products first; the stage is in use until the last of them is there.
// CHECK-LABEL: @f32
// CHECK:         %a = tile.load
// CHECK:         %b = tile.load
// CHECK:         [[ZERO:%[a-z0-9_]+]] = tile.splat
// CHECK:         %a_high = tile.map %a
// CHECK:           math.absf
// CHECK:         %a_low = tile.map %a, %a_high
// CHECK:           arith.subf
// CHECK:         %b_high = tile.map %b
// CHECK:         %b_low = tile.map %b, %b_high
// CHECK:         [[FIRST:%[a-z0-9_]+]] = tile.dot %a_low, %b_high, [[ZERO]] {precision = "tf32"
// CHECK-NEXT:    [[SECOND:%[a-z0-9_]+]] = tile.dot %a_high, %b_low, [[FIRST]] {precision = "tf32"
// CHECK-NEXT:    [[THIRD:%[a-z0-9_]+]] = tile.dot %a_high, %b_high, [[SECOND]] {precision = "tf32"}
// CHECK-NEXT:    tile.map %acc, [[THIRD]]

// One product of rounded operands.
// CHECK-LABEL: @tf32
// CHECK:         [[A:%[a-z0-9_]+]] = tile.map %a
// CHECK:         [[B:%[a-z0-9_]+]] = tile.map %b
// CHECK:         tile.dot [[A]], [[B]], %acc {precision = "tf32"}
// CHECK-NOT:     tile.dot
// CHECK:         scf.yield

// Left alone.
// CHECK-LABEL: @f8
// CHECK:         tile.dot %a, %b,
// CHECK-LABEL: @i8
// CHECK:         tile.dot %a, %b, %acc
