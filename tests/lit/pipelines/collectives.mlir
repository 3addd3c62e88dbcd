// RUN: irc-opt %s -p all --arch sm_90a | filecheck %s

// A collective is a step of the plan on a stream of its own: it starts when its input is there, and what needs its
// result waits for it. Kernels end before it and begin behind it.
// CHECK-LABEL: host.plan @step
// CHECK-SAME:    streams 2
// CHECK:         host.launch @step_0(%x, %[[A:.*]], %result1)
// CHECK-NEXT:    host.record {event = 0 : i64}
// CHECK-NEXT:    host.wait {event = 0 : i64, stream = 1 : i64}
// CHECK-NEXT:    host.collective "all_reduce"(%[[A]], %[[B:.*]]) {over = "data", element = "f32", monoid = "sum", stream = 1 : i64}
// CHECK-NEXT:    host.record {event = 1 : i64, stream = 1 : i64}
// CHECK-NEXT:    host.wait {event = 1 : i64}
// CHECK-NEXT:    host.launch @{{.*}}(%[[B]], %result0)
func.func @step(%x: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %a = nd.exp %x : tensor<256xf32>
  %r = nd.all_reduce %a {monoid = "sum", over = "data"} : tensor<256xf32>
  %y = nd.exp %r : tensor<256xf32>
  %z = nd.tanh %a : tensor<256xf32>
  func.return %y, %z : tensor<256xf32>, tensor<256xf32>
}
