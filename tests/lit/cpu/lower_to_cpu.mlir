// RUN: irc-opt %s -p lower-to-cpu --split-input-file | filecheck %s

// What is read again is kept in memory of a thread's own: the exponentials, written by the loop of their sum, and one
// element a row. The sum is in registers, and may be added in any order. The load is where its element is needed.
// CHECK:      cpu.kernel @rows(%x: memref<6400xf32>, %y: memref<6400xf32>, %0: index, %1: index) {results = 1 : i64, tiles = 16 : i64} {
// CHECK:        [[SUMS:%.*]] = memref.alloca() : memref<4xf32>
// CHECK:        [[KEPT:%.*]] = memref.alloca() : memref<400xf32>
// CHECK:        scf.for
// CHECK:          scf.for
// CHECK:            scf.for {{.*}} iter_args
// CHECK:              memref.load %x
// CHECK:              math.exp
// CHECK:              memref.store {{.*}}, [[KEPT]]
// CHECK-NOT:          memref.load
// CHECK:              arith.addf {{.*}} fastmath<reassoc>
// CHECK:            memref.store {{.*}}, [[SUMS]]
// CHECK:          scf.for
// CHECK:            scf.for
// CHECK:              memref.load [[KEPT]]
// CHECK:              memref.load [[SUMS]]
// CHECK-NOT:          math.exp
// CHECK:              memref.store {{.*}}, %y
tile.program @rows(%x: !tile.view<64x100xf32>, %y: !tile.view<64x100xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [4] {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%i, %c0] : !tile.view<64x100xf32> -> tensor<4x100xf32>
    %e = tile.map %a : tensor<4x100xf32> -> tensor<4x100xf32> {
    ^bb0(%v: f32):
      %w = math.exp %v : f32
      tile.yield %w : f32
    }
    %s = tile.reduce %e {axes = array<i64: 1>} : tensor<4x100xf32> -> tensor<4x1xf32> {
    ^bb0(%v: f32, %w: f32):
      %t = arith.addf %v, %w : f32
      tile.yield %t : f32
    }
    %r = tile.map %e, %s : tensor<4x100xf32>, tensor<4x1xf32> -> tensor<4x100xf32> {
    ^bb0(%v: f32, %w: f32):
      %t = arith.divf %v, %w : f32
      tile.yield %t : f32
    }
    tile.store %r, %y[%i, %c0] : tensor<4x100xf32>, !tile.view<64x100xf32>
  }
}

// -----

// The last tile is shorter: its loop ends where the view does, and no load tests that.
// CHECK:      cpu.kernel @tail
// CHECK:        arith.minsi
// CHECK:        scf.for
// CHECK-NOT:    scf.if
tile.program @tail(%x: !tile.view<100xf32>, %y: !tile.view<100xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [100] steps [64] {
    %a = tile.load %x[%i] {checked = array<i64: 0>} : !tile.view<100xf32> -> tensor<64xf32>
    tile.store %a, %y[%i] {checked = array<i64: 0>} : tensor<64xf32>, !tile.view<100xf32>
  }
}

// -----

// Lanes of a combiner of two ops, which are a vector side by side; halves of them are joined until four are left, then
// those, one after the other, and what is left over.
// CHECK:      cpu.kernel @argmax
// CHECK-DAG:    [[LANES:%.*]] = memref.alloca() : memref<32xf32>
// CHECK-DAG:    [[HALF:%.*]] = memref.alloca() : memref<16xf32>
// CHECK-DAG:    [[LAST:%.*]] = memref.alloca() : memref<4xf32>
// CHECK-DAG:    memref.alloca() : memref<32xindex>
// CHECK:        scf.for
// CHECK:          scf.for
// CHECK:            scf.for
// CHECK:              memref.load %x
// CHECK:              memref.store {{.*}}, [[LANES]]
// CHECK:            } {unroll}
// CHECK:            scf.for
// CHECK:              scf.for
// CHECK:                arith.cmpf
// CHECK:                memref.store {{.*}}, [[LANES]]
// CHECK:              } {unroll}
// CHECK:            scf.for
// CHECK:              memref.load [[LANES]]
// CHECK:              memref.load [[LANES]]
// CHECK:              memref.store {{.*}}, [[HALF]]
// CHECK:            } {unroll}
// CHECK-COUNT-2:    {unroll}
// CHECK-COUNT-4:    memref.load [[LAST]]
// CHECK-NOT:        memref.load [[LAST]]
// CHECK:            scf.for {{.*}} iter_args
// CHECK:              arith.cmpf
tile.program @argmax(%x: !tile.view<64x100xf32>, %y: !tile.view<64xindex>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [4] {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%i, %c0] : !tile.view<64x100xf32> -> tensor<4x100xf32>
    %p = tile.iota %c0 {axis = 1 : i64} : tensor<1x100xindex>
    %q = tile.map %p : tensor<1x100xindex> -> tensor<4x100xindex> {
    ^bb0(%v: index):
      tile.yield %v : index
    }
    %m, %at = tile.reduce %a, %q {axes = array<i64: 1>} : tensor<4x100xf32>, tensor<4x100xindex> -> tensor<4x1xf32>, tensor<4x1xindex> {
    ^bb0(%v: f32, %k: index, %w: f32, %l: index):
      %test = arith.cmpf ogt, %w, %v : f32
      %t = arith.select %test, %w, %v : f32
      %n = arith.select %test, %l, %k : index
      tile.yield %t, %n : f32, index
    }
    tile.store %at, %y[%i, %c0] {map = affine_map<(d0, d1) -> (d0)>} : tensor<4x1xindex>, !tile.view<64xindex>
  }
}

