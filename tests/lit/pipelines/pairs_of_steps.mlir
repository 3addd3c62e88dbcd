// RUN: irc-opt %s -p pair-steps,schedule-loops,expand-schedule,await-dots --split-input-file | filecheck %s

// Blocks of K with scales: two of them a step. The first product is carried in flight. Each is issued when the other one
// is complete, and runs beside its addition; what is loaded for the first is carried, too.
// CHECK-LABEL: tile.program @blocks(
// CHECK:         @compute
// CHECK:         [[BEGUN:%[a-z0-9_]+]] = tile.dot {{.*}} -> !tile.pending
// CHECK:         scf.for {{.*}} iter_args([[SUMS:%[a-z0-9_]+]] = %none, %previous = [[SLOT:%slot[_0-9]*]], [[P:%[a-z0-9_]+]] = [[BEGUN]], [[SCALE:%[a-z0-9_]+]] = {{%[a-z0-9_]+}})
// CHECK-NEXT:      [[OTHER:%slot[_0-9]*]], {{.*}} = tile.wait
// CHECK-NEXT:      [[FIRST:%[a-z0-9_]+]] = tile.dot_wait [[P]]
// CHECK-NEXT:      tile.release %previous
// CHECK-NEXT:      [[Q:%[a-z0-9_]+]] = tile.dot
// CHECK:           [[ADDED:%[a-z0-9_]+]] = tile.map [[SUMS]], [[FIRST]], [[SCALE]]
// CHECK:           [[AHEAD:%slot[_0-9]*]], {{.*}} = tile.wait
// CHECK-NEXT:      [[SECOND:%[a-z0-9_]+]] = tile.dot_wait [[Q]]
// CHECK-NEXT:      tile.release [[OTHER]]
// CHECK-NEXT:      [[NEXT:%[a-z0-9_]+]] = tile.dot
// CHECK:           [[BOTH:%[a-z0-9_]+]] = tile.map [[ADDED]], [[SECOND]]
// CHECK:           scf.yield [[BOTH]], [[AHEAD]], [[NEXT]]
// CHECK:         tile.dot_wait
// CHECK:         tile.dot
// CHECK:         tile.map
// CHECK:         tile.dot_wait
// CHECK:         tile.map

#shared = #tile.shared<(128,128):(128,1) swizzle(3,4,3)>
#shared1 = #tile.shared<(128,128):(1,128) swizzle(3,4,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
tile.program @blocks(%x: !tile.view<128x1024xf8E4M3FN>, %w: !tile.view<1024x128xf8E4M3FN>, %s: !tile.view<8x128xf32>, %y: !tile.view<128x128xf32>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128}, stages = 4, warps = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64} : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %end = arith.constant 8 : index
      scf.for %g = %c0 to %end step %c1 {
        %k = arith.muli %g, %c128 : index
        %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        tile.copy %x[%i, %k] -> %a {via = "tma"} : !tile.view<128x1024xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared>
        tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<1024x128xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %end = arith.constant 8 : index
      %zero = arith.constant 0.000000e+00 : f32
      %none = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
      %sum = scf.for %g = %c0 to %end step %c1 iter_args(%sums = %none) -> (tensor<128x128xf32, #frag>) {
        %scale = tile.load %s[%i, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
        %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        %p = tile.dot %a, %b, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %slot after %p : tensor<128x128xf32, #frag>
        %next = tile.map %sums, %p, %scale : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
        ^bb0(%u: f32, %v: f32, %t: f32):
          %product = arith.mulf %v, %t : f32
          %added = arith.addf %u, %product : f32
          tile.yield %added : f32
        }
        scf.yield %next : tensor<128x128xf32, #frag>
      }
      tile.store %sum, %y[%i, %c0] : tensor<128x128xf32, #frag>, !tile.view<128x128xf32>
    }
  }
}

// -----

// An odd number of steps.

#shared = #tile.shared<(128,128):(128,1) swizzle(3,4,3)>
#shared1 = #tile.shared<(128,128):(1,128) swizzle(3,4,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
tile.program @odd(%x: !tile.view<128x896xf8E4M3FN>, %w: !tile.view<896x128xf8E4M3FN>, %s: !tile.view<7x128xf32>, %y: !tile.view<128x128xf32>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128}, stages = 4, warps = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64} : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %end = arith.constant 7 : index
      scf.for %g = %c0 to %end step %c1 {
        %k = arith.muli %g, %c128 : index
        %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        tile.copy %x[%i, %k] -> %a {via = "tma"} : !tile.view<128x896xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared>
        tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<896x128xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %end = arith.constant 7 : index
      %zero = arith.constant 0.000000e+00 : f32
      %none = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
      %sum = scf.for %g = %c0 to %end step %c1 iter_args(%sums = %none) -> (tensor<128x128xf32, #frag>) {
        %scale = tile.load %s[%i, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<7x128xf32> -> tensor<128x1xf32, #frag1>
        %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        %p = tile.dot %a, %b, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %slot after %p : tensor<128x128xf32, #frag>
        %next = tile.map %sums, %p, %scale : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
        ^bb0(%u: f32, %v: f32, %t: f32):
          %product = arith.mulf %v, %t : f32
          %added = arith.addf %u, %product : f32
          tile.yield %added : f32
        }
        scf.yield %next : tensor<128x128xf32, #frag>
      }
      tile.store %sum, %y[%i, %c0] : tensor<128x128xf32, #frag>, !tile.view<128x128xf32>
    }
  }
}

