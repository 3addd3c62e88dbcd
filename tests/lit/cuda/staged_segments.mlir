// RUN: irc-opt %s -p lower-to-cuda | filecheck %s

// CHECK-LABEL:  cuda.kernel @bytes
// CHECK:          cuda.load {{.*}} {count = 16 : i64, cache = "read_only"}
// CHECK:          cuda.shared_access "read"
// CHECK:          scf.for %v1
// CHECK:            arith.divui
// CHECK:            arith.remui
// CHECK:            arith.remui
// CHECK:            [[END:%.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK:            arith.divui
// CHECK:            arith.remui
// CHECK-NOT:        arith.{{divui|remui}}
// CHECK:            arith.cmpi sle, [[END]], %{{.*}} : index
// CHECK-NEXT:       arith.select
// CHECK:            scf.if
// CHECK:              cuda.shared_load
// CHECK:              cuda.store {{.*}} {count = 16 : i64, cache = "write_back"}
// The first 31 elements of a row of tiles can be before the rows of the result.
// CHECK:          [[BEFORE:%.*]] = arith.constant 31 : index
// CHECK-NEXT:     [[FIRST:%.*]] = arith.cmpi slt, %{{.*}}, [[BEFORE]] : index
// CHECK-NEXT:     scf.if [[FIRST]]
// CHECK:            cuda.shared_load
// CHECK:            cuda.store {{.*}} : !cuda.registers<16 x i8> -> !cuda.ptr<i8>
// CHECK:          scf.if
// CHECK:            cuda.shared_load
// CHECK:            cuda.store {{.*}} : !cuda.registers<16 x i8> -> !cuda.ptr<i8>

// Bytes of rows (a, b) of 17 x 17: a run of 16 of them is two segments at most, each at equal distances of 147 in shared memory, which are those of memory,
// 291, but for words of 16. So a run takes two divisions and two remainders, and one more remainder to know where its first segment ends. Where all 16 are in
// the result they are stored together; the ends of rows are stored by threads of their own.
#shared = #tile.shared<(17,17,128):(2499,147,1)>
#frag = #tile.fragment<((8,32),(16,4)):((2048,1),(128,32))>
tile.program @bytes(%x: !tile.view<17x17x291xi8>, %y: !tile.view<291x289xi8>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, grid = 9 : i64, config = #kernel.config<warps = 8>} {
  %block = cuda.block_id
  %c3 = arith.constant 3 : index
  %remui = arith.remui %block, %c3 : index
  %divui = arith.divui %block, %c3 : index
  %c7 = arith.constant 7 : index
  %i = arith.shli %divui, %c7 : index
  %j = arith.shli %remui, %c7 : index
  %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (((d1 + ((d0 mod 32) * -1)) floordiv 17), ((d1 + ((d0 mod 32) * -1)) mod 17), d0)>, checked = array<i64: 0, 2>, through = #shared} : !tile.view<17x17x291xi8> -> tensor<128x128xi8, #frag>
  tile.store %a, %y[%i, %j] {map = affine_map<(d0, d1) -> (d0, (d1 + ((d0 mod 32) * -1)))>, checked = array<i64: 0, 1>} : tensor<128x128xi8, #frag>, !tile.view<291x289xi8>
}
