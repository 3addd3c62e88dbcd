// RUN: irc-opt %s -p propagate-shardings --split-input-file | filecheck %s

// A batch divided among `data`, weights among `model`: forward to the products, and back to what is added to them.
// CHECK-LABEL: func.func @mlp
// CHECK-SAME:    %b: tensor<32xf32> {irc.sharding = ["model"]}
// CHECK:         nd.matmul %x, %w {{.*}}irc.shardings = {{\[\[}}"data", "model"]]
// CHECK-NEXT:    nd.broadcast %b {{.*}}irc.shardings = {{\[\[}}"data", "model"]]
// CHECK-NEXT:    nd.add {{.*}}irc.shardings = {{\[\[}}"data", "model"]]
// CHECK-NEXT:    nd.matmul {{.*}}irc.shardings = {{\[\[}}"data", ""]]
// CHECK-NEXT:    func.return {irc.shardings = {{\[\[}}"data", ""]]}
builtin.module attributes {irc.mesh = {data = 2 : i64, model = 2 : i64}} {
  func.func @mlp(%x: tensor<8x16xf32> {irc.sharding = ["data", ""]}, %w: tensor<16x32xf32> {irc.sharding = ["", "model"]}, %b: tensor<32xf32>, %v: tensor<32x16xf32> {irc.sharding = ["model", ""]}) -> tensor<8x16xf32> {
    %h = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0]} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %c = nd.broadcast %b {dims = [1]} : tensor<32xf32> -> tensor<8x32xf32>
    %a = nd.add %h, %c : tensor<8x32xf32>
    %y = nd.matmul %a, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    func.return %y : tensor<8x16xf32>
  }
}

// -----

// The axes of a reshape have common factors: 16 is 4 heads of 4, and 8 x 4 becomes 32 where its outer part is divided.
// CHECK-LABEL: func.func @reshapes
// CHECK:         nd.reshape %x {irc.shardings = {{\[\[}}"", "m", ""]]}
// CHECK-NEXT:    nd.reshape %y {irc.shardings = {{\[\[}}"m"]]}
// CHECK-NEXT:    nd.reshape %z {irc.shardings = {{\[\[}}""]]}
builtin.module attributes {irc.mesh = {m = 2 : i64}} {
  func.func @reshapes(%x: tensor<8x16xf32> {irc.sharding = ["", "m"]}, %y: tensor<8x4xf32> {irc.sharding = ["m", ""]}, %z: tensor<8x4xf32> {irc.sharding = ["", "m"]}) -> (tensor<8x4x4xf32>, tensor<32xf32>, tensor<32xf32>) {
    %0 = nd.reshape %x : tensor<8x16xf32> -> tensor<8x4x4xf32>
    %1 = nd.reshape %y : tensor<8x4xf32> -> tensor<32xf32>
    %2 = nd.reshape %z : tensor<8x4xf32> -> tensor<32xf32>
    func.return %0, %1, %2 : tensor<8x4x4xf32>, tensor<32xf32>, tensor<32xf32>
  }
}

// -----

// Where the batch and the weights are divided along one axis of the mesh, the batch decides. What is cut or scanned is
// whole.
// CHECK-LABEL: func.func @conflicts
// CHECK:         nd.matmul {{.*}}irc.shardings = {{\[\[}}"m", ""]]
// CHECK-NEXT:    nd.slice {{.*}}irc.shardings = {{\[\[}}"m", ""]]
// CHECK-NEXT:    nd.cumsum {{.*}}irc.shardings = {{\[\[}}"", ""]]
builtin.module attributes {irc.mesh = {m = 2 : i64}} {
  func.func @conflicts(%x: tensor<8x16xf32> {irc.sharding = ["m", ""]}, %w: tensor<16x32xf32> {irc.sharding = ["m", ""]}) -> (tensor<8x4xf32>, tensor<16x32xf32>) {
    %y = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0]} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %s = nd.slice %y {starts = [0, 0], stops = [8, 4], steps = [1, 1]} : tensor<8x32xf32> -> tensor<8x4xf32>
    %c = nd.cumsum %w {axis = 0} : tensor<16x32xf32>
    func.return %s, %c : tensor<8x4xf32>, tensor<16x32xf32>
  }
}

// -----

// Without a mesh nothing is said.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT:    nd.exp %x : tensor<4xf32>
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nd.exp %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
