// RUN: irc-opt %s -p canonicalize-nd | filecheck %s

// CHECK-LABEL: func.func @permutes
// CHECK-NEXT:    %[[A:.*]] = nd.reshape %x : tensor<1x4x8xf32> -> tensor<4x8x1xf32>
// CHECK-NEXT:    func.return %x, %[[A]]
func.func @permutes(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<4x8x1xf32>) {
  %a = nd.permute %x {permutation = [2, 1, 0]} : tensor<1x4x8xf32> -> tensor<8x4x1xf32>
  %b = nd.permute %a {permutation = [2, 1, 0]} : tensor<8x4x1xf32> -> tensor<1x4x8xf32>
  %c = nd.permute %x {permutation = [1, 2, 0]} : tensor<1x4x8xf32> -> tensor<4x8x1xf32>
  func.return %b, %c : tensor<1x4x8xf32>, tensor<4x8x1xf32>
}

// keepdims and its broadcast are one broadcast; a broadcast that repeats nothing is a reshape.
// CHECK-LABEL: func.func @broadcasts
// CHECK-NEXT:    %[[A:.*]] = nd.broadcast %x {dims = [0]} : tensor<4xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.reshape %x : tensor<4xf32> -> tensor<1x4xf32>
// CHECK-NEXT:    func.return %[[A]], %[[B]]
func.func @broadcasts(%x: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<1x4xf32>) {
  %a = nd.reshape %x : tensor<4xf32> -> tensor<4x1xf32>
  %b = nd.broadcast %a {dims = [0, 1]} : tensor<4x1xf32> -> tensor<4x8xf32>
  %c = nd.broadcast %x {dims = [1]} : tensor<4xf32> -> tensor<1x4xf32>
  func.return %b, %c : tensor<4x8xf32>, tensor<1x4xf32>
}

