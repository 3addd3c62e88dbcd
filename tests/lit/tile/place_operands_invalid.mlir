// RUN: irc-opt %s -p place-operands --verify-diagnostics

// What a dot gave is handed from the threads that multiply to each other in elements of 16 bits: wgmma reads others along K only.
tile.program @chain(%x: !tile.view<64x64xbf16>, %z: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<instruction = "wgmma", warps = 4>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %t = tile.splat %zero : f32 -> tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.dot %a, %a, %s : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
  %c = tile.map %b : tensor<64x64xf32> -> tensor<64x64xf32> {
  ^bb0(%v: f32):
    %w = arith.negf %v : f32
    tile.yield %w : f32
  }
  %e = tile.load %z[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
  // expected-error @+1 {{wgmma takes from what a dot or a loop gave only operands of 16-bit elements, found a right operand of type tensor<64x64xf32>}}
  %d = tile.dot %e, %c, %t : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %d, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
