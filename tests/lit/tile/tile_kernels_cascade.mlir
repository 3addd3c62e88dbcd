// RUN: irc-opt %s -p tile-kernels | filecheck %s

// Rows of both products: a step computes columns of the scores, brings the maximum and the sum up to date, and rescales
// what was summed relative to the maximum before. Nothing beyond the mask's diagonal is walked over.
// CHECK-LABEL: tile.program @causal_0
// CHECK:         tile.for_tiles (%[[B:.*]], %[[M:.*]]) extents [8, 512] steps [1, 128] {
// CHECK:           %[[LOWEST:.*]] = arith.constant -1.70141173e+38 : f32
// CHECK:           %[[Q:.*]] = tile.load %q[%[[M]], %{{.*}}] symbols(%[[B]] : index)
// CHECK:           %[[END:.*]] = arith.addi %[[M]], %{{.*}} : index
// CHECK:           %[[LAST:.*]] = arith.minsi %[[END]], %{{.*}} : index
// CHECK:           scf.for %[[T:.*]] = %{{.*}} to %[[LAST]] step %{{.*}} iter_args(%[[M0:.*]] = %{{.*}}, %[[L0:.*]] = %{{.*}}, %[[O0:.*]] = %{{.*}})
// CHECK:             %[[K:.*]] = tile.load %k
// CHECK:             %[[S:.*]] = tile.dot %[[Q]], %[[K]], %{{.*}}
// CHECK:             %[[X:.*]] = tile.map {{.*}}%[[S]] : {{.*}} -> tensor<128x128xf32>
// CHECK:               arith.cmpi sle
// CHECK:               arith.select
// CHECK:             %[[R:.*]] = tile.reduce %[[X]]
// CHECK:             %[[M1:.*]] = tile.map %[[M0]], %[[R]]
// CHECK-NEXT:        ^bb0
// CHECK-NEXT:          arith.maximumf
// CHECK:             %[[F:.*]] = tile.map %[[M0]], %[[M1]]
// CHECK:               arith.subf
// CHECK-NEXT:          math.exp {{.*}} fastmath<afn>
// CHECK:             %[[LS:.*]] = tile.map %[[L0]], %[[F]]
// CHECK:             %[[E:.*]] = tile.map %[[X]], %[[M1]]
// CHECK:               math.exp
// CHECK:             %[[P:.*]] = tile.reduce %[[E]]
// CHECK:             %[[L1:.*]] = tile.map %[[LS]], %[[P]]
// CHECK:             %[[OS:.*]] = tile.map %[[O0]], %[[F]]
// CHECK:             %[[W:.*]] = tile.map %[[E]] : tensor<128x128xf32> -> tensor<128x128xbf16>
// CHECK:             %[[V:.*]] = tile.load %v
// CHECK:             %[[O1:.*]] = tile.dot %[[W]], %[[V]], %[[OS]]
// CHECK:             scf.yield %[[M1]], %[[L1]], %[[O1]]
func.func @causal(%q: tensor<2x4x512x64xbf16>, %k: tensor<2x4x512x64xbf16>, %v: tensor<2x4x512x64xbf16>) -> tensor<2x4x512x64xf32> {
  %r = kernel.fused @causal_0 cascade config<tile = {m = 128, k = 128}> (%q_1 = %q : tensor<2x4x512x64xbf16>, %k_1 = %k : tensor<2x4x512x64xbf16>, %v_1 = %v : tensor<2x4x512x64xbf16>) -> tensor<2x4x512x64xf32> {
    %1 = nd.iota {axis = 3} : tensor<2x4x512x512xi32>
    %2 = nd.iota {axis = 2} : tensor<2x4x512x512xi32>
    %3 = nd.less_equal %1, %2 : tensor<2x4x512x512xi32> -> tensor<2x4x512x512xi1>
    %inf = nd.constant -inf : tensor<2x4x512x512xf32>
    %s = nd.matmul %q_1, %k_1 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [3]} : tensor<2x4x512x64xbf16> -> tensor<2x4x512x512xf32>
    %x = nd.where %3, %s, %inf : (tensor<2x4x512x512xi1>, tensor<2x4x512x512xf32>, tensor<2x4x512x512xf32>) -> tensor<2x4x512x512xf32>
    %m = nd.max %x {axes = [3]} : tensor<2x4x512x512xf32> -> tensor<2x4x512xf32>
    %4 = nd.broadcast %m {dims = [0, 1, 2]} : tensor<2x4x512xf32> -> tensor<2x4x512x512xf32>
    %5 = nd.sub %x, %4 : tensor<2x4x512x512xf32>
    %e = nd.exp %5 : tensor<2x4x512x512xf32>
    %p = nd.cast %e : tensor<2x4x512x512xf32> -> tensor<2x4x512x512xbf16>
    %o = nd.matmul %p, %v_1 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<2x4x512x512xbf16>, tensor<2x4x512x64xbf16>) -> tensor<2x4x512x64xf32>
    %l = nd.sum %e {axes = [3]} : tensor<2x4x512x512xf32> -> tensor<2x4x512xf32>
    %6 = nd.broadcast %l {dims = [0, 1, 2]} : tensor<2x4x512xf32> -> tensor<2x4x512x64xf32>
    %y = nd.div %o, %6 : tensor<2x4x512x64xf32>
    kernel.yield %y : tensor<2x4x512x64xf32>
  }
  func.return %r : tensor<2x4x512x64xf32>
}

