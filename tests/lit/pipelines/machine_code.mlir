// RUN: irc-opt %s | irc-opt | filecheck %s
// RUN: irc-opt %s -p all | filecheck %s --check-prefix PLAN
// RUN: irc-opt %s -p all -t cuda | filecheck %s --check-prefix SOURCE

// A kernel of machine code that another compiler made stands beside irc's own: passes leave it as it is, numbers are
// among its parameters, an array of its own is memory of the plan, and its text is a comment of the source.
// CHECK:       cuda.kernel @add_0(%x: !cuda.ptr<f32>, %out: !cuda.ptr<f32>, %scratch: !cuda.ptr<ui8>) grid [4, 1, 1] block 128 operands [0, 1, 2] writes [0, 1, 1] entry "add" given [
// CHECK-NEXT:    "N: i32"] code [
// CHECK-NEXT:    "def add(x, N, amount, out):"] image [
// CHECK-NEXT:    "AA=="] values [1024 : i32, 5.000000e-01 : f32, 0 : i64] places [1, 2, 5] {
// CHECK-NEXT:    cuda.return
// CHECK-NEXT:  }

// PLAN:          "AA=="] values [1024 : i32, 5.000000e-01 : f32, 0 : i64] places [1, 2, 5] {
// PLAN-NEXT:     cuda.return
// PLAN:        host.plan
// PLAN:          [[SCRATCH:%[^ ]+]] = host.buffer {{.*}}-> !host.buffer<1024>
// PLAN-NEXT:     host.launch @f_{{[0-9]+}}
// PLAN-NEXT:     host.launch @add_0({{.*}}, [[SCRATCH]])
// PLAN-NEXT:     host.launch @f_

// SOURCE:      // add_0: machine code of add
// SOURCE-NEXT: // N: i32
// SOURCE-NEXT: // def add(x, N, amount, out):
cuda.kernel @add_0(%x: !cuda.ptr<f32>, %out: !cuda.ptr<f32>, %scratch: !cuda.ptr<ui8>) grid [4, 1, 1] block 128 operands [0, 1, 2] writes [0, 1, 1] entry "add" given [
  "N: i32"] code [
  "def add(x, N, amount, out):"] image [
  "AA=="] values [1024 : i32, 5.000000e-01 : f32, 0 : i64] places [1, 2, 5] {
  cuda.return
}

func.func @f(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = nd.exp %x : tensor<1024xf32>
  %1, %2 = kernel.launch @add_0(%0) : (tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xui8>)
  %3 = nd.sqrt %1 : tensor<1024xf32>
  func.return %3 : tensor<1024xf32>
}
