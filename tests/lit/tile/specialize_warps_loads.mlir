// RUN: irc-opt %s -p specialize-warps | filecheck %s

// The producer brings them after the operands; who multiplies releases a stage as soon as it has read it.
// CHECK:       [[LOADS:%[a-z0-9_]+]] = tile.channel {{.*}} : !tile.channel<!tile.buffer<128x64xbf16
// CHECK:       tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<128x64xbf16, {{.*}}>, !tile.buffer<64x128xbf16
// CHECK:       tile.partitions
// CHECK:         scf.for
// CHECK:           tile.copy %x
// CHECK:         scf.for %column
// CHECK-NEXT:      arith.addi
// CHECK-NEXT:      tile.acquire [[LOADS]]
// CHECK-NEXT:      tile.copy %r
// CHECK-NEXT:      tile.commit %slot
// CHECK-NEXT:    } {unroll}
// CHECK:         scf.for
// CHECK:           tile.dot
// CHECK:         scf.for %column
// CHECK:           tile.wait [[LOADS]]
// CHECK-NEXT:      tile.read
// CHECK-NEXT:      tile.release %slot

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,16,2)):((256,1,16),(128,8,1024,64))>
#frag1 = #tile.fragment<((4,8,4),(2,2,8,2)):((256,1,16),(128,8,1024,64))>
#frag2 = #tile.fragment<((4,8,4),(2,8)):((2,0,0),(1,8))>
#frag3 = #tile.fragment<((8,4,4),(8,4,2)):((1024,1,16),(128,4,64))>
tile.program @epilogue(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %r: !tile.view<512x512xbf16>, %b: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  %channel = tile.channel {stages = 8 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
  %channel_1 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %start = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
    %p = scf.for %k = %c0 to %c512 step %c64 iter_args(%acc = %start) -> (tensor<128x128xf32, #frag>) {
      %slot, %a, %v = tile.acquire %channel_1 : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.copy %w[%k, %n] -> %v {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared1>
      tile.commit %slot
      %slot_1, %a_1, %v_1 = tile.wait %channel_1 : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
      %d = tile.dot %a_1, %v_1, %acc {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
      tile.release %slot_1 after %d : tensor<128x128xf32, #frag>
      scf.yield %d : tensor<128x128xf32, #frag>
    }
    %c0_1 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64_1 = arith.constant 64 : index
    scf.for %column = %c0_1 to %c128 step %c64_1 {
      %addi = arith.addi %n, %column : index
      %slot_2, %r1 = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      tile.copy %r[%m, %addi] -> %r1 {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.commit %slot_2
      %slot_3, %r1_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      %r1_2 = tile.read %r1_1 : !tile.buffer<128x64xbf16, #shared> -> tensor<128x64xbf16, #frag1>
      tile.release %slot_3
      %addi_1 = arith.addi %n, %column : index
      %b1 = tile.load %b[%m, %addi_1] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x64xbf16, #frag2>
      %c0_2 = arith.constant 0 : index
      %part = tile.slice %p[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<128x128xf32, #frag> -> tensor<128x64xf32, #frag1>
      %o = tile.map %part, %r1_2, %b1 : tensor<128x64xf32, #frag1>, tensor<128x64xbf16, #frag1>, tensor<1x64xbf16, #frag2> -> tensor<128x64xbf16, #frag1> {
      ^bb0(%a_2: f32, %b_1: bf16, %c: bf16):
        %extf = arith.extf %b_1 : bf16 to f32
        %extf_1 = arith.extf %c : bf16 to f32
        %addf = arith.addf %a_2, %extf : f32
        %mulf = arith.mulf %addf, %extf_1 : f32
        %truncf = arith.truncf %mulf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi_2 = arith.addi %n, %column : index
      %convert = tile.convert %o {through = #shared} : tensor<128x64xbf16, #frag1> -> tensor<128x64xbf16, #frag3>
      tile.store %convert, %y[%m, %addi_2] : tensor<128x64xbf16, #frag3>, !tile.view<512x512xbf16>
    } {unroll}
  }
}
