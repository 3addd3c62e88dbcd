// RUN: irc-opt %s -p assign-layouts --split-input-file --verify-diagnostics

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

tile.program @p(%x: !tile.view<128x32xbf16>, %w: !tile.view<32x48xbf16>, %v: !tile.view<32x80xbf16>, %y: !tile.view<128x80xf32>) {results = 1 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [128] steps [16] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<16x48xf32>
    %o0 = tile.splat %zero : f32 -> tensor<16x80xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<128x32xbf16> -> tensor<16x32xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<32x48xbf16> -> tensor<32x48xbf16>
    %xt_1 = tile.alloc : !tile.buffer<16x32xbf16>
    tile.write %xt, %xt_1 : tensor<16x32xbf16>, !tile.buffer<16x32xbf16>
    %wt_1 = tile.alloc : !tile.buffer<32x48xbf16>
    tile.write %wt, %wt_1 : tensor<32x48xbf16>, !tile.buffer<32x48xbf16>
    %s = tile.dot %xt_1, %wt_1, %s0 : !tile.buffer<16x32xbf16>, !tile.buffer<32x48xbf16>, tensor<16x48xf32> -> tensor<16x48xf32>
    %m = tile.reduce %s {axes = array<i64: 1>} : tensor<16x48xf32> -> tensor<16x1xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maximumf %a, %b : f32
      tile.yield %c : f32
    }
    %vt = tile.load %v[%c0, %c0] : !tile.view<32x80xbf16> -> tensor<32x80xbf16>
    %vt_1 = tile.alloc : !tile.buffer<32x80xbf16>
    tile.write %vt, %vt_1 : tensor<32x80xbf16>, !tile.buffer<32x80xbf16>
    %o = tile.dot %xt_1, %vt_1, %o0 : !tile.buffer<16x32xbf16>, !tile.buffer<32x80xbf16>, tensor<16x80xf32> -> tensor<16x80xf32>
    %r = tile.map %o, %m : tensor<16x80xf32>, tensor<16x1xf32> -> tensor<16x80xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %c_1 = arith.subf %a_1, %b_1 : f32
      tile.yield %c_1 : f32
    }
    tile.store %r, %y[%i, %c0] : tensor<16x80xf32>, !tile.view<128x80xf32>
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

tile.program @depth(%x: !tile.view<64x44xbf16>, %w: !tile.view<44x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<64x44xbf16> -> tensor<64x44xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<44x64xbf16> -> tensor<44x64xbf16>
    %xt_1 = tile.alloc : !tile.buffer<64x44xbf16>
    tile.write %xt, %xt_1 : tensor<64x44xbf16>, !tile.buffer<64x44xbf16>
    %wt_1 = tile.alloc : !tile.buffer<44x64xbf16>
    tile.write %wt, %wt_1 : tensor<44x64xbf16>, !tile.buffer<44x64xbf16>
    %s = tile.dot %xt_1, %wt_1, %s0 : !tile.buffer<64x44xbf16>, !tile.buffer<44x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
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

tile.program @wgmma_depth(%x: !tile.view<64x40xbf16>, %w: !tile.view<40x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<warps = 4, instruction = "wgmma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %xt = tile.alloc : !tile.buffer<64x40xbf16>
    tile.copy %x[%i, %c0] -> %xt {via = "tma"} : !tile.view<64x40xbf16> -> !tile.buffer<64x40xbf16>
    %wt = tile.alloc : !tile.buffer<40x64xbf16>
    tile.copy %w[%c0, %c0] -> %wt {via = "tma"} : !tile.view<40x64xbf16> -> !tile.buffer<40x64xbf16>
    %s = tile.dot %xt, %wt, %s0 : !tile.buffer<64x40xbf16>, !tile.buffer<40x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}

// -----

// Fragments that are searched for differ in their rows: the vector is converted.
// CHECK:       tile.program @rows
// CHECK:       [[SUM:%[a-z]+]] = tile.reduce {{.*}} -> tensor<32x1xf32, [[FROM:#frag[0-9]*]]>
// CHECK:       [[MOVED:%[a-z_0-9]+]] = tile.convert [[SUM]] : tensor<32x1xf32, [[FROM]]> -> tensor<32x1xf32, [[TO:#frag[0-9]*]]>
// CHECK-NEXT:  tile.map {{.*}}, [[MOVED]] : {{.*}}, tensor<32x1xf32, [[TO]]>

tile.program @wgmma_columns(%x: !tile.view<64x64xbf16>, %w: !tile.view<64x84xbf16>, %y: !tile.view<64x84xf32>) {results = 1 : i64, config = #kernel.config<warps = 4, instruction = "wgmma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x84xf32>
    %wt = tile.load %w[%c0, %c0] : !tile.view<64x84xbf16> -> tensor<64x84xbf16>
    %xt = tile.alloc : !tile.buffer<64x64xbf16>
    tile.copy %x[%i, %c0] -> %xt {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<64x64xbf16>
    %wt_1 = tile.alloc : !tile.buffer<64x84xbf16>
    tile.write %wt, %wt_1 : tensor<64x84xbf16>, !tile.buffer<64x84xbf16>
    %s = tile.dot %xt, %wt_1, %s0 : !tile.buffer<64x64xbf16>, !tile.buffer<64x84xbf16>, tensor<64x84xf32> -> tensor<64x84xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x84xf32>, !tile.view<64x84xf32>
  }
}
