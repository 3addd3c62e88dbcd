// RUN: irc-opt %s -p expand-schedule | filecheck %s

// The last step loads its own again.
// CHECK-LABEL: @f32
// CHECK:         tile.partitions
// CHECK:         [[A0:%[a-z0-9_]+]] = tile.load %x[%c0, %c0]
// CHECK:         [[B0:%[a-z0-9_]+]] = tile.load %w[%c0, %c0]
// CHECK:         scf.for [[K:%[a-z0-9_]+]] = {{.*}} iter_args([[A:%[a-z0-9_]+]] = [[A0]], [[B:%[a-z0-9_]+]] = [[B0]])
// CHECK:           [[NEXT:%[a-z0-9_]+]] = arith.addi [[K]]
// CHECK-NEXT:      [[INSIDE:%[a-z0-9_]+]] = arith.cmpi ult, [[NEXT]]
// CHECK-NEXT:      [[AT:%[a-z0-9_]+]] = arith.select [[INSIDE]], [[NEXT]], [[K]]
// CHECK-NEXT:      tile.acquire
// CHECK:           tile.map [[A]]
// CHECK:           tile.write
// CHECK:           tile.write
// CHECK-NEXT:      [[A1:%[a-z0-9_]+]] = tile.load %x{{.*}}[[AT]]
// CHECK:           tile.map [[B]]
// CHECK:           tile.write
// CHECK:           tile.write
// CHECK-NEXT:      [[B1:%[a-z0-9_]+]] = tile.load %w[[[AT]]
// CHECK-NEXT:      tile.commit
// CHECK-NEXT:      scf.yield [[A1]], [[B1]]
// CHECK-LABEL: @i8
// CHECK:         scf.for
// CHECK-NOT:     iter_args
// CHECK:         tile.commit

