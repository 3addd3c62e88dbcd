// RUN: irc-opt %s -p schedule-loops --arch sm_80 --split-input-file | filecheck %s

// Two stages are filled ahead of the one that is read, which is released an iteration later. An iteration waits,
// releases, acquires, loads, copies, multiplies, and writes what it loaded.
// CHECK-LABEL: tile.program @staged
// CHECK:       scf.for %k
// CHECK:         tile.acquire {{%[a-z0-9_]+}} {scheduled = #tile.at<stage = 0, order = 2>}
// CHECK-NEXT:    tile.load %w{{.*}}scheduled = #tile.at<stage = 0, order = 3>
// CHECK-NEXT:    tile.copy %x{{.*}}scheduled = #tile.at<stage = 0, order = 4>
// CHECK-NEXT:    tile.write {{.*}}scheduled = #tile.at<stage = 0, order = 6>
// CHECK-NEXT:    tile.commit {{.*}}scheduled = #tile.at<stage = 0, order = 7>
// CHECK-NEXT:    tile.wait {{%[a-z0-9_]+}} {scheduled = #tile.at<stage = 2, order = 0>}
// CHECK-NEXT:    tile.dot {{.*}}scheduled = #tile.at<stage = 2, order = 5>
// CHECK-NEXT:    tile.release {{.*}}scheduled = #tile.at<stage = 3, order = 1>
// CHECK-NEXT:    scf.yield
// CHECK-NEXT:  } {clamped}

