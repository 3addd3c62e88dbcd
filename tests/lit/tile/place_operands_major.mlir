// RUN: irc-opt %s -p place-operands | filecheck %s

// wgmma reads 8-bit operands along K only. TMA copies what lies so in memory; what does not is turned in registers.
// CHECK-LABEL: @f8
// CHECK:         tile.copy %x[%c0, %k]
// CHECK:         tile.copy %w[%k, %c0]
// CHECK-LABEL: @i8
// CHECK:         [[B:%[a-z0-9_]+]] = tile.load %w[%k, %c0]
// CHECK:         tile.copy %x[%c0, %k]
// CHECK:         tile.write [[B]]

tile.program @f8(%x: !tile.view<64x256xf8E4M3FN>, %w: !tile.view<64x256xf8E4M3FN>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c256 step %c128 iter_args(%acc = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xf8E4M3FN> -> tensor<64x128xf8E4M3FN>
    %b = tile.load %w[%k, %c0] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<64x256xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
    %d = tile.dot %a, %b, %acc : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E4M3FN>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @i8(%x: !tile.view<64x256xi8>, %w: !tile.view<256x64xi8>, %y: !tile.view<64x64xi32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0 : i32
  %s = tile.splat %zero : i32 -> tensor<64x64xi32>
  %p = scf.for %k = %c0 to %c256 step %c128 iter_args(%acc = %s) -> (tensor<64x64xi32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xi8> -> tensor<64x128xi8>
    %b = tile.load %w[%k, %c0] : !tile.view<256x64xi8> -> tensor<128x64xi8>
    %d = tile.dot %a, %b, %acc : tensor<64x128xi8>, tensor<128x64xi8>, tensor<64x64xi32> -> tensor<64x64xi32>
    scf.yield %d : tensor<64x64xi32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xi32>, !tile.view<64x64xi32>
}
