// RUN: not irc-opt %s -p 'decompose-nd{keep=sofmax}' 2>&1 | filecheck %s
// CHECK: error: decompose-nd has no op sofmax to keep
// CHECK: hint: expected one of attention, attention_log_sum_exp, attention_weights, clamp, gelu,

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
