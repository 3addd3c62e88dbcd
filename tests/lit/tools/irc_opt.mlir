// RUN: irc-opt %s -p 'cse, canonicalize' | filecheck %s
// RUN: irc-opt %s -p cse --time-passes --print-after cse 2>&1 >%t.ir | filecheck %s --check-prefix=REPORT
// RUN: filecheck %s --input-file %t.ir

// CHECK:       func.func @f(%x: i32) -> i32 {
// CHECK-NEXT:    %c = arith.constant 1 : i32
// CHECK-NEXT:    %d = arith.addi %x, %c : i32
// CHECK-NEXT:    %f = arith.muli %d, %d : i32
// CHECK-NEXT:    func.return %f : i32

// REPORT: IR after cse
// REPORT: func.func @f
// REPORT: parse {{.*}} s
// REPORT: cse {{.*}} s

func.func @f(%x: i32) -> i32 {
  %c = arith.constant 1 : i32
  %d = arith.addi %x, %c : i32
  %e = arith.addi %x, %c : i32
  %f = arith.muli %d, %e : i32
  func.return %f : i32
}
