// RUN: irc-opt %s -p expand-schedule --split-input-file --verify-diagnostics | filecheck %s

#f = #tile.fragment<(32,1):(1,32)>

// What is loaded is used an iteration later: the first load stands before the loop, the last use behind it.
// CHECK-LABEL: @ahead
// CHECK:         [[X0:%x[_0-9]*]] = tile.load %v[%c0]
// CHECK-NEXT:    [[ONE:%[0-9]+]] = arith.constant 1 : index
// CHECK-NEXT:    [[SUM:%[0-9]+]], [[LAST:%[0-9]+]] = scf.for %i = [[ONE]] to %c4 step %c1 iter_args([[S:%s[_0-9]*]] = %zero, [[X:%x[_0-9]*]] = [[X0]])
// CHECK-NEXT:      [[NEXT:%x[_0-9]*]] = tile.load %v[%i
// CHECK-NEXT:      [[ADDED:%t[_0-9]*]] = tile.map [[S]], [[X]]
// CHECK:           scf.yield [[ADDED]], [[NEXT]]
// CHECK:         [[END:%t[_0-9]*]] = tile.map [[SUM]], [[LAST]]
// CHECK:         tile.store [[END]]
tile.program @ahead(%v: !tile.view<128xf32>, %y: !tile.view<32xf32>) {results = 1 : i64, threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.splat %f0 : f32 -> tensor<32xf32, #f>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (tensor<32xf32, #f>) {
    %x = tile.load %v[%i] {scheduled = #tile.at<stage = 0, order = 0>} : !tile.view<128xf32> -> tensor<32xf32, #f>
    %t = tile.map %s, %x {scheduled = #tile.at<stage = 1, order = 1>} : tensor<32xf32, #f>, tensor<32xf32, #f> -> tensor<32xf32, #f> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    scf.yield %t : tensor<32xf32, #f>
  }
  tile.store %sum, %y[%c0] : tensor<32xf32, #f>, !tile.view<32xf32>
}

// -----

#f = #tile.fragment<(32,1):(1,32)>

// Bounds that depend on the tile: the loop and what stands before and behind it are in a branch that runs where the loop
// has an iteration. Elsewhere the result is what the loop begins with.
// CHECK-LABEL: @values
// CHECK:         [[RUNS:%[0-9]+]] = arith.cmpi slt, %c0, %i : index
// CHECK-NEXT:    [[RESULT:%sum[_0-9]*]] = scf.if [[RUNS]]
// CHECK-NEXT:      [[X0:%x[_0-9]*]] = tile.load %v[%c0]
// CHECK:           scf.for {{.*}} to %i step %c1
// CHECK:           [[END:%t[_0-9]*]] = tile.map
// CHECK:           scf.yield [[END]]
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %zero
// CHECK:         tile.store [[RESULT]]
tile.program @values(%v: !tile.view<128xf32>, %y: !tile.view<32xf32>) {results = 1 : i64, threads = 32 : i64} {
  tile.for_tiles (%i) extents [4] steps [1] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<32xf32, #f>
    %sum = scf.for %j = %c0 to %i step %c1 iter_args(%s = %zero) -> (tensor<32xf32, #f>) {
      %x = tile.load %v[%j] {scheduled = #tile.at<stage = 0, order = 0>} : !tile.view<128xf32> -> tensor<32xf32, #f>
      %t = tile.map %s, %x {scheduled = #tile.at<stage = 1, order = 1>} : tensor<32xf32, #f>, tensor<32xf32, #f> -> tensor<32xf32, #f> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      scf.yield %t : tensor<32xf32, #f>
    }
    tile.store %sum, %y[%c0] : tensor<32xf32, #f>, !tile.view<32xf32>
  }
}

// -----

#f = #tile.fragment<(32,1):(1,32)>

// Two iterations before the loop: where it has fewer, it runs as it stood.
// CHECK-LABEL: @fewer
// CHECK:         [[PLACE:%[0-9]+]] = arith.addi %c0, {{%[0-9]+}} : index
// CHECK-NEXT:    [[RUNS:%[0-9]+]] = arith.cmpi slt, [[PLACE]], %i : index
// CHECK-NEXT:    scf.if [[RUNS]]
// CHECK:           scf.for
// CHECK:         } else {
// CHECK-NEXT:      [[PLAIN:%sum[_0-9]*]] = scf.for %j{{[_0-9]*}} = %c0 to %i step %c1
// CHECK-NEXT:        tile.load
// CHECK-NOT:         scheduled
// CHECK:           scf.yield [[PLAIN]]
tile.program @fewer(%v: !tile.view<128xf32>, %y: !tile.view<32xf32>) {results = 1 : i64, threads = 32 : i64} {
  tile.for_tiles (%i) extents [4] steps [1] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<32xf32, #f>
    %sum = scf.for %j = %c0 to %i step %c1 iter_args(%s = %zero) -> (tensor<32xf32, #f>) {
      %x = tile.load %v[%j] {scheduled = #tile.at<stage = 0, order = 0>} : !tile.view<128xf32> -> tensor<32xf32, #f>
      %t = tile.map %s, %x {scheduled = #tile.at<stage = 2, order = 1>} : tensor<32xf32, #f>, tensor<32xf32, #f> -> tensor<32xf32, #f> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      scf.yield %t : tensor<32xf32, #f>
    }
    tile.store %sum, %y[%c0] : tensor<32xf32, #f>, !tile.view<32xf32>
  }
}

// -----

#f = #tile.fragment<(32,1):(1,32)>

// A loop without places is left alone.
// CHECK-LABEL: @plain
// CHECK:         scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero)
// CHECK-NEXT:      tile.load
tile.program @plain(%v: !tile.view<128xf32>, %y: !tile.view<32xf32>) {results = 1 : i64, threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.splat %f0 : f32 -> tensor<32xf32, #f>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (tensor<32xf32, #f>) {
    %x = tile.load %v[%i] : !tile.view<128xf32> -> tensor<32xf32, #f>
    scf.yield %x : tensor<32xf32, #f>
  }
  tile.store %sum, %y[%c0] : tensor<32xf32, #f>, !tile.view<32xf32>
}

// -----

#f = #tile.fragment<(32,1):(1,32)>

tile.program @early(%v: !tile.view<128xf32>, %y: !tile.view<32xf32>) {results = 1 : i64, threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %x = tile.load %v[%i] {scheduled = #tile.at<stage = 1, order = 0>} : !tile.view<128xf32> -> tensor<32xf32, #f>
    // expected-error @+1 {{the schedule runs tile.store at stage 0, order 1, before tile.load, whose result it uses, at stage 1, order 0}}
    tile.store %x, %y[%c0] {scheduled = #tile.at<stage = 0, order = 1>} : tensor<32xf32, #f>, !tile.view<32xf32>
  }
}

// -----

#f = #tile.fragment<(32,1):(1,32)>

tile.program @some(%v: !tile.view<128xf32>, %y: !tile.view<32xf32>) {results = 1 : i64, threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %x = tile.load %v[%i] {scheduled = #tile.at<stage = 0, order = 0>} : !tile.view<128xf32> -> tensor<32xf32, #f>
    // expected-error @+1 {{tile.store has no place in its loop's schedule}}
    tile.store %x, %y[%c0] : tensor<32xf32, #f>, !tile.view<32xf32>
  }
}
