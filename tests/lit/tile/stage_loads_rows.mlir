// RUN: irc-opt %s -p stage-loads --split-input-file | filecheck %s

// An array that whole rows are reduced with comes by TMA in subtiles of 8 KB, from which the rows are put together: each
// moves what came before on.
// CHECK-LABEL: tile.program @rows
// CHECK:         scf.for {{.*}} iter_args
// CHECK:           tile.dot
// CHECK:         [[ROWS:%[a-z0-9_]+]] = scf.for %column = {{.*}} iter_args([[BEFORE:%[a-z0-9_]+]] = {{%[a-z0-9_]+}}) -> (tensor<128x256xbf16>) {
// CHECK-NEXT:      [[AT:%[a-z0-9_]+]] = arith.addi {{%[a-z0-9_]+}}, %column : index
// CHECK-NEXT:      tile.copy %r{{.*}}, [[AT]]] -> [[BUFFER:%[a-z0-9_]+]] {via = "tma"} : !tile.view<512x256xbf16> -> !tile.buffer<128x32xbf16>
// CHECK-NEXT:      [[SUBTILE:%[a-z0-9_]+]] = tile.read [[BUFFER]]
// CHECK-NEXT:      [[REST:%[a-z0-9_]+]] = tile.slice [[BEFORE]] {at = array<i64: 0, 32>} : tensor<128x256xbf16> -> tensor<128x224xbf16>
// CHECK-NEXT:      [[MOVED:%[a-z0-9_]+]] = tile.concat [[REST]], [[SUBTILE]] {axis = 1 : i64}
// CHECK-NEXT:      scf.yield [[MOVED]]
// CHECK-NEXT:    } {unroll}
// CHECK:         tile.map {{%[a-z0-9_]+}}, [[ROWS]]
// CHECK:         tile.reduce
// CHECK:         scf.for %column
tile.program @rows(%a: !tile.view<512x128xbf16>, %b: !tile.view<128x256xbf16>, %r1: !tile.view<512x256xbf16>, %p: !tile.view<512x256xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 256, k = 64}, stages = 3, warps = 8, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [512, 256] steps [128, 256] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x256xf32>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %alloc = tile.alloc : !tile.buffer<128x64xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<64x256xbf16>
    %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc_1 = %init) -> (tensor<128x256xf32>) {
      tile.copy %a[%arg, %k] -> %alloc {via = "tma"} : !tile.view<512x128xbf16> -> !tile.buffer<128x64xbf16>
      tile.copy %b[%k, %arg_1] -> %alloc_1 {via = "tma"} : !tile.view<128x256xbf16> -> !tile.buffer<64x256xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<128x64xbf16>, !tile.buffer<64x256xbf16>, tensor<128x256xf32> -> tensor<128x256xf32>
      scf.yield %sum : tensor<128x256xf32>
    }
    %c0_1 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %c32 = arith.constant 32 : index
    %zero_1 = arith.constant 0.000000e+00 : bf16
    %init_1 = tile.splat %zero_1 : bf16 -> tensor<128x256xbf16>
    %acc_2 = scf.for %column = %c0_1 to %c256 step %c32 iter_args(%acc_3 = %init_1) -> (tensor<128x256xbf16>) {
      %addi = arith.addi %arg_1, %column : index
      %r1_tile = tile.load %r1[%arg, %addi] : !tile.view<512x256xbf16> -> tensor<128x32xbf16>
      %part = tile.slice %acc_3 {at = array<i64: 0, 32>} : tensor<128x256xbf16> -> tensor<128x224xbf16>
      %concat = tile.concat %part, %r1_tile {axis = 1 : i64} : tensor<128x224xbf16>, tensor<128x32xbf16> -> tensor<128x256xbf16>
      scf.yield %concat : tensor<128x256xbf16>
    } {unroll}
    %map = tile.map %acc, %acc_2 : tensor<128x256xf32>, tensor<128x256xbf16> -> tensor<128x256xf32> {
    ^bb0(%a_1: f32, %b_1: bf16):
      %extf = arith.extf %b_1 : bf16 to f32
      %addf = arith.addf %a_1, %extf : f32
      tile.yield %addf : f32
    }
    %reduce = tile.reduce %map {axes = array<i64: 1>} : tensor<128x256xf32> -> tensor<128x1xf32> {
    ^bb0(%x: f32, %y: f32):
      %maximumf = arith.maximumf %x, %y : f32
      tile.yield %maximumf : f32
    }
    %c0_2 = arith.constant 0 : index
    %c256_1 = arith.constant 256 : index
    %c64_1 = arith.constant 64 : index
    scf.for %column_1 = %c0_2 to %c256_1 step %c64_1 {
      %c0_3 = arith.constant 0 : index
      %part_1 = tile.slice %acc[%c0_3, %column_1] {at = array<i64: 0, 0>} : tensor<128x256xf32> -> tensor<128x64xf32>
      %c0_4 = arith.constant 0 : index
      %part_2 = tile.slice %acc_2[%c0_4, %column_1] {at = array<i64: 0, 0>} : tensor<128x256xbf16> -> tensor<128x64xbf16>
      %part_3 = tile.slice %reduce {at = array<i64: 0, 0>} : tensor<128x1xf32> -> tensor<128x1xf32>
      %map_1 = tile.map %part_1, %part_2, %part_3 : tensor<128x64xf32>, tensor<128x64xbf16>, tensor<128x1xf32> -> tensor<128x64xbf16> {
      ^bb0(%a_2: f32, %b_2: bf16, %c: f32):
        %extf_1 = arith.extf %b_2 : bf16 to f32
        %addf_1 = arith.addf %a_2, %extf_1 : f32
        %subf = arith.subf %addf_1, %c : f32
        %truncf = arith.truncf %subf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi_1 = arith.addi %arg_1, %column_1 : index
      tile.store %map_1, %p[%arg, %addi_1] : tensor<128x64xbf16>, !tile.view<512x256xbf16>
    } {unroll}
  }
}

