// RUN: irc-opt %s -p lower-to-cuda | filecheck %s

// A stage is released an iteration later: in the first iteration there is none, and behind a loop that has not run there is
// none either. Bounds that depend on the tile may be negative.
// CHECK:       cuda.kernel @values
// CHECK:         scf.for %i = [[LOW:%[a-z0-9_]+]] to [[HIGH:%[a-z0-9_]+]] step
// CHECK:           cuda.channel_wait
// CHECK:           [[LATER:%[a-z0-9_]+]] = arith.cmpi ne, %i, [[LOW]] : index
// CHECK-NEXT:      scf.if [[LATER]]
// CHECK:             cuda.channel_release
// CHECK:         [[RAN:%[a-z0-9_]+]] = arith.cmpi slt, [[LOW]], [[HIGH]] : index
// CHECK-NEXT:    scf.if [[RAN]]
// CHECK:           cuda.channel_release

#shared = #tile.shared<(128):(1)>
#frag = #tile.fragment<((128),(1)):((1),(128))>
tile.program @values(%x: !tile.view<1024xf32>, %y: !tile.view<1024xf32>) {results = 1 : i64, threads = 128 : i64, shared = 3072 : i64, grid = 8 : i64} {
  %channel = tile.channel {stages = 2 : i64, offset = 0 : i64} : !tile.channel<!tile.buffer<128xf32, #shared>>
  tile.partitions @compute warps 4 {
    %block = cuda.block_id
    %c7 = arith.constant 7 : index
    %n = arith.shli %block, %c7 : index
    %c128 = arith.constant 128 : index
    %high = arith.constant 1024 : index
    %low = arith.subi %n, %c128 : index
    %none = tile.no_slot
    %last = scf.for %i = %low to %high step %c128 iter_args(%previous = %none) -> (!tile.slot<drain>) {
      %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<128xf32, #shared>>
      tile.release %previous
      scf.yield %s : !tile.slot<drain>
    }
    tile.release %last
  } @load warps 4 {
    %block_1 = cuda.block_id
    %c7_1 = arith.constant 7 : index
    %n_1 = arith.shli %block_1, %c7_1 : index
    %c128_1 = arith.constant 128 : index
    %high_1 = arith.constant 1024 : index
    %low_1 = arith.subi %n_1, %c128_1 : index
    scf.for %i_1 = %low_1 to %high_1 step %c128_1 {
      %t = tile.load %x[%i_1] {checked = array<i64: 0>} : !tile.view<1024xf32> -> tensor<128xf32, #frag>
      %s_1, %a_1 = tile.acquire %channel : !tile.channel<!tile.buffer<128xf32, #shared>>
      tile.write %t, %a_1 : tensor<128xf32, #frag>, !tile.buffer<128xf32, #shared>
      tile.commit %s_1
    }
  }
}
