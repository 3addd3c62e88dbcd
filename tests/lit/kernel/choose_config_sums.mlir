// RUN: irc-opt %s -p choose-config | filecheck %s

// A thread has sums of 8 columns, 72 of nine arrays: fewer blocks share an SM, so that it has registers for them.
// CHECK: kernel.fused @nine reduce config<tile = {d = 256, r = 8}, warps = 8, schedule = "grid", split = 352, reduction = "looped", unroll = 4, occupancy = 2>
func.func @nine_of(%x0: tensor<16384x768xbf16>, %x1: tensor<16384x768xbf16>, %x2: tensor<16384x768xbf16>, %x3: tensor<16384x768xbf16>, %x4: tensor<16384x768xbf16>, %x5: tensor<16384x768xbf16>, %x6: tensor<16384x768xbf16>, %x7: tensor<16384x768xbf16>, %x8: tensor<16384x768xbf16>) -> (tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>) {
  %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8 = kernel.fused @nine reduce (%a0 = %x0 : tensor<16384x768xbf16>, %a1 = %x1 : tensor<16384x768xbf16>, %a2 = %x2 : tensor<16384x768xbf16>, %a3 = %x3 : tensor<16384x768xbf16>, %a4 = %x4 : tensor<16384x768xbf16>, %a5 = %x5 : tensor<16384x768xbf16>, %a6 = %x6 : tensor<16384x768xbf16>, %a7 = %x7 : tensor<16384x768xbf16>, %a8 = %x8 : tensor<16384x768xbf16>) -> (tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>) {
    %c0 = nd.cast %a0 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s0 = nd.sum %c0 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c1 = nd.cast %a1 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s1 = nd.sum %c1 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c2 = nd.cast %a2 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s2 = nd.sum %c2 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c3 = nd.cast %a3 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s3 = nd.sum %c3 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c4 = nd.cast %a4 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s4 = nd.sum %c4 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c5 = nd.cast %a5 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s5 = nd.sum %c5 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c6 = nd.cast %a6 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s6 = nd.sum %c6 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c7 = nd.cast %a7 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s7 = nd.sum %c7 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c8 = nd.cast %a8 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s8 = nd.sum %c8 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    kernel.yield %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8 : tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>
  }
  func.return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8 : tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>
}

