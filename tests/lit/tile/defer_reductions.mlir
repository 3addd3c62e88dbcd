// RUN: irc-opt %s -p defer-reductions --split-input-file | filecheck %s

// A thread adds up its four elements of each step; the warps meet behind the loop.
// CHECK-LABEL: @sums
// CHECK:         [[START:%[a-z0-9_]+]] = tile.splat %{{.*}} : f32 -> tensor<1x128xf32, [[OWN:#frag[0-9]*]]>
// CHECK-NEXT:    [[SUM:%[a-z0-9_]+]] = scf.for %j = {{.*}} iter_args(%s = [[START]]) -> (tensor<1x128xf32, [[OWN]]>) {
// CHECK:           [[PART:%[a-z0-9_]+]] = tile.fold %xt {axes = array<i64: 1>} : tensor<1x512xf32, {{.*}}> -> tensor<1x128xf32, [[OWN]]> {
// CHECK:           %next = tile.map %s, [[PART]]
// CHECK:           scf.yield %next : tensor<1x128xf32, [[OWN]]>
// CHECK:         [[WHOLE:%[a-z0-9_]+]] = tile.reduce [[SUM]] {axes = array<i64: 1>} : tensor<1x128xf32, [[OWN]]> -> tensor<1x1xf32, {{.*}}> {
// CHECK:           arith.addf
// CHECK:         tile.store [[WHOLE]]
#all = #tile.fragment<((128),()):((0),())>
#x = #tile.fragment<((128),(4)):((4),(1))>
tile.program @sums(%x: !tile.view<8x4096xf32>, %y: !tile.view<8xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [8] steps [1] {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant 0.000000e+00 : f32
    %lowest = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1xf32, #all>
    %m0 = tile.splat %lowest : f32 -> tensor<1x1xf32, #all>
    %sum = scf.for %j = %c0 to %c4096 step %c512 iter_args(%s = %s0) -> (tensor<1x1xf32, #all>) {
      %xt = tile.load %x[%i, %j] : !tile.view<8x4096xf32> -> tensor<1x512xf32, #x>
      %part = tile.reduce %xt {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tile.yield %r : f32
      }
      %next = tile.map %s, %part : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tile.yield %r : f32
      }
      scf.yield %next : tensor<1x1xf32, #all>
    }
    tile.store %sum, %y[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : tensor<1x1xf32, #all>, !tile.view<8xf32>
  }
}

// -----

// Threads would each begin with 1.
// CHECK-LABEL: @from_one
// CHECK-NOT:     tile.fold
#all = #tile.fragment<((128),()):((0),())>
#x = #tile.fragment<((128),(4)):((4),(1))>
tile.program @from_one(%x: !tile.view<8x4096xf32>, %y: !tile.view<8xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [8] steps [1] {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant 1.000000e+00 : f32
    %lowest = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1xf32, #all>
    %m0 = tile.splat %lowest : f32 -> tensor<1x1xf32, #all>
    %sum = scf.for %j = %c0 to %c4096 step %c512 iter_args(%s = %s0) -> (tensor<1x1xf32, #all>) {
      %xt = tile.load %x[%i, %j] : !tile.view<8x4096xf32> -> tensor<1x512xf32, #x>
      %part = tile.reduce %xt {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tile.yield %r : f32
      }
      %next = tile.map %s, %part : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tile.yield %r : f32
      }
      scf.yield %next : tensor<1x1xf32, #all>
    }
    tile.store %sum, %y[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : tensor<1x1xf32, #all>, !tile.view<8xf32>
  }
}

// -----

