// RUN: irc-opt %s -p place-operands | filecheck %s

// CHECK-LABEL: tile.program @channels_0
// CHECK:         tile.copy %a{{.*}} {map = {{.*}}, checked = array<i64: 0, 1, 2>, via = "cp_async"}
// CHECK:         tile.copy %b{{.*}} via = "cp_async"}
func.func @channels(%x: tensor<2x9x11x64xbf16>, %w: tensor<24x3x3x64xbf16>) -> tensor<2x9x11x24xf32> {
  %r = kernel.launch @channels_0(%x, %w) : (tensor<2x9x11x64xbf16>, tensor<24x3x3x64xbf16>) -> tensor<2x9x11x24xf32>
  func.return %r : tensor<2x9x11x24xf32>
}
tile.program @channels_0(%a: !tile.view<2x9x11x64xbf16>, %b: !tile.view<24x9x64xbf16>, %r: !tile.view<198x24xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 32, k = 32}, stages = 3, warps = 4, instruction = "mma">} {
  tile.for_tiles (%arg, %arg_1) extents [198, 24] steps [64, 32] {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x32xf32>
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %c576 = arith.constant 576 : index
    %c32 = arith.constant 32 : index
    %acc = scf.for %k = %c0 to %c576 step %c32 iter_args(%acc_1 = %init) -> (tensor<64x32xf32>) {
      %floordivsi = arith.floordivsi %k, %c64 : index
      %muli = arith.muli %floordivsi, %c64 : index
      %subi = arith.subi %k, %muli : index
      %a_tile = tile.load %a[%arg, %subi] symbols(%floordivsi : index) {map = affine_map<(d0, d1)[s0] -> ((d0 floordiv 99), ((((d0 floordiv 11) mod 9) + (s0 floordiv 3)) + -1), (((s0 mod 3) + (d0 mod 11)) + -1), d1)>, checked = array<i64: 0, 1, 2>} : !tile.view<2x9x11x64xbf16> -> tensor<64x32xbf16>
      %b_tile = tile.load %b[%subi, %arg_1] symbols(%floordivsi : index) {map = affine_map<(d0, d1)[s0] -> (d1, s0, d0)>, checked = array<i64: 0>} : !tile.view<24x9x64xbf16> -> tensor<32x32xbf16>
      %sum = tile.dot %a_tile, %b_tile, %acc_1 : tensor<64x32xbf16>, tensor<32x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
      scf.yield %sum : tensor<64x32xf32>
    }
    tile.store %acc, %r[%arg, %arg_1] {checked = array<i64: 0, 1>} : tensor<64x32xf32>, !tile.view<198x24xf32>
  }
}
func.func @few(%x: tensor<2x9x11x3xbf16>, %w: tensor<24x3x3x3xbf16>) -> tensor<2x9x11x24xf32> {
  %r = kernel.launch @few_0(%x, %w) : (tensor<2x9x11x3xbf16>, tensor<24x3x3x3xbf16>) -> tensor<2x9x11x24xf32>
  func.return %r : tensor<2x9x11x24xf32>
}
tile.program @few_0(%a: !tile.view<2x9x11x3xbf16>, %b: !tile.view<24x27xbf16>, %r: !tile.view<198x24xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 32, k = 32}, warps = 4, instruction = "mma">} {
  tile.for_tiles (%arg, %arg_1) extents [198, 24] steps [64, 32] {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x32xf32>
    %c0 = arith.constant 0 : index
    %c27 = arith.constant 27 : index
    %c32 = arith.constant 32 : index
    %acc = scf.for %k = %c0 to %c27 step %c32 iter_args(%acc_1 = %init) -> (tensor<64x32xf32>) {
      %a_tile = tile.load %a[%arg, %k] {map = affine_map<(d0, d1) -> ((d0 floordiv 99), ((((d0 floordiv 11) mod 9) + (d1 floordiv 9)) + -1), ((((d1 floordiv 3) mod 3) + (d0 mod 11)) + -1), (d1 mod 3))>, checked = array<i64: 0, 1, 2>} : !tile.view<2x9x11x3xbf16> -> tensor<64x32xbf16>
      %iota = tile.iota %k {axis = 1 : i64} : tensor<1x32xindex>
      %map = tile.map %a_tile, %iota : tensor<64x32xbf16>, tensor<1x32xindex> -> tensor<64x32xbf16> {
      ^bb0(%a_1: bf16, %b_1: index):
        %zero_1 = arith.constant 0.000000e+00 : bf16
        %cmpi = arith.cmpi slt, %b_1, %c27 : index
        %select = arith.select %cmpi, %a_1, %zero_1 : bf16
        tile.yield %select : bf16
      }
      %b_tile = tile.load %b[%k, %arg_1] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0, 1>} : !tile.view<24x27xbf16> -> tensor<32x32xbf16>
      %sum = tile.dot %map, %b_tile, %acc_1 : tensor<64x32xbf16>, tensor<32x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
      scf.yield %sum : tensor<64x32xf32>
    }
    tile.store %acc, %r[%arg, %arg_1] {checked = array<i64: 0, 1>} : tensor<64x32xf32>, !tile.view<198x24xf32>
  }
}
func.func @computed(%x: tensor<2x9x64xbf16>, %w: tensor<24x3x64xbf16>) -> tensor<2x9x24xf32> {
  %r = kernel.launch @computed_0(%x, %w) : (tensor<2x9x64xbf16>, tensor<24x3x64xbf16>) -> tensor<2x9x24xf32>
  func.return %r : tensor<2x9x24xf32>
}
tile.program @computed_0(%a: !tile.view<18x64xbf16>, %b: !tile.view<24x3x64xbf16>, %r: !tile.view<18x24xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 16, n = 32, k = 32}, warps = 1, instruction = "mma">} {
  tile.for_tiles (%arg, %arg_1) extents [18, 24] steps [16, 32] {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<16x32xf32>
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %c192 = arith.constant 192 : index
    %c32 = arith.constant 32 : index
    %acc = scf.for %k = %c0 to %c192 step %c32 iter_args(%acc_1 = %init) -> (tensor<16x32xf32>) {
      %floordivsi = arith.floordivsi %k, %c64 : index
      %muli = arith.muli %floordivsi, %c64 : index
      %subi = arith.subi %k, %muli : index
      %a_tile = tile.load %a[%arg, %subi] symbols(%floordivsi : index) {map = affine_map<(d0, d1)[s0] -> (((s0 + d0) + -1), d1)>, checked = array<i64: 0>} : !tile.view<18x64xbf16> -> tensor<16x32xbf16>
      %iota = tile.iota %arg {axis = 0 : i64} : tensor<16x1xindex>
      %iota_1 = tile.iota %floordivsi {axis = 0 : i64} : tensor<1x1xindex>
      %map = tile.map %a_tile, %iota, %iota_1 : tensor<16x32xbf16>, tensor<16x1xindex>, tensor<1x1xindex> -> tensor<16x32xbf16> {
      ^bb0(%a_1: bf16, %b_1: index, %c: index):
        %extf = arith.extf %a_1 : bf16 to f32
        %exp = math.exp %extf : f32
        %truncf = arith.truncf %exp : f32 to bf16
        %zero_1 = arith.constant 0.000000e+00 : bf16
        %c9 = arith.constant 9 : index
        %remsi = arith.remsi %b_1, %c9 : index
        %addi = arith.addi %remsi, %c : index
        %cm1 = arith.constant -1 : index
        %addi_1 = arith.addi %addi, %cm1 : index
        %cmpi = arith.cmpi sge, %addi_1, %c0 : index
        %cmpi_1 = arith.cmpi slt, %addi_1, %c9 : index
        %andi = arith.andi %cmpi, %cmpi_1 : i1
        %select = arith.select %andi, %truncf, %zero_1 : bf16
        tile.yield %select : bf16
      }
      %b_tile = tile.load %b[%subi, %arg_1] symbols(%floordivsi : index) {map = affine_map<(d0, d1)[s0] -> (d1, s0, d0)>, checked = array<i64: 0>} : !tile.view<24x3x64xbf16> -> tensor<32x32xbf16>
      %sum = tile.dot %map, %b_tile, %acc_1 : tensor<16x32xbf16>, tensor<32x32xbf16>, tensor<16x32xf32> -> tensor<16x32xf32>
      scf.yield %sum : tensor<16x32xf32>
    }
    tile.store %acc, %r[%arg, %arg_1] {checked = array<i64: 0, 1>} : tensor<16x32xf32>, !tile.view<18x24xf32>
  }
}
func.func @groups(%x: tensor<2x11x64xbf16>, %w: tensor<48x3x32xbf16>) -> tensor<2x11x48xf32> {
  %r = kernel.launch @groups_0(%x, %w) : (tensor<2x11x64xbf16>, tensor<48x3x32xbf16>) -> tensor<2x11x48xf32>
  func.return %r : tensor<2x11x48xf32>
}
tile.program @groups_0(%a: !tile.view<2x11x64xbf16>, %b: !tile.view<48x3x32xbf16>, %r: !tile.view<22x2x24xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 16, n = 32, k = 32}, warps = 1, instruction = "mma">} {
  tile.for_tiles (%arg, %arg_1, %arg_2) extents [2, 22, 24] steps [1, 16, 32] {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<16x32xf32>
    %c32 = arith.constant 32 : index
    %c0 = arith.constant 0 : index
    %c96 = arith.constant 96 : index
    %acc = scf.for %k = %c0 to %c96 step %c32 iter_args(%acc_1 = %init) -> (tensor<16x32xf32>) {
      %floordivsi = arith.floordivsi %k, %c32 : index
      %a_tile = tile.load %a[%arg_1, %c0] symbols(%floordivsi, %arg : index, index) {map = affine_map<(d0, d1)[s0, s1] -> ((d0 floordiv 11), (((d0 mod 11) + s0) + -1), ((s1 * 32) + d1))>, checked = array<i64: 0, 1>} : !tile.view<2x11x64xbf16> -> tensor<16x32xbf16>
      %b_tile = tile.load %b[%c0, %arg_2] symbols(%arg, %floordivsi : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (((s0 * 24) + d1), s1, d0)>, checked = array<i64: 0>} : !tile.view<48x3x32xbf16> -> tensor<32x32xbf16>
      %sum = tile.dot %a_tile, %b_tile, %acc_1 : tensor<16x32xbf16>, tensor<32x32xbf16>, tensor<16x32xf32> -> tensor<16x32xf32>
      scf.yield %sum : tensor<16x32xf32>
    }
    tile.store %acc, %r[%arg_1, %arg_2] symbols(%arg : index) {map = affine_map<(d0, d1)[s0] -> (d0, s0, d1)>, checked = array<i64: 0, 2>} : tensor<16x32xf32>, !tile.view<22x2x24xf32>
  }
}
func.func @direct(%x: tensor<2x11x48xbf16>, %w: tensor<3x1x48xbf16>) -> tensor<2x11x48xf32> {
  %r = kernel.launch @direct_0(%x, %w) : (tensor<2x11x48xbf16>, tensor<3x1x48xbf16>) -> tensor<2x11x48xf32>
  func.return %r : tensor<2x11x48xf32>
}
tile.program @direct_0(%a: !tile.view<2x11x48xbf16>, %b: !tile.view<3x48xbf16>, %r: !tile.view<22x48xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 8, n = 32, k = 1}, warps = 1, instruction = "direct">} {
  tile.for_tiles (%arg, %arg_1) extents [22, 48] steps [8, 32] {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<8x32xf32>
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c1 = arith.constant 1 : index
    %acc = scf.for %k = %c0 to %c3 step %c1 iter_args(%acc_1 = %init) -> (tensor<8x32xf32>) {
      %a_tile = tile.load %a[%arg, %arg_1] symbols(%k : index) {map = affine_map<(d0, d1)[s0] -> ((d0 floordiv 11), (((d0 mod 11) + s0) + -1), d1)>, checked = array<i64: 0, 1, 2>} : !tile.view<2x11x48xbf16> -> tensor<8x32xbf16>
      %b_tile = tile.load %b[%arg, %arg_1] symbols(%k : index) {map = affine_map<(d0, d1)[s0] -> (s0, d1)>, checked = array<i64: 1>} : !tile.view<3x48xbf16> -> tensor<1x32xbf16>
      %map = tile.map %acc_1, %a_tile, %b_tile : tensor<8x32xf32>, tensor<8x32xbf16>, tensor<1x32xbf16> -> tensor<8x32xf32> {
      ^bb0(%a_1: f32, %b_1: bf16, %c: bf16):
        %extf = arith.extf %b_1 : bf16 to f32
        %extf_1 = arith.extf %c : bf16 to f32
        %mulf = arith.mulf %extf, %extf_1 : f32
        %addf = arith.addf %a_1, %mulf : f32
        tile.yield %addf : f32
      }
      scf.yield %map : tensor<8x32xf32>
    } {unroll = 3 : i64}
    tile.store %acc, %r[%arg, %arg_1] {checked = array<i64: 0, 1>} : tensor<8x32xf32>, !tile.view<22x48xf32>
  }
}

