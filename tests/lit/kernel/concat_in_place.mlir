// RUN: irc-opt %s -p concat-in-place --split-input-file | filecheck %s

// A chain of concats, each of the one before and of what a kernel makes of it: none is a kernel. Casts that round nothing
// are no work.

// CHECK-LABEL: func.func @chain
// CHECK:         %[[A:.*]] = kernel.fused @a
// CHECK:         %[[B:.*]] = kernel.fused @b
// CHECK:         %[[AB:.*]] = nd.concat %[[A]], %[[B]] {axis = 1, nd.in_place} : (tensor<64x64xbf16>, tensor<64x32xbf16>) -> tensor<64x96xbf16>
// CHECK:         %[[C:.*]] = kernel.fused @c map ({{.*}} = %[[AB]]
// CHECK:         %[[ABC:.*]] = nd.concat %[[AB]], %[[C]] {axis = 1, nd.in_place} : (tensor<64x96xbf16>, tensor<64x32xbf16>) -> tensor<64x128xbf16>
// CHECK:         kernel.fused @d map ({{.*}} = %[[ABC]]
func.func @chain(%x: tensor<64x64xbf16>, %y: tensor<64x32xbf16>) -> tensor<64x128xbf16> {
  %a = kernel.fused @a map (%0 = %x : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %1 = nd.abs %0 : tensor<64x64xbf16>
    kernel.yield %1 : tensor<64x64xbf16>
  }
  %b = kernel.fused @b map (%0 = %y : tensor<64x32xbf16>) -> tensor<64x32xbf16> {
    %1 = nd.abs %0 : tensor<64x32xbf16>
    kernel.yield %1 : tensor<64x32xbf16>
  }
  %ab = kernel.fused @ab map (%0 = %a : tensor<64x64xbf16>, %1 = %b : tensor<64x32xbf16>) -> tensor<64x96xbf16> {
    %2 = nd.cast %0 : tensor<64x64xbf16> -> tensor<64x64xf32>
    %3 = nd.cast %1 : tensor<64x32xbf16> -> tensor<64x32xf32>
    %4 = nd.concat %2, %3 {axis = 1} : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x96xf32>
    %5 = nd.cast %4 : tensor<64x96xf32> -> tensor<64x96xbf16>
    kernel.yield %5 : tensor<64x96xbf16>
  }
  %c = kernel.fused @c map (%0 = %ab : tensor<64x96xbf16>) -> tensor<64x32xbf16> {
    %1 = nd.slice %0 {starts = [0, 64], stops = [64, 96], steps = [1, 1]} : tensor<64x96xbf16> -> tensor<64x32xbf16>
    kernel.yield %1 : tensor<64x32xbf16>
  }
  %abc = kernel.fused @abc map (%0 = %ab : tensor<64x96xbf16>, %1 = %c : tensor<64x32xbf16>) -> tensor<64x128xbf16> {
    %2 = nd.concat %0, %1 {axis = 1} : (tensor<64x96xbf16>, tensor<64x32xbf16>) -> tensor<64x128xbf16>
    kernel.yield %2 : tensor<64x128xbf16>
  }
  %d = kernel.fused @d map (%0 = %abc : tensor<64x128xbf16>) -> tensor<64x128xbf16> {
    %1 = nd.abs %0 : tensor<64x128xbf16>
    kernel.yield %1 : tensor<64x128xbf16>
  }
  func.return %d : tensor<64x128xbf16>
}

// -----

// A reshape of what is concatenated is a view of its part. The result may be one of the function, and read in another shape.

// CHECK-LABEL: func.func @views
// CHECK:         %[[A:.*]] = kernel.fused @a
// CHECK:         %[[B:.*]] = kernel.fused @b
// CHECK:         %[[R:.*]] = nd.reshape %[[B]] : tensor<64x4x16xbf16> -> tensor<64x64xbf16>
// CHECK:         %[[AB:.*]] = nd.concat %[[A]], %[[R]] {axis = 1, nd.in_place}
// CHECK:         %[[W:.*]] = nd.reshape %[[AB]] : tensor<64x128xbf16> -> tensor<8192xbf16>
// CHECK:         func.return %[[W]]
func.func @views(%x: tensor<64x64xbf16>, %y: tensor<64x4x16xbf16>) -> tensor<8192xbf16> {
  %a = kernel.fused @a map (%0 = %x : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %1 = nd.abs %0 : tensor<64x64xbf16>
    kernel.yield %1 : tensor<64x64xbf16>
  }
  %b = kernel.fused @b map (%0 = %y : tensor<64x4x16xbf16>) -> tensor<64x4x16xbf16> {
    %1 = nd.abs %0 : tensor<64x4x16xbf16>
    kernel.yield %1 : tensor<64x4x16xbf16>
  }
  %ab = kernel.fused @ab map (%0 = %a : tensor<64x64xbf16>, %1 = %b : tensor<64x4x16xbf16>) -> tensor<8192xbf16> {
    %2 = nd.reshape %1 : tensor<64x4x16xbf16> -> tensor<64x64xbf16>
    %3 = nd.concat %0, %2 {axis = 1} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x128xbf16>
    %4 = nd.reshape %3 : tensor<64x128xbf16> -> tensor<8192xbf16>
    kernel.yield %4 : tensor<8192xbf16>
  }
  func.return %ab : tensor<8192xbf16>
}

