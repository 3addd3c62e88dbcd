// The types, attributes and ops of tile, printed as they are written; also from the generic form.
// RUN: irc-opt %s | irc-opt | filecheck %s
// RUN: irc-opt %s --print-op-generic | irc-opt | filecheck %s

// Layouts are printed as aliases; strides and alignment only when they are not the default.
// CHECK-DAG:  #frag = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
// CHECK-DAG:  #shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
// CHECK-DAG:  #shared1 = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
// CHECK:      tile.program @elementwise(%x: !tile.view<64x128xf32>, %b: !tile.view<128xbf16, strides [2], align 4>, %y: !tile.view<64x128xbf16>) {results = 1 : i64} {
// CHECK-NEXT:   tile.for_tiles (%i, %j) extents [64, 128] steps [32, 128] {
// CHECK-NEXT:     %other = arith.constant
// CHECK-NEXT:     %a = tile.load %x[%i, %j] : !tile.view<64x128xf32> -> tensor<32x128xf32>
// CHECK-NEXT:     %c = tile.load %b[%i, %j] other %other : bf16 {map = affine_map<(d0, d1) -> (d1)>, checked = array<i64: 0>} : !tile.view<128xbf16, strides [2], align 4> -> tensor<1x128xbf16>
// CHECK-NEXT:     %r = tile.map %a, %c : tensor<32x128xf32>, tensor<1x128xbf16> -> tensor<32x128xbf16> {
// CHECK-NEXT:     ^bb0(%s: f32, %t: bf16):
// CHECK:            tile.yield %w : bf16
// CHECK:          tile.store %r, %y[%i, %j] {checked = array<i64: 0>} : tensor<32x128xbf16>, !tile.view<64x128xbf16>
tile.program @elementwise(%x: !tile.view<64x128xf32, strides [128, 1], align 16>, %b: !tile.view<128xbf16, strides [2], align 4>, %y: !tile.view<64x128xbf16>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 128] steps [32, 128] {
    %other = arith.constant 0.0 : bf16
    %a = tile.load %x[%i, %j] : !tile.view<64x128xf32> -> tensor<32x128xf32>
    %c = tile.load %b[%i, %j] other %other : bf16 {map = affine_map<(d0, d1) -> (d1)>, checked = array<i64: 0>} : !tile.view<128xbf16, strides [2], align 4> -> tensor<1x128xbf16>
    %r = tile.map %a, %c : tensor<32x128xf32>, tensor<1x128xbf16> -> tensor<32x128xbf16> {
    ^bb0(%s: f32, %t: bf16):
      %u = arith.extf %t : bf16 to f32
      %v = arith.addf %s, %u : f32
      %w = arith.truncf %v : f32 to bf16
      tile.yield %w : bf16
    }
    tile.store %r, %y[%i, %j] {checked = array<i64: 0>} : tensor<32x128xbf16>, !tile.view<64x128xbf16>
  }
}

// What is behind an end is not stored.
// CHECK-LABEL: tile.program @ended
// CHECK:         tile.store %a, %y[%i, %j] end %j {checked = array<i64: 0>, end_dim = 1 : i64} : tensor<32x128xf32>, !tile.view<64x128xf32>
tile.program @ended(%x: !tile.view<64x128xf32>, %y: !tile.view<64x128xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 128] steps [32, 128] {
    %a = tile.load %x[%i, %j] : !tile.view<64x128xf32> -> tensor<32x128xf32>
    tile.store %a, %y[%i, %j] end %j {checked = array<i64: 0>, end_dim = 1 : i64} : tensor<32x128xf32>, !tile.view<64x128xf32>
  }
}

