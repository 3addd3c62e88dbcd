// RUN: irc-opt %s -p assign-layouts --split-input-file | filecheck %s

// Tiles of unequal columns that meet in a vector of their rows: each has the fragment of its own shape, the vector one
// that is the projection of both.

// Rows of wgmma's accumulators lie as its instruction has them, whatever the columns.
// CHECK-DAG:   [[S:#frag[0-9]*]] = #tile.fragment<((4,8,4),(2,2,10)):((128,1,16),(64,8,512))>
// CHECK-DAG:   [[O:#frag[0-9]*]] = #tile.fragment<((4,8,4),(2,2,16)):((128,1,16),(64,8,512))>
// CHECK-DAG:   [[M:#frag[0-9]*]] = #tile.fragment<((4,8,4),(2)):((0,1,16),(8))>
// CHECK:       tile.program @wgmma
// CHECK:       [[DOT:%[a-z]+]] = tile.dot {{.*}} -> tensor<64x80xf32, [[S]]>
// CHECK-NEXT:  [[MAX:%[a-z]+]] = tile.reduce [[DOT]] {{.*}} -> tensor<64x1xf32, [[M]]>
// CHECK:       tile.dot {{.*}} -> tensor<64x128xf32, [[O]]>
// CHECK-NEXT:  tile.map {{.*}}, [[MAX]] : tensor<64x128xf32, [[O]]>, tensor<64x1xf32, [[M]]> -> tensor<64x128xf32, [[O]]>
tile.program @wgmma(%x: !tile.view<128x32xbf16>, %w: !tile.view<32x80xbf16>, %v: !tile.view<32x128xbf16>, %y: !tile.view<128x128xf32>) {results = 1 : i64, config = #kernel.config<warps = 4, instruction = "wgmma">} {
  tile.for_tiles (%i) extents [128] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x80xf32>
    %o0 = tile.splat %zero : f32 -> tensor<64x128xf32>
    %xt = tile.alloc : !tile.buffer<64x32xbf16>
    tile.copy %x[%i, %c0] -> %xt {via = "tma"} : !tile.view<128x32xbf16> -> !tile.buffer<64x32xbf16>
    %wt = tile.alloc : !tile.buffer<32x80xbf16>
    tile.copy %w[%c0, %c0] -> %wt {via = "tma"} : !tile.view<32x80xbf16> -> !tile.buffer<32x80xbf16>
    %s = tile.dot %xt, %wt, %s0 : !tile.buffer<64x32xbf16>, !tile.buffer<32x80xbf16>, tensor<64x80xf32> -> tensor<64x80xf32>
    %m = tile.reduce %s {axes = array<i64: 1>} : tensor<64x80xf32> -> tensor<64x1xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maximumf %a, %b : f32
      tile.yield %c : f32
    }
    %vt = tile.alloc : !tile.buffer<32x128xbf16>
    tile.copy %v[%c0, %c0] -> %vt {via = "tma"} : !tile.view<32x128xbf16> -> !tile.buffer<32x128xbf16>
    %o = tile.dot %xt, %vt, %o0 : !tile.buffer<64x32xbf16>, !tile.buffer<32x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
    %r = tile.map %o, %m : tensor<64x128xf32>, tensor<64x1xf32> -> tensor<64x128xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %c_1 = arith.subf %a_1, %b_1 : f32
      tile.yield %c_1 : f32
    }
    tile.store %r, %y[%i, %c0] : tensor<64x128xf32>, !tile.view<128x128xf32>
  }
}

// -----

