// RUN: irc-opt %s -p lower-to-cuda | filecheck %s
// RUN: irc-opt %s -p lower-to-cuda -t cuda | filecheck %s --check-prefix=SOURCE

// A thread votes for the rows that it has, and its warp takes the branch together.
// CHECK:       cuda.kernel @votes
// CHECK:         scf.for
// CHECK:         arith.cmpf
// CHECK:         [[OR:%[a-z0-9_]+]] = arith.ori %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : i1
// CHECK-NEXT:    [[ANY:%[a-z0-9_]+]] = cuda.any [[OR]]
// CHECK:         scf.if [[ANY]]
// CHECK:           arith.mulf
// CHECK:         } else {
// CHECK-NOT:       arith.mulf
// CHECK:         cuda.return

// SOURCE: __any_sync(0xffffffffu, {{v_[0-9]+}})

#frag = #tile.fragment<((4,32),(2,2)):((64,1),(32,256))>
#frag1 = #tile.fragment<((4,32),(2)):((0,1),(32))>
tile.program @votes(%x: !tile.view<64x8xf32>, %f: !tile.view<64xf32>, %y: !tile.view<64x8xf32>) {results = 1 : i64, threads = 128 : i64, shared = 0 : i64, grid = 1 : i64} {
  %block = cuda.block_id
  %c6 = arith.constant 6 : index
  %i = arith.shli %block, %c6 : index
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] : !tile.view<64x8xf32> -> tensor<64x8xf32, #frag>
  %b = tile.load %f[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<64xf32> -> tensor<64x1xf32, #frag1>
  %other = tile.map %b : tensor<64x1xf32, #frag1> -> tensor<64x1xi1, #frag1> {
  ^bb0(%s: f32):
    %one = arith.constant 1.000000e+00 : f32
    %is = arith.cmpf one, %s, %one : f32
    tile.yield %is : i1
  }
  %any = tile.any %other : tensor<64x1xi1, #frag1> -> i1
  %c = scf.if %any -> (tensor<64x8xf32, #frag>) {
    %d = tile.map %a, %b : tensor<64x8xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x8xf32, #frag> {
    ^bb0(%s_1: f32, %t: f32):
      %p = arith.mulf %s_1, %t : f32
      tile.yield %p : f32
    }
    scf.yield %d : tensor<64x8xf32, #frag>
  } else {
    scf.yield %a : tensor<64x8xf32, #frag>
  }
  tile.store %c, %y[%i, %c0] : tensor<64x8xf32, #frag>, !tile.view<64x8xf32>
}