// CHECK-LABEL: tile.program @indexed
// CHECK:         tile.load %x[%i, %j] symbols(%rows, %i : tensor<32x1xindex>, index) {map = affine_map<(d0, d1)[s0, s1] -> ((s0 + s1), d1)>, checked = array<i64: 0>}
// CHECK:         %m, %n = tile.reduce %a, %p {axes = array<i64: 1>, neutral = [0.000000e+00 : f32, 0 : i64]} : tensor<32x64xf32>, tensor<32x64xi64> -> tensor<32x1xf32>, tensor<32x1xi64> {
// CHECK:         tile.scan %a {axis = 1 : i64} : tensor<32x64xf32> -> tensor<32x64xf32> {
// CHECK:         tile.slice %a {at = array<i64: 0, 32>} : tensor<32x64xf32> -> tensor<32x32xf32>
// CHECK:         tile.slice %a[%zero, %j] {at = array<i64: 0, 0>} : tensor<32x64xf32> -> tensor<32x16xf32>
// CHECK:         tile.concat %h, %h {axis = 0 : i64} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<64x32xf32>
// CHECK:         tile.permute %a {dims = array<i64: 1, 0>} : tensor<32x64xf32> -> tensor<64x32xf32>
// CHECK:         tile.reshape %a : tensor<32x64xf32> -> tensor<2048xf32>
tile.program @indexed(%x: !tile.view<64x64xf32>) {results = 0 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 64] schedule "persistent" group 8 {
    %zero = arith.constant 0 : index
    %rows = tile.iota %i {axis = 0 : i64} : tensor<32x1xindex>
    %a = tile.load %x[%i, %j] symbols(%rows, %i : tensor<32x1xindex>, index) {map = affine_map<(d0, d1)[s0, s1] -> (s0 + s1, d1)>, checked = array<i64: 0>} : !tile.view<64x64xf32> -> tensor<32x64xf32>
    %number = arith.constant 0 : i64
    %p = tile.splat %number : i64 -> tensor<32x64xi64>
    %m, %n = tile.reduce %a, %p {axes = array<i64: 1>, neutral = [0.0 : f32, 0 : i64]} : tensor<32x64xf32>, tensor<32x64xi64> -> tensor<32x1xf32>, tensor<32x1xi64> {
    ^bb0(%s: f32, %t: i64, %u: f32, %v: i64):
      %q = arith.addf %s, %u : f32
      tile.yield %q, %v : f32, i64
    }
    %c = tile.scan %a {axis = 1 : i64} : tensor<32x64xf32> -> tensor<32x64xf32> {
    ^bb0(%s: f32, %u: f32):
      %q = arith.addf %s, %u : f32
      tile.yield %q : f32
    }
    %h = tile.slice %a {at = array<i64: 0, 32>} : tensor<32x64xf32> -> tensor<32x32xf32>
    %k = tile.slice %a[%zero, %j] {at = array<i64: 0, 0>} : tensor<32x64xf32> -> tensor<32x16xf32>
    %l = tile.concat %h, %h {axis = 0 : i64} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<64x32xf32>
    %o = tile.permute %a {dims = array<i64: 1, 0>} : tensor<32x64xf32> -> tensor<64x32xf32>
    %r = tile.reshape %a : tensor<32x64xf32> -> tensor<2048xf32>
  }
}

