// RUN: irc-opt %s -p assign-layouts --split-input-file | filecheck %s

// Rows are read in 16-byte vectors; the result, whose rows hold 100 elements, can be written in 8-byte ones. Each thread
// writes its pairs across rows to shared memory.
// CHECK-DAG:   [[IN:#frag[0-9]*]] = #tile.fragment<((8,32),(8,2)):((8,128),(1,64))>
// CHECK-DAG:   [[OUT:#frag[0-9]*]] = #tile.fragment<((16,16),(4,4)):((256,1),(64,16))>
// CHECK-DAG:   [[BETWEEN:#shared[0-9]*]] = #tile.shared<(64,64):(64,1) swizzle(3,3,6)>
// CHECK:       threads = 256
// CHECK:       %a = tile.load {{.*}} -> tensor<64x64xbf16, [[IN]]>
// CHECK:       tile.map %a
// CHECK:       [[MOVED:%[a-z0-9_]+]] = tile.convert %b {through = [[BETWEEN]]} : tensor<64x64xbf16, [[IN]]> -> tensor<64x64xbf16, [[OUT]]>
// CHECK-NEXT:  tile.store [[MOVED]]

tile.program @transpose(%x: !tile.view<100x72xbf16>, %y: !tile.view<72x100xbf16>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [72, 100] steps [64, 64] {
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0, 1>} : !tile.view<100x72xbf16> -> tensor<64x64xbf16>
    %b = tile.map %a : tensor<64x64xbf16> -> tensor<64x64xbf16> {
    ^bb0(%a_1: bf16):
      %extf = arith.extf %a_1 : bf16 to f32
      %exp = math.exp %extf : f32
      %truncf = arith.truncf %exp : f32 to bf16
      tile.yield %truncf : bf16
    }
    tile.store %b, %y[%i, %j] {checked = array<i64: 0, 1>} : tensor<64x64xbf16>, !tile.view<72x100xbf16>
  }
}

// -----

// What a reduction gives is the fragment projected: every thread holds the row's value. Nothing moves.
// CHECK-LABEL: {{// -+}}
// CHECK-DAG:     [[ROW:#frag[0-9]*]] = #tile.fragment<((256),(4)):((4),(1))>
// CHECK-DAG:     [[ONE:#frag[0-9]*]] = #tile.fragment<((256),()):((0),())>
// CHECK-NOT:     tile.convert
// CHECK:         tile.reduce {{.*}} : tensor<1x1024xf32, [[ROW]]> -> tensor<1x1xf32, [[ONE]]>

tile.program @softmax(%x: !tile.view<100x1000xf32>, %y: !tile.view<100x1000xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [100] steps [1] {
    %c0 = arith.constant 0 : index
    %lo = arith.constant 0xff800000 : f32
    %a = tile.load %x[%i, %c0] other %lo : f32 {checked = array<i64: 1>} : !tile.view<100x1000xf32> -> tensor<1x1024xf32>
    %m = tile.reduce %a {axes = array<i64: 1>} : tensor<1x1024xf32> -> tensor<1x1xf32> {
    ^bb0(%x_1: f32, %y_1: f32):
      %maximumf = arith.maximumf %x_1, %y_1 : f32
      tile.yield %maximumf : f32
    }
    %e = tile.map %a, %m : tensor<1x1024xf32>, tensor<1x1xf32> -> tensor<1x1024xf32> {
    ^bb0(%a_1: f32, %b: f32):
      %subf = arith.subf %a_1, %b : f32
      %exp = math.exp %subf : f32
      tile.yield %exp : f32
    }
    %s = tile.reduce %e {axes = array<i64: 1>} : tensor<1x1024xf32> -> tensor<1x1xf32> {
    ^bb0(%x_2: f32, %y_2: f32):
      %addf = arith.addf %x_2, %y_2 : f32
      tile.yield %addf : f32
    }
    %r = tile.map %e, %s : tensor<1x1024xf32>, tensor<1x1xf32> -> tensor<1x1024xf32> {
    ^bb0(%a_2: f32, %b_1: f32):
      %divf = arith.divf %a_2, %b_1 : f32
      tile.yield %divf : f32
    }
    tile.store %r, %y[%i, %c0] {checked = array<i64: 1>} : tensor<1x1024xf32>, !tile.view<100x1000xf32>
  }
}

// -----

// wgmma's accumulator, operands in panels of the 128-byte swizzle, the result converted for wide stores.
// CHECK-LABEL: {{// -+}}
// CHECK-DAG:      [[A:#shared[0-9]*]] = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
// CHECK-DAG:      [[B:#shared[0-9]*]] = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
// CHECK-DAG:      [[ACC:#frag[0-9]*]] = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
// CHECK:          tile.dot {{.*}} {instruction = "wgmma"} : !tile.buffer<128x64xbf16, [[A]]>, !tile.buffer<64x256xbf16, [[B]]>, tensor<128x256xf32, [[ACC]]>
// CHECK:          [[WIDE:%[a-z0-9_]+]] = tile.convert %o {through = #shared
// CHECK-NEXT:     tile.store [[WIDE]]

tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x256xf32>
    %a = tile.alloc : !tile.buffer<128x64xbf16>
    %alloc = tile.alloc : !tile.buffer<64x256xbf16>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%acc_1 = %init) -> (tensor<128x256xf32>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16>
      %part = tile.subview %alloc {at = array<i64: 0, 0>} : !tile.buffer<64x256xbf16> -> !tile.buffer<64x128xbf16>
      tile.copy %w1[%k, %n] -> %part {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16>
      %part_1 = tile.subview %alloc {at = array<i64: 0, 128>} : !tile.buffer<64x256xbf16> -> !tile.buffer<64x128xbf16>
      tile.copy %w2[%k, %n] -> %part_1 {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16>
      %sum = tile.dot %a, %alloc, %acc_1 : !tile.buffer<128x64xbf16>, !tile.buffer<64x256xbf16>, tensor<128x256xf32> -> tensor<128x256xf32>
      scf.yield %sum : tensor<128x256xf32>
    }
    %h = tile.slice %acc {at = array<i64: 0, 0>} : tensor<128x256xf32> -> tensor<128x128xf32>
    %g = tile.slice %acc {at = array<i64: 0, 128>} : tensor<128x256xf32> -> tensor<128x128xf32>
    %u = tile.load %b1[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16>
    %v = tile.load %b2[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16>
    %o = tile.map %h, %g, %u, %v : tensor<128x128xf32>, tensor<128x128xf32>, tensor<1x128xbf16>, tensor<1x128xbf16> -> tensor<128x128xbf16> {
    ^bb0(%a_1: f32, %b: f32, %c: bf16, %d: bf16):
      %one = arith.constant 1.000000e+00 : f32
      %extf = arith.extf %c : bf16 to f32
      %extf_1 = arith.extf %d : bf16 to f32
      %addf = arith.addf %a_1, %extf : f32
      %addf_1 = arith.addf %b, %extf_1 : f32
      %negf = arith.negf %addf : f32
      %exp = math.exp %negf : f32
      %addf_2 = arith.addf %one, %exp : f32
      %divf = arith.divf %addf_1, %addf_2 : f32
      %truncf = arith.truncf %divf : f32 to bf16
      tile.yield %truncf : bf16
    }
    tile.store %o, %y[%m, %n] : tensor<128x128xbf16>, !tile.view<512x512xbf16>
  }
}
