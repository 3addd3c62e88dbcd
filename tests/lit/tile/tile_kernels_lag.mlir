// RUN: irc-opt %s -p tile-kernels --split-input-file | filecheck %s

// What exponentials are relative to is raised where the maximum has grown by more than 8 powers of two, 5.545 = 8 log 2;
// there, in a branch that warps vote on, what was summed is rescaled.
// CHECK-LABEL: tile.program @lagging_0
// CHECK:         scf.for {{.*}} iter_args(%[[M0:.*]] = %{{.*}}, %[[L0:.*]] = %{{.*}}, %[[O0:.*]] = %{{.*}})
// CHECK:           %[[S:.*]] = tile.dot
// CHECK:           %[[R:.*]] = tile.reduce
// CHECK:           %[[GREW:.*]] = tile.map %[[M0]], %[[R]] : {{.*}} -> tensor<128x1xi1>
// CHECK-NEXT:      ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:        %[[D:.*]] = arith.subf %[[B]], %[[A]] : f32
// CHECK-NEXT:        %[[FAR:.*]] = arith.constant 5.54517746 : f32
// CHECK-NEXT:        arith.cmpf ogt, %[[D]], %[[FAR]] : f32
// CHECK:           %[[M1:.*]] = tile.map %[[M0]], %[[R]], %[[GREW]]
// CHECK:             arith.select
// CHECK:           %[[ANY:.*]] = tile.any %[[GREW]] : tensor<128x1xi1> -> i1
// CHECK-NEXT:      %[[LS:.*]], %[[OS:.*]] = scf.if %[[ANY]] -> (tensor<128x1xf32>, tensor<128x64xf32>) {
// CHECK-NEXT:        %[[F:.*]] = tile.map %[[M0]], %[[M1]]
// CHECK:               math.exp
// CHECK:             %[[L1:.*]] = tile.map %[[L0]], %[[F]]
// CHECK:             %[[O1:.*]] = tile.map %[[O0]], %[[F]]
// CHECK:             scf.yield %[[L1]], %[[O1]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[L0]], %[[O0]]
// CHECK:           tile.map %{{.*}}, %[[M1]]
// CHECK:             math.exp
// CHECK:           tile.map %[[LS]]
// CHECK:           tile.dot %{{.*}}, %{{.*}}, %[[OS]]
// CHECK:           scf.yield %[[M1]]
func.func @lagging(%q: tensor<2x4x512x64xbf16>, %k: tensor<2x4x512x64xbf16>, %v: tensor<2x4x512x64xbf16>) -> tensor<2x4x512x64xf32> {
  %r = kernel.fused @lagging_0 cascade config<tile = {m = 128, k = 128}, lag = 8> (%q_1 = %q : tensor<2x4x512x64xbf16>, %k_1 = %k : tensor<2x4x512x64xbf16>, %v_1 = %v : tensor<2x4x512x64xbf16>) -> tensor<2x4x512x64xf32> {
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

// Where the maximum is a result, the loop carries it too, and what was summed becomes relative to it behind the loop.
// CHECK-LABEL: tile.program @followed_0
// CHECK:         %[[ENDED:.*]], %{{.*}}, %[[MAX:.*]], %[[O:.*]] = scf.for {{.*}} iter_args(%[[M0:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[T0:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK:           %[[R:.*]] = tile.reduce
// CHECK:           tile.any
// CHECK:           %[[T1:.*]] = tile.map %[[T0]], %[[R]]
// CHECK:             arith.maximumf
// CHECK:           scf.yield %{{.*}}, %{{.*}}, %[[T1]], %{{.*}}
// CHECK:         tile.map %[[ENDED]], %[[MAX]]
// CHECK:           math.exp
// CHECK:         tile.map %[[O]]
func.func @followed(%q: tensor<2x4x512x64xbf16>, %k: tensor<2x4x512x64xbf16>, %v: tensor<2x4x512x64xbf16>) -> (tensor<2x4x512x64xf32>, tensor<2x4x512xf32>) {
  %r:2 = kernel.fused @followed_0 cascade config<tile = {m = 128, k = 128}, lag = 8> (%q_1 = %q : tensor<2x4x512x64xbf16>, %k_1 = %k : tensor<2x4x512x64xbf16>, %v_1 = %v : tensor<2x4x512x64xbf16>) -> (tensor<2x4x512x64xf32>, tensor<2x4x512xf32>) {
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
    kernel.yield %y, %m : tensor<2x4x512x64xf32>, tensor<2x4x512xf32>
  }
  func.return %r#0, %r#1 : tensor<2x4x512x64xf32>, tensor<2x4x512xf32>
}

// -----

// CHECK-LABEL: func.func @lagging(
// CHECK-NOT: tile.any
func.func @lagging(%q: tensor<2x4x512x64xbf16>, %k: tensor<2x4x512x64xbf16>, %v: tensor<2x4x512x64xbf16>) -> tensor<2x4x512x64xf32> {
  %r = kernel.fused @lagging_0 cascade config<tile = {m = 128, k = 128}> (%q_1 = %q : tensor<2x4x512x64xbf16>, %k_1 = %k : tensor<2x4x512x64xbf16>, %v_1 = %v : tensor<2x4x512x64xbf16>) -> tensor<2x4x512x64xf32> {
    // prologue
    %iota = nd.iota {axis = 3} : tensor<2x4x512x512xi32>
    %iota_1 = nd.iota {axis = 2} : tensor<2x4x512x512xi32>
    %less_equal = nd.less_equal %iota, %iota_1 : tensor<2x4x512x512xi32> -> tensor<2x4x512x512xi1>
    %inf = nd.constant -inf : tensor<2x4x512x512xf32>
    // core
    %s = nd.matmul %q_1, %k_1 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [3]} : tensor<2x4x512x64xbf16> -> tensor<2x4x512x512xf32>
    %x = nd.where %less_equal, %s, %inf : (tensor<2x4x512x512xi1>, tensor<2x4x512x512xf32>, tensor<2x4x512x512xf32>) -> tensor<2x4x512x512xf32>
    %m = nd.max %x {axes = [3]} : tensor<2x4x512x512xf32> -> tensor<2x4x512xf32>
    %broadcast = nd.broadcast %m {dims = [0, 1, 2]} : tensor<2x4x512xf32> -> tensor<2x4x512x512xf32>
    %sub = nd.sub %x, %broadcast : tensor<2x4x512x512xf32>
    %e = nd.exp %sub : tensor<2x4x512x512xf32>
    %p = nd.cast %e : tensor<2x4x512x512xf32> -> tensor<2x4x512x512xbf16>
    %o = nd.matmul %p, %v_1 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<2x4x512x512xbf16>, tensor<2x4x512x64xbf16>) -> tensor<2x4x512x64xf32>
    // epilogue
    %l = nd.sum %e {axes = [3]} : tensor<2x4x512x512xf32> -> tensor<2x4x512xf32>
    %broadcast_1 = nd.broadcast %l {dims = [0, 1, 2]} : tensor<2x4x512xf32> -> tensor<2x4x512x64xf32>
    %y = nd.div %o, %broadcast_1 : tensor<2x4x512x64xf32>
    kernel.yield %y : tensor<2x4x512x64xf32>
  }
  func.return %r : tensor<2x4x512x64xf32>
}
func.func @followed(%q: tensor<2x4x512x64xbf16>, %k: tensor<2x4x512x64xbf16>, %v: tensor<2x4x512x64xbf16>) -> (tensor<2x4x512x64xf32>, tensor<2x4x512xf32>) {
  %r, %r_1 = kernel.fused @followed_0 cascade config<tile = {m = 128, k = 128}> (%q_1 = %q : tensor<2x4x512x64xbf16>, %k_1 = %k : tensor<2x4x512x64xbf16>, %v_1 = %v : tensor<2x4x512x64xbf16>) -> (tensor<2x4x512x64xf32>, tensor<2x4x512xf32>) {
    // prologue
    %iota = nd.iota {axis = 3} : tensor<2x4x512x512xi32>
    %iota_1 = nd.iota {axis = 2} : tensor<2x4x512x512xi32>
    %less_equal = nd.less_equal %iota, %iota_1 : tensor<2x4x512x512xi32> -> tensor<2x4x512x512xi1>
    %inf = nd.constant -inf : tensor<2x4x512x512xf32>
    // core
    %s = nd.matmul %q_1, %k_1 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [3]} : tensor<2x4x512x64xbf16> -> tensor<2x4x512x512xf32>
    %x = nd.where %less_equal, %s, %inf : (tensor<2x4x512x512xi1>, tensor<2x4x512x512xf32>, tensor<2x4x512x512xf32>) -> tensor<2x4x512x512xf32>
    %m = nd.max %x {axes = [3]} : tensor<2x4x512x512xf32> -> tensor<2x4x512xf32>
    %broadcast = nd.broadcast %m {dims = [0, 1, 2]} : tensor<2x4x512xf32> -> tensor<2x4x512x512xf32>
    %sub = nd.sub %x, %broadcast : tensor<2x4x512x512xf32>
    %e = nd.exp %sub : tensor<2x4x512x512xf32>
    %p = nd.cast %e : tensor<2x4x512x512xf32> -> tensor<2x4x512x512xbf16>
    %o = nd.matmul %p, %v_1 {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<2x4x512x512xbf16>, tensor<2x4x512x64xbf16>) -> tensor<2x4x512x64xf32>
    // epilogue
    %l = nd.sum %e {axes = [3]} : tensor<2x4x512x512xf32> -> tensor<2x4x512xf32>
    %broadcast_1 = nd.broadcast %l {dims = [0, 1, 2]} : tensor<2x4x512xf32> -> tensor<2x4x512x64xf32>
    %y = nd.div %o, %broadcast_1 : tensor<2x4x512x64xf32>
    kernel.yield %y, %m : tensor<2x4x512x64xf32>, tensor<2x4x512xf32>
  }
  func.return %r, %r_1 : tensor<2x4x512x64xf32>, tensor<2x4x512xf32>
}
