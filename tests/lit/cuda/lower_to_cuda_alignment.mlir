// RUN: irc-opt %s -p lower-to-cuda --split-input-file --verify-diagnostics

// A kernel takes no more for granted of where an array begins than the caller says.
func.func @f(%x: tensor<64xf32> {irc.align = 4 : i64}) -> tensor<64xf32> {
  // expected-error @below {{kernel own takes x to begin at a multiple of 16 bytes, which is said to begin at a multiple of 4}}
  %y = kernel.launch @own(%x) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}
tile.program @own(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, grid = 1 : i64, config = #kernel.config<tile = {d = 64}, warps = 1>} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : !tile.view<64xf32> -> tensor<64xf32, #tile.fragment<((32),(2)):((2),(1))>>
  tile.store %t, %y[%c0] : tensor<64xf32, #tile.fragment<((32),(2)):((2),(1))>>, !tile.view<64xf32>
}

// -----

// expected-error @below {{argument 0 is donated, and begins at no multiple of 16 bytes}}
func.func @f(%x: tensor<64xf32> {irc.align = 4 : i64, irc.donated = 0 : i64}) -> tensor<64xf32> {
  %y = kernel.launch @own(%x) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}
tile.program @own(%x: !tile.view<64xf32, align 4>, %y: !tile.view<64xf32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, grid = 1 : i64, config = #kernel.config<tile = {d = 64}, warps = 1>} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : !tile.view<64xf32, align 4> -> tensor<64xf32, #tile.fragment<((32),(2)):((2),(1))>>
  tile.store %t, %y[%c0] : tensor<64xf32, #tile.fragment<((32),(2)):((2),(1))>>, !tile.view<64xf32>
}

// -----

// expected-error @below {{irc.align: expected 1, 2, 4, 8 or 16 of i64, found 3 : i64}}
func.func @f(%x: tensor<64xf32> {irc.align = 3 : i64}) -> tensor<64xf32> {
  func.return %x : tensor<64xf32>
}
