// RUN: irc-opt %s -p assign-layouts | filecheck %s

// The buffer is contiguous along K (dimension 0 of the right operand), in rows of 128 bytes. Four threads lie along K; a
// thread reads 4 columns at a time in 16 rows, and writes 16 rows at a time.
// CHECK:       [[TURNING:#frag[0-9]*]] = #tile.fragment<((4,8,2,2),(4,16)):((16,512,64,4096),(128,1))>
// CHECK-LABEL: @i8
// CHECK:         tile.load %w{{.*}} -> tensor<128x64xi8, [[TURNING]]>
// CHECK:         tile.write

tile.program @i8(%x: !tile.view<64x256xi8>, %w: !tile.view<256x64xi8>, %y: !tile.view<64x64xi32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0 : i32
  %s = tile.splat %zero : i32 -> tensor<64x64xi32>
  %a = tile.alloc : !tile.buffer<64x128xi8>
  %b = tile.alloc : !tile.buffer<128x64xi8>
  %p = scf.for %k = %c0 to %c256 step %c128 iter_args(%acc = %s) -> (tensor<64x64xi32>) {
    %b_1 = tile.load %w[%k, %c0] : !tile.view<256x64xi8> -> tensor<128x64xi8>
    tile.copy %x[%c0, %k] -> %a {via = "tma"} : !tile.view<64x256xi8> -> !tile.buffer<64x128xi8>
    tile.write %b_1, %b : tensor<128x64xi8>, !tile.buffer<128x64xi8>
    %d = tile.dot %a, %b, %acc : !tile.buffer<64x128xi8>, !tile.buffer<128x64xi8>, tensor<64x64xi32> -> tensor<64x64xi32>
    scf.yield %d : tensor<64x64xi32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xi32>, !tile.view<64x64xi32>
}
