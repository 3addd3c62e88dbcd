// Every op of nd, printed as it is written; also from the generic form.
// RUN: irc-opt %s | irc-opt | filecheck %s
// RUN: irc-opt %s --print-op-generic | irc-opt | filecheck %s

// CHECK: func.func @ops
func.func @ops(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %c: tensor<4x8xi1>, %i: tensor<4x8xi32>, %j: tensor<4x8xi32>, %s: tensor<f32>, %n: tensor<3xi64>, %u: tensor<3x8xf32>, %image: tensor<2x3x8x8xf32>, %kernel: tensor<6x3x3x2xf32>, %heads: tensor<3x4x8xbf16>, %keys: tensor<5x8xbf16>, %seen: tensor<4x4xi1>, %matrices: tensor<3x5x8xf32>, %ends: tensor<3xi32>) {

  // elementwise, one operand

  // CHECK: %neg = nd.neg %x : tensor<4x8xf32>
  %neg = nd.neg %x : tensor<4x8xf32>
  // CHECK: %abs = nd.abs %x : tensor<4x8xf32>
  %abs = nd.abs %x : tensor<4x8xf32>
  // CHECK: %sign = nd.sign %x : tensor<4x8xf32>
  %sign = nd.sign %x : tensor<4x8xf32>
  // CHECK: %relu = nd.relu %x : tensor<4x8xf32>
  %relu = nd.relu %x : tensor<4x8xf32>
  // CHECK: %floor = nd.floor %x : tensor<4x8xf32>
  %floor = nd.floor %x : tensor<4x8xf32>
  // CHECK: %ceil = nd.ceil %x : tensor<4x8xf32>
  %ceil = nd.ceil %x : tensor<4x8xf32>
  // CHECK: %round = nd.round %x : tensor<4x8xf32>
  %round = nd.round %x : tensor<4x8xf32>
  // CHECK: %exp = nd.exp %x : tensor<4x8xf32>
  %exp = nd.exp %x : tensor<4x8xf32>
  // CHECK: %exp2 = nd.exp2 %x : tensor<4x8xf32>
  %exp2 = nd.exp2 %x : tensor<4x8xf32>
  // CHECK: %expm1 = nd.expm1 %x : tensor<4x8xf32>
  %expm1 = nd.expm1 %x : tensor<4x8xf32>
  // CHECK: %log = nd.log %x : tensor<4x8xf32>
  %log = nd.log %x : tensor<4x8xf32>
  // CHECK: %log2 = nd.log2 %x : tensor<4x8xf32>
  %log2 = nd.log2 %x : tensor<4x8xf32>
  // CHECK: %log1p = nd.log1p %x : tensor<4x8xf32>
  %log1p = nd.log1p %x : tensor<4x8xf32>
  // CHECK: %sqrt = nd.sqrt %x : tensor<4x8xf32>
  %sqrt = nd.sqrt %x : tensor<4x8xf32>
  // CHECK: %rsqrt = nd.rsqrt %x : tensor<4x8xf32>
  %rsqrt = nd.rsqrt %x : tensor<4x8xf32>
  // CHECK: %reciprocal = nd.reciprocal %x : tensor<4x8xf32>
  %reciprocal = nd.reciprocal %x : tensor<4x8xf32>
  // CHECK: %sin = nd.sin %x : tensor<4x8xf32>
  %sin = nd.sin %x : tensor<4x8xf32>
  // CHECK: %cos = nd.cos %x : tensor<4x8xf32>
  %cos = nd.cos %x : tensor<4x8xf32>
  // CHECK: %tan = nd.tan %x : tensor<4x8xf32>
  %tan = nd.tan %x : tensor<4x8xf32>
  // CHECK: %tanh = nd.tanh %x : tensor<4x8xf32>
  %tanh = nd.tanh %x : tensor<4x8xf32>
  // CHECK: %erf = nd.erf %x : tensor<4x8xf32>
  %erf = nd.erf %x : tensor<4x8xf32>
  // CHECK: %sigmoid = nd.sigmoid %x : tensor<4x8xf32>
  %sigmoid = nd.sigmoid %x : tensor<4x8xf32>
  // CHECK: %silu = nd.silu %x : tensor<4x8xf32>
  %silu = nd.silu %x : tensor<4x8xf32>
  // CHECK: %gelu = nd.gelu %x : tensor<4x8xf32>
  %gelu = nd.gelu %x : tensor<4x8xf32>
  // CHECK: %gelu_tanh = nd.gelu %x {approximate = "tanh"} : tensor<4x8xf32>
  %gelu_tanh = nd.gelu %x {approximate = "tanh"} : tensor<4x8xf32>
  // CHECK: %leaky_relu = nd.leaky_relu %x {slope = 0.01} : tensor<4x8xf32>
  %leaky_relu = nd.leaky_relu %x {slope = 0.01} : tensor<4x8xf32>
  // CHECK: %isnan = nd.isnan %x : tensor<4x8xf32> -> tensor<4x8xi1>
  %isnan = nd.isnan %x : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: %isinf = nd.isinf %x : tensor<4x8xf32> -> tensor<4x8xi1>
  %isinf = nd.isinf %x : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: %logical_not = nd.logical_not %c : tensor<4x8xi1>
  %logical_not = nd.logical_not %c : tensor<4x8xi1>
  // CHECK: %bitwise_not = nd.bitwise_not %i : tensor<4x8xi32>
  %bitwise_not = nd.bitwise_not %i : tensor<4x8xi32>

  // elementwise, several operands

  // CHECK: %add = nd.add %x, %y : tensor<4x8xf32>
  %add = nd.add %x, %y : tensor<4x8xf32>
  // CHECK: %sub = nd.sub %x, %y : tensor<4x8xf32>
  %sub = nd.sub %x, %y : tensor<4x8xf32>
  // CHECK: %mul = nd.mul %x, %y : tensor<4x8xf32>
  %mul = nd.mul %x, %y : tensor<4x8xf32>
  // CHECK: %div = nd.div %x, %y : tensor<4x8xf32>
  %div = nd.div %x, %y : tensor<4x8xf32>
  // CHECK: %floordiv = nd.floordiv %x, %y : tensor<4x8xf32>
  %floordiv = nd.floordiv %x, %y : tensor<4x8xf32>
  // CHECK: %mod = nd.mod %x, %y : tensor<4x8xf32>
  %mod = nd.mod %x, %y : tensor<4x8xf32>
  // CHECK: %pow = nd.pow %x, %y : tensor<4x8xf32>
  %pow = nd.pow %x, %y : tensor<4x8xf32>
  // CHECK: %minimum = nd.minimum %x, %y : tensor<4x8xf32>
  %minimum = nd.minimum %x, %y : tensor<4x8xf32>
  // CHECK: %maximum = nd.maximum %x, %y : tensor<4x8xf32>
  %maximum = nd.maximum %x, %y : tensor<4x8xf32>
  // CHECK: %atan2 = nd.atan2 %x, %y : tensor<4x8xf32>
  %atan2 = nd.atan2 %x, %y : tensor<4x8xf32>
  // CHECK: %bitwise_and = nd.bitwise_and %i, %j : tensor<4x8xi32>
  %bitwise_and = nd.bitwise_and %i, %j : tensor<4x8xi32>
  // CHECK: %bitwise_or = nd.bitwise_or %i, %j : tensor<4x8xi32>
  %bitwise_or = nd.bitwise_or %i, %j : tensor<4x8xi32>
  // CHECK: %bitwise_xor = nd.bitwise_xor %i, %j : tensor<4x8xi32>
  %bitwise_xor = nd.bitwise_xor %i, %j : tensor<4x8xi32>
  // CHECK: %shift_left = nd.shift_left %i, %j : tensor<4x8xi32>
  %shift_left = nd.shift_left %i, %j : tensor<4x8xi32>
  // CHECK: %shift_right = nd.shift_right %i, %j : tensor<4x8xi32>
  %shift_right = nd.shift_right %i, %j : tensor<4x8xi32>
  // CHECK: %equal = nd.equal %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  %equal = nd.equal %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: %not_equal = nd.not_equal %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  %not_equal = nd.not_equal %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: %less = nd.less %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  %less = nd.less %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: %less_equal = nd.less_equal %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  %less_equal = nd.less_equal %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: %greater = nd.greater %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  %greater = nd.greater %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: %greater_equal = nd.greater_equal %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  %greater_equal = nd.greater_equal %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: %where = nd.where %c, %x, %y : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %where = nd.where %c, %x, %y : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: %clamp = nd.clamp %x, %y, %y : tensor<4x8xf32>
  %clamp = nd.clamp %x, %y, %y : tensor<4x8xf32>
  // CHECK: %cast = nd.cast %x : tensor<4x8xf32> -> tensor<4x8xf8E4M3FN>
  %cast = nd.cast %x : tensor<4x8xf32> -> tensor<4x8xf8E4M3FN>
  // CHECK: %bitcast = nd.bitcast %x : tensor<4x8xf32> -> tensor<4x8xi32>
  %bitcast = nd.bitcast %x : tensor<4x8xf32> -> tensor<4x8xi32>
  // CHECK: %declared = nd.add %x, %y {nd.declared = bf16} : tensor<4x8xf32>
  %declared = nd.add %x, %y {nd.declared = bf16} : tensor<4x8xf32>

  // shapes and indices

  // CHECK: %broadcast = nd.broadcast %x {dims = [0, 2]} : tensor<4x8xf32> -> tensor<4x3x8xf32>
  %broadcast = nd.broadcast %x {dims = [0, 2]} : tensor<4x8xf32> -> tensor<4x3x8xf32>
  // CHECK: %permute = nd.permute %x {permutation = [1, 0]} : tensor<4x8xf32> -> tensor<8x4xf32>
  %permute = nd.permute %x {permutation = [1, 0]} : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: %reshape = nd.reshape %x : tensor<4x8xf32> -> tensor<2x16xf32>
  %reshape = nd.reshape %x : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK: %slice = nd.slice %x {starts = [1, 0], stops = [4, 8], steps = [2, 3]} : tensor<4x8xf32> -> tensor<2x3xf32>
  %slice = nd.slice %x {starts = [1, 0], stops = [4, 8], steps = [2, 3]} : tensor<4x8xf32> -> tensor<2x3xf32>
  // CHECK: %pad = nd.pad %x, %s {low = [1, 0], high = [0, 2]} : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x10xf32>
  %pad = nd.pad %x, %s {low = [1, 0], high = [0, 2]} : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x10xf32>
  // CHECK: %concat = nd.concat %x, %y, %x {axis = 0} : tensor<4x8xf32> -> tensor<12x8xf32>
  %concat = nd.concat %x, %y, %x {axis = 0} : tensor<4x8xf32> -> tensor<12x8xf32>
  // CHECK: %flip = nd.flip %x {axes = [0, 1]} : tensor<4x8xf32>
  %flip = nd.flip %x {axes = [0, 1]} : tensor<4x8xf32>
  // CHECK: %tile = nd.tile %x {reps = [2, 1]} : tensor<4x8xf32> -> tensor<8x8xf32>
  %tile = nd.tile %x {reps = [2, 1]} : tensor<4x8xf32> -> tensor<8x8xf32>
  // CHECK: %tril = nd.tril %x {k = -1} : tensor<4x8xf32>
  %tril = nd.tril %x {k = -1} : tensor<4x8xf32>
  // CHECK: %triu = nd.triu %x {k = 2} : tensor<4x8xf32>
  %triu = nd.triu %x {k = 2} : tensor<4x8xf32>
  // CHECK: %checked = nd.check_indices %n {low = -8, high = 8} : tensor<3xi64>
  %checked = nd.check_indices %n {low = -8, high = 8} : tensor<3xi64>
  // CHECK: %offsets = nd.check_indices %n {low = 0, high = 1, extent = 521 : index} : tensor<3xi64>
  %offsets = nd.check_indices %n {low = 0, high = 1, extent = 521 : index} : tensor<3xi64>
  // CHECK: %rising = nd.ascending %n : tensor<3xi64>
  %rising = nd.ascending %n : tensor<3xi64>
  // CHECK: %take = nd.take %x, %n {axis = 1} : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  %take = nd.take %x, %n {axis = 1} : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  // CHECK: %reorder = nd.reorder %u, %n, %n {axis = 0} : (tensor<3x8xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x8xf32>
  %reorder = nd.reorder %u, %n, %n {axis = 0} : (tensor<3x8xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x8xf32>
  // CHECK: %take_along = nd.take_along %x, %i {axis = 1} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>
  %take_along = nd.take_along %x, %i {axis = 1} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>
  // CHECK: %one_hot = nd.one_hot %n : tensor<3xi64> -> tensor<3x10xbf16>
  %one_hot = nd.one_hot %n : tensor<3xi64> -> tensor<3x10xbf16>
  // CHECK: %scatter_add = nd.scatter_add %x, %n, %u {axis = 0} : (tensor<4x8xf32>, tensor<3xi64>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %scatter_add = nd.scatter_add %x, %n, %u {axis = 0} : (tensor<4x8xf32>, tensor<3xi64>, tensor<3x8xf32>) -> tensor<4x8xf32>

  // reductions, scans, sorts

  // CHECK: %sum = nd.sum %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  %sum = nd.sum %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: %prod = nd.prod %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  %prod = nd.prod %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: %mean = nd.mean %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  %mean = nd.mean %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: %max = nd.max %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  %max = nd.max %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: %min = nd.min %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  %min = nd.min %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: %var = nd.var %x {axes = [0, 1], correction = 1} : tensor<4x8xf32> -> tensor<f32>
  %var = nd.var %x {axes = [0, 1], correction = 1} : tensor<4x8xf32> -> tensor<f32>
  // CHECK: %sum_i1 = nd.sum %c {axes = [0]} : tensor<4x8xi1> -> tensor<8xi32>
  %sum_i1 = nd.sum %c {axes = [0]} : tensor<4x8xi1> -> tensor<8xi32>
  // CHECK: %any = nd.any %c {axes = [0]} : tensor<4x8xi1> -> tensor<8xi1>
  %any = nd.any %c {axes = [0]} : tensor<4x8xi1> -> tensor<8xi1>
  // CHECK: %all = nd.all %c {axes = []} : tensor<4x8xi1>
  %all = nd.all %c {axes = []} : tensor<4x8xi1>
  // CHECK: %argmax = nd.argmax %x {axis = 1} : tensor<4x8xf32> -> tensor<4xi64>
  %argmax = nd.argmax %x {axis = 1} : tensor<4x8xf32> -> tensor<4xi64>
  // CHECK: %argmin = nd.argmin %x {axis = 0} : tensor<4x8xf32> -> tensor<8xi64>
  %argmin = nd.argmin %x {axis = 0} : tensor<4x8xf32> -> tensor<8xi64>
  // CHECK: %cumsum = nd.cumsum %x {axis = 0} : tensor<4x8xf32>
  %cumsum = nd.cumsum %x {axis = 0} : tensor<4x8xf32>
  // CHECK: %cumprod = nd.cumprod %x {axis = 1} : tensor<4x8xf32>
  %cumprod = nd.cumprod %x {axis = 1} : tensor<4x8xf32>
  // CHECK: %sort = nd.sort %x {axis = 1} : tensor<4x8xf32>
  %sort = nd.sort %x {axis = 1} : tensor<4x8xf32>
  // CHECK: %values, %indices = nd.topk %x {k = 2, axis = 1} : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %values, %indices = nd.topk %x {k = 2, axis = 1} : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi64>)

  // made

  // CHECK: %extent = nd.extent {extent = 521 : index} : tensor<2xi64>
  %extent = nd.extent {extent = 521 : index} : tensor<2xi64>
  // CHECK: %splat = nd.constant 1.5 : tensor<65536x65536xbf16>
  %splat = nd.constant 1.5 : tensor<65536x65536xbf16>
  // CHECK: %inf = nd.constant -inf : tensor<2xf32>
  %inf = nd.constant -inf : tensor<2xf32>
  // CHECK: %nan = nd.constant nan : tensor<f64>
  %nan = nd.constant nan : tensor<f64>
  // CHECK: %small = nd.constant 1.0e-05 : tensor<f32>
  %small = nd.constant 1.0e-05 : tensor<f32>
  // CHECK: %tenth = nd.constant 0.1 : tensor<3xf32>
  %tenth = nd.constant 0.1 : tensor<3xf32>
  // CHECK: %true = nd.constant true : tensor<3xi1>
  %true = nd.constant true : tensor<3xi1>
  // CHECK: %byte = nd.constant 255 : tensor<ui8>
  %byte = nd.constant 255 : tensor<ui8>
  // CHECK: %list = nd.constant [1, 2, -3] : tensor<3xi8>
  %list = nd.constant [1, 2, -3] : tensor<3xi8>
  // CHECK: %empty = nd.constant 0.0 : tensor<0x4xf32>
  %empty = nd.constant 0.0 : tensor<0x4xf32>
  // CHECK: %iota = nd.iota {axis = 1} : tensor<2x5xi32>
  %iota = nd.iota {axis = 1} : tensor<2x5xi32>
  %seed = nd.constant -1 : tensor<i64>
  // CHECK: %normal = nd.random_normal %seed : tensor<i64> -> tensor<4xf32>
  %normal = nd.random_normal %seed : tensor<i64> -> tensor<4xf32>
  // CHECK: %uniform = nd.random_uniform %seed : tensor<i64> -> tensor<4xf64>
  %uniform = nd.random_uniform %seed : tensor<i64> -> tensor<4xf64>

  // linear

  // CHECK: %matmul = nd.matmul %x, %y {lhs_contract = [1], rhs_contract = [1]} : tensor<4x8xf32> -> tensor<4x4xf32>
  %matmul = nd.matmul %x, %y {lhs_contract = [1], rhs_contract = [1]} : tensor<4x8xf32> -> tensor<4x4xf32>
  // CHECK: %batched = nd.matmul %x, %y {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1], precision = "tf32"} : tensor<4x8xf32> -> tensor<4xf32>
  %batched = nd.matmul %x, %y {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1], precision = "tf32"} : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: %short = nd.matmul %h, %h {lhs_contract = [1], rhs_contract = [1], precision = "f16"} : tensor<4x8xf16> -> tensor<4x4xf16>
  %h = nd.cast %x : tensor<4x8xf32> -> tensor<4x8xf16>
  %short = nd.matmul %h, %h {lhs_contract = [1], rhs_contract = [1], precision = "f16"} : tensor<4x8xf16> -> tensor<4x4xf16>
  // CHECK: %grouped = nd.grouped_matmul %x, %matrices, %ends {rhs_contract = 2, precision = "tf32"} : (tensor<4x8xf32>, tensor<3x5x8xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  %grouped = nd.grouped_matmul %x, %matrices, %ends {lhs_contract = 1, rhs_contract = 2, precision = "tf32"} : (tensor<4x8xf32>, tensor<3x5x8xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  // CHECK: %over_rows = nd.grouped_matmul %x, %y, %ends {lhs_contract = 0, rhs_contract = 0} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8x8xf32>
  %over_rows = nd.grouped_matmul %x, %y, %ends {lhs_contract = 0, rhs_contract = 0} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8x8xf32>
  // CHECK: %conv = nd.conv %image, %kernel {strides = [1, 2], low = [1, 0], high = [1, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x3x8x8xf32>, tensor<6x3x3x2xf32>) -> tensor<2x6x8x4xf32>
  %conv = nd.conv %image, %kernel {strides = [1, 2], low = [1, 0], high = [1, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x3x8x8xf32>, tensor<6x3x3x2xf32>) -> tensor<2x6x8x4xf32>
  // CHECK: %last = nd.conv %image, %kernel {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 1, 3, 2], result_axes = [0, 3, 1, 2], flipped = true} : (tensor<2x3x8x8xf32>, tensor<6x3x3x2xf32>) -> tensor<2x6x7x6xf32>
  %last = nd.conv %image, %kernel {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [0, 1, 3, 2], result_axes = [0, 3, 1, 2], flipped = true} : (tensor<2x3x8x8xf32>, tensor<6x3x3x2xf32>) -> tensor<2x6x7x6xf32>
  // CHECK: %parts = nd.conv %image, %kernel {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, batch_groups = 2, parts = [1, 3]} : (tensor<2x3x8x8xf32>, tensor<6x3x3x2xf32>) -> tensor<1x3x1x6x6x7xf32>
  %parts = nd.conv %image, %kernel {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, batch_groups = 2, parts = [1, 3]} : (tensor<2x3x8x8xf32>, tensor<6x3x3x2xf32>) -> tensor<1x3x1x6x6x7xf32>

  // composed

  // CHECK: %softmax = nd.softmax %x {axis = 1} : tensor<4x8xf32>
  %softmax = nd.softmax %x {axis = 1} : tensor<4x8xf32>
  // CHECK: %log_softmax = nd.log_softmax %x {axis = 0} : tensor<4x8xf32>
  %log_softmax = nd.log_softmax %x {axis = 0} : tensor<4x8xf32>
  // CHECK: %layer_norm = nd.layer_norm %x {axis = 1, eps = 1.0e-05} : tensor<4x8xf32>
  %layer_norm = nd.layer_norm %x {axis = 1, eps = 1.0e-05} : tensor<4x8xf32>
  // CHECK: %rms_norm = nd.rms_norm %x {axis = 1, eps = 1.0e-06} : tensor<4x8xf32>
  %rms_norm = nd.rms_norm %x {axis = 1, eps = 1.0e-06} : tensor<4x8xf32>
  // CHECK: %attention = nd.attention %x, %y, %y {causal = true, scale = 0.125} : tensor<4x8xf32>
  %attention = nd.attention %x, %y, %y {causal = true, scale = 0.125} : tensor<4x8xf32>
  // CHECK: %masked = nd.attention %x, %y, %y, %seen {causal = true, scale = 0.125, window = 2} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xi1>) -> tensor<4x8xf32>
  %masked = nd.attention %x, %y, %y, %seen {causal = true, scale = 0.125, window = 2} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xi1>) -> tensor<4x8xf32>
  // CHECK: %sums = nd.attention_log_sum_exp %heads, %keys {causal = false, scale = 1.0} : (tensor<3x4x8xbf16>, tensor<5x8xbf16>) -> tensor<3x4xf32>
  %sums = nd.attention_log_sum_exp %heads, %keys {causal = false, scale = 1.0} : (tensor<3x4x8xbf16>, tensor<5x8xbf16>) -> tensor<3x4xf32>
  // CHECK: %weights = nd.attention_weights %heads, %keys, %sums {causal = false, scale = 1.0} : (tensor<3x4x8xbf16>, tensor<5x8xbf16>, tensor<3x4xf32>) -> tensor<3x4x5xbf16>
  %weights = nd.attention_weights %heads, %keys, %sums {causal = false, scale = 1.0} : (tensor<3x4x8xbf16>, tensor<5x8xbf16>, tensor<3x4xf32>) -> tensor<3x4x5xbf16>

  // CHECK: %windows = nd.reduce_window %image {window = [1, 1, 3, 2], strides = [1, 1, 2, 1], low = [0, 0, 1, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 2], input_dilation = [1, 1, 1, 1], monoid = "max"} : tensor<2x3x8x8xf32> -> tensor<2x3x4x6xf32>
  %windows = nd.reduce_window %image {window = [1, 1, 3, 2], strides = [1, 1, 2, 1], low = [0, 0, 1, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 2], input_dilation = [1, 1, 1, 1], monoid = "max"} : tensor<2x3x8x8xf32> -> tensor<2x3x4x6xf32>

  // CHECK: %square = nd.constant {{\[\[}}1.0, 2.0], [nan, 0.5]] : tensor<2x2xf32>
  %square = nd.constant [[1.0, 2.0], [nan, 5.0e-01]] : tensor<2x2xf32>
  // CHECK: %bytes = nd.constant [1, 2] : tensor<2xi16>
  %bytes = nd.constant "0x01000200" : tensor<2xi16>
  // CHECK: %same = nd.constant 3 : tensor<2xi32>
  %same = nd.constant [3, 3] : tensor<2xi32>

  // CHECK: %first, %second = nd.all_reduce %x, %x {monoid = "sum", over = "data,model"} : tensor<4x8xf32>
  %first, %second = nd.all_reduce %x, %x {monoid = "sum", over = "data,model"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: %gathered = nd.all_gather %x {over = "data"} : tensor<4x8xf32> -> tensor<8x8xf32>
  %gathered = nd.all_gather %x {over = "data"} : tensor<4x8xf32> -> tensor<8x8xf32>
  // CHECK: %scattered = nd.reduce_scatter %x {monoid = "max", over = "data"} : tensor<4x8xf32> -> tensor<2x8xf32>
  %scattered = nd.reduce_scatter %x {monoid = "max", over = "data"} : tensor<4x8xf32> -> tensor<2x8xf32>
  func.return
}
