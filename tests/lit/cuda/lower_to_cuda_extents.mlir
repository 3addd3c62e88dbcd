// RUN: irc-opt %s -p lower-to-cuda --split-input-file --verify-diagnostics | filecheck %s

// The size of N comes behind the arrays, in multiples of 4; the end of the view follows from it where the kernel begins.
// CHECK-LABEL: cuda.kernel @rows(%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>, %N: i32) grid [33, 1, 1] block 32
// CHECK-SAME:    operands [0, 1, 2] writes [0, 1, 0] dims ["N"] domains {{\[}}[1, 0, 2084, 64]]
// CHECK-NEXT:    [[UNITS:%[a-z0-9_]+]] = arith.index_cast %N : i32 to index
// CHECK:         [[N:%[a-z0-9_]+]] = arith.shli [[UNITS]]
// CHECK:         arith.cmpi slt, {{.*}}, [[N]] : index
// CHECK:         scf.if
// CHECK-NEXT:      cuda.load
#frag = #tile.fragment<((32),(2)):((2),(1))>
builtin.module attributes {irc.dims = {N = array<i64: 4, 2048, 4, 521>}} {
tile.program @rows(%x: !tile.view<2084xf32>, %y: !tile.view<2084xf32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, grid = 33 : i64, domains = [array<i64: 1, 0, 2084, 64>]} {
  %block = cuda.block_id
  %c64 = arith.constant 64 : index
  %i = arith.muli %block, %c64 : index
  %a = tile.load %x[%i] {checked = array<i64: 0>} : !tile.view<2084xf32> -> tensor<64xf32, #frag>
  tile.store %a, %y[%i] {checked = array<i64: 0>} : tensor<64xf32, #frag>, !tile.view<2084xf32>
}
}

// -----

// A number that stands for an extent is none to compute with.
#frag = #tile.fragment<((32),(2)):((2),(1))>
builtin.module attributes {irc.dims = {N = array<i64: 4, 2048, 4, 521>}} {
tile.program @leaks(%x: !tile.view<4096xf32>, %y: !tile.view<4096xf32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, grid = 1 : i64} {
  %block = cuda.block_id
  %n = arith.constant 2084 : index
  // expected-error @+1 {{leaks needs N where no argument can bring it}}
  %i = arith.muli %block, %n : index
  %a = tile.load %x[%i] : !tile.view<4096xf32> -> tensor<64xf32, #frag>
  tile.store %a, %y[%i] : tensor<64xf32, #frag>, !tile.view<4096xf32>
}
}

// -----

// The stride of a row is what N is in the call; places are divided by it, too.
// CHECK-LABEL: cuda.kernel @inner
// CHECK:         [[UNITS:%[a-z0-9_]+]] = arith.index_cast %N : i32 to index
// CHECK:         [[N:%[a-z0-9_]+]] = arith.shli [[UNITS]]
// CHECK:         [[ROW:%[a-z0-9_]+]] = arith.divui %{{.*}}, [[N]] : index
// CHECK:         arith.muli [[ROW]], [[N]] : index
// CHECK:         cuda.load
#frag = #tile.fragment<((32),(2)):((2),(1))>
builtin.module attributes {irc.dims = {N = array<i64: 4, 2048, 4, 521>}} {
tile.program @inner(%x: !tile.view<8x2084xf32>, %y: !tile.view<8x2084xf32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, grid = 1 : i64} {
  %block = cuda.block_id
  %c64 = arith.constant 64 : index
  %i = arith.muli %block, %c64 : index
  %a = tile.load %x[%i] {map = affine_map<(d0) -> (d0 floordiv 2084, d0 mod 2084)>, checked = array<i64: 0>} : !tile.view<8x2084xf32> -> tensor<64xf32, #frag>
  tile.store %a, %y[%i] {map = affine_map<(d0) -> (d0 floordiv 2084, d0 mod 2084)>, checked = array<i64: 0>} : tensor<64xf32, #frag>, !tile.view<8x2084xf32>
}
}
