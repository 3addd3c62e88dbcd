// RUN: irc-opt %s -p lower-schedule | filecheck %s

// A block has one tile, that of the first turn: nothing of the other one's is passed over.
// CHECK-LABEL: @one_tile
// CHECK-SAME:    grid = 8 : i64
// CHECK:         @compute_0
// CHECK:           tile.begin_turn
// CHECK:             tile.wait
// CHECK:           tile.end_turn
// CHECK:           tile.write
// CHECK-NOT:       tile.skip
// CHECK:         @compute_1
// CHECK-NOT:       tile.
#shared = #tile.shared<(64,32):(32,1)>
#frag = #tile.fragment<((4,8,4),(2,2,4)):((128,1,16),(64,8,512))>
tile.program @one_tile(%x: !tile.view<128x128xf32>, %y: !tile.view<128x128xf32>) {results = 1 : i64, threads = 128 : i64} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x32xf32, #shared>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i, %j) extents [128, 128] steps [64, 32] schedule "persistent" {
      %slot, %a = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xf32, #shared>>
      tile.copy %x[%i, %j] -> %a {via = "tma"} : !tile.view<128x128xf32> -> !tile.buffer<64x32xf32, #shared>
      tile.commit %slot
    }
  } @compute_0 warps 4 registers 232 {
    %out = tile.alloc : !tile.buffer<64x32xf32, #shared>
    tile.for_tiles (%i, %j) extents [128, 128] steps [64, 32] schedule "persistent" turn [0, 2] {
      tile.begin_turn %channel {turn = array<i64: 0, 2>} : !tile.channel<!tile.buffer<64x32xf32, #shared>>
      %slot, %a = tile.wait %channel : !tile.channel<!tile.buffer<64x32xf32, #shared>>
      %t = tile.read %a : !tile.buffer<64x32xf32, #shared> -> tensor<64x32xf32, #frag>
      tile.release %slot
      tile.end_turn %channel {turn = array<i64: 0, 2>} : !tile.channel<!tile.buffer<64x32xf32, #shared>>
      tile.write %t, %out : tensor<64x32xf32, #frag>, !tile.buffer<64x32xf32, #shared>
      tile.store %out, %y[%i, %j] : !tile.buffer<64x32xf32, #shared>, !tile.view<128x128xf32>
      %one = arith.constant 1 : index
      tile.skip %channel by %one : !tile.channel<!tile.buffer<64x32xf32, #shared>>
    }
  } @compute_1 warps 4 registers 232 {
    tile.for_tiles (%i, %j) extents [128, 128] steps [64, 32] schedule "persistent" turn [1, 2] {
      %one = arith.constant 1 : index
      tile.skip %channel by %one : !tile.channel<!tile.buffer<64x32xf32, #shared>>
      tile.begin_turn %channel {turn = array<i64: 1, 2>} : !tile.channel<!tile.buffer<64x32xf32, #shared>>
      %slot, %a = tile.wait %channel : !tile.channel<!tile.buffer<64x32xf32, #shared>>
      tile.release %slot
      tile.end_turn %channel {turn = array<i64: 1, 2>} : !tile.channel<!tile.buffer<64x32xf32, #shared>>
    }
  }
}
