// RUN: irc-opt %s -p partition-nd --split-input-file | filecheck %s

// A sum along a divided axis is of parts: reduced over the ranks, and scattered where the result is divided.
// CHECK-LABEL: func.func @sums
// CHECK-SAME:    %x: tensor<4x16xf32>, %mesh_coordinates: tensor<2xi64> {irc.name = "mesh_coordinates"}
// CHECK-NEXT:    %[[S:.*]] = nd.sum %x {axes = [0]} : tensor<4x16xf32> -> tensor<16xf32>
// CHECK-NEXT:    %[[P:.*]] = nd.reduce_scatter %[[S]] {monoid = "sum", over = "data"} : tensor<16xf32> -> tensor<8xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.max %x {axes = [0]} : tensor<4x16xf32> -> tensor<16xf32>
// CHECK-NEXT:    %[[A:.*]] = nd.all_reduce %[[M]] {{.*}}monoid = "max"{{.*}} : tensor<16xf32>
// CHECK-NEXT:    func.return %[[P]], %[[A]]
builtin.module attributes {irc.mesh = {data = 2 : i64, model = 2 : i64}} {
  func.func @sums(%x: tensor<8x16xf32> {irc.sharding = ["data", ""]}) -> (tensor<16xf32>, tensor<16xf32>) {
    %0 = nd.sum %x {axes = [0], irc.shardings = [["data"]]} : tensor<8x16xf32> -> tensor<16xf32>
    %1 = nd.max %x {axes = [0]} : tensor<8x16xf32> -> tensor<16xf32>
    func.return %0, %1 : tensor<16xf32>, tensor<16xf32>
  }
}

// -----

// What has to be whole is gathered along its axis, once for all that need it.
// CHECK-LABEL: func.func @gathered
// CHECK-NEXT:    %[[R:.*]] = nd.reshape %x : tensor<8x8xf32> -> tensor<1x8x8xf32>
// CHECK-NEXT:    %[[G:.*]] = nd.all_gather %[[R]] {over = "m"} : tensor<1x8x8xf32> -> tensor<2x8x8xf32>
// CHECK-NEXT:    %[[P:.*]] = nd.permute %[[G]] {permutation = [1, 0, 2]}
// CHECK-NEXT:    %[[W:.*]] = nd.reshape %[[P]] : tensor<8x2x8xf32> -> tensor<8x16xf32>
// CHECK-NEXT:    nd.cumsum %[[W]] {axis = 1} : tensor<8x16xf32>
// CHECK-NEXT:    nd.cumprod %[[W]] {axis = 1} : tensor<8x16xf32>
// CHECK-NOT:     nd.all_gather
builtin.module attributes {irc.mesh = {m = 2 : i64}} {
  func.func @gathered(%x: tensor<8x16xf32> {irc.sharding = ["", "m"]}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %0 = nd.cumsum %x {axis = 1} : tensor<8x16xf32>
    %1 = nd.cumprod %x {axis = 1} : tensor<8x16xf32>
    func.return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
  }
}

// -----

// An iota begins where the rank's part does; a whole argument that is used in parts is cut by the rank's number.
// CHECK-LABEL: func.func @places
// CHECK-NEXT:    %[[I:.*]] = nd.iota {axis = 0} : tensor<4xi32>
// CHECK-NEXT:    %[[C:.*]] = nd.slice %mesh_coordinates {starts = [0], stops = [1]{{.*}}} : tensor<1xi64>
// CHECK-NEXT:    %[[N:.*]] = nd.reshape %[[C]] : tensor<1xi64> -> tensor<i64>
// CHECK:         nd.add %[[I]]
// CHECK:         nd.take {{.*}}, %[[N]] {axis = 0} : (tensor<2x4xi32>, tensor<i64>) -> tensor<4xi32>
builtin.module attributes {irc.mesh = {m = 2 : i64}} {
  func.func @places(%x: tensor<8xi32> {irc.sharding = [""]}) -> tensor<8xi32> {
    %0 = nd.iota {axis = 0, irc.shardings = [["m"]]} : tensor<8xi32>
    %1 = nd.add %0, %x {irc.shardings = [["m"]]} : tensor<8xi32>
    func.return {irc.shardings = [["m"]]} %1 : tensor<8xi32>
  }
}

// -----

// Without a mesh a function stays as it is.
// CHECK-LABEL: func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    nd.exp %x : tensor<4xf32>
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nd.exp %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
