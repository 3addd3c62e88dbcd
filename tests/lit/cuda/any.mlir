// RUN: irc-opt %s -p plan-shared,lower-schedule,lower-to-cuda | filecheck %s
// RUN: irc-opt %s -p plan-shared,lower-schedule,lower-to-cuda -t cuda | filecheck %s --check-prefix=SOURCE

#rows = #tile.fragment<((4,32),(2)):((0,1),(32))>
#tile = #tile.fragment<((4,32),(2,2)):((64,1),(32,256))>

// A thread votes for the rows that it has, and its warp takes the branch together.
// CHECK:       cuda.kernel @votes
// CHECK:         scf.for
// CHECK:         arith.cmpf
// CHECK:         [[OR:%[0-9]+]] = arith.ori %{{[0-9]+}}, %{{[0-9]+}} : i1
// CHECK-NEXT:    [[ANY:%[0-9]+]] = cuda.any [[OR]]
// CHECK:         scf.if [[ANY]]
// CHECK:           arith.mulf
// CHECK:         } else {
// CHECK-NOT:       arith.mulf
// CHECK:         cuda.return

// SOURCE: __any_sync(0xffffffffu, {{v_[0-9]+}})
tile.program @votes(%x: !tile.view<64x8xf32>, %f: !tile.view<64xf32>, %y: !tile.view<64x8xf32>) {results = 1 : i64, threads = 128 : i64} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%i, %c0] : !tile.view<64x8xf32> -> tensor<64x8xf32, #tile>
    %b = tile.load %f[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<64xf32> -> tensor<64x1xf32, #rows>
    %other = tile.map %b : tensor<64x1xf32, #rows> -> tensor<64x1xi1, #rows> {
    ^bb0(%s: f32):
      %one = arith.constant 1.0 : f32
      %is = arith.cmpf one, %s, %one : f32
      tile.yield %is : i1
    }
    %any = tile.any %other : tensor<64x1xi1, #rows> -> i1
    %c = scf.if %any -> (tensor<64x8xf32, #tile>) {
      %d = tile.map %a, %b : tensor<64x8xf32, #tile>, tensor<64x1xf32, #rows> -> tensor<64x8xf32, #tile> {
      ^bb0(%s: f32, %t: f32):
        %p = arith.mulf %s, %t : f32
        tile.yield %p : f32
      }
      scf.yield %d : tensor<64x8xf32, #tile>
    } else {
      scf.yield %a : tensor<64x8xf32, #tile>
    }
    tile.store %c, %y[%i, %c0] : tensor<64x8xf32, #tile>, !tile.view<64x8xf32>
  }
}
