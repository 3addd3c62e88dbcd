// Each op is a line of C++, constants stand where they are used, loops keep their pragma, the prelude has what is called.
// RUN: irc-opt %s -t cuda | filecheck %s

// CHECK:      #define DEVICE __device__ __forceinline__
// CHECK-NEXT: struct bf16 { unsigned short bits; };
// CHECK-NEXT: DEVICE void load_streaming_16(
// CHECK:      DEVICE float bf16_to_float(bf16 x)
// CHECK:      extern "C" __global__ void __launch_bounds__(256, 2)
// CHECK-NEXT: gelu(const bf16* __restrict__ x, bf16* __restrict__ y) {
cuda.kernel @gelu(%x: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>) grid [64, 1, 1] block 256 min_blocks 2 writes [0, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %half = arith.constant 5.0e-01 : f32
  // CHECK: const int t = (int)threadIdx.x;
  %t = cuda.thread_id
  // CHECK: const int offset = t * 8;
  %offset = arith.muli %t, %c8 : index
  // CHECK: alignas(16) bf16 r[8];
  %r = cuda.registers : !cuda.registers<8 x bf16>
  // CHECK: load_streaming_16(r, &x[offset]);
  cuda.load %x[%offset] -> %r[%c0] {count = 8, cache = "streaming"} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
  // CHECK:      #pragma unroll
  // CHECK-NEXT: for (int i = 0; i < 8; i += 1) {
  scf.for %i = %c0 to %c8 step %c1 {
    // CHECK: const bf16 v = r[i];
    %v = cuda.get %r[%i] : !cuda.registers<8 x bf16>
    // CHECK: const float w = bf16_to_float(v);
    %w = arith.extf %v : bf16 to f32
    // CHECK: const float e = erff(w);
    %e = math.erf %w : f32
    // CHECK:      float q;
    // CHECK-NEXT: asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(q) : "f"(e));
    %q = cuda.instruction "ex2.approx.ftz.f32" %e : (f32) -> f32
    // CHECK: const float h = q * 0.5f;
    %h = arith.mulf %q, %half : f32
    // CHECK: const bf16 n = float_to_bf16(h);
    %n = arith.truncf %h : f32 to bf16
    // CHECK: r[i] = n;
    cuda.set %r[%i], %n : !cuda.registers<8 x bf16>
  } {unroll}
  // CHECK: store_16(&y[offset], r);
  cuda.store %r[%c0], %y[%offset] {count = 8} : !cuda.registers<8 x bf16> -> !cuda.ptr<bf16>
  cuda.return
}