// -----

// Rows that do not begin at multiples of 16 bytes are loaded at once; so they are where consumers take turns, which read
// them beside the products of the other.
// CHECK-LABEL: tile.program @unaligned
// CHECK-NOT:     iter_args({{.*}} -> (tensor<64x128xbf16>)
// CHECK:         tile.load %r{{.*}} -> tensor<64x128xbf16>
tile.program @unaligned(%a: !tile.view<512x128xbf16>, %b: !tile.view<128x125xbf16>, %r1: !tile.view<512x125xbf16>, %p: !tile.view<512x125xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 128, k = 64}, stages = 3, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [512, 125] steps [64, 128] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x128xf32>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %alloc = tile.alloc : !tile.buffer<64x64xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<64x128xbf16>
    %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x128xf32>) {
      %b_tile = tile.load %b[%k, %arg_1] {checked = array<i64: 1>} : !tile.view<128x125xbf16> -> tensor<64x128xbf16>
      tile.copy %a[%arg, %k] -> %alloc {via = "tma"} : !tile.view<512x128xbf16> -> !tile.buffer<64x64xbf16>
      tile.write %b_tile, %alloc_1 : tensor<64x128xbf16>, !tile.buffer<64x128xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x64xbf16>, !tile.buffer<64x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
      scf.yield %sum : tensor<64x128xf32>
    }
    %r1_tile = tile.load %r1[%arg, %arg_1] {checked = array<i64: 1>} : !tile.view<512x125xbf16> -> tensor<64x128xbf16>
    %iota = tile.iota %arg_1 {axis = 1 : i64} : tensor<1x128xindex>
    %map = tile.map %acc, %r1_tile, %iota : tensor<64x128xf32>, tensor<64x128xbf16>, tensor<1x128xindex> -> tensor<64x128xf32> {
    ^bb0(%a_1: f32, %b_1: bf16, %c: index):
      %extf = arith.extf %b_1 : bf16 to f32
      %addf = arith.addf %a_1, %extf : f32
      %least = arith.constant 0xff800000 : f32
      %c125 = arith.constant 125 : index
      %cmpi = arith.cmpi slt, %c, %c125 : index
      %select = arith.select %cmpi, %addf, %least : f32
      tile.yield %select : f32
    }
    %reduce = tile.reduce %map {axes = array<i64: 1>} : tensor<64x128xf32> -> tensor<64x1xf32> {
    ^bb0(%x: f32, %y: f32):
      %maximumf = arith.maximumf %x, %y : f32
      tile.yield %maximumf : f32
    }
    %c0_1 = arith.constant 0 : index
    %c128_1 = arith.constant 128 : index
    %c64_1 = arith.constant 64 : index
    scf.for %column = %c0_1 to %c128_1 step %c64_1 {
      %c0_2 = arith.constant 0 : index
      %part = tile.slice %acc[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<64x128xf32> -> tensor<64x64xf32>
      %c0_3 = arith.constant 0 : index
      %part_1 = tile.slice %r1_tile[%c0_3, %column] {at = array<i64: 0, 0>} : tensor<64x128xbf16> -> tensor<64x64xbf16>
      %part_2 = tile.slice %reduce {at = array<i64: 0, 0>} : tensor<64x1xf32> -> tensor<64x1xf32>
      %map_1 = tile.map %part, %part_1, %part_2 : tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x1xf32> -> tensor<64x64xbf16> {
      ^bb0(%a_2: f32, %b_2: bf16, %c_1: f32):
        %extf_1 = arith.extf %b_2 : bf16 to f32
        %addf_1 = arith.addf %a_2, %extf_1 : f32
        %subf = arith.subf %addf_1, %c_1 : f32
        %truncf = arith.truncf %subf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi = arith.addi %arg_1, %column : index
      tile.store %map_1, %p[%arg, %addi] {checked = array<i64: 1>} : tensor<64x64xbf16>, !tile.view<512x125xbf16>
    } {unroll}
  }
}

