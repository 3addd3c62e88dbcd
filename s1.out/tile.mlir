#frag = #tile.fragment<((64,4),(2,4)):((2,128),(1,512))>
#frag1 = #tile.fragment<((64,4),(4)):((0,1),(4))>
#frag2 = #tile.fragment<((64,4),(2)):((2,0),(1))>
#frag3 = #tile.fragment<((64,4),(2,2)):((2,128),(1,512))>
#frag4 = #tile.fragment<((64,4),(2)):((0,1),(4))>
#frag5 = #tile.fragment<((256),(2,4)):((2),(1,512))>
#frag6 = #tile.fragment<((256),()):((0),())>
#frag7 = #tile.fragment<((256),(8)):((8),(1))>
#frag8 = #tile.fragment<((32),()):((1),())>
#frag9 = #tile.fragment<((32),()):((0),())>
#frag10 = #tile.fragment<((256),(16)):((1),(256))>
builtin.module {
  func.func @f(%x: tensor<3001x70xbf16>, %w: tensor<3001xf32>) -> (tensor<70xf32>, tensor<f32>, tensor<70xf32>, tensor<i32>) {
    %0, %1, %2, %3 = kernel.launch @f_0(%x) : (tensor<3001x70xbf16>) -> (tensor<70xf32>, tensor<46x70xf32>, tensor<70xf32>, tensor<46x70xf32>)
    %4, %5 = kernel.launch @f_0_finish(%1, %0, %3, %2) : (tensor<46x70xf32>, tensor<70xf32>, tensor<46x70xf32>, tensor<70xf32>) -> (tensor<70xf32>, tensor<70xf32>)
    %6, %7 = kernel.launch @f_1(%x) : (tensor<3001x70xbf16>) -> (tensor<f32>, tensor<25xf32>)
    %8 = kernel.launch @f_1_finish(%7, %6) : (tensor<25xf32>, tensor<f32>) -> tensor<f32>
    %9 = kernel.launch @f_2(%w) : (tensor<3001xf32>) -> tensor<i32>
    func.return %4, %8, %5, %9 : tensor<70xf32>, tensor<f32>, tensor<70xf32>, tensor<i32>
  }
  tile.program @f_0(%x: !tile.view<3001x70xbf16>, %0: !tile.view<70xf32>, %1: !tile.view<46x70xf32>, %2: !tile.view<70xf32>, %3: !tile.view<46x70xf32>) {results = 4 : i64, threads = 256 : i64, shared = 0 : i64, config = #kernel.config<tile = [128, 16], warps = 8, schedule = "grid", reduction = "looped", unroll = 4, vector = 16>} {
    tile.for_tiles (%4) extents [70] steps [128] {
      %5 = arith.constant 0 : index
      %6 = arith.constant 0.000000e+00 : f32
      %7 = tile.splat %6 : f32 -> tensor<128x16xf32, #frag>
      %8 = arith.constant 0xff800000 : f32
      %9 = tile.splat %8 : f32 -> tensor<128x16xf32, #frag>
      %10 = arith.constant 57 : index
      %11 = arith.constant 16 : index
      %12, %13 = scf.for %14 = %5 to %10 step %11 iter_args(%15 = %7, %16 = %9) -> (tensor<128x16xf32, #frag>, tensor<128x16xf32, #frag>) {
        %17 = tile.load %x[%4, %14] {map = affine_map<(d0, d1) -> ((d1 + 2944), d0)>, checked = array<i64: 0, 1>} : !tile.view<3001x70xbf16> -> tensor<128x16xbf16, #frag>
        %18 = tile.iota %14 {axis = 1 : i64} : tensor<1x16xindex, #frag1>
        %19 = tile.iota %14 {axis = 1 : i64} : tensor<1x16xindex, #frag1>
        %20 = tile.map %17, %18 : tensor<128x16xbf16, #frag>, tensor<1x16xindex, #frag1> -> tensor<128x16xf32, #frag> {
        ^bb0(%21: bf16, %22: index):
          %23 = arith.extf %21 : bf16 to f32
          %24 = arith.cmpi slt, %22, %10 : index
          %25 = arith.select %24, %23, %6 : f32
          tile.yield %25 : f32
        }
        %26 = tile.map %17, %19 : tensor<128x16xbf16, #frag>, tensor<1x16xindex, #frag1> -> tensor<128x16xf32, #frag> {
        ^bb0(%27: bf16, %28: index):
          %29 = arith.extf %27 : bf16 to f32
          %30 = arith.cmpi slt, %28, %10 : index
          %31 = arith.select %30, %29, %8 : f32
          tile.yield %31 : f32
        }
        %32 = tile.map %15, %20 : tensor<128x16xf32, #frag>, tensor<128x16xf32, #frag> -> tensor<128x16xf32, #frag> {
        ^bb0(%33: f32, %34: f32):
          %35 = arith.addf %33, %34 : f32
          tile.yield %35 : f32
        }
        %36 = tile.map %16, %26 : tensor<128x16xf32, #frag>, tensor<128x16xf32, #frag> -> tensor<128x16xf32, #frag> {
        ^bb0(%37: f32, %38: f32):
          %39 = arith.maximumf %37, %38 : f32
          tile.yield %39 : f32
        }
        scf.yield %32, %36 : tensor<128x16xf32, #frag>, tensor<128x16xf32, #frag>
      } {unroll = 4 : i64}
      %40 = tile.reduce %12 {axes = array<i64: 1>} : tensor<128x16xf32, #frag> -> tensor<128x1xf32, #frag2> {
      ^bb0(%41: f32, %42: f32):
        %43 = arith.addf %41, %42 : f32
        tile.yield %43 : f32
      }
      %44 = tile.reduce %13 {axes = array<i64: 1>} : tensor<128x16xf32, #frag> -> tensor<128x1xf32, #frag2> {
      ^bb0(%45: f32, %46: f32):
        %47 = arith.maximumf %45, %46 : f32
        tile.yield %47 : f32
      }
      tile.store %40, %0[%4, %5] {map = affine_map<(d0, d1) -> (d0)>, checked = array<i64: 0>} : tensor<128x1xf32, #frag2>, !tile.view<70xf32>
      tile.store %44, %2[%4, %5] {map = affine_map<(d0, d1) -> (d0)>, checked = array<i64: 0>} : tensor<128x1xf32, #frag2>, !tile.view<70xf32>
    }
    tile.for_tiles (%48, %49) extents [46, 70] steps [1, 128] {
      %50 = arith.constant 0 : index
      %51 = arith.constant 0.000000e+00 : f32
      %52 = tile.splat %51 : f32 -> tensor<128x16xf32, #frag>
      %53 = arith.constant 0xff800000 : f32
      %54 = tile.splat %53 : f32 -> tensor<128x16xf32, #frag>
      %55 = arith.constant 64 : index
      %56 = arith.constant 16 : index
      %57, %58 = scf.for %59 = %50 to %55 step %56 iter_args(%60 = %52, %61 = %54) -> (tensor<128x16xf32, #frag>, tensor<128x16xf32, #frag>) {
        %62 = tile.load %x[%49, %59] symbols(%48 : index) {map = affine_map<(d0, d1)[s0] -> (((s0 * 64) + d1), d0)>, checked = array<i64: 1>} : !tile.view<3001x70xbf16> -> tensor<128x16xbf16, #frag>
        %63 = tile.map %62 : tensor<128x16xbf16, #frag> -> tensor<128x16xf32, #frag> {
        ^bb0(%64: bf16):
          %65 = arith.extf %64 : bf16 to f32
          tile.yield %65 : f32
        }
        %66 = tile.map %60, %63 : tensor<128x16xf32, #frag>, tensor<128x16xf32, #frag> -> tensor<128x16xf32, #frag> {
        ^bb0(%67: f32, %68: f32):
          %69 = arith.addf %67, %68 : f32
          tile.yield %69 : f32
        }
        %70 = tile.map %61, %63 : tensor<128x16xf32, #frag>, tensor<128x16xf32, #frag> -> tensor<128x16xf32, #frag> {
        ^bb0(%71: f32, %72: f32):
          %73 = arith.maximumf %71, %72 : f32
          tile.yield %73 : f32
        }
        scf.yield %66, %70 : tensor<128x16xf32, #frag>, tensor<128x16xf32, #frag>
      } {unroll = 4 : i64}
      %74 = tile.reduce %57 {axes = array<i64: 1>} : tensor<128x16xf32, #frag> -> tensor<128x1xf32, #frag2> {
      ^bb0(%75: f32, %76: f32):
        %77 = arith.addf %75, %76 : f32
        tile.yield %77 : f32
      }
      %78 = tile.reduce %58 {axes = array<i64: 1>} : tensor<128x16xf32, #frag> -> tensor<128x1xf32, #frag2> {
      ^bb0(%79: f32, %80: f32):
        %81 = arith.maximumf %79, %80 : f32
        tile.yield %81 : f32
      }
      tile.store %74, %1[%49, %50] symbols(%48 : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>, checked = array<i64: 1>} : tensor<128x1xf32, #frag2>, !tile.view<46x70xf32>
      tile.store %78, %3[%49, %50] symbols(%48 : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>, checked = array<i64: 1>} : tensor<128x1xf32, #frag2>, !tile.view<46x70xf32>
    }
  }
  tile.program @f_0_finish(%0: !tile.view<46x70xf32>, %1: !tile.view<70xf32>, %2: !tile.view<46x70xf32>, %3: !tile.view<70xf32>, %4: !tile.view<70xf32>, %5: !tile.view<70xf32>) {results = 2 : i64, threads = 256 : i64, shared = 0 : i64, config = #kernel.config<tile = [128, 8], warps = 8, schedule = "grid", reduction = "looped", unroll = 4, vector = 16>} {
    tile.for_tiles (%6) extents [70] steps [128] {
      %7 = arith.constant 0 : index
      %8 = arith.constant 0.000000e+00 : f32
      %9 = tile.splat %8 : f32 -> tensor<128x8xf32, #frag3>
      %10 = arith.constant 0xff800000 : f32
      %11 = tile.splat %10 : f32 -> tensor<128x8xf32, #frag3>
      %12 = arith.constant 46 : index
      %13 = arith.constant 8 : index
      %14, %15 = scf.for %16 = %7 to %12 step %13 iter_args(%17 = %9, %18 = %11) -> (tensor<128x8xf32, #frag3>, tensor<128x8xf32, #frag3>) {
        %19 = tile.load %0[%6, %16] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0, 1>} : !tile.view<46x70xf32> -> tensor<128x8xf32, #frag3>
        %20 = tile.iota %16 {axis = 1 : i64} : tensor<1x8xindex, #frag4>
        %21 = tile.iota %16 {axis = 1 : i64} : tensor<1x8xindex, #frag4>
        %22 = tile.map %19, %20 : tensor<128x8xf32, #frag3>, tensor<1x8xindex, #frag4> -> tensor<128x8xf32, #frag3> {
        ^bb0(%23: f32, %24: index):
          %25 = arith.cmpi slt, %24, %12 : index
          %26 = arith.select %25, %23, %8 : f32
          tile.yield %26 : f32
        }
        %27 = tile.load %2[%6, %16] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0, 1>} : !tile.view<46x70xf32> -> tensor<128x8xf32, #frag3>
        %28 = tile.map %27, %21 : tensor<128x8xf32, #frag3>, tensor<1x8xindex, #frag4> -> tensor<128x8xf32, #frag3> {
        ^bb0(%29: f32, %30: index):
          %31 = arith.cmpi slt, %30, %12 : index
          %32 = arith.select %31, %29, %10 : f32
          tile.yield %32 : f32
        }
        %33 = tile.map %17, %22 : tensor<128x8xf32, #frag3>, tensor<128x8xf32, #frag3> -> tensor<128x8xf32, #frag3> {
        ^bb0(%34: f32, %35: f32):
          %36 = arith.addf %34, %35 : f32
          tile.yield %36 : f32
        }
        %37 = tile.map %18, %28 : tensor<128x8xf32, #frag3>, tensor<128x8xf32, #frag3> -> tensor<128x8xf32, #frag3> {
        ^bb0(%38: f32, %39: f32):
          %40 = arith.maximumf %38, %39 : f32
          tile.yield %40 : f32
        }
        scf.yield %33, %37 : tensor<128x8xf32, #frag3>, tensor<128x8xf32, #frag3>
      } {unroll = 4 : i64}
      %41 = tile.reduce %14 {axes = array<i64: 1>} : tensor<128x8xf32, #frag3> -> tensor<128x1xf32, #frag2> {
      ^bb0(%42: f32, %43: f32):
        %44 = arith.addf %42, %43 : f32
        tile.yield %44 : f32
      }
      %45 = tile.reduce %15 {axes = array<i64: 1>} : tensor<128x8xf32, #frag3> -> tensor<128x1xf32, #frag2> {
      ^bb0(%46: f32, %47: f32):
        %48 = arith.maximumf %46, %47 : f32
        tile.yield %48 : f32
      }
      %49 = tile.load %1[%6, %7] {map = affine_map<(d0, d1) -> (d0)>, checked = array<i64: 0>} : !tile.view<70xf32> -> tensor<128x1xf32, #frag2>
      %50 = tile.map %41, %49 : tensor<128x1xf32, #frag2>, tensor<128x1xf32, #frag2> -> tensor<128x1xf32, #frag2> {
      ^bb0(%51: f32, %52: f32):
        %53 = arith.addf %51, %52 : f32
        tile.yield %53 : f32
      }
      tile.store %50, %4[%6, %7] {map = affine_map<(d0, d1) -> (d0)>, checked = array<i64: 0>} : tensor<128x1xf32, #frag2>, !tile.view<70xf32>
      %54 = tile.load %3[%6, %7] {map = affine_map<(d0, d1) -> (d0)>, checked = array<i64: 0>} : !tile.view<70xf32> -> tensor<128x1xf32, #frag2>
      %55 = tile.map %45, %54 : tensor<128x1xf32, #frag2>, tensor<128x1xf32, #frag2> -> tensor<128x1xf32, #frag2> {
      ^bb0(%56: f32, %57: f32):
        %58 = arith.maximumf %56, %57 : f32
        tile.yield %58 : f32
      }
      tile.store %55, %5[%6, %7] {map = affine_map<(d0, d1) -> (d0)>, checked = array<i64: 0>} : tensor<128x1xf32, #frag2>, !tile.view<70xf32>
    }
  }
  tile.program @f_1(%x: !tile.view<210070xbf16>, %0: !tile.view<f32>, %1: !tile.view<25xf32>) {results = 2 : i64, threads = 256 : i64, shared = 0 : i64, config = #kernel.config<tile = [1, 2048], warps = 8, schedule = "grid", reduction = "looped", unroll = 4, vector = 16>} {
    tile.for_tiles (%2) extents [1] steps [1] {
      %3 = arith.constant 0 : index
      %4 = arith.constant 0.000000e+00 : f32
      %5 = tile.splat %4 : f32 -> tensor<1x2048xf32, #frag5>
      %6 = arith.constant 5270 : index
      %7 = arith.constant 2048 : index
      %8 = scf.for %9 = %3 to %6 step %7 iter_args(%10 = %5) -> (tensor<1x2048xf32, #frag5>) {
        %11 = tile.load %x[%3, %9] {map = affine_map<(d0, d1) -> ((d1 + 204800))>, checked = array<i64: 0>} : !tile.view<210070xbf16> -> tensor<1x2048xbf16, #frag5>
        %12 = tile.iota %9 {axis = 1 : i64} : tensor<1x2048xindex, #frag5>
        %13 = tile.map %11, %12 : tensor<1x2048xbf16, #frag5>, tensor<1x2048xindex, #frag5> -> tensor<1x2048xf32, #frag5> {
        ^bb0(%14: bf16, %15: index):
          %16 = arith.extf %14 : bf16 to f32
          %17 = arith.cmpi slt, %15, %6 : index
          %18 = arith.select %17, %16, %4 : f32
          tile.yield %18 : f32
        }
        %19 = tile.map %10, %13 : tensor<1x2048xf32, #frag5>, tensor<1x2048xf32, #frag5> -> tensor<1x2048xf32, #frag5> {
        ^bb0(%20: f32, %21: f32):
          %22 = arith.addf %20, %21 : f32
          tile.yield %22 : f32
        }
        scf.yield %19 : tensor<1x2048xf32, #frag5>
      } {unroll = 4 : i64}
      %23 = tile.reduce %8 {axes = array<i64: 1>} : tensor<1x2048xf32, #frag5> -> tensor<1x1xf32, #frag6> {
      ^bb0(%24: f32, %25: f32):
        %26 = arith.addf %24, %25 : f32
        tile.yield %26 : f32
      }
      tile.store %23, %0[%3, %3] {map = affine_map<(d0, d1) -> ()>} : tensor<1x1xf32, #frag6>, !tile.view<f32>
    }
    tile.for_tiles (%27) extents [25] steps [1] {
      %28 = arith.constant 0 : index
      %29 = arith.constant 0.000000e+00 : f32
      %30 = tile.splat %29 : f32 -> tensor<1x2048xf32, #frag7>
      %31 = arith.constant 8192 : index
      %32 = arith.constant 2048 : index
      %33 = scf.for %34 = %28 to %31 step %32 iter_args(%35 = %30) -> (tensor<1x2048xf32, #frag7>) {
        %36 = tile.load %x[%27, %34] {map = affine_map<(d0, d1) -> (((d0 * 8192) + d1))>} : !tile.view<210070xbf16> -> tensor<1x2048xbf16, #frag7>
        %37 = tile.map %36 : tensor<1x2048xbf16, #frag7> -> tensor<1x2048xf32, #frag7> {
        ^bb0(%38: bf16):
          %39 = arith.extf %38 : bf16 to f32
          tile.yield %39 : f32
        }
        %40 = tile.map %35, %37 : tensor<1x2048xf32, #frag7>, tensor<1x2048xf32, #frag7> -> tensor<1x2048xf32, #frag7> {
        ^bb0(%41: f32, %42: f32):
          %43 = arith.addf %41, %42 : f32
          tile.yield %43 : f32
        }
        scf.yield %40 : tensor<1x2048xf32, #frag7>
      } {unroll = 4 : i64}
      %44 = tile.reduce %33 {axes = array<i64: 1>} : tensor<1x2048xf32, #frag7> -> tensor<1x1xf32, #frag6> {
      ^bb0(%45: f32, %46: f32):
        %47 = arith.addf %45, %46 : f32
        tile.yield %47 : f32
      }
      tile.store %44, %1[%27, %28] {map = affine_map<(d0, d1) -> (d0)>} : tensor<1x1xf32, #frag6>, !tile.view<25xf32>
    }
  }
  tile.program @f_1_finish(%0: !tile.view<25xf32>, %1: !tile.view<f32>, %2: !tile.view<f32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, config = #kernel.config<tile = [1, 32], warps = 1, schedule = "grid", reduction = "persistent", vector = 16>} {
    tile.for_tiles (%3) extents [1] steps [1] {
      %4 = arith.constant 0 : index
      %5 = tile.load %0[%4, %4] {map = affine_map<(d0, d1) -> (d1)>, checked = array<i64: 0>} : !tile.view<25xf32> -> tensor<1x32xf32, #frag8>
      %6 = tile.iota %4 {axis = 1 : i64} : tensor<1x32xindex, #frag8>
      %7 = tile.map %5, %6 : tensor<1x32xf32, #frag8>, tensor<1x32xindex, #frag8> -> tensor<1x32xf32, #frag8> {
      ^bb0(%8: f32, %9: index):
        %10 = arith.constant 0.000000e+00 : f32
        %11 = arith.constant 25 : index
        %12 = arith.cmpi slt, %9, %11 : index
        %13 = arith.select %12, %8, %10 : f32
        tile.yield %13 : f32
      }
      %14 = tile.reduce %7 {axes = array<i64: 1>} : tensor<1x32xf32, #frag8> -> tensor<1x1xf32, #frag9> {
      ^bb0(%15: f32, %16: f32):
        %17 = arith.addf %15, %16 : f32
        tile.yield %17 : f32
      }
      %18 = tile.load %1[%4, %4] {map = affine_map<(d0, d1) -> ()>} : !tile.view<f32> -> tensor<1x1xf32, #frag9>
      %19 = tile.map %14, %18 : tensor<1x1xf32, #frag9>, tensor<1x1xf32, #frag9> -> tensor<1x1xf32, #frag9> {
      ^bb0(%20: f32, %21: f32):
        %22 = arith.addf %20, %21 : f32
        tile.yield %22 : f32
      }
      tile.store %19, %2[%4, %4] {map = affine_map<(d0, d1) -> ()>} : tensor<1x1xf32, #frag9>, !tile.view<f32>
    }
  }
  tile.program @f_2(%w: !tile.view<3001xf32>, %0: !tile.view<i32>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, config = #kernel.config<tile = [1, 4096], warps = 8, schedule = "grid", reduction = "persistent", vector = 16>} {
    tile.for_tiles (%1) extents [1] steps [1] {
      %2 = arith.constant 0 : index
      %3 = tile.load %w[%2, %2] {map = affine_map<(d0, d1) -> (d1)>, checked = array<i64: 0>} : !tile.view<3001xf32> -> tensor<1x4096xf32, #frag10>
      %4 = tile.iota %2 {axis = 1 : i64} : tensor<1x4096xindex, #frag10>
      %5 = tile.map %3, %4 : tensor<1x4096xf32, #frag10>, tensor<1x4096xindex, #frag10> -> tensor<1x4096xi32, #frag10> {
      ^bb0(%6: f32, %7: index):
        %8 = arith.constant 0.000000e+00 : f32
        %9 = arith.cmpf ogt, %6, %8 : f32
        %10 = arith.extui %9 : i1 to i32
        %11 = arith.constant 0 : i32
        %12 = arith.constant 3001 : index
        %13 = arith.cmpi slt, %7, %12 : index
        %14 = arith.select %13, %10, %11 : i32
        tile.yield %14 : i32
      }
      %15 = tile.reduce %5 {axes = array<i64: 1>} : tensor<1x4096xi32, #frag10> -> tensor<1x1xi32, #frag6> {
      ^bb0(%16: i32, %17: i32):
        %18 = arith.addi %16, %17 : i32
        tile.yield %18 : i32
      }
      tile.store %15, %0[%2, %2] {map = affine_map<(d0, d1) -> ()>} : tensor<1x1xi32, #frag6>, !tile.view<i32>
    }
  }
}