// A thread has a maximum of its own, and 0 in the place of -inf. Exponentials of what the maximum is of are approximate.
// Behind the loop, the sums of the threads are scaled to the maximum of all.
// CHECK-LABEL: @relative
// CHECK:         [[OWN:%[a-z0-9_]+]], [[SUMS:%[a-z0-9_]+]] = scf.for %j = {{.*}} -> (tensor<1x128xf32, {{.*}}>, tensor<1x128xf32, {{.*}}>) {
// CHECK:           [[MOST:%[a-z0-9_]+]] = tile.fold %wide
// CHECK:             arith.maximumf
// CHECK:           %now = tile.map %m, [[MOST]]
// CHECK:           [[FINITE:%[a-z0-9_]+]] = tile.map %now
// CHECK:             arith.constant 0xff800000 : f32
// CHECK:             arith.cmpf oeq
// CHECK:             arith.select
// CHECK:           [[SPREAD:%[a-z0-9_]+]] = tile.unfold [[FINITE]] {axes = array<i64: 1>} : tensor<1x128xf32, {{.*}}> -> tensor<1x512xf32, {{.*}}>
// CHECK:           %weight = tile.map %xt, [[SPREAD]]
// CHECK:             math.exp {{.*}} fastmath<afn>
// CHECK:           [[PART:%[a-z0-9_]+]] = tile.fold %weight
// CHECK:           %next = tile.map %s, %m, [[FINITE]], [[PART]]
// CHECK:             math.exp {{.*}} fastmath<afn>
// CHECK:           scf.yield %now, %next
// CHECK:         [[TOP:%[a-z0-9_]+]] = tile.reduce [[OWN]]
// CHECK:           arith.maximumf
// CHECK:         [[ALL:%[a-z0-9_]+]] = tile.map [[TOP]]
// CHECK:         [[NOTHING:%[a-z0-9_]+]] = tile.splat
// CHECK:         [[SCALED:%[a-z0-9_]+]] = tile.map [[SUMS]], [[OWN]], [[ALL]], [[NOTHING]]
// CHECK:         [[SUM:%[a-z0-9_]+]] = tile.reduce [[SCALED]]
// CHECK:         %both = tile.map [[TOP]], [[SUM]]
#all = #tile.fragment<((128),()):((0),())>
#x = #tile.fragment<((128),(4)):((4),(1))>
tile.program @relative(%x: !tile.view<8x4096xf32>, %y: !tile.view<8xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [8] steps [1] {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant 0.000000e+00 : f32
    %lowest = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1xf32, #all>
    %m0 = tile.splat %lowest : f32 -> tensor<1x1xf32, #all>
    %top, %sum = scf.for %j = %c0 to %c4096 step %c512 iter_args(%m = %m0, %s = %s0) -> (tensor<1x1xf32, #all>, tensor<1x1xf32, #all>) {
      %xt = tile.load %x[%i, %j] : !tile.view<8x4096xf32> -> tensor<1x512xf32, #x>
      %wide = tile.map %xt : tensor<1x512xf32, #x> -> tensor<1x512xf32, #x> {
      ^bb0(%a: f32):
        %r = arith.negf %a : f32
        tile.yield %r : f32
      }
      %most = tile.reduce %wide {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.maximumf %a, %b : f32
        tile.yield %r : f32
      }
      %now = tile.map %m, %most : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.maximumf %a, %b : f32
        tile.yield %r : f32
      }
      %weight = tile.map %xt, %now : tensor<1x512xf32, #x>, tensor<1x1xf32, #all> -> tensor<1x512xf32, #x> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.negf %a : f32
        %d = arith.subf %r, %b : f32
        %p = math.exp %d : f32
        tile.yield %p : f32
      }
      %part = tile.reduce %weight {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tile.yield %r : f32
      }
      %next = tile.map %s, %m, %now, %part : tensor<1x1xf32, #all>, tensor<1x1xf32, #all>, tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
        %d = arith.subf %b, %c : f32
        %p = math.exp %d : f32
        %q = arith.mulf %a, %p : f32
        %r = arith.addf %q, %e : f32
        tile.yield %r : f32
      }
      scf.yield %now, %next : tensor<1x1xf32, #all>, tensor<1x1xf32, #all>
    }
    %both = tile.map %top, %sum : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      tile.yield %r : f32
    }
    tile.store %both, %y[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : tensor<1x1xf32, #all>, !tile.view<8xf32>
  }
}

