// RUN: irc-opt %s -p specialize-warps --split-input-file | filecheck %s

// A subtile has the fragment of the rows, and stages of its own, which are filled beside the last products.
// CHECK-LABEL: tile.program @rows
// CHECK:         tile.channel {stages = 5 : i64} : !tile.channel<!tile.buffer<128x32xbf16, [[SHARED:#[a-z0-9]+]]>>
// CHECK:         tile.partitions
// CHECK:           tile.copy %r{{.*}} !tile.buffer<128x32xbf16, [[SHARED]]>
// CHECK:         } {
// CHECK:           tile.dot
// CHECK:           tile.concat {{.*}} tensor<128x32xbf16, {{#[a-z0-9]+}}> -> tensor<128x256xbf16, [[FRAG:#[a-z0-9]+]]>
// CHECK:           tile.map {{%[a-z0-9_]+}}, {{%[a-z0-9_]+}} : tensor<128x256xf32, [[FRAG]]>, tensor<128x256xbf16, [[FRAG]]>

#shared = #tile.shared<(128,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
#shared3 = #tile.shared<(128,(64,2)):(64,(1,8192)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2,2,4)):((256,1,16,64),(128,8,1024))>
#frag2 = #tile.fragment<((4,8,4,2),(2,2,28)):((256,1,16,64),(128,8,1024))>
#frag3 = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
#frag4 = #tile.fragment<((4,8,4,2),(2,2,8)):((256,1,16,64),(128,8,1024))>
tile.program @rows(%a: !tile.view<512x128xbf16>, %b: !tile.view<128x256xbf16>, %r1: !tile.view<512x256xbf16>, %p: !tile.view<512x256xbf16>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128, n = 256, k = 64}, stages = 3, warps = 8, schedule = "persistent", instruction = "wgmma">} {
  %channel = tile.channel {stages = 5 : i64} : !tile.channel<!tile.buffer<128x32xbf16, #shared>>
  %channel_1 = tile.channel {stages = 3 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared1>, !tile.buffer<64x256xbf16, #shared2>>
  %alloc = tile.alloc : !tile.buffer<128x128xbf16, #shared3>
  tile.for_tiles (%arg, %arg_1) extents [512, 256] steps [128, 256] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x256xf32, #frag>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc_1 = %init) -> (tensor<128x256xf32, #frag>) {
      %slot, %buffer, %buffer_1 = tile.acquire %channel_1 : !tile.channel<!tile.buffer<128x64xbf16, #shared1>, !tile.buffer<64x256xbf16, #shared2>>
      tile.copy %a[%arg, %k] -> %buffer {via = "tma"} : !tile.view<512x128xbf16> -> !tile.buffer<128x64xbf16, #shared1>
      tile.copy %b[%k, %arg_1] -> %buffer_1 {via = "tma"} : !tile.view<128x256xbf16> -> !tile.buffer<64x256xbf16, #shared2>
      tile.commit %slot
      %slot_1, %buffer_2, %buffer_3 = tile.wait %channel_1 : !tile.channel<!tile.buffer<128x64xbf16, #shared1>, !tile.buffer<64x256xbf16, #shared2>>
      %sum = tile.dot %buffer_2, %buffer_3, %acc_1 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared1>, !tile.buffer<64x256xbf16, #shared2>, tensor<128x256xf32, #frag> -> tensor<128x256xf32, #frag>
      tile.release %slot_1 after %sum : tensor<128x256xf32, #frag>
      scf.yield %sum : tensor<128x256xf32, #frag>
    }
    %c0_1 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %c32 = arith.constant 32 : index
    %zero_1 = arith.constant 0.000000e+00 : bf16
    %init_1 = tile.splat %zero_1 : bf16 -> tensor<128x256xbf16, #frag>
    %acc_2 = scf.for %column = %c0_1 to %c256 step %c32 iter_args(%acc_3 = %init_1) -> (tensor<128x256xbf16, #frag>) {
      %addi = arith.addi %arg_1, %column : index
      %slot_2, %buffer_4 = tile.acquire %channel : !tile.channel<!tile.buffer<128x32xbf16, #shared>>
      tile.copy %r1[%arg, %addi] -> %buffer_4 {via = "tma"} : !tile.view<512x256xbf16> -> !tile.buffer<128x32xbf16, #shared>
      tile.commit %slot_2
      %slot_3, %buffer_5 = tile.wait %channel : !tile.channel<!tile.buffer<128x32xbf16, #shared>>
      %tile = tile.read %buffer_5 : !tile.buffer<128x32xbf16, #shared> -> tensor<128x32xbf16, #frag1>
      tile.release %slot_3
      %part = tile.slice %acc_3 {at = array<i64: 0, 32>} : tensor<128x256xbf16, #frag> -> tensor<128x224xbf16, #frag2>
      %concat = tile.concat %part, %tile {axis = 1 : i64} : tensor<128x224xbf16, #frag2>, tensor<128x32xbf16, #frag1> -> tensor<128x256xbf16, #frag>
      scf.yield %concat : tensor<128x256xbf16, #frag>
    } {unroll}
    %map = tile.map %acc, %acc_2 : tensor<128x256xf32, #frag>, tensor<128x256xbf16, #frag> -> tensor<128x256xf32, #frag> {
    ^bb0(%a_1: f32, %b_1: bf16):
      %extf = arith.extf %b_1 : bf16 to f32
      %addf = arith.addf %a_1, %extf : f32
      tile.yield %addf : f32
    }
    %reduce = tile.reduce %map {axes = array<i64: 1>} : tensor<128x256xf32, #frag> -> tensor<128x1xf32, #frag3> {
    ^bb0(%x: f32, %y: f32):
      %maximumf = arith.maximumf %x, %y : f32
      tile.yield %maximumf : f32
    }
    %c0_2 = arith.constant 0 : index
    %c256_1 = arith.constant 256 : index
    %c64_1 = arith.constant 64 : index
    scf.for %column_1 = %c0_2 to %c256_1 step %c64_1 {
      %c0_3 = arith.constant 0 : index
      %part_1 = tile.slice %acc[%c0_3, %column_1] {at = array<i64: 0, 0>} : tensor<128x256xf32, #frag> -> tensor<128x64xf32, #frag4>
      %c0_4 = arith.constant 0 : index
      %part_2 = tile.slice %acc_2[%c0_4, %column_1] {at = array<i64: 0, 0>} : tensor<128x256xbf16, #frag> -> tensor<128x64xbf16, #frag4>
      %part_3 = tile.slice %reduce {at = array<i64: 0, 0>} : tensor<128x1xf32, #frag3> -> tensor<128x1xf32, #frag3>
      %map_1 = tile.map %part_1, %part_2, %part_3 : tensor<128x64xf32, #frag4>, tensor<128x64xbf16, #frag4>, tensor<128x1xf32, #frag3> -> tensor<128x64xbf16, #frag4> {
      ^bb0(%a_2: f32, %b_2: bf16, %c: f32):
        %extf_1 = arith.extf %b_2 : bf16 to f32
        %addf_1 = arith.addf %a_2, %extf_1 : f32
        %subf = arith.subf %addf_1, %c : f32
        %truncf = arith.truncf %subf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi_1 = arith.addi %arg_1, %column_1 : index
      tile.store_wait {pending = 1 : i64}
      %c0_5 = arith.constant 0 : index
      %c128_1 = arith.constant 128 : index
      %remui = arith.remui %column_1, %c128_1 : index
      %part_4 = tile.subview %alloc[%c0_5, %remui] {at = array<i64: 0, 0>} : !tile.buffer<128x128xbf16, #shared3> -> !tile.buffer<128x64xbf16, #shared1>
      tile.write %map_1, %part_4 : tensor<128x64xbf16, #frag4>, !tile.buffer<128x64xbf16, #shared1>
      tile.store %part_4, %p[%arg, %addi_1] : !tile.buffer<128x64xbf16, #shared1>, !tile.view<512x256xbf16>
    } {unroll}
  }
  tile.store_wait
}

