// RUN: irc-opt %s -p place-operands,assign-layouts,make-channels --split-input-file | filecheck %s

// Loops one behind the other that fill buffers of the same types: the second one goes on with the stages of the first, and
// both have all that the config asks for.
// CHECK-LABEL: tile.program @sequence
// CHECK-NEXT:    [[CHANNEL:%[0-9]+]] = tile.channel {stages = 4 : i64}
// CHECK-NOT:     tile.channel {
// CHECK:         scf.for
// CHECK:           tile.acquire [[CHANNEL]]
// CHECK:           tile.wait [[CHANNEL]]
// CHECK:         scf.for
// CHECK:           tile.acquire [[CHANNEL]]
// CHECK:           tile.wait [[CHANNEL]]
tile.program @sequence(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %v: !tile.view<256x128xbf16>, %y: !tile.view<64x64xf32>, %z: !tile.view<64x128xf32>) {results = 2 : i64, config = #kernel.config<stages = 4, warps = 4, instruction = "wgmma">} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 256 : index
    %zero = arith.constant 0.0 : f32
    %none = tile.splat %zero : f32 -> tensor<64x64xf32>
    %wide = tile.splat %zero : f32 -> tensor<64x128xf32>
    %part = scf.for %k = %c0 to %i step %ck iter_args(%acc = %none) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x64xbf16>
      %b = tile.load %w[%k, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16>
      %next = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    %sum = scf.for %k = %i to %cK step %ck iter_args(%acc = %part) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x64xbf16>
      %b = tile.load %w[%k, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16>
      %next = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.store %sum, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}

// -----

// Buffers of other types have channels of their own, and the stages are shared out.
// CHECK-LABEL: tile.program @types
// CHECK-NEXT:    tile.channel {stages = 2 : i64}
// CHECK-NEXT:    tile.channel {stages = 2 : i64}
// CHECK-NEXT:    tile.for_tiles
tile.program @types(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %v: !tile.view<256x128xbf16>, %y: !tile.view<64x64xf32>, %z: !tile.view<64x128xf32>) {results = 2 : i64, config = #kernel.config<stages = 4, warps = 4, instruction = "wgmma">} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 256 : index
    %zero = arith.constant 0.0 : f32
    %none = tile.splat %zero : f32 -> tensor<64x64xf32>
    %wide = tile.splat %zero : f32 -> tensor<64x128xf32>
    %sum = scf.for %k = %c0 to %i step %ck iter_args(%acc = %none) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x64xbf16>
      %b = tile.load %w[%k, %c0] : !tile.view<256x64xbf16> -> tensor<64x64xbf16>
      %next = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    %other = scf.for %k = %c0 to %cK step %ck iter_args(%acc = %wide) -> (tensor<64x128xf32>) {
      %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x64xbf16>
      %b = tile.load %v[%k, %c0] : !tile.view<256x128xbf16> -> tensor<64x128xbf16>
      %next = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
      scf.yield %next : tensor<64x128xf32>
    }
    tile.store %sum, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
    tile.store %other, %z[%c0, %c0] : tensor<64x128xf32>, !tile.view<64x128xf32>
  }
}