// -----

// An argument is not written anywhere, and a result of the function lies by itself: one such array is copied to its part.
// Two of them, and what is in two concats, are left to a kernel.

// CHECK-LABEL: func.func @arguments_and_results
// CHECK:         %[[A:.*]] = kernel.fused @a
// CHECK:         %[[B:.*]] = kernel.fused @b
// CHECK:         %[[X:.*]] = kernel.fused @xb_part map (%[[ARG:.*]] = %x : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
// CHECK-NEXT:      kernel.yield %[[ARG]]
// CHECK:         nd.concat %[[X]], %[[B]] {axis = 1, nd.in_place}
// CHECK:         kernel.fused @ab map ({{.*}} = %[[A]] {{.*}} = %[[B]]
// CHECK-LABEL: func.func @read_as_one_row
// CHECK:         %[[A:.*]] = kernel.fused @ab_part map ({{.*}} = %a
// CHECK:         nd.concat %[[A]], %b {axis = 1, nd.in_place}
// CHECK-LABEL: func.func @twice
// CHECK-COUNT-1: nd.in_place
// CHECK-NOT:     nd.in_place
// CHECK-LABEL: func.func @short_rows
// CHECK-NOT:     nd.in_place
// CHECK-LABEL: func.func @rows_begin_anywhere
// CHECK-NOT:     nd.in_place
// CHECK-LABEL: func.func @rounded
// CHECK-NOT:     nd.in_place
func.func @arguments_and_results(%x: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) {
  %a = kernel.fused @a map (%0 = %x : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %1 = nd.abs %0 : tensor<64x64xbf16>
    kernel.yield %1 : tensor<64x64xbf16>
  }
  %b = kernel.fused @b map (%0 = %x : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %1 = nd.sign %0 : tensor<64x64xbf16>
    kernel.yield %1 : tensor<64x64xbf16>
  }
  %xb = kernel.fused @xb map (%0 = %x : tensor<64x64xbf16>, %1 = %b : tensor<64x64xbf16>) -> tensor<64x128xbf16> {
    %2 = nd.concat %0, %1 {axis = 1} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x128xbf16>
    kernel.yield %2 : tensor<64x128xbf16>
  }
  %ab = kernel.fused @ab map (%0 = %a : tensor<64x64xbf16>, %1 = %b : tensor<64x64xbf16>) -> tensor<64x128xbf16> {
    %2 = nd.concat %0, %1 {axis = 1} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x128xbf16>
    kernel.yield %2 : tensor<64x128xbf16>
  }
  func.return %a, %xb, %ab : tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>
}

func.func @read_as_one_row(%x: tensor<64x64xbf16>) -> (tensor<4096xbf16>, tensor<64x128xbf16>) {
  %a = kernel.fused @a map (%0 = %x : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %1 = nd.abs %0 : tensor<64x64xbf16>
    kernel.yield %1 : tensor<64x64xbf16>
  }
  %b = kernel.fused @b map (%0 = %x : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %1 = nd.sign %0 : tensor<64x64xbf16>
    kernel.yield %1 : tensor<64x64xbf16>
  }
  %row = nd.reshape %a : tensor<64x64xbf16> -> tensor<4096xbf16>
  %c = kernel.fused @c map (%0 = %row : tensor<4096xbf16>) -> tensor<4096xbf16> {
    %1 = nd.abs %0 : tensor<4096xbf16>
    kernel.yield %1 : tensor<4096xbf16>
  }
  %ab = kernel.fused @ab map (%0 = %a : tensor<64x64xbf16>, %1 = %b : tensor<64x64xbf16>) -> tensor<64x128xbf16> {
    %2 = nd.concat %0, %1 {axis = 1} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x128xbf16>
    kernel.yield %2 : tensor<64x128xbf16>
  }
  func.return %c, %ab : tensor<4096xbf16>, tensor<64x128xbf16>
}

