// RUN: irc-opt %s -p decompose-nd | filecheck %s
// RUN: irc-opt %s -p 'decompose-nd{keep=softmax,gelu}' | filecheck %s --check-prefix=KEEP
// RUN: irc-opt %s -p decompose-nd --arch cpu | filecheck %s --check-prefix=CPU

// softmax subtracts the maximum; bf16 is computed in f32, with one deferred cast at the end.
// CHECK-LABEL: func.func @softmax
// CHECK:         %[[X:.*]] = nd.cast %x {nd.deferred} : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.max %[[X]] {axes = [1]}
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[M]] {dims = [0]}
// CHECK-NEXT:    %[[D:.*]] = nd.sub %[[X]], %[[B]]
// CHECK-NEXT:    %[[E:.*]] = nd.exp %[[D]]
// CHECK-NEXT:    %[[S:.*]] = nd.sum %[[E]] {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.reciprocal %[[S]]
// CHECK-NEXT:    %[[T:.*]] = nd.broadcast %[[R]] {dims = [0]}
// CHECK-NEXT:    %[[Q:.*]] = nd.mul %[[E]], %[[T]]
// CHECK-NEXT:    nd.cast %[[Q]] {nd.deferred} : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK-NEXT:    func.return
// KEEP-LABEL: func.func @softmax
// KEEP-NEXT:    nd.softmax
func.func @softmax(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %r = nd.softmax %x {axis = 1} : tensor<4x8xbf16>
  func.return %r : tensor<4x8xbf16>
}

