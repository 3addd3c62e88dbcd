// RUN: irc-opt %s -p slice-dots | filecheck %s

// Dots of one block that read the same parts of a copy read them once: halves of bytes.
// CHECK-LABEL: @halves
// CHECK:           tile.copy %w
// CHECK:           [[W0:%[a-z0-9_]+]] = tile.read {{.*}} -> tensor<64x16xi8>
// CHECK:           [[W1:%[a-z0-9_]+]] = tile.read {{.*}} -> tensor<64x16xi8>
// CHECK-NOT:       tile.read
// CHECK:           tile.map [[W0]] : tensor<64x16xi8>
// CHECK:           tile.map [[W1]] : tensor<64x16xi8>
// CHECK:           tile.map [[W0]] : tensor<64x16xi8>
// CHECK:           tile.map [[W1]] : tensor<64x16xi8>

// What is copied between two reads is read again.
// CHECK-LABEL: @copied_between
// CHECK-COUNT-4:   tile.read {{.*}} -> tensor<64x16xi8>

tile.program @halves(%w: !tile.view<64x64xi8>, %x: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %w1 = tile.alloc : !tile.buffer<64x32xi8>
  %b = tile.alloc : !tile.buffer<32x64xbf16>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    tile.copy %w[%c0, %k] -> %w1 {via = "tma"} : !tile.view<64x64xi8> -> !tile.buffer<64x32xi8>
    %r1 = tile.read %w1 : !tile.buffer<64x32xi8> -> tensor<64x32xi8>
    %a1 = tile.map %r1 : tensor<64x32xi8> -> tensor<64x32xbf16> {
    ^bb0(%byte: i8):
      %by = arith.constant 4 : i8
      %field = arith.shrsi %byte, %by : i8
      %float = arith.sitofp %field : i8 to bf16
      tile.yield %float : bf16
    }
    tile.copy %x[%k, %c0] -> %b {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<32x64xbf16>
    %d = tile.dot %a1, %b, %acc : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %r2 = tile.read %w1 : !tile.buffer<64x32xi8> -> tensor<64x32xi8>
    %a2 = tile.map %r2 : tensor<64x32xi8> -> tensor<64x32xbf16> {
    ^bb0(%byte: i8):
      %by = arith.constant 2 : i8
      %field = arith.shrsi %byte, %by : i8
      %float = arith.sitofp %field : i8 to bf16
      tile.yield %float : bf16
    }
    %e = tile.dot %a2, %b, %d : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @copied_between(%w: !tile.view<64x64xi8>, %x: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %w1 = tile.alloc : !tile.buffer<64x32xi8>
  %b = tile.alloc : !tile.buffer<32x64xbf16>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    tile.copy %w[%c0, %k] -> %w1 {via = "tma"} : !tile.view<64x64xi8> -> !tile.buffer<64x32xi8>
    %r1 = tile.read %w1 : !tile.buffer<64x32xi8> -> tensor<64x32xi8>
    %a1 = tile.map %r1 : tensor<64x32xi8> -> tensor<64x32xbf16> {
    ^bb0(%byte: i8):
      %by = arith.constant 4 : i8
      %field = arith.shrsi %byte, %by : i8
      %float = arith.sitofp %field : i8 to bf16
      tile.yield %float : bf16
    }
    tile.copy %x[%k, %c0] -> %b {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<32x64xbf16>
    %d = tile.dot %a1, %b, %acc : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.copy %w[%c0, %k] -> %w1 {via = "tma"} : !tile.view<64x64xi8> -> !tile.buffer<64x32xi8>
    %r2 = tile.read %w1 : !tile.buffer<64x32xi8> -> tensor<64x32xi8>
    %a2 = tile.map %r2 : tensor<64x32xi8> -> tensor<64x32xbf16> {
    ^bb0(%byte: i8):
      %by = arith.constant 2 : i8
      %field = arith.shrsi %byte, %by : i8
      %float = arith.sitofp %field : i8 to bf16
      tile.yield %float : bf16
    }
    %e = tile.dot %a2, %b, %d : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
