// RUN: irc-opt %s --arch sm_80 -p place-operands,assign-layouts,make-channels,schedule-loops,expand-schedule | filecheck %s

// The bounds of the loop depend on the tile, which may have no step at all: the loop, and what is filled ahead of it, are
// in a branch that runs where it has one. Bounds may be negative.
// CHECK:       tile.for_tiles
// CHECK:         [[RUNS:%[0-9]+]] = arith.cmpi slt, %c0, %end : index
// CHECK-NEXT:    [[SUM:%sum[_0-9]*]] = scf.if [[RUNS]]
// CHECK:           tile.acquire
// CHECK:           tile.load %w
// CHECK:           tile.commit
// CHECK:           scf.for %k = %c0 to %end
// CHECK:             arith.cmpi slt, {{%[0-9]+}}, %end : index
// CHECK-NOT:         scf.if
// CHECK:             tile.load %w
// CHECK:             tile.dot
// CHECK:           tile.skip
// CHECK:           scf.yield
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %z
// CHECK:         tile.convert [[SUM]]
tile.program @staged(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x63xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [4] steps [1] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 32 : index
    %end = arith.muli %i, %ck : index
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> tensor<64x64xf32>
    %sum = scf.for %k = %c0 to %end step %ck iter_args(%acc = %z) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x32xbf16>
      %b = tile.load %w[%k, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16>
      %next = tile.dot %a, %b, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.store %sum, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}
