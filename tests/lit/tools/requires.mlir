// RUN: irc-opt %s -p make-channels --split-input-file --verify-diagnostics
// RUN: irc-opt --list-passes | filecheck %s

// A pass does not run where what it relies on does not hold.
tile.program @copies(%x: !tile.view<16xf32>, %y: !tile.view<16xf32>) {results = 1 : i64} {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{pass 'make-channels' requires that every tile and every shared buffer has a layout: found 'tile.load'}}
  %a = tile.load %x[%zero] : !tile.view<16xf32> -> tensor<16xf32>
  tile.store %a, %y[%zero] : tensor<16xf32>, !tile.view<16xf32>
}

// CHECK:      canonicalize-nd
// CHECK:      choose-config {{ *}}requires fused
// CHECK:      tile-kernels {{ *}}requires fused; establishes tiled
// CHECK:      assign-layouts {{ *}}requires tiled, layout-free; establishes laid-out
// CHECK:      lower-to-cuda {{ *}}requires tiled, laid-out, shared-planned, scheduled; establishes threads
