// RUN: irc-opt %s -p expand-schedule --split-input-file --verify-diagnostics | filecheck %s

#f = #tile.fragment<(32,1):(1,32)>

// What is loaded is used an iteration later: the first load stands before the loop, which keeps its bounds. In its last
// iteration it loads what it uses. Nothing stands behind it. As the bounds depend on the tile, all of it is in a branch that
// runs where there is something to load.
// CHECK-LABEL: @loads
// CHECK:         [[RUNS:%[0-9]+]] = arith.cmpi slt, %low, %high : index
// CHECK-NEXT:    [[RESULT:%[a-z_0-9]+]] = scf.if [[RUNS]]
// CHECK:         [[X0:%x[_0-9]*]] = tile.load %v[%low]
// CHECK-NEXT:    [[SUM:%[a-z_0-9]+]], {{%[0-9]+}} = scf.for %i = %low to %high step %c1 iter_args([[S:%s[_0-9]*]] = %zero, [[X:%x[_0-9]*]] = [[X0]])
// CHECK-NEXT:      [[ONE:%[0-9]+]] = arith.constant 1 : index
// CHECK-NEXT:      [[STEP:%[0-9]+]] = arith.muli [[ONE]], %c1
// CHECK-NEXT:      [[NEXT:%[0-9]+]] = arith.addi %i, [[STEP]]
// CHECK-NEXT:      [[INSIDE:%[0-9]+]] = arith.cmpi slt, [[NEXT]], %high : index
// CHECK-NEXT:      [[CLAMPED:%[0-9]+]] = arith.select [[INSIDE]], [[NEXT]], %i : index
// CHECK-NEXT:      [[LOADED:%x[_0-9]*]] = tile.load %v{{.}}[[CLAMPED]]]
// CHECK-NEXT:      [[ADDED:%t[_0-9]*]] = tile.map [[S]], [[X]]
// CHECK:           scf.yield [[ADDED]], [[LOADED]]
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.yield [[SUM]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:    scf.yield %zero
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.store [[RESULT]]
tile.program @loads(%v: !tile.view<128xf32>, %y: !tile.view<32xf32>) {results = 1 : i64, threads = 32 : i64} {
  tile.for_tiles (%low) extents [4] steps [1] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %high = arith.constant 4 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<32xf32, #f>
    %sum = scf.for %i = %low to %high step %c1 iter_args(%s = %zero) -> (tensor<32xf32, #f>) {
      %x = tile.load %v[%i] {scheduled = #tile.at<stage = 0, order = 0>} : !tile.view<128xf32> -> tensor<32xf32, #f>
      %t = tile.map %s, %x {scheduled = #tile.at<stage = 1, order = 1>} : tensor<32xf32, #f>, tensor<32xf32, #f> -> tensor<32xf32, #f> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      scf.yield %t : tensor<32xf32, #f>
    } {clamped}
    tile.store %sum, %y[%c0] : tensor<32xf32, #f>, !tile.view<32xf32>
  }
}

// -----

#f = #tile.fragment<(32,1):(1,32)>

// A result of an earlier stage is carried to the end: the loop has gone on from it.
// CHECK-LABEL: @early_result
// CHECK:         [[X0:%x[_0-9]*]] = tile.load
// CHECK-NEXT:    %sum, {{%[0-9]+}}, [[END:%[a-z_0-9]+]] = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero, [[X:%[a-z_0-9]+]] = [[X0]], {{%[a-z_0-9]+}} = %zero)
// CHECK:           [[NEXT:%x[_0-9]*]] = tile.load
// CHECK:           scf.yield {{%[a-z_0-9]+}}, [[NEXT]], [[X]]
// CHECK:         tile.store [[END]], %z
tile.program @early_result(%v: !tile.view<128xf32>, %y: !tile.view<32xf32>, %z: !tile.view<32xf32>) {results = 2 : i64, threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.splat %f0 : f32 -> tensor<32xf32, #f>
  %sum, %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero, %l = %zero) -> (tensor<32xf32, #f>, tensor<32xf32, #f>) {
    %x = tile.load %v[%i] {scheduled = #tile.at<stage = 0, order = 0>} : !tile.view<128xf32> -> tensor<32xf32, #f>
    %t = tile.map %s, %x {scheduled = #tile.at<stage = 1, order = 1>} : tensor<32xf32, #f>, tensor<32xf32, #f> -> tensor<32xf32, #f> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    scf.yield %t, %x : tensor<32xf32, #f>, tensor<32xf32, #f>
  } {clamped}
  tile.store %sum, %y[%c0] : tensor<32xf32, #f>, !tile.view<32xf32>
  tile.store %last, %z[%c0] : tensor<32xf32, #f>, !tile.view<32xf32>
}

// -----

#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
!stage = !tile.buffer<64x32xbf16, #shared>

// Stages of a channel: copies beyond the end are left out before the loop, and made once more inside. The loop begins
// with no stage to release. Behind it the last one is released, and the two that were filled ahead are skipped.
// CHECK-LABEL: @stages
// CHECK:         [[SLOT:%[a-z_0-9]+]], [[A:%[a-z_0-9]+]] = tile.acquire [[CHANNEL:%[a-z_0-9]+]]
// CHECK-NEXT:    [[INSIDE0:%[0-9]+]] = arith.cmpi ult, %c0, %n
// CHECK-NEXT:    scf.if [[INSIDE0]] {
// CHECK-NEXT:      tile.copy %x[%c0, %c0] -> [[A]]
// CHECK-NEXT:      tile.copy %x[%c64, %c0] -> [[A]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.commit [[SLOT]]
// CHECK-NEXT:    [[SLOT1:%[a-z_0-9]+]], [[A1:%[a-z_0-9]+]] = tile.acquire [[CHANNEL]]
// CHECK-NEXT:    [[ONE:%[0-9]+]] = arith.constant 32 : index
// CHECK-NEXT:    [[INSIDE1:%[0-9]+]] = arith.cmpi ult, [[ONE]], %n
// CHECK-NEXT:    scf.if [[INSIDE1]] {
// CHECK-NEXT:      tile.copy %x[%c0, [[ONE]]] -> [[A1]]
// CHECK:         [[NONE:%[0-9]+]] = tile.no_slot
// CHECK-NEXT:    [[LAST:%[0-9]+]] = scf.for %k = %c0 to %n step %c32 iter_args([[PREVIOUS:%[a-z_0-9]+]] = [[NONE]])
// CHECK:           [[CLAMPED:%[0-9]+]] = arith.select {{.*}}, %k : index
// CHECK-NEXT:      [[READ:%[a-z_0-9]+]], [[B:%[a-z_0-9]+]] = tile.wait [[CHANNEL]]
// CHECK-NEXT:      tile.release [[PREVIOUS]]
// CHECK-NEXT:      [[FILLED:%[a-z_0-9]+]], [[C:%[a-z_0-9]+]] = tile.acquire [[CHANNEL]]
// CHECK-NEXT:      tile.copy %x[%c0, [[CLAMPED]]] -> [[C]]
// CHECK-NEXT:      tile.copy %x[%c64, [[CLAMPED]]] -> [[C]]
// CHECK-NEXT:      tile.commit [[FILLED]]
// CHECK-NEXT:      scf.yield [[READ]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.release [[LAST]]
// CHECK-NEXT:    [[LEFT:%[0-9]+]] = arith.constant 2 : index
// CHECK-NEXT:    tile.skip [[CHANNEL]] by [[LEFT]]
tile.program @stages(%x: !tile.view<128x256xbf16>) {results = 0 : i64, threads = 128 : i64} {
  %channel = tile.channel {stages = 3 : i64, in_step} : !tile.channel<!stage>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  scf.for %k = %c0 to %n step %c32 {
    %filled, %a = tile.acquire %channel {scheduled = #tile.at<stage = 0, order = 2>} : !tile.channel<!stage>
    tile.copy %x[%c0, %k] -> %a {scheduled = #tile.at<stage = 0, order = 3>, via = "cp_async"} : !tile.view<128x256xbf16> -> !stage
    tile.copy %x[%c64, %k] -> %a {scheduled = #tile.at<stage = 0, order = 4>, via = "cp_async"} : !tile.view<128x256xbf16> -> !stage
    tile.commit %filled {scheduled = #tile.at<stage = 0, order = 5>}
    %read, %b = tile.wait %channel {scheduled = #tile.at<stage = 2, order = 0>} : !tile.channel<!stage>
    tile.release %read {scheduled = #tile.at<stage = 3, order = 1>}
  } {clamped}
}

// -----

#f = #tile.fragment<(32,1):(1,32)>

tile.program @stored(%v: !tile.view<128xf32>, %y: !tile.view<128xf32>, %z: !tile.view<128xf32>) {results = 2 : i64, threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %x = tile.load %v[%i] {scheduled = #tile.at<stage = 0, order = 0>} : !tile.view<128xf32> -> tensor<32xf32, #f>
    // expected-error @+1 {{expected what may run once more before the last stage of a clamped loop, found tile.store}}
    tile.store %x, %y[%i] {scheduled = #tile.at<stage = 0, order = 1>} : tensor<32xf32, #f>, !tile.view<128xf32>
    tile.store %x, %z[%i] {scheduled = #tile.at<stage = 1, order = 2>} : tensor<32xf32, #f>, !tile.view<128xf32>
  } {clamped}
}

// -----

#f = #tile.fragment<(32,1):(1,32)>

// Places that are computed by divisions may be computed again: those of the place inside of the bounds have been.
// CHECK-LABEL: @remainders
// CHECK:         scf.for %i = %c0 to %c4 step %c1
// CHECK:           [[INSIDE:%[0-9]+]] = arith.select
// CHECK-NEXT:      [[PLACE:%p[_0-9]*]] = arith.remui [[INSIDE]], %c3
// CHECK-NEXT:      tile.load %v{{.}}[[PLACE]]]
tile.program @remainders(%v: !tile.view<128xf32>, %y: !tile.view<32xf32>) {results = 1 : i64, threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.splat %f0 : f32 -> tensor<32xf32, #f>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (tensor<32xf32, #f>) {
    %p = arith.remui %i, %c3 {scheduled = #tile.at<stage = 0, order = 0>} : index
    %x = tile.load %v[%p] {scheduled = #tile.at<stage = 0, order = 1>} : !tile.view<128xf32> -> tensor<32xf32, #f>
    %t = tile.map %s, %x {scheduled = #tile.at<stage = 1, order = 2>} : tensor<32xf32, #f>, tensor<32xf32, #f> -> tensor<32xf32, #f> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    scf.yield %t : tensor<32xf32, #f>
  } {clamped}
  tile.store %sum, %y[%c0] : tensor<32xf32, #f>, !tile.view<32xf32>
}
