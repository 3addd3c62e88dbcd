// RUN: irc-opt %s -p build-host-plan --split-input-file --verify-diagnostics | filecheck %s

cuda.kernel @narrow(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.return
}
cuda.kernel @wide(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [132, 1, 1] block 32 writes [0, 1] {
  cuda.return
}

// What lies side by side is rows of one buffer. Two kernels write there side by side, in one launch: their rows do not
// meet. Who reads the whole array waits for both.
// CHECK-LABEL: host.plan @side_by_side
// CHECK:         %[[AB:.*]] = host.buffer %arena {{.*}} -> !host.buffer<1024>
// CHECK:         %[[A:.*]] = host.buffer %[[AB]] {offset = 0 : i64, pitch = 128 : i64, width = 64 : i64} : !host.buffer<1024> -> !host.buffer<960>
// CHECK:         %[[B:.*]] = host.buffer %[[AB]] {offset = 64 : i64, pitch = 128 : i64, width = 64 : i64} : !host.buffer<1024> -> !host.buffer<960>
// CHECK:         host.launch @narrow(%x, %[[A]], %y, %[[B]]) {sets = 2 : i64}
// CHECK-NEXT:    host.launch @wide(%[[AB]], %result0)
func.func @side_by_side(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<8x32xf32> {
  %a = kernel.launch @narrow(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %b = kernel.launch @narrow(%y) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %ab = nd.concat %a, %b {axis = 1, nd.in_place} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %c = kernel.launch @wide(%ab) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  func.return %c : tensor<8x32xf32>
}

// In a chain each array is rows of the next one, all with the pitch of the last, which may be a result.
// CHECK-LABEL: host.plan @chain
// CHECK:         %[[AB:.*]] = host.buffer %result0 {offset = 0 : i64, pitch = 192 : i64, width = 128 : i64} : !host.buffer<1536> -> !host.buffer<1472>
// CHECK:         %[[A:.*]] = host.buffer %[[AB]] {offset = 0 : i64, pitch = 192 : i64, width = 64 : i64} : !host.buffer<1472> -> !host.buffer<1408>
// CHECK:         %[[B:.*]] = host.buffer %[[AB]] {offset = 64 : i64, pitch = 192 : i64, width = 64 : i64} : !host.buffer<1472> -> !host.buffer<1408>
// CHECK:         %[[C:.*]] = host.buffer %result0 {offset = 128 : i64, pitch = 192 : i64, width = 64 : i64} : !host.buffer<1536> -> !host.buffer<1408>
// CHECK:         host.launch @narrow(%x, %[[A]])
// CHECK-NEXT:    host.launch @narrow(%[[A]], %[[B]])
// CHECK-NEXT:    host.launch @narrow(%[[AB]], %[[C]])
// CHECK-NEXT:    host.return
func.func @chain(%x: tensor<8x16xf32>) -> tensor<8x48xf32> {
  %a = kernel.launch @narrow(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %b = kernel.launch @narrow(%a) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %ab = nd.concat %a, %b {axis = 1, nd.in_place} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %c = kernel.launch @narrow(%ab) : (tensor<8x32xf32>) -> tensor<8x16xf32>
  %abc = nd.concat %ab, %c {axis = 1, nd.in_place} : (tensor<8x32xf32>, tensor<8x16xf32>) -> tensor<8x48xf32>
  func.return %abc : tensor<8x48xf32>
}

// The memory of an array before is free once it was read, not before both parts can be written.
// CHECK-LABEL: host.plan @after_others
// CHECK:         %[[Z:.*]] = host.buffer %arena {offset = 1024 : i64} : !host.buffer<1536> -> !host.buffer<512>
// CHECK:         host.launch @wide(%x, %[[Z]])
// CHECK:         host.launch @wide(%[[Z]], %{{.*}})
func.func @after_others(%x: tensor<8x16xf32>) -> tensor<8x32xf32> {
  %z = kernel.launch @wide(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %b = kernel.launch @wide(%z) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = kernel.launch @wide(%z) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %ab = nd.concat %a, %b {axis = 1, nd.in_place} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %c = kernel.launch @wide(%ab) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  func.return %c : tensor<8x32xf32>
}

// -----

cuda.kernel @narrow(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.return
}
func.func @part_returned(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>) {
  %a = kernel.launch @narrow(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %b = kernel.launch @narrow(%a) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %ab = nd.concat %a, %b {axis = 1, nd.in_place} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  // expected-error @+1 {{an array that lies in a larger one is no result}}
  func.return %a, %ab : tensor<8x16xf32>, tensor<8x32xf32>
}
