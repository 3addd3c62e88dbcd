#define DEVICE __device__ __forceinline__
struct bf16 { unsigned short bits; };
DEVICE void load_read_only_4(void* registers, const void* memory) { const unsigned v = __ldg((const unsigned*)memory); unsigned* r = (unsigned*)registers; r[0] = v; }
DEVICE void load_read_only_16(void* registers, const void* memory) { const uint4 v = __ldg((const uint4*)memory); unsigned* r = (unsigned*)registers; r[0] = v.x; r[1] = v.y; r[2] = v.z; r[3] = v.w; }
DEVICE void shared_load_4(void* registers, unsigned address) { unsigned* r = (unsigned*)registers; asm volatile("ld.shared.b32 %0, [%1];" : "=r"(r[0]) : "r"(address) : "memory"); }
DEVICE void shared_store_4(unsigned address, const void* registers) { const unsigned* r = (const unsigned*)registers; asm volatile("st.shared.b32 [%0], %1;" :: "r"(address), "r"(r[0]) : "memory"); }
DEVICE float bf16_to_float(bf16 x) {
  float r;  // a move, not a shift: of the upper half of a word it is one instruction
  asm("mov.b32 %0, {%1, %2};" : "=f"(r) : "h"((unsigned short)0), "h"(x.bits));
  return r;
}
DEVICE bf16 float_to_bf16(float x) { bf16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }

