// RUN: irc-opt %s -p assign-layouts,plan-shared,lower-schedule,lower-to-cuda,lower-channels,allocate-scratch,insert-barriers | filecheck %s

// A thread has a vector of each of two rows. It reads four rows, of one vector and an element on either side.
// CHECK-LABEL:  cuda.kernel @pool
// CHECK:          cuda.registers : !cuda.registers<96 x bf16>
// CHECK:          cuda.load_or {{.*}} if {{.*}} else %least -> %a[{{.*}}] {cache = "read_only"}
// CHECK-COUNT-4:  {count = 8 : i64, cache = "read_only"}
// CHECK-NOT:      {count = {{.*}}, cache
// CHECK:          cuda.store {{.*}} {count = 8 : i64}
tile.program @pool(%x: !tile.view<64x128xbf16>, %y: !tile.view<64x128xbf16>) {results = 1 : i64, config = #kernel.config<warps = 2, schedule = "grid">} {
  tile.for_tiles (%i, %j) extents [64, 128] steps [8, 128] {
    %least = arith.constant -1.0 : bf16
    %a, %b, %c = tile.load_window %x[%i, %j] other %least : bf16 {taps = array<i64: -1, -1, 0, 0, 1, 1>, checked = array<i64: 0, 1>} : !tile.view<64x128xbf16> -> tensor<8x128xbf16>, tensor<8x128xbf16>, tensor<8x128xbf16>
    %m = tile.map %a, %b, %c : tensor<8x128xbf16>, tensor<8x128xbf16>, tensor<8x128xbf16> -> tensor<8x128xbf16> {
    ^bb0(%p: bf16, %q: bf16, %r: bf16):
      %n = arith.maximumf %p, %q : bf16
      %o = arith.maximumf %n, %r : bf16
      tile.yield %o : bf16
    }
    tile.store %m, %y[%i, %j] : tensor<8x128xbf16>, !tile.view<64x128xbf16>
  }
}
