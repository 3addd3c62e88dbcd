// RUN: irc-opt %s -p guard-masks --split-input-file | filecheck %s

// The largest column of a step is j + 31, the smallest row of the tile i: the mask hides nothing where i - (j + 31) is
// not negative, and what the branch gives is the product itself.
// CHECK-LABEL: @causal
// CHECK:         [[S:%s]] = tile.dot
// CHECK-DAG:     [[ALL:%[a-z0-9_]+]] = arith.cmpi sge, [[LEAST:%[a-z0-9_]+]], {{%[a-z0-9_]+}} : index
// CHECK:         %masked = scf.if [[ALL]] -> (tensor<64x32xf32, {{#frag[0-9]*}}>) {
// CHECK-NEXT:      scf.yield [[S]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      [[MAP:%masked[_0-9]*]] = tile.map %columns, %rows, [[S]]
// CHECK:             arith.select
// CHECK:           scf.yield [[MAP]]
// CHECK:         tile.reduce %masked

#frag = #tile.fragment<((4,8,2,2),(2,2,2,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((4,8,2,2),(2,2)):((0,1,16,0),(8,32))>
#frag2 = #tile.fragment<((8,16),(8,4)):((512,1),(64,16))>
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((4,32),(8,2)):((512,1),(64,32))>
#frag4 = #tile.fragment<((4,8,2,2),(2,2)):((2,0,0,8),(1,16))>
tile.program @causal(%x: !tile.view<256x64xbf16>, %w: !tile.view<64x256xbf16>, %y: !tile.view<256x1xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = arith.constant 256 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x32xf32, #frag>
    %m0 = tile.splat %none : f32 -> tensor<64x1xf32, #frag1>
    %xt = tile.load %x[%i, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16, #frag2>
    %xt_1 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    tile.write %xt, %xt_1 : tensor<64x64xbf16, #frag2>, !tile.buffer<64x64xbf16, #shared>
    %rows = tile.iota %i {axis = 0 : i64} : tensor<64x1xindex, #frag1>
    %wt = tile.alloc : !tile.buffer<64x32xbf16, #shared1>
    %max = scf.for %j = %c0 to %n step %c32 iter_args(%m = %m0) -> (tensor<64x1xf32, #frag1>) {
      %wt_1 = tile.load %w[%c0, %j] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #frag3>
      tile.write %wt_1, %wt : tensor<64x32xbf16, #frag3>, !tile.buffer<64x32xbf16, #shared1>
      %s = tile.dot %xt_1, %wt, %s0 {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag>
      %columns = tile.iota %j {axis = 1 : i64} : tensor<1x32xindex, #frag4>
      %masked = tile.map %columns, %rows, %s : tensor<1x32xindex, #frag4>, tensor<64x1xindex, #frag1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag> {
      ^bb0(%column: index, %row: index, %v: f32):
        %allowed = arith.cmpi sle, %column, %row : index
        %r = arith.select %allowed, %v, %none : f32
        tile.yield %r : f32
      }
      %m1 = tile.reduce %masked {axes = array<i64: 1>} : tensor<64x32xf32, #frag> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.maximumf %a, %b : f32
        tile.yield %c : f32
      }
      %m2 = tile.map %m, %m1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a_1: f32, %b_1: f32):
        %c_1 = arith.maximumf %a_1, %b_1 : f32
        tile.yield %c_1 : f32
      }
      scf.yield %m2 : tensor<64x1xf32, #frag1>
    }
    tile.store %max, %y[%i, %c0] : tensor<64x1xf32, #frag1>, !tile.view<256x1xf32>
  }
}

// -----

// Places may be cast before, for the loop or for a step: those of kernels written in Python are.
// CHECK-LABEL: @counted
// CHECK:         [[S:%s]] = tile.dot
// CHECK:         %masked = scf.if {{%[a-z0-9_]+}} -> (tensor<64x32xf32, {{#frag[0-9]*}}>) {
// CHECK-NEXT:      scf.yield [[S]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tile.map %numbers, %counts, [[S]]

