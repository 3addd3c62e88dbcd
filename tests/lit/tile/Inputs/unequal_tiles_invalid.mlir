tile.program @p(%x: !tile.view<128x32xbf16>, %w: !tile.view<32x48xbf16>, %v: !tile.view<32x80xbf16>, %y: !tile.view<128x80xf32>) {results = 1 : i64, config = #kernel.config<instruction = "mma", warps = 4>} {
  tile.for_tiles (%i) extents [128] steps [16] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %s0 = tile.splat %zero : f32 -> tensor<16x48xf32>
    %o0 = tile.splat %zero : f32 -> tensor<16x80xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<128x32xbf16> -> tensor<16x32xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<32x48xbf16> -> tensor<32x48xbf16>
    // expected-error @below {{a tile of 16 x 48 cannot be split over 4 warps of m16n8k16}}
    %s = tile.dot %xt, %wt, %s0 : tensor<16x32xbf16>, tensor<32x48xbf16>, tensor<16x48xf32> -> tensor<16x48xf32>
    %m = tile.reduce %s {axes = array<i64: 1>} : tensor<16x48xf32> -> tensor<16x1xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maximumf %a, %b : f32
      tile.yield %c : f32
    }
    %vt = tile.load %v[%c0, %c0] : !tile.view<32x80xbf16> -> tensor<32x80xbf16>
    %o = tile.dot %xt, %vt, %o0 : tensor<16x32xbf16>, tensor<32x80xbf16>, tensor<16x80xf32> -> tensor<16x80xf32>
    %r = tile.map %o, %m : tensor<16x80xf32>, tensor<16x1xf32> -> tensor<16x80xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.subf %a, %b : f32
      tile.yield %c : f32
    }
    tile.store %r, %y[%i, %c0] : tensor<16x80xf32>, !tile.view<128x80xf32>
  }
}

// -----

tile.program @depth(%x: !tile.view<64x40xbf16>, %w: !tile.view<40x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<instruction = "mma", warps = 4>} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<64x40xbf16> -> tensor<64x40xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<40x64xbf16> -> tensor<40x64xbf16>
    // expected-error @below {{m16n8k16 takes steps of 16 along K, found 40}}
    %s = tile.dot %xt, %wt, %s0 : tensor<64x40xbf16>, tensor<40x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}

// -----

tile.program @wgmma_depth(%x: !tile.view<64x40xbf16>, %w: !tile.view<40x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<instruction = "wgmma", warps = 4>} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x64xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<64x40xbf16> -> tensor<64x40xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<40x64xbf16> -> tensor<40x64xbf16>
    // expected-error @below {{wgmma takes steps of 16 along K, found 40}}
    %s = tile.dot %xt, %wt, %s0 : tensor<64x40xbf16>, tensor<40x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}

// -----

tile.program @wgmma_columns(%x: !tile.view<64x64xbf16>, %w: !tile.view<64x84xbf16>, %y: !tile.view<64x84xf32>) {results = 1 : i64, config = #kernel.config<instruction = "wgmma", warps = 4>} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %s0 = tile.splat %zero : f32 -> tensor<64x84xf32>
    %xt = tile.load %x[%i, %c0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
    %wt = tile.load %w[%c0, %c0] : !tile.view<64x84xbf16> -> tensor<64x84xbf16>
    // expected-error @below {{wgmma on 1 warp groups takes tiles of a multiple of 64 rows and 8 to 256 columns, found 64 x 84}}
    %s = tile.dot %xt, %wt, %s0 : tensor<64x64xbf16>, tensor<64x84xbf16>, tensor<64x84xf32> -> tensor<64x84xf32>
    tile.store %s, %y[%i, %c0] : tensor<64x84xf32>, !tile.view<64x84xf32>
  }
}
