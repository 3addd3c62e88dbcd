// RUN: irc-opt %s -p 'align-operands' --split-input-file | filecheck %s
// RUN: irc-opt %s -p 'align-operands{always=true}' --split-input-file | filecheck %s --check-prefix=ALWAYS
// RUN: irc-opt %s -p 'align-operands{always=true}' --arch sm_80 --split-input-file | filecheck %s --check-prefix=WITHOUT
// RUN: irc-opt %s -p 'align-operands{instruction=mma always=true}' --split-input-file | filecheck %s --check-prefix=WITHOUT

// Rows of 4099 elements are copied to rows of 4160; w, whose rows are aligned, is read where it is.

// CHECK-LABEL: func.func @large
// CHECK:       %[[X:.*]] = kernel.fused @large_0_x_aligned map (%[[A:.*]] = %x : tensor<4096x4099xbf16>) -> tensor<4096x4160xbf16> {
// CHECK:         nd.pad %[[A]], %{{.*}} {low = [0, 0], high = [0, 61]}
// CHECK:       kernel.fused @large_0 matmul (%[[B:.*]] = %[[X]] : tensor<4096x4160xbf16>, %[[W:.*]] = %w : tensor<4099x4096xbf16>)
// CHECK:         %[[PART:.*]] = nd.slice %[[B]] {starts = [0, 0], stops = [4096, 4099], steps = [1, 1]}
// CHECK:         nd.matmul %[[PART]], %[[W]]
// WITHOUT-NOT: aligned
func.func @large(%x: tensor<4096x4099xbf16>, %w: tensor<4099x4096xbf16>) -> tensor<4096x4096xf32> {
  %0 = kernel.fused @large_0 matmul (%a = %x : tensor<4096x4099xbf16>, %b = %w : tensor<4099x4096xbf16>) -> tensor<4096x4096xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4099xbf16>, tensor<4099x4096xbf16>) -> tensor<4096x4096xf32>
    kernel.yield %1 : tensor<4096x4096xf32>
  }
  func.return %0 : tensor<4096x4096xf32>
}

// -----

// Two kernels that read one array read one copy of it. The product is too small for the copies to pay.

// CHECK-LABEL: func.func @twice
// CHECK-NOT:   aligned
// ALWAYS-LABEL: func.func @twice
// ALWAYS:       %[[W:.*]] = kernel.fused @twice_0_w_aligned map
// ALWAYS:       kernel.fused @twice_0 matmul ({{.*}} = %x : tensor<64x64xf16>, {{.*}} = %[[W]] : tensor<64x128xf16>)
// ALWAYS-NOT:   aligned map
// ALWAYS:       kernel.fused @twice_1 matmul ({{.*}} = %y : tensor<64x64xf16>, {{.*}} = %[[W]] : tensor<64x128xf16>)
func.func @twice(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %w: tensor<64x65xf16>) -> (tensor<64x65xf32>, tensor<64x65xf32>) {
  %0 = kernel.fused @twice_0 matmul (%a = %x : tensor<64x64xf16>, %b = %w : tensor<64x65xf16>) -> tensor<64x65xf32> {
    %2 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xf16>, tensor<64x65xf16>) -> tensor<64x65xf32>
    kernel.yield %2 : tensor<64x65xf32>
  }
  %1 = kernel.fused @twice_1 matmul (%a = %y : tensor<64x64xf16>, %b = %w : tensor<64x65xf16>) -> tensor<64x65xf32> {
    %2 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xf16>, tensor<64x65xf16>) -> tensor<64x65xf32>
    kernel.yield %2 : tensor<64x65xf32>
  }
  func.return %0, %1 : tensor<64x65xf32>, tensor<64x65xf32>
}

// -----

// f32 goes through registers on its way to the tensor cores; an operand that the kernel computes is no array; and an
// operand that something else reads too stays as it is.

// CHECK-LABEL: func.func @left_alone
// ALWAYS-LABEL: func.func @left_alone
// ALWAYS-NOT:   aligned
func.func @left_alone(%x: tensor<64x65xf32>, %y: tensor<64x65xbf16>, %w: tensor<65x64xf32>, %v: tensor<65x64xbf16>, %s: tensor<65x65xbf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<65x65xf32>) {
  %0 = kernel.fused @left_alone_0 matmul (%a = %x : tensor<64x65xf32>, %b = %w : tensor<65x64xf32>) -> tensor<64x64xf32> {
    %3 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x65xf32>, tensor<65x64xf32>) -> tensor<64x64xf32>
    kernel.yield %3 : tensor<64x64xf32>
  }
  %1 = kernel.fused @left_alone_1 matmul (%a = %y : tensor<64x65xbf16>, %b = %v : tensor<65x64xbf16>) -> tensor<64x64xf32> {
    %3 = nd.neg %a : tensor<64x65xbf16>
    %4 = nd.matmul %3, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x65xbf16>, tensor<65x64xbf16>) -> tensor<64x64xf32>
    kernel.yield %4 : tensor<64x64xf32>
  }
  %2 = kernel.fused @left_alone_2 matmul (%a = %s : tensor<65x65xbf16>) -> tensor<65x65xf32> {
    %3 = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<65x65xbf16>, tensor<65x65xbf16>) -> tensor<65x65xf32>
    %4 = nd.cast %a : tensor<65x65xbf16> -> tensor<65x65xf32>
    %5 = nd.add %3, %4 : tensor<65x65xf32>
    kernel.yield %5 : tensor<65x65xf32>
  }
  func.return %0, %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<65x65xf32>
}