#frag = #tile.fragment<((4,8,2,2),(2,2,2,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((4,8,2,2),(2,2)):((0,1,16,0),(8,32))>
#frag2 = #tile.fragment<((8,16),(8,4)):((512,1),(64,16))>
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((4,32),(8,2)):((512,1),(64,32))>
#frag4 = #tile.fragment<((4,8,2,2),(2,2)):((2,0,0,8),(1,16))>
tile.program @counted(%x: !tile.view<256x64xbf16>, %w: !tile.view<64x256xbf16>, %y: !tile.view<256x1xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = arith.constant 256 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x32xf32, #frag>
    %m0 = tile.splat %none : f32 -> tensor<64x1xf32, #frag1>
    %xt = tile.load %x[%i, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16, #frag2>
    %xt_1 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    tile.write %xt, %xt_1 : tensor<64x64xbf16, #frag2>, !tile.buffer<64x64xbf16, #shared>
    %rows = tile.iota %i {axis = 0 : i64} : tensor<64x1xindex, #frag1>
    %counts = tile.map %rows : tensor<64x1xindex, #frag1> -> tensor<64x1xi32, #frag1> {
    ^bb0(%count: index):
      %cast_1 = arith.index_cast %count : index to i32
      tile.yield %cast_1 : i32
    }
    %wt = tile.alloc : !tile.buffer<64x32xbf16, #shared1>
    %max = scf.for %j = %c0 to %n step %c32 iter_args(%m = %m0) -> (tensor<64x1xf32, #frag1>) {
      %wt_1 = tile.load %w[%c0, %j] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #frag3>
      tile.write %wt_1, %wt : tensor<64x32xbf16, #frag3>, !tile.buffer<64x32xbf16, #shared1>
      %s = tile.dot %xt_1, %wt, %s0 {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag>
      %columns = tile.iota %j {axis = 1 : i64} : tensor<1x32xindex, #frag4>
      %numbers = tile.map %columns : tensor<1x32xindex, #frag4> -> tensor<1x32xi32, #frag4> {
      ^bb0(%number: index):
        %cast = arith.index_cast %number : index to i32
        tile.yield %cast : i32
      }
      %masked = tile.map %numbers, %counts, %s : tensor<1x32xi32, #frag4>, tensor<64x1xi32, #frag1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag> {
      ^bb0(%column: i32, %row: i32, %v: f32):
        %allowed = arith.cmpi sle, %column, %row : i32
        %r = arith.select %allowed, %v, %none : f32
        tile.yield %r : f32
      }
      %m1 = tile.reduce %masked {axes = array<i64: 1>} : tensor<64x32xf32, #frag> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.maximumf %a, %b : f32
        tile.yield %c : f32
      }
      %m2 = tile.map %m, %m1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a_1: f32, %b_1: f32):
        %c_1 = arith.maximumf %a_1, %b_1 : f32
        tile.yield %c_1 : f32
      }
      scf.yield %m2 : tensor<64x1xf32, #frag1>
    }
    tile.store %max, %y[%i, %c0] : tensor<64x1xf32, #frag1>, !tile.view<256x1xf32>
  }
}

// -----

// A window has two conditions. Places may be integers of 32 bits, and what is chosen computed: that stays.
// CHECK-LABEL: @window
// CHECK:         arith.constant -31 : index
// CHECK:         arith.constant -24 : index
// CHECK:         [[ALL:%[a-z0-9_]+]] = arith.andi {{.*}} : i1
// CHECK:         %masked = scf.if [[ALL]]
// CHECK-NEXT:      [[MAP:%masked[_0-9]*]] = tile.map %s :
// CHECK-NEXT:      ^bb0({{%[a-z0-9]+}}: f32):
// CHECK-NEXT:        arith.mulf
// CHECK-NEXT:        tile.yield
// CHECK:         } else {

