// RUN: irc-opt %s -p schedule-loops --split-input-file --verify-diagnostics

// The sums of a product in flight, 32 registers, and its left operand, 16, are in a thread's registers together: ptxas
// cannot spill them.
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @too_few(%v: !tile.view<256x64xbf16>, %o: !tile.view<128x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "wgmma">} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [64] {
      %c0 = arith.constant 0 : index
      %n = arith.constant 256 : index
      %step = arith.constant 64 : index
      scf.for %j = %c0 to %n step %step {
        %slot, %vt = tile.acquire %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
        tile.copy %v[%j, %c0] -> %vt {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
        tile.commit %slot
      }
    }
  } @compute warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [64] {
      %c0 = arith.constant 0 : index
      %n = arith.constant 256 : index
      %step = arith.constant 64 : index
      %one = arith.constant 1.0 : bf16
      %zero = arith.constant 0.0 : f32
      %w = tile.splat %one : bf16 -> tensor<64x64xbf16, #frag>
      %a0 = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
      %acc = scf.for %j = %c0 to %n step %step iter_args(%a = %a0) -> (tensor<64x64xf32, #frag>) {
        %slot, %vt = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
        // expected-error @below {{tile.dot holds 48 registers in each thread of its partition, which has 40}}
        %next = tile.dot %w, %vt, %a {instruction = "wgmma"} : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        tile.release %slot after %next : tensor<64x64xf32, #frag>
        scf.yield %next : tensor<64x64xf32, #frag>
      }
      tile.store %acc, %o[%i, %c0] : tensor<64x64xf32, #frag>, !tile.view<128x64xf32>
    }
  }
}

// -----

// They just fit.
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @enough(%v: !tile.view<256x64xbf16>, %o: !tile.view<128x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "wgmma">} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [64] {
      %c0 = arith.constant 0 : index
      %n = arith.constant 256 : index
      %step = arith.constant 64 : index
      scf.for %j = %c0 to %n step %step {
        %slot, %vt = tile.acquire %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
        tile.copy %v[%j, %c0] -> %vt {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
        tile.commit %slot
      }
    }
  } @compute warps 4 registers 48 {
    tile.for_tiles (%i) extents [128] steps [64] {
      %c0 = arith.constant 0 : index
      %n = arith.constant 256 : index
      %step = arith.constant 64 : index
      %one = arith.constant 1.0 : bf16
      %zero = arith.constant 0.0 : f32
      %w = tile.splat %one : bf16 -> tensor<64x64xbf16, #frag>
      %a0 = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
      %acc = scf.for %j = %c0 to %n step %step iter_args(%a = %a0) -> (tensor<64x64xf32, #frag>) {
        %slot, %vt = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
        %next = tile.dot %w, %vt, %a {instruction = "wgmma"} : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        tile.release %slot after %next : tensor<64x64xf32, #frag>
        scf.yield %next : tensor<64x64xf32, #frag>
      }
      tile.store %acc, %o[%i, %c0] : tensor<64x64xf32, #frag>, !tile.view<128x64xf32>
    }
  }
}
