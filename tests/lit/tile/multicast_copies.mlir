// RUN: irc-opt %S/Inputs/product.mlir -p place-operands,multicast-copies | filecheck %s
// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,multicast-copies | filecheck %s --check-prefix=ALONE

// The left operand is the same in all columns of the cluster, the right one in all rows.
// CHECK: tile.copy %x[%m, %k] -> %a {via = "tma", multicast = 1 : i64}
// CHECK: tile.copy %w[%k, %n] -> %b {via = "tma", multicast = 0 : i64}

// Left alone: no clusters.
// ALONE:     tile.copy
// ALONE-NOT: multicast
