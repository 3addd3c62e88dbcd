// What the verifiers and parsers of nd reject, and how they say it.
// RUN: irc-opt %s --split-input-file --verify-diagnostics

func.func @invalid(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  // expected-error @below {{nd.add expects operands of one type, found tensor<4xf32> and tensor<8xf32>}}
  %r = "nd.add"(%x, %y) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.add expects a result of type tensor<4xf32>, found tensor<4xf64>}}
  %r = nd.add %x, %x : tensor<4xf32> -> tensor<4xf64>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi1>) {
  // expected-error @below {{nd.add expects float or integer elements, found tensor<4xi1>}}
  %r = nd.add %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi32>) {
  // expected-error @below {{nd.exp expects float elements, found tensor<4xi32>}}
  %r = nd.exp %x : tensor<4xi32>
  func.return
}

// -----

func.func @invalid(%x: tensor<?xf32>) {
  // expected-error @below {{nd.exp expects static shapes, found tensor<?xf32>}}
  %r = nd.exp %x : tensor<?xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi17>) {
  // expected-error @below {{nd.neg expects one of irc's element types, found tensor<4xi17>}}
  %r = nd.neg %x : tensor<4xi17>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.gelu expects approximate to be "none" or "tanh", found "fast"}}
  %r = nd.gelu %x {approximate = "fast"} : tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.shift_left expects integer elements, found tensor<4xf32>}}
  %r = nd.shift_left %x, %x : tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.less expects a result of type tensor<4xi1>, found tensor<4xf32>}}
  %r = nd.less %x, %x : tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>, %c: tensor<1xi1>) {
  // expected-error @below {{nd.where expects a condition of type tensor<4xi1>, found tensor<1xi1>}}
  %r = nd.where %c, %x, %x : (tensor<1xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.cast expects a result of shape [4], found [5]}}
  %r = nd.cast %x : tensor<4xf32> -> tensor<5xf16>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.bitcast expects elements of one size, found tensor<4xf32> and tensor<4xi16>}}
  %r = nd.bitcast %x : tensor<4xf32> -> tensor<4xi16>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.broadcast expects 2 dims, one for each operand axis, found 1}}
  %r = nd.broadcast %x {dims = [0]} : tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.broadcast expects extent 1 or 8 of operand axis 0, found 4}}
  %r = nd.broadcast %x {dims = [1]} : tensor<4xf32> -> tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x4xf32>) {
  // expected-error @below {{nd.broadcast expects distinct dims, found [0, 0]}}
  %r = nd.broadcast %x {dims = [0, 0]} : tensor<4x4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.permute expects a permutation of the 2 operand axes, found [0, 0]}}
  %r = nd.permute %x {permutation = [0, 0]} : tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.permute expects a result of shape [8, 4], found [4, 8]}}
  %r = nd.permute %x {permutation = [1, 0]} : tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.reshape expects as many elements as the operand's 32, found 31 in [31]}}
  %r = nd.reshape %x : tensor<4x8xf32> -> tensor<31xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>) {
  // expected-error @below {{nd.slice expects 0 <= start <= stop <= 8 on axis 0, found 0 and 9}}
  %r = nd.slice %x {starts = [0], stops = [9], steps = [1]} : tensor<8xf32> -> tensor<9xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>) {
  // expected-error @below {{nd.slice expects a positive step on axis 0, found 0}}
  %r = nd.slice %x {starts = [0], stops = [8], steps = [0]} : tensor<8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>, %v: tensor<f64>) {
  // expected-error @below {{nd.pad expects a value of type tensor<f32>, found tensor<f64>}}
  %r = nd.pad %x, %v {low = [0], high = [0]} : (tensor<8xf32>, tensor<f64>) -> tensor<8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>, %v: tensor<f32>) {
  // expected-error @below {{nd.pad expects low widths of 0 or more, found [-1]}}
  %r = nd.pad %x, %v {low = [-1], high = [0]} : (tensor<8xf32>, tensor<f32>) -> tensor<7xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>, %y: tensor<4x9xf32>) {
  // expected-error @below {{nd.concat expects operands that differ on axis 0 only, found tensor<4x8xf32> and tensor<4x9xf32>}}
  %r = nd.concat %x, %y {axis = 0} : (tensor<4x8xf32>, tensor<4x9xf32>) -> tensor<8x8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>) {
  // expected-error @below {{nd.flip expects axes from 0 to 0, found 1}}
  %r = nd.flip %x {axes = [1]} : tensor<8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>) {
  // expected-error @below {{nd.tril expects an operand of rank 2 or more, found tensor<8xf32>}}
  %r = nd.tril %x {k = 0} : tensor<8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<0xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{nd.take cannot index axis 0 of extent 0 of tensor<0xf32>}}
  %r = nd.take %x, %i {axis = 0} : (tensor<0xf32>, tensor<2xi32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @invalid(%i: tensor<2xf32>) {
  // expected-error @below {{nd.ascending expects integer elements, found tensor<2xf32>}}
  %r = nd.ascending %i : tensor<2xf32>
  func.return
}

// -----

func.func @invalid(%i: tensor<2xf32>) {
  // expected-error @below {{nd.check_indices expects integer elements, found tensor<2xf32>}}
  %r = nd.check_indices %i {low = 0, high = 4} : tensor<2xf32>
  func.return
}

// -----

func.func @invalid(%i: tensor<2xi32>) {
  // expected-error @below {{nd.check_indices expects low up to high, found 4 and 0}}
  %r = nd.check_indices %i {low = 4, high = 0} : tensor<2xi32>
  func.return
}

// -----

func.func @invalid(%i: tensor<2xi32>) {
  // expected-error @below {{nd.check_indices expects an extent, found 0}}
  %r = nd.check_indices %i {low = 0, high = 1, extent = 0 : index} : tensor<2xi32>
  func.return
}

// -----

func.func @invalid(%i: tensor<2xi8>) {
  // expected-error @below {{nd.check_indices expects i32 or i64 with an extent, found tensor<2xi8>}}
  %r = nd.check_indices %i {low = 0, high = 1, extent = 521 : index} : tensor<2xi8>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>, %i: tensor<2xf32>) {
  // expected-error @below {{nd.take expects integer elements, found tensor<2xf32>}}
  %r = nd.take %x, %i {axis = 0} : (tensor<4xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>, %i: tensor<3x2xi32>) {
  // expected-error @below {{nd.take_along expects indices with x's extents except on axis 1, found tensor<3x2xi32> for tensor<4x8xf32>}}
  %r = nd.take_along %x, %i {axis = 1} : (tensor<4x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @invalid(%i: tensor<3xi32>) {
  // expected-error @below {{nd.one_hot expects a result of shape [3, n], found [4]}}
  %r = nd.one_hot %i : tensor<3xi32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{nd.scatter_add expects updates of type tensor<2xf32>, found tensor<4xf32>}}
  %r = nd.scatter_add %x, %i, %x {axis = 0} : (tensor<4xf32>, tensor<2xi32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.sum expects axes in increasing order, found [1, 0]}}
  %r = nd.sum %x {axes = [1, 0]} : tensor<4x8xf32> -> tensor<f32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.sum expects axes from 0 to 1, found 2}}
  %r = nd.sum %x {axes = [2]} : tensor<4x8xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.sum expects a result of shape [4], found [8]}}
  %r = nd.sum %x {axes = [1]} : tensor<4x8xf32> -> tensor<8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi32>) {
  // expected-error @below {{nd.mean expects float result elements, found tensor<i32>}}
  %r = nd.mean %x {axes = [0]} : tensor<4xi32> -> tensor<i32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi32>) {
  // expected-error @below {{nd.max expects a result with elements i32, found f32}}
  %r = nd.max %x {axes = [0]} : tensor<4xi32> -> tensor<f32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x0xf32>) {
  // expected-error @below {{nd.max expects one element or more along axes [1], found tensor<4x0xf32>}}
  %r = nd.max %x {axes = [1]} : tensor<4x0xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.any expects bool elements, found tensor<4xf32>}}
  %r = nd.any %x {axes = [0]} : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.argmax expects a result of type tensor<i64>, found tensor<i32>}}
  %r = nd.argmax %x {axis = 0} : tensor<4xf32> -> tensor<i32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.topk expects k from 0 to 4, found 5}}
  %r, %s = nd.topk %x {k = 5, axis = 0} : tensor<4xf32> -> (tensor<5xf32>, tensor<5xi64>)
  func.return
}

