// RUN: irc-opt %s -p make-channels --arch sm_80 --split-input-file | filecheck %s

// A stage is filled, then read. The rows of w begin at any element, so that it passes through registers.

// CHECK-LABEL: tile.program @staged
// CHECK:       [[CHANNEL:%[a-z0-9_]+]] = tile.channel {stages = 3 : i64, in_step}
// CHECK-NOT:   tile.partitions
// CHECK-NOT:   tile.alloc
// CHECK:       scf.for %k = {{.*}} iter_args([[ACC:%[a-z0-9_]+]] = {{%[a-z0-9_]+}})
// CHECK-NEXT:    [[FILLED:%[a-z0-9_]+]], [[A:%[a-z0-9_]+]], [[B:%[a-z0-9_]+]] = tile.acquire [[CHANNEL]]
// CHECK-NEXT:    [[W:%[a-z0-9_]+]] = tile.load %w[%k, %c0]
// CHECK-DAG:     tile.copy %x[%c0, %k] -> [[A]] {via = "cp_async"}
// CHECK-DAG:     tile.write [[W]], [[B]]
// CHECK-NEXT:    tile.commit [[FILLED]]
// CHECK-NEXT:    [[SLOT:%[a-z0-9_]+]], [[LHS:%[a-z0-9_]+]], [[RHS:%[a-z0-9_]+]] = tile.wait [[CHANNEL]]
// CHECK-NEXT:    [[SUM:%[a-z0-9_]+]] = tile.dot [[LHS]], [[RHS]], [[ACC]] {instruction = "mma", atom = "m16n8k16"}
// CHECK-NEXT:    tile.release [[SLOT]]
// CHECK-NEXT:    scf.yield [[SUM]]

#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(1,32) swizzle(3,2,4)>
#frag1 = #tile.fragment<((64,2),(16)):((32,1),(2))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @staged(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x63xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 3, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %a = tile.alloc : !tile.buffer<64x32xbf16, #shared>
  %b = tile.alloc : !tile.buffer<32x64xbf16, #shared1>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32, #frag>) {
    %b_1 = tile.load %w[%k, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16, #frag1>
    tile.copy %x[%c0, %k] -> %a {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
    tile.write %b_1, %b : tensor<32x64xbf16, #frag1>, !tile.buffer<32x64xbf16, #shared1>
    %d = tile.dot %a, %b, %c {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    scf.yield %d : tensor<64x64xf32, #frag>
  }
  %convert = tile.convert %h {through = #shared2} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
}

// -----

// One stage asks for no channel: operands are written, then multiplied.

// CHECK-LABEL: tile.program @alone
// CHECK-NOT:   tile.channel
// CHECK:       tile.write
// CHECK:       tile.write
// CHECK-NEXT:  tile.dot

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

// What fills a stage has copies of what it needs: the row is used by the product's map too.

// CHECK-LABEL: tile.program @shared
// CHECK:       scf.for %k
// CHECK:         [[ROW:%[a-z0-9_]+]] = arith.addi %k, %c1
// CHECK-NEXT:    tile.copy %x
// CHECK-NEXT:    tile.copy %w{{.}}[[ROW]], %c0]
// CHECK-NEXT:    tile.commit
// CHECK-NEXT:    tile.wait
// CHECK:         [[OWN:%[a-z0-9_]+]] = arith.addi %k, %c1
// CHECK:         tile.iota [[OWN]]
// CHECK:         tile.release

#frag = #tile.fragment<((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))>
#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(64,1) swizzle(3,3,3)>
#frag1 = #tile.fragment<((4,8,2,2),(2,2)):((0,1,16,0),(8,32))>
#shared2 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,8),(4,8)):((256,1),(64,8))>
tile.program @shared(%x: !tile.view<64x256xbf16>, %w: !tile.view<257x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %a = tile.alloc : !tile.buffer<64x32xbf16, #shared>
  %b = tile.alloc : !tile.buffer<32x64xbf16, #shared1>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32, #frag>) {
    %row = arith.addi %k, %c1 : index
    tile.copy %x[%c0, %k] -> %a {via = "cp_async"} : !tile.view<64x256xbf16> -> !tile.buffer<64x32xbf16, #shared>
    tile.copy %w[%row, %c0] -> %b {via = "cp_async"} : !tile.view<257x64xbf16> -> !tile.buffer<32x64xbf16, #shared1>
    %d = tile.dot %a, %b, %c {instruction = "mma", atom = "m16n8k16"} : !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    %i = tile.iota %row {axis = 0 : i64} : tensor<64x1xindex, #frag1>
    %e = tile.map %d, %i : tensor<64x64xf32, #frag>, tensor<64x1xindex, #frag1> -> tensor<64x64xf32, #frag> {
    ^bb0(%p: f32, %q: index):
      %n = arith.index_cast %q : index to i64
      %f = arith.sitofp %n : i64 to f32
      %g = arith.addf %p, %f : f32
      tile.yield %g : f32
    }
    scf.yield %e : tensor<64x64xf32, #frag>
  }
  %convert = tile.convert %h {through = #shared2} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
}