// The variance in two passes: deviations first. The divisor is count - correction.
// CHECK-LABEL: func.func @var
// CHECK:         nd.sum %x {axes = [1]}
// CHECK-NEXT:    nd.constant 8.0
// CHECK-NEXT:    nd.div
// CHECK-NEXT:    nd.broadcast
// CHECK-NEXT:    %[[D:.*]] = nd.sub %x
// CHECK-NEXT:    nd.mul %[[D]], %[[D]]
// CHECK-NEXT:    nd.sum
// CHECK-NEXT:    nd.constant 7.0
// CHECK-NEXT:    nd.div
// CHECK-NEXT:    func.return
func.func @var(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %r = nd.var %x {axes = [1], correction = 1} : tensor<4x8xf32> -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// Of columns in one pass, about the middle one of three elements: a block does not hold a column to read it again.
// CHECK-LABEL: func.func @var_of_columns
// CHECK:         nd.slice %x {starts = [0, 0], stops = [1, 8], steps = [1, 1]}
// CHECK:         nd.slice %x {starts = [1, 0], stops = [2, 8], steps = [1, 1]}
// CHECK:         nd.slice %x {starts = [3, 0], stops = [4, 8], steps = [1, 1]}
// CHECK:         %[[C:.*]] = nd.sub %x
// CHECK-NEXT:    %[[S:.*]] = nd.sum %[[C]] {axes = [0]}
// CHECK-NEXT:    %[[Q:.*]] = nd.mul %[[C]], %[[C]]
// CHECK-NEXT:    nd.sum %[[Q]] {axes = [0]}
// CHECK-NEXT:    nd.mul %[[S]], %[[S]]
// CHECK:         nd.maximum
// CHECK:         func.return
func.func @var_of_columns(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %r = nd.var %x {axes = [0], correction = 1} : tensor<4x8xf32> -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// So is what is an array of columns in another type or shape, with the mean of the same; that is of the same sum.
// CHECK-LABEL: func.func @mean_and_var
// CHECK:         %[[X:.*]] = nd.cast %x
// CHECK:         %[[M:.*]] = nd.sub %[[X]]
// CHECK-NEXT:    nd.sum %[[M]] {axes = [0]}
// CHECK:         %[[V:.*]] = nd.sub %[[X]]
// CHECK-NEXT:    nd.sum %[[V]] {axes = [0]}
// CHECK-NEXT:    nd.mul %[[V]], %[[V]]
// CHECK:         func.return
func.func @mean_and_var(%x: tensor<4x8xbf16>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c = nd.cast %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %m = nd.mean %c {axes = [0]} : tensor<4x8xf32> -> tensor<8xf32>
  %r = nd.var %c {axes = [0], correction = 0} : tensor<4x8xf32> -> tensor<8xf32>
  func.return %m, %r : tensor<8xf32>, tensor<8xf32>
}

// What is computed is not sliced for a pivot, but summed twice.
// CHECK-LABEL: func.func @var_of_computed_columns
// CHECK-NOT:     nd.slice
// CHECK:         func.return
func.func @var_of_computed_columns(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %c = nd.exp %x : tensor<4x8xf32>
  %r = nd.var %c {axes = [0], correction = 0} : tensor<4x8xf32> -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// Indices are clamped; a u8 is widened, so that 300 classes can be counted.
// CHECK-LABEL: func.func @one_hot
// CHECK-NEXT:    %[[I:.*]] = nd.cast %i : tensor<4xui8> -> tensor<4xi32>
// CHECK:         nd.maximum %[[I]]
// CHECK:         nd.constant 299
// CHECK-NEXT:    nd.minimum
// CHECK-NEXT:    nd.broadcast
// CHECK-NEXT:    nd.iota {axis = 1} : tensor<4x300xi32>
// CHECK-NEXT:    nd.equal
// CHECK-NEXT:    nd.cast {{.*}} -> tensor<4x300xf32>
func.func @one_hot(%i: tensor<4xui8>) -> tensor<4x300xf32> {
  %r = nd.one_hot %i : tensor<4xui8> -> tensor<4x300xf32>
  func.return %r : tensor<4x300xf32>
}

// CHECK-LABEL: func.func @shapes
// CHECK:         nd.less_equal
// CHECK:         nd.where
// CHECK:         nd.broadcast {{.*}} {dims = [1, 2]} : tensor<4x4xf32> -> tensor<3x4x4xf32>
// CHECK-NEXT:    nd.reshape {{.*}} -> tensor<12x4xf32>
func.func @shapes(%x: tensor<4x4xf32>) -> tensor<12x4xf32> {
  %t = nd.tril %x {k = -1} : tensor<4x4xf32>
  %r = nd.tile %t {reps = [3, 1]} : tensor<4x4xf32> -> tensor<12x4xf32>
  func.return %r : tensor<12x4xf32>
}

// What composes nothing stays, and so does what runs on the cpu target alone.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT:    nd.relu
// CHECK-NEXT:    nd.sigmoid
// CHECK-NEXT:    nd.expm1
// CHECK-NEXT:    nd.log1p
// CHECK-NEXT:    nd.reciprocal
// CHECK-NEXT:    nd.sort
// CHECK-NEXT:    func.return
func.func @left_alone(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = nd.relu %x : tensor<4x8xf32>
  %b = nd.sigmoid %a : tensor<4x8xf32>
  %c = nd.expm1 %b : tensor<4x8xf32>
  %d = nd.log1p %c : tensor<4x8xf32>
  %e = nd.reciprocal %d : tensor<4x8xf32>
  %f = nd.sort %e {axis = 1} : tensor<4x8xf32>
  func.return %f : tensor<4x8xf32>
}

// Attention is two products with a masked softmax between them.
// CHECK-LABEL: func.func @attention
// CHECK-NEXT:    [[S:%[0-9]+]] = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<2x4x8xbf16> -> tensor<2x4x4xf32>
// CHECK:         nd.less_equal
// CHECK:         nd.where
// CHECK:         nd.max
// CHECK:         [[W:%[0-9]+]] = nd.cast {{.*}} -> tensor<2x4x4xbf16>
// CHECK-NEXT:    nd.matmul [[W]], %v {{.*}} -> tensor<2x4x8xf32>
// CHECK-NEXT:    nd.cast {{.*}} -> tensor<2x4x8xbf16>
func.func @attention(%q: tensor<2x4x8xbf16>, %k: tensor<2x4x8xbf16>, %v: tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16> {
  %r = nd.attention %q, %k, %v {causal = true, scale = 1.0} : tensor<2x4x8xbf16>
  func.return %r : tensor<2x4x8xbf16>
}

// Heads of q that share keys are an axis of their own.
// CHECK-LABEL: func.func @shared_keys
// CHECK:         [[Q:%[0-9]+]] = nd.reshape %q : tensor<6x4x8xbf16> -> tensor<2x3x4x8xbf16>
// CHECK-NEXT:    [[S:%[0-9]+]] = nd.matmul [[Q]], %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [3], rhs_contract = [2]} : (tensor<2x3x4x8xbf16>, tensor<2x5x8xbf16>) -> tensor<2x3x4x5xf32>
// CHECK:         nd.matmul {{.*}}, %v {{.*}} -> tensor<2x3x4x8xf32>
// CHECK:         nd.reshape {{.*}} -> tensor<6x4x8x
func.func @shared_keys(%q: tensor<6x4x8xbf16>, %k: tensor<2x5x8xbf16>, %v: tensor<2x5x8xbf16>) -> tensor<6x4x8xbf16> {
  %r = nd.attention %q, %k, %v {causal = false, scale = 1.0} : (tensor<6x4x8xbf16>, tensor<2x5x8xbf16>, tensor<2x5x8xbf16>) -> tensor<6x4x8xbf16>
  func.return %r : tensor<6x4x8xbf16>
}

// A bias is added, or says what is seen; a window ends before and behind the row's own place. Rows that may see nothing
// are 0 then.
// CHECK-LABEL: func.func @masked
// CHECK:         [[S:%[0-9]+]] = nd.mul
// CHECK:         [[B:%[0-9]+]] = nd.cast %b {nd.deferred} : tensor<4x5xbf16> -> tensor<4x5xf32>
// CHECK-NEXT:    [[T:%[0-9]+]] = nd.add [[S]], [[B]]
// CHECK:         [[R:%[0-9]+]] = nd.iota {axis = 0}
// CHECK-NEXT:    [[C:%[0-9]+]] = nd.iota {axis = 1}
// CHECK:         [[E:%[0-9]+]] = nd.add [[R]], {{.*}} : tensor<4x5xi32>
// CHECK-NEXT:    [[L:%[0-9]+]] = nd.less [[C]], [[E]]
// CHECK:         [[F:%[0-9]+]] = nd.sub [[R]], {{.*}} : tensor<4x5xi32>
// CHECK-NEXT:    [[G:%[0-9]+]] = nd.greater [[C]], [[F]]
// CHECK-NEXT:    [[SEEN:%[0-9]+]] = nd.bitwise_and [[L]], [[G]]
// CHECK-NEXT:    [[X:%[0-9]+]] = nd.where [[SEEN]], [[T]], {{.*}}
// CHECK:         nd.matmul {{.*}}, %v
// CHECK:         [[M:%[0-9]+]] = nd.max [[X]] {axes = [1]}
// CHECK:         nd.equal [[M]]
// CHECK:         nd.where {{.*}} : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    nd.cast
// CHECK-NEXT:    func.return
func.func @masked(%q: tensor<4x8xbf16>, %k: tensor<5x8xbf16>, %v: tensor<5x8xbf16>, %b: tensor<4x5xbf16>) -> tensor<4x8xbf16> {
  %r = nd.attention %q, %k, %v, %b {causal = false, scale = 0.5, window = 3} : (tensor<4x8xbf16>, tensor<5x8xbf16>, tensor<5x8xbf16>, tensor<4x5xbf16>) -> tensor<4x8xbf16>
  func.return %r : tensor<4x8xbf16>
}

// A cap of the scores: 0.5 / 20 before the tangent, 20 behind it, before the bias.
// CHECK-LABEL: func.func @capped
// CHECK:         [[S:%[0-9]+]] = nd.matmul %q, %k
// CHECK-NEXT:    [[C:%[0-9]+]] = nd.constant 0.025
// CHECK-NEXT:    [[P:%[0-9]+]] = nd.mul [[S]], [[C]]
// CHECK-NEXT:    [[T:%[0-9]+]] = nd.tanh [[P]]
// CHECK-NEXT:    [[D:%[0-9]+]] = nd.constant 20.0
// CHECK-NEXT:    [[X:%[0-9]+]] = nd.mul [[T]], [[D]]
// CHECK:         nd.add [[X]], {{.*}} : tensor<4x5xf32>
func.func @capped(%q: tensor<4x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x8xf32>, %b: tensor<4x5xf32>) -> tensor<4x8xf32> {
  %r = nd.attention %q, %k, %v, %b {causal = false, scale = 0.5, soft_cap = 20.0} : (tensor<4x8xf32>, tensor<5x8xf32>, tensor<5x8xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}

// Weights of a row that sees nothing, whose sum is -inf, are 0.
// CHECK-LABEL: func.func @masked_weights
// CHECK:         [[S:%[0-9]+]] = nd.where %b, {{.*}} : (tensor<4x5xi1>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
// CHECK:         [[H:%[0-9]+]] = nd.equal %l
// CHECK-NEXT:    [[I:%[0-9]+]] = nd.constant inf : tensor<4xf32>
// CHECK-NEXT:    [[L:%[0-9]+]] = nd.where [[H]], [[I]], %l
// CHECK-NEXT:    [[R:%[0-9]+]] = nd.broadcast [[L]] {dims = [0]}
// CHECK-NEXT:    nd.sub [[S]], [[R]]
// CHECK-NEXT:    nd.exp
func.func @masked_weights(%q: tensor<4x8xbf16>, %k: tensor<5x8xbf16>, %l: tensor<4xf32>, %b: tensor<4x5xi1>) -> tensor<4x5xbf16> {
  %r = nd.attention_weights %q, %k, %l, %b {causal = false, scale = 1.0} : (tensor<4x8xbf16>, tensor<5x8xbf16>, tensor<4xf32>, tensor<4x5xi1>) -> tensor<4x5xbf16>
  func.return %r : tensor<4x5xbf16>
}

// The logarithm of the sums is of the exponentials that attention has: in f32, and as accurate as the factors are.
// CHECK-LABEL: func.func @log_sum_exp
// CHECK-NEXT:    [[S:%[0-9]+]] = nd.matmul %q, %k {{.*}} -> tensor<3x4x5xf32>
// CHECK:         [[M:%[0-9]+]] = nd.max
// CHECK:         [[E:%[0-9]+]] = nd.exp {{.*}} {nd.relaxed} : tensor<3x4x5xf32>
// CHECK-NEXT:    [[T:%[0-9]+]] = nd.sum [[E]] {axes = [2]}
// CHECK-NEXT:    [[L:%[0-9]+]] = nd.log [[T]] {nd.relaxed}
// CHECK-NEXT:    nd.add [[M]], [[L]] : tensor<3x4xf32>
// CHECK-NEXT:    func.return
func.func @log_sum_exp(%q: tensor<3x4x8xbf16>, %k: tensor<5x8xbf16>) -> tensor<3x4xf32> {
  %r = nd.attention_log_sum_exp %q, %k {causal = false, scale = 1.0} : (tensor<3x4x8xbf16>, tensor<5x8xbf16>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// Of f32 nothing is approximated.
// CHECK-LABEL: func.func @log_sum_exp_of_f32
// CHECK:         nd.exp %{{[0-9]+}} : tensor<4x5xf32>
// CHECK:         nd.log %{{[0-9]+}} : tensor<4xf32>
func.func @log_sum_exp_of_f32(%q: tensor<4x8xf32>, %k: tensor<5x8xf32>) -> tensor<4xf32> {
  %r = nd.attention_log_sum_exp %q, %k {causal = false, scale = 1.0} : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @weights
// CHECK-NEXT:    [[S:%[0-9]+]] = nd.matmul %q, %k {{.*}} -> tensor<4x5xf32>
// CHECK:         [[L:%[0-9]+]] = nd.broadcast %l {dims = [0]} : tensor<4xf32> -> tensor<4x5xf32>
// CHECK-NEXT:    [[D:%[0-9]+]] = nd.sub {{.*}}, [[L]]
// CHECK-NEXT:    [[E:%[0-9]+]] = nd.exp [[D]] {nd.relaxed}
// CHECK-NEXT:    nd.cast [[E]] {nd.deferred} : tensor<4x5xf32> -> tensor<4x5xbf16>
// CHECK-NEXT:    func.return
func.func @weights(%q: tensor<4x8xbf16>, %k: tensor<5x8xbf16>, %l: tensor<4xf32>) -> tensor<4x5xbf16> {
  %r = nd.attention_weights %q, %k, %l {causal = false, scale = 1.0} : (tensor<4x8xbf16>, tensor<5x8xbf16>, tensor<4xf32>) -> tensor<4x5xbf16>
  func.return %r : tensor<4x5xbf16>
}

// Each place adds the updates whose index it is, in f32; a table of zeros is not added.
// Many columns: each update finds the one before it, and the chains are added up in rounds. A CPU adds one update after
// another there.
// CPU-LABEL:   func.func @scatter_rows
// CPU-NOT:       nd.max
// CPU:           nd.scatter_add
// CPU-LABEL:   func.func @scatter_add
// CPU-NOT:       nd.scatter_add
// CPU-LABEL:   func.func @scatter_zeros
// CHECK-LABEL: func.func @scatter_rows
// CHECK-NOT:     tensor<50257x4096x
// CHECK:         %[[L:.*]] = nd.max %{{.*}} {axes = [1]} : tensor<4096x4096xi32> -> tensor<4096xi32>
// CHECK:         %[[E:.*]] = nd.max %{{.*}} {axes = [1]} : tensor<50257x4096xi32> -> tensor<50257xi32>
// CHECK:         nd.take %[[L]], %[[L]] {axis = 0}
// CHECK:         %[[R:.*]] = nd.take %{{.*}}, %[[E]] {axis = 0} : (tensor<4096x768xf32>, tensor<50257xi32>) -> tensor<50257x768xf32>
func.func @scatter_rows(%i: tensor<4096xi64>, %u: tensor<4096x768xf32>) -> tensor<50257x768xf32> {
  %x = nd.constant 0.0 : tensor<50257x768xf32>
  %r = nd.scatter_add %x, %i, %u {axis = 0} : (tensor<50257x768xf32>, tensor<4096xi64>, tensor<4096x768xf32>) -> tensor<50257x768xf32>
  func.return %r : tensor<50257x768xf32>
}

// CHECK-LABEL: func.func @scatter_add
// CHECK:         nd.minimum
// CHECK:         %[[P:.*]] = nd.iota {axis = 0} : tensor<9x6x4xi32>
// CHECK:         %[[H:.*]] = nd.equal %[[P]]
// CHECK:         %[[W:.*]] = nd.where %[[H]]
// CHECK-NEXT:    %[[S:.*]] = nd.sum %[[W]] {axes = [1]} : tensor<9x6x4xf32> -> tensor<9x4xf32>
// CHECK-NEXT:    %[[X:.*]] = nd.cast %x {nd.deferred}
// CHECK-NEXT:    %[[A:.*]] = nd.add %[[X]], %[[S]]
// CHECK-NEXT:    nd.cast %[[A]] {nd.deferred}
// CHECK-LABEL: func.func @scatter_zeros
// CHECK-NOT:     nd.add
// CHECK:         func.return
func.func @scatter_add(%x: tensor<9x4xbf16>, %i: tensor<2x3xi32>, %u: tensor<2x3x4xbf16>) -> tensor<9x4xbf16> {
  %r = nd.scatter_add %x, %i, %u {axis = 0} : (tensor<9x4xbf16>, tensor<2x3xi32>, tensor<2x3x4xbf16>) -> tensor<9x4xbf16>
  func.return %r : tensor<9x4xbf16>
}
func.func @scatter_zeros(%i: tensor<3xi64>, %u: tensor<3xf32>) -> tensor<9xf32> {
  %x = nd.constant 0.0 : tensor<9xf32>
  %r = nd.scatter_add %x, %i, %u {axis = 0} : (tensor<9xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<9xf32>
  func.return %r : tensor<9xf32>
}

// gelu by tanh, written out: half of tanh + 1 is a sigmoid, where nothing else reads the tanh.
// CHECK-LABEL: func.func @gate
// CHECK:         %[[U:.*]] = nd.mul %u, {{.*}} : tensor<8xf32>
// CHECK-NEXT:    %[[S:.*]] = nd.sigmoid %[[U]]
// CHECK-NEXT:    %[[R:.*]] = nd.mul %x, %[[S]]
// CHECK-NEXT:    func.return %[[R]]
// CHECK-LABEL: func.func @half_gate
// CHECK:         nd.sigmoid
// CHECK-NOT:     nd.add
// CHECK:         func.return
// CHECK-LABEL: func.func @gate_of_another_sum
// CHECK-NOT:     nd.sigmoid
// CHECK:         func.return
// CHECK-LABEL: func.func @gate_whose_tanh_is_read
// CHECK-NOT:     nd.sigmoid
// CHECK:         func.return
func.func @gate(%x: tensor<8xf32>, %u: tensor<8xf32>) -> tensor<8xf32> {
  %half = nd.constant 0.5 : tensor<8xf32>
  %one = nd.constant 1.0 : tensor<8xf32>
  %h = nd.mul %x, %half : tensor<8xf32>
  %t = nd.tanh %u : tensor<8xf32>
  %g = nd.add %t, %one : tensor<8xf32>
  %r = nd.mul %h, %g : tensor<8xf32>
  func.return %r : tensor<8xf32>
}
func.func @half_gate(%x: tensor<8xf32>, %u: tensor<8xf32>) -> tensor<8xf32> {
  %half = nd.constant 0.5 : tensor<8xf32>
  %one = nd.constant 1.0 : tensor<8xf32>
  %t = nd.tanh %u : tensor<8xf32>
  %g = nd.add %t, %one : tensor<8xf32>
  %r = nd.mul %g, %half : tensor<8xf32>
  func.return %r : tensor<8xf32>
}
func.func @gate_of_another_sum(%x: tensor<8xf32>, %u: tensor<8xf32>) -> tensor<8xf32> {
  %half = nd.constant 0.5 : tensor<8xf32>
  %two = nd.constant 2.0 : tensor<8xf32>
  %h = nd.mul %x, %half : tensor<8xf32>
  %t = nd.tanh %u : tensor<8xf32>
  %g = nd.add %t, %two : tensor<8xf32>
  %r = nd.mul %h, %g : tensor<8xf32>
  func.return %r : tensor<8xf32>
}
func.func @gate_whose_tanh_is_read(%x: tensor<8xf32>, %u: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %half = nd.constant 0.5 : tensor<8xf32>
  %one = nd.constant 1.0 : tensor<8xf32>
  %h = nd.mul %x, %half : tensor<8xf32>
  %t = nd.tanh %u : tensor<8xf32>
  %g = nd.add %t, %one : tensor<8xf32>
  %r = nd.mul %h, %g : tensor<8xf32>
  func.return %r, %t : tensor<8xf32>, tensor<8xf32>
}

// A reorder is a take; its inverse is for gradients.
// CHECK-LABEL: func.func @reorder
// CHECK-NEXT:    nd.take %x, %o {axis = 1} : (tensor<4x8xf32>, tensor<8xi32>) -> tensor<4x8xf32>
// CHECK-NEXT:    func.return
func.func @reorder(%x: tensor<4x8xf32>, %o: tensor<8xi32>, %i: tensor<8xi32>) -> tensor<4x8xf32> {
  %r = nd.reorder %x, %o, %i {axis = 1} : (tensor<4x8xf32>, tensor<8xi32>, tensor<8xi32>) -> tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}
