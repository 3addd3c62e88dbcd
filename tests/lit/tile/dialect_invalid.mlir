// What the verifiers and parsers of tile reject, and how they say it.
// RUN: irc-opt %s --split-input-file --verify-diagnostics

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    // expected-error @below {{as many offsets as the tile has dimensions: 2, found 1}}
    %a = tile.load %x[%i] : !tile.view<64x64xf32> -> tensor<32x32xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %a = tile.load %x[%i, %j] : !tile.view<64x64xf32> -> tensor<32x32xf32>
    // expected-error @below {{expected an end together with the dimension that it ends, end_dim}}
    tile.store %a, %y[%i, %j] end %j : tensor<32x32xf32>, !tile.view<64x64xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %a = tile.load %x[%i, %j] : !tile.view<64x64xf32> -> tensor<32x32xf32>
    // expected-error @below {{expected end_dim below 2, found 2}}
    tile.store %a, %y[%i, %j] end %j {end_dim = 2 : i64} : tensor<32x32xf32>, !tile.view<64x64xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    // expected-error @below {{expected `through`, found `lane_swizzle` alone: it is of runs in shared memory}}
    %a = tile.load %x[%i, %j] {lane_swizzle = array<i64: 0, 0, 0, 2, 0>} : !tile.view<64x64xf32> -> tensor<32x32xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    // expected-error @below {{expected 5 positions of 0 and more in `lane_swizzle`, found [2]}}
    %a = tile.load %x[%i, %j] {through = #tile.shared<(32,32):(32,1)>, lane_swizzle = array<i64: 2>} : !tile.view<64x64xf32> -> tensor<32x32xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    // expected-error @below {{a map with as many results as the view has dimensions: 2, found 1}}
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<64x64xf32> -> tensor<32x32xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    // expected-error @below {{a map with as many symbols as operands: 0, found 1}}
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1)[s0] -> (s0, d1)>} : !tile.view<64x64xf32> -> tensor<32x32xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    // expected-error @below {{elements of type f32, found bf16}}
    %a = tile.load %x[%i, %j] : !tile.view<64x64xf32> -> tensor<32x32xbf16>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    // expected-error @below {{checked dimensions below 2, found 2}}
    %a = tile.load %x[%i, %j] {checked = array<i64: 2>} : !tile.view<64x64xf32> -> tensor<32x32xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{operands that broadcast to [4, 6], found [4, 8]}}
    %b = tile.map %a : tensor<4x8xf32> -> tensor<4x6xf32> {
    ^bb0(%s: f32):
      tile.yield %s : f32
    }
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{body arguments ['f32'], found ['f64']}}
    %b = tile.map %a : tensor<4x8xf32> -> tensor<4x8xf64> {
    ^bb0(%s: f64):
      tile.yield %s : f64
    }
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{the body to yield ['f64'], found ['f32']}}
    %b = tile.map %a : tensor<4x8xf32> -> tensor<4x8xf64> {
    ^bb0(%s: f32):
      tile.yield %s : f32
    }
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{results of shape [4, 1], found [4, 8]}}
    %b = tile.reduce %a {axes = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x8xf32> {
    ^bb0(%s: f32, %t: f32):
      tile.yield %s : f32
    }
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{expected axes below 2, found [2]}}
    %b = tile.reduce %a {axes = array<i64: 2>} : tensor<4x8xf32> -> tensor<4x8xf32> {
    ^bb0(%s: f32, %t: f32):
      tile.yield %s : f32
    }
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{expected a box inside [4, 8], found [4, 4] at [0, 6]}}
    %b = tile.slice %a {at = array<i64: 0, 6>} : tensor<4x8xf32> -> tensor<4x4xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{a result of shape [8, 8], found [4, 16]}}
    %b = tile.concat %a, %a {axis = 0 : i64} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{expected a permutation of 2 dimensions, found [0, 0]}}
    %b = tile.permute %a {dims = array<i64: 0, 0>} : tensor<4x8xf32> -> tensor<4x4xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{a tile with elements: 32, found 16}}
    %b = tile.reshape %a : tensor<4x8xf32> -> tensor<16xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{operands of the same K: 8, found 4}}
    %b = tile.dot %a, %a, %a : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] {
    %c = arith.constant 0.0 : f32
    %a = tile.splat %c : f32 -> tensor<4x8xf32>
    // expected-error @below {{expected a tile of index}}
    %b = tile.iota %i {axis = 0 : i64} : tensor<4x1xf32>
  }
}

// -----

