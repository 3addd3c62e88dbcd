#define DEVICE __device__ __forceinline__
DEVICE void load_read_only_4(void* registers, const void* memory) { const unsigned v = __ldg((const unsigned*)memory); unsigned* r = (unsigned*)registers; r[0] = v; }

extern "C" __global__ void __launch_bounds__(32)
f_1_finish(const float* __restrict__ arg0, const float* __restrict__ arg1, float* __restrict__ arg2) {
  // s1.irc:3
  const int thread = (int)threadIdx.x;
  const int block = (int)blockIdx.x;
  alignas(16) float r[1];
  const bool v = thread < 25;
  if (v) {
    load_read_only_4(r, &arg0[thread]);
  } else {
    r[0] = 0.0f;
  }
  alignas(16) float r_1[1];
  const float v_1 = r[0];
  const bool v_2 = thread < 25;
  const float v_3 = v_2 ? v_1 : 0.0f;
  r_1[0] = v_3;
  alignas(16) float r_2[1];
  const float v_4 = r_1[0];
  r_2[0] = v_4;
  const float v_5 = r_2[0];
  const float v_6 = __shfl_xor_sync(0xffffffffu, v_5, 1);
  const float v_7 = r_2[0];
  const float v_8 = v_7 + v_6;
  r_2[0] = v_8;
  const float v_9 = r_2[0];
  const float v_10 = __shfl_xor_sync(0xffffffffu, v_9, 2);
  const float v_11 = r_2[0];
  const float v_12 = v_11 + v_10;
  r_2[0] = v_12;
  const float v_13 = r_2[0];
  const float v_14 = __shfl_xor_sync(0xffffffffu, v_13, 4);
  const float v_15 = r_2[0];
  const float v_16 = v_15 + v_14;
  r_2[0] = v_16;
  const float v_17 = r_2[0];
  const float v_18 = __shfl_xor_sync(0xffffffffu, v_17, 8);
  const float v_19 = r_2[0];
  const float v_20 = v_19 + v_18;
  r_2[0] = v_20;
  const float v_21 = r_2[0];
  const float v_22 = __shfl_xor_sync(0xffffffffu, v_21, 16);
  const float v_23 = r_2[0];
  const float v_24 = v_23 + v_22;
  r_2[0] = v_24;
  alignas(16) float r_3[1];
  load_read_only_4(r_3, arg1);
  alignas(16) float r_4[1];
  const float v_25 = r_2[0];
  const float v_26 = r_3[0];
  const float v_27 = v_25 + v_26;
  r_4[0] = v_27;
  const bool v_28 = thread == 0;
  if (v_28) {
    arg2[0] = r_4[0];
  }
}
