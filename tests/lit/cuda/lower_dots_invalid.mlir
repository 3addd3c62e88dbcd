// RUN: irc-opt %s -p lower-dots --split-input-file --verify-diagnostics

#shared = #tile.shared<(256,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
cuda.kernel @tensor_memory(%tensor: i32) grid [1, 1, 1] block 256 shared 65536 {
  %t = cuda.thread_id
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c32768 = arith.constant 32768 : index
  %a = cuda.matrix %c0 from [%c0, %c0] : !cuda.matrix<bf16, #shared>
  %b = cuda.matrix %c32768 from [%c0, %c0] : !cuda.matrix<bf16, #shared1>
  // expected-error @+1 {{tcgen05 is an instruction of sm_100a, found sm_90a}}
  cuda.dot %tensor[%c64], %a, %b by %t {shape = array<i64: 256, 128, 64>, instruction = "tcgen05", warps = array<i64: 8, 1>, overwrites} : i32, !cuda.matrix<bf16, #shared>, !cuda.matrix<bf16, #shared1>
  cuda.return
}