// A window: steps before the first column that any row of the tile sees are left out too, to a multiple of a step.
// CHECK-LABEL: tile.program @window_0
// CHECK:         tile.for_tiles (%[[M:.*]]) extents [512] steps [64] {
// CHECK:           %[[BACK:.*]] = arith.addi %[[M]], %{{.*}} : index
// CHECK:           %[[BLOCK:.*]] = arith.floordivsi %[[BACK]], %{{.*}} : index
// CHECK-NEXT:      %[[BEGIN:.*]] = arith.muli %[[BLOCK]], %{{.*}} : index
// CHECK-NEXT:      %[[FIRST:.*]] = arith.maxsi %[[BEGIN]], %{{.*}} : index
// CHECK:           %[[LAST:.*]] = arith.minsi
// CHECK:           scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step
func.func @window(%q: tensor<512x64xbf16>, %k: tensor<512x64xbf16>, %v: tensor<512x64xbf16>) -> tensor<512x64xf32> {
  %r = kernel.fused @window_0 cascade config<tile = {m = 64, k = 64}> (%q_1 = %q : tensor<512x64xbf16>, %k_1 = %k : tensor<512x64xbf16>, %v_1 = %v : tensor<512x64xbf16>) -> tensor<512x64xf32> {
    %1 = nd.iota {axis = 1} : tensor<512x512xi32>
    %2 = nd.iota {axis = 0} : tensor<512x512xi32>
    %w = nd.constant 100 : tensor<512x512xi32>
    %3 = nd.less_equal %1, %2 : tensor<512x512xi32> -> tensor<512x512xi1>
    %4 = nd.sub %2, %1 : tensor<512x512xi32>
    %5 = nd.less %4, %w : tensor<512x512xi32> -> tensor<512x512xi1>
    %6 = nd.bitwise_and %3, %5 : tensor<512x512xi1>
    %zero = nd.constant 0.0 : tensor<512x512xf32>
    %s = nd.matmul %q_1, %k_1 {lhs_contract = [1], rhs_contract = [1]} : tensor<512x64xbf16> -> tensor<512x512xf32>
    %x = nd.where %6, %s, %zero : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %p = nd.cast %x : tensor<512x512xf32> -> tensor<512x512xbf16>
    %o = nd.matmul %p, %v_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x64xbf16>) -> tensor<512x64xf32>
    kernel.yield %o : tensor<512x64xf32>
  }
  func.return %r : tensor<512x64xf32>
}

