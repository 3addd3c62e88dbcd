// RUN: irc-opt %s -p lower-schedule --split-input-file --verify-diagnostics

tile.program @without_tickets(%x: !tile.view<4096x4096xf32>, %y: !tile.view<4096x4096xf32>) {results = 1 : i64} {
  // expected-error @+1 {{expected tile.next_tile at the end of a loop over tiles with the schedule "dynamic"}}
  tile.for_tiles (%i, %j) extents [4096, 4096] steps [64, 64] schedule "dynamic" {
    %a = tile.load %x[%i, %j] : !tile.view<4096x4096xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<4096x4096xf32>
  }
}