// -----

// CHECK-LABEL: tile.program @unaligned
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,128):(1,64) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,16)):((128,1,16),(64,8,512))>
#frag1 = #tile.fragment<((128),(64)):((64),(1))>
#frag2 = #tile.fragment<((4,8,4),(2,16)):((2,0,0),(1,8))>
#frag3 = #tile.fragment<((4,8,4),(2)):((0,1,16),(8))>
#frag4 = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
#shared2 = #tile.shared<(64,64):(1,64) swizzle(3,3,3)>
#frag5 = #tile.fragment<((32,4),(2,16)):((64,16),(2048,1))>
tile.program @unaligned(%a: !tile.view<512x128xbf16>, %b: !tile.view<128x125xbf16>, %r1: !tile.view<512x125xbf16>, %p: !tile.view<512x125xbf16>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 64, n = 128, k = 64}, stages = 3, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  %channel = tile.channel {stages = 3 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
  tile.for_tiles (%arg, %arg_1) extents [512, 125] steps [64, 128] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x128xf32, #frag>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x128xf32, #frag>) {
      %b_tile = tile.load %b[%k, %arg_1] {checked = array<i64: 1>} : !tile.view<128x125xbf16> -> tensor<64x128xbf16, #frag1>
      %slot, %buffer, %buffer_1 = tile.acquire %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
      tile.copy %a[%arg, %k] -> %buffer {via = "tma"} : !tile.view<512x128xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.write %b_tile, %buffer_1 : tensor<64x128xbf16, #frag1>, !tile.buffer<64x128xbf16, #shared1>
      tile.commit %slot
      %slot_1, %buffer_2, %buffer_3 = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
      %sum = tile.dot %buffer_2, %buffer_3, %acc_1 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<64x128xf32, #frag> -> tensor<64x128xf32, #frag>
      tile.release %slot_1 after %sum : tensor<64x128xf32, #frag>
      scf.yield %sum : tensor<64x128xf32, #frag>
    }
    %r1_tile = tile.load %r1[%arg, %arg_1] {checked = array<i64: 1>} : !tile.view<512x125xbf16> -> tensor<64x128xbf16, #frag1>
    %iota = tile.iota %arg_1 {axis = 1 : i64} : tensor<1x128xindex, #frag2>
    %convert = tile.convert %r1_tile {through = #shared1} : tensor<64x128xbf16, #frag1> -> tensor<64x128xbf16, #frag>
    %map = tile.map %acc, %convert, %iota : tensor<64x128xf32, #frag>, tensor<64x128xbf16, #frag>, tensor<1x128xindex, #frag2> -> tensor<64x128xf32, #frag> {
    ^bb0(%a_1: f32, %b_1: bf16, %c: index):
      %extf = arith.extf %b_1 : bf16 to f32
      %addf = arith.addf %a_1, %extf : f32
      %least = arith.constant 0xff800000 : f32
      %c125 = arith.constant 125 : index
      %cmpi = arith.cmpi slt, %c, %c125 : index
      %select = arith.select %cmpi, %addf, %least : f32
      tile.yield %select : f32
    }
    %reduce = tile.reduce %map {axes = array<i64: 1>} : tensor<64x128xf32, #frag> -> tensor<64x1xf32, #frag3> {
    ^bb0(%x: f32, %y: f32):
      %maximumf = arith.maximumf %x, %y : f32
      tile.yield %maximumf : f32
    }
    %c0_1 = arith.constant 0 : index
    %c128_1 = arith.constant 128 : index
    %c64_1 = arith.constant 64 : index
    scf.for %column = %c0_1 to %c128_1 step %c64_1 {
      %c0_2 = arith.constant 0 : index
      %part = tile.slice %acc[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<64x128xf32, #frag> -> tensor<64x64xf32, #frag4>
      %c0_3 = arith.constant 0 : index
      %part_1 = tile.slice %convert[%c0_3, %column] {at = array<i64: 0, 0>} : tensor<64x128xbf16, #frag> -> tensor<64x64xbf16, #frag4>
      %part_2 = tile.slice %reduce {at = array<i64: 0, 0>} : tensor<64x1xf32, #frag3> -> tensor<64x1xf32, #frag3>
      %map_1 = tile.map %part, %part_1, %part_2 : tensor<64x64xf32, #frag4>, tensor<64x64xbf16, #frag4>, tensor<64x1xf32, #frag3> -> tensor<64x64xbf16, #frag4> {
      ^bb0(%a_2: f32, %b_2: bf16, %c_1: f32):
        %extf_1 = arith.extf %b_2 : bf16 to f32
        %addf_1 = arith.addf %a_2, %extf_1 : f32
        %subf = arith.subf %addf_1, %c_1 : f32
        %truncf = arith.truncf %subf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi = arith.addi %arg_1, %column : index
      %convert_1 = tile.convert %map_1 {through = #shared2} : tensor<64x64xbf16, #frag4> -> tensor<64x64xbf16, #frag5>
      tile.store %convert_1, %p[%arg, %addi] {checked = array<i64: 1>} : tensor<64x64xbf16, #frag5>, !tile.view<512x125xbf16>
    } {unroll}
  }
}