// Beyond the last column: what changes neither a maximum nor a sum.
// CHECK-LABEL: tile.program @tail_0
// CHECK:           tile.splat %{{.*}} -> tensor<64x1xf32>
// CHECK:           scf.for
// CHECK:             %[[S:.*]] = tile.dot
// CHECK:             tile.map {{.*}}%[[S]]
// CHECK:               arith.cmpi slt
// CHECK-NEXT:          arith.select
// CHECK:             tile.reduce
// CHECK:             tile.dot
// CHECK:           tile.store %{{.*}}, %n[{{.*}} : tensor<64x1xf32>
func.func @tail(%q: tensor<512x64xbf16>, %k: tensor<200x64xbf16>, %v: tensor<200x64xbf16>) -> (tensor<512x64xf32>, tensor<512xf32>) {
  %r, %n = kernel.fused @tail_0 cascade config<tile = {m = 64, k = 64}> (%q_1 = %q : tensor<512x64xbf16>, %k_1 = %k : tensor<200x64xbf16>, %v_1 = %v : tensor<200x64xbf16>) -> (tensor<512x64xf32>, tensor<512xf32>) {
    %s = nd.matmul %q_1, %k_1 {lhs_contract = [1], rhs_contract = [1]} : (tensor<512x64xbf16>, tensor<200x64xbf16>) -> tensor<512x200xf32>
    %m = nd.max %s {axes = [1]} : tensor<512x200xf32> -> tensor<512xf32>
    %p = nd.cast %s : tensor<512x200xf32> -> tensor<512x200xbf16>
    %o = nd.matmul %p, %v_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x200xbf16>, tensor<200x64xbf16>) -> tensor<512x64xf32>
    kernel.yield %o, %m : tensor<512x64xf32>, tensor<512xf32>
  }
  func.return %r, %n : tensor<512x64xf32>, tensor<512xf32>
}

// Of numbers that do not fall, the first row of the tile has the smallest, and the last one the largest.
// CHECK-LABEL: tile.program @rows_0
// CHECK:         tile.for_tiles (%[[M:.*]]) extents [512] steps [64]
// CHECK:           %[[ROW:.*]] = arith.minsi %[[M]], %{{.*}} : index
// CHECK:           %[[A:.*]] = tile.load_index %a[%[[ROW]]] {most = 1073741824 : i64, least = -1073741824 : i64} : !tile.view<512xi32>
// CHECK:           %[[BLOCK:.*]] = arith.floordivsi %{{.*}}, %{{.*}} : index
// CHECK-NEXT:      %[[BEGIN:.*]] = arith.muli %[[BLOCK]], %{{.*}} : index
// CHECK-NEXT:      %[[FIRST:.*]] = arith.maxsi %[[BEGIN]]
// CHECK:           %[[AHEAD:.*]] = arith.addi %[[M]], %{{.*}} : index
// CHECK:           %[[OTHER:.*]] = arith.minsi %[[AHEAD]], %{{.*}} : index
// CHECK:           %[[B:.*]] = tile.load_index %b[%[[OTHER]]]
// CHECK:           %[[LAST:.*]] = arith.minsi
// CHECK:           scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step
func.func @rows(%q: tensor<512x64xbf16>, %k: tensor<512x64xbf16>, %v: tensor<512x64xbf16>, %a: tensor<512xi32>, %b: tensor<512xi32>) -> tensor<512x64xf32> {
  %r = kernel.fused @rows_0 cascade config<tile = {m = 64, k = 64}> (%q_1 = %q : tensor<512x64xbf16>, %k_1 = %k : tensor<512x64xbf16>, %v_1 = %v : tensor<512x64xbf16>, %a_1 = %a : tensor<512xi32>, %b_1 = %b : tensor<512xi32>) -> tensor<512x64xf32> {
    %j = nd.iota {axis = 1} : tensor<512x512xi32>
    %1 = nd.ascending %a_1 : tensor<512xi32>
    %2 = nd.broadcast %1 {dims = [0]} : tensor<512xi32> -> tensor<512x512xi32>
    %3 = nd.ascending %b_1 : tensor<512xi32>
    %4 = nd.broadcast %3 {dims = [0]} : tensor<512xi32> -> tensor<512x512xi32>
    %5 = nd.greater_equal %j, %2 : tensor<512x512xi32> -> tensor<512x512xi1>
    %6 = nd.less %j, %4 : tensor<512x512xi32> -> tensor<512x512xi1>
    %7 = nd.bitwise_and %5, %6 : tensor<512x512xi1>
    %zero = nd.constant 0.0 : tensor<512x512xf32>
    %s = nd.matmul %q_1, %k_1 {lhs_contract = [1], rhs_contract = [1]} : tensor<512x64xbf16> -> tensor<512x512xf32>
    %x = nd.where %7, %s, %zero : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %p = nd.cast %x : tensor<512x512xf32> -> tensor<512x512xbf16>
    %o = nd.matmul %p, %v_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x64xbf16>) -> tensor<512x64xf32>
    kernel.yield %o : tensor<512x64xf32>
  }
  func.return %r : tensor<512x64xf32>
}

