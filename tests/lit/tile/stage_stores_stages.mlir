// RUN: irc-opt %s -p stage-stores --split-input-file | filecheck %s

// As many buffers as the config says, where a tile has a multiple of so many subtiles.
// CHECK-LABEL: @four
// CHECK:         tile.alloc : !tile.buffer<128x128xbf16>
// CHECK:         tile.store_wait {pending = 3 : i64}
// CHECK:         arith.constant 128 : index
// CHECK:         arith.remui
builtin.module attributes {irc.target = "sm_90a"} {
  tile.program @four(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma", store_stages = 4>} {
    tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 512 : index
      %cn = arith.constant 128 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant 0.0 : f32
      %start = tile.splat %zero : f32 -> tensor<128x128xf32>
      %a = tile.alloc : !tile.buffer<128x64xbf16>
      %b = tile.alloc : !tile.buffer<64x128xbf16>
      %acc = scf.for %k = %c0 to %cK step %ck iter_args(%d = %start) -> (tensor<128x128xf32>) {
        tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16>
        tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16>
        %e = tile.dot %a, %b, %d : !tile.buffer<128x64xbf16>, !tile.buffer<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
        scf.yield %e : tensor<128x128xf32>
      }
      scf.for %column = %c0 to %cn step %c32 {
        %part = tile.slice %acc[%c0, %column] {at = array<i64: 0, 0>} : tensor<128x128xf32> -> tensor<128x32xf32>
        %o = tile.map %part : tensor<128x32xf32> -> tensor<128x32xbf16> {
        ^bb0(%v: f32):
          %t = arith.truncf %v : f32 to bf16
          tile.yield %t : bf16
        }
        %at = arith.addi %n, %column : index
        tile.store %o, %y[%m, %at] : tensor<128x32xbf16>, !tile.view<512x512xbf16>
      } {unroll}
    }
  }
}

// -----

// CHECK-LABEL: @three
// CHECK:         tile.alloc : !tile.buffer<128x32xbf16>
// CHECK:         tile.store_wait{{$}}
// CHECK-NOT:     arith.remui
builtin.module attributes {irc.target = "sm_90a"} {
  tile.program @three(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma", store_stages = 3>} {
    tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 512 : index
      %cn = arith.constant 128 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant 0.0 : f32
      %start = tile.splat %zero : f32 -> tensor<128x128xf32>
      %a = tile.alloc : !tile.buffer<128x64xbf16>
      %b = tile.alloc : !tile.buffer<64x128xbf16>
      %acc = scf.for %k = %c0 to %cK step %ck iter_args(%d = %start) -> (tensor<128x128xf32>) {
        tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16>
        tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16>
        %e = tile.dot %a, %b, %d : !tile.buffer<128x64xbf16>, !tile.buffer<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
        scf.yield %e : tensor<128x128xf32>
      }
      scf.for %column = %c0 to %cn step %c32 {
        %part = tile.slice %acc[%c0, %column] {at = array<i64: 0, 0>} : tensor<128x128xf32> -> tensor<128x32xf32>
        %o = tile.map %part : tensor<128x32xf32> -> tensor<128x32xbf16> {
        ^bb0(%v: f32):
          %t = arith.truncf %v : f32 to bf16
          tile.yield %t : bf16
        }
        %at = arith.addi %n, %column : index
        tile.store %o, %y[%m, %at] : tensor<128x32xbf16>, !tile.view<512x512xbf16>
      } {unroll}
    }
  }
}