// By itself the first would have two warps along the rows and two along the columns, the second all four along the columns.
// CHECK-DAG:   [[S:#frag[0-9]*]] = #tile.fragment<((4,8,2,2),(2,2,3)):((64,1,16,256),(32,8,512))>
// CHECK-DAG:   [[O:#frag[0-9]*]] = #tile.fragment<((4,8,2,2),(2,2,16)):((64,1,16,256),(32,8,512))>
// CHECK-DAG:   [[M:#frag[0-9]*]] = #tile.fragment<((4,8,2,2),(2)):((0,1,16,0),(8))>
// CHECK:       tile.program @mma
// CHECK:       tile.dot {{.*}} -> tensor<32x48xf32, [[S]]>
// CHECK-NEXT:  [[MAX:%[a-z]+]] = tile.reduce {{.*}} -> tensor<32x1xf32, [[M]]>
// CHECK:       tile.dot {{.*}} -> tensor<32x256xf32, [[O]]>
// CHECK-NEXT:  tile.map {{.*}}, [[MAX]] : tensor<32x256xf32, [[O]]>, tensor<32x1xf32, [[M]]>
tile.program @mma(%x: !tile.view<128x32xbf16>, %w: !tile.view<32x48xbf16>, %v: !tile.view<32x256xbf16>, %y: !tile.view<128x256xf32>) {results = 1 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [128] steps [32] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<32x48xf32>
    %o0 = tile.splat %zero : f32 -> tensor<32x256xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<128x32xbf16> -> tensor<32x32xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<32x48xbf16> -> tensor<32x48xbf16>
    %xt_1 = tile.alloc : !tile.buffer<32x32xbf16>
    tile.write %xt, %xt_1 : tensor<32x32xbf16>, !tile.buffer<32x32xbf16>
    %wt_1 = tile.alloc : !tile.buffer<32x48xbf16>
    tile.write %wt, %wt_1 : tensor<32x48xbf16>, !tile.buffer<32x48xbf16>
    %s = tile.dot %xt_1, %wt_1, %s0 : !tile.buffer<32x32xbf16>, !tile.buffer<32x48xbf16>, tensor<32x48xf32> -> tensor<32x48xf32>
    %m = tile.reduce %s {axes = array<i64: 1>} : tensor<32x48xf32> -> tensor<32x1xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maximumf %a, %b : f32
      tile.yield %c : f32
    }
    %vt = tile.load %v[%c0, %c0] : !tile.view<32x256xbf16> -> tensor<32x256xbf16>
    %vt_1 = tile.alloc : !tile.buffer<32x256xbf16>
    tile.write %vt, %vt_1 : tensor<32x256xbf16>, !tile.buffer<32x256xbf16>
    %o = tile.dot %xt_1, %vt_1, %o0 : !tile.buffer<32x32xbf16>, !tile.buffer<32x256xbf16>, tensor<32x256xf32> -> tensor<32x256xf32>
    %r = tile.map %o, %m : tensor<32x256xf32>, tensor<32x1xf32> -> tensor<32x256xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %c_1 = arith.subf %a_1, %b_1 : f32
      tile.yield %c_1 : f32
    }
    tile.store %r, %y[%i, %c0] : tensor<32x256xf32>, !tile.view<128x256xf32>
  }
}

// -----

