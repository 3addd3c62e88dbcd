// RUN: irc-opt %S/Inputs/products.mlir -p promote-sums | filecheck %s
// RUN: irc-opt %S/Inputs/gating.mlir -p promote-sums | filecheck %s --check-prefix=ALONE

// The sum of one step begins at 0 and is added to those before.
// CHECK-LABEL: @f32
// CHECK:         scf.for {{.*}} iter_args([[ACC:%[a-z0-9_]+]] = %s)
// CHECK:           [[ZERO:%[a-z0-9_]+]] = tile.splat
// CHECK-NEXT:      [[PART:%[a-z0-9_]+]] = tile.dot %a, %b, [[ZERO]]
// CHECK-NEXT:      [[SUM:%[a-z0-9_]+]] = tile.map [[ACC]], [[PART]]
// CHECK:             arith.addf
// CHECK:           scf.yield [[SUM]]

// Left alone: what asks for less, and sums of integers.
// CHECK-LABEL: @tf32
// CHECK:         %d = tile.dot %a, %b, %acc
// CHECK-NEXT:    scf.yield %d

// CHECK-LABEL: @f8
// CHECK:         tile.splat
// CHECK:         tile.splat
// CHECK-NEXT:    tile.dot
// CHECK-NEXT:    tile.map

// CHECK-LABEL: @i8
// CHECK:         %d = tile.dot %a, %b, %acc
// CHECK-NEXT:    scf.yield %d

// ALONE-NOT:   tile.map
// ALONE:       scf.yield