#shared = #tile.shared<(64,32):(32,1) swizzle(3,2,3)>
#shared1 = #tile.shared<(32,64):(1,32) swizzle(3,2,3)>
#frag = #tile.fragment<((8,16),(4,4)):((256,1),(64,16))>
#frag1 = #tile.fragment<((4,8,2,2),(4,4)):((4,128,16,1024),(32,1))>
#frag2 = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((16,2,4),(4,8)):((256,1,16),(64,2))>
#shared3 = #tile.shared<(64,128):(128,1) swizzle(3,4,3)>
#shared4 = #tile.shared<(128,64):(1,128) swizzle(3,4,3)>
#frag4 = #tile.fragment<((4,8,2,2),(4,16)):((16,512,64,4096),(128,1))>
tile.program @f32(%x: !tile.view<64x64xf32>, %w: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x32xf32, #shared>, !tile.buffer<32x64xf32, #shared1>, !tile.buffer<64x32xf32, #shared>, !tile.buffer<32x64xf32, #shared1>>
  tile.partitions @load warps 4 registers 120 {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c32 {
      %a = tile.load %x[%c0, %k] {scheduled = #tile.at<stage = 0, order = 5>} : !tile.view<64x64xf32> -> tensor<64x32xf32, #frag>
      %b = tile.load %w[%k, %c0] {scheduled = #tile.at<stage = 0, order = 10>} : !tile.view<64x64xf32> -> tensor<32x64xf32, #frag1>
      %a_high = tile.map %a {scheduled = #tile.at<stage = 1, order = 1>} : tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag> {
      ^bb0(%a_1: f32):
        %bitcast = arith.bitcast %a_1 : f32 to i32
        %im1073750016 = arith.constant -1073750016 : i32
        %andi = arith.andi %bitcast, %im1073750016 : i32
        %absf = math.absf %a_1 : f32
        %i4096 = arith.constant 4096 : i32
        %addi = arith.addi %bitcast, %i4096 : i32
        %im8192 = arith.constant -8192 : i32
        %andi_1 = arith.andi %addi, %im8192 : i32
        %value = arith.constant 3.4019927e+38 : f32
        %cmpf = arith.cmpf ole, %absf, %value : f32
        %select = arith.select %cmpf, %andi_1, %andi : i32
        %bitcast_1 = arith.bitcast %select : i32 to f32
        tile.yield %bitcast_1 : f32
      }
      %a_low = tile.map %a, %a_high {scheduled = #tile.at<stage = 1, order = 2>} : tensor<64x32xf32, #frag>, tensor<64x32xf32, #frag> -> tensor<64x32xf32, #frag> {
      ^bb0(%a_2: f32, %b_1: f32):
        %subf = arith.subf %a_2, %b_1 : f32
        tile.yield %subf : f32
      }
      %b_high = tile.map %b {scheduled = #tile.at<stage = 1, order = 6>} : tensor<32x64xf32, #frag1> -> tensor<32x64xf32, #frag1> {
      ^bb0(%a_3: f32):
        %bitcast_2 = arith.bitcast %a_3 : f32 to i32
        %im1073750016_1 = arith.constant -1073750016 : i32
        %andi_2 = arith.andi %bitcast_2, %im1073750016_1 : i32
        %absf_1 = math.absf %a_3 : f32
        %i4096_1 = arith.constant 4096 : i32
        %addi_1 = arith.addi %bitcast_2, %i4096_1 : i32
        %im8192_1 = arith.constant -8192 : i32
        %andi_3 = arith.andi %addi_1, %im8192_1 : i32
        %value_1 = arith.constant 3.4019927e+38 : f32
        %cmpf_1 = arith.cmpf ole, %absf_1, %value_1 : f32
        %select_1 = arith.select %cmpf_1, %andi_3, %andi_2 : i32
        %bitcast_3 = arith.bitcast %select_1 : i32 to f32
        tile.yield %bitcast_3 : f32
      }
      %b_low = tile.map %b, %b_high {scheduled = #tile.at<stage = 1, order = 7>} : tensor<32x64xf32, #frag1>, tensor<32x64xf32, #frag1> -> tensor<32x64xf32, #frag1> {
      ^bb0(%a_4: f32, %b_2: f32):
        %subf_1 = arith.subf %a_4, %b_2 : f32
        tile.yield %subf_1 : f32
      }
      %slot, %a_low_1, %b_high_1, %a_high_1, %b_low_1 = tile.acquire %channel {scheduled = #tile.at<stage = 1, order = 0>} : !tile.channel<!tile.buffer<64x32xf32, #shared>, !tile.buffer<32x64xf32, #shared1>, !tile.buffer<64x32xf32, #shared>, !tile.buffer<32x64xf32, #shared1>>
      tile.write %a_low, %a_low_1 {scheduled = #tile.at<stage = 1, order = 3>} : tensor<64x32xf32, #frag>, !tile.buffer<64x32xf32, #shared>
      tile.write %b_high, %b_high_1 {scheduled = #tile.at<stage = 1, order = 8>} : tensor<32x64xf32, #frag1>, !tile.buffer<32x64xf32, #shared1>
      tile.write %a_high, %a_high_1 {scheduled = #tile.at<stage = 1, order = 4>} : tensor<64x32xf32, #frag>, !tile.buffer<64x32xf32, #shared>
      tile.write %b_low, %b_low_1 {scheduled = #tile.at<stage = 1, order = 9>} : tensor<32x64xf32, #frag1>, !tile.buffer<32x64xf32, #shared1>
      tile.commit %slot {scheduled = #tile.at<stage = 1, order = 11>}
    } {clamped}
  } @compute warps 4 registers 240 {
    %c0_1 = arith.constant 0 : index
    %c32_1 = arith.constant 32 : index
    %c64_1 = arith.constant 64 : index
    %zero = arith.constant 0.000000e+00 : f32
    %s = tile.splat %zero : f32 -> tensor<64x64xf32, #frag2>
    %p = scf.for %k_1 = %c0_1 to %c64_1 step %c32_1 iter_args(%acc = %s) -> (tensor<64x64xf32, #frag2>) {
      %zero_1 = arith.constant {scheduled = #tile.at<stage = 0, order = 0>} 0.000000e+00 : f32
      %init = tile.splat %zero_1 {scheduled = #tile.at<stage = 0, order = 1>} : f32 -> tensor<64x64xf32, #frag2>
      %slot_1, %a_low_2, %b_high_2, %a_high_2, %b_low_2 = tile.wait %channel {scheduled = #tile.at<stage = 0, order = 2>} : !tile.channel<!tile.buffer<64x32xf32, #shared>, !tile.buffer<32x64xf32, #shared1>, !tile.buffer<64x32xf32, #shared>, !tile.buffer<32x64xf32, #shared1>>
      %d = tile.dot %a_low_2, %b_high_2, %init {scheduled = #tile.at<stage = 0, order = 3>, precision = "tf32", instruction = "wgmma"} : !tile.buffer<64x32xf32, #shared>, !tile.buffer<32x64xf32, #shared1>, tensor<64x64xf32, #frag2> -> tensor<64x64xf32, #frag2>
      %d_1 = tile.dot %a_high_2, %b_low_2, %d {scheduled = #tile.at<stage = 0, order = 4>, precision = "tf32", instruction = "wgmma"} : !tile.buffer<64x32xf32, #shared>, !tile.buffer<32x64xf32, #shared1>, tensor<64x64xf32, #frag2> -> tensor<64x64xf32, #frag2>
      %d_2 = tile.dot %a_high_2, %b_high_2, %d_1 {scheduled = #tile.at<stage = 0, order = 5>, precision = "tf32", instruction = "wgmma"} : !tile.buffer<64x32xf32, #shared>, !tile.buffer<32x64xf32, #shared1>, tensor<64x64xf32, #frag2> -> tensor<64x64xf32, #frag2>
      tile.release %slot_1 after %d_2 : tensor<64x64xf32, #frag2> {scheduled = #tile.at<stage = 0, order = 6>}
      %d_3 = tile.map %acc, %d_2 {scheduled = #tile.at<stage = 0, order = 7>} : tensor<64x64xf32, #frag2>, tensor<64x64xf32, #frag2> -> tensor<64x64xf32, #frag2> {
      ^bb0(%a_5: f32, %b_3: f32):
        %addf = arith.addf %a_5, %b_3 : f32
        tile.yield %addf : f32
      }
      scf.yield %d_3 : tensor<64x64xf32, #frag2>
    }
    %convert = tile.convert %p {through = #shared2} : tensor<64x64xf32, #frag2> -> tensor<64x64xf32, #frag3>
    tile.store %convert, %y[%c0_1, %c0_1] : tensor<64x64xf32, #frag3>, !tile.view<64x64xf32>
  }
}
tile.program @i8(%x: !tile.view<64x256xi8>, %w: !tile.view<256x64xi8>, %y: !tile.view<64x64xi32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, instruction = "wgmma">} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x128xi8, #shared3>, !tile.buffer<128x64xi8, #shared4>>
  tile.partitions @load warps 4 registers 120 {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    scf.for %k = %c0 to %c256 step %c128 {
      %b = tile.load %w[%k, %c0] : !tile.view<256x64xi8> -> tensor<128x64xi8, #frag4>
      %slot, %a, %b_1 = tile.acquire %channel : !tile.channel<!tile.buffer<64x128xi8, #shared3>, !tile.buffer<128x64xi8, #shared4>>
      tile.copy %x[%c0, %k] -> %a {via = "tma"} : !tile.view<64x256xi8> -> !tile.buffer<64x128xi8, #shared3>
      tile.write %b, %b_1 : tensor<128x64xi8, #frag4>, !tile.buffer<128x64xi8, #shared4>
      tile.commit %slot
    }
  } @compute warps 4 registers 240 {
    %c0_1 = arith.constant 0 : index
    %c128_1 = arith.constant 128 : index
    %c256_1 = arith.constant 256 : index
    %zero = arith.constant 0 : i32
    %s = tile.splat %zero : i32 -> tensor<64x64xi32, #frag2>
    %p = scf.for %k_1 = %c0_1 to %c256_1 step %c128_1 iter_args(%acc = %s) -> (tensor<64x64xi32, #frag2>) {
      %slot_1, %a_1, %b_2 = tile.wait %channel {scheduled = #tile.at<stage = 0, order = 0>} : !tile.channel<!tile.buffer<64x128xi8, #shared3>, !tile.buffer<128x64xi8, #shared4>>
      %d = tile.dot %a_1, %b_2, %acc {scheduled = #tile.at<stage = 0, order = 1>, instruction = "wgmma"} : !tile.buffer<64x128xi8, #shared3>, !tile.buffer<128x64xi8, #shared4>, tensor<64x64xi32, #frag2> -> tensor<64x64xi32, #frag2>
      tile.release %slot_1 after %d : tensor<64x64xi32, #frag2> {scheduled = #tile.at<stage = 1, order = 2>}
      scf.yield %d : tensor<64x64xi32, #frag2>
    }
    %convert = tile.convert %p {through = #shared2} : tensor<64x64xi32, #frag2> -> tensor<64x64xi32, #frag3>
    tile.store %convert, %y[%c0_1, %c0_1] : tensor<64x64xi32, #frag3>, !tile.view<64x64xi32>
  }
}
