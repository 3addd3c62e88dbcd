// RUN: irc-opt %s -p build-host-plan | filecheck %s
// RUN: irc-opt %s -p 'build-host-plan{sets=1}' | filecheck %s --check-prefix ALONE

cuda.kernel @update(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] in_place [0, 2] {
  cuda.return
}
cuda.kernel @add(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] {
  cuda.return
}
cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [131, 1, 1] block 32 writes [0, 1] {
  cuda.return
}
cuda.kernel @filling(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [132, 1, 1] block 32 writes [0, 1] {
  cuda.return
}
cuda.kernel @planes(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 2] block 32 writes [0, 1] {
  cuda.return
}

// CHECK: cuda.kernel @update
// CHECK-SAME: aliased [0, 2] sets 2
// CHECK: cuda.kernel @add
// CHECK-NOT: sets
// CHECK: cuda.kernel @neg
// CHECK-SAME: sets 2
// CHECK-NOT: sets
// Small launches of one kernel at one distance from the end are one launch; no stream and no event is needed.
// CHECK: host.plan @diamond
// CHECK-NOT: streams
// CHECK: [[A:%\S+]] = host.buffer %arena {offset = 0 : i64}
// CHECK: [[B:%\S+]] = host.buffer %arena {offset = 256 : i64}
// CHECK-NEXT: host.launch @neg(%x, [[A]], %y, [[B]]) {sets = 2 : i64}
// CHECK-NEXT: host.launch @add([[A]], [[B]], %result0) :
// CHECK-NEXT: host.return
// ALONE: host.plan @diamond
// ALONE-SAME: streams 2
// ALONE-NOT: sets =
// ALONE: host.plan @alone
func.func @diamond(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @neg(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %c = kernel.launch @add(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %c : tensor<8xf32>
}

// A kernel that fills the device, one that has a grid along z already, and launches of which one needs the other.
// CHECK: host.plan @alone
// CHECK-NOT: sets
func.func @alone(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = kernel.launch @filling(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @filling(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %c = kernel.launch @planes(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %d = kernel.launch @planes(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %e = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %f = kernel.launch @neg(%e) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %a, %b, %c, %d, %f : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Sets that overwrite an argument each are one launch in place. One whose argument another one reads comes behind it.
// CHECK: host.plan @updates
// CHECK-NEXT: host.launch @update(%v, %g, %v, %w, %g, %w) {sets = 2 : i64}
// CHECK-NEXT: host.return
// CHECK: host.plan @ordered_updates
// CHECK-NEXT: host.launch @update(%v, %w, %v) :
// CHECK-NEXT: host.launch @update(%w, %g, %w) :
// CHECK-NEXT: host.return
func.func @updates(%v: tensor<8xf32> {irc.donated = 0 : i64}, %w: tensor<8xf32> {irc.donated = 1 : i64}, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = kernel.launch @update(%v, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @update(%w, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}
func.func @ordered_updates(%v: tensor<8xf32> {irc.donated = 0 : i64}, %w: tensor<8xf32> {irc.donated = 1 : i64}, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %b = kernel.launch @update(%w, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a = kernel.launch @update(%v, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}