// -----

func.func @invalid(%x: tensor<f32>) {
  // expected-error @below {{nd.cumsum expects an operand of rank 1 or more, found axis 0 of rank 0}}
  %r = nd.cumsum %x {axis = 0} : tensor<f32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>, %y: tensor<4x8xf16>) {
  // expected-error @below {{nd.matmul expects operands with one element type, found tensor<4x8xf32> and tensor<4x8xf16>}}
  %r = nd.matmul %x, %y {lhs_contract = [1], rhs_contract = [1]} : (tensor<4x8xf32>, tensor<4x8xf16>) -> tensor<4x4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.matmul expects contracted axes of one extent, found 8 (axis 1 of lhs) and 4 (axis 0 of rhs)}}
  %r = nd.matmul %x, %x {lhs_contract = [1], rhs_contract = [0]} : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.matmul expects distinct lhs axes, found [1, 1]}}
  %r = nd.matmul %x, %x {lhs_batch = [1], lhs_contract = [1], rhs_contract = [1]} : tensor<4x8xf32> -> tensor<4x4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.matmul expects a precision of default, f32, tf32, bf16, f16, found "half"}}
  %r = nd.matmul %x, %x {lhs_contract = [1], rhs_contract = [1], precision = "half"} : tensor<4x8xf32> -> tensor<4x4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.matmul has sums of f16, which are of operands and for a result of f16, found tensor<4x8xf32>, tensor<4x8xf32> and tensor<4x4xf32>}}
  %r = nd.matmul %x, %x {lhs_contract = [1], rhs_contract = [1], precision = "f16"} : tensor<4x8xf32> -> tensor<4x4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>) {
  // expected-error @below {{nd.matmul expects a result of shape [4, 4], found [4, 8]}}
  %r = nd.matmul %x, %x {lhs_contract = [1], rhs_contract = [1]} : tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<2x3x8xf32>, %k: tensor<6x2x3xf32>) {
  // expected-error @below {{nd.conv expects a kernel with 3 input channels a group, found 2}}
  %r = nd.conv %x, %k {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1} : (tensor<2x3x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x6xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<2x3x8xf32>, %k: tensor<6x3x3xf32>) {
  // expected-error @below {{nd.conv expects strides of 1 or more, found [0]}}
  %r = nd.conv %x, %k {strides = [0], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1} : (tensor<2x3x8xf32>, tensor<6x3x3xf32>) -> tensor<2x6x6xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<2x3x8xf32>, %k: tensor<6x3x3xf32>) {
  // expected-error @below {{nd.conv expects x_axes to be the axes 0 to 2 in some order, found [0, 1, 1]}}
  %r = nd.conv %x, %k {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1, x_axes = [0, 1, 1]} : (tensor<2x3x8xf32>, tensor<6x3x3xf32>) -> tensor<2x6x6xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<2x3x8xf32>, %k: tensor<6x3x3xf32>) {
  // expected-error @below {{nd.conv expects a result of shape [2, 6, 6], found [2, 6, 7]}}
  %r = nd.conv %x, %k {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1, result_axes = [0, 2, 1]} : (tensor<2x3x8xf32>, tensor<6x3x3xf32>) -> tensor<2x6x7xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<2x3x8xf32>, %k: tensor<6x3x3xf32>) {
  // expected-error @below {{nd.conv expects parts that divide [3, 3], what is summed, found [1, 2]}}
  %r = nd.conv %x, %k {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1, parts = [1, 2]} : (tensor<2x3x8xf32>, tensor<6x3x3xf32>) -> tensor<1x2x2x6x6xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x3x8xf32>, %k: tensor<6x3x3xf32>) {
  // expected-error @below {{nd.conv expects batch_groups that divide 4 images and 6 output channels, found 4, and 1 groups of channels}}
  %r = nd.conv %x, %k {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1, batch_groups = 4} : (tensor<4x3x8xf32>, tensor<6x3x3xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @below {{expected elements of shape [3], found [2]}}
  %r = nd.constant [1.0, 2.0] : tensor<3xf32>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @below {{expected i32 elements, found 1.5}}
  %r = nd.constant 1.5 : tensor<3xi32>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @below {{300 is out of the range of i8}}
  %r = nd.constant 300 : tensor<3xi8>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @below {{expected nested lists of one length}}
  %r = nd.constant [[1], [1, 2]] : tensor<2x2xi8>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @below {{expected 2 bytes, found 1}}
  %r = nd.constant "0x01" : tensor<2xi8>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @below {{expected a static tensor type, found i32}}
  %r = nd.constant 1 : i32
  func.return
}

// -----

func.func @invalid() {
  // expected-error @below {{not one of irc's element types: tensor<3xi17>}}
  %r = nd.constant 1 : tensor<3xi17>
  func.return
}

// -----

func.func @invalid() {
  // expected-error @below {{nd.iota expects axis from 0 to 0, found 1}}
  %r = nd.iota {axis = 1} : tensor<3xi32>
  func.return
}

// -----

func.func @extent_type() {
  // expected-error @below {{nd.extent expects a result of i64, found f32}}
  %r = nd.extent {extent = 521 : index} : tensor<3xf32>
  func.return
}

// -----

func.func @invalid(%s: tensor<i64>) {
  // expected-error @below {{nd.random_normal expects float elements, found tensor<3xi32>}}
  %r = nd.random_normal %s : tensor<i64> -> tensor<3xi32>
  func.return
}

// -----

func.func @invalid(%s: tensor<i32>) {
  // expected-error @below {{nd.random_uniform expects a seed of type tensor<i64>, found tensor<i32>}}
  %r = nd.random_uniform %s : tensor<i32> -> tensor<3xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi32>) {
  // expected-error @below {{nd.softmax expects float elements, found tensor<4xi32>}}
  %r = nd.softmax %x {axis = 0} : tensor<4xi32>
  func.return
}

// -----

func.func @invalid(%q: tensor<2x6x4x8xf32>, %k: tensor<2x4x5x8xf32>) {
  // expected-error @below {{nd.attention expects one shape of batches, or heads of k and v that divide q's}}
  %r = nd.attention %q, %k, %k {causal = false, scale = 1.0} : (tensor<2x6x4x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x6x4x8xf32>
  func.return
}

// -----

func.func @invalid(%q: tensor<4x8xf32>, %k: tensor<5x9xf32>) {
  // expected-error @below {{nd.attention expects q and k with one last extent, found 8 and 9}}
  %r = nd.attention %q, %k, %k {causal = false, scale = 1.0} : (tensor<4x8xf32>, tensor<5x9xf32>, tensor<5x9xf32>) -> tensor<4x9xf32>
  func.return
}

// -----

func.func @invalid(%q: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{nd.attention expects a bias of the scores' shape [4, 4], found tensor<4xf32>}}
  %r = nd.attention %q, %q, %q, %b {causal = false, scale = 1.0} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%q: tensor<4x8xf32>, %b: tensor<4x4xi32>) {
  // expected-error @below {{nd.attention expects float or bool elements, found tensor<4x4xi32>}}
  %r = nd.attention %q, %q, %q, %b {causal = false, scale = 1.0} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xi32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%q: tensor<4x8xf32>) {
  // expected-error @below {{nd.attention expects a window of 0, for none, or more, found -1}}
  %r = nd.attention %q, %q, %q {causal = false, scale = 1.0, window = -1} : tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%q: tensor<4x8xf32>) {
  // expected-error @below {{nd.attention expects a soft_cap of 0, for none, or more, found -1.0}}
  %r = nd.attention %q, %q, %q {causal = false, scale = 1.0, soft_cap = -1.0} : tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%q: tensor<6x4x8xf32>, %k: tensor<2x5x8xf32>) {
  // expected-error @below {{nd.attention_log_sum_exp expects q with the batches of k before its own, found tensor<6x4x8xf32> and tensor<2x5x8xf32>}}
  %r = nd.attention_log_sum_exp %q, %k {causal = false, scale = 1.0} : (tensor<6x4x8xf32>, tensor<2x5x8xf32>) -> tensor<6x4xf32>
  func.return
}

// -----

func.func @invalid(%q: tensor<4x8xbf16>, %k: tensor<5x8xbf16>) {
  // expected-error @below {{nd.attention_log_sum_exp expects a result of type tensor<4xf32>, found tensor<4xbf16>}}
  %r = nd.attention_log_sum_exp %q, %k {causal = false, scale = 1.0} : (tensor<4x8xbf16>, tensor<5x8xbf16>) -> tensor<4xbf16>
  func.return
}

// -----

func.func @invalid(%q: tensor<4x8xbf16>, %k: tensor<5x8xbf16>, %s: tensor<5xf32>) {
  // expected-error @below {{nd.attention_weights expects a log_sum_exp of type tensor<4xf32>, found tensor<5xf32>}}
  %r = nd.attention_weights %q, %k, %s {causal = false, scale = 1.0} : (tensor<4x8xbf16>, tensor<5x8xbf16>, tensor<5xf32>) -> tensor<4x5xbf16>
  func.return
}

// -----

func.func @invalid(%q: tensor<4x8xbf16>, %k: tensor<5x8xf32>) {
  // expected-error @below {{nd.attention_log_sum_exp expects operands with one element type}}
  %r = nd.attention_log_sum_exp %q, %k {causal = false, scale = 1.0} : (tensor<4x8xbf16>, tensor<5x8xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.sum needs the property axes}}
  %r = nd.sum %x : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.sum has axes twice}}
  %r = nd.sum %x {axes = [0], axes = [0]} : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @invalid(%x: f32) {
  // expected-error @below {{tensor}}
  %r = nd.exp %x : f32
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>) {
  // expected-error @below {{nd.reduce_window expects a monoid of sum, max, min, found mean}}
  %r = nd.reduce_window %x {window = [2], strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], monoid = "mean"} : tensor<8xf32> -> tensor<7xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>) {
  // expected-error @below {{nd.reduce_window expects 1 window, one for each axis, found 2}}
  %r = nd.reduce_window %x {window = [2, 2], strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], monoid = "sum"} : tensor<8xf32> -> tensor<7xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>) {
  // expected-error @below {{nd.reduce_window expects window of 1 or more, found [0]}}
  %r = nd.reduce_window %x {window = [0], strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], monoid = "sum"} : tensor<8xf32> -> tensor<7xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xbf16>) {
  // expected-error @below {{nd.reduce_window expects a result with elements bf16, found f32}}
  %r = nd.reduce_window %x {window = [2], strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], monoid = "max"} : tensor<8xbf16> -> tensor<7xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<8xf32>) {
  // expected-error @below {{nd.reduce_window expects a result of shape}}
  %r = nd.reduce_window %x {window = [2], strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], monoid = "sum"} : tensor<8xf32> -> tensor<8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<2x1x24xf32>, %k: tensor<6x1x8xf32>) {
  // expected-error @below {{nd.conv expects taps from one to another of a kernel as it lies, without input dilation, found [1, 9] of [8]}}
  %r = nd.conv %x, %k {strides = [3], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1, taps = [1, 9]} : (tensor<2x1x24xf32>, tensor<6x1x8xf32>) -> tensor<2x6x6xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>, %w: tensor<2x8x5xf32>, %e: tensor<3xi32>) {
  // expected-error @below {{nd.grouped_matmul expects a matrix for each of 3 groups, found tensor<2x8x5xf32>}}
  %r = nd.grouped_matmul %x, %w, %e {lhs_contract = 1, rhs_contract = 1} : (tensor<4x8xf32>, tensor<2x8x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>, %w: tensor<3x7x5xf32>, %e: tensor<3xi32>) {
  // expected-error @below {{nd.grouped_matmul expects contracted axes of one extent, found 8 and 7}}
  %r = nd.grouped_matmul %x, %w, %e {lhs_contract = 1, rhs_contract = 1} : (tensor<4x8xf32>, tensor<3x7x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>, %w: tensor<3x8x5xf32>, %e: tensor<3xf32>) {
  // expected-error @below {{nd.grouped_matmul expects integer elements, found tensor<3xf32>}}
  %r = nd.grouped_matmul %x, %w, %e {lhs_contract = 1, rhs_contract = 1} : (tensor<4x8xf32>, tensor<3x8x5xf32>, tensor<3xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>, %w: tensor<3x8x5xf32>, %e: tensor<3xi32>) {
  // expected-error @below {{nd.grouped_matmul expects other axes for groups than for what is contracted, found 3 axes of rhs}}
  %r = nd.grouped_matmul %x, %w, %e {lhs_contract = 1, rhs_contract = 1, rhs_group = 1} : (tensor<4x8xf32>, tensor<3x8x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>, %w: tensor<3x8x5xf32>, %e: tensor<3xi32>) {
  // expected-error @below {{nd.grouped_matmul expects a result of shape [4, 5], found [5, 4]}}
  %r = nd.grouped_matmul %x, %w, %e {lhs_contract = 1, rhs_contract = 1} : (tensor<4x8xf32>, tensor<3x8x5xf32>, tensor<3xi32>) -> tensor<5x4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>, %w: tensor<3x8x5xf32>, %e: tensor<3xi32>) {
  // expected-error @below {{nd.grouped_matmul expects a matrix, a matrix or one for each group, and the groups' ends}}
  %r = nd.grouped_matmul %x, %w, %e {lhs_contract = 1, rhs_contract = 1} : (tensor<4xf32>, tensor<3x8x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x8xf32>, %i: tensor<3xi32>) {
  // expected-error @below {{nd.reorder expects an index for each of 4 elements, found tensor<3xi32>}}
  %r = nd.reorder %x, %i, %i {axis = 0} : (tensor<4x8xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.all_reduce expects distinct names of axes of a mesh, found "data,data"}}
  %r = nd.all_reduce %x {monoid = "sum", over = "data,data"} : tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xi1>) {
  // expected-error @below {{nd.all_reduce expects numbers to sum, found tensor<4xi1>}}
  %r = nd.all_reduce %x {monoid = "sum", over = "data"} : tensor<4xi1>
  func.return
}

// -----

func.func @invalid(%x: tensor<4xf32>) {
  // expected-error @below {{nd.all_reduce expects one of sum, prod, max, min, found mean}}
  %r = nd.all_reduce %x {monoid = "mean", over = "data"} : tensor<4xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<4x2xf32>) {
  // expected-error @below {{nd.all_gather expects tensor<6x2xf32> to be parts of tensor<4x2xf32>, one behind the other along the first axis}}
  %r = nd.all_gather %x {over = "data"} : tensor<4x2xf32> -> tensor<6x2xf32>
  func.return
}

// -----

func.func @invalid(%x: tensor<f32>) {
  // expected-error @below {{nd.all_gather expects an array with an axis, found tensor<f32>}}
  %r = nd.all_gather %x {over = "data"} : tensor<f32> -> tensor<2xf32>
  func.return
}
