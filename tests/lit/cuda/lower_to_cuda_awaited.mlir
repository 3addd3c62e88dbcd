// RUN: irc-opt %s -p lower-to-cuda --split-input-file | filecheck %s

// Products end in the order in which they were issued: the wait for the second is one for the first, too.
// CHECK-LABEL: cuda.kernel @implied
// CHECK-COUNT-3: cuda.dot
// CHECK-NEXT:  cuda.wgmma_wait {pending = 1 : i64}
// CHECK-NEXT:  cuda.registers_fence %second :
// CHECK-NEXT:  cuda.registers_fence %first :
// CHECK-NEXT:  cuda.wgmma_wait{{$}}
// CHECK-NEXT:  cuda.registers_fence %third :
// CHECK-NOT:   cuda.wgmma_wait

#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @implied(%x: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>, %z: !tile.view<64x64xf32>) {results = 3 : i64, threads = 128 : i64, shared = 24576 : i64, grid = 1 : i64, config = #kernel.config<warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.000000e+00 : f32
  %sums = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %a = tile.alloc {offset = 0 : i64} : !tile.buffer<64x64xbf16, #shared>
  %b = tile.alloc {offset = 8192 : i64} : !tile.buffer<64x64xbf16, #shared>
  %c = tile.alloc {offset = 16384 : i64} : !tile.buffer<64x64xbf16, #shared>
  %first = tile.dot %a, %b, %sums {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> !tile.pending<tensor<64x64xf32, #frag>>
  %second = tile.dot %a, %c, %sums {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> !tile.pending<tensor<64x64xf32, #frag>>
  %third = tile.dot %b, %c, %sums {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> !tile.pending<tensor<64x64xf32, #frag>>
  %u = tile.dot_wait %second : !tile.pending<tensor<64x64xf32, #frag>> -> tensor<64x64xf32, #frag>
  %v = tile.dot_wait %first : !tile.pending<tensor<64x64xf32, #frag>> -> tensor<64x64xf32, #frag>
  %w = tile.dot_wait %third : !tile.pending<tensor<64x64xf32, #frag>> -> tensor<64x64xf32, #frag>
  tile.store %u, %x[%c0, %c0] : tensor<64x64xf32, #frag>, !tile.view<64x64xf32>
  tile.store %v, %y[%c0, %c0] : tensor<64x64xf32, #frag>, !tile.view<64x64xf32>
  tile.store %w, %z[%c0, %c0] : tensor<64x64xf32, #frag>, !tile.view<64x64xf32>
}

// -----

// A wait for one that was issued before is not: it leaves the second in flight.
// CHECK-LABEL: cuda.kernel @later
// CHECK:       cuda.wgmma_wait {pending = 1 : i64}
// CHECK-NEXT:  cuda.registers_fence %first :
// CHECK-NEXT:  cuda.wgmma_wait{{$}}
// CHECK-NEXT:  cuda.registers_fence %second :

#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @later(%x: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 2 : i64, threads = 128 : i64, shared = 16384 : i64, grid = 1 : i64, config = #kernel.config<warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.000000e+00 : f32
  %sums = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %a = tile.alloc {offset = 0 : i64} : !tile.buffer<64x64xbf16, #shared>
  %b = tile.alloc {offset = 8192 : i64} : !tile.buffer<64x64xbf16, #shared>
  %first = tile.dot %a, %b, %sums {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> !tile.pending<tensor<64x64xf32, #frag>>
  %second = tile.dot %b, %a, %sums {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> !tile.pending<tensor<64x64xf32, #frag>>
  %u = tile.dot_wait %first : !tile.pending<tensor<64x64xf32, #frag>> -> tensor<64x64xf32, #frag>
  %v = tile.dot_wait %second : !tile.pending<tensor<64x64xf32, #frag>> -> tensor<64x64xf32, #frag>
  tile.store %u, %x[%c0, %c0] : tensor<64x64xf32, #frag>, !tile.view<64x64xf32>
  tile.store %v, %y[%c0, %c0] : tensor<64x64xf32, #frag>, !tile.view<64x64xf32>
}