extern "C" __global__ void __launch_bounds__(256)
f_1(const bf16* __restrict__ x, float* __restrict__ arg1, float* __restrict__ arg2) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const unsigned shared_base = (unsigned)__cvta_generic_to_shared(shared_memory);
  // s1.irc:3
  const int thread = (int)threadIdx.x;
  const int block = (int)blockIdx.x;
  const bool v = block >= 0;
  const bool v_1 = block < 1;
  const bool v_2 = v & v_1;
  if (v_2) {
    alignas(16) float r[8];
    #pragma unroll
    for (int v1 = 0; v1 < 4; v1 += 1) {
      #pragma unroll
      for (int v0 = 0; v0 < 2; v0 += 1) {
        const int v_3 = (int)((unsigned)v1 << 1);
        const int v_4 = v0 + v_3;
        r[v_4] = 0.0f;
      }
    }
    #pragma unroll 4
    for (int i = 0; i < 5270; i += 2048) {
      alignas(16) bf16 r_1[8];
      #pragma unroll
      for (int v1_1 = 0; v1_1 < 4; v1_1 += 1) {
        const int v_5 = (int)((unsigned)thread << 1);
        const int v_6 = (int)((unsigned)v1_1 << 9);
        const int v_7 = v_5 + v_6;
        const int v_8 = i + v_7;
        const int v_9 = v_8 + 204800;
        const bool v_10 = v_9 < 210070;
        const int v_11 = (int)((unsigned)v1_1 << 1);
        if (v_10) {
          load_read_only_4(&r_1[v_11], &x[v_9]);
        } else {
          r_1[v_11] = bf16{0x0};
          const int v_12 = v_11 + 1;
          r_1[v_12] = bf16{0x0};
        }
      }
      alignas(16) float r_2[8];
      #pragma unroll
      for (int v1_2 = 0; v1_2 < 4; v1_2 += 1) {
        #pragma unroll
        for (int v0_1 = 0; v0_1 < 2; v0_1 += 1) {
          const int v_13 = (int)((unsigned)v1_2 << 1);
          const int v_14 = v0_1 + v_13;
          const bf16 v_15 = r_1[v_14];
          const int v_16 = (int)((unsigned)thread << 1);
          const int v_17 = v_16 + v0_1;
          const int v_18 = (int)((unsigned)v1_2 << 9);
          const int v_19 = v_17 + v_18;
          const int v_20 = i + v_19;
          const float v_21 = bf16_to_float(v_15);
          const bool v_22 = v_20 < 5270;
          const float v_23 = v_22 ? v_21 : 0.0f;
          const int v_24 = (int)((unsigned)v1_2 << 1);
          const int v_25 = v0_1 + v_24;
          r_2[v_25] = v_23;
        }
      }
      alignas(16) float r_3[8];
      #pragma unroll
      for (int v1_3 = 0; v1_3 < 4; v1_3 += 1) {
        #pragma unroll
        for (int v0_2 = 0; v0_2 < 2; v0_2 += 1) {
          const int v_26 = (int)((unsigned)v1_3 << 1);
          const int v_27 = v0_2 + v_26;
          const float v_28 = r[v_27];
          const int v_29 = (int)((unsigned)v1_3 << 1);
          const int v_30 = v0_2 + v_29;
          const float v_31 = r_2[v_30];
          const float v_32 = v_28 + v_31;
          const int v_33 = (int)((unsigned)v1_3 << 1);
          const int v_34 = v0_2 + v_33;
          r_3[v_34] = v_32;
        }
      }
      #pragma unroll
      for (int v1_4 = 0; v1_4 < 4; v1_4 += 1) {
        #pragma unroll
        for (int v0_3 = 0; v0_3 < 2; v0_3 += 1) {
          const int v_35 = (int)((unsigned)v1_4 << 1);
          const int v_36 = v0_3 + v_35;
          const float v_37 = r_3[v_36];
          const int v_38 = (int)((unsigned)v1_4 << 1);
          const int v_39 = v0_3 + v_38;
          r[v_39] = v_37;
        }
      }
    }
    alignas(16) float r_4[1];
    const float v_40 = r[0];
    r_4[0] = v_40;
    #pragma unroll
    for (int r_5 = 1; r_5 < 8; r_5 += 1) {
      const int v_41 = r_5 & 1;
      const int v_42 = (int)((unsigned)r_5 >> 1);
      const int v_43 = (int)((unsigned)v_42 << 1);
      const int v_44 = v_41 + v_43;
      const float v_45 = r[v_44];
      const float v_46 = r_4[0];
      const float v_47 = v_46 + v_45;
      r_4[0] = v_47;
    }
    const float v_48 = r_4[0];
    const float v_49 = __shfl_xor_sync(0xffffffffu, v_48, 1);
    const float v_50 = r_4[0];
    const float v_51 = v_50 + v_49;
    r_4[0] = v_51;
    const float v_52 = r_4[0];
    const float v_53 = __shfl_xor_sync(0xffffffffu, v_52, 2);
    const float v_54 = r_4[0];
    const float v_55 = v_54 + v_53;
    r_4[0] = v_55;
    const float v_56 = r_4[0];
    const float v_57 = __shfl_xor_sync(0xffffffffu, v_56, 4);
    const float v_58 = r_4[0];
    const float v_59 = v_58 + v_57;
    r_4[0] = v_59;
    const float v_60 = r_4[0];
    const float v_61 = __shfl_xor_sync(0xffffffffu, v_60, 8);
    const float v_62 = r_4[0];
    const float v_63 = v_62 + v_61;
    r_4[0] = v_63;
    const float v_64 = r_4[0];
    const float v_65 = __shfl_xor_sync(0xffffffffu, v_64, 16);
    const float v_66 = r_4[0];
    const float v_67 = v_66 + v_65;
    r_4[0] = v_67;
    const int v_68 = (int)((unsigned)thread >> 5);
    const int v_69 = v_68 & 7;
    const int v_70 = thread & 31;
    const bool v_71 = v_70 == 0;
    if (v_71) {
      const int v_72 = (int)(shared_base + 0);
      const int v_73 = (int)((unsigned)v_69 << 2);
      const int v_74 = v_72 + v_73;
      shared_store_4(v_74, r_4);
    }
    __syncthreads();
    const int v_75 = (int)(shared_base + 0);
    shared_load_4(r_4, v_75);
    #pragma unroll
    for (int w = 1; w < 8; w += 1) {
      alignas(16) float r_6[1];
      const int v_76 = (int)(shared_base + 0);
      const int v_77 = (int)((unsigned)w << 2);
      const int v_78 = v_76 + v_77;
      shared_load_4(r_6, v_78);
      const float v_79 = r_6[0];
      const float v_80 = r_4[0];
      const float v_81 = v_80 + v_79;
      r_4[0] = v_81;
    }
    const bool v_82 = thread == 0;
    if (v_82) {
      arg1[0] = r_4[0];
    }
  }
  const int block_1 = (int)blockIdx.x;
  const bool v_83 = block_1 >= 1;
  const bool v_84 = block_1 < 26;
  const bool v_85 = v_83 & v_84;
  const int v_86 = block_1 - 1;
  if (v_85) {
    alignas(16) float r_7[8];
    #pragma unroll
    for (int v0_4 = 0; v0_4 < 8; v0_4 += 1) {
      r_7[v0_4] = 0.0f;
    }
    #pragma unroll 4
    for (int i_1 = 0; i_1 < 8192; i_1 += 2048) {
      alignas(16) bf16 r_8[8];
      const int v_87 = (int)((unsigned)thread << 3);
      const int v_88 = i_1 + v_87;
      const int v_89 = (int)((unsigned)v_86 << 13);
      const int v_90 = v_89 + v_88;
      load_read_only_16(r_8, &x[v_90]);
      alignas(16) float r_9[8];
      #pragma unroll
      for (int v0_5 = 0; v0_5 < 8; v0_5 += 1) {
        const bf16 v_91 = r_8[v0_5];
        const float v_92 = bf16_to_float(v_91);
        r_9[v0_5] = v_92;
      }
      alignas(16) float r_10[8];
      #pragma unroll
      for (int v0_6 = 0; v0_6 < 8; v0_6 += 1) {
        const float v_93 = r_7[v0_6];
        const float v_94 = r_9[v0_6];
        const float v_95 = v_93 + v_94;
        r_10[v0_6] = v_95;
      }
      #pragma unroll
      for (int v0_7 = 0; v0_7 < 8; v0_7 += 1) {
        const float v_96 = r_10[v0_7];
        r_7[v0_7] = v_96;
      }
    }
    alignas(16) float r_11[1];
    const float v_97 = r_7[0];
    r_11[0] = v_97;
    #pragma unroll
    for (int r_12 = 1; r_12 < 8; r_12 += 1) {
      const float v_98 = r_7[r_12];
      const float v_99 = r_11[0];
      const float v_100 = v_99 + v_98;
      r_11[0] = v_100;
    }
    const float v_101 = r_11[0];
    const float v_102 = __shfl_xor_sync(0xffffffffu, v_101, 1);
    const float v_103 = r_11[0];
    const float v_104 = v_103 + v_102;
    r_11[0] = v_104;
    const float v_105 = r_11[0];
    const float v_106 = __shfl_xor_sync(0xffffffffu, v_105, 2);
    const float v_107 = r_11[0];
    const float v_108 = v_107 + v_106;
    r_11[0] = v_108;
    const float v_109 = r_11[0];
    const float v_110 = __shfl_xor_sync(0xffffffffu, v_109, 4);
    const float v_111 = r_11[0];
    const float v_112 = v_111 + v_110;
    r_11[0] = v_112;
    const float v_113 = r_11[0];
    const float v_114 = __shfl_xor_sync(0xffffffffu, v_113, 8);
    const float v_115 = r_11[0];
    const float v_116 = v_115 + v_114;
    r_11[0] = v_116;
    const float v_117 = r_11[0];
    const float v_118 = __shfl_xor_sync(0xffffffffu, v_117, 16);
    const float v_119 = r_11[0];
    const float v_120 = v_119 + v_118;
    r_11[0] = v_120;
    const int v_121 = (int)((unsigned)thread >> 5);
    const int v_122 = v_121 & 7;
    const int v_123 = thread & 31;
    const bool v_124 = v_123 == 0;
    if (v_124) {
      const int v_125 = (int)(shared_base + 32);
      const int v_126 = (int)((unsigned)v_122 << 2);
      const int v_127 = v_125 + v_126;
      shared_store_4(v_127, r_11);
    }
    __syncthreads();
    const int v_128 = (int)(shared_base + 32);
    shared_load_4(r_11, v_128);
    #pragma unroll
    for (int w_1 = 1; w_1 < 8; w_1 += 1) {
      alignas(16) float r_13[1];
      const int v_129 = (int)(shared_base + 32);
      const int v_130 = (int)((unsigned)w_1 << 2);
      const int v_131 = v_129 + v_130;
      shared_load_4(r_13, v_131);
      const float v_132 = r_13[0];
      const float v_133 = r_11[0];
      const float v_134 = v_133 + v_132;
      r_11[0] = v_134;
    }
    const bool v_135 = thread == 0;
    if (v_135) {
      arg2[v_86] = r_11[0];
    }
  }
}
