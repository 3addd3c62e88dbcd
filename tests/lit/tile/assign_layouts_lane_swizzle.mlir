// RUN: irc-opt %s -p assign-layouts | filecheck %s
// RUN: irc-opt %s -p 'assign-layouts{explain=true}' 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// Rows of 65 and of 17 x 33 elements begin anywhere. 16 lanes store 16 bytes each of a row of the result, two lanes have neighbors of the operand: their first
// elements lie in 8 banks, four words in each. Lanes with two bits of their numbers begin at four positions, in all banks.
// CHECK:      tile.load %x[%i, %j] {{.*}} through = #shared, lane_swizzle = array<i64: 0, 0, 0, 4, 2>}
// WHY:        1.
// WHY-NEXT:   load %x through {{.*}} by 1 x 2 B swizzled by lane 0,0,0,4,2
tile.program @odd(%x: !tile.view<17x33x65xbf16>, %y: !tile.view<65x561xbf16>) {results = 1 : i64, threads = 256 : i64} {
  tile.for_tiles (%i, %j) extents [65, 576] steps [128, 128] {
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (((((d0 mod 16) * -1) + d1) mod 17), ((((d0 mod 16) * -1) + d1) floordiv 17), d0)>, checked = array<i64: 1, 2>} : !tile.view<17x33x65xbf16> -> tensor<128x128xbf16>
    tile.store %a, %y[%i, %j] {map = affine_map<(d0, d1) -> (d0, (((d0 mod 16) * -1) + d1))>, checked = array<i64: 0, 1>} : tensor<128x128xbf16>, !tile.view<65x561xbf16>
  }
}

// Rows that begin with words need no swizzle.
// CHECK-LABEL: @even
// CHECK-NOT:   lane_swizzle
tile.program @even(%x: !tile.view<256x256xbf16>, %y: !tile.view<256x256xbf16, strides [1, 256]>) {results = 1 : i64, threads = 256 : i64} {
  tile.for_tiles (%i, %j) extents [256, 256] steps [128, 128] {
    %a = tile.load %x[%i, %j] : !tile.view<256x256xbf16> -> tensor<128x128xbf16>
    tile.store %a, %y[%i, %j] : tensor<128x128xbf16>, !tile.view<256x256xbf16, strides [1, 256]>
  }
}
