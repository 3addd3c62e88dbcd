// RUN: irc-opt %s -p build-host-plan | filecheck %s

cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.return
}
cuda.kernel @exp(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [2, 1, 1] block 32 writes [0, 1] {
  cuda.return
}
cuda.kernel @put(%a: !cuda.ptr<f32>, %c: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [4, 1, 1] block 32 writes [0, 0, 1] updates [1, 2] {
  cuda.return
}
cuda.kernel @mask(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [3, 1, 1] block 32 writes [0, 1] {
  cuda.return
}

// Launches that move few bytes begin no stream, also where they change single places of a large array; what moves more
// does.
// CHECK: host.plan @f
// CHECK: host.launch @neg(%x, %result0) :
// CHECK-NEXT: host.launch @exp(%y, %result1) {stream = 1 : i64} :
// CHECK-NEXT: host.launch @put(%x, %cache, %cache) :
// CHECK-NEXT: host.launch @mask(%x, %result3) {stream = 1 : i64} :
// CHECK-NEXT: host.record
// CHECK-NEXT: host.wait
// CHECK-NEXT: host.return
func.func @f(%x: tensor<8xf32>, %y: tensor<32768xf32>, %cache: tensor<65536xf32> {irc.donated = 2 : i64}) -> (tensor<8xf32>, tensor<32768xf32>, tensor<65536xf32>, tensor<8xf32>) {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @exp(%y) : (tensor<32768xf32>) -> tensor<32768xf32>
  %c = kernel.launch @put(%x, %cache) : (tensor<8xf32>, tensor<65536xf32>) -> tensor<65536xf32>
  %d = kernel.launch @mask(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %a, %b, %c, %d : tensor<8xf32>, tensor<32768xf32>, tensor<65536xf32>, tensor<8xf32>
}
