// RUN: irc-opt %s | irc-opt | filecheck %s

// CHECK: host.plan @f(%x, %out) : (tensor<64xf32>) -> tensor<64xf32> streams 2 {
host.plan @f(%x, %out) : (tensor<64xf32>) -> tensor<64xf32> streams 2 {
  // CHECK: %arena = host.arena : !host.buffer<512>
  %arena = host.arena : !host.buffer<512>
  // CHECK: %a = host.buffer %arena {offset = 256 : i64} : !host.buffer<512> -> !host.buffer<256>
  %a = host.buffer %arena {offset = 256} : !host.buffer<512> -> !host.buffer<256>
  // CHECK: %b = host.buffer %a {offset = 16 : i64, pitch = 64 : i64, width = 32 : i64} : !host.buffer<256> -> !host.buffer<224>
  %b = host.buffer %a {offset = 16, pitch = 64, width = 32} : !host.buffer<256> -> !host.buffer<224>
  // CHECK: host.memset %a {value = 255 : i64} : !host.buffer<256>
  host.memset %a {value = 255} : !host.buffer<256>
  // CHECK: host.record {event = 0 : i64}
  host.record {event = 0}
  // CHECK: host.wait {event = 0 : i64, stream = 1 : i64}
  host.wait {event = 0, stream = 1}
  // CHECK: host.copy %a -> %out {stream = 1 : i64} : !host.buffer<256> -> !host.buffer<256>
  host.copy %a -> %out {stream = 1} : !host.buffer<256> -> !host.buffer<256>
  host.record {event = 1, stream = 1}
  host.wait {event = 1}
  host.return
}