#frag = #tile.fragment<((4,8,2,2),(2,2,2,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((4,8,2,2),(2,2)):((0,1,16,0),(8,32))>
#frag2 = #tile.fragment<((8,16),(8,4)):((512,1),(64,16))>
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((4,32),(8,2)):((512,1),(64,32))>
#frag4 = #tile.fragment<((4,8,2,2),(2,2)):((2,0,0,8),(1,16))>
tile.program @window(%x: !tile.view<256x64xbf16>, %w: !tile.view<64x256xbf16>, %y: !tile.view<256x1xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = arith.constant 256 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x32xf32, #frag>
    %m0 = tile.splat %none : f32 -> tensor<64x1xf32, #frag1>
    %xt = tile.load %x[%i, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16, #frag2>
    %xt_1 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    tile.write %xt, %xt_1 : tensor<64x64xbf16, #frag2>, !tile.buffer<64x64xbf16, #shared>
    %rows = tile.iota %i {axis = 0 : i64} : tensor<64x1xindex, #frag1>
    %wt = tile.alloc : !tile.buffer<64x32xbf16, #shared1>
    %max = scf.for %j = %c0 to %n step %c32 iter_args(%m = %m0) -> (tensor<64x1xf32, #frag1>) {
      %wt_1 = tile.load %w[%c0, %j] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #frag3>
      tile.write %wt_1, %wt : tensor<64x32xbf16, #frag3>, !tile.buffer<64x32xbf16, #shared1>
      %s = tile.dot %xt_1, %wt, %s0 {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag>
      %columns = tile.iota %j {axis = 1 : i64} : tensor<1x32xindex, #frag4>
      %masked = tile.map %columns, %rows, %s : tensor<1x32xindex, #frag4>, tensor<64x1xindex, #frag1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag> {
      ^bb0(%column: index, %row: index, %v: f32):
        %c0_i64 = arith.index_cast %column : index to i64
        %c_i32 = arith.trunci %c0_i64 : i64 to i32
        %r0_i64 = arith.index_cast %row : index to i64
        %r_i32 = arith.trunci %r0_i64 : i64 to i32
        %w40 = arith.constant 40 : i32
        %end = arith.addi %c_i32, %w40 : i32
        %before = arith.cmpi sle, %c_i32, %r_i32 : i32
        %near = arith.cmpi sgt, %end, %r_i32 : i32
        %allowed = arith.andi %before, %near : i1
        %twice = arith.mulf %v, %zero : f32
        %r = arith.select %allowed, %twice, %none : f32
        tile.yield %r : f32
      }
      %m1 = tile.reduce %masked {axes = array<i64: 1>} : tensor<64x32xf32, #frag> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.maximumf %a, %b : f32
        tile.yield %c : f32
      }
      %m2 = tile.map %m, %m1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a_1: f32, %b_1: f32):
        %c_1 = arith.maximumf %a_1, %b_1 : f32
        tile.yield %c_1 : f32
      }
      scf.yield %m2 : tensor<64x1xf32, #frag1>
    }
    tile.store %max, %y[%i, %c0] : tensor<64x1xf32, #frag1>, !tile.view<256x1xf32>
  }
}

// -----

// What is hidden may come first: nothing is where the opposite holds everywhere.
// CHECK-LABEL: @hidden
// CHECK:         %masked = scf.if
// CHECK-NEXT:      scf.yield %s