// Numbers that may fall are compared, and bound nothing.
// CHECK-LABEL: tile.program @falling_0
// CHECK-NOT:       tile.load_index
// CHECK:           scf.for
// CHECK:             tile.load %a
func.func @falling(%q: tensor<512x64xbf16>, %k: tensor<512x64xbf16>, %v: tensor<512x64xbf16>, %a: tensor<512xi32>) -> tensor<512x64xf32> {
  %r = kernel.fused @falling_0 cascade config<tile = {m = 64, k = 64}> (%q_1 = %q : tensor<512x64xbf16>, %k_1 = %k : tensor<512x64xbf16>, %v_1 = %v : tensor<512x64xbf16>, %a_1 = %a : tensor<512xi32>) -> tensor<512x64xf32> {
    %j = nd.iota {axis = 1} : tensor<512x512xi32>
    %2 = nd.broadcast %a_1 {dims = [0]} : tensor<512xi32> -> tensor<512x512xi32>
    %5 = nd.less %j, %2 : tensor<512x512xi32> -> tensor<512x512xi1>
    %zero = nd.constant 0.0 : tensor<512x512xf32>
    %s = nd.matmul %q_1, %k_1 {lhs_contract = [1], rhs_contract = [1]} : tensor<512x64xbf16> -> tensor<512x512xf32>
    %x = nd.where %5, %s, %zero : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %p = nd.cast %x : tensor<512x512xf32> -> tensor<512x512xbf16>
    %o = nd.matmul %p, %v_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x64xbf16>) -> tensor<512x64xf32>
    kernel.yield %o : tensor<512x64xf32>
  }
  func.return %r : tensor<512x64xf32>
}

// A number for all rows bounds columns whatever it is. Numbers of the columns that do not fall are searched for steps:
// how many of 8 begin with one that is small enough has two digits of three bits, the first of one.
// CHECK-LABEL: tile.program @search_0
// CHECK:           %[[N:.*]] = tile.load_index %n
// CHECK-COUNT-8:   tile.load_index %a
// CHECK-NOT:       tile.load_index
// CHECK:           scf.for
func.func @search(%q: tensor<64x64xbf16>, %k: tensor<512x64xbf16>, %v: tensor<512x64xbf16>, %n: tensor<1xi32>, %a: tensor<512xi32>) -> tensor<64x64xf32> {
  %r = kernel.fused @search_0 cascade config<tile = {m = 64, k = 64}> (%q_1 = %q : tensor<64x64xbf16>, %k_1 = %k : tensor<512x64xbf16>, %v_1 = %v : tensor<512x64xbf16>, %n_1 = %n : tensor<1xi32>, %a_1 = %a : tensor<512xi32>) -> tensor<64x64xf32> {
    %1 = nd.ascending %a_1 : tensor<512xi32>
    %2 = nd.broadcast %1 {dims = [1]} : tensor<512xi32> -> tensor<64x512xi32>
    %3 = nd.reshape %n_1 : tensor<1xi32> -> tensor<i32>
    %4 = nd.broadcast %3 {dims = []} : tensor<i32> -> tensor<64x512xi32>
    %5 = nd.less %2, %4 : tensor<64x512xi32> -> tensor<64x512xi1>
    %zero = nd.constant 0.0 : tensor<64x512xf32>
    %s = nd.matmul %q_1, %k_1 {lhs_contract = [1], rhs_contract = [1]} : (tensor<64x64xbf16>, tensor<512x64xbf16>) -> tensor<64x512xf32>
    %x = nd.where %5, %s, %zero : (tensor<64x512xi1>, tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
    %p = nd.cast %x : tensor<64x512xf32> -> tensor<64x512xbf16>
    %o = nd.matmul %p, %v_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x512xbf16>, tensor<512x64xbf16>) -> tensor<64x64xf32>
    kernel.yield %o : tensor<64x64xf32>
  }
  func.return %r : tensor<64x64xf32>
}

