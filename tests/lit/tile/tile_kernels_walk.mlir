// RUN: irc-opt %s -p tile-kernels | filecheck %s

// Elements that no reduction feeds are stored on its walk over them, in whatever grouping of axes it reduces them.
// CHECK-LABEL: tile.program @walk
// CHECK:         tile.for_tiles (%[[PART:.*]], %[[COLUMN:.*]]) extents [4, 256] steps [1, 256]
// CHECK:         scf.for
// CHECK-COUNT-2: tile.load
// CHECK:         %[[PRODUCT:.*]] = tile.map
// CHECK:         tile.store %[[PRODUCT]], %{{.*}} symbols(%[[PART]] : index) {map = affine_map<(d0, d1)[s0] -> (s0, d1, d0)>} : tensor<256x8xf32>, !tile.view<4x32x256xf32>
// CHECK-NEXT:    scf.yield
// CHECK:         tile.reduce
// CHECK-NOT:     tile.load
// CHECK:         tile.store
func.func @gradient(%g: tensor<2x64x256xf32>, %x: tensor<2x64x256xf32>) -> (tensor<2x64x256xf32>, tensor<4x256xf32>) {
  %0, %1 = kernel.fused @walk reduce config<tile = {d = 256, r = 8}, warps = 8, schedule = "grid", reduction = "looped"> (%a = %g : tensor<2x64x256xf32>, %b = %x : tensor<2x64x256xf32>) -> (tensor<2x64x256xf32>, tensor<4x256xf32>) {
    %2 = nd.mul %a, %b : tensor<2x64x256xf32>
    %3 = nd.reshape %2 : tensor<2x64x256xf32> -> tensor<4x32x256xf32>
    %4 = nd.sum %3 {axes = [1]} : tensor<4x32x256xf32> -> tensor<4x256xf32>
    kernel.yield %2, %4 : tensor<2x64x256xf32>, tensor<4x256xf32>
  }
  func.return %0, %1 : tensor<2x64x256xf32>, tensor<4x256xf32>
}

// What a reduction feeds waits for its end.
// CHECK-LABEL: tile.program @fed
// CHECK:         scf.for
// CHECK-NOT:     tile.store
// CHECK:         scf.yield
// CHECK:         tile.reduce
// CHECK:         scf.for
// CHECK:         tile.store
func.func @normal(%g: tensor<128x256xf32>) -> (tensor<128x256xf32>, tensor<256xf32>) {
  %0, %1 = kernel.fused @fed reduce config<tile = {d = 256, r = 8}, warps = 8, schedule = "grid", reduction = "looped"> (%a = %g : tensor<128x256xf32>) -> (tensor<128x256xf32>, tensor<256xf32>) {
    %2 = nd.sum %a {axes = [0]} : tensor<128x256xf32> -> tensor<256xf32>
    %3 = nd.broadcast %2 {dims = [1]} : tensor<256xf32> -> tensor<128x256xf32>
    %4 = nd.sub %a, %3 : tensor<128x256xf32>
    kernel.yield %4, %2 : tensor<128x256xf32>, tensor<256xf32>
  }
  func.return %0, %1 : tensor<128x256xf32>, tensor<256xf32>
}

// Elements of another array are a map of their own.
// CHECK-LABEL: tile.program @apart
// CHECK-COUNT-2: tile.for_tiles
func.func @other(%g: tensor<128x256xf32>, %x: tensor<128x256xf32>) -> (tensor<128x256xf32>, tensor<256xf32>) {
  %0, %1 = kernel.fused @apart reduce config<tile = {d = 256, r = 8}, warps = 8, schedule = "grid", reduction = "looped"> (%a = %g : tensor<128x256xf32>, %b = %x : tensor<128x256xf32>) -> (tensor<128x256xf32>, tensor<256xf32>) {
    %2 = nd.exp %b : tensor<128x256xf32>
    %3 = nd.sum %a {axes = [0]} : tensor<128x256xf32> -> tensor<256xf32>
    kernel.yield %2, %3 : tensor<128x256xf32>, tensor<256xf32>
  }
  func.return %0, %1 : tensor<128x256xf32>, tensor<256xf32>
}
