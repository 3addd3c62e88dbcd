// RUN: irc-opt %s -p lower-to-cuda --split-input-file | filecheck %s

// CHECK-LABEL:  cuda.kernel @odd
// CHECK:          cuda.shared_access "read"
// CHECK:          cuda.shared_load_across
// CHECK:          cuda.shared_load {{.*}} : !cuda.registers<8 x i8>
// CHECK:          cuda.store {{.*}} {count = 16 : i64}
// CHECK:            cuda.store {{.*}} {count = 16 : i64}
// CHECK-NEXT:     } else {
// CHECK:            scf.for
// CHECK:              cuda.store {{.*}} : !cuda.registers<64 x i8> -> !cuda.ptr<i8>
// CHECK:          cuda.store {{.*}} : !cuda.registers<8 x i8> -> !cuda.ptr<i8>
// CHECK:          cuda.store {{.*}} : !cuda.registers<8 x i8> -> !cuda.ptr<i8>
// CHECK-NOT:      cuda.store

// Rows of 953 bytes begin anywhere in a word: words of 16 bytes are put together from two of shared memory, those that
// the tile or the view ends in are left out or stored byte by byte, and so are the ends of rows.
#frag = #tile.fragment<((8,32),(16,4)):((16,512),(1,128))>
#shared = #tile.shared<(128,128):(128,1) swizzle(3,4,7)>
#frag1 = #tile.fragment<((8,32),(16,4)):((2048,1),(128,32))>
tile.program @odd(%x: !tile.view<953x4096xi8>, %y: !tile.view<4096x953xi8>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, grid = 256 : i64, config = #kernel.config<warps = 8>} {
  %block = cuda.block_id
  %c7 = arith.constant 7 : index
  %andi = arith.andi %block, %c7 : index
  %c3 = arith.constant 3 : index
  %shrui = arith.shrui %block, %c3 : index
  %i = arith.shli %shrui, %c7 : index
  %j = arith.shli %andi, %c7 : index
  %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0>} : !tile.view<953x4096xi8> -> tensor<128x128xi8, #frag>
  %convert = tile.convert %a {through = #shared} : tensor<128x128xi8, #frag> -> tensor<128x128xi8, #frag1>
  tile.store %convert, %y[%i, %j] {checked = array<i64: 1>} : tensor<128x128xi8, #frag1>, !tile.view<4096x953xi8>
}

// -----

// CHECK-LABEL:  cuda.kernel @even
// CHECK-NOT:      cuda.shared_load_across

// Rows of whole words are stored from registers.
#frag = #tile.fragment<((8,32),(16,4)):((16,128),(1,4096))>
#shared = #tile.shared<(128,128):(1,128) swizzle(3,4,7)>
#frag1 = #tile.fragment<((8,32),(16,4)):((2048,4),(128,1))>
tile.program @even(%x: !tile.view<960x4096xi8>, %y: !tile.view<4096x960xi8>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, grid = 256 : i64, config = #kernel.config<warps = 8>} {
  %block = cuda.block_id
  %c7 = arith.constant 7 : index
  %andi = arith.andi %block, %c7 : index
  %c3 = arith.constant 3 : index
  %shrui = arith.shrui %block, %c3 : index
  %i = arith.shli %shrui, %c7 : index
  %j = arith.shli %andi, %c7 : index
  %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0>} : !tile.view<960x4096xi8> -> tensor<128x128xi8, #frag>
  %convert = tile.convert %a {through = #shared} : tensor<128x128xi8, #frag> -> tensor<128x128xi8, #frag1>
  tile.store %convert, %y[%i, %j] {checked = array<i64: 1>} : tensor<128x128xi8, #frag1>, !tile.view<4096x960xi8>
}
