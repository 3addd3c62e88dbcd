// RUN: irc-opt %s -p lower-to-cuda | filecheck %s

// A tile whose rows all come before the end is stored without tests; of another one, each row is compared with it.
// CHECK-LABEL:  cuda.kernel @ended
// CHECK:          [[WHOLE:%.*]] = arith.cmpi sle, %{{.*}}, %end
// CHECK:          scf.if [[WHOLE]] {
// CHECK-NOT:        scf.if
// CHECK:            cuda.store {{.*}} {count = 4 : i64}
// CHECK:          } else {
// CHECK:            [[ROW:%.*]] = arith.cmpi slt, %{{.*}}, %end
// CHECK:            scf.if [[ROW]] {
// CHECK-NEXT:         cuda.store {{.*}} {count = 4 : i64}
#frag = #tile.fragment<((32,8),(4,4)):((128,1),(32,8))>
builtin.module attributes {irc.target = "sm_90a"} {
  tile.program @ended(%x: !tile.view<64x128xf32>, %e: !tile.view<1xi32>, %y: !tile.view<64x128xf32>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, grid = 2 : i64, config = #kernel.config<warps = 8>} {
    %block = cuda.block_id
    %c5 = arith.constant 5 : index
    %c0 = arith.constant 0 : index
    %i = arith.shli %block, %c5 : index
    %end = tile.load_index %e[%c0] {most = 64 : i64} : !tile.view<1xi32>
    %a = tile.load %x[%i, %c0] : !tile.view<64x128xf32> -> tensor<32x128xf32, #frag>
    tile.store %a, %y[%i, %c0] end %end {end_dim = 0 : i64} : tensor<32x128xf32, #frag>, !tile.view<64x128xf32>
  }
}
