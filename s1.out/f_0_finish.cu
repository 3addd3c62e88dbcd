#define DEVICE __device__ __forceinline__
DEVICE void load_read_only_8(void* registers, const void* memory) { const uint2 v = __ldg((const uint2*)memory); unsigned* r = (unsigned*)registers; r[0] = v.x; r[1] = v.y; }
DEVICE void store_8(void* memory, const void* registers) { const unsigned* r = (const unsigned*)registers; *(uint2*)memory = make_uint2(r[0], r[1]); }
DEVICE void shared_load_4(void* registers, unsigned address) { unsigned* r = (unsigned*)registers; asm volatile("ld.shared.b32 %0, [%1];" : "=r"(r[0]) : "r"(address) : "memory"); }
DEVICE void shared_store_4(unsigned address, const void* registers) { const unsigned* r = (const unsigned*)registers; asm volatile("st.shared.b32 [%0], %1;" :: "r"(address), "r"(r[0]) : "memory"); }
DEVICE float minimum(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
DEVICE float maximum(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
DEVICE double minimum(double a, double b) { return a != a ? a : b != b ? b : fmin(a, b); }
DEVICE double maximum(double a, double b) { return a != a ? a : b != b ? b : fmax(a, b); }

extern "C" __global__ void __launch_bounds__(256)
f_0_finish(const float* __restrict__ arg0, const float* __restrict__ arg1, const float* __restrict__ arg2, const float* __restrict__ arg3, float* __restrict__ arg4, float* __restrict__ arg5) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const unsigned shared_base = (unsigned)__cvta_generic_to_shared(shared_memory);
  // s1.irc:3
  const int thread = (int)threadIdx.x;
  const int block = (int)blockIdx.x;
  const int v = (int)((unsigned)block << 7);
  alignas(16) float r[4];
  #pragma unroll
  for (int v1 = 0; v1 < 2; v1 += 1) {
    #pragma unroll
    for (int v0 = 0; v0 < 2; v0 += 1) {
      const int v_1 = (int)((unsigned)v1 << 1);
      const int v_2 = v0 + v_1;
      r[v_2] = 0.0f;
    }
  }
  alignas(16) float r_1[4];
  #pragma unroll
  for (int v1_1 = 0; v1_1 < 2; v1_1 += 1) {
    #pragma unroll
    for (int v0_1 = 0; v0_1 < 2; v0_1 += 1) {
      const int v_3 = (int)((unsigned)v1_1 << 1);
      const int v_4 = v0_1 + v_3;
      r_1[v_4] = __int_as_float(0xff800000);
    }
  }
  #pragma unroll 4
  for (int i = 0; i < 46; i += 8) {
    alignas(16) float r_2[4];
    #pragma unroll
    for (int v1_2 = 0; v1_2 < 2; v1_2 += 1) {
      const int v_5 = thread & 63;
      const int v_6 = (int)((unsigned)thread >> 6);
      const int v_7 = (int)((unsigned)v_5 << 1);
      const int v_8 = (int)((unsigned)v1_2 << 2);
      const int v_9 = v_6 + v_8;
      const int v_10 = v + v_7;
      const int v_11 = i + v_9;
      const int v_12 = v_11 * 70;
      const bool v_13 = v_11 < 46;
      const int v_14 = v_12 + v_10;
      const bool v_15 = v_10 < 70;
      const int v_16 = (int)((unsigned)v1_2 << 1);
      const bool v_17 = v_13 & v_15;
      if (v_17) {
        load_read_only_8(&r_2[v_16], &arg0[v_14]);
      } else {
        r_2[v_16] = 0.0f;
        const int v_18 = v_16 + 1;
        r_2[v_18] = 0.0f;
      }
    }
    alignas(16) float r_3[4];
    #pragma unroll
    for (int v1_3 = 0; v1_3 < 2; v1_3 += 1) {
      #pragma unroll
      for (int v0_2 = 0; v0_2 < 2; v0_2 += 1) {
        const int v_19 = (int)((unsigned)v1_3 << 1);
        const int v_20 = v0_2 + v_19;
        const float v_21 = r_2[v_20];
        const int v_22 = thread & 63;
        const int v_23 = (int)((unsigned)thread >> 6);
        const int v_24 = (int)((unsigned)v1_3 << 2);
        const int v_25 = v_23 + v_24;
        const int v_26 = i + v_25;
        const bool v_27 = v_26 < 46;
        const float v_28 = v_27 ? v_21 : 0.0f;
        const int v_29 = (int)((unsigned)v1_3 << 1);
        const int v_30 = v0_2 + v_29;
        r_3[v_30] = v_28;
      }
    }
    alignas(16) float r_4[4];
    #pragma unroll
    for (int v1_4 = 0; v1_4 < 2; v1_4 += 1) {
      const int v_31 = thread & 63;
      const int v_32 = (int)((unsigned)thread >> 6);
      const int v_33 = (int)((unsigned)v_31 << 1);
      const int v_34 = (int)((unsigned)v1_4 << 2);
      const int v_35 = v_32 + v_34;
      const int v_36 = v + v_33;
      const int v_37 = i + v_35;
      const int v_38 = v_37 * 70;
      const bool v_39 = v_37 < 46;
      const int v_40 = v_38 + v_36;
      const bool v_41 = v_36 < 70;
      const int v_42 = (int)((unsigned)v1_4 << 1);
      const bool v_43 = v_39 & v_41;
      if (v_43) {
        load_read_only_8(&r_4[v_42], &arg2[v_40]);
      } else {
        r_4[v_42] = 0.0f;
        const int v_44 = v_42 + 1;
        r_4[v_44] = 0.0f;
      }
    }
    alignas(16) float r_5[4];
    #pragma unroll
    for (int v1_5 = 0; v1_5 < 2; v1_5 += 1) {
      #pragma unroll
      for (int v0_3 = 0; v0_3 < 2; v0_3 += 1) {
        const int v_45 = (int)((unsigned)v1_5 << 1);
        const int v_46 = v0_3 + v_45;
        const float v_47 = r_4[v_46];
        const int v_48 = thread & 63;
        const int v_49 = (int)((unsigned)thread >> 6);
        const int v_50 = (int)((unsigned)v1_5 << 2);
        const int v_51 = v_49 + v_50;
        const int v_52 = i + v_51;
        const bool v_53 = v_52 < 46;
        const float v_54 = v_53 ? v_47 : __int_as_float(0xff800000);
        const int v_55 = (int)((unsigned)v1_5 << 1);
        const int v_56 = v0_3 + v_55;
        r_5[v_56] = v_54;
      }
    }
    alignas(16) float r_6[4];
    #pragma unroll
    for (int v1_6 = 0; v1_6 < 2; v1_6 += 1) {
      #pragma unroll
      for (int v0_4 = 0; v0_4 < 2; v0_4 += 1) {
        const int v_57 = (int)((unsigned)v1_6 << 1);
        const int v_58 = v0_4 + v_57;
        const float v_59 = r[v_58];
        const int v_60 = (int)((unsigned)v1_6 << 1);
        const int v_61 = v0_4 + v_60;
        const float v_62 = r_3[v_61];
        const float v_63 = v_59 + v_62;
        const int v_64 = (int)((unsigned)v1_6 << 1);
        const int v_65 = v0_4 + v_64;
        r_6[v_65] = v_63;
      }
    }
    alignas(16) float r_7[4];
    #pragma unroll
    for (int v1_7 = 0; v1_7 < 2; v1_7 += 1) {
      #pragma unroll
      for (int v0_5 = 0; v0_5 < 2; v0_5 += 1) {
        const int v_66 = (int)((unsigned)v1_7 << 1);
        const int v_67 = v0_5 + v_66;
        const float v_68 = r_1[v_67];
        const int v_69 = (int)((unsigned)v1_7 << 1);
        const int v_70 = v0_5 + v_69;
        const float v_71 = r_5[v_70];
        const float v_72 = maximum(v_68, v_71);
        const int v_73 = (int)((unsigned)v1_7 << 1);
        const int v_74 = v0_5 + v_73;
        r_7[v_74] = v_72;
      }
    }
    #pragma unroll
    for (int v1_8 = 0; v1_8 < 2; v1_8 += 1) {
      #pragma unroll
      for (int v0_6 = 0; v0_6 < 2; v0_6 += 1) {
        const int v_75 = (int)((unsigned)v1_8 << 1);
        const int v_76 = v0_6 + v_75;
        const float v_77 = r_6[v_76];
        const int v_78 = (int)((unsigned)v1_8 << 1);
        const int v_79 = v0_6 + v_78;
        r[v_79] = v_77;
      }
    }
    #pragma unroll
    for (int v1_9 = 0; v1_9 < 2; v1_9 += 1) {
      #pragma unroll
      for (int v0_7 = 0; v0_7 < 2; v0_7 += 1) {
        const int v_80 = (int)((unsigned)v1_9 << 1);
        const int v_81 = v0_7 + v_80;
        const float v_82 = r_7[v_81];
        const int v_83 = (int)((unsigned)v1_9 << 1);
        const int v_84 = v0_7 + v_83;
        r_1[v_84] = v_82;
      }
    }
  }
  alignas(16) float r_8[2];
  #pragma unroll
  for (int v0_8 = 0; v0_8 < 2; v0_8 += 1) {
    const float v_85 = r[v0_8];
    r_8[v0_8] = v_85;
  }
  #pragma unroll
  for (int v0_9 = 0; v0_9 < 2; v0_9 += 1) {
    const int v_86 = v0_9 + 2;
    const float v_87 = r[v_86];
    const float v_88 = r_8[v0_9];
    const float v_89 = v_88 + v_87;
    r_8[v0_9] = v_89;
  }
  const int v_90 = (int)((unsigned)thread >> 6);
  const int v_91 = v_90 & 3;
  #pragma unroll
  for (int v0_10 = 0; v0_10 < 2; v0_10 += 1) {
    const int v_92 = thread & 63;
    const int v_93 = (int)((unsigned)thread >> 6);
    const int v_94 = (int)((unsigned)v_92 << 1);
    const int v_95 = v_94 + v0_10;
    const int v_96 = (int)((unsigned)v_91 << 7);
    const int v_97 = v_96 + v_95;
    const int v_98 = (int)(shared_base + 0);
    const int v_99 = (int)((unsigned)v_97 << 2);
    const int v_100 = v_98 + v_99;
    shared_store_4(v_100, &r_8[v0_10]);
  }
  __syncthreads();
  #pragma unroll
  for (int v0_11 = 0; v0_11 < 2; v0_11 += 1) {
    const int v_101 = thread & 63;
    const int v_102 = (int)((unsigned)thread >> 6);
    const int v_103 = (int)((unsigned)v_101 << 1);
    const int v_104 = v_103 + v0_11;
    const int v_105 = (int)(shared_base + 0);
    const int v_106 = (int)((unsigned)v_104 << 2);
    const int v_107 = v_105 + v_106;
    shared_load_4(&r_8[v0_11], v_107);
    #pragma unroll
    for (int w = 1; w < 4; w += 1) {
      alignas(16) float r_9[1];
      const int v_108 = (int)((unsigned)w << 7);
      const int v_109 = v_108 + v_104;
      const int v_110 = (int)(shared_base + 0);
      const int v_111 = (int)((unsigned)v_109 << 2);
      const int v_112 = v_110 + v_111;
      shared_load_4(r_9, v_112);
      const float v_113 = r_9[0];
      const float v_114 = r_8[v0_11];
      const float v_115 = v_114 + v_113;
      r_8[v0_11] = v_115;
    }
  }
  alignas(16) float r_10[2];
  #pragma unroll
  for (int v0_12 = 0; v0_12 < 2; v0_12 += 1) {
    const float v_116 = r_1[v0_12];
    r_10[v0_12] = v_116;
  }
  #pragma unroll
  for (int v0_13 = 0; v0_13 < 2; v0_13 += 1) {
    const int v_117 = v0_13 + 2;
    const float v_118 = r_1[v_117];
    const float v_119 = r_10[v0_13];
    const float v_120 = maximum(v_119, v_118);
    r_10[v0_13] = v_120;
  }
  const int v_121 = (int)((unsigned)thread >> 6);
  const int v_122 = v_121 & 3;
  #pragma unroll
  for (int v0_14 = 0; v0_14 < 2; v0_14 += 1) {
    const int v_123 = thread & 63;
    const int v_124 = (int)((unsigned)thread >> 6);
    const int v_125 = (int)((unsigned)v_123 << 1);
    const int v_126 = v_125 + v0_14;
    const int v_127 = (int)((unsigned)v_122 << 7);
    const int v_128 = v_127 + v_126;
    const int v_129 = (int)(shared_base + 2048);
    const int v_130 = (int)((unsigned)v_128 << 2);
    const int v_131 = v_129 + v_130;
    shared_store_4(v_131, &r_10[v0_14]);
  }
  __syncthreads();
  #pragma unroll
  for (int v0_15 = 0; v0_15 < 2; v0_15 += 1) {
    const int v_132 = thread & 63;
    const int v_133 = (int)((unsigned)thread >> 6);
    const int v_134 = (int)((unsigned)v_132 << 1);
    const int v_135 = v_134 + v0_15;
    const int v_136 = (int)(shared_base + 2048);
    const int v_137 = (int)((unsigned)v_135 << 2);
    const int v_138 = v_136 + v_137;
    shared_load_4(&r_10[v0_15], v_138);
    #pragma unroll
    for (int w_1 = 1; w_1 < 4; w_1 += 1) {
      alignas(16) float r_11[1];
      const int v_139 = (int)((unsigned)w_1 << 7);
      const int v_140 = v_139 + v_135;
      const int v_141 = (int)(shared_base + 2048);
      const int v_142 = (int)((unsigned)v_140 << 2);
      const int v_143 = v_141 + v_142;
      shared_load_4(r_11, v_143);
      const float v_144 = r_11[0];
      const float v_145 = r_10[v0_15];
      const float v_146 = maximum(v_145, v_144);
      r_10[v0_15] = v_146;
    }
  }
  alignas(16) float r_12[2];
  const int v_147 = thread & 63;
  const int v_148 = (int)((unsigned)thread >> 6);
  const int v_149 = (int)((unsigned)v_147 << 1);
  const int v_150 = v + v_149;
  const bool v_151 = v_150 < 70;
  if (v_151) {
    load_read_only_8(r_12, &arg1[v_150]);
  } else {
    r_12[0] = 0.0f;
    r_12[1] = 0.0f;
  }
  alignas(16) float r_13[2];
  #pragma unroll
  for (int v0_16 = 0; v0_16 < 2; v0_16 += 1) {
    const float v_152 = r_8[v0_16];
    const float v_153 = r_12[v0_16];
    const float v_154 = v_152 + v_153;
    r_13[v0_16] = v_154;
  }
  const int v_155 = thread & 63;
  const int v_156 = (int)((unsigned)thread >> 6);
  const bool v_157 = v_156 == 0;
  if (v_157) {
    const int v_158 = thread & 63;
    const int v_159 = (int)((unsigned)thread >> 6);
    const int v_160 = (int)((unsigned)v_158 << 1);
    const int v_161 = v + v_160;
    const bool v_162 = v_161 < 70;
    if (v_162) {
      store_8(&arg4[v_161], r_13);
    }
  }
  alignas(16) float r_14[2];
  const int v_163 = v + v_149;
  const bool v_164 = v_163 < 70;
  if (v_164) {
    load_read_only_8(r_14, &arg3[v_163]);
  } else {
    r_14[0] = 0.0f;
    r_14[1] = 0.0f;
  }
  alignas(16) float r_15[2];
  #pragma unroll
  for (int v0_17 = 0; v0_17 < 2; v0_17 += 1) {
    const float v_165 = r_10[v0_17];
    const float v_166 = r_14[v0_17];
    const float v_167 = maximum(v_165, v_166);
    r_15[v0_17] = v_167;
  }
  const int v_168 = thread & 63;
  const int v_169 = (int)((unsigned)thread >> 6);
  const bool v_170 = v_169 == 0;
  if (v_170) {
    const int v_171 = thread & 63;
    const int v_172 = (int)((unsigned)thread >> 6);
    const int v_173 = (int)((unsigned)v_171 << 1);
    const int v_174 = v + v_173;
    const bool v_175 = v_174 < 70;
    if (v_175) {
      store_8(&arg5[v_174], r_15);
    }
  }
}