// 16 x 16 threads for both; a thread of the first has columns 16 apart.
// CHECK-DAG:   [[S:#frag[0-9]*]] = #tile.fragment<((16,16),(4,5)):((64,4),(1,1024))>
// CHECK-DAG:   [[O:#frag[0-9]*]] = #tile.fragment<((16,16),(4,4,2)):((256,4),(64,1,4096))>
// CHECK-DAG:   [[M:#frag[0-9]*]] = #tile.fragment<((16,16),(4)):((0,4),(1))>
// CHECK:       tile.program @fma
// CHECK:       tile.dot {{.*}} -> tensor<64x80xf32, [[S]]>
// CHECK-NEXT:  [[MAX:%[a-z]+]] = tile.reduce {{.*}} -> tensor<64x1xf32, [[M]]>
// CHECK:       tile.dot {{.*}} -> tensor<64x128xf32, [[O]]>
// CHECK-NEXT:  tile.map {{.*}}, [[MAX]] : tensor<64x128xf32, [[O]]>, tensor<64x1xf32, [[M]]>
tile.program @fma(%x: !tile.view<128x32xbf16>, %w: !tile.view<32x80xbf16>, %v: !tile.view<32x128xbf16>, %y: !tile.view<128x128xf32>) {results = 1 : i64, config = #kernel.config<instruction = "fma">} {
  tile.for_tiles (%i) extents [128] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x80xf32>
    %o0 = tile.splat %zero : f32 -> tensor<64x128xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<128x32xbf16> -> tensor<64x32xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<32x80xbf16> -> tensor<32x80xbf16>
    %xt_1 = tile.alloc : !tile.buffer<64x32xbf16>
    tile.write %xt, %xt_1 : tensor<64x32xbf16>, !tile.buffer<64x32xbf16>
    %wt_1 = tile.alloc : !tile.buffer<32x80xbf16>
    tile.write %wt, %wt_1 : tensor<32x80xbf16>, !tile.buffer<32x80xbf16>
    %s = tile.dot %xt_1, %wt_1, %s0 : !tile.buffer<64x32xbf16>, !tile.buffer<32x80xbf16>, tensor<64x80xf32> -> tensor<64x80xf32>
    %m = tile.reduce %s {axes = array<i64: 1>} : tensor<64x80xf32> -> tensor<64x1xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maximumf %a, %b : f32
      tile.yield %c : f32
    }
    %vt = tile.load %v[%c0, %c0] : !tile.view<32x128xbf16> -> tensor<32x128xbf16>
    %vt_1 = tile.alloc : !tile.buffer<32x128xbf16>
    tile.write %vt, %vt_1 : tensor<32x128xbf16>, !tile.buffer<32x128xbf16>
    %o = tile.dot %xt_1, %vt_1, %o0 : !tile.buffer<64x32xbf16>, !tile.buffer<32x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
    %r = tile.map %o, %m : tensor<64x128xf32>, tensor<64x1xf32> -> tensor<64x128xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %c_1 = arith.subf %a_1, %b_1 : f32
      tile.yield %c_1 : f32
    }
    tile.store %r, %y[%i, %c0] : tensor<64x128xf32>, !tile.view<128x128xf32>
  }
}

// -----

// Fragments that are searched for differ in their rows: the vector is converted.
// CHECK:       tile.program @rows
// CHECK:       [[SUM:%[a-z]+]] = tile.reduce {{.*}} -> tensor<32x1xf32, [[FROM:#frag[0-9]*]]>
// CHECK:       [[MOVED:%[a-z_0-9]+]] = tile.convert [[SUM]] : tensor<32x1xf32, [[FROM]]> -> tensor<32x1xf32, [[TO:#frag[0-9]*]]>
// CHECK-NEXT:  tile.map {{.*}}, [[MOVED]] : {{.*}}, tensor<32x1xf32, [[TO]]>
tile.program @rows(%x: !tile.view<64x64xf32>, %y: !tile.view<64x48xf32>, %o: !tile.view<64x48xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [64] steps [32] {
    %c0 = arith.constant 0 : index
    %xt = tile.load %x[%m, %c0] : !tile.view<64x64xf32> -> tensor<32x64xf32>
    %s = tile.reduce %xt {axes = array<i64: 1>} : tensor<32x64xf32> -> tensor<32x1xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %yt = tile.load %y[%m, %c0] : !tile.view<64x48xf32> -> tensor<32x48xf32>
    %r = tile.map %yt, %s : tensor<32x48xf32>, tensor<32x1xf32> -> tensor<32x48xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %c_1 = arith.subf %a_1, %b_1 : f32
      tile.yield %c_1 : f32
    }
    tile.store %r, %o[%m, %c0] : tensor<32x48xf32>, !tile.view<64x48xf32>
  }
}

// -----

