// RUN: irc-opt %s -p lower-to-cuda --split-input-file | filecheck %s

// 16-byte loads under a bounds check; pairs packed across rows on their way to swizzled shared memory; 8-byte stores.
// CHECK-LABEL:      cuda.kernel @transpose(%x: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>) grid [4, 1, 1] block 256 operands
// CHECK:        scf.if
// CHECK-NEXT:     cuda.load %x[{{.*}}] -> %a[{{.*}}] {count = 8 : i64, cache = "read_only"}
// CHECK:        } else {
// CHECK:          cuda.set %a
// CHECK:        %[[SCRATCH:.*]] = cuda.scratch {bytes = 8192 : i64}
// CHECK:        cuda.shared_access "write" [%[[SCRATCH]]] {bytes = 8192 : i64}
// CHECK:        arith.xori
// CHECK:        cuda.shared_store {{.*}} {count = 2 : i64}
// CHECK:        cuda.shared_access "read" [%[[SCRATCH]]] {bytes = 8192 : i64}
// CHECK:        cuda.shared_load {{.*}} {count = 4 : i64}
// CHECK-NOT:    cuda.s{{ync|hared_access}}
// CHECK:        cuda.store {{.*}} {count = 4 : i64}
// CHECK:        cuda.return

#frag = #tile.fragment<((8,32),(8,2)):((8,128),(1,64))>
#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,6)>
#frag1 = #tile.fragment<((16,16),(4,4)):((256,1),(64,16))>
tile.program @transpose(%x: !tile.view<100x72xbf16>, %y: !tile.view<72x100xbf16>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, grid = 4 : i64} {
  %block = cuda.block_id
  %c1 = arith.constant 1 : index
  %andi = arith.andi %block, %c1 : index
  %shrui = arith.shrui %block, %c1 : index
  %c6 = arith.constant 6 : index
  %i = arith.shli %shrui, %c6 : index
  %j = arith.shli %andi, %c6 : index
  %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0, 1>} : !tile.view<100x72xbf16> -> tensor<64x64xbf16, #frag>
  %b = tile.map %a : tensor<64x64xbf16, #frag> -> tensor<64x64xbf16, #frag> {
  ^bb0(%a_1: bf16):
    %extf = arith.extf %a_1 : bf16 to f32
    %exp = math.exp %extf : f32
    %truncf = arith.truncf %exp : f32 to bf16
    tile.yield %truncf : bf16
  }
  %convert = tile.convert %b {through = #shared} : tensor<64x64xbf16, #frag> -> tensor<64x64xbf16, #frag1>
  tile.store %convert, %y[%i, %j] {checked = array<i64: 0, 1>} : tensor<64x64xbf16, #frag1>, !tile.view<72x100xbf16>
}

// -----

// Butterflies in a warp, then shared memory between warps; the second reduction has its own place there, so that it need
// not wait for the readers of the first.
// CHECK-LABEL:        cuda.kernel @softmax
// CHECK-SAME:   block 256
// CHECK:          cuda.shuffle "xor"
// CHECK:          %[[FIRST:.*]] = cuda.scratch {bytes = 32 : i64, rotates}
// CHECK:          cuda.shared_access "write" [%[[FIRST]]] {bytes = 32 : i64}
// CHECK:          cuda.shared_store
// CHECK-NEXT:   }
// CHECK-NEXT:   cuda.shared_access "read" [%[[FIRST]]] {bytes = 32 : i64}
// CHECK:          cuda.shared_load
// CHECK:          math.exp
// CHECK:          %[[SECOND:.*]] = cuda.scratch {bytes = 32 : i64, rotates}
// CHECK:          cuda.shared_access "write" [%[[SECOND]]] {bytes = 32 : i64}
// CHECK:          cuda.shared_store
// CHECK-NEXT:   }
// CHECK-NEXT:   cuda.shared_access "read" [%[[SECOND]]] {bytes = 32 : i64}
// CHECK-NOT:    cuda.s{{ync|hared_access}}
// CHECK:        cuda.return

