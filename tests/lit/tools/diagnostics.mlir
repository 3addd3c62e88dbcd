// RUN: irc-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: not irc-opt %s --split-input-file -o %t.out 2>&1 | filecheck %s
// RUN: not ls %t.out

// CHECK: diagnostics.mlir:8:{{[0-9]+}}: error: unknown op arith.costant
func.func @unknown() {
  // expected-error @+1 {{unknown op}}
  %a = arith.costant 1 : i32
  func.return
}

// -----

func.func @types(%x: i32) {
  // expected-error @below {{operand is used with type i64}}
  %a = arith.addi %x, %x : i64
  func.return
}
