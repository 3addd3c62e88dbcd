// RUN: irc-opt %s -p merge-constants | filecheck %s

// A number of a type stands where the kernel begins, in the order in which numbers are needed, and serves loops and
// branches, too. What nothing uses is gone. Floats stay where they are: 0.0 and -0.0 are equal, and are two.
// CHECK-LABEL: cuda.kernel @kernel
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %four = arith.constant 4 : index
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    %small = arith.constant 0 : i32
// CHECK-NEXT:    %a = cuda.registers
// CHECK-NEXT:    scf.for %i = %zero to %four step %one {
// CHECK-NEXT:      %float = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      cuda.set %a[%zero], %float
// CHECK-NEXT:      %other = arith.constant -0.000000e+00 : f32
// CHECK-NEXT:      cuda.set %a[%four], %other
// CHECK-NEXT:      cuda.shared_store %a[%zero], %small
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.shared_store %a[%one], %small
// CHECK-NEXT:    cuda.return
cuda.kernel @kernel() grid [1, 1, 1] block 32 shared 16 {
  %a = cuda.registers : !cuda.registers<8 x f32>
  %zero = arith.constant 0 : index
  %unused = arith.constant 7 : index
  %four = arith.constant 4 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %four step %one {
    %again = arith.constant 0 : index
    %float = arith.constant 0.000000e+00 : f32
    cuda.set %a[%again], %float : !cuda.registers<8 x f32>
    %other = arith.constant -0.000000e+00 : f32
    %end = arith.constant 4 : index
    cuda.set %a[%end], %other : !cuda.registers<8 x f32>
    %small = arith.constant 0 : i32
    cuda.shared_store %a[%again], %small : !cuda.registers<8 x f32>
  }
  %last = arith.constant 1 : index
  %address = arith.constant 0 : i32
  cuda.shared_store %a[%last], %address : !cuda.registers<8 x f32>
  cuda.return
}