#frag = #tile.fragment<((256),(4)):((4),(1))>
#frag1 = #tile.fragment<((256),()):((0),())>
tile.program @softmax(%x: !tile.view<100x1000xf32>, %y: !tile.view<100x1000xf32>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, grid = 100 : i64} {
  %block = cuda.block_id
  %c0 = arith.constant 0 : index
  %lo = arith.constant 0xff800000 : f32
  %a = tile.load %x[%block, %c0] other %lo : f32 {checked = array<i64: 1>} : !tile.view<100x1000xf32> -> tensor<1x1024xf32, #frag>
  %m = tile.reduce %a {axes = array<i64: 1>} : tensor<1x1024xf32, #frag> -> tensor<1x1xf32, #frag1> {
  ^bb0(%x_1: f32, %y_1: f32):
    %maximumf = arith.maximumf %x_1, %y_1 : f32
    tile.yield %maximumf : f32
  }
  %e = tile.map %a, %m : tensor<1x1024xf32, #frag>, tensor<1x1xf32, #frag1> -> tensor<1x1024xf32, #frag> {
  ^bb0(%a_1: f32, %b: f32):
    %subf = arith.subf %a_1, %b : f32
    %exp = math.exp %subf : f32
    tile.yield %exp : f32
  }
  %s = tile.reduce %e {axes = array<i64: 1>} : tensor<1x1024xf32, #frag> -> tensor<1x1xf32, #frag1> {
  ^bb0(%x_2: f32, %y_2: f32):
    %addf = arith.addf %x_2, %y_2 : f32
    tile.yield %addf : f32
  }
  %r = tile.map %e, %s : tensor<1x1024xf32, #frag>, tensor<1x1xf32, #frag1> -> tensor<1x1024xf32, #frag> {
  ^bb0(%a_2: f32, %b_1: f32):
    %divf = arith.divf %a_2, %b_1 : f32
    tile.yield %divf : f32
  }
  tile.store %r, %y[%block, %c0] {checked = array<i64: 1>} : tensor<1x1024xf32, #frag>, !tile.view<100x1000xf32>
}

// -----

