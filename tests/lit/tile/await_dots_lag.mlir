// RUN: irc-opt %s -p await-dots | filecheck %s

// The branch waits for the product of the step before, and the weights do not.
// CHECK-LABEL: tile.program @lagging_0
// CHECK:         } @compute
// CHECK:           scf.for
// CHECK:             [[S:%[a-z0-9_]+]] = tile.dot
// CHECK:             [[O:%[a-z0-9_]+]] = tile.dot
// CHECK:             tile.dot_wait [[S]]
// CHECK:             [[ANY:%[a-z0-9_]+]] = tile.any
// CHECK:             math.exp
// CHECK:             tile.dot_wait [[O]]
// CHECK:             scf.if [[ANY]]
// CHECK:             scf.yield
// CHECK:           tile.dot

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,128):(1,64) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
#frag1 = #tile.fragment<((4,8,4,2),(2,2,8)):((256,1,16,64),(128,8,1024))>
#frag2 = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag3 = #tile.fragment<((4,8,4,2),(2,16)):((2,0,0,0),(1,8))>
#shared2 = #tile.shared<(128,64):(64,1) swizzle(2,3,3)>
#frag4 = #tile.fragment<((16,2,8),(4,8)):((512,1,16),(128,2))>
tile.program @lagging_0(%q: !tile.view<8x512x64xbf16>, %k: !tile.view<8x512x64xbf16>, %v: !tile.view<8x512x64xbf16>, %r: !tile.view<8x512x64xf32>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128, k = 128}, stages = 2, warps = 8, instruction = "wgmma", lag = 8>} {
  %channel = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
  %channel_1 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
  %channel_2 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%arg, %arg_1) extents [8, 512] steps [1, 128] {
      %c0 = arith.constant 0 : index
      %slot, %buffer = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      tile.copy %q[%arg_1, %c0] symbols(%arg : index) -> %buffer {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>, via = "tma"} : !tile.view<8x512x64xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.commit %slot
      %c512 = arith.constant 512 : index
      %c128 = arith.constant 128 : index
      %addi = arith.addi %arg_1, %c128 : index
      %minsi = arith.minsi %addi, %c512 : index
      scf.for %k_1 = %c0 to %minsi step %c128 {
        %slot_1, %buffer_1 = tile.acquire %channel_2 : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
        tile.copy %k[%c0, %k_1] symbols(%arg : index) -> %buffer_1 {map = affine_map<(d0, d1)[s0] -> (s0, d1, d0)>, via = "tma"} : !tile.view<8x512x64xbf16> -> !tile.buffer<64x128xbf16, #shared1>
        tile.commit %slot_1
        %slot_2, %buffer_2 = tile.acquire %channel_1 : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
        tile.copy %v[%k_1, %c0] symbols(%arg : index) -> %buffer_2 {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>, via = "tma"} : !tile.view<8x512x64xbf16> -> !tile.buffer<128x64xbf16, #shared>
        tile.commit %slot_2
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%arg_2, %arg_3) extents [8, 512] steps [1, 128] {
      %c0_1 = arith.constant 0 : index
      %value = arith.constant -1.70141173e+38 : f32
      %init = tile.splat %value : f32 -> tensor<128x1xf32, #frag>
      %zero = arith.constant 0.000000e+00 : f32
      %init_1 = tile.splat %zero : f32 -> tensor<128x1xf32, #frag>
      %init_2 = tile.splat %zero : f32 -> tensor<128x64xf32, #frag1>
      %init_3 = tile.splat %zero : f32 -> tensor<128x128xf32, #frag2>
      %c512_1 = arith.constant 512 : index
      %c128_1 = arith.constant 128 : index
      %addi_1 = arith.addi %arg_3, %c128_1 : index
      %minsi_1 = arith.minsi %addi_1, %c512_1 : index
      %slot_3, %buffer_3 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      %cmpi = arith.cmpi slt, %c0_1, %minsi_1 : index
      %if, %if_1 = scf.if %cmpi -> (tensor<128x1xf32, #frag>, tensor<128x64xf32, #frag1>) {
        %slot_4, %buffer_4 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
        %sum = tile.dot %buffer_3, %buffer_4, %init_3 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag2> -> tensor<128x128xf32, #frag2>
        %iota = tile.iota %c0_1 {axis = 1 : i64} : tensor<1x128xindex, #frag3>
        %iota_1 = tile.iota %arg_3 {axis = 0 : i64} : tensor<128x1xindex, #frag>
        tile.release %slot_4 after %sum : tensor<128x128xf32, #frag2>
        %map = tile.map %iota, %iota_1, %sum : tensor<1x128xindex, #frag3>, tensor<128x1xindex, #frag>, tensor<128x128xf32, #frag2> -> tensor<128x128xf32, #frag2> {
        ^bb0(%a: index, %b: index, %c: f32):
          %index_cast = arith.index_cast %a : index to i64
          %trunci = arith.trunci %index_cast : i64 to i32
          %index_cast_1 = arith.index_cast %b : index to i64
          %trunci_1 = arith.trunci %index_cast_1 : i64 to i32
          %cmpi_1 = arith.cmpi sle, %trunci, %trunci_1 : i32
          %least = arith.constant 0xff800000 : f32
          %select = arith.select %cmpi_1, %c, %least : f32
          tile.yield %select : f32
        }
        %reduce = tile.reduce %map {axes = array<i64: 1>} : tensor<128x128xf32, #frag2> -> tensor<128x1xf32, #frag> {
        ^bb0(%x: f32, %y: f32):
          %maximumf = arith.maximumf %x, %y : f32
          tile.yield %maximumf : f32
        }
        %map_1 = tile.map %init, %reduce : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag> -> tensor<128x1xi1, #frag> {
        ^bb0(%a_1: f32, %b_1: f32):
          %subf = arith.subf %b_1, %a_1 : f32
          %value_1 = arith.constant 5.54517746 : f32
          %cmpf = arith.cmpf ogt, %subf, %value_1 : f32
          tile.yield %cmpf : i1
        }
        %map_2 = tile.map %init, %reduce, %map_1 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag>, tensor<128x1xi1, #frag> -> tensor<128x1xf32, #frag> {
        ^bb0(%a_2: f32, %b_2: f32, %c_1: i1):
          %select_1 = arith.select %c_1, %b_2, %a_2 : f32
          tile.yield %select_1 : f32
        }
        %any = tile.any %map_1 : tensor<128x1xi1, #frag> -> i1
        %map_3 = tile.map %map, %map_2 : tensor<128x128xf32, #frag2>, tensor<128x1xf32, #frag> -> tensor<128x128xf32, #frag2> {
        ^bb0(%a_3: f32, %b_3: f32):
          %subf_1 = arith.subf %a_3, %b_3 : f32
          %exp = math.exp %subf_1 : f32
          tile.yield %exp : f32
        }
        %reduce_1 = tile.reduce %map_3 {axes = array<i64: 1>} : tensor<128x128xf32, #frag2> -> tensor<128x1xf32, #frag> {
        ^bb0(%x_1: f32, %y_1: f32):
          %addf = arith.addf %x_1, %y_1 : f32
          tile.yield %addf : f32
        }
        %if_2, %if_3 = scf.if %any -> (tensor<128x1xf32, #frag>, tensor<128x64xf32, #frag1>) {
          %map_4 = tile.map %init, %map_2 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag> -> tensor<128x1xf32, #frag> {
          ^bb0(%a_4: f32, %b_4: f32):
            %subf_2 = arith.subf %a_4, %b_4 : f32
            %exp_1 = math.exp %subf_2 fastmath<afn> : f32
            tile.yield %exp_1 : f32
          }
          %map_5 = tile.map %init_1, %map_4 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag> -> tensor<128x1xf32, #frag> {
          ^bb0(%a_5: f32, %b_5: f32):
            %mulf = arith.mulf %a_5, %b_5 : f32
            tile.yield %mulf : f32
          }
          %map_6 = tile.map %init_2, %map_4 : tensor<128x64xf32, #frag1>, tensor<128x1xf32, #frag> -> tensor<128x64xf32, #frag1> {
          ^bb0(%a_6: f32, %b_6: f32):
            %mulf_1 = arith.mulf %a_6, %b_6 : f32
            tile.yield %mulf_1 : f32
          }
          scf.yield %map_5, %map_6 : tensor<128x1xf32, #frag>, tensor<128x64xf32, #frag1>
        } else {
          scf.yield %init_1, %init_2 : tensor<128x1xf32, #frag>, tensor<128x64xf32, #frag1>
        }
        %map_7 = tile.map %if_2, %reduce_1 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag> -> tensor<128x1xf32, #frag> {
        ^bb0(%a_7: f32, %b_7: f32):
          %addf_1 = arith.addf %a_7, %b_7 : f32
          tile.yield %addf_1 : f32
        }
        %map_8 = tile.map %map_3 : tensor<128x128xf32, #frag2> -> tensor<128x128xbf16, #frag2> {
        ^bb0(%a_8: f32):
          %truncf = arith.truncf %a_8 : f32 to bf16
          tile.yield %truncf : bf16
        }
        %c128_2 = arith.constant 128 : index
        %map_9, %map_10, %map_11, %if_4 = scf.for %k_2 = %c128_2 to %minsi_1 step %c128_1 iter_args(%map_12 = %map_2, %map_13 = %map_7, %map_14 = %map_8, %if_5 = %if_3) -> (tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag>, tensor<128x128xbf16, #frag2>, tensor<128x64xf32, #frag1>) {
          %slot_5, %buffer_5 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
          %sum_1 = tile.dot %buffer_3, %buffer_5, %init_3 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag2> -> tensor<128x128xf32, #frag2>
          %slot_6, %buffer_6 = tile.wait %channel_1 : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
          %sum_2 = tile.dot %map_14, %buffer_6, %if_5 {instruction = "wgmma"} : tensor<128x128xbf16, #frag2>, !tile.buffer<128x64xbf16, #shared>, tensor<128x64xf32, #frag1> -> tensor<128x64xf32, #frag1>
          %iota_2 = tile.iota %k_2 {axis = 1 : i64} : tensor<1x128xindex, #frag3>
          %iota_3 = tile.iota %arg_3 {axis = 0 : i64} : tensor<128x1xindex, #frag>
          tile.release %slot_5 after %sum_1 : tensor<128x128xf32, #frag2>
          %map_15 = tile.map %iota_2, %iota_3, %sum_1 : tensor<1x128xindex, #frag3>, tensor<128x1xindex, #frag>, tensor<128x128xf32, #frag2> -> tensor<128x128xf32, #frag2> {
          ^bb0(%a_9: index, %b_8: index, %c_2: f32):
            %index_cast_2 = arith.index_cast %a_9 : index to i64
            %trunci_2 = arith.trunci %index_cast_2 : i64 to i32
            %index_cast_3 = arith.index_cast %b_8 : index to i64
            %trunci_3 = arith.trunci %index_cast_3 : i64 to i32
            %cmpi_2 = arith.cmpi sle, %trunci_2, %trunci_3 : i32
            %least_1 = arith.constant 0xff800000 : f32
            %select_2 = arith.select %cmpi_2, %c_2, %least_1 : f32
            tile.yield %select_2 : f32
          }
          %reduce_2 = tile.reduce %map_15 {axes = array<i64: 1>} : tensor<128x128xf32, #frag2> -> tensor<128x1xf32, #frag> {
          ^bb0(%x_2: f32, %y_2: f32):
            %maximumf_1 = arith.maximumf %x_2, %y_2 : f32
            tile.yield %maximumf_1 : f32
          }
          %map_16 = tile.map %map_12, %reduce_2 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag> -> tensor<128x1xi1, #frag> {
          ^bb0(%a_10: f32, %b_9: f32):
            %subf_3 = arith.subf %b_9, %a_10 : f32
            %value_2 = arith.constant 5.54517746 : f32
            %cmpf_1 = arith.cmpf ogt, %subf_3, %value_2 : f32
            tile.yield %cmpf_1 : i1
          }
          %map_17 = tile.map %map_12, %reduce_2, %map_16 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag>, tensor<128x1xi1, #frag> -> tensor<128x1xf32, #frag> {
          ^bb0(%a_11: f32, %b_10: f32, %c_3: i1):
            %select_3 = arith.select %c_3, %b_10, %a_11 : f32
            tile.yield %select_3 : f32
          }
          %any_1 = tile.any %map_16 : tensor<128x1xi1, #frag> -> i1
          %map_18 = tile.map %map_15, %map_17 : tensor<128x128xf32, #frag2>, tensor<128x1xf32, #frag> -> tensor<128x128xf32, #frag2> {
          ^bb0(%a_12: f32, %b_11: f32):
            %subf_4 = arith.subf %a_12, %b_11 : f32
            %exp_2 = math.exp %subf_4 : f32
            tile.yield %exp_2 : f32
          }
          %reduce_3 = tile.reduce %map_18 {axes = array<i64: 1>} : tensor<128x128xf32, #frag2> -> tensor<128x1xf32, #frag> {
          ^bb0(%x_3: f32, %y_3: f32):
            %addf_2 = arith.addf %x_3, %y_3 : f32
            tile.yield %addf_2 : f32
          }
          tile.release %slot_6 after %sum_2 : tensor<128x64xf32, #frag1>
          %if_6, %if_7 = scf.if %any_1 -> (tensor<128x1xf32, #frag>, tensor<128x64xf32, #frag1>) {
            %map_19 = tile.map %map_12, %map_17 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag> -> tensor<128x1xf32, #frag> {
            ^bb0(%a_13: f32, %b_12: f32):
              %subf_5 = arith.subf %a_13, %b_12 : f32
              %exp_3 = math.exp %subf_5 fastmath<afn> : f32
              tile.yield %exp_3 : f32
            }
            %map_20 = tile.map %map_13, %map_19 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag> -> tensor<128x1xf32, #frag> {
            ^bb0(%a_14: f32, %b_13: f32):
              %mulf_2 = arith.mulf %a_14, %b_13 : f32
              tile.yield %mulf_2 : f32
            }
            %map_21 = tile.map %sum_2, %map_19 : tensor<128x64xf32, #frag1>, tensor<128x1xf32, #frag> -> tensor<128x64xf32, #frag1> {
            ^bb0(%a_15: f32, %b_14: f32):
              %mulf_3 = arith.mulf %a_15, %b_14 : f32
              tile.yield %mulf_3 : f32
            }
            scf.yield %map_20, %map_21 : tensor<128x1xf32, #frag>, tensor<128x64xf32, #frag1>
          } else {
            scf.yield %map_13, %sum_2 : tensor<128x1xf32, #frag>, tensor<128x64xf32, #frag1>
          }
          %map_22 = tile.map %if_6, %reduce_3 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag> -> tensor<128x1xf32, #frag> {
          ^bb0(%a_16: f32, %b_15: f32):
            %addf_3 = arith.addf %a_16, %b_15 : f32
            tile.yield %addf_3 : f32
          }
          %map_23 = tile.map %map_18 : tensor<128x128xf32, #frag2> -> tensor<128x128xbf16, #frag2> {
          ^bb0(%a_17: f32):
            %truncf_1 = arith.truncf %a_17 : f32 to bf16
            tile.yield %truncf_1 : bf16
          }
          scf.yield %map_17, %map_22, %map_23, %if_7 : tensor<128x1xf32, #frag>, tensor<128x1xf32, #frag>, tensor<128x128xbf16, #frag2>, tensor<128x64xf32, #frag1>
        }
        %slot_7, %buffer_7 = tile.wait %channel_1 : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
        %sum_3 = tile.dot %map_11, %buffer_7, %if_4 {instruction = "wgmma"} : tensor<128x128xbf16, #frag2>, !tile.buffer<128x64xbf16, #shared>, tensor<128x64xf32, #frag1> -> tensor<128x64xf32, #frag1>
        tile.release %slot_7 after %sum_3 : tensor<128x64xf32, #frag1>
        scf.yield %map_10, %sum_3 : tensor<128x1xf32, #frag>, tensor<128x64xf32, #frag1>
      } else {
        scf.yield %init_1, %init_2 : tensor<128x1xf32, #frag>, tensor<128x64xf32, #frag1>
      }
      tile.release %slot_3
      %map_24 = tile.map %if_1, %if : tensor<128x64xf32, #frag1>, tensor<128x1xf32, #frag> -> tensor<128x64xf32, #frag1> {
      ^bb0(%a_18: f32, %b_16: f32):
        %divf = arith.divf %a_18, %b_16 : f32
        tile.yield %divf : f32
      }
      %convert = tile.convert %map_24 {through = #shared2} : tensor<128x64xf32, #frag1> -> tensor<128x64xf32, #frag4>
      tile.store %convert, %r[%arg_3, %c0_1] symbols(%arg_2 : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>} : tensor<128x64xf32, #frag4>, !tile.view<8x512x64xf32>
    }
  }
}
