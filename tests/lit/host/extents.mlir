// RUN: irc-opt %s -p build-host-plan | filecheck %s

// A launch has the sizes of the dims that its kernel names behind its arrays.
// CHECK-LABEL: host.plan @f(
// CHECK:         [[N:%[a-z0-9_]+]] = host.size "N" : i32
// CHECK-NEXT:    host.launch @copy(%x, %result0, [[N]]) : (!host.buffer<2084>, !host.buffer<2084>, i32)
builtin.module attributes {irc.dims = {N = array<i64: 1, 512, 1, 521>}} {
func.func @f(%x: tensor<521xf32>) -> tensor<521xf32> {
  %0 = kernel.launch @copy(%x) : (tensor<521xf32>) -> tensor<521xf32>
  func.return %0 : tensor<521xf32>
}

// CHECK: cuda.kernel @copy(%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>, %N: i32) grid [9, 1, 1] block 64 operands [0, 1, 2] writes [0, 1, 0] dims ["N"] domains {{\[}}[1, 0, 521, 64]]
cuda.kernel @copy(%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>, %N: i32) grid [9, 1, 1] block 64 operands [0, 1, 2] writes [0, 1, 0] dims ["N"] domains [[1, 0, 521, 64]] {
  %thread = cuda.thread_id
  %r = cuda.registers : !cuda.registers<1 x f32>
  %zero = arith.constant 0 : index
  %n = arith.index_cast %N : i32 to index
  %inside = arith.cmpi slt, %thread, %n : index
  scf.if %inside {
    cuda.load %x[%thread] -> %r[%zero] {count = 1 : i64} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
    cuda.store %r[%zero], %y[%thread] {count = 1 : i64} : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  }
  cuda.return
}
}