// -----

// CHECK-LABEL: tile.program @turns
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,16)):((128,1,16),(64,8,512))>
#frag1 = #tile.fragment<((16,2,4),(8,8)):((512,1,16),(64,2))>
#shared2 = #tile.shared<(64,128):(128,1) swizzle(3,3,4)>
#frag2 = #tile.fragment<((4,8,4),(2)):((0,1,16),(8))>
#frag3 = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @turns(%a: !tile.view<512x128xbf16>, %b: !tile.view<128x128xbf16>, %r1: !tile.view<512x128xbf16>, %p: !tile.view<512x128xbf16>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 64, n = 128, k = 64}, stages = 3, warps = 4, schedule = "pingpong", instruction = "wgmma">} {
  %channel = tile.channel {stages = 3 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
  %alloc = tile.alloc : !tile.buffer<64x128xbf16, #shared1>
  tile.for_tiles (%arg, %arg_1) extents [512, 128] steps [64, 128] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x128xf32, #frag>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x128xf32, #frag>) {
      %slot, %buffer, %buffer_1 = tile.acquire %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
      tile.copy %a[%arg, %k] -> %buffer {via = "tma"} : !tile.view<512x128xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.copy %b[%k, %arg_1] -> %buffer_1 {via = "tma"} : !tile.view<128x128xbf16> -> !tile.buffer<64x128xbf16, #shared1>
      tile.commit %slot
      %slot_1, %buffer_2, %buffer_3 = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
      %sum = tile.dot %buffer_2, %buffer_3, %acc_1 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<64x128xf32, #frag> -> tensor<64x128xf32, #frag>
      tile.release %slot_1 after %sum : tensor<64x128xf32, #frag>
      scf.yield %sum : tensor<64x128xf32, #frag>
    }
    %r1_tile = tile.load %r1[%arg, %arg_1] : !tile.view<512x128xbf16> -> tensor<64x128xbf16, #frag1>
    %convert = tile.convert %r1_tile {through = #shared2} : tensor<64x128xbf16, #frag1> -> tensor<64x128xbf16, #frag>
    %map = tile.map %acc, %convert : tensor<64x128xf32, #frag>, tensor<64x128xbf16, #frag> -> tensor<64x128xf32, #frag> {
    ^bb0(%a_1: f32, %b_1: bf16):
      %extf = arith.extf %b_1 : bf16 to f32
      %addf = arith.addf %a_1, %extf : f32
      tile.yield %addf : f32
    }
    %reduce = tile.reduce %map {axes = array<i64: 1>} : tensor<64x128xf32, #frag> -> tensor<64x1xf32, #frag2> {
    ^bb0(%x: f32, %y: f32):
      %maximumf = arith.maximumf %x, %y : f32
      tile.yield %maximumf : f32
    }
    %c0_1 = arith.constant 0 : index
    %c128_1 = arith.constant 128 : index
    %c64_1 = arith.constant 64 : index
    scf.for %column = %c0_1 to %c128_1 step %c64_1 {
      %c0_2 = arith.constant 0 : index
      %part = tile.slice %acc[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<64x128xf32, #frag> -> tensor<64x64xf32, #frag3>
      %c0_3 = arith.constant 0 : index
      %part_1 = tile.slice %convert[%c0_3, %column] {at = array<i64: 0, 0>} : tensor<64x128xbf16, #frag> -> tensor<64x64xbf16, #frag3>
      %part_2 = tile.slice %reduce {at = array<i64: 0, 0>} : tensor<64x1xf32, #frag2> -> tensor<64x1xf32, #frag2>
      %map_1 = tile.map %part, %part_1, %part_2 : tensor<64x64xf32, #frag3>, tensor<64x64xbf16, #frag3>, tensor<64x1xf32, #frag2> -> tensor<64x64xbf16, #frag3> {
      ^bb0(%a_2: f32, %b_2: bf16, %c: f32):
        %extf_1 = arith.extf %b_2 : bf16 to f32
        %addf_1 = arith.addf %a_2, %extf_1 : f32
        %subf = arith.subf %addf_1, %c : f32
        %truncf = arith.truncf %subf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi = arith.addi %arg_1, %column : index
      tile.store_wait {pending = 1 : i64}
      %c0_4 = arith.constant 0 : index
      %c128_2 = arith.constant 128 : index
      %remui = arith.remui %column, %c128_2 : index
      %part_3 = tile.subview %alloc[%c0_4, %remui] {at = array<i64: 0, 0>} : !tile.buffer<64x128xbf16, #shared1> -> !tile.buffer<64x64xbf16, #shared>
      tile.write %map_1, %part_3 : tensor<64x64xbf16, #frag3>, !tile.buffer<64x64xbf16, #shared>
      tile.store %part_3, %p[%arg, %addi] : !tile.buffer<64x64xbf16, #shared>, !tile.view<512x128xbf16>
    } {unroll}
  }
  tile.store_wait
}
