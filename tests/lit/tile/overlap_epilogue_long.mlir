// RUN: irc-opt %s -p overlap-epilogue | filecheck %s

// A long epilogue is a loop with two subtiles in each iteration: the accumulator moves on by them, and the sum of all
// elements is carried as 8 columns, which are reduced behind the loop.
// CHECK:      [[STEP:%[a-z0-9_]+]] = arith.constant 64 : index
// CHECK:      scf.for {{%[0-9a-z]+}} = {{%[a-z0-9_]+}} to {{%[a-z0-9_]+}} step [[STEP]] iter_args([[BEFORE:%[a-z0-9_]+]] = {{%[a-z0-9_]+}}, [[ACC:%[a-z0-9_]+]] = {{%[a-z0-9_]+}}) -> (tensor<128x8xf32>, tensor<128x256xf32>) {
// CHECK:        tile.slice [[ACC]] {at = array<i64: 0, 0>} : tensor<128x256xf32> -> tensor<128x32xf32>
// CHECK:        [[PART:%[a-z0-9_]+]] = tile.slice {{%[a-z0-9_]+}} {at = array<i64: 0, 0>} : tensor<128x32xf32> -> tensor<128x8xf32>
// CHECK-NEXT:   tile.map [[BEFORE]], [[PART]]
// CHECK:        tile.slice {{%[a-z0-9_]+}} {at = array<i64: 0, 24>} : tensor<128x32xf32> -> tensor<128x8xf32>
// CHECK:        tile.slice [[ACC]] {at = array<i64: 0, 32>} : tensor<128x256xf32> -> tensor<128x32xf32>
// CHECK:        [[REST:%[a-z0-9_]+]] = tile.slice [[ACC]] {at = array<i64: 0, 64>} : tensor<128x256xf32> -> tensor<128x192xf32>
// CHECK-NEXT:   [[END:%[a-z0-9_]+]] = tile.slice [[ACC]] {at = array<i64: 0, 192>} : tensor<128x256xf32> -> tensor<128x64xf32>
// CHECK-NEXT:   tile.concat [[REST]], [[END]] {axis = 1 : i64}
// CHECK:      }
// CHECK:      tile.reduce {{%[a-z0-9_]+}} {axes = array<i64: 0, 1>} : tensor<128x8xf32> -> tensor<1x1xf32>
tile.program @gated_unit_step_0(%zx: !tile.view<4096x4096xbf16>, %zh: !tile.view<4096x4096xbf16>, %bz: !tile.view<4096xbf16>, %r: !tile.view<4096x4096xbf16>, %h: !tile.view<4096x4096xbf16>, %u: !tile.view<4096x4096xbf16>, %cx: !tile.view<4096x4096xbf16>, %bc: !tile.view<4096xbf16>, %target: !tile.view<4096x4096xbf16>, %out: !tile.view<4096x4096xbf16>, %d_c: !tile.view<4096x4096xbf16>, %d_z: !tile.view<4096x4096xbf16>, %arg: !tile.view<32x16xf32>, %arg_1: !tile.view<32x4096xf32>) {results = 5 : i64, config = #kernel.config<tile = {m = 128, n = 256, k = 32}, stages = 5, cluster = [2, 1], warps = 8, schedule = "persistent", group = 8, indexing = "tma", instruction = "wgmma">} {
  tile.for_tiles (%arg_2, %arg_3) extents [4096, 4096] steps [128, 256] schedule "persistent" group 8 cluster [2, 1] {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x256xf32>
    %c0 = arith.constant 0 : index
    %c4096 = arith.constant 4096 : index
    %c32 = arith.constant 32 : index
    %acc = scf.for %k = %c0 to %c4096 step %c32 iter_args(%acc_1 = %init) -> (tensor<128x256xf32>) {
      %r_tile = tile.load %r[%arg_2, %k] : !tile.view<4096x4096xbf16> -> tensor<128x32xbf16>
      %h_tile = tile.load %h[%arg_2, %k] : !tile.view<4096x4096xbf16> -> tensor<128x32xbf16>
      %map = tile.map %r_tile, %h_tile : tensor<128x32xbf16>, tensor<128x32xbf16> -> tensor<128x32xbf16> {
      ^bb0(%a: bf16, %b: bf16):
        %extf = arith.extf %a : bf16 to f32
        %maximumf = arith.maximumf %extf, %zero : f32
        %extf_1 = arith.extf %b : bf16 to f32
        %mulf = arith.mulf %maximumf, %extf_1 : f32
        %truncf = arith.truncf %mulf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %u_tile = tile.load %u[%k, %arg_3] : !tile.view<4096x4096xbf16> -> tensor<32x256xbf16>
      %sum = tile.dot %map, %u_tile, %acc_1 : tensor<128x32xbf16>, tensor<32x256xbf16>, tensor<128x256xf32> -> tensor<128x256xf32>
      scf.yield %sum : tensor<128x256xf32>
    }
    %zx_tile = tile.load %zx[%arg_2, %arg_3] : !tile.view<4096x4096xbf16> -> tensor<128x256xbf16>
    %zh_tile = tile.load %zh[%arg_2, %arg_3] : !tile.view<4096x4096xbf16> -> tensor<128x256xbf16>
    %bz_tile = tile.load %bz[%arg_2, %arg_3] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<4096xbf16> -> tensor<1x256xbf16>
    %h_tile_1 = tile.load %h[%arg_2, %arg_3] : !tile.view<4096x4096xbf16> -> tensor<128x256xbf16>
    %cx_tile = tile.load %cx[%arg_2, %arg_3] : !tile.view<4096x4096xbf16> -> tensor<128x256xbf16>
    %bc_tile = tile.load %bc[%arg_2, %arg_3] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<4096xbf16> -> tensor<1x256xbf16>
    %map_1 = tile.map %acc, %cx_tile, %bc_tile : tensor<128x256xf32>, tensor<128x256xbf16>, tensor<1x256xbf16> -> tensor<128x256xf32> {
    ^bb0(%a_1: f32, %b_1: bf16, %c: bf16):
      %extf_2 = arith.extf %b_1 : bf16 to f32
      %addf = arith.addf %a_1, %extf_2 : f32
      %extf_3 = arith.extf %c : bf16 to f32
      %addf_1 = arith.addf %addf, %extf_3 : f32
      %tanh = math.tanh %addf_1 fastmath<afn> : f32
      tile.yield %tanh : f32
    }
    %map_2 = tile.map %zx_tile, %zh_tile, %bz_tile, %h_tile_1, %map_1 : tensor<128x256xbf16>, tensor<128x256xbf16>, tensor<1x256xbf16>, tensor<128x256xbf16>, tensor<128x256xf32> -> tensor<128x256xbf16> {
    ^bb0(%a_2: bf16, %b_2: bf16, %c_1: bf16, %d: bf16, %e: f32):
      %one = arith.constant 1.000000e+00 : f32
      %extf_4 = arith.extf %a_2 : bf16 to f32
      %extf_5 = arith.extf %b_2 : bf16 to f32
      %addf_2 = arith.addf %extf_4, %extf_5 : f32
      %extf_6 = arith.extf %c_1 : bf16 to f32
      %addf_3 = arith.addf %addf_2, %extf_6 : f32
      %maximumf_1 = arith.maximumf %addf_3, %zero : f32
      %subf = arith.subf %one, %maximumf_1 : f32
      %extf_7 = arith.extf %d : bf16 to f32
      %mulf_1 = arith.mulf %subf, %extf_7 : f32
      %mulf_2 = arith.mulf %maximumf_1, %e : f32
      %addf_4 = arith.addf %mulf_1, %mulf_2 : f32
      %truncf_1 = arith.truncf %addf_4 : f32 to bf16
      tile.yield %truncf_1 : bf16
    }
    tile.store %map_2, %out[%arg_2, %arg_3] : tensor<128x256xbf16>, !tile.view<4096x4096xbf16>
    %target_tile = tile.load %target[%arg_2, %arg_3] : !tile.view<4096x4096xbf16> -> tensor<128x256xbf16>
    %map_3 = tile.map %zx_tile, %zh_tile, %bz_tile, %h_tile_1, %map_1, %target_tile : tensor<128x256xbf16>, tensor<128x256xbf16>, tensor<1x256xbf16>, tensor<128x256xbf16>, tensor<128x256xf32>, tensor<128x256xbf16> -> tensor<128x256xbf16> {
    ^bb0(%a_3: bf16, %b_3: bf16, %c_2: bf16, %d_1: bf16, %e_1: f32, %f: bf16):
      %extf_8 = arith.extf %a_3 : bf16 to f32
      %extf_9 = arith.extf %b_3 : bf16 to f32
      %addf_5 = arith.addf %extf_8, %extf_9 : f32
      %extf_10 = arith.extf %c_2 : bf16 to f32
      %addf_6 = arith.addf %addf_5, %extf_10 : f32
      %maximumf_2 = arith.maximumf %addf_6, %zero : f32
      %one_1 = arith.constant 1.000000e+00 : f32
      %subf_1 = arith.subf %one_1, %maximumf_2 : f32
      %extf_11 = arith.extf %d_1 : bf16 to f32
      %mulf_3 = arith.mulf %subf_1, %extf_11 : f32
      %mulf_4 = arith.mulf %maximumf_2, %e_1 : f32
      %addf_7 = arith.addf %mulf_3, %mulf_4 : f32
      %extf_12 = arith.extf %f : bf16 to f32
      %subf_2 = arith.subf %addf_7, %extf_12 : f32
      %value = arith.constant 1.1920929e-07 : f32
      %mulf_5 = arith.mulf %subf_2, %value : f32
      %mulf_6 = arith.mulf %maximumf_2, %mulf_5 : f32
      %mulf_7 = arith.mulf %e_1, %e_1 : f32
      %subf_3 = arith.subf %one_1, %mulf_7 : f32
      %mulf_8 = arith.mulf %mulf_6, %subf_3 : f32
      %truncf_2 = arith.truncf %mulf_8 : f32 to bf16
      tile.yield %truncf_2 : bf16
    }
    tile.store %map_3, %d_c[%arg_2, %arg_3] : tensor<128x256xbf16>, !tile.view<4096x4096xbf16>
    %map_4 = tile.map %zx_tile, %zh_tile, %bz_tile, %h_tile_1, %map_1, %target_tile : tensor<128x256xbf16>, tensor<128x256xbf16>, tensor<1x256xbf16>, tensor<128x256xbf16>, tensor<128x256xf32>, tensor<128x256xbf16> -> tensor<128x256xbf16> {
    ^bb0(%a_4: bf16, %b_4: bf16, %c_3: bf16, %d_2: bf16, %e_2: f32, %f_1: bf16):
      %extf_13 = arith.extf %a_4 : bf16 to f32
      %extf_14 = arith.extf %b_4 : bf16 to f32
      %addf_8 = arith.addf %extf_13, %extf_14 : f32
      %extf_15 = arith.extf %c_3 : bf16 to f32
      %addf_9 = arith.addf %addf_8, %extf_15 : f32
      %maximumf_3 = arith.maximumf %addf_9, %zero : f32
      %cmpf = arith.cmpf ogt, %maximumf_3, %zero : f32
      %one_2 = arith.constant 1.000000e+00 : f32
      %subf_4 = arith.subf %one_2, %maximumf_3 : f32
      %extf_16 = arith.extf %d_2 : bf16 to f32
      %mulf_9 = arith.mulf %subf_4, %extf_16 : f32
      %mulf_10 = arith.mulf %maximumf_3, %e_2 : f32
      %addf_10 = arith.addf %mulf_9, %mulf_10 : f32
      %extf_17 = arith.extf %f_1 : bf16 to f32
      %subf_5 = arith.subf %addf_10, %extf_17 : f32
      %value_1 = arith.constant 1.1920929e-07 : f32
      %mulf_11 = arith.mulf %subf_5, %value_1 : f32
      %mulf_12 = arith.mulf %mulf_11, %e_2 : f32
      %mulf_13 = arith.mulf %mulf_11, %extf_16 : f32
      %subf_6 = arith.subf %mulf_12, %mulf_13 : f32
      %select = arith.select %cmpf, %subf_6, %zero : f32
      %truncf_3 = arith.truncf %select : f32 to bf16
      tile.yield %truncf_3 : bf16
    }
    tile.store %map_4, %d_z[%arg_2, %arg_3] : tensor<128x256xbf16>, !tile.view<4096x4096xbf16>
    %map_5 = tile.map %zx_tile, %zh_tile, %bz_tile, %h_tile_1, %map_1, %target_tile : tensor<128x256xbf16>, tensor<128x256xbf16>, tensor<1x256xbf16>, tensor<128x256xbf16>, tensor<128x256xf32>, tensor<128x256xbf16> -> tensor<128x256xf32> {
    ^bb0(%a_5: bf16, %b_5: bf16, %c_4: bf16, %d_3: bf16, %e_3: f32, %f_2: bf16):
      %one_3 = arith.constant 1.000000e+00 : f32
      %extf_18 = arith.extf %a_5 : bf16 to f32
      %extf_19 = arith.extf %b_5 : bf16 to f32
      %addf_11 = arith.addf %extf_18, %extf_19 : f32
      %extf_20 = arith.extf %c_4 : bf16 to f32
      %addf_12 = arith.addf %addf_11, %extf_20 : f32
      %maximumf_4 = arith.maximumf %addf_12, %zero : f32
      %subf_7 = arith.subf %one_3, %maximumf_4 : f32
      %extf_21 = arith.extf %d_3 : bf16 to f32
      %mulf_14 = arith.mulf %subf_7, %extf_21 : f32
      %mulf_15 = arith.mulf %maximumf_4, %e_3 : f32
      %addf_13 = arith.addf %mulf_14, %mulf_15 : f32
      %extf_22 = arith.extf %f_2 : bf16 to f32
      %subf_8 = arith.subf %addf_13, %extf_22 : f32
      %mulf_16 = arith.mulf %subf_8, %subf_8 : f32
      tile.yield %mulf_16 : f32
    }
    %reduce = tile.reduce %map_5 {axes = array<i64: 0, 1>} : tensor<128x256xf32> -> tensor<1x1xf32> {
    ^bb0(%x: f32, %y: f32):
      %addf_14 = arith.addf %x, %y : f32
      tile.yield %addf_14 : f32
    }
    tile.store %reduce, %arg[%arg_2, %arg_3] {map = affine_map<(d0, d1) -> ((d0 floordiv 128), (d1 floordiv 256))>} : tensor<1x1xf32>, !tile.view<32x16xf32>
    %map_6 = tile.map %zx_tile, %zh_tile, %bz_tile, %h_tile_1, %map_1, %target_tile : tensor<128x256xbf16>, tensor<128x256xbf16>, tensor<1x256xbf16>, tensor<128x256xbf16>, tensor<128x256xf32>, tensor<128x256xbf16> -> tensor<128x256xf32> {
    ^bb0(%a_6: bf16, %b_6: bf16, %c_5: bf16, %d_4: bf16, %e_4: f32, %f_3: bf16):
      %extf_23 = arith.extf %a_6 : bf16 to f32
      %extf_24 = arith.extf %b_6 : bf16 to f32
      %addf_15 = arith.addf %extf_23, %extf_24 : f32
      %extf_25 = arith.extf %c_5 : bf16 to f32
      %addf_16 = arith.addf %addf_15, %extf_25 : f32
      %maximumf_5 = arith.maximumf %addf_16, %zero : f32
      %one_4 = arith.constant 1.000000e+00 : f32
      %subf_9 = arith.subf %one_4, %maximumf_5 : f32
      %extf_26 = arith.extf %d_4 : bf16 to f32
      %mulf_17 = arith.mulf %subf_9, %extf_26 : f32
      %mulf_18 = arith.mulf %maximumf_5, %e_4 : f32
      %addf_17 = arith.addf %mulf_17, %mulf_18 : f32
      %extf_27 = arith.extf %f_3 : bf16 to f32
      %subf_10 = arith.subf %addf_17, %extf_27 : f32
      %value_2 = arith.constant 1.1920929e-07 : f32
      %mulf_19 = arith.mulf %subf_10, %value_2 : f32
      %mulf_20 = arith.mulf %maximumf_5, %mulf_19 : f32
      %mulf_21 = arith.mulf %e_4, %e_4 : f32
      %subf_11 = arith.subf %one_4, %mulf_21 : f32
      %mulf_22 = arith.mulf %mulf_20, %subf_11 : f32
      tile.yield %mulf_22 : f32
    }
    %reduce_1 = tile.reduce %map_6 {axes = array<i64: 0>} : tensor<128x256xf32> -> tensor<1x256xf32> {
    ^bb0(%x_1: f32, %y_1: f32):
      %addf_18 = arith.addf %x_1, %y_1 : f32
      tile.yield %addf_18 : f32
    }
    tile.store %reduce_1, %arg_1[%arg_2, %arg_3] {map = affine_map<(d0, d1) -> ((d0 floordiv 128), d1)>} : tensor<1x256xf32>, !tile.view<32x4096xf32>
  }
}
