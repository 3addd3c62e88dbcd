// RUN: irc-opt %s -p queue-tiles --split-input-file --verify-diagnostics

#own = #tile.fragment<((32,4),(1)):((1,32),(0))>
tile.program @several(%x: !tile.view<65536xf32>, %y: !tile.view<65536xf32>) {results = 1 : i64, threads = 128 : i64} {
  tile.for_tiles (%i) extents [32768] steps [128] {
    %a = tile.load %x[%i] : !tile.view<65536xf32> -> tensor<128xf32, #own>
    tile.store %a, %y[%i] : tensor<128xf32, #own>, !tile.view<65536xf32>
  }
  // expected-error @+1 {{one loop over tiles of a program may have the schedule "dynamic", found several}}
  tile.for_tiles (%j) extents [65536] steps [128] schedule "dynamic" {
    %b = tile.load %x[%j] : !tile.view<65536xf32> -> tensor<128xf32, #own>
    tile.store %b, %y[%j] : tensor<128xf32, #own>, !tile.view<65536xf32>
  }
}