// -----

// Powers of 2, by the same number: exact as before.
// CHECK-LABEL: @powers
// CHECK:           tile.unfold
// CHECK:             math.exp2 %{{[a-z0-9_]+}} : f32
// CHECK:           tile.fold %weight
#all = #tile.fragment<((128),()):((0),())>
#x = #tile.fragment<((128),(4)):((4),(1))>
tile.program @powers(%x: !tile.view<8x4096xf32>, %y: !tile.view<8xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [8] steps [1] {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant 0.000000e+00 : f32
    %lowest = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1xf32, #all>
    %m0 = tile.splat %lowest : f32 -> tensor<1x1xf32, #all>
    %top, %sum = scf.for %j = %c0 to %c4096 step %c512 iter_args(%m = %m0, %s = %s0) -> (tensor<1x1xf32, #all>, tensor<1x1xf32, #all>) {
      %xt = tile.load %x[%i, %j] : !tile.view<8x4096xf32> -> tensor<1x512xf32, #x>
      %wide = tile.map %xt : tensor<1x512xf32, #x> -> tensor<1x512xf32, #x> {
      ^bb0(%a: f32):
        %r = arith.negf %a : f32
        tile.yield %r : f32
      }
      %most = tile.reduce %wide {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.maximumf %a, %b : f32
        tile.yield %r : f32
      }
      %now = tile.map %m, %most : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.maximumf %a, %b : f32
        tile.yield %r : f32
      }
      %weight = tile.map %xt, %now : tensor<1x512xf32, #x>, tensor<1x1xf32, #all> -> tensor<1x512xf32, #x> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.negf %a : f32
        %d = arith.subf %r, %b : f32
        %f = arith.constant 1.500000e+00 : f32
        %g = arith.mulf %d, %f : f32
        %p = math.exp2 %g : f32
        tile.yield %p : f32
      }
      %part = tile.reduce %weight {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tile.yield %r : f32
      }
      %next = tile.map %s, %m, %now, %part : tensor<1x1xf32, #all>, tensor<1x1xf32, #all>, tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
        %d = arith.subf %b, %c : f32
        %f = arith.constant 1.500000e+00 : f32
        %g = arith.mulf %d, %f : f32
        %p = math.exp2 %g : f32
        %q = arith.mulf %a, %p : f32
        %r = arith.addf %q, %e : f32
        tile.yield %r : f32
      }
      scf.yield %now, %next : tensor<1x1xf32, #all>, tensor<1x1xf32, #all>
    }
    %both = tile.map %top, %sum : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      tile.yield %r : f32
    }
    tile.store %both, %y[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : tensor<1x1xf32, #all>, !tile.view<8xf32>
  }
}

// -----

