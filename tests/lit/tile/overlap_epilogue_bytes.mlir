// RUN: irc-opt %s -p 'tile-kernels,overlap-epilogue' | filecheck %s
// RUN: irc-opt %s -p 'tile-kernels,place-operands,overlap-epilogue,stage-stores,assign-layouts,make-channels,specialize-warps,plan-shared' | filecheck %s --check-prefix=SHARED

// A thread of twelve warps has 48 elements of the accumulator, which are no reason for subtiles. But all of the tile of
// f32 has 73728 bytes, for which there is no room beside a channel of 184320, in the 232448 of a block.
// CHECK-LABEL: tile.program @wide
// CHECK:         [[ACC:%[0-9]+]] = scf.for
// CHECK:         scf.for %column
// CHECK:           [[SUBTILE:%[0-9]+]] = tile.slice [[ACC]][{{%[0-9]+}}, %column] {at = array<i64: 0, 0>} : tensor<192x96xf32> -> tensor<192x32xf32>
// CHECK:           tile.store [[SUBTILE]], {{.*}} : tensor<192x32xf32>
// CHECK:         } {unroll}
// SHARED-LABEL: tile.program @wide
// SHARED-SAME:    shared = 209920 : i64
// SHARED:         tile.alloc {offset = {{[0-9]+}} : i64} : !tile.buffer<192x32xf32

// Of bf16 it has 36864 bytes, more than are kept for epilogues, too.
// CHECK-LABEL: tile.program @narrow
// CHECK:         tile.store {{.*}} : tensor<192x32xbf16>

// Left alone: a third of that.
// CHECK-LABEL: tile.program @third
// CHECK-NOT:     %column
// CHECK:         tile.store {{.*}} : tensor<64x96xbf16>

func.func @wide(%x: tensor<768x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<768x768xf32> {
  %y = kernel.fused @wide_0 matmul config<tile = {m = 192, n = 96, k = 64}, stages = 5, warps = 12, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<768x1024xbf16>, %b = %w : tensor<1024x768xbf16>) -> tensor<768x768xf32> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<768x1024xbf16>, tensor<1024x768xbf16>) -> tensor<768x768xf32>
    kernel.yield %p : tensor<768x768xf32>
  }
  func.return %y : tensor<768x768xf32>
}

func.func @narrow(%x: tensor<768x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<768x768xbf16> {
  %y = kernel.fused @narrow_0 matmul config<tile = {m = 192, n = 96, k = 64}, stages = 5, warps = 12, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<768x1024xbf16>, %b = %w : tensor<1024x768xbf16>) -> tensor<768x768xbf16> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<768x1024xbf16>, tensor<1024x768xbf16>) -> tensor<768x768xbf16>
    kernel.yield %p : tensor<768x768xbf16>
  }
  func.return %y : tensor<768x768xbf16>
}

func.func @third(%x: tensor<768x1024xbf16>, %w: tensor<1024x768xbf16>) -> tensor<768x768xbf16> {
  %y = kernel.fused @third_0 matmul config<tile = {m = 64, n = 96, k = 64}, stages = 5, warps = 4, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<768x1024xbf16>, %b = %w : tensor<1024x768xbf16>) -> tensor<768x768xbf16> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<768x1024xbf16>, tensor<1024x768xbf16>) -> tensor<768x768xbf16>
    kernel.yield %p : tensor<768x768xbf16>
  }
  func.return %y : tensor<768x768xbf16>
}