// -----

// What a map computes for such products alone it stores with longer rows, also where one of them reads it through a
// view that keeps its rows.

// CHECK-LABEL: func.func @computed
// ALWAYS-LABEL: func.func @computed
// ALWAYS-NOT:   aligned
// ALWAYS:       %[[D:.*]] = kernel.fused @computed_0 map (%[[X:.*]] = %x : tensor<2x32x65xbf16>) -> tensor<2x32x128xbf16> {
// ALWAYS:         %[[N:.*]] = nd.neg %[[X]] : tensor<2x32x65xbf16>
// ALWAYS:         %[[P:.*]] = nd.pad %[[N]], %{{.*}} {low = [0, 0, 0], high = [0, 0, 63]}
// ALWAYS:         kernel.yield %[[P]]
// ALWAYS-NOT:   kernel.fused @computed_0
// ALWAYS:       %[[V:.*]] = nd.reshape %[[D]] : tensor<2x32x128xbf16> -> tensor<64x128xbf16>
// ALWAYS:       kernel.fused @computed_1 matmul (%{{.*}} = %[[V]] : tensor<64x128xbf16>, {{.*}} = %h : tensor<64x64xbf16>)
// ALWAYS:         nd.slice %{{.*}} {starts = [0, 0], stops = [64, 65], steps = [1, 1]}
// ALWAYS:       kernel.fused @computed_2 matmul (%{{.*}} = %[[D]] : tensor<2x32x128xbf16>, {{.*}} = %w : tensor<65x64xbf16>)
// ALWAYS:         nd.slice %{{.*}} {starts = [0, 0, 0], stops = [2, 32, 65], steps = [1, 1, 1]}
func.func @computed(%x: tensor<2x32x65xbf16>, %h: tensor<64x64xbf16>, %w: tensor<65x64xbf16>) -> (tensor<65x64xf32>, tensor<2x32x64xf32>) {
  %d = kernel.fused @computed_0 map (%a = %x : tensor<2x32x65xbf16>) -> tensor<2x32x65xbf16> {
    %2 = nd.neg %a : tensor<2x32x65xbf16>
    kernel.yield %2 : tensor<2x32x65xbf16>
  }
  %v = nd.reshape %d : tensor<2x32x65xbf16> -> tensor<64x65xbf16>
  %0 = kernel.fused @computed_1 matmul (%a = %v : tensor<64x65xbf16>, %b = %h : tensor<64x64xbf16>) -> tensor<65x64xf32> {
    %2 = nd.matmul %a, %b {lhs_contract = [0], rhs_contract = [0]} : (tensor<64x65xbf16>, tensor<64x64xbf16>) -> tensor<65x64xf32>
    kernel.yield %2 : tensor<65x64xf32>
  }
  %1 = kernel.fused @computed_2 matmul (%a = %d : tensor<2x32x65xbf16>, %b = %w : tensor<65x64xbf16>) -> tensor<2x32x64xf32> {
    %2 = nd.matmul %a, %b {lhs_contract = [2], rhs_contract = [0]} : (tensor<2x32x65xbf16>, tensor<65x64xbf16>) -> tensor<2x32x64xf32>
    kernel.yield %2 : tensor<2x32x64xf32>
  }
  func.return %0, %1 : tensor<65x64xf32>, tensor<2x32x64xf32>
}

// -----

// What is read elsewhere, too, keeps its rows, and one copy serves the array and its view. So does what is not computed
// element by element.

