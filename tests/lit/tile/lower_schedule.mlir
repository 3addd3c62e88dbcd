// RUN: irc-opt %s -p lower-schedule --split-input-file | filecheck %s

// A block a tile, the last dimension the fastest.
// CHECK-LABEL: @grid
// CHECK-SAME:    grid = 6 : i64
// CHECK:         [[BLOCK:%[a-z0-9_]+]] = cuda.block_id
// CHECK:         arith.remui [[BLOCK]]
// CHECK:         tile.load
// CHECK-NOT:     tile.for_tiles
tile.program @grid(%x: !tile.view<128x192xf32>, %y: !tile.view<128x192xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [128, 192] steps [64, 64] {
    %a = tile.load %x[%i, %j] : !tile.view<128x192xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<128x192xf32>
  }
}

// -----

// As many blocks as the chip has SMs take the tiles in turn.
// CHECK-LABEL: @persistent
// CHECK-SAME:    grid = 132 : i64
// CHECK:         [[BLOCK:%[a-z0-9_]+]] = cuda.block_id
// CHECK:         scf.for %tile = [[BLOCK]] to
tile.program @persistent(%x: !tile.view<4096x4096xf32>, %y: !tile.view<4096x4096xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4096, 4096] steps [64, 64] schedule "persistent" group 8 {
    %a = tile.load %x[%i, %j] : !tile.view<4096x4096xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<4096x4096xf32>
  }
}

// -----

// A block begins with the tile of its number, and goes on with that of its ticket, of those behind the first ones.
// CHECK-LABEL: @dynamic
// CHECK-SAME:    grid = 132 : i64
// CHECK:         [[BLOCK:%[a-z0-9_]+]] = cuda.block_id
// CHECK-NEXT:    scf.while ([[AT:%[a-z0-9_]+]] = [[BLOCK]]) : (index) -> index {
// CHECK-NEXT:      [[TILES:%[a-z0-9_]+]] = arith.constant 4096 : index
// CHECK-NEXT:      [[MORE:%[a-z0-9_]+]] = arith.cmpi slt, [[AT]], [[TILES]]
// CHECK-NEXT:      scf.condition([[MORE]]) [[AT]]
// CHECK:         ^bb0(%tile: index):
// CHECK:           tile.store
// CHECK-NEXT:      [[TICKET:%[a-z0-9_]+]] = tile.take_ticket
// CHECK-NEXT:      [[BLOCKS:%[a-z0-9_]+]] = arith.constant 132 : index
// CHECK-NEXT:      [[NEXT:%[a-z0-9_]+]] = arith.addi [[TICKET]], [[BLOCKS]]
// CHECK-NEXT:      scf.yield [[NEXT]]
tile.program @dynamic(%x: !tile.view<4096x4096xf32>, %y: !tile.view<4096x4096xf32>, %counter: !tile.view<1xi32>) {results = 2 : i64, sums = array<i64: 2>} {
  %word = tile.alloc : !tile.buffer<1xi32>
  tile.for_tiles (%i, %j) extents [4096, 4096] steps [64, 64] schedule "dynamic" group 8 {
    %a = tile.load %x[%i, %j] : !tile.view<4096x4096xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<4096x4096xf32>
    %ticket = tile.take_ticket %counter -> %word : !tile.view<1xi32> -> !tile.buffer<1xi32>
    tile.next_tile %ticket
  }
}

// -----

// Blocks that have one tile each need no loop.
// CHECK-LABEL: @dynamic_few
// CHECK-SAME:    grid = 4 : i64
// CHECK-NOT:     scf.while
// CHECK:         tile.store
tile.program @dynamic_few(%x: !tile.view<128x128xf32>, %y: !tile.view<128x128xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [128, 128] steps [64, 64] schedule "dynamic" {
    %a = tile.load %x[%i, %j] : !tile.view<128x128xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<128x128xf32>
  }
}

// -----