// expected-error @below {{expected at most 1 results, found 2}}
tile.program @p(%x: !tile.view<64xf32>) {results = 2 : i64} {
}

// -----

// expected-error @below {{expected views as arguments of a program, found f32}}
tile.program @p(%x: f32) {results = 0 : i64} {
}

// -----

tile.program @p() {results = 0 : i64} {
  // expected-error @below {{as many steps as extents: 2, found 1}}
  tile.for_tiles (%i, %j) extents [4, 4] steps [2] {
  }
}

// -----

tile.program @p() {results = 0 : i64} {
  // expected-error @below {{expected a schedule of "grid", "persistent", "dynamic", found "random"}}
  tile.for_tiles (%i) extents [4] steps [2] schedule "random" {
  }
}

// -----

tile.program @p() {results = 0 : i64} {
  // expected-error @below {{expected neither clusters nor turns with the schedule "dynamic"}}
  tile.for_tiles (%i, %j) extents [4, 4] steps [2, 2] schedule "dynamic" cluster [2, 1] {
  }
}

// -----

tile.program @p() {results = 0 : i64} {
  tile.for_tiles (%i) extents [4] steps [2] schedule "persistent" {
    // expected-error @below {{expected a loop over tiles with the schedule "dynamic" around it}}
    tile.next_tile %i
  }
}

// -----

tile.program @p() {results = 0 : i64} {
  tile.for_tiles (%i) extents [4] steps [2] schedule "dynamic" {
    // expected-error @below {{expected it to end an iteration, found tile.next_tile behind it}}
    tile.next_tile %i
    tile.next_tile %i
  }
}

// -----

tile.program @p(%counter: !tile.view<4xi32>) {results = 1 : i64, sums = array<i64: 0>} {
  %word = tile.alloc : !tile.buffer<1xi32>
  // expected-error @below {{expected a counter of one element of i32, found !tile.view<4xi32>}}
  %ticket = tile.take_ticket %counter -> %word : !tile.view<4xi32> -> !tile.buffer<1xi32>
}

// -----

tile.program @p() {results = 0 : i64} {
  %word = tile.alloc : !tile.buffer<1xf32>
  // expected-error @below {{expected a buffer of one element of i32, found !tile.buffer<1xf32>}}
  %ticket = tile.read_ticket %word : !tile.buffer<1xf32>
}

// -----

tile.program @p() {results = 0 : i64} {
  // expected-error @below {{expected a name for each partition, found @load twice}}
  tile.partitions @load warps 1 {
  } @load warps 4 {
  }
}

// -----

tile.program @p() {results = 0 : i64} {
  // expected-error @below {{as many register counts as partitions: 2, found 1}}
  tile.partitions @load warps 1 registers 40 {
  } @compute warps 4 {
  }
}

// -----

// expected-error @below {{expected a layout of shape [64, 64], found one of [64, 32]}}
tile.program @p(%x: !tile.buffer<64x64xf32, #tile.shared<(64,32):(32,1)>>) {results = 0 : i64} {
}

// -----

// expected-error @below {{expected as many strides as thread modes, found 2 extents and 1 strides}}
tile.program @p(%x: tensor<4xf32, #tile.fragment<((4,8),(2)):((1),(4))>>) {results = 0 : i64} {
}

// -----

// expected-error @below {{expected a swizzle of numbers of at least 0 that are 32 together at most}}
tile.program @p(%x: !tile.buffer<8x32xf32, #tile.shared<(8,32):(32,1) swizzle(3,4294967296,3)>>) {results = 0 : i64} {
}

// -----

// expected-error @below {{mode 2:128 does not walk along one dimension of a tile of shape (1, 128)}}
tile.program @p(%x: !tile.view<1x128xf32>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !tile.view<1x128xf32> -> tensor<1x128xf32, #tile.fragment<((32,2),(2)):((1,32),(128))>>
}

// -----

// expected-error @below {{expected a fragment of at most 1048576 elements}}
tile.program @p(%x: tensor<4xf32, #tile.fragment<((1024),(4294967296)):((0),(0))>>) {results = 0 : i64} {
}

// -----

// expected-error @below {{expected a fragment of shape [64, 128], found one of [64, 64]}}
tile.program @p(%x: !tile.view<64x128xbf16>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !tile.view<64x128xbf16> -> tensor<64x128xbf16, #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>>
}

// -----