// Tiles of equal extents are one space, and nothing moves.
// CHECK:       tile.program @equal
// CHECK-NOT:   tile.convert
tile.program @equal(%x: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>, %o: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [64] steps [32] {
    %c0 = arith.constant 0 : index
    %xt = tile.load %x[%m, %c0] : !tile.view<64x64xf32> -> tensor<32x64xf32>
    %s = tile.reduce %xt {axes = array<i64: 1>} : tensor<32x64xf32> -> tensor<32x1xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %yt = tile.load %y[%m, %c0] : !tile.view<64x64xf32> -> tensor<32x64xf32>
    %r = tile.map %yt, %s : tensor<32x64xf32>, tensor<32x1xf32> -> tensor<32x64xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %c_1 = arith.subf %a_1, %b_1 : f32
      tile.yield %c_1 : f32
    }
    tile.store %r, %o[%m, %c0] : tensor<32x64xf32>, !tile.view<64x64xf32>
  }
}

// -----

// A vector lies as the tile that it is made from and used with; what meets it in another one is converted, once.
// CHECK:       tile.program @home
// CHECK:       [[SUM:%[a-z]+]] = tile.reduce {{.*}} : tensor<64x64xf32, [[L:#frag[0-9]*]]> -> tensor<64x1xf32, [[V:#frag[0-9]*]]>
// CHECK:       tile.map {{.*}}, [[SUM]] : tensor<64x64xf32, [[L]]>, tensor<64x1xf32, [[V]]>
// CHECK:       [[MOVED:%[a-z_0-9]+]] = tile.convert [[SUM]] : tensor<64x1xf32, [[V]]> -> tensor<64x1xf32, [[TO:#frag[0-9]*]]>
// CHECK-NEXT:  tile.map {{.*}}, [[MOVED]] : tensor<64x80xf32, {{#frag[0-9]*}}>, tensor<64x1xf32, [[TO]]>
// CHECK-NOT:   tensor<64x1xf32, {{.*}} -> tensor<64x1xf32
tile.program @home(%x: !tile.view<64x32xbf16>, %w: !tile.view<32x80xbf16>, %l: !tile.view<64x64xf32>, %y: !tile.view<64x80xf32>, %z: !tile.view<64x64xf32>) {results = 2 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x80xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<64x32xbf16> -> tensor<64x32xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<32x80xbf16> -> tensor<32x80xbf16>
    %xt_1 = tile.alloc : !tile.buffer<64x32xbf16>
    tile.write %xt, %xt_1 : tensor<64x32xbf16>, !tile.buffer<64x32xbf16>
    %wt_1 = tile.alloc : !tile.buffer<32x80xbf16>
    tile.write %wt, %wt_1 : tensor<32x80xbf16>, !tile.buffer<32x80xbf16>
    %s = tile.dot %xt_1, %wt_1, %s0 : !tile.buffer<64x32xbf16>, !tile.buffer<32x80xbf16>, tensor<64x80xf32> -> tensor<64x80xf32>
    %lt = tile.load %l[%i, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    %m = tile.reduce %lt {axes = array<i64: 1>} : tensor<64x64xf32> -> tensor<64x1xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %n = tile.map %lt, %m : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x64xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %c_1 = arith.subf %a_1, %b_1 : f32
      tile.yield %c_1 : f32
    }
    tile.store %n, %z[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
    %r = tile.map %s, %m : tensor<64x80xf32>, tensor<64x1xf32> -> tensor<64x80xf32> {
    ^bb0(%a_2: f32, %b_2: f32):
      %c_2 = arith.subf %a_2, %b_2 : f32
      tile.yield %c_2 : f32
    }
    tile.store %r, %y[%i, %c0] : tensor<64x80xf32>, !tile.view<64x80xf32>
  }
}

// -----

