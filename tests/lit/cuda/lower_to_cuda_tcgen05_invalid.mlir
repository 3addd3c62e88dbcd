// RUN: irc-opt %s --arch sm_100a -p lower-to-cuda --split-input-file --verify-diagnostics

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag = #tile.fragment<((128),(32)):((1),(128))>
tile.program @product(%x: !tile.view<128x128xbf16>, %w: !tile.view<128x32xbf16>, %y: !tile.view<128x32xf32>) {results = 1 : i64, threads = 128 : i64, shared = 164880 : i64, grid = 1 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 64}, stages = 8, warps = 4, schedule = "grid", instruction = "tcgen05">} {
  %channel = tile.channel {stages = 8 : i64, offset = 0 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    %m = arith.constant 0 : index
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    scf.for %k = %c0 to %cK step %ck {
      %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<128x128xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.copy %w[%k, %m] -> %b {via = "tma"} : !tile.view<128x32xbf16> -> !tile.buffer<64x32xbf16, #shared1>
      tile.commit %slot
    }
  } @compute warps 4 registers 240 {
    %sums = tile.accumulator {offset = 164864 : i64} : !tile.accumulator<tensor<128x32xf32, #frag>>
    %m = arith.constant 0 : index
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    %zero = arith.constant 1.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x32xf32, #frag>
    // expected-error @below {{sums in Tensor Memory begin with zero}}
    %begun = tile.as_pending %init in %sums : tensor<128x32xf32, #frag>, !tile.accumulator<tensor<128x32xf32, #frag>> -> !tile.pending<tensor<128x32xf32, #frag>>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %begun) -> (!tile.pending<tensor<128x32xf32, #frag>>) {
      %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
      %sum = tile.dot %a, %b, %before {instruction = "tcgen05"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, !tile.pending<tensor<128x32xf32, #frag>> -> !tile.pending<tensor<128x32xf32, #frag>>
      tile.release %slot after %sum : !tile.pending<tensor<128x32xf32, #frag>>
      scf.yield %sum : !tile.pending<tensor<128x32xf32, #frag>>
    }
    %found = tile.dot_wait %acc : !tile.pending<tensor<128x32xf32, #frag>> -> tensor<128x32xf32, #frag>
    tile.store %found, %y[%m, %m] : tensor<128x32xf32, #frag>, !tile.view<128x32xf32>
  }
}

// -----

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag = #tile.fragment<((128),(32)):((1),(128))>
#all = #tile.fragment<((128),(256)):((1),(128))>
tile.program @product(%x: !tile.view<128x128xbf16>, %w: !tile.view<128x32xbf16>, %y: !tile.view<128x32xf32>) {results = 1 : i64, threads = 128 : i64, shared = 164880 : i64, grid = 1 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 64}, stages = 8, warps = 4, schedule = "grid", instruction = "tcgen05">} {
  %channel = tile.channel {stages = 8 : i64, offset = 0 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    %m = arith.constant 0 : index
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    scf.for %k = %c0 to %cK step %ck {
      %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<128x128xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.copy %w[%k, %m] -> %b {via = "tma"} : !tile.view<128x32xbf16> -> !tile.buffer<64x32xbf16, #shared1>
      tile.commit %slot
    }
  } @compute warps 4 registers 240 {
    // expected-error @below {{sums need 1024 columns of Tensor Memory, a block has 512}}
    %sums = tile.accumulator {offset = 164864 : i64} : !tile.accumulator<tensor<128x32xf32, #frag>>
    %more = tile.accumulator {offset = 164880 : i64} : !tile.accumulator<tensor<128x256xf32, #all>>
    %most = tile.accumulator {offset = 164896 : i64} : !tile.accumulator<tensor<128x256xf32, #all>>
    %m = arith.constant 0 : index
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x32xf32, #frag>
    %begun = tile.as_pending %init in %sums : tensor<128x32xf32, #frag>, !tile.accumulator<tensor<128x32xf32, #frag>> -> !tile.pending<tensor<128x32xf32, #frag>>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %begun) -> (!tile.pending<tensor<128x32xf32, #frag>>) {
      %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
      %sum = tile.dot %a, %b, %before {instruction = "tcgen05"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, !tile.pending<tensor<128x32xf32, #frag>> -> !tile.pending<tensor<128x32xf32, #frag>>
      tile.release %slot after %sum : !tile.pending<tensor<128x32xf32, #frag>>
      scf.yield %sum : !tile.pending<tensor<128x32xf32, #frag>>
    }
    %found = tile.dot_wait %acc : !tile.pending<tensor<128x32xf32, #frag>> -> tensor<128x32xf32, #frag>
    tile.store %found, %y[%m, %m] : tensor<128x32xf32, #frag>, !tile.view<128x32xf32>
  }
}
