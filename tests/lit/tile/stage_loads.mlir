// RUN: irc-opt %S/Inputs/epilogue.mlir -p place-operands,overlap-epilogue,stage-loads | filecheck %s
// RUN: irc-opt %S/Inputs/epilogue.mlir -p place-operands,overlap-epilogue,stage-loads,assign-layouts,make-channels,specialize-warps | filecheck %s --check-prefix=ROLES
// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,overlap-epilogue,stage-loads | filecheck %s --check-prefix=ALONE

// A subtile of an array comes by TMA; a vector does not.
// CHECK:       scf.for %column
// CHECK:         tile.copy %r[%m, {{%[0-9]+}}] -> %r1 {via = "tma"} : {{.*}} -> !tile.buffer<128x64xbf16>
// CHECK:         tile.read %r1
// CHECK:         tile.load %b

// The producer brings them after the operands; who multiplies releases a stage as soon as it has read it.
// ROLES:       [[LOADS:%[0-9]+]] = tile.channel {{.*}} : !tile.channel<!tile.buffer<128x64xbf16
// ROLES:       tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<128x64xbf16, {{.*}}>, !tile.buffer<64x128xbf16
// ROLES:       tile.partitions
// ROLES:         scf.for
// ROLES:           tile.copy %x
// ROLES:         scf.for %column
// ROLES-NEXT:      arith.addi
// ROLES-NEXT:      tile.acquire [[LOADS]]
// ROLES-NEXT:      tile.copy %r
// ROLES-NEXT:      tile.commit %slot
// ROLES-NEXT:    } {unroll}
// ROLES:         scf.for
// ROLES:           tile.dot
// ROLES:         scf.for %column
// ROLES:           tile.wait [[LOADS]]
// ROLES-NEXT:      tile.read
// ROLES-NEXT:      tile.release %slot

// Left alone: vectors only.
// ALONE:     scf.for %column
// ALONE-NOT: tile.copy
