// RUN: irc-opt %s -p build-host-plan | filecheck %s

// A kernel that is launched in place has pointers that overlap, and reads them through no cache that would not see it.
// CHECK: cuda.kernel @update
// CHECK-SAME: in_place [0, 2] aliased [0, 2]
// CHECK-NOT: %w{{.*}}cache
// CHECK: cuda.load %g{{.*}} {cache = "read_only"}
// CHECK: cuda.kernel @neg
// CHECK-NOT: aliased
cuda.kernel @update(%w: !cuda.ptr<f32>, %g: !cuda.ptr<f32>, %r: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] in_place [0, 2] {
  %zero = arith.constant 0 : index
  %x = cuda.registers : !cuda.registers<1 x f32>
  cuda.load %w[%zero] -> %x[%zero] {cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.load %w[%zero] -> %x[%zero] {cache = "evict_last"} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  %y = cuda.registers : !cuda.registers<4 x f32>
  cuda.load_across %w[%zero] -> %y[%zero] {cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
  cuda.load %g[%zero] -> %x[%zero] {cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.store %x[%zero], %r[%zero] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  cuda.return
}
cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.return
}

// A kernel that may work in place writes over the argument, behind a later step that reads it.
// CHECK: host.plan @later_reader
// CHECK-SAME: attributes {donated = array<i64: 0, 0>}
// CHECK-NEXT: host.launch @neg(%w, %result1)
// CHECK-NEXT: host.launch @update(%w, %g, %w)
// CHECK-NEXT: host.return
func.func @later_reader(%w: tensor<8xf32> {irc.donated = 0 : i64}, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %w1 = kernel.launch @update(%w, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %n = kernel.launch @neg(%w) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %w1, %n : tensor<8xf32>, tensor<8xf32>
}

// One that may not writes to the arena, and is copied over the argument.
// CHECK: host.plan @not_in_place
// CHECK: [[A:%\S+]] = host.buffer %arena
// CHECK-NEXT: host.launch @neg(%w, [[A]])
// CHECK-NEXT: host.copy [[A]] -> %w
func.func @not_in_place(%w: tensor<8xf32> {irc.donated = 0 : i64}) -> tensor<8xf32> {
  %n = kernel.launch @neg(%w) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %n : tensor<8xf32>
}

// So is one whose result is needed to read the argument once more.
// CHECK: host.plan @read_again
// CHECK: host.launch @update(%w, %g, [[A:%\S+]])
// CHECK-NEXT: host.launch @update(%w, [[A]], %result1)
// CHECK-NEXT: host.copy [[A]] -> %w
func.func @read_again(%w: tensor<8xf32> {irc.donated = 0 : i64}, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %w1 = kernel.launch @update(%w, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %w2 = kernel.launch @update(%w, %w1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %w1, %w2 : tensor<8xf32>, tensor<8xf32>
}

// What is returned as it was stays where it is.
// CHECK: host.plan @same
// CHECK-NEXT: host.return
func.func @same(%w: tensor<8xf32> {irc.donated = 0 : i64}) -> tensor<8xf32> {
  func.return %w : tensor<8xf32>
}
