// RUN: irc-opt %s -p expand-math | filecheck %s

// CHECK:      cpu.kernel @f
// CHECK-NOT:    math.exp %a
// CHECK:        math.fma
// CHECK:        arith.shli
// CHECK:        arith.mulf
// CHECK-NOT:    scf.if
// An f64 and a sine stay calls.
// CHECK:        math.exp {{.*}} : f64
// CHECK:        math.sin {{.*}} : f32
cpu.kernel @f(%x: memref<64xf32>, %y: memref<64xf32>, %first: index, %end: index) {results = 1 : i64, tiles = 64 : i64} {
  %c1 = arith.constant 1 : index
  scf.for %i = %first to %end step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    %b = math.exp %a : f32
    %wide = arith.extf %b : f32 to f64
    %c = math.exp %wide : f64
    %d = arith.truncf %c : f64 to f32
    %e = math.sin %d : f32
    memref.store %e, %y[%i] : memref<64xf32>
    scf.yield
  }
}
