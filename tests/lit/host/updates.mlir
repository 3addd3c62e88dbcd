// RUN: irc-opt %s -p build-host-plan | filecheck %s

// What a kernel updates is copied before it, unless its result is written over the operand: that is donated for it, and
// nothing else reads it later.
// CHECK-LABEL: host.plan @over(
// CHECK-NOT:     host.copy
// CHECK:         host.launch @update(%x, %x)
// CHECK-NOT:     host.copy
// CHECK:         host.return
func.func @over(%x: tensor<64xf32> {irc.donated = 0 : i64}) -> tensor<64xf32> {
  %0 = kernel.launch @update(%x) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %0 : tensor<64xf32>
}

// CHECK-LABEL: host.plan @kept(
// CHECK:         host.copy %x -> %result0
// CHECK:         host.launch @update(%x, %result0)
func.func @kept(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = kernel.launch @update(%x) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %0 : tensor<64xf32>
}

// The memory of another donated argument gets a copy of the result: it may be read until then.
// CHECK-LABEL: host.plan @other(
// CHECK:         %[[NEW:.*]] = host.buffer %arena
// CHECK:         host.copy %x -> %[[NEW]]
// CHECK:         host.launch @update(%x, %[[NEW]])
// CHECK:         host.copy %[[NEW]] -> %y
func.func @other(%x: tensor<64xf32>, %y: tensor<64xf32> {irc.donated = 0 : i64}) -> tensor<64xf32> {
  %0 = kernel.launch @update(%x) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %0 : tensor<64xf32>
}

cuda.kernel @update(%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>) grid [1, 1, 1] block 1 operands [0, 1] writes [0, 1] updates [0, 1] {
  %at = arith.constant 3 : index
  %zero = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<1 x f32>
  %v = arith.constant 1.0 : f32
  cuda.set %r[%zero], %v : !cuda.registers<1 x f32>
  cuda.store %r[%zero], %y[%at] {count = 1 : i64} : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  cuda.return
}