// ALWAYS-LABEL: func.func @given
// ALWAYS:       %[[D:.*]] = kernel.fused @given_0 map ({{.*}}) -> tensor<2x32x65xbf16> {
// ALWAYS:       %[[C:.*]] = kernel.fused @given_1_0_aligned map (%{{.*}} = %[[D]] : tensor<2x32x65xbf16>) -> tensor<2x32x128xbf16>
// ALWAYS:       %[[V:.*]] = nd.reshape %[[C]] : tensor<2x32x128xbf16> -> tensor<64x128xbf16>
// ALWAYS:       kernel.fused @given_1 matmul (%{{.*}} = %[[V]] : tensor<64x128xbf16>,
// ALWAYS-NOT:   aligned map
// ALWAYS:       kernel.fused @given_2 matmul (%{{.*}} = %[[C]] : tensor<2x32x128xbf16>,
// ALWAYS:       func.return %[[D]],
func.func @given(%x: tensor<2x32x65xbf16>, %h: tensor<64x64xbf16>, %w: tensor<65x64xbf16>) -> (tensor<2x32x65xbf16>, tensor<65x64xf32>, tensor<2x32x64xf32>) {
  %3 = kernel.fused @given_0 map (%a = %x : tensor<2x32x65xbf16>) -> tensor<2x32x65xbf16> {
    %2 = nd.neg %a : tensor<2x32x65xbf16>
    kernel.yield %2 : tensor<2x32x65xbf16>
  }
  %4 = nd.reshape %3 : tensor<2x32x65xbf16> -> tensor<64x65xbf16>
  %0 = kernel.fused @given_1 matmul (%a = %4 : tensor<64x65xbf16>, %b = %h : tensor<64x64xbf16>) -> tensor<65x64xf32> {
    %2 = nd.matmul %a, %b {lhs_contract = [0], rhs_contract = [0]} : (tensor<64x65xbf16>, tensor<64x64xbf16>) -> tensor<65x64xf32>
    kernel.yield %2 : tensor<65x64xf32>
  }
  %1 = kernel.fused @given_2 matmul (%a = %3 : tensor<2x32x65xbf16>, %b = %w : tensor<65x64xbf16>) -> tensor<2x32x64xf32> {
    %2 = nd.matmul %a, %b {lhs_contract = [2], rhs_contract = [0]} : (tensor<2x32x65xbf16>, tensor<65x64xbf16>) -> tensor<2x32x64xf32>
    kernel.yield %2 : tensor<2x32x64xf32>
  }
  func.return %3, %0, %1 : tensor<2x32x65xbf16>, tensor<65x64xf32>, tensor<2x32x64xf32>
}

// -----

// So does what a kernel stores beside a reduction; what is behind its rows need not be written. Its other results are
// as they were, also one with rows of its own that are made longer.

// CHECK-LABEL: func.func @reduced
// ALWAYS-LABEL: func.func @reduced
// ALWAYS-NOT:   aligned
// ALWAYS:       %[[D:.*]], %[[E:.*]], %[[S:.*]] = kernel.fused @reduced_0 reduce (%[[X:.*]] = %x : tensor<64x65xbf16>) -> (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64xf32>) {
// ALWAYS:         nd.pad %{{.*}}, %{{.*}} {low = [0, 0], high = [0, 63], nd.unread} : (tensor<64x65xbf16>, tensor<bf16>) -> tensor<64x128xbf16>
// ALWAYS:         nd.pad %{{.*}}, %{{.*}} {low = [0, 0], high = [0, 63], nd.unread} : (tensor<64x65xbf16>, tensor<bf16>) -> tensor<64x128xbf16>
// ALWAYS-NOT:   kernel.fused @reduced_0
// ALWAYS:       kernel.fused @reduced_1 matmul (%{{.*}} = %[[D]] : tensor<64x128xbf16>, %{{.*}} = %w : tensor<65x64xbf16>)
// ALWAYS:       kernel.fused @reduced_2 matmul (%{{.*}} = %[[E]] : tensor<64x128xbf16>, %{{.*}} = %w : tensor<65x64xbf16>)
// ALWAYS:       func.return %{{.*}}, %{{.*}}, %[[S]]
func.func @reduced(%x: tensor<64x65xbf16>, %w: tensor<65x64xbf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>) {
  %d, %e, %s = kernel.fused @reduced_0 reduce (%a = %x : tensor<64x65xbf16>) -> (tensor<64x65xbf16>, tensor<64x65xbf16>, tensor<64xf32>) {
    %2 = nd.cast %a : tensor<64x65xbf16> -> tensor<64x65xf32>
    %3 = nd.sum %2 {axes = [1]} : tensor<64x65xf32> -> tensor<64xf32>
    %4 = nd.broadcast %3 {dims = [0]} : tensor<64xf32> -> tensor<64x65xf32>
    %5 = nd.sub %2, %4 : tensor<64x65xf32>
    %6 = nd.cast %5 : tensor<64x65xf32> -> tensor<64x65xbf16>
    %7 = nd.neg %6 : tensor<64x65xbf16>
    kernel.yield %6, %7, %3 : tensor<64x65xbf16>, tensor<64x65xbf16>, tensor<64xf32>
  }
  %0 = kernel.fused @reduced_1 matmul (%a = %d : tensor<64x65xbf16>, %b = %w : tensor<65x64xbf16>) -> tensor<64x64xf32> {
    %2 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x65xbf16>, tensor<65x64xbf16>) -> tensor<64x64xf32>
    kernel.yield %2 : tensor<64x64xf32>
  }
  %1 = kernel.fused @reduced_2 matmul (%a = %e : tensor<64x65xbf16>, %b = %w : tensor<65x64xbf16>) -> tensor<64x64xf32> {
    %2 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x65xbf16>, tensor<65x64xbf16>) -> tensor<64x64xf32>
    kernel.yield %2 : tensor<64x64xf32>
  }
  func.return %0, %1, %s : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>
}
