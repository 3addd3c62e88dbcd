// RUN: irc-opt %s -p lower-to-cuda | filecheck %s
// RUN: irc-opt %s -p lower-to-cuda --arch sm_80 | filecheck %s --check-prefix=WORDS

// The fragment of a product goes to shared memory as matrices, of which each lane has the address of a row; before
// sm_90 in words.
#frag = #tile.fragment<((4,8,4),(2,2,4)):((128,1,16),(64,8,512))>
#rows = #tile.fragment<((4,8,4),(8,2)):((512,1,16),(64,8))>
#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>

// CHECK-LABEL:  cuda.kernel @f
// CHECK:          cuda.shared_access "write" {{.*}} {bytes = 4096 : i64, each_warp = 0 : i64}
// CHECK:          cuda.stmatrix %a
// CHECK-NOT:      cuda.shared_store
// CHECK:          cuda.shared_access "read" {{.*}} {bytes = 4096 : i64, each_warp = 0 : i64}
// CHECK:          cuda.shared_load {{.*}}count = 8
// WORDS-NOT:    cuda.stmatrix
// WORDS:          cuda.shared_store {{.*}}count = 2
tile.program @f(%x: !tile.view<64x32xbf16>, %y: !tile.view<64x32xbf16>) {results = 1 : i64, threads = 128 : i64, shared = 0 : i64} {
  %zero = arith.constant 0 : index
  %a = tile.load %x[%zero, %zero] : !tile.view<64x32xbf16> -> tensor<64x32xbf16, #frag>
  %b = tile.convert %a {through = #shared} : tensor<64x32xbf16, #frag> -> tensor<64x32xbf16, #rows>
  tile.store %b, %y[%zero, %zero] : tensor<64x32xbf16, #rows>, !tile.view<64x32xbf16>
}