// -----

// Rows are scanned side by side: up to eight sums in registers, here of all six.
// CHECK:      cpu.kernel @rows
// CHECK:        [[SUMS:%.*]] = memref.alloca() : memref<600xf32>
// CHECK:          [[ONE:%.*]] = arith.constant 1 : index
// CHECK-COUNT-6:  memref.store {{.*}}, [[SUMS]]
// CHECK:          scf.for {{.*}} iter_args({{.*}}) -> (f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-6:    arith.addf
// CHECK:            memref.store {{.*}}, [[SUMS]]
// CHECK:            scf.yield
tile.program @rows(%x: !tile.view<60x100xf32>, %y: !tile.view<60x100xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [60] steps [6] {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%i, %c0] : !tile.view<60x100xf32> -> tensor<6x100xf32>
    %s = tile.scan %a {axis = 1 : i64} : tensor<6x100xf32> -> tensor<6x100xf32> {
    ^bb0(%v: f32, %w: f32):
      %t = arith.addf %v, %w : f32
      tile.yield %t : f32
    }
    tile.store %s, %y[%i, %c0] : tensor<6x100xf32>, !tile.view<60x100xf32>
  }
}

// -----

// A scan along another axis than memory: row after row, each from the one before it, with what is contiguous innermost.
// CHECK:      cpu.kernel @columns
// CHECK:        [[SUMS:%.*]] = memref.alloca() : memref<3200xf32>
// CHECK:          scf.for
// CHECK:            memref.store {{.*}}, [[SUMS]]
// CHECK:          scf.for
// CHECK-NEXT:       scf.for
// CHECK:              memref.load [[SUMS]]
// CHECK:              arith.addf
// CHECK:              memref.store {{.*}}, [[SUMS]]
tile.program @columns(%x: !tile.view<100x64xf32>, %y: !tile.view<100x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%j) extents [64] steps [32] {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0, %j] : !tile.view<100x64xf32> -> tensor<100x32xf32>
    %s = tile.scan %a {axis = 0 : i64} : tensor<100x32xf32> -> tensor<100x32xf32> {
    ^bb0(%v: f32, %w: f32):
      %t = arith.addf %v, %w : f32
      tile.yield %t : f32
    }
    tile.store %s, %y[%c0, %j] : tensor<100x32xf32>, !tile.view<100x64xf32>
  }
}

// -----

// Columns that are not reduced are contiguous, and innermost: their sums are in memory.
// CHECK:      cpu.kernel @columns
// CHECK:        [[SUMS:%.*]] = memref.alloca() : memref<32xf32>
// CHECK:          scf.for
// CHECK:            memref.store {{.*}}, [[SUMS]]
// CHECK:          scf.for
// CHECK-NEXT:       scf.for
// CHECK:              memref.load [[SUMS]]
// CHECK:              arith.addf
// CHECK-NOT:          reassoc
// CHECK:              memref.store {{.*}}, [[SUMS]]
tile.program @columns(%x: !tile.view<100x64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%j) extents [64] steps [32] {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%j, %c0] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<100x64xf32> -> tensor<32x100xf32>
    %s = tile.reduce %a {axes = array<i64: 1>} : tensor<32x100xf32> -> tensor<32x1xf32> {
    ^bb0(%v: f32, %w: f32):
      %t = arith.addf %v, %w : f32
      tile.yield %t : f32
    }
    tile.store %s, %y[%j, %c0] {map = affine_map<(d0, d1) -> (d0)>} : tensor<32x1xf32>, !tile.view<64xf32>
  }
}