// Clusters of 2 x 2 tiles are taken in turn: 30 clusters of 4 blocks run at once on an H200.
// CHECK-LABEL: @clusters
// CHECK-SAME:    grid = 120 : i64
// CHECK:         [[BLOCK:%[a-z0-9_]+]] = cuda.block_id
// CHECK:         [[FIRST:%[a-z0-9_]+]] = arith.shrui [[BLOCK]]
// CHECK:         scf.for %tile = [[FIRST]] to
// CHECK:           cuda.cluster_rank
tile.program @clusters(%x: !tile.view<4096x4096xf32>, %y: !tile.view<4096x4096xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4096, 4096] steps [64, 64] schedule "persistent" group 8 cluster [2, 2] {
    %a = tile.load %x[%i, %j] : !tile.view<4096x4096xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<4096x4096xf32>
  }
}

// -----

// Every second of a block's tiles, from the second on.
// CHECK-LABEL: @turns
// CHECK:         [[BLOCK:%[a-z0-9_]+]] = cuda.block_id
// CHECK:         [[FIRST:%[a-z0-9_]+]] = arith.addi [[BLOCK]]
// CHECK:         [[STEP:%[a-z0-9_]+]] = arith.constant 264 : index
// CHECK:         scf.for %tile = [[FIRST]] to {{.*}} step [[STEP]]
tile.program @turns(%x: !tile.view<4096x4096xf32>, %y: !tile.view<4096x4096xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4096, 4096] steps [64, 64] schedule "persistent" turn [1, 2] {
    %a = tile.load %x[%i, %j] : !tile.view<4096x4096xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<4096x4096xf32>
  }
}

// -----

// Two tile loops share the grid as ranges of blocks; no tile is no code.
// CHECK-LABEL: @beside
// CHECK-SAME:    grid = 5 : i64
// CHECK:         scf.if
// CHECK:           tile.store
// CHECK:         scf.if
// CHECK:           tile.store
// CHECK-NOT:     tile.store
tile.program @beside(%y: !tile.view<128xf32>, %z: !tile.view<192xf32>) {results = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  tile.for_tiles (%i) extents [128] steps [64] {
    %a = tile.splat %zero : f32 -> tensor<64xf32>
    tile.store %a, %y[%i] : tensor<64xf32>, !tile.view<128xf32>
  }
  tile.for_tiles (%i) extents [192] steps [64] {
    %a = tile.splat %zero : f32 -> tensor<64xf32>
    tile.store %a, %z[%i] : tensor<64xf32>, !tile.view<192xf32>
  }
  tile.for_tiles (%i) extents [0] steps [64] {
    %a = tile.splat %zero : f32 -> tensor<64xf32>
    tile.store %a, %z[%i] : tensor<64xf32>, !tile.view<192xf32>
  }
}

// -----

// The tile of the other turn is 132 tiles before this one.
// CHECK-LABEL: @turn_offsets
// CHECK:         scf.for %tile
// CHECK:           [[BACK:%[a-z0-9_]+]] = arith.constant -132 : index
// CHECK-NEXT:      [[BESIDE:%[a-z0-9_]+]] = arith.addi %tile, [[BACK]]
// CHECK:           arith.andi [[BESIDE]]
// CHECK-NOT:       tile.turn_offsets
// CHECK:           tile.load
tile.program @turn_offsets(%x: !tile.view<4096x4096xf32>, %y: !tile.view<4096x4096xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4096, 4096] steps [64, 64] schedule "persistent" turn [1, 2] {
    %k, %l = tile.turn_offsets {turn = 0 : i64} : index, index
    %a = tile.load %x[%k, %l] : !tile.view<4096x4096xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<4096x4096xf32>
  }
}

// -----

