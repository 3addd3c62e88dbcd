// RUN: irc-opt %s -p narrow-maps | filecheck %s

// Weights of 4 bits: both halves of a byte are widened in maps of their own, and multiplied by scales that another map
// extends to f32. A signed half that is read as unsigned is left in f32.
// CHECK:         [[LOW:%[a-z0-9_]+]] = tile.map {{.*}} : tensor<64x16xi8> -> tensor<64x16xbf16> {
// CHECK-NEXT:    ^bb0([[X:%[a-z0-9_]+]]: i8):
// CHECK-NEXT:      [[FOUR:%[a-z0-9_]+]] = arith.constant 4 : i8
// CHECK-NEXT:      [[UP:%[a-z0-9_]+]] = arith.shli [[X]], [[FOUR]] : i8
// CHECK-NEXT:      [[DOWN:%[a-z0-9_]+]] = arith.shrsi [[UP]], [[FOUR]] : i8
// CHECK-NEXT:      [[V:%[a-z0-9_]+]] = arith.sitofp [[DOWN]] : i8 to bf16
// CHECK-NEXT:      tile.yield [[V]] : bf16
// CHECK:         tile.map [[LOW]], [[S:%[a-z0-9_]+]] : tensor<64x16xbf16>, tensor<64x1xbf16> -> tensor<64x16xbf16> {
// CHECK-NEXT:    ^bb0({{.*}}: bf16, {{.*}}: bf16):
// CHECK-NEXT:      arith.mulf {{.*}} : bf16
// CHECK:         [[HIGH:%[a-z0-9_]+]] = tile.map {{.*}} : tensor<64x16xi8> -> tensor<64x16xbf16> {
// CHECK:           arith.andi
// CHECK-NEXT:      arith.uitofp {{.*}} : i8 to bf16
// CHECK:         tile.map [[HIGH]], [[S]] : tensor<64x16xbf16>, tensor<64x1xbf16> -> tensor<64x16xbf16> {
// CHECK:         tile.map {{.*}} : tensor<64x16xi8>, tensor<64x1xf32> -> tensor<64x16xbf16> {
// CHECK:           arith.uitofp {{.*}} : i8 to f32
// CHECK-NEXT:      arith.mulf {{.*}} : f32

tile.program @halves(%x: !tile.view<64x16xi8>, %s: !tile.view<64xbf16>, %w: !tile.view<16x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 16}, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %s1 = tile.load %s[%c0, %c0] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<64xbf16> -> tensor<64x1xbf16>
  %scale = tile.map %s1 : tensor<64x1xbf16> -> tensor<64x1xf32> {
  ^bb0(%one: bf16):
    %wide = arith.extf %one : bf16 to f32
    tile.yield %wide : f32
  }
  %x1 = tile.load %x[%c0, %c0] : !tile.view<64x16xi8> -> tensor<64x16xi8>
  %b = tile.alloc : !tile.buffer<16x64xbf16>
  tile.copy %w[%c0, %c0] -> %b {via = "tma"} : !tile.view<16x64xbf16> -> !tile.buffer<16x64xbf16>
  %low = tile.map %x1, %scale : tensor<64x16xi8>, tensor<64x1xf32> -> tensor<64x16xbf16> {
  ^bb0(%a: i8, %t: f32):
    %four = arith.constant 4 : i8
    %up = arith.shli %a, %four : i8
    %down = arith.shrsi %up, %four : i8
    %float = arith.sitofp %down : i8 to f32
    %product = arith.mulf %float, %t : f32
    %rounded = arith.truncf %product : f32 to bf16
    tile.yield %rounded : bf16
  }
  %d1 = tile.dot %low, %b, %start : tensor<64x16xbf16>, !tile.buffer<16x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
  %high = tile.map %x1, %scale : tensor<64x16xi8>, tensor<64x1xf32> -> tensor<64x16xbf16> {
  ^bb0(%a: i8, %t: f32):
    %four = arith.constant 4 : i8
    %fifteen = arith.constant 15 : i8
    %down = arith.shrsi %a, %four : i8
    %masked = arith.andi %down, %fifteen : i8
    %float = arith.uitofp %masked : i8 to f32
    %product = arith.mulf %float, %t : f32
    %rounded = arith.truncf %product : f32 to bf16
    tile.yield %rounded : bf16
  }
  %d2 = tile.dot %high, %b, %d1 : tensor<64x16xbf16>, !tile.buffer<16x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
  %mixed = tile.map %x1, %scale : tensor<64x16xi8>, tensor<64x1xf32> -> tensor<64x16xbf16> {
  ^bb0(%a: i8, %t: f32):
    %four = arith.constant 4 : i8
    %down = arith.shrsi %a, %four : i8
    %float = arith.uitofp %down : i8 to f32
    %product = arith.mulf %float, %t : f32
    %rounded = arith.truncf %product : f32 to bf16
    tile.yield %rounded : bf16
  }
  %d3 = tile.dot %mixed, %b, %d2 : tensor<64x16xbf16>, !tile.buffer<16x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %d3, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