#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(1,32) swizzle(3,2,4)>
#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((64,2),(16)):((32,1),(2))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @staged(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x63xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 3, warps = 4, instruction = "mma">} {
  %channel = tile.channel {stages = 3 : i64, in_step} : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32, #frag>) {
    %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    %b_1 = tile.load %w[%k, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16, #frag1>
    tile.copy %x[%c0, %k] -> %a {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
    tile.write %b_1, %b : tensor<32x64xbf16, #frag1>, !tile.buffer<32x64xbf16, #shared1>
    tile.commit %slot
    %slot_1, %a_1, %b_2 = tile.wait %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    %d = tile.dot %a_1, %b_2, %c {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    tile.release %slot_1
    scf.yield %d : tensor<64x64xf32, #frag>
  }
  %convert = tile.convert %h {through = #shared2} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
}

// -----

// One stage, and so no channel: the loop is left alone.
// CHECK-LABEL: tile.program @alone
// CHECK-NOT:   #tile.at
// CHECK-NOT:   clamped
// CHECK:       tile.store

#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(64,1) swizzle(2,3,4)>
#frag1 = #tile.fragment<((4,32),(8,2)):((512,1),(64,32))>
#frag2 = #tile.fragment<((8,16),(8,2)):((256,1),(32,16))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @alone(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 1, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %a = tile.alloc : !tile.buffer<64x32xbf16, #shared>
  %b = tile.alloc : !tile.buffer<32x64xbf16, #shared1>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32, #frag>) {
    %a_1 = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #frag1>
    %b_1 = tile.load %w[%k, %c0] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #frag2>
    tile.write %a_1, %a : tensor<64x32xbf16, #frag1>, !tile.buffer<64x32xbf16, #shared>
    tile.write %b_1, %b : tensor<32x64xbf16, #frag2>, !tile.buffer<32x64xbf16, #shared1>
    %d = tile.dot %a, %b, %c {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    scf.yield %d : tensor<64x64xf32, #frag>
  }
  %convert = tile.convert %h {through = #shared2} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag3>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag3>, !tile.view<64x64xf32>
}

// -----

// What the loop computes is multiplied in it: its buffer has no stages, and what fills it is not ahead.
// CHECK-LABEL: tile.program @fed
// CHECK:       scf.for %k
// CHECK:         tile.copy %x{{.*}}scheduled = #tile.at<stage = 0
// CHECK:         tile.write {{.*}}scheduled = #tile.at<stage = 2
// CHECK:         tile.dot {{.*}}scheduled = #tile.at<stage = 2

#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#shared1 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag1 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @fed(%x: !tile.view<64x256xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 3, warps = 4, instruction = "mma">} {
  %channel = tile.channel {stages = 3 : i64, in_step} : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
  %c0 = arith.constant 0 : index
  %ck = arith.constant 64 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %b = tile.alloc : !tile.buffer<64x64xbf16, #shared>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32, #frag>) {
    %slot, %a = tile.acquire %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
    tile.copy %x[%c0, %k] -> %a {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x64xbf16, #shared>
    tile.commit %slot
    %slot_1, %a_1 = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
    %b_1 = tile.map %c : tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
    ^bb0(%e: f32):
      %f = arith.truncf %e : f32 to bf16
      tile.yield %f : bf16
    }
    tile.write %b_1, %b : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>
    %d = tile.dot %a_1, %b, %c {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    tile.release %slot_1
    scf.yield %d : tensor<64x64xf32, #frag>
  }
  %convert = tile.convert %h {through = #shared1} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag1>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag1>, !tile.view<64x64xf32>
}

// -----

// Of dots on halves of a step, the first comes before the copies.
// CHECK-LABEL: tile.program @staged
// CHECK:         tile.load %w{{.*}}scheduled = #tile.at<stage = 0, order = 3>
// CHECK:         tile.copy %x{{.*}}scheduled = #tile.at<stage = 0, order = 7>
// CHECK:         tile.dot {{.*}}scheduled = #tile.at<stage = 2, order = 6>
// CHECK:         tile.dot {{.*}}scheduled = #tile.at<stage = 2, order = 10>

#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(1,32) swizzle(3,2,4)>
#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((64,2),(16)):((32,1),(2))>
#shared2 = #tile.shared<(64,16):(32,1) swizzle(2,3,3)>
#shared3 = #tile.shared<(16,64):(1,32) swizzle(3,2,4)>
#shared4 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @staged(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x63xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 3, warps = 4, instruction = "mma">} {
  %channel = tile.channel {stages = 3 : i64, in_step} : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32, #frag>) {
    %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    %b_1 = tile.load %w[%k, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16, #frag1>
    tile.copy %x[%c0, %k] -> %a {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
    tile.write %b_1, %b : tensor<32x64xbf16, #frag1>, !tile.buffer<32x64xbf16, #shared1>
    tile.commit %slot
    %slot_1, %a_1, %b_2 = tile.wait %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    %part = tile.subview %a_1 {at = array<i64: 0, 0>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
    %part_1 = tile.subview %b_2 {at = array<i64: 0, 0>} : !tile.buffer<32x64xbf16, #shared1> -> !tile.buffer<16x64xbf16, #shared3>
    %sum = tile.dot %part, %part_1, %c {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x16xbf16, #shared2>, !tile.buffer<16x64xbf16, #shared3>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    %part_2 = tile.subview %a_1 {at = array<i64: 0, 16>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
    %part_3 = tile.subview %b_2 {at = array<i64: 16, 0>} : !tile.buffer<32x64xbf16, #shared1> -> !tile.buffer<16x64xbf16, #shared3>
    %d = tile.dot %part_2, %part_3, %sum {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x16xbf16, #shared2>, !tile.buffer<16x64xbf16, #shared3>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    tile.release %slot_1
    scf.yield %d : tensor<64x64xf32, #frag>
  }
  %convert = tile.convert %h {through = #shared4} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
}

// -----

// One stage is filled ahead of one of two.
// CHECK-LABEL:   tile.program @staged
// CHECK:           tile.wait {{%[a-z0-9_]+}} {scheduled = #tile.at<stage = 1, order = 0>}
// CHECK:           tile.release {{.*}}scheduled = #tile.at<stage = 2, order = 1>

#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(1,32) swizzle(3,2,4)>
#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((64,2),(16)):((32,1),(2))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @staged(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x63xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "mma">} {
  %channel = tile.channel {stages = 2 : i64, in_step} : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32, #frag>) {
    %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    %b_1 = tile.load %w[%k, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16, #frag1>
    tile.copy %x[%c0, %k] -> %a {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
    tile.write %b_1, %b : tensor<32x64xbf16, #frag1>, !tile.buffer<32x64xbf16, #shared1>
    tile.commit %slot
    %slot_1, %a_1, %b_2 = tile.wait %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    %d = tile.dot %a_1, %b_2, %c {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    tile.release %slot_1
    scf.yield %d : tensor<64x64xf32, #frag>
  }
  %convert = tile.convert %h {through = #shared2} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
}
