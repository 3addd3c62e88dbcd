// RUN: irc-opt %s -p plan-shared | filecheck %s

// CHECK-LABEL: tile.program @wide
// CHECK-SAME:    shared = 209920 : i64
// CHECK:         tile.alloc {offset = {{[0-9]+}} : i64} : !tile.buffer<192x32xf32
#shared = #tile.shared<(192,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(32,3)):(32,(1,2048)) swizzle(2,3,3)>
#shared2 = #tile.shared<(192,32):(32,1) swizzle(3,2,3)>
#frag = #tile.fragment<((4,8,4,3),(2,2,12)):((384,1,16,64),(192,8,1536))>
#frag1 = #tile.fragment<((4,8,4,3),(2,2,4)):((384,1,16,64),(192,8,1536))>
#shared3 = #tile.shared<(192,32):(32,1) swizzle(2,3,3)>
#shared4 = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#frag2 = #tile.fragment<((4,8,4),(2,2,12)):((128,1,16),(64,8,512))>
func.func @wide(%x: tensor<768x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<768x768xf32> {
  %y = kernel.launch @wide_0(%x, %w) : (tensor<768x1024xbf16>, tensor<1024x768xbf16>) -> tensor<768x768xf32>
  func.return %y : tensor<768x768xf32>
}
tile.program @wide_0(%a: !tile.view<768x1024xbf16>, %b: !tile.view<1024x768xbf16>, %y: !tile.view<768x768xf32>) {results = 1 : i64, threads = 384 : i64, config = #kernel.config<tile = {m = 192, n = 96, k = 64}, stages = 5, warps = 12, schedule = "persistent", instruction = "wgmma">} {
  %channel = tile.channel {stages = 5 : i64} : !tile.channel<!tile.buffer<192x64xbf16, #shared>, !tile.buffer<64x96xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%arg, %arg_1) extents [768, 768] steps [192, 96] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %c1024 = arith.constant 1024 : index
      %c64 = arith.constant 64 : index
      scf.for %k = %c0 to %c1024 step %c64 {
        %slot, %buffer, %buffer_1 = tile.acquire %channel : !tile.channel<!tile.buffer<192x64xbf16, #shared>, !tile.buffer<64x96xbf16, #shared1>>
        tile.copy %a[%arg, %k] -> %buffer {via = "tma"} : !tile.view<768x1024xbf16> -> !tile.buffer<192x64xbf16, #shared>
        tile.copy %b[%k, %arg_1] -> %buffer_1 {via = "tma"} : !tile.view<1024x768xbf16> -> !tile.buffer<64x96xbf16, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 12 registers 152 {
    %alloc = tile.alloc : !tile.buffer<192x32xf32, #shared2>
    tile.for_tiles (%arg_2, %arg_3) extents [768, 768] steps [192, 96] schedule "persistent" {
      %zero = arith.constant 0.000000e+00 : f32
      %init = tile.splat %zero : f32 -> tensor<192x96xf32, #frag>
      %c0_1 = arith.constant 0 : index
      %c1024_1 = arith.constant 1024 : index
      %c64_1 = arith.constant 64 : index
      %acc = scf.for %k_1 = %c0_1 to %c1024_1 step %c64_1 iter_args(%acc_1 = %init) -> (tensor<192x96xf32, #frag>) {
        %slot_1, %buffer_2, %buffer_3 = tile.wait %channel : !tile.channel<!tile.buffer<192x64xbf16, #shared>, !tile.buffer<64x96xbf16, #shared1>>
        %sum = tile.dot %buffer_2, %buffer_3, %acc_1 {instruction = "wgmma"} : !tile.buffer<192x64xbf16, #shared>, !tile.buffer<64x96xbf16, #shared1>, tensor<192x96xf32, #frag> -> tensor<192x96xf32, #frag>
        tile.release %slot_1 after %sum : tensor<192x96xf32, #frag>
        scf.yield %sum : tensor<192x96xf32, #frag>
      }
      %c0_2 = arith.constant 0 : index
      %c96 = arith.constant 96 : index
      %c32 = arith.constant 32 : index
      scf.for %column = %c0_2 to %c96 step %c32 {
        %c0_3 = arith.constant 0 : index
        %part = tile.slice %acc[%c0_3, %column] {at = array<i64: 0, 0>} : tensor<192x96xf32, #frag> -> tensor<192x32xf32, #frag1>
        %addi = arith.addi %arg_3, %column : index
        tile.store_wait
        tile.write %part, %alloc : tensor<192x32xf32, #frag1>, !tile.buffer<192x32xf32, #shared2>
        tile.store %alloc, %y[%arg_2, %addi] : !tile.buffer<192x32xf32, #shared2>, !tile.view<768x768xf32>
      } {unroll}
    }
    tile.store_wait
  }
}
func.func @narrow(%x: tensor<768x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<768x768xbf16> {
  %y = kernel.launch @narrow_0(%x, %w) : (tensor<768x1024xbf16>, tensor<1024x768xbf16>) -> tensor<768x768xbf16>
  func.return %y : tensor<768x768xbf16>
}
tile.program @narrow_0(%a: !tile.view<768x1024xbf16>, %b: !tile.view<1024x768xbf16>, %y: !tile.view<768x768xbf16>) {results = 1 : i64, threads = 384 : i64, config = #kernel.config<tile = {m = 192, n = 96, k = 64}, stages = 5, warps = 12, schedule = "persistent", instruction = "wgmma">} {
  %channel = tile.channel {stages = 5 : i64} : !tile.channel<!tile.buffer<192x64xbf16, #shared>, !tile.buffer<64x96xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%arg, %arg_1) extents [768, 768] steps [192, 96] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %c1024 = arith.constant 1024 : index
      %c64 = arith.constant 64 : index
      scf.for %k = %c0 to %c1024 step %c64 {
        %slot, %buffer, %buffer_1 = tile.acquire %channel : !tile.channel<!tile.buffer<192x64xbf16, #shared>, !tile.buffer<64x96xbf16, #shared1>>
        tile.copy %a[%arg, %k] -> %buffer {via = "tma"} : !tile.view<768x1024xbf16> -> !tile.buffer<192x64xbf16, #shared>
        tile.copy %b[%k, %arg_1] -> %buffer_1 {via = "tma"} : !tile.view<1024x768xbf16> -> !tile.buffer<64x96xbf16, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 12 registers 152 {
    %alloc = tile.alloc : !tile.buffer<192x32xbf16, #shared3>
    tile.for_tiles (%arg_2, %arg_3) extents [768, 768] steps [192, 96] schedule "persistent" {
      %zero = arith.constant 0.000000e+00 : f32
      %init = tile.splat %zero : f32 -> tensor<192x96xf32, #frag>
      %c0_1 = arith.constant 0 : index
      %c1024_1 = arith.constant 1024 : index
      %c64_1 = arith.constant 64 : index
      %acc = scf.for %k_1 = %c0_1 to %c1024_1 step %c64_1 iter_args(%acc_1 = %init) -> (tensor<192x96xf32, #frag>) {
        %slot_1, %buffer_2, %buffer_3 = tile.wait %channel : !tile.channel<!tile.buffer<192x64xbf16, #shared>, !tile.buffer<64x96xbf16, #shared1>>
        %sum = tile.dot %buffer_2, %buffer_3, %acc_1 {instruction = "wgmma"} : !tile.buffer<192x64xbf16, #shared>, !tile.buffer<64x96xbf16, #shared1>, tensor<192x96xf32, #frag> -> tensor<192x96xf32, #frag>
        tile.release %slot_1 after %sum : tensor<192x96xf32, #frag>
        scf.yield %sum : tensor<192x96xf32, #frag>
      }
      %c0_2 = arith.constant 0 : index
      %c96 = arith.constant 96 : index
      %c32 = arith.constant 32 : index
      scf.for %column = %c0_2 to %c96 step %c32 {
        %c0_3 = arith.constant 0 : index
        %part = tile.slice %acc[%c0_3, %column] {at = array<i64: 0, 0>} : tensor<192x96xf32, #frag> -> tensor<192x32xf32, #frag1>
        %map = tile.map %part : tensor<192x32xf32, #frag1> -> tensor<192x32xbf16, #frag1> {
        ^bb0(%a_1: f32):
          %truncf = arith.truncf %a_1 : f32 to bf16
          tile.yield %truncf : bf16
        }
        %addi = arith.addi %arg_3, %column : index
        tile.store_wait
        tile.write %map, %alloc : tensor<192x32xbf16, #frag1>, !tile.buffer<192x32xbf16, #shared3>
        tile.store %alloc, %y[%arg_2, %addi] : !tile.buffer<192x32xbf16, #shared3>, !tile.view<768x768xbf16>
      } {unroll}
    }
    tile.store_wait
  }
}
func.func @third(%x: tensor<768x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<768x768xbf16> {
  %y = kernel.launch @third_0(%x, %w) : (tensor<768x1024xbf16>, tensor<1024x768xbf16>) -> tensor<768x768xbf16>
  func.return %y : tensor<768x768xbf16>
}
tile.program @third_0(%a: !tile.view<768x1024xbf16>, %b: !tile.view<1024x768xbf16>, %y: !tile.view<768x768xbf16>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 64, n = 96, k = 64}, stages = 5, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  %channel = tile.channel {stages = 5 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared4>, !tile.buffer<64x96xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%arg, %arg_1) extents [768, 768] steps [64, 96] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %c1024 = arith.constant 1024 : index
      %c64 = arith.constant 64 : index
      scf.for %k = %c0 to %c1024 step %c64 {
        %slot, %buffer, %buffer_1 = tile.acquire %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared4>, !tile.buffer<64x96xbf16, #shared1>>
        tile.copy %a[%arg, %k] -> %buffer {via = "tma"} : !tile.view<768x1024xbf16> -> !tile.buffer<64x64xbf16, #shared4>
        tile.copy %b[%k, %arg_1] -> %buffer_1 {via = "tma"} : !tile.view<1024x768xbf16> -> !tile.buffer<64x96xbf16, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 4 registers 240 {
    %alloc = tile.alloc : !tile.buffer<64x96xbf16, #shared1>
    tile.for_tiles (%arg_2, %arg_3) extents [768, 768] steps [64, 96] schedule "persistent" {
      %zero = arith.constant 0.000000e+00 : f32
      %init = tile.splat %zero : f32 -> tensor<64x96xf32, #frag2>
      %c0_1 = arith.constant 0 : index
      %c1024_1 = arith.constant 1024 : index
      %c64_1 = arith.constant 64 : index
      %acc = scf.for %k_1 = %c0_1 to %c1024_1 step %c64_1 iter_args(%acc_1 = %init) -> (tensor<64x96xf32, #frag2>) {
        %slot_1, %buffer_2, %buffer_3 = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared4>, !tile.buffer<64x96xbf16, #shared1>>
        %sum = tile.dot %buffer_2, %buffer_3, %acc_1 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared4>, !tile.buffer<64x96xbf16, #shared1>, tensor<64x96xf32, #frag2> -> tensor<64x96xf32, #frag2>
        tile.release %slot_1 after %sum : tensor<64x96xf32, #frag2>
        scf.yield %sum : tensor<64x96xf32, #frag2>
      }
      %map = tile.map %acc : tensor<64x96xf32, #frag2> -> tensor<64x96xbf16, #frag2> {
      ^bb0(%a_1: f32):
        %truncf = arith.truncf %a_1 : f32 to bf16
        tile.yield %truncf : bf16
      }
      tile.store_wait
      tile.write %map, %alloc : tensor<64x96xbf16, #frag2>, !tile.buffer<64x96xbf16, #shared1>
      tile.store %alloc, %y[%arg_2, %arg_3] : !tile.buffer<64x96xbf16, #shared1>, !tile.view<768x768xbf16>
    }
    tile.store_wait
  }
}