// CHECK-LABEL: tile.program @product
// CHECK:         tile.alloc {offset = 128 : i64} : !tile.buffer<128x64xbf16, #shared>
// CHECK:         tile.channel {stages = 4 : i64, cluster = array<i64: 2, 1>} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
// CHECK:         tile.partitions @load warps 1 registers 40 {
// CHECK:           %s, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
// CHECK:           tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x128xbf16> -> !tile.buffer<128x64xbf16, #shared>
// CHECK:           tile.subview %b {at = array<i64: 0, 128>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16>
// CHECK:           tile.copy %w[%k, %n] -> %q {via = "tma", multicast = 1 : i64}
// CHECK:           tile.commit %s
// CHECK:         } @compute warps 8 registers 232 {
// CHECK:           tile.no_slot
// CHECK:           tile.as_pending %{{.*}} : tensor<128x256xf32> -> !tile.pending<tensor<128x256xf32>>
// CHECK:           scf.for {{.*}} -> (!tile.pending<tensor<128x256xf32>>, !tile.slot<drain>)
// CHECK:             tile.wait %channel
// CHECK:             tile.dot %{{.*}}, %{{.*}}, %{{.*}} {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>, !tile.pending<tensor<128x256xf32>> -> !tile.pending<tensor<128x256xf32>>
// CHECK:             tile.await %{{.*}} : !tile.pending<tensor<128x256xf32>>
// CHECK:             tile.release %previous
// CHECK:           tile.dot_wait
// CHECK:           tile.release
// CHECK:           tile.convert %{{.*}} {through = #shared2} : tensor<128x128xf32> -> tensor<128x128xf32, #frag>
// CHECK:           tile.read %buffer : !tile.buffer<128x64xbf16, #shared> -> tensor<128x64xbf16>
// CHECK:           tile.write %{{.*}}, %buffer : tensor<128x64xbf16>, !tile.buffer<128x64xbf16, #shared>
tile.program @product(%x: !tile.view<256x128xbf16>, %w: !tile.view<128x256xbf16>, %y: !tile.view<256x256xf32>) {results = 1 : i64} {
  %buffer = tile.alloc {offset = 128 : i64} : !tile.buffer<128x64xbf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>
  %channel = tile.channel {stages = 4 : i64, cluster = array<i64: 2, 1>} : !tile.channel<!tile.buffer<128x64xbf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>, !tile.buffer<64x256xbf16, #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>>>
  tile.partitions @load warps 1 registers 40 {
    tile.for_tiles (%m, %n) extents [256, 256] steps [128, 256] {
      %k = arith.constant 0 : index
      %s, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>, !tile.buffer<64x256xbf16, #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>>>
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x128xbf16> -> !tile.buffer<128x64xbf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>
      %q = tile.subview %b {at = array<i64: 0, 128>} : !tile.buffer<64x256xbf16, #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>> -> !tile.buffer<64x128xbf16>
      tile.copy %w[%k, %n] -> %q {via = "tma", multicast = 1 : i64} : !tile.view<128x256xbf16> -> !tile.buffer<64x128xbf16>
      tile.commit %s
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%m, %n) extents [256, 256] steps [128, 256] {
      %zero = arith.constant 0.0 : f32
      %z = tile.splat %zero : f32 -> tensor<128x256xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %none = tile.no_slot
      %p = tile.as_pending %z : tensor<128x256xf32> -> !tile.pending<tensor<128x256xf32>>
      %d, %last = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %p, %previous = %none) -> (!tile.pending<tensor<128x256xf32>>, !tile.slot<drain>) {
        %s, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>, !tile.buffer<64x256xbf16, #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>>>
        %next = tile.dot %a, %b, %acc {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>, !tile.buffer<64x256xbf16, #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>>, !tile.pending<tensor<128x256xf32>> -> !tile.pending<tensor<128x256xf32>>
        tile.await %acc : !tile.pending<tensor<128x256xf32>>
        tile.release %previous
        scf.yield %next, %s : !tile.pending<tensor<128x256xf32>>, !tile.slot<drain>
      }
      %e = tile.dot_wait %d : !tile.pending<tensor<128x256xf32>> -> tensor<128x256xf32>
      tile.release %last
      %h = tile.slice %e {at = array<i64: 0, 0>} : tensor<128x256xf32> -> tensor<128x128xf32>
      %f = tile.convert %h {through = #tile.shared<(128,128):(128,1)>} : tensor<128x128xf32> -> tensor<128x128xf32, #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>>
      %r = tile.read %buffer : !tile.buffer<128x64xbf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>> -> tensor<128x64xbf16>
      tile.write %r, %buffer : tensor<128x64xbf16>, !tile.buffer<128x64xbf16, #tile.shared<(128,64):(64,1) swizzle(3,3,3)>>
    }
  }
}

// -----

// Turns: the tile of another turn, and a number of stages that are skipped.
// CHECK-LABEL: @turns
// CHECK:         tile.for_tiles (%i) extents [64] steps [32] schedule "persistent" turn [1, 2] {
// CHECK-NEXT:      [[AT:%[0-9a-z]+]] = tile.turn_offsets {turn = 0 : i64} : index
// CHECK-NEXT:      tile.skip %channel by [[AT]] : !tile.channel
tile.program @turns(%y: !tile.view<64xf32>) {results = 1 : i64} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.for_tiles (%i) extents [64] steps [32] schedule "persistent" turn [1, 2] {
    %at = tile.turn_offsets {turn = 0 : i64} : index
    tile.skip %channel by %at : !tile.channel<!tile.buffer<4xf32>>
  }
}

