// RUN: irc-opt %S/Inputs/products.mlir -p promote-sums,split-dots,place-operands,assign-layouts,make-channels,specialize-warps,schedule-loops | filecheck %s
// RUN: irc-opt %S/Inputs/products.mlir -p promote-sums,split-dots,place-operands,assign-layouts,make-channels,specialize-warps,schedule-loops,expand-schedule | filecheck %s --check-prefix=AHEAD

// Each operand is computed and written, then loaded for the next step. The stage is committed behind them.
// CHECK-LABEL: @f32
// CHECK:         tile.partitions
// CHECK:         scf.for
// CHECK-DAG:       tile.load %x{{.*}}scheduled = #tile.at<stage = 0, order = [[A:[0-9]+]]>
// CHECK-DAG:       tile.load %w{{.*}}scheduled = #tile.at<stage = 0, order = [[B:[0-9]+]]>
// CHECK-DAG:       tile.acquire {{.*}}scheduled = #tile.at<stage = 1, order = 0>
// CHECK:           tile.commit {{.*}}scheduled = #tile.at<stage = 1
// CHECK:         } {clamped}

// The last step loads its own again.
// AHEAD-LABEL: @f32
// AHEAD:         tile.partitions
// AHEAD:         [[A0:%[a-z0-9_]+]] = tile.load %x[%c0, %c0]
// AHEAD:         [[B0:%[a-z0-9_]+]] = tile.load %w[%c0, %c0]
// AHEAD:         scf.for [[K:%[a-z0-9_]+]] = {{.*}} iter_args([[A:%[a-z0-9_]+]] = [[A0]], [[B:%[a-z0-9_]+]] = [[B0]])
// AHEAD:           [[NEXT:%[a-z0-9_]+]] = arith.addi [[K]]
// AHEAD-NEXT:      [[INSIDE:%[a-z0-9_]+]] = arith.cmpi ult, [[NEXT]]
// AHEAD-NEXT:      [[AT:%[a-z0-9_]+]] = arith.select [[INSIDE]], [[NEXT]], [[K]]
// AHEAD-NEXT:      tile.acquire
// AHEAD:           tile.map [[A]]
// AHEAD:           tile.write
// AHEAD:           tile.write
// AHEAD-NEXT:      [[A1:%[a-z0-9_]+]] = tile.load %x{{.*}}[[AT]]
// AHEAD:           tile.map [[B]]
// AHEAD:           tile.write
// AHEAD:           tile.write
// AHEAD-NEXT:      [[B1:%[a-z0-9_]+]] = tile.load %w[[[AT]]
// AHEAD-NEXT:      tile.commit
// AHEAD-NEXT:      scf.yield [[A1]], [[B1]]

// Left alone: TMA fills one operand, and the other has nothing to wait beside.
// CHECK-LABEL: @i8
// CHECK:         scf.for
// CHECK-NOT:     clamped
// CHECK:         tile.commit
// CHECK-NOT:     clamped
// AHEAD-LABEL: @i8
// AHEAD:         scf.for
// AHEAD-NOT:     iter_args
// AHEAD:         tile.commit
