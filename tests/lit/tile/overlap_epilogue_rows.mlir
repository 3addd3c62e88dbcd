// RUN: irc-opt %s -p tile-kernels,merge-dots,place-operands,overlap-epilogue,stage-loads --split-input-file | filecheck %s
// RUN: irc-opt %s -p tile-kernels,merge-dots,place-operands,overlap-epilogue,stage-loads,stage-stores,assign-layouts,make-channels,specialize-warps --split-input-file | filecheck %s --check-prefix=ROLES

// An array that whole rows are reduced with comes by TMA in subtiles of 8 KB, from which the rows are put together: each
// moves what came before on.
// CHECK-LABEL: tile.program @rows
// CHECK:         scf.for {{.*}} iter_args
// CHECK:           tile.dot
// CHECK:         [[ROWS:%[0-9]+]] = scf.for %column = {{.*}} iter_args([[BEFORE:%[0-9]+]] = {{%[0-9]+}}) -> (tensor<128x256xbf16>) {
// CHECK-NEXT:      [[AT:%[0-9]+]] = arith.addi {{%[0-9]+}}, %column : index
// CHECK-NEXT:      tile.copy %r{{.*}}, [[AT]]] -> [[BUFFER:%[0-9]+]] {via = "tma"} : !tile.view<512x256xbf16> -> !tile.buffer<128x32xbf16>
// CHECK-NEXT:      [[SUBTILE:%[0-9]+]] = tile.read [[BUFFER]]
// CHECK-NEXT:      [[REST:%[0-9]+]] = tile.slice [[BEFORE]] {at = array<i64: 0, 32>} : tensor<128x256xbf16> -> tensor<128x224xbf16>
// CHECK-NEXT:      [[MOVED:%[0-9]+]] = tile.concat [[REST]], [[SUBTILE]] {axis = 1 : i64}
// CHECK-NEXT:      scf.yield [[MOVED]]
// CHECK-NEXT:    } {unroll}
// CHECK:         tile.map {{%[0-9]+}}, [[ROWS]]
// CHECK:         tile.reduce
// CHECK:         scf.for %column

// A subtile has the fragment of the rows, and stages of its own, which are filled beside the last products.
// ROLES-LABEL: tile.program @rows
// ROLES:         tile.channel {stages = 5 : i64} : !tile.channel<!tile.buffer<128x32xbf16, [[SHARED:#[a-z0-9]+]]>>
// ROLES:         tile.partitions
// ROLES:           tile.copy %r{{.*}} !tile.buffer<128x32xbf16, [[SHARED]]>
// ROLES:         } {
// ROLES:           tile.dot
// ROLES:           tile.concat {{.*}} tensor<128x32xbf16, {{#[a-z0-9]+}}> -> tensor<128x256xbf16, [[FRAG:#[a-z0-9]+]]>
// ROLES:           tile.map {{%[0-9]+}}, {{%[0-9]+}} : tensor<128x256xf32, [[FRAG]]>, tensor<128x256xbf16, [[FRAG]]>

func.func @f(%x: tensor<512x128xbf16>, %w: tensor<128x256xbf16>, %r: tensor<512x256xbf16>) -> tensor<512x256xbf16> {
  %p = kernel.fused @rows matmul config<tile = {m = 128, n = 256, k = 64}, stages = 3, warps = 8, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<512x128xbf16>, %b = %w : tensor<128x256xbf16>, %r1 = %r : tensor<512x256xbf16>) -> tensor<512x256xbf16> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x128xbf16>, tensor<128x256xbf16>) -> tensor<512x256xf32>
    %r2 = nd.cast %r1 : tensor<512x256xbf16> -> tensor<512x256xf32>
    %d = nd.add %c, %r2 : tensor<512x256xf32>
    %m = nd.max %d {axes = [1]} : tensor<512x256xf32> -> tensor<512xf32>
    %e = nd.broadcast %m {dims = [0]} : tensor<512xf32> -> tensor<512x256xf32>
    %h = nd.sub %d, %e : tensor<512x256xf32>
    %o = nd.cast %h : tensor<512x256xf32> -> tensor<512x256xbf16>
    kernel.yield %o : tensor<512x256xbf16>
  }
  func.return %p : tensor<512x256xbf16>
}

// -----

// Rows that do not begin at multiples of 16 bytes are loaded at once; so they are where consumers take turns, which read
// them beside the products of the other.
// CHECK-LABEL: tile.program @unaligned
// CHECK-NOT:     iter_args({{.*}} -> (tensor<64x128xbf16>)
// CHECK:         tile.load %r{{.*}} -> tensor<64x128xbf16>
// ROLES-LABEL: tile.program @unaligned

func.func @f(%x: tensor<512x128xbf16>, %w: tensor<128x125xbf16>, %r: tensor<512x125xbf16>) -> tensor<512x125xbf16> {
  %p = kernel.fused @unaligned matmul config<tile = {m = 64, n = 128, k = 64}, stages = 3, warps = 4, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<512x128xbf16>, %b = %w : tensor<128x125xbf16>, %r1 = %r : tensor<512x125xbf16>) -> tensor<512x125xbf16> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x128xbf16>, tensor<128x125xbf16>) -> tensor<512x125xf32>
    %r2 = nd.cast %r1 : tensor<512x125xbf16> -> tensor<512x125xf32>
    %d = nd.add %c, %r2 : tensor<512x125xf32>
    %m = nd.max %d {axes = [1]} : tensor<512x125xf32> -> tensor<512xf32>
    %e = nd.broadcast %m {dims = [0]} : tensor<512xf32> -> tensor<512x125xf32>
    %h = nd.sub %d, %e : tensor<512x125xf32>
    %o = nd.cast %h : tensor<512x125xf32> -> tensor<512x125xbf16>
    kernel.yield %o : tensor<512x125xbf16>
  }
  func.return %p : tensor<512x125xbf16>
}

// -----

// CHECK-LABEL: tile.program @turns
// CHECK-NOT:     iter_args({{.*}} -> (tensor<64x128xbf16>)
// CHECK:         tile.load %r{{.*}} -> tensor<64x128xbf16>
// ROLES-LABEL: tile.program @turns

func.func @f(%x: tensor<512x128xbf16>, %w: tensor<128x128xbf16>, %r: tensor<512x128xbf16>) -> tensor<512x128xbf16> {
  %p = kernel.fused @turns matmul config<tile = {m = 64, n = 128, k = 64}, stages = 3, warps = 4, schedule = "pingpong", instruction = "wgmma"> (%a = %x : tensor<512x128xbf16>, %b = %w : tensor<128x128xbf16>, %r1 = %r : tensor<512x128xbf16>) -> tensor<512x128xbf16> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x128xbf16>, tensor<128x128xbf16>) -> tensor<512x128xf32>
    %r2 = nd.cast %r1 : tensor<512x128xbf16> -> tensor<512x128xf32>
    %d = nd.add %c, %r2 : tensor<512x128xf32>
    %m = nd.max %d {axes = [1]} : tensor<512x128xf32> -> tensor<512xf32>
    %e = nd.broadcast %m {dims = [0]} : tensor<512xf32> -> tensor<512x128xf32>
    %h = nd.sub %d, %e : tensor<512x128xf32>
    %o = nd.cast %h : tensor<512x128xf32> -> tensor<512x128xbf16>
    kernel.yield %o : tensor<512x128xbf16>
  }
  func.return %p : tensor<512x128xbf16>
}