// -----

// Tickets: taken from a counter that the program adds to, left in a stage, read by another partition.
// CHECK-LABEL: @tickets
// CHECK:           %ticket = tile.take_ticket %counter -> %word : !tile.view<1xi32> -> !tile.buffer<1xi32>
// CHECK-NEXT:      tile.commit %slot
// CHECK-NEXT:      tile.next_tile %ticket
// CHECK:           %ticket_1 = tile.read_ticket %word_1 : !tile.buffer<1xi32>
// CHECK-NEXT:      tile.release %slot_1
// CHECK-NEXT:      tile.next_tile %ticket_1
tile.program @tickets(%y: !tile.view<64xf32>, %counter: !tile.view<1xi32>) {results = 2 : i64, sums = array<i64: 1>} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<1xi32>>
  tile.partitions @load warps 4 {
    tile.for_tiles (%i) extents [64] steps [32] schedule "dynamic" {
      %slot, %word = tile.acquire %channel : !tile.channel<!tile.buffer<1xi32>>
      %ticket = tile.take_ticket %counter -> %word : !tile.view<1xi32> -> !tile.buffer<1xi32>
      tile.commit %slot
      tile.next_tile %ticket
    }
  } @compute warps 4 {
    tile.for_tiles (%i_1) extents [64] steps [32] schedule "dynamic" {
      %slot_1, %word_1 = tile.wait %channel : !tile.channel<!tile.buffer<1xi32>>
      %ticket_1 = tile.read_ticket %word_1 : !tile.buffer<1xi32>
      tile.release %slot_1
      tile.next_tile %ticket_1
    }
  }
}

// -----

// The order of tiles: the last rows first, the columns as they come; batches that follow one another.
// CHECK-LABEL: @order
// CHECK:         tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] schedule "persistent" group 2 reversed [0] {
// CHECK:         tile.for_tiles (%i_1, %j_1) extents [64, 64] steps [32, 32] reversed [] cluster [2, 1] {
// CHECK:         tile.for_tiles (%b, %i_2, %j_2) extents [3, 64, 64] steps [1, 32, 32] group 2 fastest [0] reversed [1] {
tile.program @order(%y: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] schedule "persistent" group 2 reversed [0] {
  }
  tile.for_tiles (%i, %j) extents [64, 64] steps [32, 32] reversed [] cluster [2, 1] {
  }
  tile.for_tiles (%b, %i, %j) extents [3, 64, 64] steps [1, 32, 32] group 2 fastest [0] reversed [1] {
  }
}

// -----

// Warp groups take turns; a token may be carried into the next iteration, which passes it on before it takes it again.
// CHECK-LABEL: @groups
// CHECK:         %order = tile.order
// CHECK-NEXT:    %token = tile.take %order
// CHECK:         scf.for {{.*}} -> (!tile.token) {
// CHECK-NEXT:      tile.pass %held
// CHECK-NEXT:      %next = tile.take %order
// CHECK-NEXT:      scf.yield %next : !tile.token
// CHECK:         tile.pass %last
tile.program @groups(%y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.partitions @compute warps 12 {
    %order = tile.order
    %token = tile.take %order
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %last = scf.for %i = %c0 to %c8 step %c1 iter_args(%held = %token) -> (!tile.token) {
      tile.pass %held
      %next = tile.take %order
      scf.yield %next : !tile.token
    }
    tile.pass %last
  }
}

