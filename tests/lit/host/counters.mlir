// RUN: irc-opt %s -p build-host-plan | filecheck %s

// Counters, which nobody reads, lie side by side, and the plan begins with zeros in all of them.

// CHECK-LABEL: host.plan @f(
// CHECK:         %arena = host.arena : !host.buffer<[[SIZE:[0-9]+]]>
// CHECK-DAG:     [[ALL:%[0-9]+]] = host.buffer %arena {{.*}} -> !host.buffer<260>
// CHECK-DAG:     [[FIRST:%[0-9]+]] = host.buffer [[ALL]] {offset = 0 : i64} : !host.buffer<260> -> !host.buffer<4>
// CHECK-DAG:     [[SECOND:%[0-9]+]] = host.buffer [[ALL]] {offset = 256 : i64} : !host.buffer<260> -> !host.buffer<4>
// CHECK:         host.memset [[ALL]] : !host.buffer<260>
// CHECK-NEXT:    host.launch @add(%x, [[SUM:%[0-9a-z]+]], [[FIRST]])
// CHECK-NEXT:    host.launch @add([[SUM]], %result0, [[SECOND]])
// CHECK-NEXT:    host.return
func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0, %1 = kernel.launch @add(%x) : (tensor<64xf32>) -> (tensor<64xf32>, tensor<1xi32>)
  %2, %3 = kernel.launch @add(%0) : (tensor<64xf32>) -> (tensor<64xf32>, tensor<1xi32>)
  func.return %2 : tensor<64xf32>
}

cuda.kernel @add(%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>, %counter: !cuda.ptr<i32>) grid [1, 1, 1] block 64 operands [0, 1, 2] writes [0, 1, 1] sums [2] {
  %thread = cuda.thread_id
  %r = cuda.registers : !cuda.registers<1 x f32>
  %zero = arith.constant 0 : index
  cuda.load %x[%thread] -> %r[%zero] {count = 1 : i64} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.store %r[%zero], %y[%thread] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  %one = arith.constant 1 : i32
  %old = cuda.atomic "add" %one, %counter[%zero] : !cuda.ptr<i32>
  cuda.return
}
