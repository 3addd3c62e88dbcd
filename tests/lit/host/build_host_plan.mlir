// RUN: irc-opt %s -p build-host-plan | filecheck %s

cuda.kernel @add(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] {
  cuda.return
}
cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.return
}

// Launches of different kernels, independent of each other, run on two streams; the result is written in place, through
// the reshape.
// CHECK: host.plan @diamond
// CHECK-SAME: streams 2
// CHECK: %arena = host.arena : !host.buffer<512>
// CHECK-NEXT: [[A:%\S+]] = host.buffer %arena {offset = 0 : i64} : !host.buffer<512> -> !host.buffer<32>
// CHECK-NEXT: [[B:%\S+]] = host.buffer %arena {offset = 256 : i64} : !host.buffer<512> -> !host.buffer<32>
// CHECK-NEXT: host.launch @neg(%x, [[A]])
// CHECK-NEXT: host.record {event = 0 : i64}
// CHECK-NEXT: host.launch @add(%x, %x, [[B]]) {stream = 1 : i64}
// CHECK-NEXT: host.wait {event = 0 : i64, stream = 1 : i64}
// CHECK-NEXT: host.launch @add([[A]], [[B]], %result0) {stream = 1 : i64}
// CHECK-NEXT: host.record {event = 1 : i64, stream = 1 : i64}
// CHECK-NEXT: host.wait {event = 1 : i64}
// CHECK-NEXT: host.return
func.func @diamond(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @add(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c = kernel.launch @add(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = nd.reshape %c : tensor<8xf32> -> tensor<2x4xf32>
  func.return %d : tensor<2x4xf32>
}

// A chain stays on stream 0, without events, and the third buffer takes the place of the first.
// CHECK: host.plan @chain
// CHECK-NOT: streams
// CHECK: host.arena : !host.buffer<512>
// CHECK: [[A:%\S+]] = host.buffer %{{\S+}} {offset = 0 : i64}
// CHECK: [[B:%\S+]] = host.buffer %{{\S+}} {offset = 256 : i64}
// CHECK: [[C:%\S+]] = host.buffer %{{\S+}} {offset = 0 : i64}
// CHECK-NOT: host.record
// CHECK: host.return
func.func @chain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @neg(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %c = kernel.launch @neg(%b) : (tensor<8xf32>) -> tensor<8xf32>
  %d = kernel.launch @neg(%c) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %d : tensor<8xf32>
}

// An argument that is returned, and a result that is returned again, are copied.
// CHECK: host.plan @copies
// CHECK: host.launch @neg(%x, %result0)
// CHECK: host.copy %x -> %result1
// CHECK: host.copy %result0 -> %result2
func.func @copies(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %a, %x, %a : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
