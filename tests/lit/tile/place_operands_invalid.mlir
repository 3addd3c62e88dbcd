// RUN: irc-opt %s -p place-operands --verify-diagnostics

// A right operand that is computed from what a dot gave would have to be handed from the threads that multiply to each other.
tile.program @chain(%x: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<instruction = "wgmma", warps = 4>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %t = tile.splat %zero : f32 -> tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.dot %a, %a, %s : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
  %c = tile.map %b : tensor<64x64xf32> -> tensor<64x64xbf16> {
  ^bb0(%v: f32):
    %w = arith.truncf %v : f32 to bf16
    tile.yield %w : bf16
  }
  // expected-error @+1 {{wgmma takes from what a dot or a loop gave only left operands of 16-bit elements, of multiples of 64 rows and 16 columns, found a right operand of type tensor<64x64xbf16>}}
  %d = tile.dot %a, %c, %t : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %d, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
