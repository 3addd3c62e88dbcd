// RUN: irc-opt %s -p plan-shared,lower-schedule,lower-to-cuda | filecheck %s

#f = #tile.fragment<(128,1):(1,128)>
#s = #tile.shared<(128):(1)>

// A stage is released an iteration later: in the first iteration there is none, and behind a loop that has not run there is
// none either. Bounds that depend on the tile may be negative.
// CHECK:       cuda.kernel @values
// CHECK:         scf.for %i = [[LOW:%[0-9]+]] to [[HIGH:%[0-9]+]] step
// CHECK:           cuda.barrier_wait
// CHECK:           [[LATER:%[0-9]+]] = arith.cmpi ne, %i, [[LOW]] : index
// CHECK-NEXT:      scf.if [[LATER]]
// CHECK:             cuda.barrier_arrive
// CHECK:         [[RAN:%[0-9]+]] = arith.cmpi slt, [[LOW]], [[HIGH]] : index
// CHECK-NEXT:    scf.if [[RAN]]
// CHECK:           cuda.barrier_arrive
tile.program @values(%x: !tile.view<1024xf32>, %y: !tile.view<1024xf32>) {results = 1 : i64, threads = 128 : i64} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<128xf32, #s>>
  tile.partitions @compute warps 4 {
    tile.for_tiles (%n) extents [1024] steps [128] {
      %c128 = arith.constant 128 : index
      %high = arith.constant 1024 : index
      %low = arith.subi %n, %c128 : index
      %none = tile.no_slot
      %last = scf.for %i = %low to %high step %c128 iter_args(%previous = %none) -> (!tile.slot<drain>) {
        %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<128xf32, #s>>
        tile.release %previous
        scf.yield %s : !tile.slot<drain>
      }
      tile.release %last
    }
  } @load warps 4 {
    tile.for_tiles (%n) extents [1024] steps [128] {
      %c128 = arith.constant 128 : index
      %high = arith.constant 1024 : index
      %low = arith.subi %n, %c128 : index
      scf.for %i = %low to %high step %c128 {
        %t = tile.load %x[%i] {checked = array<i64: 0>} : !tile.view<1024xf32> -> tensor<128xf32, #f>
        %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<128xf32, #s>>
        tile.write %t, %a : tensor<128xf32, #f>, !tile.buffer<128xf32, #s>
        tile.commit %s
      }
    }
  }
}