// The sums are not relative to the maximum: they are scaled by another number than what is added.
// CHECK-LABEL: @other_scale
// CHECK-NOT:     tile.fold
#all = #tile.fragment<((128),()):((0),())>
#x = #tile.fragment<((128),(4)):((4),(1))>
tile.program @other_scale(%x: !tile.view<8x4096xf32>, %y: !tile.view<8xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [8] steps [1] {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant 0.000000e+00 : f32
    %lowest = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1xf32, #all>
    %m0 = tile.splat %lowest : f32 -> tensor<1x1xf32, #all>
    %top, %sum = scf.for %j = %c0 to %c4096 step %c512 iter_args(%m = %m0, %s = %s0) -> (tensor<1x1xf32, #all>, tensor<1x1xf32, #all>) {
      %xt = tile.load %x[%i, %j] : !tile.view<8x4096xf32> -> tensor<1x512xf32, #x>
      %wide = tile.map %xt : tensor<1x512xf32, #x> -> tensor<1x512xf32, #x> {
      ^bb0(%a: f32):
        %r = arith.negf %a : f32
        tile.yield %r : f32
      }
      %most = tile.reduce %wide {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.maximumf %a, %b : f32
        tile.yield %r : f32
      }
      %now = tile.map %m, %most : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.maximumf %a, %b : f32
        tile.yield %r : f32
      }
      %weight = tile.map %xt, %now : tensor<1x512xf32, #x>, tensor<1x1xf32, #all> -> tensor<1x512xf32, #x> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.negf %a : f32
        %d = arith.subf %r, %b : f32
        %f = arith.constant 2.000000e+00 : f32
        %g = arith.mulf %d, %f : f32
        %p = math.exp2 %g : f32
        tile.yield %p : f32
      }
      %part = tile.reduce %weight {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tile.yield %r : f32
      }
      %next = tile.map %s, %m, %now, %part : tensor<1x1xf32, #all>, tensor<1x1xf32, #all>, tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
        %d = arith.subf %b, %c : f32
        %f = arith.constant 3.000000e+00 : f32
        %g = arith.mulf %d, %f : f32
        %p = math.exp2 %g : f32
        %q = arith.mulf %a, %p : f32
        %r = arith.addf %q, %e : f32
        tile.yield %r : f32
      }
      scf.yield %now, %next : tensor<1x1xf32, #all>, tensor<1x1xf32, #all>
    }
    %both = tile.map %top, %sum : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      tile.yield %r : f32
    }
    tile.store %both, %y[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : tensor<1x1xf32, #all>, !tile.view<8xf32>
  }
}

// -----

// A step stores the maximum.
// CHECK-LABEL: @needed
// CHECK-NOT:     tile.fold
#all = #tile.fragment<((128),()):((0),())>
#x = #tile.fragment<((128),(4)):((4),(1))>
tile.program @needed(%x: !tile.view<8x4096xf32>, %y: !tile.view<8xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [8] steps [1] {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant 0.000000e+00 : f32
    %lowest = arith.constant 0xff800000 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1xf32, #all>
    %m0 = tile.splat %lowest : f32 -> tensor<1x1xf32, #all>
    %top, %sum = scf.for %j = %c0 to %c4096 step %c512 iter_args(%m = %m0, %s = %s0) -> (tensor<1x1xf32, #all>, tensor<1x1xf32, #all>) {
      %xt = tile.load %x[%i, %j] : !tile.view<8x4096xf32> -> tensor<1x512xf32, #x>
      %wide = tile.map %xt : tensor<1x512xf32, #x> -> tensor<1x512xf32, #x> {
      ^bb0(%a: f32):
        %r = arith.negf %a : f32
        tile.yield %r : f32
      }
      %most = tile.reduce %wide {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.maximumf %a, %b : f32
        tile.yield %r : f32
      }
      %now = tile.map %m, %most : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.maximumf %a, %b : f32
        tile.yield %r : f32
      }
      %weight = tile.map %xt, %now : tensor<1x512xf32, #x>, tensor<1x1xf32, #all> -> tensor<1x512xf32, #x> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.negf %a : f32
        %d = arith.subf %r, %b : f32
        %p = math.exp %d : f32
        tile.yield %p : f32
      }
      %part = tile.reduce %weight {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tile.yield %r : f32
      }
      %next = tile.map %s, %m, %now, %part : tensor<1x1xf32, #all>, tensor<1x1xf32, #all>, tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
      ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
        %d = arith.subf %b, %c : f32
        %p = math.exp %d : f32
        %q = arith.mulf %a, %p : f32
        %r = arith.addf %q, %e : f32
        tile.yield %r : f32
      }
      tile.store %now, %y[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : tensor<1x1xf32, #all>, !tile.view<8xf32>
      scf.yield %now, %next : tensor<1x1xf32, #all>, tensor<1x1xf32, #all>
    }
    %both = tile.map %top, %sum : tensor<1x1xf32, #all>, tensor<1x1xf32, #all> -> tensor<1x1xf32, #all> {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      tile.yield %r : f32
    }
    tile.store %both, %y[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : tensor<1x1xf32, #all>, !tile.view<8xf32>
  }
}