// -----

// CHECK-LABEL: tile.program @turns
// CHECK-NOT:     iter_args({{.*}} -> (tensor<64x128xbf16>)
// CHECK:         tile.load %r{{.*}} -> tensor<64x128xbf16>
tile.program @turns(%a: !tile.view<512x128xbf16>, %b: !tile.view<128x128xbf16>, %r1: !tile.view<512x128xbf16>, %p: !tile.view<512x128xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 128, k = 64}, stages = 3, warps = 4, schedule = "pingpong", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [512, 128] steps [64, 128] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x128xf32>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %alloc = tile.alloc : !tile.buffer<64x64xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<64x128xbf16>
    %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x128xf32>) {
      tile.copy %a[%arg, %k] -> %alloc {via = "tma"} : !tile.view<512x128xbf16> -> !tile.buffer<64x64xbf16>
      tile.copy %b[%k, %arg_1] -> %alloc_1 {via = "tma"} : !tile.view<128x128xbf16> -> !tile.buffer<64x128xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x64xbf16>, !tile.buffer<64x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
      scf.yield %sum : tensor<64x128xf32>
    }
    %r1_tile = tile.load %r1[%arg, %arg_1] : !tile.view<512x128xbf16> -> tensor<64x128xbf16>
    %map = tile.map %acc, %r1_tile : tensor<64x128xf32>, tensor<64x128xbf16> -> tensor<64x128xf32> {
    ^bb0(%a_1: f32, %b_1: bf16):
      %extf = arith.extf %b_1 : bf16 to f32
      %addf = arith.addf %a_1, %extf : f32
      tile.yield %addf : f32
    }
    %reduce = tile.reduce %map {axes = array<i64: 1>} : tensor<64x128xf32> -> tensor<64x1xf32> {
    ^bb0(%x: f32, %y: f32):
      %maximumf = arith.maximumf %x, %y : f32
      tile.yield %maximumf : f32
    }
    %c0_1 = arith.constant 0 : index
    %c128_1 = arith.constant 128 : index
    %c64_1 = arith.constant 64 : index
    scf.for %column = %c0_1 to %c128_1 step %c64_1 {
      %c0_2 = arith.constant 0 : index
      %part = tile.slice %acc[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<64x128xf32> -> tensor<64x64xf32>
      %c0_3 = arith.constant 0 : index
      %part_1 = tile.slice %r1_tile[%c0_3, %column] {at = array<i64: 0, 0>} : tensor<64x128xbf16> -> tensor<64x64xbf16>
      %part_2 = tile.slice %reduce {at = array<i64: 0, 0>} : tensor<64x1xf32> -> tensor<64x1xf32>
      %map_1 = tile.map %part, %part_1, %part_2 : tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x1xf32> -> tensor<64x64xbf16> {
      ^bb0(%a_2: f32, %b_2: bf16, %c: f32):
        %extf_1 = arith.extf %b_2 : bf16 to f32
        %addf_1 = arith.addf %a_2, %extf_1 : f32
        %subf = arith.subf %addf_1, %c : f32
        %truncf = arith.truncf %subf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi = arith.addi %arg_1, %column : index
      tile.store %map_1, %p[%arg, %addi] : tensor<64x64xbf16>, !tile.view<512x128xbf16>
    } {unroll}
  }
}
