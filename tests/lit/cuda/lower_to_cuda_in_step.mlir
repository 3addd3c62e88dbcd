// RUN: irc-opt %s -p lower-to-cuda --arch sm_80 --split-input-file | filecheck %s

// Filled ahead, a stage may be pending while the one before it is read; filled in order, none.
// CHECK-LABEL: cuda.kernel @staged
// CHECK:      cuda.cp_async
// CHECK-NOT:   cuda.barrier_init
// CHECK:       scf.for
// CHECK:        cuda.cp_async_wait {pending = 1 : i64}
// CHECK-NEXT:    cuda.sync
// CHECK:        cuda.cp_async
// CHECK:         cuda.dot
// CHECK-NOT:    cuda.sync
// CHECK:        cuda.cp_async_commit
// CHECK:      cuda.cp_async_wait

#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(1,32) swizzle(3,2,4)>
#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((64,2),(16)):((32,1),(2))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @staged(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x63xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, shared = 24576 : i64, grid = 1 : i64, config = #kernel.config<stages = 3, warps = 4, instruction = "mma">} {
  %channel = tile.channel {stages = 3 : i64, in_step, offset = 0 : i64} : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %b_1 = tile.load %w[%c0, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16, #frag1>
  %cmpi = arith.cmpi ult, %c0, %cK : index
  scf.if %cmpi {
    tile.copy %x[%c0, %c0] -> %a {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
  }
  tile.write %b_1, %b : tensor<32x64xbf16, #frag1>, !tile.buffer<32x64xbf16, #shared1>
  tile.commit %slot
  %slot_1, %a_1, %b_2 = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %c32 = arith.constant 32 : index
  %cmpi_1 = arith.cmpi ult, %c32, %cK : index
  %select = arith.select %cmpi_1, %c32, %c0 : index
  %b_3 = tile.load %w[%select, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16, #frag1>
  %cmpi_2 = arith.cmpi ult, %c32, %cK : index
  scf.if %cmpi_2 {
    tile.copy %x[%c0, %c32] -> %a_1 {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
  }
  tile.write %b_3, %b_2 : tensor<32x64xbf16, #frag1>, !tile.buffer<32x64xbf16, #shared1>
  tile.commit %slot_1
  %none = tile.no_slot
  %h, %none_1 = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z, %previous = %none) -> (tensor<64x64xf32, #frag>, !tile.slot<drain>) {
    %c2 = arith.constant 2 : index
    %muli = arith.muli %c2, %ck : index
    %addi = arith.addi %k, %muli : index
    %cmpi_3 = arith.cmpi ult, %addi, %cK : index
    %select_1 = arith.select %cmpi_3, %addi, %k : index
    %slot_2, %a_2, %b_4 = tile.wait %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    tile.release %previous
    %slot_3, %a_3, %b_5 = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    %b_6 = tile.load %w[%select_1, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16, #frag1>
    tile.copy %x[%c0, %select_1] -> %a_3 {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
    %d = tile.dot %a_2, %b_4, %c {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    tile.write %b_6, %b_5 : tensor<32x64xbf16, #frag1>, !tile.buffer<32x64xbf16, #shared1>
    tile.commit %slot_3
    scf.yield %d, %slot_2 : tensor<64x64xf32, #frag>, !tile.slot<drain>
  }
  tile.release %none_1
  %c2_1 = arith.constant 2 : index
  tile.skip %channel by %c2_1 : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %convert = tile.convert %h {through = #shared2} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
}

// -----

// CHECK-LABEL: cuda.kernel @alone
// CHECK-NOT:   cp_async
#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(64,1) swizzle(2,3,4)>
#frag1 = #tile.fragment<((4,32),(8,2)):((512,1),(64,32))>
#frag2 = #tile.fragment<((8,16),(8,2)):((256,1),(32,16))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag3 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @alone(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, shared = 8192 : i64, grid = 1 : i64, config = #kernel.config<stages = 1, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %a = tile.alloc {offset = 0 : i64} : !tile.buffer<64x32xbf16, #shared>
  %b = tile.alloc {offset = 4096 : i64} : !tile.buffer<32x64xbf16, #shared1>
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

// CHECK-LABEL: cuda.kernel @shared
#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(64,1) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#frag1 = #tile.fragment<((4,8,2,2),(2,2)):((0,1,16,0),(8,32))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @shared(%x: !tile.view<64x256xbf16>, %w: !tile.view<257x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, shared = 16384 : i64, grid = 1 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "mma">} {
  %channel = tile.channel {stages = 2 : i64, in_step, offset = 0 : i64} : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %row = arith.addi %c0, %c1 : index
  %cmpi = arith.cmpi ult, %c0, %cK : index
  scf.if %cmpi {
    tile.copy %x[%c0, %c0] -> %a {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
    tile.copy %w[%row, %c0] -> %b {via = "cp_async"} : !tile.view<257x64xbf16> -> !tile.buffer<32x64xbf16, #shared1>
  }
  tile.commit %slot
  %none = tile.no_slot
  %h, %none_1 = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z, %previous = %none) -> (tensor<64x64xf32, #frag>, !tile.slot<drain>) {
    %c1_1 = arith.constant 1 : index
    %muli = arith.muli %c1_1, %ck : index
    %addi = arith.addi %k, %muli : index
    %cmpi_1 = arith.cmpi ult, %addi, %cK : index
    %select = arith.select %cmpi_1, %addi, %k : index
    %slot_1, %a_1, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    tile.release %previous
    %slot_2, %a_2, %b_2 = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
    %row_1 = arith.addi %select, %c1 : index
    tile.copy %x[%c0, %select] -> %a_2 {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
    tile.copy %w[%row_1, %c0] -> %b_2 {via = "cp_async"} : !tile.view<257x64xbf16> -> !tile.buffer<32x64xbf16, #shared1>
    %row_2 = arith.addi %k, %c1 : index
    %d = tile.dot %a_1, %b_1, %c {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    %i = tile.iota %row_2 {axis = 0 : i64} : tensor<64x1xindex, #frag1>
    %e = tile.map %d, %i : tensor<64x64xf32, #frag>, tensor<64x1xindex, #frag1> -> tensor<64x64xf32, #frag> {
    ^bb0(%p: f32, %q: index):
      %n = arith.index_cast %q : index to i64
      %f = arith.sitofp %n : i64 to f32
      %g = arith.addf %p, %f : f32
      tile.yield %g : f32
    }
    tile.commit %slot_2
    scf.yield %e, %slot_1 : tensor<64x64xf32, #frag>, !tile.slot<drain>
  }
  tile.release %none_1
  %c1_2 = arith.constant 1 : index
  tile.skip %channel by %c1_2 : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  %convert = tile.convert %h {through = #shared2} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
}