// Work goes before a broadcast; with an operand that is not one it stays after it.
// CHECK-LABEL: func.func @work
// CHECK-NEXT:    %[[E:.*]] = nd.exp %x : tensor<4xf32>
// CHECK-NEXT:    %[[C:.*]] = nd.constant 2.0 : tensor<4xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.mul %[[E]], %[[C]] : tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[M]] {dims = [0]} : tensor<4xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    nd.add %[[B]], %y : tensor<4x8xf32>
func.func @work(%x: tensor<4xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = nd.constant 2.0 : tensor<4x8xf32>
  %a = nd.broadcast %x {dims = [0]} : tensor<4xf32> -> tensor<4x8xf32>
  %b = nd.exp %a : tensor<4x8xf32>
  %d = nd.mul %c, %b : tensor<4x8xf32>
  %e = nd.add %d, %y : tensor<4x8xf32>
  func.return %e : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @slices
// CHECK-NEXT:    %[[A:.*]] = nd.slice %x {starts = [3], stops = [8], steps = [4]} : tensor<16xf32> -> tensor<2xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.slice %x {starts = [1], stops = [5], steps = [1]}
// CHECK-NEXT:    func.return %[[A]], %[[B]]
func.func @slices(%x: tensor<16xf32>, %y: tensor<4xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
  %a = nd.slice %x {starts = [1], stops = [16], steps = [2]} : tensor<16xf32> -> tensor<8xf32>
  %b = nd.slice %a {starts = [1], stops = [4], steps = [2]} : tensor<8xf32> -> tensor<2xf32>
  %c = nd.concat %y, %x {axis = 0} : (tensor<4xf32>, tensor<16xf32>) -> tensor<20xf32>
  %d = nd.slice %c {starts = [5], stops = [9], steps = [1]} : tensor<20xf32> -> tensor<4xf32>
  func.return %b, %d : tensor<2xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    func.return %x, %x, %x, %x
func.func @nothing(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %z = nd.constant 0.0 : tensor<f32>
  %a = nd.slice %x {starts = [0, 0], stops = [4, 8], steps = [1, 1]} : tensor<4x8xf32>
  %b = nd.pad %x, %z {low = [0, 0], high = [0, 0]} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %c = nd.concat %x {axis = 0} : tensor<4x8xf32>
  %d = nd.flip %x {axes = [0]} : tensor<4x8xf32>
  %e = nd.flip %d {axes = [0]} : tensor<4x8xf32>
  func.return %a, %b, %c, %e : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A permute of axes that matter, a reshape that merges repeated axes, a slice across two operands: left alone.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT:    nd.permute
// CHECK-NEXT:    nd.broadcast
// CHECK-NEXT:    nd.reshape
// CHECK-NEXT:    nd.concat
// CHECK-NEXT:    nd.slice
// CHECK-NEXT:    func.return
func.func @left_alone(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<12x8xf32>, tensor<2x8xf32>) {
  %a = nd.permute %x {permutation = [1, 0]} : tensor<4x8xf32> -> tensor<8x4xf32>
  %b = nd.broadcast %x {dims = [1, 2]} : tensor<4x8xf32> -> tensor<3x4x8xf32>
  %c = nd.reshape %b : tensor<3x4x8xf32> -> tensor<12x8xf32>
  %d = nd.concat %x, %x {axis = 0} : tensor<4x8xf32> -> tensor<8x8xf32>
  %e = nd.slice %d {starts = [3, 0], stops = [5, 8], steps = [1, 1]} : tensor<8x8xf32> -> tensor<2x8xf32>
  func.return %a, %c, %e : tensor<8x4xf32>, tensor<12x8xf32>, tensor<2x8xf32>
}

// Axes of extent 1 are dropped between a reduction and the broadcast of what is computed from it.
// CHECK-LABEL: func.func @keepdims
// CHECK-NEXT:    %[[S:.*]] = nd.sum %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.rsqrt %[[S]] : tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[R]] {dims = [0]} : tensor<4xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    nd.mul %x, %[[B]]
func.func @keepdims(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = nd.sum %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  %k = nd.reshape %s : tensor<4xf32> -> tensor<4x1xf32>
  %r = nd.rsqrt %k : tensor<4x1xf32>
  %b = nd.broadcast %r {dims = [0, 1]} : tensor<4x1xf32> -> tensor<4x8xf32>
  %m = nd.mul %x, %b : tensor<4x8xf32>
  func.return %m : tensor<4x8xf32>
}

// A rounding goes next to what computes the value; work on a reshape that splits an axis of an argument stays.
// CHECK-LABEL: func.func @reshapes
// CHECK-NEXT:    %[[V:.*]] = nd.reshape %x : tensor<16xf32> -> tensor<4x4xf32>
// CHECK-NEXT:    %[[E:.*]] = nd.exp %[[V]] : tensor<4x4xf32>
// CHECK-NEXT:    %[[C:.*]] = nd.cast %[[E]] : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK-NEXT:    nd.reshape %[[C]] : tensor<4x4xbf16> -> tensor<2x8xbf16>
func.func @reshapes(%x: tensor<16xf32>) -> tensor<2x8xbf16> {
  %v = nd.reshape %x : tensor<16xf32> -> tensor<4x4xf32>
  %e = nd.exp %v : tensor<4x4xf32>
  %r = nd.reshape %e : tensor<4x4xf32> -> tensor<2x8xf32>
  %c = nd.cast %r : tensor<2x8xf32> -> tensor<2x8xbf16>
  func.return %c : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @reduced
// CHECK-NEXT:    nd.max %x {axes = [0]} : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:    func.return
func.func @reduced(%x: tensor<4xf32>) -> tensor<f32> {
  %a = nd.reshape %x : tensor<4xf32> -> tensor<1x4x1xf32>
  %b = nd.max %a {axes = [0, 1, 2]} : tensor<1x4x1xf32> -> tensor<f32>
  func.return %b : tensor<f32>
}

// A sum over rows of a reshape of what is computed is one over axes of that. A cast in between stays before the sum.
// CHECK-LABEL: func.func @sum_of_rows
// CHECK-NEXT:    %[[Y:.*]] = nd.neg %x : tensor<4x8x6xbf16>
// CHECK-NEXT:    %[[Z:.*]] = nd.reshape %[[Y]] : tensor<4x8x6xbf16> -> tensor<32x6xbf16>
// CHECK-NEXT:    %[[W:.*]] = nd.cast %[[Y]] : tensor<4x8x6xbf16> -> tensor<4x8x6xf32>
// CHECK-NEXT:    %[[S:.*]] = nd.sum %[[W]] {axes = [0, 1]} : tensor<4x8x6xf32> -> tensor<6xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.max %[[Y]] {axes = [2]} : tensor<4x8x6xbf16> -> tensor<4x8xbf16>
// CHECK-NEXT:    %[[R:.*]] = nd.reshape %[[M]] : tensor<4x8xbf16> -> tensor<32xbf16>
// CHECK-NEXT:    func.return %[[Z]], %[[S]], %[[R]]
func.func @sum_of_rows(%x: tensor<4x8x6xbf16>) -> (tensor<32x6xbf16>, tensor<6xf32>, tensor<32xbf16>) {
  %y = nd.neg %x : tensor<4x8x6xbf16>
  %z = nd.reshape %y : tensor<4x8x6xbf16> -> tensor<32x6xbf16>
  %w = nd.cast %z : tensor<32x6xbf16> -> tensor<32x6xf32>
  %s = nd.sum %w {axes = [0]} : tensor<32x6xf32> -> tensor<6xf32>
  %m = nd.max %z {axes = [1]} : tensor<32x6xbf16> -> tensor<32xbf16>
  func.return %z, %s, %m : tensor<32x6xbf16>, tensor<6xf32>, tensor<32xbf16>
}

// Parts of an axis, and reshapes of arguments, are reduced as they are.
// CHECK-LABEL: func.func @sum_of_parts
// CHECK:         nd.sum %{{.*}} {axes = [0]} : tensor<2x16x6xf32> -> tensor<16x6xf32>
// CHECK:         nd.sum %{{.*}} {axes = [0]} : tensor<32x6xf32> -> tensor<6xf32>
func.func @sum_of_parts(%x: tensor<32x6xf32>, %a: tensor<4x8x6xf32>) -> (tensor<16x6xf32>, tensor<6xf32>) {
  %y = nd.neg %x : tensor<32x6xf32>
  %z = nd.reshape %y : tensor<32x6xf32> -> tensor<2x16x6xf32>
  %s = nd.sum %z {axes = [0]} : tensor<2x16x6xf32> -> tensor<16x6xf32>
  %b = nd.reshape %a : tensor<4x8x6xf32> -> tensor<32x6xf32>
  %t = nd.sum %b {axes = [0]} : tensor<32x6xf32> -> tensor<6xf32>
  func.return %s, %t : tensor<16x6xf32>, tensor<6xf32>
}

// A sum over an axis of extent 1 is the element in the type of the sum.
// CHECK-LABEL: func.func @sum_of_ones
// CHECK-NEXT:    %[[C:.*]] = nd.cast %x : tensor<4x1xbf16> -> tensor<4x1xf32>
// CHECK-NEXT:    nd.reshape %[[C]] : tensor<4x1xf32> -> tensor<4xf32>
func.func @sum_of_ones(%x: tensor<4x1xbf16>) -> tensor<4xf32> {
  %s = nd.sum %x {axes = [1]} : tensor<4x1xbf16> -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// For a product, neighbors in memory are merged before they are permuted; others are not neighbors.
// CHECK-LABEL: func.func @merge_first
// CHECK-NEXT:    %[[Q:.*]] = nd.permute %y {permutation = [1, 0, 2]} : tensor<3x5x4xbf16> -> tensor<5x3x4xbf16>
// CHECK-NEXT:    %[[M:.*]] = nd.reshape %x : tensor<3x5x2x6xbf16> -> tensor<15x12xbf16>
// CHECK-NEXT:    %[[N:.*]] = nd.reshape %[[Q]] : tensor<5x3x4xbf16> -> tensor<15x4xbf16>
// CHECK-NEXT:    nd.matmul %[[M]], %[[N]] {lhs_contract = [0], rhs_contract = [0]} : (tensor<15x12xbf16>, tensor<15x4xbf16>) -> tensor<12x4xbf16>
func.func @merge_first(%x: tensor<3x5x2x6xbf16>, %y: tensor<3x5x4xbf16>) -> tensor<12x4xbf16> {
  %p = nd.permute %x {permutation = [2, 3, 0, 1]} : tensor<3x5x2x6xbf16> -> tensor<2x6x3x5xbf16>
  %q = nd.permute %y {permutation = [1, 0, 2]} : tensor<3x5x4xbf16> -> tensor<5x3x4xbf16>
  %m = nd.reshape %p : tensor<2x6x3x5xbf16> -> tensor<12x15xbf16>
  %n = nd.reshape %q : tensor<5x3x4xbf16> -> tensor<15x4xbf16>
  %r = nd.matmul %m, %n {lhs_contract = [1], rhs_contract = [0]} : (tensor<12x15xbf16>, tensor<15x4xbf16>) -> tensor<12x4xbf16>
  func.return %r : tensor<12x4xbf16>
}

// An axis of extent 1 that is added merges nothing.
// CHECK-LABEL: func.func @merge_nothing
// CHECK-NEXT:    %[[P:.*]] = nd.permute %x {permutation = [1, 0]} : tensor<6x4xf32> -> tensor<4x6xf32>
// CHECK-NEXT:    %[[L:.*]] = nd.reshape %[[P]] : tensor<4x6xf32> -> tensor<4x1x6xf32>
// CHECK-NEXT:    %[[R:.*]] = nd.reshape %[[P]] : tensor<4x6xf32> -> tensor<4x6x1xf32>
// CHECK-NEXT:    nd.matmul %[[L]], %[[R]]
func.func @merge_nothing(%x: tensor<6x4xf32>) -> tensor<4x1x1xf32> {
  %p = nd.permute %x {permutation = [1, 0]} : tensor<6x4xf32> -> tensor<4x6xf32>
  %l = nd.reshape %p : tensor<4x6xf32> -> tensor<4x1x6xf32>
  %r = nd.reshape %p : tensor<4x6xf32> -> tensor<4x6x1xf32>
  %y = nd.matmul %l, %r {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<4x1x6xf32>, tensor<4x6x1xf32>) -> tensor<4x1x1xf32>
  func.return %y : tensor<4x1x1xf32>
}

// Axes are split before they are permuted; what merges axes is left alone.
// CHECK-LABEL: func.func @split_first
// CHECK-NEXT:    %[[T:.*]] = nd.permute %x {permutation = [0, 2, 1]}
// CHECK-NEXT:    %[[S:.*]] = nd.reshape %x : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
// CHECK-NEXT:    %[[P:.*]] = nd.permute %[[S]] {permutation = [0, 2, 3, 1]} : tensor<2x5x3x4xf32> -> tensor<2x3x4x5xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.reshape %[[T]] : tensor<2x12x5xf32> -> tensor<24x5xf32>
// CHECK-NEXT:    func.return %[[P]], %[[M]]
func.func @split_first(%x: tensor<2x5x12xf32>) -> (tensor<2x3x4x5xf32>, tensor<24x5xf32>) {
  %a = nd.permute %x {permutation = [0, 2, 1]} : tensor<2x5x12xf32> -> tensor<2x12x5xf32>
  %b = nd.reshape %a : tensor<2x12x5xf32> -> tensor<2x3x4x5xf32>
  %c = nd.reshape %a : tensor<2x12x5xf32> -> tensor<24x5xf32>
  func.return %b, %c : tensor<2x3x4x5xf32>, tensor<24x5xf32>
}

// What is computed is permuted before its axes are merged, in the order of a result; an argument's view stays one. Work
// comes before a reshape that it alone uses, not before that of an argument.
// CHECK-LABEL: func.func @merge_last
// CHECK-NEXT:    %[[E:.*]] = nd.exp %x
// CHECK-NEXT:    %[[R:.*]] = nd.relu %[[E]] : tensor<2x3x4x5xf32>
// CHECK-NEXT:    %[[P:.*]] = nd.permute %[[R]] {permutation = [0, 3, 1, 2]}
// CHECK-NEXT:    %[[M:.*]] = nd.reshape %[[P]] : tensor<2x5x3x4xf32> -> tensor<2x5x12xf32>
// CHECK-NEXT:    %[[V:.*]] = nd.reshape %x : tensor<2x3x4x5xf32> -> tensor<2x12x5xf32>
// CHECK-NEXT:    %[[W:.*]] = nd.relu %[[V]]
// CHECK-NEXT:    func.return %[[M]], %[[W]]
func.func @merge_last(%x: tensor<2x3x4x5xf32>) -> (tensor<2x5x12xf32>, tensor<2x12x5xf32>) {
  %e = nd.exp %x : tensor<2x3x4x5xf32>
  %a = nd.reshape %e : tensor<2x3x4x5xf32> -> tensor<2x12x5xf32>
  %b = nd.relu %a : tensor<2x12x5xf32>
  %c = nd.permute %b {permutation = [0, 2, 1]} : tensor<2x12x5xf32> -> tensor<2x5x12xf32>
  %v = nd.reshape %x : tensor<2x3x4x5xf32> -> tensor<2x12x5xf32>
  %w = nd.relu %v : tensor<2x12x5xf32>
  func.return %c, %w : tensor<2x5x12xf32>, tensor<2x12x5xf32>
}

// Products read any order of what was split.
// CHECK-LABEL: func.func @factors
// CHECK-NEXT:    %[[P:.*]] = nd.permute %x
// CHECK-NEXT:    %[[S:.*]] = nd.reshape %[[P]]
// CHECK-NEXT:    nd.matmul %[[S]], %w
func.func @factors(%x: tensor<2x5x12xf32>, %w: tensor<2x3x5x4xf32>) -> tensor<2x3x4x4xf32> {
  %a = nd.permute %x {permutation = [0, 2, 1]} : tensor<2x5x12xf32> -> tensor<2x12x5xf32>
  %b = nd.reshape %a : tensor<2x12x5xf32> -> tensor<2x3x4x5xf32>
  %c = nd.matmul %b, %w {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<2x3x4x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x4x4xf32>
  func.return %c : tensor<2x3x4x4xf32>
}

// Arrays that grow step by step: each concat has what the one before it made. One that is not used, one that comes
// later and one along another axis are none of these.
// CHECK-LABEL: func.func @growing
// CHECK-NEXT:    %[[A:.*]] = nd.concat %x, %y {axis = 0}
// CHECK-NEXT:    %[[B:.*]] = nd.concat %[[A]], %z {axis = 0}
// CHECK-NEXT:    %[[C:.*]] = nd.concat %[[B]], %x, %y {axis = 0}
// CHECK-NEXT:    func.return %[[A]], %[[B]], %[[C]]
// CHECK-LABEL: func.func @not_growing
// CHECK-NEXT:    %[[L:.*]] = nd.concat %x, %y, %z {axis = 0}
// CHECK-NEXT:    %[[S:.*]] = nd.concat %x, %y {axis = 0}
// CHECK-NEXT:    %[[O:.*]] = nd.concat %x, %y, %z {axis = 1}
// CHECK-NEXT:    func.return %[[L]], %[[S]], %[[O]]
func.func @growing(%x: tensor<4x8xf32>, %y: tensor<2x8xf32>, %z: tensor<3x8xf32>) -> (tensor<6x8xf32>, tensor<9x8xf32>, tensor<15x8xf32>) {
  %a = nd.concat %x, %y {axis = 0} : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<6x8xf32>
  %b = nd.concat %x, %y, %z {axis = 0} : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<9x8xf32>
  %c = nd.concat %x, %y, %z, %x, %y {axis = 0} : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<3x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<15x8xf32>
  func.return %a, %b, %c : tensor<6x8xf32>, tensor<9x8xf32>, tensor<15x8xf32>
}
func.func @not_growing(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %z: tensor<4x4xf32>) -> (tensor<12x4xf32>, tensor<8x4xf32>, tensor<4x12xf32>) {
  %unused = nd.concat %x, %y {axis = 0} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c = nd.concat %x, %y, %z {axis = 0} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<12x4xf32>
  %d = nd.concat %x, %y {axis = 0} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %e = nd.concat %x, %y, %z {axis = 1} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
  func.return %c, %d, %e : tensor<12x4xf32>, tensor<8x4xf32>, tensor<4x12xf32>
}

// Work on a reshape goes before it where it reads that twice, too, if one value comes of it; not where it reads what is
// behind no reshape.
// CHECK-LABEL: func.func @gated_reshape
// CHECK-NEXT:    %[[X:.*]] = nd.exp
// CHECK-NEXT:    %[[S:.*]] = nd.sigmoid %[[X]]
// CHECK-NEXT:    %[[Y:.*]] = nd.mul %[[X]], %[[S]] : tensor<2x4x8xf32>
// CHECK-NEXT:    nd.reshape %[[Y]]
// CHECK-LABEL: func.func @gated_otherwise
// CHECK-NEXT:    nd.exp
// CHECK-NEXT:    nd.reshape
// CHECK-NEXT:    nd.sigmoid
func.func @gated_reshape(%x: tensor<2x4x8xf32>) -> tensor<8x8xf32> {
  %0 = nd.exp %x : tensor<2x4x8xf32>
  %1 = nd.reshape %0 : tensor<2x4x8xf32> -> tensor<8x8xf32>
  %2 = nd.sigmoid %1 : tensor<8x8xf32>
  %3 = nd.mul %1, %2 : tensor<8x8xf32>
  func.return %3 : tensor<8x8xf32>
}

func.func @gated_otherwise(%x: tensor<2x4x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nd.exp %x : tensor<2x4x8xf32>
  %1 = nd.reshape %0 : tensor<2x4x8xf32> -> tensor<8x8xf32>
  %2 = nd.sigmoid %1 : tensor<8x8xf32>
  %3 = nd.add %1, %y : tensor<8x8xf32>
  %4 = nd.mul %3, %2 : tensor<8x8xf32>
  func.return %4 : tensor<8x8xf32>
}