// A loop's argument has a fragment too.
// expected-error @below {{expected a fragment of shape [64, 1], found one of [32, 1]}}
tile.program @p(%x: !tile.view<64x128xbf16>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = tile.splat %zero : f32 -> tensor<64x1xf32>
  %1 = "test.op"(%0) ({
  ^bb0(%a: tensor<64x1xf32, #tile.fragment<((4,8,4),(1)):((0,1,8),(1))>>):
    "test.termop"() : () -> ()
  }) : (tensor<64x1xf32>) -> tensor<64x1xf32>
}

// -----

// expected-error @below {{expected a fragment that holds every element of a tile, found ((4,8),(2)):((0,1),(24))}}
tile.program @p(%x: !tile.view<32xbf16>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] : !tile.view<32xbf16> -> tensor<32xbf16, #tile.fragment<((4,8),(2)):((0,1),(24))>>
}

// -----

#acc = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @p(%x: !tile.view<64x64xf32>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32, #acc>
  %1 = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x1xf32, #tile.fragment<((4,8,4),(2)):((0,2,16),(1))>>
  // expected-error @below {{expected a fragment that is the projection ((4,8,4),(2)):((0,1,16),(8)), found ((4,8,4),(2)):((0,2,16),(1))}}
  %2 = tile.map %0, %1 : tensor<64x64xf32, #acc>, tensor<64x1xf32, #tile.fragment<((4,8,4),(2)):((0,2,16),(1))>> -> tensor<64x64xf32, #acc> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
}

// -----

#acc = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @p(%x: !tile.view<64x64xf32>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32, #acc>
  // expected-error @below {{expected a fragment that is the projection ((4,8,4),(2)):((0,1,16),(8)), found ((64,2),()):((1,0),())}}
  %1 = tile.reduce %0 {axes = array<i64: 1>} : tensor<64x64xf32, #acc> -> tensor<64x1xf32, #tile.fragment<((64,2),()):((1,0),())>> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
}

// -----

#acc = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @p(%x: !tile.view<64x64xf32>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32, #acc>
  // expected-error @below {{expected a fragment that is the slice ((4,8,4),(2,2,4)):((128,1,16),(64,8,512)), found ((8,16),(4,4)):((64,1),(512,16))}}
  %1 = tile.slice %0 {at = array<i64: 0, 32>} : tensor<64x64xf32, #acc> -> tensor<64x32xf32, #tile.fragment<((8,16),(4,4)):((64,1),(512,16))>>
}

// -----

#acc = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @p(%x: !tile.view<64x64xf32>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32, #acc>
  // expected-error @below {{expected a slice of whole registers, found [64, 4] of ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))}}
  %1 = tile.slice %0 {at = array<i64: 0, 32>} : tensor<64x64xf32, #acc> -> tensor<64x4xf32, #tile.fragment<((4,32),(2)):((64,1),(32))>>
}

// -----

tile.program @p(%y: !tile.view<64xf32>) {results = 1 : i64} {
  // expected-error @+1 {{expected a loop over tiles around it}}
  %at = tile.turn_offsets {turn = 0 : i64} : index
}

// -----

tile.program @p(%y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [32] turn [0, 2] {
    // expected-error @+1 {{expected a turn below 2, found 2}}
    %at = tile.turn_offsets {turn = 2 : i64} : index
  }
}

// -----

tile.program @p(%y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [32] turn [0, 2] {
    // expected-error @+1 {{as many offsets as the loop has: 1, found 2}}
    %at, %other = tile.turn_offsets {turn = 1 : i64} : index, index
  }
}

// -----

tile.program @p(%y: !tile.view<64xf32>) {results = 1 : i64} {
  // expected-error @+1 {{expected different dimensions below 1 as reversed, found [1]}}
  tile.for_tiles (%i) extents [64] steps [32] reversed [1] {
  }
}

// -----

tile.program @p(%y: !tile.view<64x64xf32>) {results = 1 : i64} {
  // expected-error @+1 {{expected different dimensions below 1 as fastest, found [1]}}
  tile.for_tiles (%b, %i, %j) extents [4, 64, 64] steps [1, 32, 32] fastest [1] {
  }
}

// -----

tile.program @p(%y: !tile.view<64xf32>) {results = 1 : i64} {
  // expected-error @+1 {{expected different dimensions below 1 as reversed, found [0, 0]}}
  tile.for_tiles (%i) extents [64] steps [32] reversed [0, 0] {
  }
}

// -----

