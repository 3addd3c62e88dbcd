// RUN: irc-opt %s -p assign-layouts | filecheck %s

// ldmatrix reads 8 rows of 16 bytes at a time. The right operand is written in rows along N, and 8 rows of it lie one below
// the other in all 8 units of 16 bytes of the banks.
// CHECK:       [[LEFT:#shared[0-9]*]] = #tile.shared<(64,80):(80,1) swizzle(1,3,3)>
// CHECK:       [[RIGHT:#shared[0-9]*]] = #tile.shared<(80,128):(128,1) swizzle(3,3,4)>
// CHECK-LABEL: @across_k
// CHECK:         tile.alloc : !tile.buffer<64x80xbf16, [[LEFT]]>
// CHECK:         tile.alloc : !tile.buffer<80x128xbf16, [[RIGHT]]>
tile.program @across_k(%x: !tile.view<64x80xbf16>, %w: !tile.view<80x128xbf16>, %y: !tile.view<64x128xf32>) {results = 1 : i64, config = #kernel.config<warps = 4, instruction = "mma">} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %blank = tile.splat %zero : f32 -> tensor<64x128xf32>
    %a = tile.load %x[%i, %c0] : !tile.view<64x80xbf16> -> tensor<64x80xbf16>
    %b = tile.load %w[%c0, %c0] : !tile.view<80x128xbf16> -> tensor<80x128xbf16>
    %a_shared = tile.alloc : !tile.buffer<64x80xbf16>
    tile.write %a, %a_shared : tensor<64x80xbf16>, !tile.buffer<64x80xbf16>
    %b_shared = tile.alloc : !tile.buffer<80x128xbf16>
    tile.write %b, %b_shared : tensor<80x128xbf16>, !tile.buffer<80x128xbf16>
    %sum = tile.dot %a_shared, %b_shared, %blank : !tile.buffer<64x80xbf16>, !tile.buffer<80x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
    tile.store %sum, %y[%i, %c0] : tensor<64x128xf32>, !tile.view<64x128xf32>
  }
}
