// RUN: irc-opt %s --verify-diagnostics --split-input-file | filecheck %s

host.plan @f(%x, %out) : (tensor<64xf32>) -> tensor<64xf32> {
  %arena = host.arena : !host.buffer<256>
  %a = host.buffer %arena {offset = 0} : !host.buffer<256> -> !host.buffer<256>
  host.copy %a -> %out : !host.buffer<256> -> !host.buffer<256>
  host.return
}
// CHECK: step 0 (host.copy): expected the buffer at bytes 0 to 256 to hold what was written to it

// -----

cuda.kernel @k(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] sets 2 {
  cuda.return
}
host.plan @f(%x, %out) : (tensor<64xf32>) -> tensor<64xf32> {
  host.launch @k(%x, %out, %x, %out, %x, %out) {sets = 3} : (!host.buffer<256>, !host.buffer<256>, !host.buffer<256>, !host.buffer<256>, !host.buffer<256>, !host.buffer<256>)
  host.return
}
// CHECK: expected at most 2 sets of operands for @k, found 3

// -----

cuda.kernel @k(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] sets 2 {
  cuda.return
}
host.plan @f(%x, %out) : (tensor<64xf32>) -> tensor<64xf32> {
  host.launch @k(%x, %out, %out, %x) {sets = 2} : (!host.buffer<256>, !host.buffer<256>, !host.buffer<256>, !host.buffer<256>)
  host.return
}
// CHECK: expected the sets of operands of @k apart, found bytes 0 to 256, which set 0 writes, in set 1

// -----

cuda.kernel @k(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] sets 2 {
  cuda.return
}
host.plan @f(%x, %out) : (tensor<64xf32>) -> tensor<64xf32> {
  host.launch @k(%x, %out, %out) {sets = 2} : (!host.buffer<256>, !host.buffer<256>, !host.buffer<256>)
  host.return
}
// CHECK: expected operands in 2 sets, found 3

// -----

host.plan @f(%x, %y) : (tensor<8xf32>) -> tensor<8xf32> {
  host.collective "scan"(%x, %y) {over = "data", element = "f32"} : (!host.buffer<32>, !host.buffer<32>)
  host.return
}
// CHECK: expected one of all_reduce, all_gather, reduce_scatter, found scan

// -----

host.plan @f(%x, %y) : (tensor<8xf32>) -> tensor<8xf32> {
  host.collective "all_reduce"(%x) {over = "data", element = "f32", monoid = "sum"} : (!host.buffer<32>)
  host.return
}
// CHECK: expected a buffer to write for each that is read, found 1

// -----

host.plan @f(%x, %y) : (tensor<8xf32>) -> tensor<8xf32> {
  %a = host.buffer %x {offset = 0, pitch = 16} : !host.buffer<32> -> !host.buffer<32>
  host.return
}
// CHECK: expected pitch and width, or neither, found one of them

// -----

host.plan @f(%x, %y) : (tensor<8xf32>) -> tensor<8xf32> {
  %a = host.buffer %x {offset = 0, pitch = 16, width = 32} : !host.buffer<32> -> !host.buffer<32>
  host.return
}
// CHECK: expected a width from 1 to the pitch of 16, found 32

// -----

// Rows that meet, on two streams.
host.plan @f(%x, %y) : (tensor<16xf32>) -> tensor<16xf32> streams 2 {
  %a = host.buffer %y {offset = 0, pitch = 16, width = 12} : !host.buffer<64> -> !host.buffer<60>
  %b = host.buffer %y {offset = 8, pitch = 16, width = 8} : !host.buffer<64> -> !host.buffer<56>
  host.memset %a {value = 0} : !host.buffer<60>
  host.memset %b {value = 0, stream = 1} : !host.buffer<56>
  host.record {event = 0, stream = 1}
  host.wait {event = 0}
  host.return
}
// CHECK: expected an event between steps 0 (host.memset) and 1 (host.memset), which share bytes 8 to 64, found none

// -----

// One array as two operands, of which the kernel writes one. It may be those of which the kernel says so.
cuda.kernel @over(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] aliased [0, 1] {
  cuda.return
}
cuda.kernel @k(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] aliased [0, 2] {
  cuda.return
}
host.plan @f(%x, %y, %out) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  %half = host.buffer %y {offset = 64} : !host.buffer<256> -> !host.buffer<128>
  host.launch @over(%x, %x) : (!host.buffer<256>, !host.buffer<256>)
  host.launch @k(%x, %y, %x) : (!host.buffer<256>, !host.buffer<256>, !host.buffer<256>)
  host.launch @k(%x, %y, %half) : (!host.buffer<256>, !host.buffer<256>, !host.buffer<128>)
  host.return
}
// CHECK: expected operands 1 and 2 of @k apart, found bytes 64 to 192 in both