// The last of 64 rows of tiles come first, and the columns of each as they come.
// CHECK-LABEL: @reversed
// CHECK:         scf.for %tile
// CHECK:           [[LAST:%[a-z0-9_]+]] = arith.constant 63 : index
// CHECK-NEXT:      [[COLUMN:%[a-z0-9_]+]] = arith.andi %tile
// CHECK:           [[ROW:%[a-z0-9_]+]] = arith.shrui %tile
// CHECK-NEXT:      [[FROM_END:%[a-z0-9_]+]] = arith.subi [[LAST]], [[ROW]] : index
// CHECK:           %i = arith.shli [[FROM_END]]
// CHECK:           %j = arith.shli [[COLUMN]]
tile.program @reversed(%x: !tile.view<4096x4096xf32>, %y: !tile.view<4096x4096xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4096, 4096] steps [64, 64] schedule "persistent" reversed [0] {
    %a = tile.load %x[%i, %j] : !tile.view<4096x4096xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<4096x4096xf32>
  }
}

// -----

// Of three dimensions the first is the fastest, and the two others are in groups of 8 rows.
// CHECK-LABEL: @fastest
// CHECK:         scf.for %tile
// CHECK:           [[PHASE:%[a-z0-9_]+]] = arith.andi %tile
// CHECK:           [[REST:%[a-z0-9_]+]] = arith.shrui %tile
// CHECK:           [[CHUNK:%[a-z0-9_]+]] = arith.shrui [[REST]]
// CHECK-NOT:       arith.shli [[PHASE]]
// CHECK:           tile.load %x[%i, %j] symbols([[PHASE]] : index)
tile.program @fastest(%x: !tile.view<4x4096x4096xf32>, %y: !tile.view<4096x16384xf32>) {results = 1 : i64} {
  tile.for_tiles (%p, %i, %j) extents [4, 4096, 4096] steps [1, 64, 64] schedule "persistent" group 8 fastest [0] {
    %a = tile.load %x[%i, %j] symbols(%p : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>} : !tile.view<4x4096x4096xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] symbols(%p : index) {map = affine_map<(d0, d1)[s0] -> (d0, d1 * 4 + s0)>} : tensor<64x64xf32>, !tile.view<4096x16384xf32>
  }
}

// -----

// Phases of different loops: a block goes on to the other phase at each of its turns of 132 tiles.
// CHECK-LABEL: @turned
// CHECK:         scf.for %tile
// CHECK-DAG:       [[PLACE:%[a-z0-9_]+]] = arith.shrui %tile
// CHECK-DAG:       [[PHASE:%[a-z0-9_]+]] = arith.andi %tile
// CHECK-DAG:       [[TURNS:%[a-z0-9_]+]] = arith.constant 132 : index
// CHECK:           [[BEFORE:%[a-z0-9_]+]] = arith.divui %tile, [[TURNS]]
// CHECK-NEXT:      [[SUM:%[a-z0-9_]+]] = arith.addi [[PHASE]], [[BEFORE]]
// CHECK:           [[OTHER:%[a-z0-9_]+]] = arith.andi [[SUM]]
// CHECK:           arith.addi {{%[a-z0-9_]+}}, [[OTHER]]
tile.program @turned(%x: !tile.view<2x4096x4096xf32>, %y: !tile.view<4096x8192xf32>) {results = 1 : i64} {
  tile.for_tiles (%p, %i, %j) extents [2, 4096, 4096] steps [1, 64, 64] schedule "persistent" fastest [0] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %taps = arith.addi %p, %c1 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %sum = scf.for %tap = %c0 to %taps step %c1 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%i, %j] symbols(%tap : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>} : !tile.view<2x4096x4096xf32> -> tensor<64x64xf32>
      scf.yield %a : tensor<64x64xf32>
    }
    tile.store %sum, %y[%i, %j] symbols(%p : index) {map = affine_map<(d0, d1)[s0] -> (d0, d1 * 2 + s0)>} : tensor<64x64xf32>, !tile.view<4096x8192xf32>
  }
}

// -----

// Two blocks for each of 132 SMs.
// CHECK-LABEL: @shared
// CHECK-SAME:    grid = 264 : i64
tile.program @shared(%x: !tile.view<65536x64xf32>, %y: !tile.view<65536x64xf32>) {results = 1 : i64, config = #kernel.config<schedule = "persistent", occupancy = 2>} {
  tile.for_tiles (%i) extents [65536] steps [64] schedule "persistent" {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%i, %c0] : !tile.view<65536x64xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<65536x64xf32>
  }
}
