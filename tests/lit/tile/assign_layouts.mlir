// RUN: irc-opt %S/Inputs/transpose.mlir -p assign-layouts | filecheck %s --check-prefix=TRANSPOSE
// RUN: irc-opt %S/Inputs/softmax.mlir -p assign-layouts | filecheck %s --check-prefix=SOFTMAX
// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts | filecheck %s --check-prefix=GATING

// Rows are read in 16-byte vectors; the result, whose rows hold 100 elements, can be written in 8-byte ones. Each thread
// writes its pairs across rows to shared memory.
// TRANSPOSE-DAG:   [[IN:#frag[0-9]*]] = #tile.fragment<((8,32),(8,2)):((8,128),(1,64))>
// TRANSPOSE-DAG:   [[OUT:#frag[0-9]*]] = #tile.fragment<((16,16),(4,4)):((256,1),(64,16))>
// TRANSPOSE-DAG:   [[BETWEEN:#shared[0-9]*]] = #tile.shared<(64,64):(64,1) swizzle(3,3,6)>
// TRANSPOSE:       threads = 256
// TRANSPOSE:       %a = tile.load {{.*}} -> tensor<64x64xbf16, [[IN]]>
// TRANSPOSE:       tile.map %a
// TRANSPOSE:       [[MOVED:%[a-z0-9_]+]] = tile.convert %b {through = [[BETWEEN]]} : tensor<64x64xbf16, [[IN]]> -> tensor<64x64xbf16, [[OUT]]>
// TRANSPOSE-NEXT:  tile.store [[MOVED]]

// What a reduction gives is the fragment projected: every thread holds the row's value. Nothing moves.
// SOFTMAX-DAG:     [[ROW:#frag[0-9]*]] = #tile.fragment<((256),(4)):((4),(1))>
// SOFTMAX-DAG:     [[ONE:#frag[0-9]*]] = #tile.fragment<((256),()):((0),())>
// SOFTMAX-NOT:     tile.convert
// SOFTMAX:         tile.reduce {{.*}} : tensor<1x1024xf32, [[ROW]]> -> tensor<1x1xf32, [[ONE]]>

// wgmma's accumulator, operands in panels of the 128-byte swizzle, the result converted for wide stores.
// GATING-DAG:      [[A:#shared[0-9]*]] = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
// GATING-DAG:      [[B:#shared[0-9]*]] = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
// GATING-DAG:      [[ACC:#frag[0-9]*]] = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
// GATING:          tile.dot {{.*}} {instruction = "wgmma"} : !tile.buffer<128x64xbf16, [[A]]>, !tile.buffer<64x256xbf16, [[B]]>, tensor<128x256xf32, [[ACC]]>
// GATING:          [[WIDE:%[a-z0-9_]+]] = tile.convert %o {through = #shared
// GATING-NEXT:     tile.store [[WIDE]]
