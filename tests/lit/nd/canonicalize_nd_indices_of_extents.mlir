// RUN: irc-opt %s -p canonicalize-nd | filecheck %s

// Of an extent that is known in a call, what is left of it is not less than 0.
// CHECK-LABEL: func.func @offsets
// CHECK:         [[LOW:%.+]] = nd.check_indices %i {low = 0, high = 2147483647} : tensor<4xi32>
// CHECK:         [[WIDE:%.+]] = nd.cast [[LOW]] : tensor<4xi32> -> tensor<4xi64>
// CHECK:         [[N:%.+]] = nd.extent {extent = 521 : index} : tensor<4xi64>
// CHECK:         [[LEFT:%.+]] = nd.sub [[N]], [[WIDE]]
// CHECK:         [[CHECKED:%.+]] = nd.check_indices [[LEFT]] {low = 0, high = 9223372036854775807} : tensor<4xi64>
// CHECK:         [[R:%.+]] = nd.sub [[N]], [[CHECKED]]
// CHECK:         nd.cast [[R]] : tensor<4xi64> -> tensor<4xi32>
builtin.module attributes {irc.dims = {N = array<i64: 1, 512, 1, 521>}} {
  func.func @offsets(%i: tensor<4xi32>, %x: tensor<521xf32>) -> (tensor<4xi32>, tensor<521xf32>) {
    %r = nd.check_indices %i {low = 0, high = 1, extent = 521 : index} : tensor<4xi32>
    func.return %r, %x : tensor<4xi32>, tensor<521xf32>
  }
}