// -----

// Operands lie in memory as products read them; steps add to one accumulator.
// CHECK:      cpu.kernel @product
// CHECK:        [[SUM:%.*]] = memref.alloca() : memref<512xf32>
// CHECK:        scf.for
// CHECK:          cpu.gemm %x[{{.*}}], %w[{{.*}}] -> [[SUM]] sizes {{.*}} {lhs_stride = 64 : i64, lhs_transposed = false, rhs_stride = 32 : i64, rhs_transposed = false, width = 32 : i64} : memref<4096xf32>, memref<2048xf32> -> memref<512xf32>
// CHECK:        memref.store {{.*}}, %y
tile.program @product(%x: !tile.view<64x64xf32>, %w: !tile.view<64x32xf32>, %y: !tile.view<64x32xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 32] steps [16, 32] {
    %f0 = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zero = tile.splat %f0 : f32 -> tensor<16x32xf32>
    %sum = scf.for %k = %c0 to %c64 step %c32 iter_args(%s = %zero) -> (tensor<16x32xf32>) {
      %a = tile.load %x[%i, %k] : !tile.view<64x64xf32> -> tensor<16x32xf32>
      %b = tile.load %w[%k, %j] : !tile.view<64x32xf32> -> tensor<32x32xf32>
      %d = tile.dot %a, %b, %s : tensor<16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
      scf.yield %d : tensor<16x32xf32>
    }
    tile.store %sum, %y[%i, %j] : tensor<16x32xf32>, !tile.view<64x32xf32>
  }
}

// -----

// Rows that end inside of a tile are those of the product, which reads them where they lie.
// CHECK:      cpu.kernel @edge
// CHECK-NOT:    memref.alloca() : memref<1024xf32>
// CHECK:          [[ROWS:%.*]] = arith.minsi
// CHECK:          cpu.gemm %x[{{.*}}], %w[{{.*}}] -> {{.*}} sizes [[ROWS]], {{.*}} {lhs_stride = 64 : i64
tile.program @edge(%x: !tile.view<60x64xf32>, %w: !tile.view<64x32xf32>, %y: !tile.view<60x32xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [60, 32] steps [16, 32] {
    %f0 = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %zero = tile.splat %f0 : f32 -> tensor<16x32xf32>
    %a = tile.load %x[%i, %c0] {checked = array<i64: 0>} : !tile.view<60x64xf32> -> tensor<16x64xf32>
    %b = tile.load %w[%c0, %j] : !tile.view<64x32xf32> -> tensor<64x32xf32>
    %d = tile.dot %a, %b, %zero : tensor<16x64xf32>, tensor<64x32xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
    tile.store %d, %y[%i, %j] {checked = array<i64: 0>} : tensor<16x32xf32>, !tile.view<60x32xf32>
  }
}

// -----