// One thread issues TMA, warp groups multiply; the operands that only TMA reads have no pointer.
// CHECK-LABEL:         cuda.kernel @gating(%b1: !cuda.ptr<bf16>, %b2: !cuda.ptr<bf16>, %y: !cuda.ptr<bf16>, {{.*}}box [128, 64], swizzle 128>
// CHECK:         %channel = cuda.channel %thread {stages = 4 : i64, full = 196608 : i64, arrivals = 1 : i64, empty = 196640 : i64, releases = 2 : i64, align = 1024 : i64}
// CHECK:         cuda.sync {reason = "barriers of channels are set up"}
// CHECK:         cuda.set_registers {count = 40 : i64, grow = false}
// CHECK:         %fill = cuda.channel_end %channel {fills}
// CHECK:         %[[STAGE:.*]] = cuda.channel_acquire %fill
// CHECK:         %[[BARRIER:.*]] = cuda.channel_barrier %fill [%[[STAGE]]]
// CHECK-NEXT:    cuda.barrier_expect %[[BARRIER]] {bytes = 49152 : i64}
// CHECK:         cuda.tma_load
// CHECK:         cuda.set_registers {count = 232 : i64, grow = true}
// CHECK:         %drain = cuda.channel_end %channel {first}
// CHECK:         cuda.channel_wait %drain
// CHECK:         %[[A:.*]] = cuda.matrix %{{.*}} from [%{{.*}}, %{{.*}}] : !cuda.matrix<bf16, #shared>
// CHECK-NEXT:    %[[B:.*]] = cuda.matrix %{{.*}} from [%{{.*}}, %{{.*}}] : !cuda.matrix<bf16, #shared1>
// CHECK-NEXT:    cuda.dot %{{.*}}, %[[A]], %[[B]] by %{{.*}} {shape = array<i64: 128, 256, 64>, instruction = "wgmma", warps = array<i64: 8, 1>} :
// CHECK:         scf.if
// CHECK-NEXT:      cuda.wgmma_wait {pending = 1 : i64}
// CHECK:         else
// CHECK-NEXT:      cuda.wgmma_wait
// CHECK:         cuda.channel_release %drain
// CHECK:         cuda.wgmma_wait
// CHECK:         cuda.scratch {{.*}}barrier = 2 : i64}
// CHECK:         cuda.shared_access "read" [{{.*}}barrier = 2 : i64, threads = 256 : i64}
// CHECK:         cuda.store {{.*}} {count = 8 : i64}

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2,2,8)):((256,1,16,64),(128,8,1024))>
#frag2 = #tile.fragment<((4,8,4,2),(2,8)):((2,0,0,0),(1,8))>
#frag3 = #tile.fragment<((8,4,8),(8,4)):((1024,1,16),(128,4))>
tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, threads = 256 : i64, shared = 197632 : i64, grid = 16 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64, offset = 0 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    %block = cuda.block_id
    %c5 = arith.constant 5 : index
    %shrui = arith.shrui %block, %c5 : index
    %shli = arith.shli %shrui, %c5 : index
    %subi = arith.subi %block, %shli : index
    %c3 = arith.constant 3 : index
    %shli_1 = arith.shli %shrui, %c3 : index
    %c4 = arith.constant 4 : index
    %subi_1 = arith.subi %c4, %shli_1 : index
    %c8 = arith.constant 8 : index
    %minsi = arith.minsi %subi_1, %c8 : index
    %shli_2 = arith.shli %shrui, %c3 : index
    %remui = arith.remui %subi, %minsi : index
    %addi = arith.addi %shli_2, %remui : index
    %divui = arith.divui %subi, %minsi : index
    %c7 = arith.constant 7 : index
    %m = arith.shli %addi, %c7 : index
    %n = arith.shli %divui, %c7 : index
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    scf.for %k = %c0 to %cK step %ck {
      %slot, %a, %buffer = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
      %part = tile.subview %buffer {at = array<i64: 0, 0>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
      tile.copy %w1[%k, %n] -> %part {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
      %part_1 = tile.subview %buffer {at = array<i64: 0, 128>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
      tile.copy %w2[%k, %n] -> %part_1 {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
      tile.commit %slot
    }
  } @compute warps 8 registers 232 {
    %block_1 = cuda.block_id
    %c5_1 = arith.constant 5 : index
    %shrui_1 = arith.shrui %block_1, %c5_1 : index
    %shli_3 = arith.shli %shrui_1, %c5_1 : index
    %subi_2 = arith.subi %block_1, %shli_3 : index
    %c3_1 = arith.constant 3 : index
    %shli_4 = arith.shli %shrui_1, %c3_1 : index
    %c4_1 = arith.constant 4 : index
    %subi_3 = arith.subi %c4_1, %shli_4 : index
    %c8_1 = arith.constant 8 : index
    %minsi_1 = arith.minsi %subi_3, %c8_1 : index
    %shli_5 = arith.shli %shrui_1, %c3_1 : index
    %remui_1 = arith.remui %subi_2, %minsi_1 : index
    %addi_1 = arith.addi %shli_5, %remui_1 : index
    %divui_1 = arith.divui %subi_2, %minsi_1 : index
    %c7_1 = arith.constant 7 : index
    %m_1 = arith.shli %addi_1, %c7_1 : index
    %n_1 = arith.shli %divui_1, %c7_1 : index
    %c0_1 = arith.constant 0 : index
    %ck_1 = arith.constant 64 : index
    %cK_1 = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x256xf32, #frag>
    %none = tile.no_slot
    %as_pending = tile.as_pending %init : tensor<128x256xf32, #frag> -> !tile.pending<tensor<128x256xf32, #frag>>
    %as_pending_1, %none_1 = scf.for %k_1 = %c0_1 to %cK_1 step %ck_1 iter_args(%as_pending_2 = %as_pending, %previous = %none) -> (!tile.pending<tensor<128x256xf32, #frag>>, !tile.slot<drain>) {
      %slot_1, %a_1, %buffer_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
      %sum = tile.dot %a_1, %buffer_1, %as_pending_2 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>, !tile.pending<tensor<128x256xf32, #frag>> -> !tile.pending<tensor<128x256xf32, #frag>>
      tile.await %as_pending_2 : !tile.pending<tensor<128x256xf32, #frag>>
      tile.release %previous
      scf.yield %sum, %slot_1 : !tile.pending<tensor<128x256xf32, #frag>>, !tile.slot<drain>
    }
    %dot_wait = tile.dot_wait %as_pending_1 : !tile.pending<tensor<128x256xf32, #frag>> -> tensor<128x256xf32, #frag>
    tile.release %none_1
    %c0_2 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    scf.for %column = %c0_2 to %c128 step %c64 {
      %c0_3 = arith.constant 0 : index
      %part_2 = tile.slice %dot_wait[%c0_3, %column] {at = array<i64: 0, 0>} : tensor<128x256xf32, #frag> -> tensor<128x64xf32, #frag1>
      %c0_4 = arith.constant 0 : index
      %part_3 = tile.slice %dot_wait[%c0_4, %column] {at = array<i64: 0, 128>} : tensor<128x256xf32, #frag> -> tensor<128x64xf32, #frag1>
      %addi_2 = arith.addi %n_1, %column : index
      %u = tile.load %b1[%c0_1, %addi_2] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x64xbf16, #frag2>
      %addi_3 = arith.addi %n_1, %column : index
      %v = tile.load %b2[%c0_1, %addi_3] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x64xbf16, #frag2>
      %o = tile.map %part_2, %part_3, %u, %v : tensor<128x64xf32, #frag1>, tensor<128x64xf32, #frag1>, tensor<1x64xbf16, #frag2>, tensor<1x64xbf16, #frag2> -> tensor<128x64xbf16, #frag1> {
      ^bb0(%a_2: f32, %b: f32, %c: bf16, %d: bf16):
        %one = arith.constant 1.000000e+00 : f32
        %extf = arith.extf %c : bf16 to f32
        %extf_1 = arith.extf %d : bf16 to f32
        %addf = arith.addf %a_2, %extf : f32
        %addf_1 = arith.addf %b, %extf_1 : f32
        %negf = arith.negf %addf : f32
        %exp = math.exp %negf : f32
        %addf_2 = arith.addf %one, %exp : f32
        %divf = arith.divf %addf_1, %addf_2 : f32
        %truncf = arith.truncf %divf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi_4 = arith.addi %n_1, %column : index
      %convert = tile.convert %o {through = #shared} : tensor<128x64xbf16, #frag1> -> tensor<128x64xbf16, #frag3>
      tile.store %convert, %y[%m_1, %addi_4] : tensor<128x64xbf16, #frag3>, !tile.view<512x512xbf16>
    } {unroll}
  }
}

// -----

// An index from memory is clamped in its own type, then cast: indices may have fewer bits.
// CHECK-LABEL:      cuda.kernel @load_index(%e: !cuda.ptr<i64>, %y: !cuda.ptr<i32>)
// CHECK:        cuda.load %e[{{.*}}] -> %[[R:.*]][{{.*}}] {cache = "read_only"} : !cuda.ptr<i64>
// CHECK:        %[[V:.*]] = cuda.get %[[R]]
// CHECK-NEXT:   %[[LOW:.*]] = arith.maxsi %[[V]], %{{.*}} : i64
// CHECK-NEXT:   %[[IN:.*]] = arith.minsi %[[LOW]], %{{.*}} : i64
// CHECK-NEXT:   arith.index_cast %[[IN]] : i64 to index
#one = #tile.fragment<((32),(1)):((0),(0))>
tile.program @load_index(%e: !tile.view<8xi64>, %y: !tile.view<64xi32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, grid = 8 : i64} {
  %i = cuda.block_id
  %j = tile.load_index %e[%i] {most = 63 : i64} : !tile.view<8xi64>
  %one = arith.constant 1 : i32
  %a = tile.splat %one : i32 -> tensor<1xi32, #one>
  tile.store %a, %y[%j] : tensor<1xi32, #one>, !tile.view<64xi32>
}

// -----

// The walk to a tile's segment begins where the one before came to: its state is before the loop over tiles. Back first,
// while the tile lies before, then forth.
// CHECK-LABEL:      cuda.kernel @find_segment(%e: !cuda.ptr<i32>, %y: !cuda.ptr<i32>)
// CHECK-COUNT-3:    cuda.registers
// CHECK:            scf.for
// CHECK:              scf.while
// CHECK-NEXT:           %[[BEFORE:.*]] = arith.cmpi slt
// CHECK-NEXT:           scf.condition(%[[BEFORE]])
// CHECK:                arith.subi
// CHECK:              scf.while
// CHECK:                %[[BEYOND:.*]] = arith.cmpi sge
// CHECK:                %[[HAS_MORE:.*]] = arith.cmpi slt
// CHECK-NEXT:           %[[BEHIND:.*]] = arith.andi %[[BEYOND]], %[[HAS_MORE]] : i1
// CHECK-NEXT:           scf.condition(%[[BEHIND]])
// CHECK-COUNT-3:      cuda.set
#one = #tile.fragment<((32),(1)):((0),(0))>
tile.program @find_segment(%e: !tile.view<8xi32>, %y: !tile.view<64xi32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, grid = 2 : i64} {
  %i = cuda.block_id
  %count = arith.constant 12 : index
  %step = arith.constant 2 : index
  scf.for %tile = %i to %count step %step {
    %segment, %first, %end = tile.find_segment %e[%tile] {rows = 16 : i64, most = 63 : i64} : !tile.view<8xi32>
    %one = arith.constant 1 : i32
    %a = tile.splat %one : i32 -> tensor<1xi32, #one>
    tile.store %a, %y[%end] : tensor<1xi32, #one>, !tile.view<64xi32>
  }
}
