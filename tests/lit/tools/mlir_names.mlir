// RUN: irc-opt %s --pass-pipeline='builtin.module(cse,canonicalize)' --mlir-print-ir-after-change -o %t 2>&1 | filecheck %s
// RUN: irc-opt %s -p cse --mlir-print-ir-before-all --mlir-timing --mlir-print-op-generic -o %t 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: irc-opt %s --mlir-print-debuginfo --verify-each=false | filecheck %s --check-prefix=PLACE

// CHECK:      IR after cse
// CHECK-NOT:  IR after canonicalize

// BEFORE:     IR before cse
// BEFORE:     "arith.constant"
// BEFORE:     cse {{.*}} s

// PLACE:      arith.muli {{.*}} loc("{{.*}}mlir_names.mlir":[[# @LINE + 6]]:8)

func.func @f(%x: i32) -> i32 {
  %c = arith.constant 1 : i32
  %d = arith.addi %x, %c : i32
  %e = arith.addi %x, %c : i32
  %f = arith.muli %d, %e : i32
  func.return %f : i32
}
