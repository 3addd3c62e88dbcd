#define DEVICE __device__ __forceinline__
struct bf16 { unsigned short bits; };
DEVICE void load_read_only_4(void* registers, const void* memory) { const unsigned v = __ldg((const unsigned*)memory); unsigned* r = (unsigned*)registers; r[0] = v; }
DEVICE void store_8(void* memory, const void* registers) { const unsigned* r = (const unsigned*)registers; *(uint2*)memory = make_uint2(r[0], r[1]); }
DEVICE void shared_load_4(void* registers, unsigned address) { unsigned* r = (unsigned*)registers; asm volatile("ld.shared.b32 %0, [%1];" : "=r"(r[0]) : "r"(address) : "memory"); }
DEVICE void shared_store_4(unsigned address, const void* registers) { const unsigned* r = (const unsigned*)registers; asm volatile("st.shared.b32 [%0], %1;" :: "r"(address), "r"(r[0]) : "memory"); }
DEVICE float bf16_to_float(bf16 x) {
  float r;  // a move, not a shift: of the upper half of a word it is one instruction
  asm("mov.b32 %0, {%1, %2};" : "=f"(r) : "h"((unsigned short)0), "h"(x.bits));
  return r;
}
DEVICE bf16 float_to_bf16(float x) { bf16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
DEVICE float minimum(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
DEVICE float maximum(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
DEVICE double minimum(double a, double b) { return a != a ? a : b != b ? b : fmin(a, b); }
DEVICE double maximum(double a, double b) { return a != a ? a : b != b ? b : fmax(a, b); }

extern "C" __global__ void __launch_bounds__(256)
f_0(const bf16* __restrict__ x, float* __restrict__ arg1, float* __restrict__ arg2, float* __restrict__ arg3, float* __restrict__ arg4) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const unsigned shared_base = (unsigned)__cvta_generic_to_shared(shared_memory);
  // s1.irc:3
  const int thread = (int)threadIdx.x;
  const int block = (int)blockIdx.x;
  const bool v = block >= 0;
  const bool v_1 = block < 1;
  const bool v_2 = v & v_1;
  if (v_2) {
    const int v_3 = (int)((unsigned)block << 7);
    alignas(16) float r[8];
    #pragma unroll
    for (int v1 = 0; v1 < 4; v1 += 1) {
      #pragma unroll
      for (int v0 = 0; v0 < 2; v0 += 1) {
        const int v_4 = (int)((unsigned)v1 << 1);
        const int v_5 = v0 + v_4;
        r[v_5] = 0.0f;
      }
    }
    alignas(16) float r_1[8];
    #pragma unroll
    for (int v1_1 = 0; v1_1 < 4; v1_1 += 1) {
      #pragma unroll
      for (int v0_1 = 0; v0_1 < 2; v0_1 += 1) {
        const int v_6 = (int)((unsigned)v1_1 << 1);
        const int v_7 = v0_1 + v_6;
        r_1[v_7] = __int_as_float(0xff800000);
      }
    }
    #pragma unroll 4
    for (int i = 0; i < 57; i += 16) {
      alignas(16) bf16 r_2[8];
      #pragma unroll
      for (int v1_2 = 0; v1_2 < 4; v1_2 += 1) {
        const int v_8 = thread & 63;
        const int v_9 = (int)((unsigned)thread >> 6);
        const int v_10 = (int)((unsigned)v_8 << 1);
        const int v_11 = (int)((unsigned)v1_2 << 2);
        const int v_12 = v_9 + v_11;
        const int v_13 = v_3 + v_10;
        const int v_14 = i + v_12;
        const int v_15 = v_14 + 2944;
        const int v_16 = v_15 * 70;
        const bool v_17 = v_15 < 3001;
        const int v_18 = v_16 + v_13;
        const bool v_19 = v_13 < 70;
        const int v_20 = (int)((unsigned)v1_2 << 1);
        const bool v_21 = v_17 & v_19;
        if (v_21) {
          load_read_only_4(&r_2[v_20], &x[v_18]);
        } else {
          r_2[v_20] = bf16{0x0};
          const int v_22 = v_20 + 1;
          r_2[v_22] = bf16{0x0};
        }
      }
      alignas(16) float r_3[8];
      #pragma unroll
      for (int v1_3 = 0; v1_3 < 4; v1_3 += 1) {
        #pragma unroll
        for (int v0_2 = 0; v0_2 < 2; v0_2 += 1) {
          const int v_23 = (int)((unsigned)v1_3 << 1);
          const int v_24 = v0_2 + v_23;
          const bf16 v_25 = r_2[v_24];
          const int v_26 = thread & 63;
          const int v_27 = (int)((unsigned)thread >> 6);
          const int v_28 = (int)((unsigned)v1_3 << 2);
          const int v_29 = v_27 + v_28;
          const int v_30 = i + v_29;
          const float v_31 = bf16_to_float(v_25);
          const bool v_32 = v_30 < 57;
          const float v_33 = v_32 ? v_31 : 0.0f;
          const int v_34 = (int)((unsigned)v1_3 << 1);
          const int v_35 = v0_2 + v_34;
          r_3[v_35] = v_33;
        }
      }
      alignas(16) float r_4[8];
      #pragma unroll
      for (int v1_4 = 0; v1_4 < 4; v1_4 += 1) {
        #pragma unroll
        for (int v0_3 = 0; v0_3 < 2; v0_3 += 1) {
          const int v_36 = (int)((unsigned)v1_4 << 1);
          const int v_37 = v0_3 + v_36;
          const bf16 v_38 = r_2[v_37];
          const int v_39 = thread & 63;
          const int v_40 = (int)((unsigned)thread >> 6);
          const int v_41 = (int)((unsigned)v1_4 << 2);
          const int v_42 = v_40 + v_41;
          const int v_43 = i + v_42;
          const float v_44 = bf16_to_float(v_38);
          const bool v_45 = v_43 < 57;
          const float v_46 = v_45 ? v_44 : __int_as_float(0xff800000);
          const int v_47 = (int)((unsigned)v1_4 << 1);
          const int v_48 = v0_3 + v_47;
          r_4[v_48] = v_46;
        }
      }
      alignas(16) float r_5[8];
      #pragma unroll
      for (int v1_5 = 0; v1_5 < 4; v1_5 += 1) {
        #pragma unroll
        for (int v0_4 = 0; v0_4 < 2; v0_4 += 1) {
          const int v_49 = (int)((unsigned)v1_5 << 1);
          const int v_50 = v0_4 + v_49;
          const float v_51 = r[v_50];
          const int v_52 = (int)((unsigned)v1_5 << 1);
          const int v_53 = v0_4 + v_52;
          const float v_54 = r_3[v_53];
          const float v_55 = v_51 + v_54;
          const int v_56 = (int)((unsigned)v1_5 << 1);
          const int v_57 = v0_4 + v_56;
          r_5[v_57] = v_55;
        }
      }
      alignas(16) float r_6[8];
      #pragma unroll
      for (int v1_6 = 0; v1_6 < 4; v1_6 += 1) {
        #pragma unroll
        for (int v0_5 = 0; v0_5 < 2; v0_5 += 1) {
          const int v_58 = (int)((unsigned)v1_6 << 1);
          const int v_59 = v0_5 + v_58;
          const float v_60 = r_1[v_59];
          const int v_61 = (int)((unsigned)v1_6 << 1);
          const int v_62 = v0_5 + v_61;
          const float v_63 = r_4[v_62];
          const float v_64 = maximum(v_60, v_63);
          const int v_65 = (int)((unsigned)v1_6 << 1);
          const int v_66 = v0_5 + v_65;
          r_6[v_66] = v_64;
        }
      }
      #pragma unroll
      for (int v1_7 = 0; v1_7 < 4; v1_7 += 1) {
        #pragma unroll
        for (int v0_6 = 0; v0_6 < 2; v0_6 += 1) {
          const int v_67 = (int)((unsigned)v1_7 << 1);
          const int v_68 = v0_6 + v_67;
          const float v_69 = r_5[v_68];
          const int v_70 = (int)((unsigned)v1_7 << 1);
          const int v_71 = v0_6 + v_70;
          r[v_71] = v_69;
        }
      }
      #pragma unroll
      for (int v1_8 = 0; v1_8 < 4; v1_8 += 1) {
        #pragma unroll
        for (int v0_7 = 0; v0_7 < 2; v0_7 += 1) {
          const int v_72 = (int)((unsigned)v1_8 << 1);
          const int v_73 = v0_7 + v_72;
          const float v_74 = r_6[v_73];
          const int v_75 = (int)((unsigned)v1_8 << 1);
          const int v_76 = v0_7 + v_75;
          r_1[v_76] = v_74;
        }
      }
    }
    alignas(16) float r_7[2];
    #pragma unroll
    for (int v0_8 = 0; v0_8 < 2; v0_8 += 1) {
      const float v_77 = r[v0_8];
      r_7[v0_8] = v_77;
    }
    #pragma unroll
    for (int v0_9 = 0; v0_9 < 2; v0_9 += 1) {
      #pragma unroll
      for (int r_8 = 1; r_8 < 4; r_8 += 1) {
        const int v_78 = (int)((unsigned)r_8 << 1);
        const int v_79 = v0_9 + v_78;
        const float v_80 = r[v_79];
        const float v_81 = r_7[v0_9];
        const float v_82 = v_81 + v_80;
        r_7[v0_9] = v_82;
      }
    }
    const int v_83 = (int)((unsigned)thread >> 6);
    const int v_84 = v_83 & 3;
    #pragma unroll
    for (int v0_10 = 0; v0_10 < 2; v0_10 += 1) {
      const int v_85 = thread & 63;
      const int v_86 = (int)((unsigned)thread >> 6);
      const int v_87 = (int)((unsigned)v_85 << 1);
      const int v_88 = v_87 + v0_10;
      const int v_89 = (int)((unsigned)v_84 << 7);
      const int v_90 = v_89 + v_88;
      const int v_91 = (int)(shared_base + 0);
      const int v_92 = (int)((unsigned)v_90 << 2);
      const int v_93 = v_91 + v_92;
      shared_store_4(v_93, &r_7[v0_10]);
    }
    __syncthreads();
    #pragma unroll
    for (int v0_11 = 0; v0_11 < 2; v0_11 += 1) {
      const int v_94 = thread & 63;
      const int v_95 = (int)((unsigned)thread >> 6);
      const int v_96 = (int)((unsigned)v_94 << 1);
      const int v_97 = v_96 + v0_11;
      const int v_98 = (int)(shared_base + 0);
      const int v_99 = (int)((unsigned)v_97 << 2);
      const int v_100 = v_98 + v_99;
      shared_load_4(&r_7[v0_11], v_100);
      #pragma unroll
      for (int w = 1; w < 4; w += 1) {
        alignas(16) float r_9[1];
        const int v_101 = (int)((unsigned)w << 7);
        const int v_102 = v_101 + v_97;
        const int v_103 = (int)(shared_base + 0);
        const int v_104 = (int)((unsigned)v_102 << 2);
        const int v_105 = v_103 + v_104;
        shared_load_4(r_9, v_105);
        const float v_106 = r_9[0];
        const float v_107 = r_7[v0_11];
        const float v_108 = v_107 + v_106;
        r_7[v0_11] = v_108;
      }
    }
    alignas(16) float r_10[2];
    #pragma unroll
    for (int v0_12 = 0; v0_12 < 2; v0_12 += 1) {
      const float v_109 = r_1[v0_12];
      r_10[v0_12] = v_109;
    }
    #pragma unroll
    for (int v0_13 = 0; v0_13 < 2; v0_13 += 1) {
      #pragma unroll
      for (int r_11 = 1; r_11 < 4; r_11 += 1) {
        const int v_110 = (int)((unsigned)r_11 << 1);
        const int v_111 = v0_13 + v_110;
        const float v_112 = r_1[v_111];
        const float v_113 = r_10[v0_13];
        const float v_114 = maximum(v_113, v_112);
        r_10[v0_13] = v_114;
      }
    }
    const int v_115 = (int)((unsigned)thread >> 6);
    const int v_116 = v_115 & 3;
    #pragma unroll
    for (int v0_14 = 0; v0_14 < 2; v0_14 += 1) {
      const int v_117 = thread & 63;
      const int v_118 = (int)((unsigned)thread >> 6);
      const int v_119 = (int)((unsigned)v_117 << 1);
      const int v_120 = v_119 + v0_14;
      const int v_121 = (int)((unsigned)v_116 << 7);
      const int v_122 = v_121 + v_120;
      const int v_123 = (int)(shared_base + 2048);
      const int v_124 = (int)((unsigned)v_122 << 2);
      const int v_125 = v_123 + v_124;
      shared_store_4(v_125, &r_10[v0_14]);
    }
    __syncthreads();
    #pragma unroll
    for (int v0_15 = 0; v0_15 < 2; v0_15 += 1) {
      const int v_126 = thread & 63;
      const int v_127 = (int)((unsigned)thread >> 6);
      const int v_128 = (int)((unsigned)v_126 << 1);
      const int v_129 = v_128 + v0_15;
      const int v_130 = (int)(shared_base + 2048);
      const int v_131 = (int)((unsigned)v_129 << 2);
      const int v_132 = v_130 + v_131;
      shared_load_4(&r_10[v0_15], v_132);
      #pragma unroll
      for (int w_1 = 1; w_1 < 4; w_1 += 1) {
        alignas(16) float r_12[1];
        const int v_133 = (int)((unsigned)w_1 << 7);
        const int v_134 = v_133 + v_129;
        const int v_135 = (int)(shared_base + 2048);
        const int v_136 = (int)((unsigned)v_134 << 2);
        const int v_137 = v_135 + v_136;
        shared_load_4(r_12, v_137);
        const float v_138 = r_12[0];
        const float v_139 = r_10[v0_15];
        const float v_140 = maximum(v_139, v_138);
        r_10[v0_15] = v_140;
      }
    }
    const int v_141 = thread & 63;
    const int v_142 = (int)((unsigned)thread >> 6);
    const bool v_143 = v_142 == 0;
    if (v_143) {
      const int v_144 = thread & 63;
      const int v_145 = (int)((unsigned)thread >> 6);
      const int v_146 = (int)((unsigned)v_144 << 1);
      const int v_147 = v_3 + v_146;
      const bool v_148 = v_147 < 70;
      if (v_148) {
        store_8(&arg1[v_147], r_7);
      }
    }
    const int v_149 = thread & 63;
    const int v_150 = (int)((unsigned)thread >> 6);
    const bool v_151 = v_150 == 0;
    if (v_151) {
      const int v_152 = thread & 63;
      const int v_153 = (int)((unsigned)thread >> 6);
      const int v_154 = (int)((unsigned)v_152 << 1);
      const int v_155 = v_3 + v_154;
      const bool v_156 = v_155 < 70;
      if (v_156) {
        store_8(&arg3[v_155], r_10);
      }
    }
  }
  const int block_1 = (int)blockIdx.x;
  const bool v_157 = block_1 >= 1;
  const bool v_158 = block_1 < 47;
  const bool v_159 = v_157 & v_158;
  const int v_160 = block_1 - 1;
  if (v_159) {
    alignas(16) float r_13[8];
    #pragma unroll
    for (int v1_9 = 0; v1_9 < 4; v1_9 += 1) {
      #pragma unroll
      for (int v0_16 = 0; v0_16 < 2; v0_16 += 1) {
        const int v_161 = (int)((unsigned)v1_9 << 1);
        const int v_162 = v0_16 + v_161;
        r_13[v_162] = 0.0f;
      }
    }
    alignas(16) float r_14[8];
    #pragma unroll
    for (int v1_10 = 0; v1_10 < 4; v1_10 += 1) {
      #pragma unroll
      for (int v0_17 = 0; v0_17 < 2; v0_17 += 1) {
        const int v_163 = (int)((unsigned)v1_10 << 1);
        const int v_164 = v0_17 + v_163;
        r_14[v_164] = __int_as_float(0xff800000);
      }
    }
    #pragma unroll 4
    for (int i_1 = 0; i_1 < 64; i_1 += 16) {
      alignas(16) bf16 r_15[8];
      #pragma unroll
      for (int v1_11 = 0; v1_11 < 4; v1_11 += 1) {
        const int v_165 = thread & 63;
        const int v_166 = (int)((unsigned)thread >> 6);
        const int v_167 = (int)((unsigned)v_165 << 1);
        const int v_168 = (int)((unsigned)v1_11 << 2);
        const int v_169 = v_166 + v_168;
        const int v_170 = i_1 + v_169;
        const int v_171 = (int)((unsigned)v_160 << 6);
        const int v_172 = v_171 + v_170;
        const int v_173 = v_172 * 70;
        const int v_174 = v_173 + v_167;
        const bool v_175 = v_167 < 70;
        const int v_176 = (int)((unsigned)v1_11 << 1);
        if (v_175) {
          load_read_only_4(&r_15[v_176], &x[v_174]);
        } else {
          r_15[v_176] = bf16{0x0};
          const int v_177 = v_176 + 1;
          r_15[v_177] = bf16{0x0};
        }
      }
      alignas(16) float r_16[8];
      #pragma unroll
      for (int v1_12 = 0; v1_12 < 4; v1_12 += 1) {
        #pragma unroll
        for (int v0_18 = 0; v0_18 < 2; v0_18 += 1) {
          const int v_178 = (int)((unsigned)v1_12 << 1);
          const int v_179 = v0_18 + v_178;
          const bf16 v_180 = r_15[v_179];
          const float v_181 = bf16_to_float(v_180);
          const int v_182 = (int)((unsigned)v1_12 << 1);
          const int v_183 = v0_18 + v_182;
          r_16[v_183] = v_181;
        }
      }
      alignas(16) float r_17[8];
      #pragma unroll
      for (int v1_13 = 0; v1_13 < 4; v1_13 += 1) {
        #pragma unroll
        for (int v0_19 = 0; v0_19 < 2; v0_19 += 1) {
          const int v_184 = (int)((unsigned)v1_13 << 1);
          const int v_185 = v0_19 + v_184;
          const float v_186 = r_13[v_185];
          const int v_187 = (int)((unsigned)v1_13 << 1);
          const int v_188 = v0_19 + v_187;
          const float v_189 = r_16[v_188];
          const float v_190 = v_186 + v_189;
          const int v_191 = (int)((unsigned)v1_13 << 1);
          const int v_192 = v0_19 + v_191;
          r_17[v_192] = v_190;
        }
      }
      alignas(16) float r_18[8];
      #pragma unroll
      for (int v1_14 = 0; v1_14 < 4; v1_14 += 1) {
        #pragma unroll
        for (int v0_20 = 0; v0_20 < 2; v0_20 += 1) {
          const int v_193 = (int)((unsigned)v1_14 << 1);
          const int v_194 = v0_20 + v_193;
          const float v_195 = r_14[v_194];
          const int v_196 = (int)((unsigned)v1_14 << 1);
          const int v_197 = v0_20 + v_196;
          const float v_198 = r_16[v_197];
          const float v_199 = maximum(v_195, v_198);
          const int v_200 = (int)((unsigned)v1_14 << 1);
          const int v_201 = v0_20 + v_200;
          r_18[v_201] = v_199;
        }
      }
      #pragma unroll
      for (int v1_15 = 0; v1_15 < 4; v1_15 += 1) {
        #pragma unroll
        for (int v0_21 = 0; v0_21 < 2; v0_21 += 1) {
          const int v_202 = (int)((unsigned)v1_15 << 1);
          const int v_203 = v0_21 + v_202;
          const float v_204 = r_17[v_203];
          const int v_205 = (int)((unsigned)v1_15 << 1);
          const int v_206 = v0_21 + v_205;
          r_13[v_206] = v_204;
        }
      }
      #pragma unroll
      for (int v1_16 = 0; v1_16 < 4; v1_16 += 1) {
        #pragma unroll
        for (int v0_22 = 0; v0_22 < 2; v0_22 += 1) {
          const int v_207 = (int)((unsigned)v1_16 << 1);
          const int v_208 = v0_22 + v_207;
          const float v_209 = r_18[v_208];
          const int v_210 = (int)((unsigned)v1_16 << 1);
          const int v_211 = v0_22 + v_210;
          r_14[v_211] = v_209;
        }
      }
    }
    alignas(16) float r_19[2];
    #pragma unroll
    for (int v0_23 = 0; v0_23 < 2; v0_23 += 1) {
      const float v_212 = r_13[v0_23];
      r_19[v0_23] = v_212;
    }
    #pragma unroll
    for (int v0_24 = 0; v0_24 < 2; v0_24 += 1) {
      #pragma unroll
      for (int r_20 = 1; r_20 < 4; r_20 += 1) {
        const int v_213 = (int)((unsigned)r_20 << 1);
        const int v_214 = v0_24 + v_213;
        const float v_215 = r_13[v_214];
        const float v_216 = r_19[v0_24];
        const float v_217 = v_216 + v_215;
        r_19[v0_24] = v_217;
      }
    }
    const int v_218 = (int)((unsigned)thread >> 6);
    const int v_219 = v_218 & 3;
    #pragma unroll
    for (int v0_25 = 0; v0_25 < 2; v0_25 += 1) {
      const int v_220 = thread & 63;
      const int v_221 = (int)((unsigned)thread >> 6);
      const int v_222 = (int)((unsigned)v_220 << 1);
      const int v_223 = v_222 + v0_25;
      const int v_224 = (int)((unsigned)v_219 << 7);
      const int v_225 = v_224 + v_223;
      const int v_226 = (int)(shared_base + 0);
      const int v_227 = (int)((unsigned)v_225 << 2);
      const int v_228 = v_226 + v_227;
      shared_store_4(v_228, &r_19[v0_25]);
    }
    __syncthreads();
    #pragma unroll
    for (int v0_26 = 0; v0_26 < 2; v0_26 += 1) {
      const int v_229 = thread & 63;
      const int v_230 = (int)((unsigned)thread >> 6);
      const int v_231 = (int)((unsigned)v_229 << 1);
      const int v_232 = v_231 + v0_26;
      const int v_233 = (int)(shared_base + 0);
      const int v_234 = (int)((unsigned)v_232 << 2);
      const int v_235 = v_233 + v_234;
      shared_load_4(&r_19[v0_26], v_235);
      #pragma unroll
      for (int w_2 = 1; w_2 < 4; w_2 += 1) {
        alignas(16) float r_21[1];
        const int v_236 = (int)((unsigned)w_2 << 7);
        const int v_237 = v_236 + v_232;
        const int v_238 = (int)(shared_base + 0);
        const int v_239 = (int)((unsigned)v_237 << 2);
        const int v_240 = v_238 + v_239;
        shared_load_4(r_21, v_240);
        const float v_241 = r_21[0];
        const float v_242 = r_19[v0_26];
        const float v_243 = v_242 + v_241;
        r_19[v0_26] = v_243;
      }
    }
    alignas(16) float r_22[2];
    #pragma unroll
    for (int v0_27 = 0; v0_27 < 2; v0_27 += 1) {
      const float v_244 = r_14[v0_27];
      r_22[v0_27] = v_244;
    }
    #pragma unroll
    for (int v0_28 = 0; v0_28 < 2; v0_28 += 1) {
      #pragma unroll
      for (int r_23 = 1; r_23 < 4; r_23 += 1) {
        const int v_245 = (int)((unsigned)r_23 << 1);
        const int v_246 = v0_28 + v_245;
        const float v_247 = r_14[v_246];
        const float v_248 = r_22[v0_28];
        const float v_249 = maximum(v_248, v_247);
        r_22[v0_28] = v_249;
      }
    }
    const int v_250 = (int)((unsigned)thread >> 6);
    const int v_251 = v_250 & 3;
    #pragma unroll
    for (int v0_29 = 0; v0_29 < 2; v0_29 += 1) {
      const int v_252 = thread & 63;
      const int v_253 = (int)((unsigned)thread >> 6);
      const int v_254 = (int)((unsigned)v_252 << 1);
      const int v_255 = v_254 + v0_29;
      const int v_256 = (int)((unsigned)v_251 << 7);
      const int v_257 = v_256 + v_255;
      const int v_258 = (int)(shared_base + 2048);
      const int v_259 = (int)((unsigned)v_257 << 2);
      const int v_260 = v_258 + v_259;
      shared_store_4(v_260, &r_22[v0_29]);
    }
    __syncthreads();
    #pragma unroll
    for (int v0_30 = 0; v0_30 < 2; v0_30 += 1) {
      const int v_261 = thread & 63;
      const int v_262 = (int)((unsigned)thread >> 6);
      const int v_263 = (int)((unsigned)v_261 << 1);
      const int v_264 = v_263 + v0_30;
      const int v_265 = (int)(shared_base + 2048);
      const int v_266 = (int)((unsigned)v_264 << 2);
      const int v_267 = v_265 + v_266;
      shared_load_4(&r_22[v0_30], v_267);
      #pragma unroll
      for (int w_3 = 1; w_3 < 4; w_3 += 1) {
        alignas(16) float r_24[1];
        const int v_268 = (int)((unsigned)w_3 << 7);
        const int v_269 = v_268 + v_264;
        const int v_270 = (int)(shared_base + 2048);
        const int v_271 = (int)((unsigned)v_269 << 2);
        const int v_272 = v_270 + v_271;
        shared_load_4(r_24, v_272);
        const float v_273 = r_24[0];
        const float v_274 = r_22[v0_30];
        const float v_275 = maximum(v_274, v_273);
        r_22[v0_30] = v_275;
      }
    }
    const int v_276 = thread & 63;
    const int v_277 = (int)((unsigned)thread >> 6);
    const bool v_278 = v_277 == 0;
    if (v_278) {
      const int v_279 = thread & 63;
      const int v_280 = (int)((unsigned)thread >> 6);
      const int v_281 = (int)((unsigned)v_279 << 1);
      const int v_282 = v_160 * 70;
      const int v_283 = v_282 + v_281;
      const bool v_284 = v_281 < 70;
      if (v_284) {
        store_8(&arg2[v_283], r_19);
      }
    }
    const int v_285 = thread & 63;
    const int v_286 = (int)((unsigned)thread >> 6);
    const bool v_287 = v_286 == 0;
    if (v_287) {
      const int v_288 = thread & 63;
      const int v_289 = (int)((unsigned)thread >> 6);
      const int v_290 = (int)((unsigned)v_288 << 1);
      const int v_291 = v_160 * 70;
      const int v_292 = v_291 + v_290;
      const bool v_293 = v_290 < 70;
      if (v_293) {
        store_8(&arg4[v_292], r_22);
      }
    }
  }
}