// The first product's warps are side by side along the rows, the second one's along the columns, as those of the wide
// product whose vector it meets. A slice of each lies as its own product, and one of the two is converted.
// CHECK-DAG:   [[A:#frag[0-9]*]] = #tile.fragment<((4,8,2),(2,2,8,2)):((128,1,16),(64,8,512,32))>
// CHECK-DAG:   [[B:#frag[0-9]*]] = #tile.fragment<((4,8,2),(2,2,4,4)):((128,1,512),(64,8,1024,16))>
// CHECK-DAG:   [[PART:#frag[0-9]*]] = #tile.fragment<((4,8,2),(2,2,4,2)):((128,1,16),(64,8,512,32))>
// CHECK-DAG:   [[OTHER:#frag[0-9]*]] = #tile.fragment<((4,8,2),(2,2,2,4)):((128,1,512),(64,8,1024,16))>
// CHECK:       tile.program @slices
// CHECK:       [[P:%[a-z]+]] = tile.slice {{.*}} : tensor<64x64xf32, [[A]]> -> tensor<64x32xf32, [[PART]]>
// CHECK-NEXT:  [[Q:%[a-z]+]] = tile.slice {{.*}} : tensor<64x64xf32, [[B]]> -> tensor<64x32xf32, [[OTHER]]>
// CHECK-NEXT:  [[MOVED:%[a-z_0-9]+]] = tile.convert [[Q]] : tensor<64x32xf32, [[OTHER]]> -> tensor<64x32xf32, [[PART]]>
// CHECK-NEXT:  tile.map [[P]], [[MOVED]] : tensor<64x32xf32, [[PART]]>, tensor<64x32xf32, [[PART]]>
tile.program @slices(%x: !tile.view<64x32xbf16>, %w: !tile.view<32x112xbf16>, %v: !tile.view<32x64xbf16>, %y: !tile.view<64x32xf32>) {results = 1 : i64, config = #kernel.config<warps = 2, instruction = "mma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x112xf32>
    %a0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %b0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<64x32xbf16> -> tensor<64x32xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<32x112xbf16> -> tensor<32x112xbf16>
    %vt = tile.load %v[%c0, %c0] : !tile.view<32x64xbf16> -> tensor<32x64xbf16>
    %xt_1 = tile.alloc : !tile.buffer<64x32xbf16>
    tile.write %xt, %xt_1 : tensor<64x32xbf16>, !tile.buffer<64x32xbf16>
    %wt_1 = tile.alloc : !tile.buffer<32x112xbf16>
    tile.write %wt, %wt_1 : tensor<32x112xbf16>, !tile.buffer<32x112xbf16>
    %s = tile.dot %xt_1, %wt_1, %s0 : !tile.buffer<64x32xbf16>, !tile.buffer<32x112xbf16>, tensor<64x112xf32> -> tensor<64x112xf32>
    %m = tile.reduce %s {axes = array<i64: 1>} : tensor<64x112xf32> -> tensor<64x1xf32> {
    ^bb0(%c: f32, %d: f32):
      %e = arith.maximumf %c, %d : f32
      tile.yield %e : f32
    }
    %vt_1 = tile.alloc : !tile.buffer<32x64xbf16>
    tile.write %vt, %vt_1 : tensor<32x64xbf16>, !tile.buffer<32x64xbf16>
    %t = tile.dot %xt_1, %vt_1, %b0 : !tile.buffer<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %b = tile.map %t, %m : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x64xf32> {
    ^bb0(%c_1: f32, %d_1: f32):
      %e_1 = arith.subf %c_1, %d_1 : f32
      tile.yield %e_1 : f32
    }
    %a = tile.dot %xt_1, %vt_1, %a0 : !tile.buffer<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %p = tile.slice %a {at = array<i64: 0, 32>} : tensor<64x64xf32> -> tensor<64x32xf32>
    %q = tile.slice %b {at = array<i64: 0, 32>} : tensor<64x64xf32> -> tensor<64x32xf32>
    %r = tile.map %p, %q : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x32xf32> {
    ^bb0(%c_2: f32, %d_2: f32):
      %e_2 = arith.addf %c_2, %d_2 : f32
      tile.yield %e_2 : f32
    }
    tile.store %r, %y[%i, %c0] : tensor<64x32xf32>, !tile.view<64x32xf32>
  }
}
