// RUN: irc-opt %s -p 'kernel,tile-kernels' | filecheck %s
// RUN: irc-opt %s -p cuda | filecheck %s --check-prefix=CUDA

// An argument that begins at a multiple of fewer bytes is a view that says so, behind reshapes too: no tensor map and no
// wide load reads it. Others are read as ever.
// CHECK-LABEL: tile.program @product_0
// CHECK-SAME:    (%x: !tile.view<256x128xbf16, align 4>, %w: !tile.view<128x128xbf16>, %p: !tile.view<256x128xbf16>)
// CHECK-SAME:    instruction = "mma"
// CHECK-LABEL: tile.program @sum_0
// CHECK-SAME:    (%r: !tile.view<4096xbf16, align 2>, %y: !tile.view<4096xbf16>, %s: !tile.view<4096xbf16>)

// CUDA-LABEL: cuda.kernel @product_0
// CUDA:         cuda.cp_async {{.*}}, %x[{{.*}}] {bytes = 4 : i64}
// CUDA:         cuda.cp_async {{.*}}, %w[{{%[0-9]+}}] : !cuda.ptr<bf16>
// CUDA-LABEL: cuda.kernel @sum_0
// CUDA:         cuda.load %r[{{.*}}] {cache = "read_only"}
// CUDA:         cuda.load %y[{{.*}}] {count = 2 : i64, cache = "read_only"}

func.func @product(%x: tensor<256x128xbf16> {irc.align = 4 : i64}, %w: tensor<128x128xbf16>) -> tensor<256x128xbf16> {
  %p = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x128xbf16>, tensor<128x128xbf16>) -> tensor<256x128xbf16>
  func.return %p : tensor<256x128xbf16>
}
func.func @sum(%x: tensor<64x64xbf16> {irc.align = 2 : i64}, %y: tensor<4096xbf16>) -> tensor<4096xbf16> {
  %r = nd.reshape %x : tensor<64x64xbf16> -> tensor<4096xbf16>
  %s = nd.add %r, %y : tensor<4096xbf16>
  func.return %s : tensor<4096xbf16>
}
