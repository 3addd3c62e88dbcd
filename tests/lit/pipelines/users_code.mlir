// RUN: irc-opt %s | irc-opt | filecheck %s
// RUN: irc-opt %s -p all | filecheck %s --check-prefix PLAN
// RUN: irc-opt %s -p all -t cuda | filecheck %s --check-prefix SOURCE

// A kernel of the user's CUDA C++ stands beside irc's own: passes leave it as it is, the plan launches it, and its text is
// in the source as it was written, below a line that gives the kernel the module's name for it, and what is given.
// CHECK:       cuda.kernel @twice_0(%x: !cuda.ptr<f32>, %out: !cuda.ptr<f32>) grid [4, 1, 1] block 256 writes [0, 1] entry "twice" given [
// CHECK-NEXT:    "constexpr int N = 1024;"] code [
// CHECK-NEXT:    "// \C3\97 2",
// CHECK-NEXT:    "extern \22C\22 __global__ void twice(const float* x, float* out) {",
// CHECK-NEXT:    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;",
// CHECK-NEXT:    "  if (i < N) out[i] = 2.0f * x[i];",
// CHECK-NEXT:    "}"] {
// CHECK-NEXT:    cuda.return
// CHECK-NEXT:  }

// PLAN:        cuda.kernel @twice_0
// PLAN:          "}"] {
// PLAN-NEXT:     cuda.return
// PLAN:        host.plan
// PLAN:          host.launch @[[FIRST:f_[0-9]+]]
// PLAN-NEXT:     host.launch @twice_0
// PLAN-NEXT:     host.launch @f_

// SOURCE:      #define twice twice_0
// SOURCE-NEXT: constexpr int N = 1024;
// SOURCE-NEXT: // × 2
// SOURCE-NEXT: extern "C" __global__ void twice(const float* x, float* out) {
cuda.kernel @twice_0(%x: !cuda.ptr<f32>, %out: !cuda.ptr<f32>) grid [4, 1, 1] block 256 writes [0, 1] entry "twice" given ["constexpr int N = 1024;"] code [
  "// \C3\97 2",
  "extern \22C\22 __global__ void twice(const float* x, float* out) {",
  "  const int i = blockIdx.x * blockDim.x + threadIdx.x;",
  "  if (i < N) out[i] = 2.0f * x[i];",
  "}"] {
  cuda.return
}

func.func @f(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = nd.exp %x : tensor<1024xf32>
  %1 = kernel.launch @twice_0(%0) : (tensor<1024xf32>) -> tensor<1024xf32>
  %2 = nd.sqrt %1 : tensor<1024xf32>
  func.return %2 : tensor<1024xf32>
}
