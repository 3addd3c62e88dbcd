// RUN: irc-opt %s -p expand-schedule --split-input-file | filecheck %s

// Two operands, each in a channel of its own: each is written to its own stage, before that is committed.
// CHECK-LABEL: @channels
// CHECK:         scf.for %i {{.*}} iter_args([[A:%[a-z0-9_]+]] = {{%[a-z0-9_]+}}, [[B:%[a-z0-9_]+]] =
// CHECK:           [[SA:%[a-z0-9_]+]], [[BA:%[a-z0-9_]+]] = tile.acquire %k
// CHECK-NEXT:      tile.write [[A]], [[BA]]
// CHECK-NEXT:      tile.load %x
// CHECK-NEXT:      tile.commit [[SA]]
// CHECK-NEXT:      [[SB:%[a-z0-9_]+]], [[BB:%[a-z0-9_]+]] = tile.acquire %v
// CHECK-NEXT:      tile.write [[B]], [[BB]]
// CHECK-NEXT:      tile.load %y
// CHECK-NEXT:      tile.commit [[SB]]

#shared = #tile.shared<(128):(1)>
#frag = #tile.fragment<((128),(1)):((1),(128))>
tile.program @channels(%x: !tile.view<1024xf32>, %y: !tile.view<1024xf32>) {results = 0 : i64, threads = 128 : i64} {
  %k = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<128xf32, #shared>>
  %v = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<128xf32, #shared>>
  tile.partitions @load warps 4 {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c1024 = arith.constant 1024 : index
    scf.for %i = %c0 to %c1024 step %c128 {
      %a = tile.load %x[%i] {scheduled = #tile.at<stage = 0, order = 2>} : !tile.view<1024xf32> -> tensor<128xf32, #frag>
      %sa, %ba = tile.acquire %k {scheduled = #tile.at<stage = 1, order = 0>} : !tile.channel<!tile.buffer<128xf32, #shared>>
      tile.write %a, %ba {scheduled = #tile.at<stage = 1, order = 1>} : tensor<128xf32, #frag>, !tile.buffer<128xf32, #shared>
      tile.commit %sa {scheduled = #tile.at<stage = 1, order = 3>}
      %b = tile.load %y[%i] {scheduled = #tile.at<stage = 0, order = 6>} : !tile.view<1024xf32> -> tensor<128xf32, #frag>
      %sb, %bb = tile.acquire %v {scheduled = #tile.at<stage = 1, order = 4>} : !tile.channel<!tile.buffer<128xf32, #shared>>
      tile.write %b, %bb {scheduled = #tile.at<stage = 1, order = 5>} : tensor<128xf32, #frag>, !tile.buffer<128xf32, #shared>
      tile.commit %sb {scheduled = #tile.at<stage = 1, order = 7>}
    } {clamped}
  }
}

// -----

// Bounds that depend on the tile: the loop may not run, and then there is nothing to load before it.
// CHECK-LABEL: @values
// CHECK-NOT:     tile.load
// CHECK:         scf.for
// CHECK-NOT:     iter_args
// CHECK:           tile.load %x

#shared = #tile.shared<(128):(1)>
#frag = #tile.fragment<((128),(1)):((1),(128))>
tile.program @values(%x: !tile.view<1024xf32>, %y: !tile.view<1024xf32>) {results = 0 : i64, threads = 128 : i64} {
  %k = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<128xf32, #shared>, !tile.buffer<128xf32, #shared>>
  tile.partitions @load warps 4 {
    tile.for_tiles (%n) extents [1024] steps [128] {
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      scf.for %i = %c0 to %n step %c128 {
        %a = tile.load %x[%i] : !tile.view<1024xf32> -> tensor<128xf32, #frag>
        %b = tile.load %y[%i] : !tile.view<1024xf32> -> tensor<128xf32, #frag>
        %s, %ba, %bb = tile.acquire %k : !tile.channel<!tile.buffer<128xf32, #shared>, !tile.buffer<128xf32, #shared>>
        tile.write %a, %ba : tensor<128xf32, #frag>, !tile.buffer<128xf32, #shared>
        tile.write %b, %bb : tensor<128xf32, #frag>, !tile.buffer<128xf32, #shared>
        tile.commit %s
      }
    }
  }
}