tile.program @p(%x: !tile.view<64x64xf32>) {results = 1 : i64} {
  %a = tile.alloc : !tile.buffer<64x32xbf16>
  // expected-error @below {{expected a result of shape [32, 64], found [64, 32]}}
  %b = tile.transpose %a {dims = array<i64: 1, 0>} : !tile.buffer<64x32xbf16> -> !tile.buffer<64x32xbf16>
}

// -----

tile.program @p(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [8] {
    // expected-error @below {{expected a number for each result and dimension of the view: 2, found 1}}
    %a, %b = tile.load_window %x[%i] {taps = array<i64: 0>} : !tile.view<64xf32> -> tensor<8xf32>, tensor<8xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [8] {
    // expected-error @below {{expected results of one type, tensor<8xf32>, found tensor<4xf32>}}
    %a, %b = tile.load_window %x[%i] {taps = array<i64: 0, 1>} : !tile.view<64xf32> -> tensor<8xf32>, tensor<4xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [8] {
    // expected-error @below {{expected a view of integers of 1 dimensions, found !tile.view<64xf32>}}
    %a = tile.load_index %x[%i] {most = 8 : i64} : !tile.view<64xf32>
  }
}

// -----

tile.program @p(%x: !tile.view<8x8xi32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [8] {
    // expected-error @below {{expected a view of integers of 1 dimensions, found !tile.view<8x8xi32>}}
    %a = tile.load_index %x[%i] {most = 8 : i64} : !tile.view<8x8xi32>
  }
}

// -----

tile.program @p(%x: !tile.view<8xi32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [8] {
    // expected-error @below {{expected tiles of 1 row or more, found 0}}
    %a, %b, %c = tile.find_segment %x[%i] {rows = 0 : i64, most = 64 : i64} : !tile.view<8xi32>
  }
}

// -----

// expected-error @below {{expected `results` of the tile.program}}
tile.program @f(%y: !tile.view<64xf32>) {threads = 32 : i64} {}

// -----

tile.program @p(%y: !tile.view<256x32xf32>) {results = 1 : i64} {
  // expected-error @below {{expected a multiple of 128 rows in Tensor Memory, found tensor<64x32xf32>}}
  %sums = tile.accumulator : !tile.accumulator<tensor<64x32xf32>>
}

// -----

tile.program @p(%y: !tile.view<256x32xf32>) {results = 1 : i64} {
  // expected-error @below {{expected sums of f32 or i32 in Tensor Memory, found f16}}
  %sums = tile.accumulator : !tile.accumulator<tensor<128x32xf16>>
}

// -----

tile.program @p(%y: !tile.view<256x32xf32>) {results = 1 : i64} {
  %sums = tile.accumulator : !tile.accumulator<tensor<128x64xf32>>
  %zero = arith.constant 0.0 : f32
  %z = tile.splat %zero : f32 -> tensor<128x32xf32>
  // expected-error @below {{expected an accumulator of type !tile.accumulator<tensor<128x32xf32>>, found !tile.accumulator<tensor<128x64xf32>>}}
  %p = tile.as_pending %z in %sums : tensor<128x32xf32>, !tile.accumulator<tensor<128x64xf32>> -> !tile.pending<tensor<128x32xf32>>
}

// -----

#x = #tile.fragment<((128),(4)):((4),(1))>
tile.program @p(%x: !tile.view<1x512xf32>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !tile.view<1x512xf32> -> tensor<1x512xf32, #x>
  // expected-error @below {{expected an element for each thread, [1, 128] with the fragment ((128),()):((1),()), found [1, 1], ((128),()):((0),())}}
  %1 = tile.fold %0 {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #tile.fragment<((128),()):((0),())>> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
}

// -----

tile.program @p(%x: !tile.view<1x512xf32>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !tile.view<1x512xf32> -> tensor<1x512xf32>
  // expected-error @below {{expected tiles with fragments: threads combine what they hold}}
  %1 = tile.unfold %0 {axes = array<i64: 1>} : tensor<1x512xf32> -> tensor<1x512xf32>
}

// -----

// Loops go forward, and end.
tile.program @p() {results = 0 : i64} {
  %zero = arith.constant 0 : index
  %end = arith.constant 8 : index
  // expected-error @below {{expected a step of 1 or more, found 0}}
  scf.for %i = %zero to %end step %zero {
  }
}

// -----

tile.program @p() {results = 0 : i64} {
  %zero = arith.constant 0 : index
  %end = arith.constant 8 : index
  %back = arith.constant -1 : index
  // expected-error @below {{expected a step of 1 or more, found -1}}
  scf.for %i = %end to %zero step %back {
  }
}