#frag = #tile.fragment<((4,8,2,2),(2,2,2,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((4,8,2,2),(2,2)):((0,1,16,0),(8,32))>
#frag2 = #tile.fragment<((8,16),(8,4)):((512,1),(64,16))>
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((4,32),(8,2)):((512,1),(64,32))>
#frag4 = #tile.fragment<((4,8,2,2),(2,2)):((2,0,0,8),(1,16))>
tile.program @hidden(%x: !tile.view<256x64xbf16>, %w: !tile.view<64x256xbf16>, %y: !tile.view<256x1xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = arith.constant 256 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x32xf32, #frag>
    %m0 = tile.splat %none : f32 -> tensor<64x1xf32, #frag1>
    %xt = tile.load %x[%i, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16, #frag2>
    %xt_1 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    tile.write %xt, %xt_1 : tensor<64x64xbf16, #frag2>, !tile.buffer<64x64xbf16, #shared>
    %rows = tile.iota %i {axis = 0 : i64} : tensor<64x1xindex, #frag1>
    %wt = tile.alloc : !tile.buffer<64x32xbf16, #shared1>
    %max = scf.for %j = %c0 to %n step %c32 iter_args(%m = %m0) -> (tensor<64x1xf32, #frag1>) {
      %wt_1 = tile.load %w[%c0, %j] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #frag3>
      tile.write %wt_1, %wt : tensor<64x32xbf16, #frag3>, !tile.buffer<64x32xbf16, #shared1>
      %s = tile.dot %xt_1, %wt, %s0 {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag>
      %columns = tile.iota %j {axis = 1 : i64} : tensor<1x32xindex, #frag4>
      %masked = tile.map %columns, %rows, %s : tensor<1x32xindex, #frag4>, tensor<64x1xindex, #frag1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag> {
      ^bb0(%column: index, %row: index, %v: f32):
        %after = arith.cmpi sgt, %column, %row : index
        %before = arith.cmpi slt, %row, %c0 : index
        %hidden = arith.ori %after, %before : i1
        %r = arith.select %hidden, %none, %v : f32
        tile.yield %r : f32
      }
      %m1 = tile.reduce %masked {axes = array<i64: 1>} : tensor<64x32xf32, #frag> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.maximumf %a, %b : f32
        tile.yield %c : f32
      }
      %m2 = tile.map %m, %m1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a_1: f32, %b_1: f32):
        %c_1 = arith.maximumf %a_1, %b_1 : f32
        tile.yield %c_1 : f32
      }
      scf.yield %m2 : tensor<64x1xf32, #frag1>
    }
    tile.store %max, %y[%i, %c0] : tensor<64x1xf32, #frag1>, !tile.view<256x1xf32>
  }
}

// -----

// A choice by values, and one by equal places, are made in each step.
// CHECK-LABEL: @values
// CHECK-NOT:     scf.if
#frag = #tile.fragment<((4,8,2,2),(2,2,2,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((4,8,2,2),(2,2)):((0,1,16,0),(8,32))>
#frag2 = #tile.fragment<((8,16),(8,4)):((512,1),(64,16))>
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((4,32),(8,2)):((512,1),(64,32))>
#frag4 = #tile.fragment<((4,8,2,2),(2,2)):((2,0,0,8),(1,16))>
tile.program @values(%x: !tile.view<256x64xbf16>, %w: !tile.view<64x256xbf16>, %y: !tile.view<256x1xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = arith.constant 256 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x32xf32, #frag>
    %m0 = tile.splat %none : f32 -> tensor<64x1xf32, #frag1>
    %xt = tile.load %x[%i, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16, #frag2>
    %xt_1 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    tile.write %xt, %xt_1 : tensor<64x64xbf16, #frag2>, !tile.buffer<64x64xbf16, #shared>
    %rows = tile.iota %i {axis = 0 : i64} : tensor<64x1xindex, #frag1>
    %wt = tile.alloc : !tile.buffer<64x32xbf16, #shared1>
    %max = scf.for %j = %c0 to %n step %c32 iter_args(%m = %m0) -> (tensor<64x1xf32, #frag1>) {
      %wt_1 = tile.load %w[%c0, %j] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #frag3>
      tile.write %wt_1, %wt : tensor<64x32xbf16, #frag3>, !tile.buffer<64x32xbf16, #shared1>
      %s = tile.dot %xt_1, %wt, %s0 {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag>
      %columns = tile.iota %j {axis = 1 : i64} : tensor<1x32xindex, #frag4>
      %masked = tile.map %columns, %rows, %s : tensor<1x32xindex, #frag4>, tensor<64x1xindex, #frag1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag> {
      ^bb0(%column: index, %row: index, %v: f32):
        %small = arith.cmpf olt, %v, %zero : f32
        %r = arith.select %small, %v, %none : f32
        %same = arith.cmpi eq, %column, %row : index
        %e = arith.select %same, %r, %v : f32
        tile.yield %e : f32
      }
      %m1 = tile.reduce %masked {axes = array<i64: 1>} : tensor<64x32xf32, #frag> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.maximumf %a, %b : f32
        tile.yield %c : f32
      }
      %m2 = tile.map %m, %m1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a_1: f32, %b_1: f32):
        %c_1 = arith.maximumf %a_1, %b_1 : f32
        tile.yield %c_1 : f32
      }
      scf.yield %m2 : tensor<64x1xf32, #frag1>
    }
    tile.store %max, %y[%i, %c0] : tensor<64x1xf32, #frag1>, !tile.view<256x1xf32>
  }
}

