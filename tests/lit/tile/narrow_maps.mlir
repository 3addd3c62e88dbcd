// RUN: irc-opt %S/Inputs/streamed.mlir -p place-operands,narrow-maps | filecheck %s

// A product of values that bf16 has, rounded once.
// CHECK-LABEL: @streamed
// CHECK:         tile.map
// CHECK:         ^bb0([[X:%[0-9]+]]: bf16, [[S:%[0-9]+]]: bf16):
// CHECK-NEXT:      [[ZERO:%[0-9]+]] = arith.constant 0.000000e+00 : bf16
// CHECK-NEXT:      [[R:%[0-9]+]] = arith.maximumf [[X]], [[ZERO]] : bf16
// CHECK-NEXT:      [[P:%[0-9]+]] = arith.mulf [[R]], [[S]] : bf16
// CHECK-NEXT:      tile.yield [[P]] : bf16

// Two products before the rounding are left alone.
// CHECK-LABEL: @vector
// CHECK:         arith.mulf {{.*}} : f32
// CHECK:         arith.mulf {{.*}} : f32
// CHECK:         arith.truncf
