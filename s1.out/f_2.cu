#define DEVICE __device__ __forceinline__
DEVICE void load_read_only_4(void* registers, const void* memory) { const unsigned v = __ldg((const unsigned*)memory); unsigned* r = (unsigned*)registers; r[0] = v; }
DEVICE void shared_load_4(void* registers, unsigned address) { unsigned* r = (unsigned*)registers; asm volatile("ld.shared.b32 %0, [%1];" : "=r"(r[0]) : "r"(address) : "memory"); }
DEVICE void shared_store_4(unsigned address, const void* registers) { const unsigned* r = (const unsigned*)registers; asm volatile("st.shared.b32 [%0], %1;" :: "r"(address), "r"(r[0]) : "memory"); }

extern "C" __global__ void __launch_bounds__(256)
f_2(const float* __restrict__ w, int* __restrict__ arg1) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const unsigned shared_base = (unsigned)__cvta_generic_to_shared(shared_memory);
  // s1.irc:3
  const int thread = (int)threadIdx.x;
  const int block = (int)blockIdx.x;
  alignas(16) float r[16];
  #pragma unroll
  for (int v0 = 0; v0 < 16; v0 += 1) {
    const int v = (int)((unsigned)v0 << 8);
    const int v_1 = thread + v;
    const bool v_2 = v_1 < 3001;
    if (v_2) {
      load_read_only_4(&r[v0], &w[v_1]);
    } else {
      r[v0] = 0.0f;
    }
  }
  alignas(16) int r_1[16];
  #pragma unroll
  for (int v0_1 = 0; v0_1 < 16; v0_1 += 1) {
    const float v_3 = r[v0_1];
    const int v_4 = (int)((unsigned)v0_1 << 8);
    const int v_5 = thread + v_4;
    const bool v_6 = v_3 > 0.0f;
    const int v_7 = (int)(bool)v_6;
    const bool v_8 = v_5 < 3001;
    const int v_9 = v_8 ? v_7 : 0;
    r_1[v0_1] = v_9;
  }
  alignas(16) int r_2[1];
  const int v_10 = r_1[0];
  r_2[0] = v_10;
  #pragma unroll
  for (int r_3 = 1; r_3 < 16; r_3 += 1) {
    const int v_11 = r_1[r_3];
    const int v_12 = r_2[0];
    const int v_13 = (int)((unsigned)v_12 + (unsigned)v_11);
    r_2[0] = v_13;
  }
  const int v_14 = r_2[0];
  const int v_15 = __shfl_xor_sync(0xffffffffu, v_14, 1);
  const int v_16 = r_2[0];
  const int v_17 = (int)((unsigned)v_16 + (unsigned)v_15);
  r_2[0] = v_17;
  const int v_18 = r_2[0];
  const int v_19 = __shfl_xor_sync(0xffffffffu, v_18, 2);
  const int v_20 = r_2[0];
  const int v_21 = (int)((unsigned)v_20 + (unsigned)v_19);
  r_2[0] = v_21;
  const int v_22 = r_2[0];
  const int v_23 = __shfl_xor_sync(0xffffffffu, v_22, 4);
  const int v_24 = r_2[0];
  const int v_25 = (int)((unsigned)v_24 + (unsigned)v_23);
  r_2[0] = v_25;
  const int v_26 = r_2[0];
  const int v_27 = __shfl_xor_sync(0xffffffffu, v_26, 8);
  const int v_28 = r_2[0];
  const int v_29 = (int)((unsigned)v_28 + (unsigned)v_27);
  r_2[0] = v_29;
  const int v_30 = r_2[0];
  const int v_31 = __shfl_xor_sync(0xffffffffu, v_30, 16);
  const int v_32 = r_2[0];
  const int v_33 = (int)((unsigned)v_32 + (unsigned)v_31);
  r_2[0] = v_33;
  const int v_34 = (int)((unsigned)thread >> 5);
  const int v_35 = v_34 & 7;
  const int v_36 = thread & 31;
  const bool v_37 = v_36 == 0;
  if (v_37) {
    const int v_38 = (int)(shared_base + 0);
    const int v_39 = (int)((unsigned)v_35 << 2);
    const int v_40 = v_38 + v_39;
    shared_store_4(v_40, r_2);
  }
  __syncthreads();
  const int v_41 = (int)(shared_base + 0);
  shared_load_4(r_2, v_41);
  #pragma unroll
  for (int w_1 = 1; w_1 < 8; w_1 += 1) {
    alignas(16) int r_4[1];
    const int v_42 = (int)(shared_base + 0);
    const int v_43 = (int)((unsigned)w_1 << 2);
    const int v_44 = v_42 + v_43;
    shared_load_4(r_4, v_44);
    const int v_45 = r_4[0];
    const int v_46 = r_2[0];
    const int v_47 = (int)((unsigned)v_46 + (unsigned)v_45);
    r_2[0] = v_47;
  }
  const bool v_48 = thread == 0;
  if (v_48) {
    arg1[0] = r_2[0];
  }
}