// What TMA cannot bring, of a product of one step, is loaded by the threads that multiply; of more steps it is written.
// CHECK-LABEL: @rows_of_taps
// CHECK:         [[A:%[a-z0-9_]+]] = tile.load %x
// CHECK:         [[M:%[a-z0-9_]+]] = tile.map [[A]]
// CHECK-NOT:     tile.write
// CHECK:         tile.copy %w
// CHECK:         tile.dot [[M]], {{.*}} : tensor<64x64xbf16>, !tile.buffer<64x16xbf16>
// CHECK-LABEL: @steps
// CHECK:         tile.write
tile.program @rows_of_taps(%x: !tile.view<1x8x24xbf16>, %w: !tile.view<16x64xbf16>, %y: !tile.view<64x16xf32>) {results = 1 : i64, config = #kernel.config<stages = 1, warps = 4, schedule = "pingpong", instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %s = tile.splat %zero : f32 -> tensor<64x16xf32>
  %p = scf.for %k = %c0 to %c64 step %c64 iter_args(%c = %s) -> (tensor<64x16xf32>) {
    %a = tile.load %x[%c0, %k] {map = affine_map<(d0, d1) -> (0, ((d0 floordiv 8) + (d1 floordiv 16)), ((d1 mod 16) + ((d0 mod 8) * 6)))>, checked = array<i64: 1, 2>} : !tile.view<1x8x24xbf16> -> tensor<64x64xbf16>
    %m = tile.map %a : tensor<64x64xbf16> -> tensor<64x64xbf16> {
    ^bb0(%e: bf16):
      %n = arith.negf %e : bf16
      tile.yield %n : bf16
    }
    %b = tile.load %w[%k, %c0] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<16x64xbf16> -> tensor<64x16xbf16>
    %d = tile.dot %m, %b, %c : tensor<64x64xbf16>, tensor<64x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
    scf.yield %d : tensor<64x16xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x16xf32>, !tile.view<64x16xf32>
}
tile.program @steps(%x: !tile.view<1x8x24xbf16>, %w: !tile.view<16x64xbf16>, %y: !tile.view<64x16xf32>) {results = 1 : i64, config = #kernel.config<stages = 1, warps = 4, schedule = "pingpong", instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %s = tile.splat %zero : f32 -> tensor<64x16xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%c = %s) -> (tensor<64x16xf32>) {
    %a = tile.load %x[%c0, %k] {map = affine_map<(d0, d1) -> (0, ((d0 floordiv 8) + (d1 floordiv 16)), ((d1 mod 16) + ((d0 mod 8) * 6)))>, checked = array<i64: 1, 2>} : !tile.view<1x8x24xbf16> -> tensor<64x32xbf16>
    %b = tile.load %w[%k, %c0] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<16x64xbf16> -> tensor<32x16xbf16>
    %d = tile.dot %a, %b, %c : tensor<64x32xbf16>, tensor<32x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
    scf.yield %d : tensor<64x16xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x16xf32>, !tile.view<64x16xf32>
}
