// RUN: irc-opt %s -p assign-layouts | filecheck %s

// Threads meet behind the loop for a sum that it carries (defer-reductions): what a step loads in vectors of 16 bytes is
// added up as it lies.
// CHECK-DAG:   [[WIDE:#frag[0-9]*]] = #tile.fragment<((8,32),(8,8)):((2048,1),(256,32))>
// CHECK-DAG:   [[FEW:#frag[0-9]*]] = #tile.fragment<((2,16,8),(4,16)):((1024,1,2048),(256,16))>
// CHECK-LABEL: @carried
// CHECK-NOT:     tile.convert
// CHECK:         tile.map %a : tensor<256x64xbf16, [[WIDE]]> -> tensor<256x64xf32, [[WIDE]]>

// Where each step needs the sum, they meet in each: half as many lanes of a warp lie along what is summed.
// CHECK-LABEL: @needed
// CHECK:         tile.convert
// CHECK-NEXT:    tile.map {{.*}} : tensor<256x64xbf16, [[FEW]]> -> tensor<256x64xf32, [[FEW]]>

tile.program @carried(%x: !tile.view<65536x1024xbf16>, %y: !tile.view<1x1024xf32>) {results = 1 : i64, config = #kernel.config<tile = {n = 64, m = 256}, warps = 8, schedule = "grid">} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c65536 = arith.constant 65536 : index
  tile.for_tiles (%n) extents [1024] steps [64] schedule "grid" group 1 {
    %zero = arith.constant 0.000000e+00 : f32
    %start = tile.splat %zero : f32 -> tensor<1x64xf32>
    %sum = scf.for %m = %c0 to %c65536 step %c256 iter_args(%acc = %start) -> (tensor<1x64xf32>) {
      %a = tile.load %x[%m, %n] : !tile.view<65536x1024xbf16> -> tensor<256x64xbf16>
      %f = tile.map %a : tensor<256x64xbf16> -> tensor<256x64xf32> {
      ^bb0(%e: bf16):
        %w = arith.extf %e : bf16 to f32
        tile.yield %w : f32
      }
      %r = tile.reduce %f {axes = array<i64: 0>} : tensor<256x64xf32> -> tensor<1x64xf32> {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        tile.yield %s : f32
      }
      %t = tile.map %acc, %r : tensor<1x64xf32>, tensor<1x64xf32> -> tensor<1x64xf32> {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        tile.yield %s : f32
      }
      scf.yield %t : tensor<1x64xf32>
    }
    tile.store %sum, %y[%c0, %n] : tensor<1x64xf32>, !tile.view<1x1024xf32>
  }
}
tile.program @needed(%x: !tile.view<65536x1024xbf16>, %y: !tile.view<1x1024xf32>) {results = 1 : i64, config = #kernel.config<tile = {n = 64, m = 256}, warps = 8, schedule = "grid">} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c65536 = arith.constant 65536 : index
  tile.for_tiles (%n) extents [1024] steps [64] schedule "grid" group 1 {
    %zero = arith.constant 0.000000e+00 : f32
    %start = tile.splat %zero : f32 -> tensor<1x64xf32>
    %sum = scf.for %m = %c0 to %c65536 step %c256 iter_args(%acc = %start) -> (tensor<1x64xf32>) {
      %a = tile.load %x[%m, %n] : !tile.view<65536x1024xbf16> -> tensor<256x64xbf16>
      %f = tile.map %a : tensor<256x64xbf16> -> tensor<256x64xf32> {
      ^bb0(%e: bf16):
        %w = arith.extf %e : bf16 to f32
        tile.yield %w : f32
      }
      %r = tile.reduce %f {axes = array<i64: 0>} : tensor<256x64xf32> -> tensor<1x64xf32> {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        tile.yield %s : f32
      }
      tile.store %r, %y[%c0, %n] : tensor<1x64xf32>, !tile.view<1x1024xf32>
      %t = tile.map %acc, %r : tensor<1x64xf32>, tensor<1x64xf32> -> tensor<1x64xf32> {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        tile.yield %s : f32
      }
      scf.yield %t : tensor<1x64xf32>
    }
    tile.store %sum, %y[%c0, %n] : tensor<1x64xf32>, !tile.view<1x1024xf32>
  }
}
