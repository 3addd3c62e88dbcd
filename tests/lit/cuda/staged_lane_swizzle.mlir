// RUN: irc-opt %s -p lower-to-cuda | filecheck %s

// The lanes of the second 8 of each 16 begin with the second half of their runs: bit 3 of a lane's number XORs 2 into the positions that it takes, and
// the halves change places in its registers.
// CHECK-LABEL:  cuda.kernel @odd
// CHECK:          cuda.shared_access "read"
// CHECK:          [[HELD:%.*]] = cuda.registers : !cuda.registers<4 x f32>
// CHECK:          scf.for [[N:%n]] =
// CHECK:            [[BIT:%.*]] = arith.andi {{.*}}
// CHECK-NEXT:       [[MOVED:%.*]] = arith.shli [[BIT]], {{.*}}
// CHECK-NEXT:       arith.xori [[N]], [[MOVED]] : index
// CHECK:            cuda.shared_load {{.*}} -> [[HELD]][[[N]]]
// CHECK:          [[SWAPS:%.*]] = arith.cmpi ne
// CHECK:          [[A:%.*]] = cuda.get [[HELD]]
// CHECK-NEXT:     [[B:%.*]] = cuda.get [[HELD]]
// CHECK-NEXT:     arith.select [[SWAPS]], [[B]], [[A]] : f32
// CHECK:          arith.select [[SWAPS]], [[A]], [[B]] : f32
// CHECK-COUNT-2:  arith.select [[SWAPS]]
// CHECK:          cuda.store [[HELD]]{{.*}} {count = 4 : i64}

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
  %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> ((d1 + ((d0 mod 4) * -1)), d0)>, checked = array<i64: 0, 1>, through = #shared, lane_swizzle = array<i64: 0, 0, 0, 2, 0>} : !tile.view<1021x523xf32> -> tensor<64x64xf32, #frag>
  tile.store %a, %y[%i, %j] {map = affine_map<(d0, d1) -> (d0, (d1 + ((d0 mod 4) * -1)))>, checked = array<i64: 0, 1>} : tensor<64x64xf32, #frag>, !tile.view<523x1021xf32>
}
