// RUN: irc-opt %s -p assign-layouts --split-input-file | filecheck %s

// Rows of 5003 elements begin anywhere. A loop over a row loads words, and puts vectors together of them: what is
// outside the view in the last step is 0, as what adds it up was written to expect.
// CHECK-LABEL: @odd
// CHECK:         tile.load %x[{{.*}}] {checked = array<i64: 1>, across, exact} : !tile.view<64x5003xbf16> -> tensor<1x1024xbf16, [[FRAG:#frag[0-9]*]]>
tile.program @odd(%x: !tile.view<64x5003xbf16>, %y: !tile.view<64x1024xf32>) {results = 1 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [64] steps [1] {
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %n = arith.constant 5003 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1024xf32>
    %sum = scf.for %j = %c0 to %n step %c1024 iter_args(%s = %s0) -> (tensor<1x1024xf32>) {
      %xt = tile.load %x[%i, %j] {checked = array<i64: 1>} : !tile.view<64x5003xbf16> -> tensor<1x1024xbf16>
      %next = tile.map %s, %xt : tensor<1x1024xf32>, tensor<1x1024xbf16> -> tensor<1x1024xf32> {
      ^bb0(%a: f32, %b: bf16):
        %wide = arith.extf %b : bf16 to f32
        %c = arith.addf %a, %wide : f32
        tile.yield %c : f32
      }
      scf.yield %next : tensor<1x1024xf32>
    }
    tile.store %sum, %y[%i, %c0] : tensor<1x1024xf32>, !tile.view<64x1024xf32>
  }
}

// -----

// Rows of whole words are loaded as they lie.
// CHECK-LABEL: @even
// CHECK:         tile.load %x[{{.*}}] {checked = array<i64: 1>} :
tile.program @even(%x: !tile.view<64x5000xbf16>, %y: !tile.view<64x1024xf32>) {results = 1 : i64, config = #kernel.config<warps = 4>} {
  tile.for_tiles (%i) extents [64] steps [1] {
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %n = arith.constant 5000 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s0 = tile.splat %zero : f32 -> tensor<1x1024xf32>
    %sum = scf.for %j = %c0 to %n step %c1024 iter_args(%s = %s0) -> (tensor<1x1024xf32>) {
      %xt = tile.load %x[%i, %j] {checked = array<i64: 1>} : !tile.view<64x5000xbf16> -> tensor<1x1024xbf16>
      %next = tile.map %s, %xt : tensor<1x1024xf32>, tensor<1x1024xbf16> -> tensor<1x1024xf32> {
      ^bb0(%a: f32, %b: bf16):
        %wide = arith.extf %b : bf16 to f32
        %c = arith.addf %a, %wide : f32
        tile.yield %c : f32
      }
      scf.yield %next : tensor<1x1024xf32>
    }
    tile.store %sum, %y[%i, %c0] : tensor<1x1024xf32>, !tile.view<64x1024xf32>
  }
}