// Of documents that a query sees up to itself, those of earlier columns are no later ones: the end of the loop is the
// place of the last row, and how many of 8 steps end in an earlier document is searched for.
// CHECK-LABEL: tile.program @documents_0
// CHECK:         tile.for_tiles (%[[M:.*]]) extents [512] steps [64]
// CHECK:           %[[ROW:.*]] = arith.minsi %[[M]], %{{.*}} : index
// CHECK-NEXT:      tile.load_index %d[%[[ROW]]]
// CHECK-COUNT-8:   tile.load_index %d
// CHECK-NOT:       tile.load_index
// CHECK:           scf.for
func.func @documents(%q: tensor<512x64xbf16>, %k: tensor<512x64xbf16>, %v: tensor<512x64xbf16>, %d: tensor<512xi32>) -> tensor<512x64xf32> {
  %r = kernel.fused @documents_0 cascade config<tile = {m = 64, k = 64}> (%q_1 = %q : tensor<512x64xbf16>, %k_1 = %k : tensor<512x64xbf16>, %v_1 = %v : tensor<512x64xbf16>, %d_1 = %d : tensor<512xi32>) -> tensor<512x64xf32> {
    %1 = nd.ascending %d_1 : tensor<512xi32>
    %2 = nd.broadcast %1 {dims = [0]} : tensor<512xi32> -> tensor<512x512xi32>
    %3 = nd.broadcast %1 {dims = [1]} : tensor<512xi32> -> tensor<512x512xi32>
    %i = nd.iota {axis = 0} : tensor<512x512xi32>
    %j = nd.iota {axis = 1} : tensor<512x512xi32>
    %4 = nd.equal %2, %3 : tensor<512x512xi32> -> tensor<512x512xi1>
    %5 = nd.less_equal %j, %i : tensor<512x512xi32> -> tensor<512x512xi1>
    %6 = nd.bitwise_and %4, %5 : tensor<512x512xi1>
    %zero = nd.constant 0.0 : tensor<512x512xf32>
    %s = nd.matmul %q_1, %k_1 {lhs_contract = [1], rhs_contract = [1]} : tensor<512x64xbf16> -> tensor<512x512xf32>
    %x = nd.where %6, %s, %zero : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %p = nd.cast %x : tensor<512x512xf32> -> tensor<512x512xbf16>
    %o = nd.matmul %p, %v_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x64xbf16>) -> tensor<512x64xf32>
    kernel.yield %o : tensor<512x64xf32>
  }
  func.return %r : tensor<512x64xf32>
}

// Where a query sees what is up to one column later, a later document may be in the loop: both ends are searched for.
// CHECK-LABEL: tile.program @later_0
// CHECK-COUNT-18:  tile.load_index %d
// CHECK-NOT:       tile.load_index
// CHECK:           scf.for
func.func @later(%q: tensor<512x64xbf16>, %k: tensor<512x64xbf16>, %v: tensor<512x64xbf16>, %d: tensor<512xi32>) -> tensor<512x64xf32> {
  %r = kernel.fused @later_0 cascade config<tile = {m = 64, k = 64}> (%q_1 = %q : tensor<512x64xbf16>, %k_1 = %k : tensor<512x64xbf16>, %v_1 = %v : tensor<512x64xbf16>, %d_1 = %d : tensor<512xi32>) -> tensor<512x64xf32> {
    %1 = nd.ascending %d_1 : tensor<512xi32>
    %2 = nd.broadcast %1 {dims = [0]} : tensor<512xi32> -> tensor<512x512xi32>
    %3 = nd.broadcast %1 {dims = [1]} : tensor<512xi32> -> tensor<512x512xi32>
    %one = nd.constant 1 : tensor<512x512xi32>
    %i = nd.iota {axis = 0} : tensor<512x512xi32>
    %j = nd.iota {axis = 1} : tensor<512x512xi32>
    %next = nd.add %i, %one : tensor<512x512xi32>
    %4 = nd.equal %2, %3 : tensor<512x512xi32> -> tensor<512x512xi1>
    %5 = nd.less_equal %j, %next : tensor<512x512xi32> -> tensor<512x512xi1>
    %6 = nd.bitwise_and %4, %5 : tensor<512x512xi1>
    %zero = nd.constant 0.0 : tensor<512x512xf32>
    %s = nd.matmul %q_1, %k_1 {lhs_contract = [1], rhs_contract = [1]} : tensor<512x64xbf16> -> tensor<512x512xf32>
    %x = nd.where %6, %s, %zero : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %p = nd.cast %x : tensor<512x512xf32> -> tensor<512x512xbf16>
    %o = nd.matmul %p, %v_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x512xbf16>, tensor<512x64xbf16>) -> tensor<512x64xf32>
    kernel.yield %o : tensor<512x64xf32>
  }
  func.return %r : tensor<512x64xf32>
}