// -----

// Three stages: two are held, and one would be filled.

#shared = #tile.shared<(128,128):(128,1) swizzle(3,4,3)>
#shared1 = #tile.shared<(128,128):(1,128) swizzle(3,4,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
tile.program @few(%x: !tile.view<128x1024xf8E4M3FN>, %w: !tile.view<1024x128xf8E4M3FN>, %s: !tile.view<8x128xf32>, %y: !tile.view<128x128xf32>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128}, stages = 3, warps = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 3 : i64} : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %end = arith.constant 8 : index
      scf.for %g = %c0 to %end step %c1 {
        %k = arith.muli %g, %c128 : index
        %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        tile.copy %x[%i, %k] -> %a {via = "tma"} : !tile.view<128x1024xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared>
        tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<1024x128xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %end = arith.constant 8 : index
      %zero = arith.constant 0.000000e+00 : f32
      %none = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
      %sum = scf.for %g = %c0 to %end step %c1 iter_args(%sums = %none) -> (tensor<128x128xf32, #frag>) {
        %scale = tile.load %s[%i, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
        %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        %p = tile.dot %a, %b, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %slot after %p : tensor<128x128xf32, #frag>
        %next = tile.map %sums, %p, %scale : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
        ^bb0(%u: f32, %v: f32, %t: f32):
          %product = arith.mulf %v, %t : f32
          %added = arith.addf %u, %product : f32
          tile.yield %added : f32
        }
        scf.yield %next : tensor<128x128xf32, #frag>
      }
      tile.store %sum, %y[%i, %c0] : tensor<128x128xf32, #frag>, !tile.view<128x128xf32>
    }
  }
}

// -----

// Threads have no registers for the results of two dots of 256 columns.

#shared = #tile.shared<(128,128):(128,1) swizzle(3,4,3)>
#shared1 = #tile.shared<(128,256):(1,128) swizzle(3,4,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
tile.program @wide(%x: !tile.view<128x1024xf8E4M3FN>, %w: !tile.view<1024x256xf8E4M3FN>, %s: !tile.view<8x128xf32>, %y: !tile.view<128x256xf32>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128}, stages = 4, warps = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64} : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x256xf8E4M3FN, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %end = arith.constant 8 : index
      scf.for %g = %c0 to %end step %c1 {
        %k = arith.muli %g, %c128 : index
        %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x256xf8E4M3FN, #shared1>>
        tile.copy %x[%i, %k] -> %a {via = "tma"} : !tile.view<128x1024xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared>
        tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<1024x256xf8E4M3FN> -> !tile.buffer<128x256xf8E4M3FN, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %end = arith.constant 8 : index
      %zero = arith.constant 0.000000e+00 : f32
      %none = tile.splat %zero : f32 -> tensor<128x256xf32, #frag>
      %sum = scf.for %g = %c0 to %end step %c1 iter_args(%sums = %none) -> (tensor<128x256xf32, #frag>) {
        %scale = tile.load %s[%i, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
        %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x256xf8E4M3FN, #shared1>>
        %p = tile.dot %a, %b, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x256xf8E4M3FN, #shared1>, tensor<128x256xf32, #frag> -> tensor<128x256xf32, #frag>
        tile.release %slot after %p : tensor<128x256xf32, #frag>
        %next = tile.map %sums, %p, %scale : tensor<128x256xf32, #frag>, tensor<128x256xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x256xf32, #frag> {
        ^bb0(%u: f32, %v: f32, %t: f32):
          %product = arith.mulf %v, %t : f32
          %added = arith.addf %u, %product : f32
          tile.yield %added : f32
        }
        scf.yield %next : tensor<128x256xf32, #frag>
      }
      tile.store %sum, %y[%i, %c0] : tensor<128x256xf32, #frag>, !tile.view<128x256xf32>
    }
  }
}

// -----

// Dots that go on with the sums stay in flight by themselves.

#shared = #tile.shared<(128,128):(128,1) swizzle(3,4,3)>
#shared1 = #tile.shared<(128,128):(1,128) swizzle(3,4,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
tile.program @sums(%x: !tile.view<128x1024xf8E4M3FN>, %w: !tile.view<1024x128xf8E4M3FN>, %s: !tile.view<8x128xf32>, %y: !tile.view<128x128xf32>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128}, stages = 4, warps = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64} : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %end = arith.constant 8 : index
      scf.for %g = %c0 to %end step %c1 {
        %k = arith.muli %g, %c128 : index
        %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        tile.copy %x[%i, %k] -> %a {via = "tma"} : !tile.view<128x1024xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared>
        tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<1024x128xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %end = arith.constant 8 : index
      %zero = arith.constant 0.000000e+00 : f32
      %none = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
      %sum = scf.for %g = %c0 to %end step %c1 iter_args(%sums = %none) -> (tensor<128x128xf32, #frag>) {
        %scale = tile.load %s[%i, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
        %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        %p = tile.dot %a, %b, %sums {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %slot after %p : tensor<128x128xf32, #frag>
        %next = tile.map %sums, %p, %scale : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
        ^bb0(%u: f32, %v: f32, %t: f32):
          %product = arith.mulf %v, %t : f32
          %added = arith.addf %u, %product : f32
          tile.yield %added : f32
        }
        scf.yield %next : tensor<128x128xf32, #frag>
      }
      tile.store %sum, %y[%i, %c0] : tensor<128x128xf32, #frag>, !tile.view<128x128xf32>
    }
  }
}
