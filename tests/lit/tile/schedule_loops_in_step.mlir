// RUN: irc-opt %s --arch sm_80 -p place-operands,assign-layouts,make-channels,schedule-loops --split-input-file | filecheck %s
// RUN: irc-opt %s --arch sm_80 -p place-operands,slice-dots,assign-layouts,make-channels,schedule-loops --split-input-file | filecheck %s --check-prefix=SLICED
// RUN: sed 's/stages = 3/stages = 2/' %s | irc-opt - --arch sm_80 -p place-operands,assign-layouts,make-channels,schedule-loops --split-input-file | filecheck %s --check-prefix=TWO

// Two stages are filled ahead of the one that is read, which is released an iteration later. An iteration waits,
// releases, acquires, loads, copies, multiplies, and writes what it loaded.
// CHECK-LABEL: tile.program @staged
// CHECK:       scf.for %k
// CHECK:         tile.acquire {{%[0-9]+}} {scheduled = #tile.at<stage = 0, order = 2>}
// CHECK-NEXT:    tile.load %w{{.*}}scheduled = #tile.at<stage = 0, order = 3>
// CHECK-NEXT:    tile.copy %x{{.*}}scheduled = #tile.at<stage = 0, order = 4>
// CHECK-NEXT:    tile.write {{.*}}scheduled = #tile.at<stage = 0, order = 6>
// CHECK-NEXT:    tile.commit {{.*}}scheduled = #tile.at<stage = 0, order = 7>
// CHECK-NEXT:    tile.wait {{%[0-9]+}} {scheduled = #tile.at<stage = 2, order = 0>}
// CHECK-NEXT:    tile.dot {{.*}}scheduled = #tile.at<stage = 2, order = 5>
// CHECK-NEXT:    tile.release {{.*}}scheduled = #tile.at<stage = 3, order = 1>
// CHECK-NEXT:    scf.yield
// CHECK-NEXT:  } {clamped}

// One stage is filled ahead of one of two.
// TWO-LABEL:   tile.program @staged
// TWO:           tile.wait {{%[0-9]+}} {scheduled = #tile.at<stage = 1, order = 0>}
// TWO:           tile.release {{.*}}scheduled = #tile.at<stage = 2, order = 1>

// Of dots on halves of a step, the first comes before the copies.
// SLICED-LABEL: tile.program @staged
// SLICED:         tile.load %w{{.*}}scheduled = #tile.at<stage = 0, order = 3>
// SLICED:         tile.copy %x{{.*}}scheduled = #tile.at<stage = 0, order = 7>
// SLICED:         tile.dot {{.*}}scheduled = #tile.at<stage = 2, order = 6>
// SLICED:         tile.dot {{.*}}scheduled = #tile.at<stage = 2, order = 10>
tile.program @staged(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x63xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 3, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x32xbf16>
    %b = tile.load %w[%k, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %c : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %h, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}

// -----

// One stage, and so no channel: the loop is left alone.
// CHECK-LABEL: tile.program @alone
// CHECK-NOT:   #tile.at
// CHECK-NOT:   clamped
// CHECK:       tile.store
tile.program @alone(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 1, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x32xbf16>
    %b = tile.load %w[%k, %c0] : !tile.view<256x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %c : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %h, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}

// -----

// What the loop computes is multiplied in it: its buffer has no stages, and what fills it is not ahead.
// CHECK-LABEL: tile.program @fed
// CHECK:       scf.for %k
// CHECK:         tile.copy %x{{.*}}scheduled = #tile.at<stage = 0
// CHECK:         tile.write {{.*}}scheduled = #tile.at<stage = 2
// CHECK:         tile.dot {{.*}}scheduled = #tile.at<stage = 2
tile.program @fed(%x: !tile.view<64x256xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 3, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 64 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x64xbf16>
    %b = tile.map %c : tensor<64x64xf32> -> tensor<64x64xbf16> {
    ^bb0(%e: f32):
      %f = arith.truncf %e : f32 to bf16
      tile.yield %f : bf16
    }
    %d = tile.dot %a, %b, %c : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %h, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
