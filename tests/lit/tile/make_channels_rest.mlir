// RUN: irc-opt %s -p make-channels | filecheck %s

// A loop over what is left of the steps of another gets one stage, and leaves that one those that the config asks for.
// CHECK-LABEL: tile.program @rest
// CHECK-NEXT:    tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<64x16xbf16, {{.*}}>, !tile.buffer<16x64xbf16, {{.*}}>>
// CHECK-NEXT:    tile.channel {stages = 4 : i64} : !tile.channel<!tile.buffer<64x64xbf16, {{.*}}>, !tile.buffer<64x64xbf16, {{.*}}>>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
#shared = #tile.shared<(64,64):(1,64) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,16):(1,64) swizzle(3,3,3)>
#shared3 = #tile.shared<(16,64):(64,1) swizzle(3,3,3)>
#frag1 = #tile.fragment<((4,8,4),(2,2,2)):((128,1,16),(64,8,512))>
#frag2 = #tile.fragment<((8,16),(8)):((128,1),(16))>
#shared4 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((16,2,4),(4,8)):((256,1,16),(64,2))>
tile.program @rest(%x: !tile.view<256x64xbf16>, %w: !tile.view<256x64xbf16>, %e: !tile.view<1xi32>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 64}, stages = 4, warps = 4, instruction = "wgmma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %c16 = arith.constant 16 : index
    %end = tile.load_index %e[%c0] {most = 256 : i64} : !tile.view<1xi32>
    %n = arith.divui %end, %ck : index
    %whole = arith.muli %n, %ck : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
    %a = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %b = tile.alloc : !tile.buffer<64x64xbf16, #shared1>
    %sum = scf.for %k = %c0 to %whole step %ck iter_args(%acc = %none) -> (tensor<64x64xf32, #frag>) {
      tile.copy %x[%i, %k] -> %a {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.copy %w[%k, %i] -> %b {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared1>
      %next = tile.dot %a, %b, %acc {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      scf.yield %next : tensor<64x64xf32, #frag>
    }
    %a_1 = tile.alloc : !tile.buffer<64x16xbf16, #shared2>
    %b_1 = tile.alloc : !tile.buffer<16x64xbf16, #shared3>
    %all = scf.for %l = %whole to %end step %c16 iter_args(%acc_1 = %sum) -> (tensor<64x64xf32, #frag>) {
      tile.copy %x[%i, %l] -> %a_1 {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x16xbf16, #shared2>
      %a_2 = tile.read %a_1 : !tile.buffer<64x16xbf16, #shared2> -> tensor<64x16xbf16, #frag1>
      %r = tile.map %a_2 : tensor<64x16xbf16, #frag1> -> tensor<64x16xbf16, #frag1> {
      ^bb0(%v: bf16):
        %n1 = arith.negf %v : bf16
        tile.yield %n1 : bf16
      }
      %b_2 = tile.load %w[%l, %i] {checked = array<i64: 0>} : !tile.view<256x64xbf16> -> tensor<16x64xbf16, #frag2>
      %b_3 = tile.map %b_2 : tensor<16x64xbf16, #frag2> -> tensor<16x64xbf16, #frag2> {
      ^bb0(%v_1: bf16):
        %n2 = arith.negf %v_1 : bf16
        tile.yield %n2 : bf16
      }
      tile.write %b_3, %b_1 : tensor<16x64xbf16, #frag2>, !tile.buffer<16x64xbf16, #shared3>
      %next_1 = tile.dot %r, %b_1, %acc_1 {instruction = "wgmma"} : tensor<64x16xbf16, #frag1>, !tile.buffer<16x64xbf16, #shared3>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      scf.yield %next_1 : tensor<64x64xf32, #frag>
    }
    %0 = tile.convert %all {through = #shared4} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag3>
    tile.store %0, %y[%i, %i] : tensor<64x64xf32, #frag3>, !tile.view<64x64xf32>
  }
}
