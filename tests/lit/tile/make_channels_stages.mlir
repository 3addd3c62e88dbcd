// RUN: irc-opt %s -p make-channels | filecheck %s

// The config says how many stages the channel has through which %r comes; there is room for more.
// CHECK-DAG: tile.channel {stages = 3 : i64} : !tile.channel<!tile.buffer<128x64xbf16, {{#[a-z0-9]+}}>>
// CHECK-DAG: tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<128x64xbf16, {{#[a-z0-9]+}}>, !tile.buffer<64x128xbf16, {{#[a-z0-9]+}}>>
#frag = #tile.fragment<((4,8,4),(2,2,16,2)):((256,1,16),(128,8,1024,64))>
#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag1 = #tile.fragment<((4,8,4),(2,2,8,2)):((256,1,16),(128,8,1024,64))>
#frag2 = #tile.fragment<((4,8,4),(2,8)):((2,0,0),(1,8))>
#frag3 = #tile.fragment<((8,4,4),(8,4,2)):((1024,1,16),(128,4,64))>
builtin.module attributes {irc.target = "sm_90a"} {
  tile.program @epilogue(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %r: !tile.view<512x512xbf16>, %b: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma", load_stages = 3>} {
    tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %c512 = arith.constant 512 : index
      %zero = arith.constant 0.000000e+00 : f32
      %start = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
      %a = tile.alloc : !tile.buffer<128x64xbf16, #shared>
      %v = tile.alloc : !tile.buffer<64x128xbf16, #shared1>
      %p = scf.for %k = %c0 to %c512 step %c64 iter_args(%acc = %start) -> (tensor<128x128xf32, #frag>) {
        tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
        tile.copy %w[%k, %n] -> %v {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared1>
        %d = tile.dot %a, %v, %acc {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        scf.yield %d : tensor<128x128xf32, #frag>
      }
      %0 = arith.constant 0 : index
      %1 = arith.constant 128 : index
      %2 = arith.constant 64 : index
      %r1 = tile.alloc : !tile.buffer<128x64xbf16, #shared>
      scf.for %column = %0 to %1 step %2 {
        %3 = arith.addi %n, %column : index
        tile.copy %r[%m, %3] -> %r1 {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
        %r1_1 = tile.read %r1 : !tile.buffer<128x64xbf16, #shared> -> tensor<128x64xbf16, #frag1>
        %4 = arith.addi %n, %column : index
        %b1 = tile.load %b[%m, %4] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x64xbf16, #frag2>
        %5 = arith.constant 0 : index
        %6 = tile.slice %p[%5, %column] {at = array<i64: 0, 0>} : tensor<128x128xf32, #frag> -> tensor<128x64xf32, #frag1>
        %o = tile.map %6, %r1_1, %b1 : tensor<128x64xf32, #frag1>, tensor<128x64xbf16, #frag1>, tensor<1x64xbf16, #frag2> -> tensor<128x64xbf16, #frag1> {
        ^bb0(%7: f32, %8: bf16, %9: bf16):
          %10 = arith.extf %8 : bf16 to f32
          %11 = arith.extf %9 : bf16 to f32
          %12 = arith.addf %7, %10 : f32
          %13 = arith.mulf %12, %11 : f32
          %14 = arith.truncf %13 : f32 to bf16
          tile.yield %14 : bf16
        }
        %15 = arith.addi %n, %column : index
        %16 = tile.convert %o {through = #shared} : tensor<128x64xbf16, #frag1> -> tensor<128x64xbf16, #frag3>
        tile.store %16, %y[%m, %15] : tensor<128x64xbf16, #frag3>, !tile.view<512x512xbf16>
      } {unroll}
    }
  }
}