// One array lies in one other: the first concat has it.
func.func @twice(%x: tensor<64x64xbf16>) -> (tensor<64x128xbf16>, tensor<64x128xbf16>) {
  %a = kernel.fused @a map (%0 = %x : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %1 = nd.abs %0 : tensor<64x64xbf16>
    kernel.yield %1 : tensor<64x64xbf16>
  }
  %b = kernel.fused @b map (%0 = %x : tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %1 = nd.sign %0 : tensor<64x64xbf16>
    kernel.yield %1 : tensor<64x64xbf16>
  }
  %ab = kernel.fused @ab map (%0 = %a : tensor<64x64xbf16>, %1 = %b : tensor<64x64xbf16>) -> tensor<64x128xbf16> {
    %2 = nd.concat %0, %1 {axis = 1} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x128xbf16>
    kernel.yield %2 : tensor<64x128xbf16>
  }
  %ba = kernel.fused @ba map (%0 = %a : tensor<64x64xbf16>, %1 = %b : tensor<64x64xbf16>) -> tensor<64x128xbf16> {
    %2 = nd.concat %1, %0 {axis = 1} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x128xbf16>
    kernel.yield %2 : tensor<64x128xbf16>
  }
  func.return %ab, %ba : tensor<64x128xbf16>, tensor<64x128xbf16>
}

// Rows of 48 bytes.
func.func @short_rows(%x: tensor<64x24xbf16>) -> tensor<64x48xbf16> {
  %a = kernel.fused @a map (%0 = %x : tensor<64x24xbf16>) -> tensor<64x24xbf16> {
    %1 = nd.abs %0 : tensor<64x24xbf16>
    kernel.yield %1 : tensor<64x24xbf16>
  }
  %b = kernel.fused @b map (%0 = %x : tensor<64x24xbf16>) -> tensor<64x24xbf16> {
    %1 = nd.sign %0 : tensor<64x24xbf16>
    kernel.yield %1 : tensor<64x24xbf16>
  }
  %ab = kernel.fused @ab map (%0 = %a : tensor<64x24xbf16>, %1 = %b : tensor<64x24xbf16>) -> tensor<64x48xbf16> {
    %2 = nd.concat %0, %1 {axis = 1} : (tensor<64x24xbf16>, tensor<64x24xbf16>) -> tensor<64x48xbf16>
    kernel.yield %2 : tensor<64x48xbf16>
  }
  func.return %ab : tensor<64x48xbf16>
}

// Parts and rows of 68 elements of two bytes.
func.func @rows_begin_anywhere(%x: tensor<64x68xbf16>) -> tensor<64x136xbf16> {
  %a = kernel.fused @a map (%0 = %x : tensor<64x68xbf16>) -> tensor<64x68xbf16> {
    %1 = nd.abs %0 : tensor<64x68xbf16>
    kernel.yield %1 : tensor<64x68xbf16>
  }
  %b = kernel.fused @b map (%0 = %x : tensor<64x68xbf16>) -> tensor<64x68xbf16> {
    %1 = nd.sign %0 : tensor<64x68xbf16>
    kernel.yield %1 : tensor<64x68xbf16>
  }
  %ab = kernel.fused @ab map (%0 = %a : tensor<64x68xbf16>, %1 = %b : tensor<64x68xbf16>) -> tensor<64x136xbf16> {
    %2 = nd.concat %0, %1 {axis = 1} : (tensor<64x68xbf16>, tensor<64x68xbf16>) -> tensor<64x136xbf16>
    kernel.yield %2 : tensor<64x136xbf16>
  }
  func.return %ab : tensor<64x136xbf16>
}

// The concat rounds f32 to bf16.
func.func @rounded(%x: tensor<64x64xf32>) -> tensor<64x128xbf16> {
  %a = kernel.fused @a map (%0 = %x : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %1 = nd.abs %0 : tensor<64x64xf32>
    kernel.yield %1 : tensor<64x64xf32>
  }
  %b = kernel.fused @b map (%0 = %x : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %1 = nd.sign %0 : tensor<64x64xf32>
    kernel.yield %1 : tensor<64x64xf32>
  }
  %ab = kernel.fused @ab map (%0 = %a : tensor<64x64xf32>, %1 = %b : tensor<64x64xf32>) -> tensor<64x128xbf16> {
    %2 = nd.concat %0, %1 {axis = 1} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x128xf32>
    %3 = nd.cast %2 : tensor<64x128xf32> -> tensor<64x128xbf16>
    kernel.yield %3 : tensor<64x128xbf16>
  }
  func.return %ab : tensor<64x128xbf16>
}
