// RUN: irc-opt %s -p make-channels --split-input-file | filecheck %s

// Loops one behind the other that fill buffers of the same types: the second one goes on with the stages of the first, and
// both have all that the config asks for.
// CHECK-LABEL: tile.program @sequence
// CHECK-NEXT:    [[CHANNEL:%[a-z0-9_]+]] = tile.channel {stages = 4 : i64}
// CHECK-NOT:     tile.channel {
// CHECK:         scf.for
// CHECK:           tile.acquire [[CHANNEL]]
// CHECK:           tile.wait [[CHANNEL]]
// CHECK:         scf.for
// CHECK:           tile.acquire [[CHANNEL]]
// CHECK:           tile.wait [[CHANNEL]]

#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag1 = #tile.fragment<((16,2,4),(4,8)):((256,1,16),(64,2))>
tile.program @sequence(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %v: !tile.view<256x128xbf16>, %y: !tile.view<64x64xf32>, %z: !tile.view<64x128xf32>) {results = 2 : i64, threads = 128 : i64, config = #kernel.config<stages = 4, warps = 4, instruction = "wgmma">} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 256 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
    %a = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %b = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %part = scf.for %k = %c0 to %i step %ck iter_args(%acc = %none) -> (tensor<64x64xf32, #frag>) {
      tile.copy %x[%c0, %k] -> %a {via = "tma"} : !tile.view<64x256xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
      %next = tile.dot %a, %b, %acc {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      scf.yield %next : tensor<64x64xf32, #frag>
    }
    %a_1 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %b_1 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %sum = scf.for %k_1 = %i to %cK step %ck iter_args(%acc_1 = %part) -> (tensor<64x64xf32, #frag>) {
      tile.copy %x[%c0, %k_1] -> %a_1 {via = "tma"} : !tile.view<64x256xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.copy %w[%k_1, %c0] -> %b_1 {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
      %next_1 = tile.dot %a_1, %b_1, %acc_1 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      scf.yield %next_1 : tensor<64x64xf32, #frag>
    }
    %convert = tile.convert %sum {through = #shared1} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag1>
    tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag1>, !tile.view<64x64xf32>
  }
}

// -----

// Buffers of other types have channels of their own, and the stages are shared out.
// CHECK-LABEL: tile.program @types
// CHECK-NEXT:    tile.channel {stages = 2 : i64}
// CHECK-NEXT:    tile.channel {stages = 2 : i64}
// CHECK-NEXT:    tile.for_tiles

#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
#frag1 = #tile.fragment<((4,8,4),(2,2,16)):((128,1,16),(64,8,512))>
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,2,4),(4,8)):((256,1,16),(64,2))>
#shared3 = #tile.shared<(64,128):(128,1) swizzle(2,3,4)>
#frag3 = #tile.fragment<((32,4),(4,16)):((256,16),(64,1))>
tile.program @types(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %v: !tile.view<256x128xbf16>, %y: !tile.view<64x64xf32>, %z: !tile.view<64x128xf32>) {results = 2 : i64, threads = 128 : i64, config = #kernel.config<stages = 4, warps = 4, instruction = "wgmma">} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 256 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
    %wide = tile.splat %zero : f32 -> tensor<64x128xf32, #frag1>
    %a = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %b = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %sum = scf.for %k = %c0 to %i step %ck iter_args(%acc = %none) -> (tensor<64x64xf32, #frag>) {
      tile.copy %x[%c0, %k] -> %a {via = "tma"} : !tile.view<64x256xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
      %next = tile.dot %a, %b, %acc {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      scf.yield %next : tensor<64x64xf32, #frag>
    }
    %a_1 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %b_1 = tile.alloc : !tile.buffer<64x128xbf16, #shared1>
    %other = scf.for %k_1 = %c0 to %cK step %ck iter_args(%acc_1 = %wide) -> (tensor<64x128xf32, #frag1>) {
      tile.copy %x[%c0, %k_1] -> %a_1 {via = "tma"} : !tile.view<64x256xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.copy %v[%k_1, %c0] -> %b_1 {via = "tma"} : !tile.view<256x128xbf16> -> !tile.buffer<64x128xbf16, #shared1>
      %next_1 = tile.dot %a_1, %b_1, %acc_1 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<64x128xf32, #frag1> -> tensor<64x128xf32, #frag1>
      scf.yield %next_1 : tensor<64x128xf32, #frag1>
    }
    %convert = tile.convert %sum {through = #shared2} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
    tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
    %convert_1 = tile.convert %other {through = #shared3} : tensor<64x128xf32, #frag1> -> tensor<64x128xf32, #frag3>
    tile.store %convert_1, %z[%c0, %c0] : tensor<64x128xf32, #frag3>, !tile.view<64x128xf32>
  }
}