// 200 sums of 25 arrays would be all of its registers: it has four columns.
// CHECK: kernel.fused @many reduce config<tile = {d = 128, r = 8}, warps = 8, schedule = "grid", split = 352, reduction = "looped", unroll = 4, occupancy = 1>
func.func @many_of(%x0: tensor<16384x768xbf16>, %x1: tensor<16384x768xbf16>, %x2: tensor<16384x768xbf16>, %x3: tensor<16384x768xbf16>, %x4: tensor<16384x768xbf16>, %x5: tensor<16384x768xbf16>, %x6: tensor<16384x768xbf16>, %x7: tensor<16384x768xbf16>, %x8: tensor<16384x768xbf16>, %x9: tensor<16384x768xbf16>, %x10: tensor<16384x768xbf16>, %x11: tensor<16384x768xbf16>, %x12: tensor<16384x768xbf16>, %x13: tensor<16384x768xbf16>, %x14: tensor<16384x768xbf16>, %x15: tensor<16384x768xbf16>, %x16: tensor<16384x768xbf16>, %x17: tensor<16384x768xbf16>, %x18: tensor<16384x768xbf16>, %x19: tensor<16384x768xbf16>, %x20: tensor<16384x768xbf16>, %x21: tensor<16384x768xbf16>, %x22: tensor<16384x768xbf16>, %x23: tensor<16384x768xbf16>, %x24: tensor<16384x768xbf16>) -> (tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>) {
  %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18, %r19, %r20, %r21, %r22, %r23, %r24 = kernel.fused @many reduce (%a0 = %x0 : tensor<16384x768xbf16>, %a1 = %x1 : tensor<16384x768xbf16>, %a2 = %x2 : tensor<16384x768xbf16>, %a3 = %x3 : tensor<16384x768xbf16>, %a4 = %x4 : tensor<16384x768xbf16>, %a5 = %x5 : tensor<16384x768xbf16>, %a6 = %x6 : tensor<16384x768xbf16>, %a7 = %x7 : tensor<16384x768xbf16>, %a8 = %x8 : tensor<16384x768xbf16>, %a9 = %x9 : tensor<16384x768xbf16>, %a10 = %x10 : tensor<16384x768xbf16>, %a11 = %x11 : tensor<16384x768xbf16>, %a12 = %x12 : tensor<16384x768xbf16>, %a13 = %x13 : tensor<16384x768xbf16>, %a14 = %x14 : tensor<16384x768xbf16>, %a15 = %x15 : tensor<16384x768xbf16>, %a16 = %x16 : tensor<16384x768xbf16>, %a17 = %x17 : tensor<16384x768xbf16>, %a18 = %x18 : tensor<16384x768xbf16>, %a19 = %x19 : tensor<16384x768xbf16>, %a20 = %x20 : tensor<16384x768xbf16>, %a21 = %x21 : tensor<16384x768xbf16>, %a22 = %x22 : tensor<16384x768xbf16>, %a23 = %x23 : tensor<16384x768xbf16>, %a24 = %x24 : tensor<16384x768xbf16>) -> (tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>) {
    %c0 = nd.cast %a0 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s0 = nd.sum %c0 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c1 = nd.cast %a1 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s1 = nd.sum %c1 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c2 = nd.cast %a2 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s2 = nd.sum %c2 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c3 = nd.cast %a3 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s3 = nd.sum %c3 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c4 = nd.cast %a4 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s4 = nd.sum %c4 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c5 = nd.cast %a5 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s5 = nd.sum %c5 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c6 = nd.cast %a6 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s6 = nd.sum %c6 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c7 = nd.cast %a7 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s7 = nd.sum %c7 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c8 = nd.cast %a8 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s8 = nd.sum %c8 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c9 = nd.cast %a9 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s9 = nd.sum %c9 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c10 = nd.cast %a10 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s10 = nd.sum %c10 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c11 = nd.cast %a11 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s11 = nd.sum %c11 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c12 = nd.cast %a12 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s12 = nd.sum %c12 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c13 = nd.cast %a13 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s13 = nd.sum %c13 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c14 = nd.cast %a14 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s14 = nd.sum %c14 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c15 = nd.cast %a15 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s15 = nd.sum %c15 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c16 = nd.cast %a16 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s16 = nd.sum %c16 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c17 = nd.cast %a17 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s17 = nd.sum %c17 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c18 = nd.cast %a18 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s18 = nd.sum %c18 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c19 = nd.cast %a19 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s19 = nd.sum %c19 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c20 = nd.cast %a20 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s20 = nd.sum %c20 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c21 = nd.cast %a21 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s21 = nd.sum %c21 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c22 = nd.cast %a22 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s22 = nd.sum %c22 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c23 = nd.cast %a23 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s23 = nd.sum %c23 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    %c24 = nd.cast %a24 : tensor<16384x768xbf16> -> tensor<16384x768xf32>
    %s24 = nd.sum %c24 {axes = [0]} : tensor<16384x768xf32> -> tensor<768xf32>
    kernel.yield %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8, %s9, %s10, %s11, %s12, %s13, %s14, %s15, %s16, %s17, %s18, %s19, %s20, %s21, %s22, %s23, %s24 : tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>
  }
  func.return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18, %r19, %r20, %r21, %r22, %r23, %r24 : tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>
}

// Elements of f64 take two registers each: threads have 128, however many sums there are.
// CHECK: kernel.fused @doubles reduce config<{{.*}}, occupancy = 4>
func.func @doubles_of(%x0: tensor<16384x768xf64>, %x1: tensor<16384x768xf64>, %x2: tensor<16384x768xf64>) -> (tensor<768xf64>, tensor<768xf64>, tensor<768xf64>) {
  %r0, %r1, %r2 = kernel.fused @doubles reduce (%a0 = %x0 : tensor<16384x768xf64>, %a1 = %x1 : tensor<16384x768xf64>, %a2 = %x2 : tensor<16384x768xf64>) -> (tensor<768xf64>, tensor<768xf64>, tensor<768xf64>) {
    %s0 = nd.sum %a0 {axes = [0]} : tensor<16384x768xf64> -> tensor<768xf64>
    %s1 = nd.sum %a1 {axes = [0]} : tensor<16384x768xf64> -> tensor<768xf64>
    %s2 = nd.sum %a2 {axes = [0]} : tensor<16384x768xf64> -> tensor<768xf64>
    kernel.yield %s0, %s1, %s2 : tensor<768xf64>, tensor<768xf64>, tensor<768xf64>
  }
  func.return %r0, %r1, %r2 : tensor<768xf64>, tensor<768xf64>, tensor<768xf64>
}
