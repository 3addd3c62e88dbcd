// RUN: irc-opt %s -p lower-to-cuda | filecheck %s

// CHECK-LABEL:  cuda.kernel @odd
// CHECK:          cuda.registers : !cuda.registers<20 x f32>
// CHECK:          cuda.load {{.*}} {count = 4 : i64, cache = "read_only"}
// CHECK:          cuda.shared_store {{.*}} {count = 4 : i64}
// The last word of the view has one element, which few tiles reach.
// CHECK:          cuda.load {{.*}} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
// CHECK:          cuda.shared_store {{.*}} : !cuda.registers<1 x f32>
// CHECK:          cuda.shared_access "read"
// CHECK:          cuda.shared_load {{.*}} : !cuda.registers<4 x f32>
// CHECK:          cuda.store {{.*}} {count = 4 : i64}
// CHECK-NOT:      cuda.shared_access

// Rows of 523 begin anywhere: the words of memory that hold those of a tile go to shared memory as they are (17 for a row, 67 rows for tiles
// that begin where words of the result do), and each thread takes the elements of its words from there.
#shared = #tile.shared<(67,64):(71,1)>
#frag = #tile.fragment<((16,16),(4,4)):((256,1),(64,16))>
tile.program @odd(%x: !tile.view<1021x523xf32>, %y: !tile.view<523x1021xf32>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, grid = 144 : i64, config = #kernel.config<warps = 8>} {
  %block = cuda.block_id
  %c15 = arith.constant 15 : index
  %andi = arith.andi %block, %c15 : index
  %c4 = arith.constant 4 : index
  %shrui = arith.shrui %block, %c4 : index
  %c6 = arith.constant 6 : index
  %i = arith.shli %shrui, %c6 : index
  %j = arith.shli %andi, %c6 : index
  %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> ((d1 + ((d0 mod 4) * -1)), d0)>, checked = array<i64: 0, 1>, through = #shared} : !tile.view<1021x523xf32> -> tensor<64x64xf32, #frag>
  tile.store %a, %y[%i, %j] {map = affine_map<(d0, d1) -> (d0, (d1 + ((d0 mod 4) * -1)))>, checked = array<i64: 0, 1>} : tensor<64x64xf32, #frag>, !tile.view<523x1021xf32>
}
