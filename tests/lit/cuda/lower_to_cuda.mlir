// RUN: irc-opt %S/../tile/Inputs/transpose.mlir -p assign-layouts,plan-shared,lower-schedule,lower-to-cuda | filecheck %s --check-prefix=TRANSPOSE
// RUN: irc-opt %S/../tile/Inputs/softmax.mlir -p assign-layouts,plan-shared,lower-schedule,lower-to-cuda | filecheck %s --check-prefix=SOFTMAX
// RUN: irc-opt %S/../tile/Inputs/gating.mlir -p merge-dots,place-operands,overlap-epilogue,assign-layouts,make-channels,specialize-warps,schedule-loops,expand-schedule,await-dots,plan-shared,lower-schedule,lower-to-cuda | filecheck %s --check-prefix=GATING
// RUN: not irc-opt %S/../tile/Inputs/softmax.mlir -p lower-schedule,lower-to-cuda 2>&1 | filecheck %s --check-prefix=EARLY

// 16-byte loads under a bounds check; pairs packed across rows on their way to swizzled shared memory; 8-byte stores.
// TRANSPOSE:      cuda.kernel @transpose(%x: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>) grid [4, 1, 1] block 256 shared 8192
// TRANSPOSE:        scf.if
// TRANSPOSE-NEXT:     cuda.load %x[{{.*}}] -> %a[{{.*}}] {count = 8 : i64, cache = "read_only"}
// TRANSPOSE:        } else {
// TRANSPOSE:          cuda.set %a
// TRANSPOSE:        arith.xori
// TRANSPOSE:        cuda.shared_store {{.*}} {count = 2 : i64}
// TRANSPOSE:        cuda.sync
// TRANSPOSE:        cuda.shared_load {{.*}} {count = 4 : i64}
// TRANSPOSE-NOT:    cuda.sync
// TRANSPOSE:        cuda.store {{.*}} {count = 4 : i64}
// TRANSPOSE:        cuda.return

// Butterflies in a warp, then shared memory between warps; the second reduction has its own place there, so that it need
// not wait for the readers of the first.
// SOFTMAX:        cuda.kernel @softmax
// SOFTMAX-SAME:   block 256
// SOFTMAX:          cuda.shuffle "xor"
// SOFTMAX:          cuda.shared_store
// SOFTMAX-NEXT:   }
// SOFTMAX-NEXT:   cuda.sync
// SOFTMAX:          cuda.shared_load
// SOFTMAX:          math.exp
// SOFTMAX-NOT:    cuda.sync
// SOFTMAX:          cuda.shared_store
// SOFTMAX-NEXT:   }
// SOFTMAX-NEXT:   cuda.sync
// SOFTMAX-NOT:    cuda.sync
// SOFTMAX:        cuda.return

// One thread issues TMA, warp groups multiply; the operands that only TMA reads have no pointer.
// GATING:         cuda.kernel @gating(%b1: !cuda.ptr<bf16>, %b2: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>, {{.*}}box [128, 64], swizzle 128>
// GATING:         cuda.barrier_init {{.*}} {count = 1 : i64}
// GATING:         cuda.barrier_init {{.*}} {count = 2 : i64}
// GATING:         cuda.sync
// GATING:         cuda.set_registers {count = 40 : i64, grow = false}
// GATING:         cuda.barrier_wait
// GATING:         cuda.barrier_expect {{.*}} {bytes = 49152 : i64}
// GATING:         cuda.tma_load
// GATING:         cuda.set_registers {count = 232 : i64, grow = true}
// GATING:         cuda.barrier_wait
// GATING:         cuda.wgmma_fence
// GATING:         cuda.wgmma {{.*}} {n = 256 : i64, k = 16 : i64, lhs_type = bf16, rhs_type = bf16, transpose_rhs = true}
// GATING:         cuda.wgmma_commit
// GATING:         scf.if
// GATING-NEXT:      cuda.wgmma_wait {pending = 1 : i64}
// GATING:         else
// GATING-NEXT:      cuda.wgmma_wait
// GATING:         cuda.barrier_arrive
// GATING:         cuda.wgmma_wait
// GATING:         cuda.named_sync {{.*}} {threads = 256 : i64}
// GATING:         cuda.store {{.*}} {count = 8 : i64}

// EARLY: requires that every tile and every shared buffer has a layout: found 'tile.load'
// EARLY: run assign-layouts first
