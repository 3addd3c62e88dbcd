// RUN: irc-opt %s -p split-conversions --split-input-file | filecheck %s
// RUN: irc-opt %s -p split-conversions,split-conversions --split-input-file | filecheck %s

// The place of an element is that of its thread and block, converted once, and what its number gives.
// CHECK-LABEL: cuda.kernel @places
// CHECK:         scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:      scf.for %j = %c0 to %c2 step %c1 {
// CHECK:             %[[THREAD:.*]] = arith.index_cast %t : index to i32
// CHECK:             %[[BLOCK:.*]] = arith.index_cast %b : index to i32
// CHECK-NEXT:        %[[N:.*]] = arith.constant -128 : i32
// CHECK-NEXT:        %[[ROWS:.*]] = arith.muli %[[BLOCK]], %[[N]] : i32
// CHECK-NEXT:        %[[COMMON:.*]] = arith.addi %[[THREAD]], %[[ROWS]] : i32
// CHECK:             %[[WHOLE:.*]] = arith.sitofp %[[COMMON]] : i32 to f32
// CHECK:             arith.index_cast %i : index to i32
// CHECK:             arith.index_cast %j : index to i32
// CHECK:             %[[OWN:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK-NEXT:        %float = arith.addf %[[WHOLE]], %[[OWN]] : f32
cuda.kernel @places() grid [32, 1, 1] block 128 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %t = cuda.thread_id
  %b = cuda.block_id
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c2 step %c1 {
      %columns = arith.shli %i, %c3 : index
      %moved = arith.addi %columns, %j : index
      %column = arith.addi %t, %moved : index
      %row = arith.shli %b, %c7 : index
      %wide = arith.index_cast %column : index to i64
      %a = arith.trunci %wide : i64 to i32
      %c = arith.index_cast %row : index to i32
      %difference = arith.subi %a, %c : i32
      %float = arith.sitofp %difference : i32 to f32
      "test.op"(%float) : (f32) -> ()
    } {unroll}
  } {unroll}
  cuda.return
}

// -----

// Up to 2 ** 24 an f32 is every integer, up to 2 ** 53 an f64.
// CHECK-LABEL: cuda.kernel @bounds
// CHECK:         %last = arith.addi %start, %i : index
// CHECK-NEXT:    %n = arith.index_cast %last : index to i32
// CHECK:         %float = arith.addf
// CHECK-NEXT:    %next = arith.addi %behind, %i : index
// CHECK-NEXT:    %m = arith.index_cast %next : index to i32
// CHECK-NEXT:    %other = arith.sitofp %m : i32 to f32
// CHECK:         %double = arith.addf %{{.*}}, %{{.*}} : f64
cuda.kernel @bounds() grid [1, 1, 1] block 32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %before = arith.constant 16777185 : index
  %t = cuda.thread_id
  scf.for %i = %c0 to %c4 step %c1 {
    %start = arith.addi %t, %before : index
    %behind = arith.addi %start, %c1 : index
    %last = arith.addi %start, %i : index
    %n = arith.index_cast %last : index to i32
    %float = arith.sitofp %n : i32 to f32
    %next = arith.addi %behind, %i : index
    %m = arith.index_cast %next : index to i32
    %other = arith.sitofp %m : i32 to f32
    %double = arith.sitofp %m : i32 to f64
    "test.op"(%float, %other, %double) : (f32, f32, f64) -> ()
  } {unroll}
  cuda.return
}

// -----

// A remainder of a sum has to do with both parts; a number from memory may be any; a sum may wrap; nothing is common
// to the elements, or nothing differs. A loop that stays one converts one element at a time.
// CHECK-LABEL: cuda.kernel @others
// CHECK-NOT:     arith.addf
cuda.kernel @others(%x: !cuda.ptr<i32>) grid [1024, 1, 1] block 32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c22 = arith.constant 22 : index
  %t = cuda.thread_id
  %b = cuda.block_id
  %r = cuda.registers : !cuda.registers<1 x i32>
  cuda.load %x[%t] -> %r[%c0] : !cuda.ptr<i32> -> !cuda.registers<1 x i32>
  %number = cuda.get %r[%c0] : !cuda.registers<1 x i32>
  %own = arith.index_cast %t : index to i32
  scf.for %i = %c0 to %c4 step %c1 {
    %place = arith.addi %t, %i : index
    %remainder = arith.remui %place, %c3 : index
    %more = arith.addi %remainder, %t : index
    %n0 = arith.index_cast %more : index to i32
    %f0 = arith.sitofp %n0 : i32 to f32
    %step = arith.index_cast %i : index to i32
    %read = arith.addi %number, %step : i32
    %f1 = arith.sitofp %read : i32 to f32
    %large = arith.shli %b, %c22 : index
    %wrapped = arith.addi %large, %i : index
    %n2 = arith.index_cast %wrapped : index to i32
    %f2 = arith.sitofp %n2 : i32 to f32
    %f3 = arith.sitofp %step : i32 to f32
    %f4 = arith.sitofp %own : i32 to f32
    "test.op"(%f0, %f1, %f2, %f3, %f4) : (f32, f32, f32, f32, f32) -> ()
  } {unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %place = arith.addi %t, %i : index
    %n = arith.index_cast %place : index to i32
    %f = arith.sitofp %n : i32 to f32
    "test.op"(%f) : (f32) -> ()
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %place = arith.addi %t, %i : index
    %n = arith.index_cast %place : index to i32
    %f = arith.sitofp %n : i32 to f32
    "test.op"(%f) : (f32) -> ()
  } {unroll = 2 : i64}
  cuda.return
}

// -----

// Threads of a partition are numbered from its first, which the branch that leads to it says: the quotient is small.
// CHECK-LABEL: cuda.kernel @partitions
// CHECK:         arith.sitofp %n : i32 to f32
// CHECK:         } else {
// CHECK:         arith.addf
cuda.kernel @partitions() grid [1, 1, 1] block 384 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %c128 = arith.constant 128 : index
  %t = cuda.thread_id
  %own = arith.shrui %t, %c7 : index
  %group = cuda.warp_uniform %own : index
  %is_first = arith.cmpi slt, %group, %c1 : index
  scf.if %is_first {
    scf.for %i = %c0 to %c4 step %c1 {
      %thread = arith.subi %t, %c128 : index
      %warps = arith.shrui %thread, %c7 : index
      %place = arith.addi %warps, %i : index
      %n = arith.index_cast %place : index to i32
      %f = arith.sitofp %n : i32 to f32
      "test.op"(%f) : (f32) -> ()
    } {unroll}
  } else {
    scf.for %i = %c0 to %c4 step %c1 {
      %thread = arith.subi %t, %c128 : index
      %warps = arith.shrui %thread, %c7 : index
      %place = arith.addi %warps, %i : index
      %n = arith.index_cast %place : index to i32
      %f = arith.sitofp %n : i32 to f32
      "test.op"(%f) : (f32) -> ()
    } {unroll}
  }
  cuda.return
}