// Operands of bf16 stay so, those of f16 are computed in f32 first.
// CHECK:      cpu.kernel @narrow
// CHECK-NOT:    memref.alloca() : memref<4096xbf16>
// CHECK:        cpu.gemm %x[{{.*}}], %w[{{.*}}] -> {{.*}} : memref<4096xbf16>, memref<4096xbf16> -> memref<4096xf32>
// CHECK:        arith.extf {{.*}} : f16 to f32
// CHECK-NEXT:   memref.store {{.*}} : memref<4096xf32>
// CHECK:        cpu.gemm {{.*}} : memref<4096xf32>, memref<4096xf32> -> memref<4096xf32>
tile.program @narrow(%x: !tile.view<64x64xbf16>, %w: !tile.view<64x64xbf16>, %v: !tile.view<64x64xf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %f0 = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %a = tile.load %x[%i, %c0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %w[%c0, %c0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
    %c = tile.load %v[%c0, %c0] : !tile.view<64x64xf16> -> tensor<64x64xf16>
    %d = tile.dot %a, %b, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = tile.dot %c, %c, %d : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %e, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  }
}

// -----

// What a convolution reads is gathered for products by segments of rows of places: nothing is divided by 32 in the innermost
// loop, which goes along memory.
// CHECK:      cpu.kernel @convolution
// CHECK:        [[WIDTH:%.*]] = arith.constant 32 : index
// CHECK:        [[TWO:%.*]] = arith.constant 2 : index
// CHECK:        [[PLACES:%.*]] = memref.alloca() : memref<576xf32>
// CHECK:          scf.for [[SEGMENT:%[0-9]+]] = {{.*}} to [[TWO]]
// CHECK:            [[BEGIN:%[0-9]+]] = arith.muli [[SEGMENT]], [[WIDTH]]
// CHECK:            [[END:%[0-9]+]] = arith.addi {{.*}}, [[WIDTH]]
// CHECK-NEXT:       scf.for {{.*}} = [[BEGIN]] to [[END]]
// CHECK-NOT:          arith.divui {{.*}}, [[WIDTH]]
// CHECK:              scf.if
// CHECK:                memref.load %x
// CHECK:              memref.store {{.*}}, [[PLACES]]
// CHECK:          cpu.gemm [[PLACES]]{{.*}} {lhs_stride = 64 : i64, lhs_transposed = true
tile.program @convolution(%x: !tile.view<1x32x32xf32>, %w: !tile.view<9x64xf32>, %y: !tile.view<1024x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [1024] steps [64] {
    %f0 = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %a = tile.load %x[%i, %c0] {map = affine_map<(d0, d1) -> (0, d1 floordiv 3 + d0 floordiv 32 - 1, d1 mod 3 + d0 mod 32 - 1)>, checked = array<i64: 1, 2>} : !tile.view<1x32x32xf32> -> tensor<64x9xf32>
    %b = tile.load %w[%c0, %c0] : !tile.view<9x64xf32> -> tensor<9x64xf32>
    %d = tile.dot %a, %b, %zero : tensor<64x9xf32>, tensor<9x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %d, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<1024x64xf32>
  }
}

// -----

// What is stored along another axis than it lies in memory is transposed on the way. The last tiles are narrower.
// CHECK:      cpu.kernel @transpose
// CHECK:        [[TILE:%.*]] = memref.alloca() : memref<512xf32>
// CHECK:        [[COLUMNS:%.*]] = arith.minsi
// CHECK:        cpu.transpose %x[{{.*}}] -> [[TILE]][{{.*}}] sizes {{.*}}, [[COLUMNS]] {pitch = 64 : i64, width = 16 : i64} : memref<6400xf32> -> memref<512xf32>
// CHECK-NOT:    memref.load %x
// CHECK:        memref.load [[TILE]]
// CHECK:        memref.store {{.*}}, %y
tile.program @transpose(%x: !tile.view<100x64xf32>, %y: !tile.view<64x100xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 100] steps [32, 16] {
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0>} : !tile.view<100x64xf32> -> tensor<32x16xf32>
    tile.store %a, %y[%i, %j] {checked = array<i64: 1>} : tensor<32x16xf32>, !tile.view<64x100xf32>
  }
}

// -----

// Elements without LLVM IR are left to the interpreter.
// CHECK: tile.program @narrow({{.*}}) {results = 1 : i64, irc.interpreted = "no loops for values of f8E4M3FN"} {
tile.program @narrow(%x: !tile.view<100xf8E4M3FN>, %y: !tile.view<100xf8E4M3FN>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [100] steps [50] {
    %a = tile.load %x[%i] : !tile.view<100xf8E4M3FN> -> tensor<50xf8E4M3FN>
    tile.store %a, %y[%i] : tensor<50xf8E4M3FN>, !tile.view<100xf8E4M3FN>
  }
}

// -----

// A tile is stored in the order in which its axes lie in memory: planes of 4096 elements, rows of 64, elements.
// CHECK:      cpu.kernel @permuted(
// CHECK-DAG:    %[[ROWS:.*]] = arith.constant 8 : index
// CHECK-DAG:    %[[PLANES:.*]] = arith.constant 4 : index
// CHECK:        scf.for
// CHECK-NEXT:     scf.for %{{.*}} = %{{.*}} to %[[PLANES]] step
// CHECK-NEXT:       scf.for %{{.*}} = %{{.*}} to %[[ROWS]] step
// CHECK-NEXT:         scf.for
// CHECK:                memref.store {{.*}}, %y
tile.program @permuted(%x: !tile.view<8x4x64xf32>, %y: !tile.view<8x4x64xf32, strides [64, 4096, 1]>) {results = 1 : i64} {
  tile.for_tiles (%i, %j, %k) extents [8, 4, 64] steps [8, 4, 64] {
    %a = tile.load %x[%i, %j, %k] : !tile.view<8x4x64xf32> -> tensor<8x4x64xf32>
    tile.store %a, %y[%i, %j, %k] : tensor<8x4x64xf32>, !tile.view<8x4x64xf32, strides [64, 4096, 1]>
  }
}
