// RUN: irc-opt %s -p build-host-plan | filecheck %s

// What a kernel adds to is set to zero before it, in the arena and in results: the memory of a donated argument is not,
// as it may be read by then, and gets a copy.
// CHECK-LABEL: host.plan @f(
// CHECK:         %[[SUM:.*]] = host.buffer %arena
// CHECK-DAG:     host.memset %result0 : !host.buffer<256>
// CHECK-DAG:     host.memset %[[SUM]] {stream = 1 : i64} : !host.buffer<256>
// CHECK-DAG:     host.launch @add(%x, %result0)
// CHECK-DAG:     host.launch @add(%x, %[[SUM]]) {stream = 1 : i64}
// CHECK:         host.copy %[[SUM]] -> %y {stream = 1 : i64}
func.func @f(%x: tensor<64xf32>, %y: tensor<64xf32> {irc.donated = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = kernel.launch @add(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = kernel.launch @add(%x) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

cuda.kernel @add(%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>) grid [1, 1, 1] block 64 operands [0, 1] writes [0, 1] sums [1] {
  %thread = cuda.thread_id
  %r = cuda.registers : !cuda.registers<1 x f32>
  %zero = arith.constant 0 : index
  cuda.load %x[%thread] -> %r[%zero] {count = 1 : i64} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  %v = cuda.get %r[%zero] : !cuda.registers<1 x f32>
  %old = cuda.atomic "add" %v, %y[%thread] : !cuda.ptr<f32>
  cuda.return
}
