// RUN: irc-opt %s -p expand-device-math --split-input-file | filecheck %s

// CHECK-LABEL: cuda.kernel @accurate
// CHECK:         %[[PART:.*]] = cuda.instruction "fma.rn.sat.f32" %a,
// CHECK:         cuda.instruction "fma.rm.f32" %[[PART]],
// CHECK-COUNT-2: math.fma
// CHECK:         %[[POWER:.*]] = cuda.instruction "ex2.approx.ftz.f32" %{{.*}} : (f32) -> f32
// CHECK:         %[[N:.*]] = arith.bitcast {{.*}} : i32 to f32
// CHECK:         arith.mulf %[[POWER]], %[[N]] : f32
// An f64 and a hyperbolic sine stay calls, and a quotient stays exact.
// CHECK:         math.exp {{.*}} : f64
// CHECK:         math.sinh {{.*}} : f32
// CHECK:         arith.divf {{.*}} : f32
cuda.kernel @accurate() grid [1, 1, 1] block 32 {
  %a = "test.op"() : () -> f32
  %b = math.exp %a : f32
  %wide = arith.extf %b : f32 to f64
  %c = math.exp %wide : f64
  %d = arith.truncf %c : f64 to f32
  %e = math.sinh %d : f32
  %f = arith.divf %e, %a : f32
  "test.op"(%f) : (f32) -> ()
  cuda.return
}

// -----

// CHECK-LABEL: cuda.kernel @approximate
// CHECK:         cuda.instruction "lg2.approx.f32" %a : (f32) -> f32
// CHECK-NEXT:    arith.constant 0.693147182 : f32
// CHECK-NEXT:    %b = arith.mulf
// CHECK-NEXT:    %[[RECIPROCAL:.*]] = cuda.instruction "rcp.approx.ftz.f32" %a : (f32) -> f32
// CHECK-NEXT:    %c = arith.mulf %b, %[[RECIPROCAL]] : f32
// CHECK-NEXT:    %d = cuda.instruction "div.full.f32" %c, %a : (f32, f32) -> f32
cuda.kernel @approximate() grid [1, 1, 1] block 32 {
  %a = "test.op"() : () -> f32
  %b = math.log %a fastmath<afn> : f32
  %c = arith.divf %b, %a fastmath<afn,arcp> : f32
  %d = arith.divf %c, %a fastmath<afn> : f32
  "test.op"(%d) : (f32) -> ()
  cuda.return
}

// -----

// A quotient of elements by a number is rounded as a division does, without its branch; by one of many digits it stays,
// and so does one outside of the loops over elements.
// CHECK-LABEL: cuda.kernel @number
// CHECK:         %[[LOW:.*]] = arith.constant 2.98023228e-09 : f32
// CHECK-NEXT:    %[[PRODUCT:.*]] = arith.mulf %a, %[[LOW]] : f32
// CHECK-NEXT:    %[[HIGH:.*]] = arith.constant 0.049999997 : f32
// CHECK-NEXT:    %b = math.fma %a, %[[HIGH]], %[[PRODUCT]] : f32
// CHECK-NEXT:    %c = arith.divf %b, %tenth : f32
// CHECK:         %d = arith.mulf %c, %{{.*}} : f32
// CHECK:         %e = arith.divf %f, %twenty : f32
cuda.kernel @number() grid [1, 1, 1] block 32 {
  %f = "test.op"() : () -> f32
  %twenty = arith.constant 20.0 : f32
  %tenth = arith.constant 0.1 : f32
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 8 : index
  scf.for %i = %zero to %end step %one {
    %a = "test.op"(%i) : (index) -> f32
    %b = arith.divf %a, %twenty : f32
    %c = arith.divf %b, %tenth : f32
    %d = arith.divf %c, %tenth fastmath<afn> : f32
    "test.op"(%d) : (f32) -> ()
    scf.yield
  } {unroll}
  %e = arith.divf %f, %twenty : f32
  "test.op"(%e) : (f32) -> ()
  cuda.return
}

// -----

// CHECK-LABEL: cuda.kernel @angles
// CHECK:         %[[FAR:.*]] = arith.cmpf oge
// CHECK:         %[[ANGLE:.*]] = scf.if %[[FAR]] -> (f32) {
// CHECK:           cuda.lookup %{{.*}} {values = array<i64: {{.*}}>}
// CHECK:         } else {
// CHECK:         %b = cuda.instruction "sin.approx.f32" %[[ANGLE]] : (f32) -> f32
// Of an angle that is not far there is no branch.
// CHECK-NOT:     scf.if
// CHECK:         %c = cuda.instruction "cos.approx.f32"
cuda.kernel @angles() grid [1, 1, 1] block 32 {
  %a = "test.op"() : () -> f32
  %b = math.sin %a fastmath<afn> : f32
  %c = math.cos %b fastmath<afn> {near} : f32
  "test.op"(%c) : (f32) -> ()
  cuda.return
}
