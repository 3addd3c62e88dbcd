// RUN: irc-opt %s -p build-host-plan | filecheck %s

cuda.kernel @add(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] {
  cuda.return
}
cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.return
}

// Launches of different kernels, independent of each other, run on two streams; the result is written in place, through
// the reshape.
// CHECK: cuda.plan @diamond
// CHECK-SAME: streams 2
// CHECK: %arena = cuda.arena : !cuda.buffer<512>
// CHECK-NEXT: [[A:%\S+]] = cuda.buffer %arena {offset = 0 : i64} : !cuda.buffer<512> -> !cuda.buffer<32>
// CHECK-NEXT: [[B:%\S+]] = cuda.buffer %arena {offset = 256 : i64} : !cuda.buffer<512> -> !cuda.buffer<32>
// CHECK-NEXT: cuda.launch @neg(%x, [[A]])
// CHECK-NEXT: cuda.record {event = 0 : i64}
// CHECK-NEXT: cuda.launch @add(%x, %x, [[B]]) {stream = 1 : i64}
// CHECK-NEXT: cuda.wait {event = 0 : i64, stream = 1 : i64}
// CHECK-NEXT: cuda.launch @add([[A]], [[B]], %result0) {stream = 1 : i64}
// CHECK-NEXT: cuda.record {event = 1 : i64, stream = 1 : i64}
// CHECK-NEXT: cuda.wait {event = 1 : i64}
// CHECK-NEXT: cuda.return
func.func @diamond(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @add(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c = kernel.launch @add(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = nd.reshape %c : tensor<8xf32> -> tensor<2x4xf32>
  func.return %d : tensor<2x4xf32>
}

// A chain stays on stream 0, without events, and the third buffer takes the place of the first.
// CHECK: cuda.plan @chain
// CHECK-NOT: streams
// CHECK: cuda.arena : !cuda.buffer<512>
// CHECK: [[A:%\S+]] = cuda.buffer %{{\S+}} {offset = 0 : i64}
// CHECK: [[B:%\S+]] = cuda.buffer %{{\S+}} {offset = 256 : i64}
// CHECK: [[C:%\S+]] = cuda.buffer %{{\S+}} {offset = 0 : i64}
// CHECK-NOT: cuda.record
// CHECK: cuda.return
func.func @chain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @neg(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %c = kernel.launch @neg(%b) : (tensor<8xf32>) -> tensor<8xf32>
  %d = kernel.launch @neg(%c) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %d : tensor<8xf32>
}

// An argument that is returned, and a result that is returned again, are copied.
// CHECK: cuda.plan @copies
// CHECK: cuda.launch @neg(%x, %result0)
// CHECK: cuda.copy %x -> %result1
// CHECK: cuda.copy %result0 -> %result2
func.func @copies(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %a, %x, %a : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
