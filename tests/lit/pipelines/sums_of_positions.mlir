// Positions of a tile's columns are counted anew from where a slice begins, where threads hold other ones of the slice
// than of the whole: they are computed, so that none is moved between threads.
// RUN: irc-opt %s -p tile | filecheck %s
// RUN: irc-run %s --arch sm_80 --target sim --check

// CHECK:       [[PART:#frag[0-9]*]] = #tile.fragment<((4,8,4,2),(2,2)):((2,0,0,8),(1,16))>
// CHECK:       scf.for %column
// CHECK:       tile.store
// CHECK:       [[AT:%[0-9]+]] = arith.addi %{{[0-9]+}}, %column : index
// CHECK-NEXT:  tile.iota [[AT]] {axis = 1 : i64} : tensor<1x32xindex, [[PART]]>
// CHECK-NOT:   tile.slice {{.*}} : tensor<1x256xindex
builtin.module attributes {irc.target = "sm_80", irc.after = "split-reductions"} {
  func.func @f(%q: tensor<2x64x64xbf16>, %k: tensor<2x256x64xbf16>) -> (tensor<2x64x256xbf16>, tensor<2x64x256xf32>) {
    %0, %1 = kernel.fused @f_0 matmul config<tile = {m = 64, n = 256, k = 32}, stages = 2, cluster = [1, 1], warps = 8, schedule = "grid", group = 8, indexing = "pointers", instruction = "mma"> (%q_1 = %q : tensor<2x64x64xbf16>, %k_1 = %k : tensor<2x256x64xbf16>) -> (tensor<2x64x256xbf16>, tensor<2x64x256xf32>) {
      // core
      %2 = nd.matmul %q_1, %k_1 {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<2x64x64xbf16>, tensor<2x256x64xbf16>) -> tensor<2x64x256xf32>
      // epilogue
      %3 = nd.constant 0.125 {nd.repeated} : tensor<2x64x256xf32>
      %s = nd.mul %2, %3 : tensor<2x64x256xf32>
      %4 = nd.iota {axis = 2, nd.repeated} : tensor<2x64x256xi32>
      %5 = nd.iota {axis = 1, nd.repeated} : tensor<2x64x256xi32>
      %6 = nd.less_equal %4, %5 {nd.repeated} : tensor<2x64x256xi32> -> tensor<2x64x256xi1>
      %7 = nd.constant -inf {nd.repeated} : tensor<2x64x256xf32>
      %t = nd.where %6, %s, %7 : (tensor<2x64x256xi1>, tensor<2x64x256xf32>, tensor<2x64x256xf32>) -> tensor<2x64x256xf32>
      %8 = nd.max %t {axes = [2]} : tensor<2x64x256xf32> -> tensor<2x64xf32>
      %9 = nd.broadcast %8 {dims = [0, 1]} : tensor<2x64xf32> -> tensor<2x64x256xf32>
      %10 = nd.sub %t, %9 : tensor<2x64x256xf32>
      %11 = nd.exp %10 : tensor<2x64x256xf32>
      %12 = nd.sum %11 {axes = [2]} : tensor<2x64x256xf32> -> tensor<2x64xf32>
      %13 = nd.broadcast %12 {dims = [0, 1]} : tensor<2x64xf32> -> tensor<2x64x256xf32>
      %14 = nd.div %11, %13 : tensor<2x64x256xf32>
      %15 = nd.cast %14 : tensor<2x64x256xf32> -> tensor<2x64x256xbf16>
      %16 = nd.log %12 : tensor<2x64xf32>
      %17 = nd.add %8, %16 : tensor<2x64xf32>
      %18 = nd.broadcast %17 {dims = [0, 1]} : tensor<2x64xf32> -> tensor<2x64x256xf32>
      %19 = nd.sub %t, %18 : tensor<2x64x256xf32>
      %20 = nd.exp %19 : tensor<2x64x256xf32>
      kernel.yield %15, %20 : tensor<2x64x256xbf16>, tensor<2x64x256xf32>
    }
    func.return %0, %1 : tensor<2x64x256xbf16>, tensor<2x64x256xf32>
  }
}