// -----

// Places that 32 bits may not hold are compared as they are.
// CHECK-LABEL: @huge
// CHECK-NOT:     scf.if
#frag = #tile.fragment<((4,8,2,2),(2,2,2,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((4,8,2,2),(2,2)):((0,1,16,0),(8,32))>
#frag2 = #tile.fragment<((8,16),(8,4)):((512,1),(64,16))>
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((4,32),(8,2)):((512,1),(64,32))>
#frag4 = #tile.fragment<((4,8,2,2),(2,2)):((2,0,0,8),(1,16))>
tile.program @huge(%x: !tile.view<1073741824x64xbf16>, %w: !tile.view<64x1073741824xbf16>, %y: !tile.view<1073741824x1xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [1073741824] steps [64] {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = arith.constant 1073741824 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x32xf32, #frag>
    %m0 = tile.splat %none : f32 -> tensor<64x1xf32, #frag1>
    %xt = tile.load %x[%i, %c0] : !tile.view<1073741824x64xbf16> -> tensor<64x64xbf16, #frag2>
    %xt_1 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    tile.write %xt, %xt_1 : tensor<64x64xbf16, #frag2>, !tile.buffer<64x64xbf16, #shared>
    %rows = tile.iota %i {axis = 0 : i64} : tensor<64x1xindex, #frag1>
    %wt = tile.alloc : !tile.buffer<64x32xbf16, #shared1>
    %max = scf.for %j = %c0 to %n step %c32 iter_args(%m = %m0) -> (tensor<64x1xf32, #frag1>) {
      %wt_1 = tile.load %w[%c0, %j] : !tile.view<64x1073741824xbf16> -> tensor<64x32xbf16, #frag3>
      tile.write %wt_1, %wt : tensor<64x32xbf16, #frag3>, !tile.buffer<64x32xbf16, #shared1>
      %s = tile.dot %xt_1, %wt, %s0 {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag>
      %columns = tile.iota %j {axis = 1 : i64} : tensor<1x32xindex, #frag4>
      %masked = tile.map %columns, %rows, %s : tensor<1x32xindex, #frag4>, tensor<64x1xindex, #frag1>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag> {
      ^bb0(%column: index, %row: index, %v: f32):
        %allowed = arith.cmpi sle, %column, %row : index
        %r = arith.select %allowed, %v, %none : f32
        tile.yield %r : f32
      }
      %m1 = tile.reduce %masked {axes = array<i64: 1>} : tensor<64x32xf32, #frag> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.maximumf %a, %b : f32
        tile.yield %c : f32
      }
      %m2 = tile.map %m, %m1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
      ^bb0(%a_1: f32, %b_1: f32):
        %c_1 = arith.maximumf %a_1, %b_1 : f32
        tile.yield %c_1 : f32
      }
      scf.yield %m2 : tensor<64x1xf32, #frag1>
    }
    tile.store %max, %y[%i, %c0] : tensor<64x1xf32, #frag1>, !tile.view<1073741824x1xf32>
  }
}

// -----

// A loop that computes a function: the condition is a map of its own, which is left to the branch that chooses.
// CHECK-LABEL: @exponentials
// CHECK:         tile.load
// CHECK-NOT:     arith.cmpi slt
// CHECK:         %masked = scf.if
// CHECK-NEXT:      tile.map %xt
// CHECK-NOT:         arith.select
// CHECK:           } else {
// CHECK-NEXT:      [[INSIDE:%inside[_0-9]*]] = tile.map %columns
// CHECK:           tile.map [[INSIDE]], %xt
// CHECK:             arith.select
// CHECK:         tile.reduce %masked

