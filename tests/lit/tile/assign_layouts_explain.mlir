// RUN: irc-opt %s -p 'assign-layouts{explain=true}' 2>&1 >/dev/null | filecheck %s
// RUN: irc-opt %s -p assign-layouts 2>&1 | filecheck %s --check-prefix=QUIET

// QUIET-NOT: candidates

// The candidates, the best first; under each how every access is made. 8 x 8 elements of bf16 a thread, packed on the way:
// 16-byte accesses to memory and to shared memory, every sector and line touched once, no conflicts.
// CHECK:      halves: tile 128x128 over 256 threads, {{[0-9]+}} candidates
// CHECK-NEXT: cycles  in registers  registers  copies   vector  requests    sectors    lines  wavefronts
// CHECK-NEXT: 1. {{.*}} 0% {{.*}}((16,16),(8,8)):((1024,1),(128,16))
// CHECK-NEXT: 8 x 2 B        64  1024/1024  256/256 {{.*}} load %x
// CHECK-NEXT: 8 x 2 B        64  1024/1024  256/256     512/512  store %y in ((16,16),(8,8)):((8,1024),(1,128)) through (128,128):(128,1) swizzle(3,3,7) by 8 x 2 B and 8 x 2 B
// CHECK-NEXT: 2.
// CHECK:      5.
// CHECK-NOT:  6.
tile.program @halves(%x: !tile.view<4096x1024xbf16>, %y: !tile.view<4096x1024xbf16, strides [1, 4096]>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4096, 1024] steps [128, 128] {
    %a = tile.load %x[%i, %j] : !tile.view<4096x1024xbf16> -> tensor<128x128xbf16>
    tile.store %a, %y[%i, %j] : tensor<128x128xbf16>, !tile.view<4096x1024xbf16, strides [1, 4096]>
  }
}

// Elements of four bytes: 4 x 4 a thread, nothing to pack.
// CHECK-LABEL: words: tile 64x64 over 256 threads
// CHECK:       1. {{.*}} 0%
// CHECK-NEXT:  4 x 4 B        32  512/512  128/128 {{.*}} load %x
// CHECK-NEXT:  4 x 4 B        32  512/512  128/128     256/256  store %y {{.*}} by 4 x 4 B and 4 x 4 B
tile.program @words(%x: !tile.view<4096x1024xf32>, %y: !tile.view<4096x1024xf32, strides [1, 4096]>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4096, 1024] steps [64, 64] {
    %a = tile.load %x[%i, %j] : !tile.view<4096x1024xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] : tensor<64x64xf32>, !tile.view<4096x1024xf32, strides [1, 4096]>
  }
}

// Bytes: 16 of one row on either side of memory.
// CHECK-LABEL: bytes: tile 128x128 over 256 threads
// CHECK:       1. {{.*}} 0%
// CHECK-NEXT:  16 x 1 B        32  512/512  128/128 {{.*}} load %x
// CHECK-NEXT:  16 x 1 B        32  512/512  128/128     256/256  store %y {{.*}} swizzle(
tile.program @bytes(%x: !tile.view<4096x1024xi8>, %y: !tile.view<4096x1024xi8, strides [1, 4096]>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [4096, 1024] steps [128, 128] {
    %a = tile.load %x[%i, %j] : !tile.view<4096x1024xi8> -> tensor<128x128xi8>
    tile.store %a, %y[%i, %j] : tensor<128x128xi8>, !tile.view<4096x1024xi8, strides [1, 4096]>
  }
}

// A map of two widths: each thread holds the vector of the wide one, so that every access makes whole lines.
// CHECK-LABEL: mixed: tile 2048 over 256 threads
// CHECK:       1. {{.*}} 0% {{.*}}((256),(4,2)):((4),(1,1024))
// CHECK-NEXT:  4 x 2 B {{ *}}16 {{ *}}128/128 {{ *}}32/32 {{ *}}load %x
// CHECK-NEXT:  4 x 4 B {{ *}}16 {{ *}}256/256 {{ *}}64/64 {{ *}}store %y
tile.program @mixed(%x: !tile.view<65536xbf16>, %y: !tile.view<65536xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [65536] steps [2048] {
    %a = tile.load %x[%i] : !tile.view<65536xbf16> -> tensor<2048xbf16>
    %b = tile.map %a : tensor<2048xbf16> -> tensor<2048xf32> {
    ^bb0(%0: bf16):
      %1 = arith.extf %0 : bf16 to f32
      tile.yield %1 : f32
    }
    tile.store %b, %y[%i] : tensor<2048xf32>, !tile.view<65536xf32>
  }
}

// Columns: eight lanes make a line of a row, where memory is contiguous; the others and some warps share the reduction.
// CHECK-LABEL: columns: tile 64x128 over 256 threads
// CHECK:       1. {{.*}} 0% {{.*}}((8,4,4,2),(4,8)):((256,1,2048,4),(64,8))
// CHECK-NEXT:  4 x 4 B {{.*}} load %x
// A row for each warp: nothing meets in shared memory.
// CHECK-LABEL: rows: tile 8x256 over 256 threads
// CHECK:       1. {{.*}} 0% {{.*}}((32,8),(4,2)):((32,1),(8,1024))
// CHECK-NEXT:  4 x 4 B {{.*}} load %x
tile.program @columns(%x: !tile.view<64x1024xf32>, %y: !tile.view<1x1024xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 1024] steps [64, 128] {
    %a = tile.load %x[%i, %j] : !tile.view<64x1024xf32> -> tensor<64x128xf32>
    %b = tile.reduce %a {axes = array<i64: 0>} : tensor<64x128xf32> -> tensor<1x128xf32> {
    ^bb0(%0: f32, %1: f32):
      %2 = arith.addf %0, %1 : f32
      tile.yield %2 : f32
    }
    tile.store %b, %y[%i, %j] : tensor<1x128xf32>, !tile.view<1x1024xf32>
  }
}
tile.program @rows(%x: !tile.view<1024x256xf32>, %y: !tile.view<1024x1xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [1024, 256] steps [8, 256] {
    %a = tile.load %x[%i, %j] : !tile.view<1024x256xf32> -> tensor<8x256xf32>
    %b = tile.reduce %a {axes = array<i64: 1>} : tensor<8x256xf32> -> tensor<8x1xf32> {
    ^bb0(%0: f32, %1: f32):
      %2 = arith.addf %0, %1 : f32
      tile.yield %2 : f32
    }
    tile.store %b, %y[%i, %j] : tensor<8x1xf32>, !tile.view<1024x1xf32>
  }
}
