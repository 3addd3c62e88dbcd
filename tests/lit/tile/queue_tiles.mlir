// RUN: irc-opt %s -p queue-tiles --split-input-file | filecheck %s

// The partition that loads takes a ticket behind its loads, the other one reads it: by way of a channel of two. The
// launch has a counter, which the program adds to.
// CHECK-LABEL: func.func @main
// CHECK:         %[[Y:[a-z0-9_]+]], %{{[a-z0-9_]+}} = kernel.launch @partitions(%x) : (tensor<8192x128xbf16>) -> (tensor<8192x128xbf16>, tensor<1xi32>)
// CHECK-NEXT:    func.return %[[Y]]
// CHECK:       tile.program @partitions(%x: !tile.view<8192x128xbf16>, %y: !tile.view<8192x128xbf16>, %counter: !tile.view<1xi32>) {results = 2 : i64, {{.*}}sums = array<i64: 2>
// CHECK:         %tickets = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<1xi32, #{{[a-z0-9]+}}>>
// CHECK-NEXT:    tile.partitions @load
// CHECK:           tile.copy
// CHECK-NEXT:      tile.commit
// CHECK-NEXT:      [[SLOT:%[a-z0-9_]+]], [[WORD:%[a-z0-9_]+]] = tile.acquire %tickets
// CHECK-NEXT:      [[TICKET:%[a-z0-9_]+]] = tile.take_ticket %counter -> [[WORD]]
// CHECK-NEXT:      tile.commit [[SLOT]]
// CHECK-NEXT:      tile.next_tile [[TICKET]]
// CHECK-NEXT:    }
// CHECK:         @compute
// CHECK:           tile.store
// CHECK-NEXT:      [[HELD:%[a-z0-9_]+]], [[LEFT:%[a-z0-9_]+]] = tile.wait %tickets
// CHECK-NEXT:      [[READ:%[a-z0-9_]+]] = tile.read_ticket [[LEFT]]
// CHECK-NEXT:      tile.release [[HELD]]
// CHECK-NEXT:      tile.next_tile [[READ]]
#shared = #tile.shared<(32,128):(128,1)>
#frag = #tile.fragment<((32,4),(32)):((32,1024),(1))>
func.func @main(%x: tensor<8192x128xbf16>) -> tensor<8192x128xbf16> {
  %y = kernel.launch @partitions(%x) : (tensor<8192x128xbf16>) -> tensor<8192x128xbf16>
  func.return %y : tensor<8192x128xbf16>
}
tile.program @partitions(%x: !tile.view<8192x128xbf16>, %y: !tile.view<8192x128xbf16>) {results = 1 : i64, threads = 128 : i64} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<32x128xbf16, #shared>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%m, %n) extents [8192, 128] steps [32, 128] schedule "dynamic" {
      %slot, %b = tile.acquire %channel : !tile.channel<!tile.buffer<32x128xbf16, #shared>>
      tile.copy %x[%m, %n] -> %b {via = "tma"} : !tile.view<8192x128xbf16> -> !tile.buffer<32x128xbf16, #shared>
      tile.commit %slot
    }
  } @compute warps 4 registers 232 {
    tile.for_tiles (%m_1, %n_1) extents [8192, 128] steps [32, 128] schedule "dynamic" {
      %slot_1, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<32x128xbf16, #shared>>
      %t = tile.read %b_1 : !tile.buffer<32x128xbf16, #shared> -> tensor<32x128xbf16, #frag>
      tile.release %slot_1
      tile.store %t, %y[%m_1, %n_1] : tensor<32x128xbf16, #frag>, !tile.view<8192x128xbf16>
    }
  }
}

// -----

// Without partitions all threads have the ticket, by way of a buffer.
// CHECK-LABEL: tile.program @alone(
// CHECK-SAME:    %counter: !tile.view<1xi32>) {results = 2 : i64, {{.*}}sums = array<i64: 2>
// CHECK-NEXT:    [[WORD:%[a-z0-9_]+]] = tile.alloc : !tile.buffer<1xi32
// CHECK-NEXT:    tile.for_tiles
// CHECK:           tile.store
// CHECK-NEXT:      [[TICKET:%[a-z0-9_]+]] = tile.take_ticket %counter -> [[WORD]]
// CHECK-NEXT:      tile.next_tile [[TICKET]]
#own = #tile.fragment<((32,4),(1)):((1,32),(0))>
tile.program @alone(%x: !tile.view<65536xf32>, %y: !tile.view<65536xf32>) {results = 1 : i64, threads = 128 : i64} {
  tile.for_tiles (%i) extents [65536] steps [128] schedule "dynamic" {
    %a = tile.load %x[%i] : !tile.view<65536xf32> -> tensor<128xf32, #own>
    tile.store %a, %y[%i] : tensor<128xf32, #own>, !tile.view<65536xf32>
  }
}

// -----

// Each block has one tile: there is nothing to take. Nor does a block that walks over its share ask for it.
// CHECK-NOT: counter
// CHECK-NOT: tile.next_tile
#own = #tile.fragment<((32,4),(1)):((1,32),(0))>
tile.program @few(%x: !tile.view<16896xf32>, %y: !tile.view<16896xf32>) {results = 1 : i64, threads = 128 : i64} {
  tile.for_tiles (%i) extents [16896] steps [128] schedule "dynamic" {
    %a = tile.load %x[%i] : !tile.view<16896xf32> -> tensor<128xf32, #own>
    tile.store %a, %y[%i] : tensor<128xf32, #own>, !tile.view<16896xf32>
  }
}
tile.program @persistent(%x: !tile.view<65536xf32>, %y: !tile.view<65536xf32>) {results = 1 : i64, threads = 128 : i64} {
  tile.for_tiles (%i) extents [65536] steps [128] schedule "persistent" {
    %a = tile.load %x[%i] : !tile.view<65536xf32> -> tensor<128xf32, #own>
    tile.store %a, %y[%i] : tensor<128xf32, #own>, !tile.view<65536xf32>
  }
}