#frag = #tile.fragment<((128),(8)):((8),(1))>
#frag1 = #tile.fragment<((128),()):((0),())>
tile.program @exponentials(%x: !tile.view<64x5003xf32>, %y: !tile.view<64x1xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [64] steps [1] {
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %n = arith.constant 5003 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1xf32, #frag1>
    %sum = scf.for %j = %c0 to %n step %c1024 iter_args(%s = %s0) -> (tensor<1x1xf32, #frag1>) {
      %xt = tile.load %x[%i, %j] {checked = array<i64: 1>} : !tile.view<64x5003xf32> -> tensor<1x1024xf32, #frag>
      %columns = tile.iota %j {axis = 1 : i64} : tensor<1x1024xindex, #frag>
      %inside = tile.map %columns : tensor<1x1024xindex, #frag> -> tensor<1x1024xi1, #frag> {
      ^bb0(%column: index):
        %end = arith.constant 5003 : index
        %holds = arith.cmpi slt, %column, %end : index
        tile.yield %holds : i1
      }
      %masked = tile.map %inside, %xt : tensor<1x1024xi1, #frag>, tensor<1x1024xf32, #frag> -> tensor<1x1024xf32, #frag> {
      ^bb0(%holds: i1, %v: f32):
        %e = math.exp %v : f32
        %r = arith.select %holds, %e, %zero : f32
        tile.yield %r : f32
      }
      %s1 = tile.reduce %masked {axes = array<i64: 1>} : tensor<1x1024xf32, #frag> -> tensor<1x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      %s2 = tile.map %s, %s1 : tensor<1x1xf32, #frag1>, tensor<1x1xf32, #frag1> -> tensor<1x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      scf.yield %s2 : tensor<1x1xf32, #frag1>
    }
    tile.store %sum, %y[%i, %c0] : tensor<1x1xf32, #frag1>, !tile.view<64x1xf32>
  }
}

// -----

// One that adds waits for memory, and is left alone.
// CHECK-LABEL: @sums
// CHECK-NOT:     scf.if

#frag = #tile.fragment<((128),(8)):((8),(1))>
#frag1 = #tile.fragment<((128),()):((0),())>
tile.program @sums(%x: !tile.view<64x5003xf32>, %y: !tile.view<64x1xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [64] steps [1] {
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %n = arith.constant 5003 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1xf32, #frag1>
    %sum = scf.for %j = %c0 to %n step %c1024 iter_args(%s = %s0) -> (tensor<1x1xf32, #frag1>) {
      %xt = tile.load %x[%i, %j] {checked = array<i64: 1>} : !tile.view<64x5003xf32> -> tensor<1x1024xf32, #frag>
      %columns = tile.iota %j {axis = 1 : i64} : tensor<1x1024xindex, #frag>
      %inside = tile.map %columns : tensor<1x1024xindex, #frag> -> tensor<1x1024xi1, #frag> {
      ^bb0(%column: index):
        %end = arith.constant 5003 : index
        %holds = arith.cmpi slt, %column, %end : index
        tile.yield %holds : i1
      }
      %masked = tile.map %inside, %xt : tensor<1x1024xi1, #frag>, tensor<1x1024xf32, #frag> -> tensor<1x1024xf32, #frag> {
      ^bb0(%holds: i1, %v: f32):
        %e = arith.addf %v, %v : f32
        %r = arith.select %holds, %e, %zero : f32
        tile.yield %r : f32
      }
      %s1 = tile.reduce %masked {axes = array<i64: 1>} : tensor<1x1024xf32, #frag> -> tensor<1x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      %s2 = tile.map %s, %s1 : tensor<1x1xf32, #frag1>, tensor<1x1xf32, #frag1> -> tensor<1x1xf32, #frag1> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      scf.yield %s2 : tensor<1x1xf32, #frag1>
    }
    tile.store %sum, %y[%i, %c0] : tensor<1x1xf32, #frag1>, !tile.view<64x1xf32>
  }
}
