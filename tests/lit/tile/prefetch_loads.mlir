// RUN: irc-opt %S/Inputs/products.mlir -p promote-sums,split-dots,place-operands,assign-layouts,make-channels,specialize-warps,prefetch-loads | filecheck %s

// Each operand is loaded for the next step as soon as its registers are free; the last step loads its own again.
// CHECK-LABEL: @f32
// CHECK:         tile.partitions
// CHECK:         [[A0:%[a-z0-9_]+]] = tile.load %x
// CHECK:         [[B0:%[a-z0-9_]+]] = tile.load %w
// CHECK:         scf.for [[K:%[a-z0-9_]+]] = {{.*}} iter_args([[A:%[a-z0-9_]+]] = [[A0]], [[B:%[a-z0-9_]+]] = [[B0]])
// CHECK-NEXT:      [[NEXT:%[a-z0-9_]+]] = arith.addi [[K]]
// CHECK-NEXT:      [[INSIDE:%[a-z0-9_]+]] = arith.cmpi ult, [[NEXT]]
// CHECK-NEXT:      [[AT:%[a-z0-9_]+]] = arith.select [[INSIDE]], [[NEXT]], [[K]]
// CHECK:           tile.acquire
// CHECK:           tile.map [[A]]
// CHECK:           tile.write
// CHECK:           tile.write
// CHECK-NEXT:      [[A1:%[a-z0-9_]+]] = tile.load %x{{.*}}[[AT]]
// CHECK:           tile.map [[B]]
// CHECK:           tile.write
// CHECK:           tile.write
// CHECK-NEXT:      [[B1:%[a-z0-9_]+]] = tile.load %w[[[AT]]
// CHECK-NEXT:      tile.commit
// CHECK-NEXT:      scf.yield [[A1]], [[B1]]

// Left alone: TMA fills one operand, and the other has nothing to wait beside.
// CHECK-LABEL: @i8
// CHECK:         scf.for
// CHECK-NOT:     iter_args
// CHECK:         tile.commit