// CHECK:      tile.program @indices
// CHECK:        %j = tile.load_index %e[%i] {most = 64 : i64} : !tile.view<8xi32>
// CHECK-NEXT:   %l = tile.load_index %e[%i] {most = 64 : i64, least = -64 : i64} : !tile.view<8xi32>
// CHECK-NEXT:   %m = tile.load_index %t[%i, %j] {most = 64 : i64} : !tile.view<8x65xi32>
// CHECK-NEXT:   %segment, %first, %end = tile.find_segment %e[%i] {rows = 16 : i64, most = 64 : i64} : !tile.view<8xi32>
tile.program @indices(%e: !tile.view<8xi32>, %t: !tile.view<8x65xi32>, %y: !tile.view<64xi32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [8] steps [1] {
    %j = tile.load_index %e[%i] {most = 64 : i64} : !tile.view<8xi32>
    %l = tile.load_index %e[%i] {most = 64 : i64, least = -64 : i64} : !tile.view<8xi32>
    %m = tile.load_index %t[%i, %j] {most = 64 : i64} : !tile.view<8x65xi32>
    %segment, %first, %end = tile.find_segment %e[%i] {rows = 16 : i64, most = 64 : i64} : !tile.view<8xi32>
    %one = arith.constant 1 : i32
    %a = tile.splat %one : i32 -> tensor<1xi32>
    tile.store %a, %y[%j] {checked = array<i64: 0>} : tensor<1xi32>, !tile.view<64xi32>
  }
}

// CHECK-LABEL: tile.program @sums_in_tensor_memory
// CHECK:         %sums = tile.accumulator {offset = 64 : i64} : !tile.accumulator<tensor<256x32xf32>>
// CHECK:         tile.as_pending %z in %sums : tensor<256x32xf32>, !tile.accumulator<tensor<256x32xf32>> -> !tile.pending<tensor<256x32xf32>>
tile.program @sums_in_tensor_memory(%y: !tile.view<256x32xf32>) {results = 1 : i64} {
  %sums = tile.accumulator {offset = 64 : i64} : !tile.accumulator<tensor<256x32xf32>>
  %zero = arith.constant 0.0 : f32
  %z = tile.splat %zero : f32 -> tensor<256x32xf32>
  %p = tile.as_pending %z in %sums : tensor<256x32xf32>, !tile.accumulator<tensor<256x32xf32>> -> !tile.pending<tensor<256x32xf32>>
}

// CHECK-LABEL: tile.program @folded
// CHECK:         %b = tile.fold %a {axes = array<i64: 1>} : tensor<1x512xf32, [[X:#frag[0-9]*]]> -> tensor<1x128xf32, [[OWN:#frag[0-9]*]]> {
// CHECK:         tile.unfold %b {axes = array<i64: 1>} : tensor<1x128xf32, [[OWN]]> -> tensor<1x512xf32, [[X]]>
#x = #tile.fragment<((128),(4)):((4),(1))>
#own = #tile.fragment<((128),()):((1),())>
tile.program @folded(%x: !tile.view<1x512xf32>) {results = 0 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<1x512xf32> -> tensor<1x512xf32, #x>
  %b = tile.fold %a {axes = array<i64: 1>} : tensor<1x512xf32, #x> -> tensor<1x128xf32, #own> {
  ^bb0(%s: f32, %t: f32):
    %q = arith.addf %s, %t : f32
    tile.yield %q : f32
  }
  %c = tile.unfold %b {axes = array<i64: 1>} : tensor<1x128xf32, #own> -> tensor<1x512xf32, #x>
}
