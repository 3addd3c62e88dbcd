// RUN: irc-opt %s -p take-turns --split-input-file --verify-diagnostics | filecheck %s

// The bounds of the loop depend on the tile: each consumer skips as many stages as the other's tile has, which it computes
// from that tile's offsets. Where a branch is not taken no stage is waited for.
// CHECK:       tile.partitions @load
// CHECK-NOT:     tile.turn_offsets
// CHECK:       } @compute_0
// CHECK:         tile.for_tiles (%i_1) {{.*}} turn [0, 2]
// CHECK:           tile.begin_turn
// CHECK-NEXT:      scf.if
// CHECK:           tile.end_turn
// CHECK-NEXT:      [[OTHER:%[0-9]+]] = tile.turn_offsets {turn = 1 : i64} : index
// CHECK:           [[HIGH:%high[_0-9]*]] = arith.addi [[OTHER]], [[STEP:%[0-9]+]] : index
// CHECK:           arith.floordivsi {{%[0-9]+}}, [[STEP]] : index
// CHECK:           [[COUNT:%[0-9]+]] = arith.select
// CHECK-NEXT:      tile.skip %channel by [[COUNT]]
// CHECK:       } @compute_1
// CHECK:         tile.for_tiles (%i_2) {{.*}} turn [1, 2]
// CHECK:           tile.turn_offsets {turn = 0 : i64} : index
// CHECK:           tile.skip %channel
// CHECK-NEXT:      tile.begin_turn
// CHECK-NEXT:      scf.if
// CHECK:           tile.end_turn
// CHECK-NOT:       tile.skip
tile.program @values(%x: !tile.view<4xf32>) {results = 1 : i64, config = #kernel.config<schedule = "pingpong">} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
  tile.partitions @load warps 4 {
    tile.for_tiles (%i) extents [256] steps [32] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %step = arith.constant 32 : index
      %high = arith.addi %i, %step : index
      scf.for %j = %c0 to %high step %step {
        %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
        tile.commit %s
      }
    }
  } @compute_0 warps 4 {
    tile.for_tiles (%i) extents [256] steps [32] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %step = arith.constant 32 : index
      %high = arith.addi %i, %step : index
      %any = arith.cmpi slt, %c0, %high : index
      scf.if %any {
        scf.for %j = %c0 to %high step %step {
          %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
          tile.release %s
        }
      }
    }
  } @compute_1 warps 4 {
    tile.for_tiles (%i) extents [256] steps [32] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %step = arith.constant 32 : index
      %high = arith.addi %i, %step : index
      %any = arith.cmpi slt, %c0, %high : index
      scf.if %any {
        scf.for %j = %c0 to %high step %step {
          %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
          tile.release %s
        }
      }
    }
  }
}

// -----

// How often the inner loop runs is no expression of the tile's offsets.
tile.program @nested(%x: !tile.view<4xf32>) {results = 1 : i64, config = #kernel.config<schedule = "pingpong">} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
  tile.partitions @load warps 4 {
    tile.for_tiles (%i) extents [256] steps [32] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c1 = arith.constant 1 : index
      scf.for %j = %c0 to %c4 step %c1 {
        scf.for %k = %c0 to %j step %c1 {
          %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
          tile.commit %s
        }
      }
    }
  } @compute_0 warps 4 {
    // expected-error @+1 {{expected how often a tile's stages are filled to depend on the tile's offsets, found a loop's variable or argument}}
    tile.for_tiles (%i) extents [256] steps [32] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c1 = arith.constant 1 : index
      scf.for %j = %c0 to %c4 step %c1 {
        scf.for %k = %c0 to %j step %c1 {
          %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
          tile.release %s
        }
      }
    }
  } @compute_1 warps 4 {
    tile.for_tiles (%i) extents [256] steps [32] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c1 = arith.constant 1 : index
      scf.for %j = %c0 to %c4 step %c1 {
        scf.for %k = %c0 to %j step %c1 {
          %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
          tile.release %s
        }
      }
    }
  }
}

// -----

// A bound that is loaded at the tile's place is loaded again, at the other tile's.
// CHECK-LABEL: tile.program @loaded
// CHECK:       } @compute_0
// CHECK:         tile.end_turn
// CHECK-NEXT:      [[OTHER:%[0-9]+]] = tile.turn_offsets {turn = 1 : i64} : index
// CHECK:           [[HIGH:%high[_0-9]*]] = tile.load_index %x{{.*}}{most = 256 : i64} : !tile.view<8xi32>
// CHECK:           arith.subi [[HIGH]]
// CHECK:           tile.skip %channel by
tile.program @loaded(%x: !tile.view<8xi32>) {results = 1 : i64, config = #kernel.config<schedule = "pingpong">} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
  tile.partitions @load warps 4 {
    tile.for_tiles (%i) extents [8] steps [1] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %step = arith.constant 32 : index
      %high = tile.load_index %x[%i] {most = 256 : i64} : !tile.view<8xi32>
      scf.for %j = %c0 to %high step %step {
        %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
        tile.commit %s
      }
    }
  } @compute_0 warps 4 {
    tile.for_tiles (%i) extents [8] steps [1] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %step = arith.constant 32 : index
      %high = tile.load_index %x[%i] {most = 256 : i64} : !tile.view<8xi32>
      scf.for %j = %c0 to %high step %step {
        %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
        tile.release %s
      }
    }
  } @compute_1 warps 4 {
    tile.for_tiles (%i) extents [8] steps [1] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %step = arith.constant 32 : index
      %high = tile.load_index %x[%i] {most = 256 : i64} : !tile.view<8xi32>
      scf.for %j = %c0 to %high step %step {
        %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<32xf32, #tile.shared<(32):(1)>>>
        tile.release %s
      }
    }
  }
}
