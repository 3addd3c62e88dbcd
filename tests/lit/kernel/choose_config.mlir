// RUN: irc-opt %s -p choose-config | filecheck %s
// RUN: irc-opt %s -p choose-config --arch sm_80 | filecheck %s --check-prefix=SM80
// RUN: irc-opt %s -p 'choose-config{instruction="fma"}' | filecheck %s --check-prefix=FMA

// A large product of bf16 uses wgmma where there is such an instruction.
// CHECK:      @large matmul config<tile = {m = 128, n = 256, k = 64}, stages = 4, cluster = [1, 1], warps = 8, schedule = "persistent", group = 8, indexing = "tma", instruction = "wgmma">
// SM80:       @large matmul config<{{.*}}instruction = "mma">
// FMA:        @large matmul config<{{.*}}instruction = "fma">
func.func @large(%x: tensor<2048x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<2048x4096xbf16> {
  %r = kernel.fused @large matmul (%a = %x : tensor<2048x4096xbf16>, %b = %w : tensor<4096x4096xbf16>) -> tensor<2048x4096xbf16> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<2048x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<2048x4096xf32>
    %d = nd.cast %c : tensor<2048x4096xf32> -> tensor<2048x4096xbf16>
    kernel.yield %d : tensor<2048x4096xbf16>
  }
  func.return %r : tensor<2048x4096xbf16>
}

// Rows of 4095 elements are not multiples of 16 bytes: tensor maps cannot load them.
// CHECK:      @odd matmul config<{{.*}}schedule = "grid", group = 8, indexing = "pointers", instruction = "mma">
func.func @odd(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4095xbf16>) -> tensor<4096x4095xf32> {
  %r = kernel.fused @odd matmul (%a = %x : tensor<4096x4096xbf16>, %b = %w : tensor<4096x4095xbf16>) -> tensor<4096x4095xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x4095xbf16>) -> tensor<4096x4095xf32>
    kernel.yield %c : tensor<4096x4095xf32>
  }
  func.return %r : tensor<4096x4095xf32>
}

// What the user has set stays; the rest follows from it.
// CHECK:      @given matmul config<tile = {m = 64, n = 128, k = 64}, stages = 2, cluster = [1, 1], warps = 4, {{.*}}instruction = "wgmma">
func.func @given(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
  %r = kernel.fused @given matmul config<tile = {m = 64, n = 128, k = 64}, stages = 2> (%a = %x : tensor<4096x4096xbf16>, %b = %w : tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xf32>
    kernel.yield %c : tensor<4096x4096xf32>
  }
  func.return %r : tensor<4096x4096xf32>
}

// With a short K the epilogue is long beside the products: two consumer groups take turns in smaller tiles.
// CHECK:      @turns matmul config<tile = {m = 128, n = 192, k = 64}, stages = 4, cluster = [1, 1], warps = 4, schedule = "pingpong", {{.*}}instruction = "wgmma">
func.func @turns(%x: tensor<4096x1024xbf16>, %w: tensor<1024x4096xbf16>) -> tensor<4096x4096xf32> {
  %r = kernel.fused @turns matmul (%a = %x : tensor<4096x1024xbf16>, %b = %w : tensor<1024x4096xbf16>) -> tensor<4096x4096xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<4096x4096xf32>
    kernel.yield %c : tensor<4096x4096xf32>
  }
  func.return %r : tensor<4096x4096xf32>
}

// Of tiles of 128 x 192, the last one along N of each 22 would be computed by the same six multiprocessors, 132 = 6 x 22,
// and two of its three boxes of the right operand lie outside. Where N is 4224 there is no such tile.
// CHECK:      @ends matmul config<tile = {m = 128, n = 256, k = 64}, stages = 4, cluster = [1, 1], warps = 8, schedule = "persistent", {{.*}}>
func.func @ends(%x: tensor<64x128x4096xbf16>, %w: tensor<64x4096x4096xbf16>) -> tensor<64x128x4096xbf16> {
  %r = kernel.fused @ends matmul (%a = %x : tensor<64x128x4096xbf16>, %b = %w : tensor<64x4096x4096xbf16>) -> tensor<64x128x4096xbf16> {
    %c = nd.matmul %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<64x128x4096xbf16>, tensor<64x4096x4096xbf16>) -> tensor<64x128x4096xf32>
    %d = nd.cast %c : tensor<64x128x4096xf32> -> tensor<64x128x4096xbf16>
    kernel.yield %d : tensor<64x128x4096xbf16>
  }
  func.return %r : tensor<64x128x4096xbf16>
}

// CHECK:      @no_ends matmul config<tile = {m = 128, n = 192, k = 64}, stages = 4, cluster = [1, 1], warps = 4, schedule = "pingpong", {{.*}}>
func.func @no_ends(%x: tensor<64x128x4096xbf16>, %w: tensor<64x4096x4224xbf16>) -> tensor<64x128x4224xbf16> {
  %r = kernel.fused @no_ends matmul (%a = %x : tensor<64x128x4096xbf16>, %b = %w : tensor<64x4096x4224xbf16>) -> tensor<64x128x4224xbf16> {
    %c = nd.matmul %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<64x128x4096xbf16>, tensor<64x4096x4224xbf16>) -> tensor<64x128x4224xf32>
    %d = nd.cast %c : tensor<64x128x4224xf32> -> tensor<64x128x4224xbf16>
    kernel.yield %d : tensor<64x128x4224xbf16>
  }
  func.return %r : tensor<64x128x4224xbf16>
}

// The same where the epilogue reads an array: its subtiles take the place of a stage.
// CHECK:      @residual matmul config<tile = {m = 128, n = 128, k = 64}, stages = 5, cluster = [1, 1], warps = 4, schedule = "pingpong", {{.*}}>
func.func @residual(%x: tensor<4096x1024xbf16>, %w: tensor<1024x4096xbf16>, %y: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = kernel.fused @residual matmul (%a = %x : tensor<4096x1024xbf16>, %b = %w : tensor<1024x4096xbf16>, %d = %y : tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<4096x4096xf32>
    %e = nd.add %c, %d : tensor<4096x4096xf32>
    kernel.yield %e : tensor<4096x4096xf32>
  }
  func.return %r : tensor<4096x4096xf32>
}

// Tiles that fill the chip in whole rounds: 8 x 16 of 192 x 192 are 128 for 132 multiprocessors.
// CHECK:      @filled matmul config<tile = {m = 192, n = 192, k = 64}, stages = 4, cluster = [1, 1], warps = 12, schedule = "persistent", {{.*}}>
func.func @filled(%x: tensor<1536x6144xbf16>, %w: tensor<6144x3072xbf16>) -> tensor<1536x3072xf32> {
  %r = kernel.fused @filled matmul (%a = %x : tensor<1536x6144xbf16>, %b = %w : tensor<6144x3072xbf16>) -> tensor<1536x3072xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<1536x6144xbf16>, tensor<6144x3072xbf16>) -> tensor<1536x3072xf32>
    kernel.yield %c : tensor<1536x3072xf32>
  }
  func.return %r : tensor<1536x3072xf32>
}

// Few rows: those of the instruction lie along N, and M is as many columns as it has.
// CHECK:      @skinny matmul config<tile = {m = 16, n = 64, k = 128}, stages = 8, cluster = [1, 1], warps = 4, schedule = "persistent", {{.*}} instruction = "wgmma", swap_ab = true>
func.func @skinny(%x: tensor<9x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<9x8192xf32> {
  %r = kernel.fused @skinny matmul (%a = %x : tensor<9x8192xbf16>, %b = %w : tensor<8192x8192xbf16>) -> tensor<9x8192xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<9x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<9x8192xf32>
    kernel.yield %c : tensor<9x8192xf32>
  }
  func.return %r : tensor<9x8192xf32>
}

// A small result of a long K: parts of K in as many blocks as there is room for. Not where an epilogue reduces.
// CHECK:      @deep matmul config<tile = {m = 64, n = 64, k = 128}, {{.*}} split = 8, indexing = "tma", instruction = "wgmma">
func.func @deep(%x: tensor<256x8192xbf16>, %w: tensor<8192x256xbf16>) -> tensor<256x256xf32> {
  %r = kernel.fused @deep matmul (%a = %x : tensor<256x8192xbf16>, %b = %w : tensor<8192x256xbf16>) -> tensor<256x256xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<256x8192xbf16>, tensor<8192x256xbf16>) -> tensor<256x256xf32>
    kernel.yield %c : tensor<256x256xf32>
  }
  func.return %r : tensor<256x256xf32>
}

// CHECK:      @reduced matmul config<tile = {m = {{[0-9]+}}, n = {{[0-9]+}}, k = {{[0-9]+}}}, stages = {{[^=]*}}, cluster = [1, 1], warps = 4, schedule = "persistent", group = 8, indexing =
func.func @reduced(%x: tensor<256x8192xbf16>, %w: tensor<8192x256xbf16>) -> tensor<256xf32> {
  %r = kernel.fused @reduced matmul (%a = %x : tensor<256x8192xbf16>, %b = %w : tensor<8192x256xbf16>) -> tensor<256xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<256x8192xbf16>, tensor<8192x256xbf16>) -> tensor<256x256xf32>
    %d = nd.sum %c {axes = [1]} : tensor<256x256xf32> -> tensor<256xf32>
    kernel.yield %d : tensor<256xf32>
  }
  func.return %r : tensor<256xf32>
}

// Rows of 2000 bytes begin inside lines of memory: two blocks share the right operand.
// CHECK:      @apart matmul config<tile = {m = 64, n = 128, k = 64}, stages = 8, cluster = [2, 1], {{.*}}>
func.func @apart(%x: tensor<1000x1000xbf16>, %w: tensor<1000x1000xbf16>) -> tensor<1000x1000xf32> {
  %r = kernel.fused @apart matmul (%a = %x : tensor<1000x1000xbf16>, %b = %w : tensor<1000x1000xbf16>) -> tensor<1000x1000xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<1000x1000xbf16>, tensor<1000x1000xbf16>) -> tensor<1000x1000xf32>
    kernel.yield %c : tensor<1000x1000xf32>
  }
  func.return %r : tensor<1000x1000xf32>
}

// A row that fits stays in registers; one that does not is read in steps.
// CHECK:      @short reduce config<tile = {d = 1, r = 8192}, warps = 16, schedule = "grid", reduction = "persistent", occupancy = 4>
func.func @short(%x: tensor<4096x8192xf32>) -> tensor<4096xf32> {
  %r = kernel.fused @short reduce (%a = %x : tensor<4096x8192xf32>) -> tensor<4096xf32> {
    %s = nd.sum %a {axes = [1]} : tensor<4096x8192xf32> -> tensor<4096xf32>
    kernel.yield %s : tensor<4096xf32>
  }
  func.return %r : tensor<4096xf32>
}

// CHECK:      @long reduce config<tile = {d = 1, r = 1024}, warps = 8, schedule = "grid", reduction = "looped", unroll = 4, occupancy = 8>
func.func @long(%x: tensor<4096x32768xf32>) -> tensor<4096xf32> {
  %r = kernel.fused @long reduce (%a = %x : tensor<4096x32768xf32>) -> tensor<4096xf32> {
    %s = nd.sum %a {axes = [1]} : tensor<4096x32768xf32> -> tensor<4096xf32>
    kernel.yield %s : tensor<4096xf32>
  }
  func.return %r : tensor<4096xf32>
}

// What is read and written is more than the L2 holds: written lines leave it first.
// CHECK:      @both reduce config<tile = {d = 1, r = 8192}, warps = 16, schedule = "grid", reduction = "persistent", occupancy = 4, evict_last = "inputs">
func.func @both(%x: tensor<4096x8192xf32>) -> tensor<4096x8192xf32> {
  %r = kernel.fused @both reduce (%a = %x : tensor<4096x8192xf32>) -> tensor<4096x8192xf32> {
    %s = nd.sum %a {axes = [1]} : tensor<4096x8192xf32> -> tensor<4096xf32>
    %b = nd.broadcast %s {dims = [0]} : tensor<4096xf32> -> tensor<4096x8192xf32>
    %d = nd.mul %a, %b : tensor<4096x8192xf32>
    kernel.yield %d : tensor<4096x8192xf32>
  }
  func.return %r : tensor<4096x8192xf32>
}

// One row leaves the GPU idle: it is split.
// CHECK:      @whole reduce config<tile = {d = 1, r = 1024}, warps = 8, schedule = "grid", split = 2112, reduction = "looped", unroll = 4, occupancy = 8>
func.func @whole(%x: tensor<4096x8192xf32>) -> tensor<f32> {
  %r = kernel.fused @whole reduce (%a = %x : tensor<4096x8192xf32>) -> tensor<f32> {
    %s = nd.sum %a {axes = [0, 1]} : tensor<4096x8192xf32> -> tensor<f32>
    kernel.yield %s : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// Of columns whose rows begin anywhere, as few lanes are idle as can be: five tiles of 32 have 129.
// CHECK:      @odd_columns reduce config<tile = {d = 32, r = 64}, warps = 8, {{.*}}reduction = "looped", unroll = 4, occupancy = 4>
func.func @odd_columns(%x: tensor<512x1023x129xbf16>) -> tensor<512x129xbf16> {
  %r = kernel.fused @odd_columns reduce (%a = %x : tensor<512x1023x129xbf16>) -> tensor<512x129xbf16> {
    %s = nd.max %a {axes = [1]} : tensor<512x1023x129xbf16> -> tensor<512x129xbf16>
    kernel.yield %s : tensor<512x129xbf16>
  }
  func.return %r : tensor<512x129xbf16>
}

// Columns go side by side.
// CHECK:      @columns reduce config<tile = {d = 128, r = 8}, warps = 8, {{.*}}split = 17, reduction = "looped", unroll = 4, occupancy = 8>
func.func @columns(%x: tensor<16384x8192xf32>) -> tensor<8192xf32> {
  %r = kernel.fused @columns reduce (%a = %x : tensor<16384x8192xf32>) -> tensor<8192xf32> {
    %s = nd.sum %a {axes = [0]} : tensor<16384x8192xf32> -> tensor<8192xf32>
    kernel.yield %s : tensor<8192xf32>
  }
  func.return %r : tensor<8192xf32>
}

// CHECK:      @moved permute config<tile = {result = 64, operand = 64}, warps = 8, schedule = "grid", occupancy = 1>
func.func @moved(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %r = kernel.fused @moved permute (%a = %x : tensor<512x512xf32>) -> tensor<512x512xf32> {
    %p = nd.permute %a {permutation = [1, 0]} : tensor<512x512xf32> -> tensor<512x512xf32>
    kernel.yield %p : tensor<512x512xf32>
  }
  func.return %r : tensor<512x512xf32>
}

// Where there are blocks enough, those share an SM whose threads have 64 registers, or 128 to permute, to read at more
// than four places, or for rows of f64. Permutations that read small operands too have three blocks. ptxas chooses the
// registers of other maps.
// CHECK:      @transposed permute config<tile = {result = 64, operand = 64}, warps = 8, schedule = "grid", occupancy = 2, evict_last = "inputs">
// CHECK:      @biased permute config<tile = {result = 64, operand = 64}, warps = 8, schedule = "grid", occupancy = 3, evict_last = "inputs">
// CHECK:      @mapped map config<tile = {d = 1024}, warps = 8, schedule = "grid", evict_last = "inputs">
// CHECK:      @ragged reduce config<tile = {d = 4, r = 1024}, warps = 8, {{.*}} occupancy = 4>
// CHECK:      @shifted map config<tile = {d = 1024}, warps = 8, schedule = "grid"{{(, evict_last = "inputs")?}}>
// CHECK:      @shifted_five_times map config<tile = {d = 1024}, warps = 8, schedule = "grid", occupancy = 2
// CHECK:      @doubles reduce config<tile = {d = 4, r = 1024}, warps = 8, {{.*}} occupancy = 2>
func.func @transposed(%x: tensor<8192x4096xf32>) -> tensor<4096x8192xf32> {
  %r = kernel.fused @transposed permute (%a = %x : tensor<8192x4096xf32>) -> tensor<4096x8192xf32> {
    %p = nd.permute %a {permutation = [1, 0]} : tensor<8192x4096xf32> -> tensor<4096x8192xf32>
    kernel.yield %p : tensor<4096x8192xf32>
  }
  func.return %r : tensor<4096x8192xf32>
}
func.func @biased(%x: tensor<8192x4096xf32>, %b: tensor<8192xf32>) -> tensor<4096x8192xf32> {
  %r = kernel.fused @biased permute (%a = %x : tensor<8192x4096xf32>, %c = %b : tensor<8192xf32>) -> tensor<4096x8192xf32> {
    %p = nd.permute %a {permutation = [1, 0]} : tensor<8192x4096xf32> -> tensor<4096x8192xf32>
    %w = nd.broadcast %c {dims = [1]} : tensor<8192xf32> -> tensor<4096x8192xf32>
    %s = nd.add %p, %w : tensor<4096x8192xf32>
    kernel.yield %s : tensor<4096x8192xf32>
  }
  func.return %r : tensor<4096x8192xf32>
}
func.func @mapped(%x: tensor<8192x4096xf32>) -> tensor<8192x4096xf32> {
  %r = kernel.fused @mapped map (%a = %x : tensor<8192x4096xf32>) -> tensor<8192x4096xf32> {
    %y = nd.abs %a : tensor<8192x4096xf32>
    kernel.yield %y : tensor<8192x4096xf32>
  }
  func.return %r : tensor<8192x4096xf32>
}
func.func @ragged(%x: tensor<8192x777xf32>) -> tensor<8192xf32> {
  %r = kernel.fused @ragged reduce (%a = %x : tensor<8192x777xf32>) -> tensor<8192xf32> {
    %m = nd.max %a {axes = [1]} : tensor<8192x777xf32> -> tensor<8192xf32>
    kernel.yield %m : tensor<8192xf32>
  }
  func.return %r : tensor<8192xf32>
}

func.func @shifted(%x: tensor<8192x4100xf32>) -> tensor<8192x4096xf32> {
  %r = kernel.fused @shifted map (%a = %x : tensor<8192x4100xf32>) -> tensor<8192x4096xf32> {
    %y = nd.slice %a {starts = [0, 0], stops = [8192, 4096], steps = [1, 1]} : tensor<8192x4100xf32> -> tensor<8192x4096xf32>
    %z = nd.slice %a {starts = [0, 4], stops = [8192, 4100], steps = [1, 1]} : tensor<8192x4100xf32> -> tensor<8192x4096xf32>
    %s = nd.add %y, %z : tensor<8192x4096xf32>
    kernel.yield %s : tensor<8192x4096xf32>
  }
  func.return %r : tensor<8192x4096xf32>
}
func.func @shifted_five_times(%x: tensor<8192x4100xf32>) -> tensor<8192x4096xf32> {
  %r = kernel.fused @shifted_five_times map (%a = %x : tensor<8192x4100xf32>) -> tensor<8192x4096xf32> {
    %y0 = nd.slice %a {starts = [0, 0], stops = [8192, 4096], steps = [1, 1]} : tensor<8192x4100xf32> -> tensor<8192x4096xf32>
    %y1 = nd.slice %a {starts = [0, 1], stops = [8192, 4097], steps = [1, 1]} : tensor<8192x4100xf32> -> tensor<8192x4096xf32>
    %y2 = nd.slice %a {starts = [0, 2], stops = [8192, 4098], steps = [1, 1]} : tensor<8192x4100xf32> -> tensor<8192x4096xf32>
    %y3 = nd.slice %a {starts = [0, 3], stops = [8192, 4099], steps = [1, 1]} : tensor<8192x4100xf32> -> tensor<8192x4096xf32>
    %y4 = nd.slice %a {starts = [0, 4], stops = [8192, 4100], steps = [1, 1]} : tensor<8192x4100xf32> -> tensor<8192x4096xf32>
    %s1 = nd.add %y0, %y1 : tensor<8192x4096xf32>
    %s2 = nd.add %s1, %y2 : tensor<8192x4096xf32>
    %s3 = nd.add %s2, %y3 : tensor<8192x4096xf32>
    %s4 = nd.add %s3, %y4 : tensor<8192x4096xf32>
    kernel.yield %s4 : tensor<8192x4096xf32>
  }
  func.return %r : tensor<8192x4096xf32>
}
func.func @doubles(%x: tensor<8192x777xf64>) -> tensor<8192xf64> {
  %r = kernel.fused @doubles reduce (%a = %x : tensor<8192x777xf64>) -> tensor<8192xf64> {
    %m = nd.max %a {axes = [1]} : tensor<8192x777xf64> -> tensor<8192xf64>
    kernel.yield %m : tensor<8192xf64>
  }
  func.return %r : tensor<8192xf64>
}

// The code of two consumer groups stays in an SM: erf takes thrice the instructions of a sigmoid.
// CHECK:      @sigmoids matmul config<tile = {m = 128, n = 192, k = 64}, {{.*}} schedule = "pingpong"
// CHECK:      @erfs matmul config<tile = {m = 128, n = 128, k = 64}, {{.*}} schedule = "pingpong"
func.func @sigmoids(%x: tensor<8192x768xbf16>, %w: tensor<768x3072xbf16>) -> tensor<8192x3072xbf16> {
  %r = kernel.fused @sigmoids matmul (%a = %x : tensor<8192x768xbf16>, %b = %w : tensor<768x3072xbf16>) -> tensor<8192x3072xbf16> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<8192x768xbf16>, tensor<768x3072xbf16>) -> tensor<8192x3072xf32>
    %h = nd.constant 0.70710677 : tensor<8192x3072xf32>
    %s = nd.mul %p, %h : tensor<8192x3072xf32>
    %e = nd.sigmoid %s : tensor<8192x3072xf32>
    %o = nd.constant 1.0 : tensor<8192x3072xf32>
    %q = nd.add %e, %o : tensor<8192x3072xf32>
    %g = nd.mul %p, %q : tensor<8192x3072xf32>
    %c = nd.cast %g : tensor<8192x3072xf32> -> tensor<8192x3072xbf16>
    kernel.yield %c : tensor<8192x3072xbf16>
  }
  func.return %r : tensor<8192x3072xbf16>
}
func.func @erfs(%x: tensor<8192x768xbf16>, %w: tensor<768x3072xbf16>) -> tensor<8192x3072xbf16> {
  %r = kernel.fused @erfs matmul (%a = %x : tensor<8192x768xbf16>, %b = %w : tensor<768x3072xbf16>) -> tensor<8192x3072xbf16> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<8192x768xbf16>, tensor<768x3072xbf16>) -> tensor<8192x3072xf32>
    %h = nd.constant 0.70710677 : tensor<8192x3072xf32>
    %s = nd.mul %p, %h : tensor<8192x3072xf32>
    %e = nd.erf %s : tensor<8192x3072xf32>
    %o = nd.constant 1.0 : tensor<8192x3072xf32>
    %q = nd.add %e, %o : tensor<8192x3072xf32>
    %g = nd.mul %p, %q : tensor<8192x3072xf32>
    %c = nd.cast %g : tensor<8192x3072xf32> -> tensor<8192x3072xbf16>
    kernel.yield %c : tensor<8192x3072xbf16>
  }
  func.return %r : tensor<8192x3072xbf16>
}

// A norm's weights take registers: fewer blocks share an SM, and none spills.
// CHECK:      @weighted reduce config<tile = {d = 4, r = 1024}, warps = 8, schedule = "grid", reduction = "persistent", occupancy = 6>
// CHECK:      @plain reduce config<tile = {d = 4, r = 1024}, warps = 8, schedule = "grid", reduction = "persistent", occupancy = 8>
func.func @weighted(%x: tensor<8192x768xbf16>, %w: tensor<768xf32>) -> tensor<8192x768xbf16> {
  %r = kernel.fused @weighted reduce (%a = %x : tensor<8192x768xbf16>, %b = %w : tensor<768xf32>) -> tensor<8192x768xbf16> {
    %f = nd.cast %a : tensor<8192x768xbf16> -> tensor<8192x768xf32>
    %m = nd.max %f {axes = [1]} : tensor<8192x768xf32> -> tensor<8192xf32>
    %n = nd.broadcast %m {dims = [0]} : tensor<8192xf32> -> tensor<8192x768xf32>
    %y = nd.sub %f, %n : tensor<8192x768xf32>
    %d = nd.broadcast %b {dims = [1]} : tensor<768xf32> -> tensor<8192x768xf32>
    %o = nd.mul %y, %d : tensor<8192x768xf32>
    %c = nd.cast %o : tensor<8192x768xf32> -> tensor<8192x768xbf16>
    kernel.yield %c : tensor<8192x768xbf16>
  }
  func.return %r : tensor<8192x768xbf16>
}
func.func @plain(%x: tensor<8192x768xbf16>) -> tensor<8192x768xbf16> {
  %r = kernel.fused @plain reduce (%a = %x : tensor<8192x768xbf16>) -> tensor<8192x768xbf16> {
    %f = nd.cast %a : tensor<8192x768xbf16> -> tensor<8192x768xf32>
    %m = nd.max %f {axes = [1]} : tensor<8192x768xf32> -> tensor<8192xf32>
    %n = nd.broadcast %m {dims = [0]} : tensor<8192xf32> -> tensor<8192x768xf32>
    %y = nd.sub %f, %n : tensor<8192x768xf32>
    %o = nd.abs %y : tensor<8192x768xf32>
    %c = nd.cast %o : tensor<8192x768xf32> -> tensor<8192x768xbf16>
    kernel.yield %c : tensor<8192x768xbf16>
  }
  func.return %r : tensor<8192x768xbf16>
}

// Long rows that are read again and stored: so few of them are on the way that the L2 keeps them. Where only the sums
// are stored they are read once.
// CHECK:      @normalized reduce config<tile = {d = 1, r = 4096}, warps = 16, {{.*}}reduction = "looped"
func.func @normalized(%x: tensor<8192x50257xbf16>) -> tensor<8192x50257xf32> {
  %r = kernel.fused @normalized reduce (%a = %x : tensor<8192x50257xbf16>) -> tensor<8192x50257xf32> {
    %c = nd.cast %a : tensor<8192x50257xbf16> -> tensor<8192x50257xf32>
    %d = nd.sum %c {axes = [1]} : tensor<8192x50257xf32> -> tensor<8192xf32>
    %e = nd.broadcast %d {dims = [0]} : tensor<8192xf32> -> tensor<8192x50257xf32>
    %f = nd.sub %c, %e : tensor<8192x50257xf32>
    kernel.yield %f : tensor<8192x50257xf32>
  }
  func.return %r : tensor<8192x50257xf32>
}

// CHECK:      @summed reduce config<tile = {d = 1, r = 2048}, warps = 8, {{.*}}reduction = "looped"
func.func @summed(%x: tensor<8192x50257xbf16>) -> tensor<8192xf32> {
  %r = kernel.fused @summed reduce (%a = %x : tensor<8192x50257xbf16>) -> tensor<8192xf32> {
    %c = nd.cast %a : tensor<8192x50257xbf16> -> tensor<8192x50257xf32>
    %d = nd.sum %c {axes = [1]} : tensor<8192x50257xf32> -> tensor<8192xf32>
    kernel.yield %d : tensor<8192xf32>
  }
  func.return %r : tensor<8192xf32>
}

// Of rows that no such number of blocks keeps there, as many as ever.
// CHECK:      @longer reduce config<tile = {d = 1, r = 1024}, warps = 8, {{.*}}reduction = "looped"
func.func @longer(%x: tensor<8192x200000xf32>) -> tensor<8192x200000xf32> {
  %r = kernel.fused @longer reduce (%a = %x : tensor<8192x200000xf32>) -> tensor<8192x200000xf32> {
    %d = nd.sum %a {axes = [1]} : tensor<8192x200000xf32> -> tensor<8192xf32>
    %e = nd.broadcast %d {dims = [0]} : tensor<8192xf32> -> tensor<8192x200000xf32>
    %f = nd.sub %a, %e : tensor<8192x200000xf32>
    kernel.yield %f : tensor<8192x200000xf32>
  }
  func.return %r : tensor<8192x200000xf32>
}

// A cascade: 128 rows, and as many columns of a step as registers and shared memory hold.
// CHECK:      @cascade cascade config<tile = {m = 128, k = 128}, stages = 2, warps = 8, schedule = "persistent", indexing = "tma", instruction = "wgmma">
// SM80:       @cascade cascade config<tile = {m = 64, k = 64}, stages = 2, warps = 4, schedule = "grid", instruction = "mma">
// FMA:        @cascade cascade config<{{.*}}instruction = "fma">
func.func @cascade(%x: tensor<4096x128xbf16>, %w: tensor<448x128xbf16>) -> tensor<4096x128xf32> {
  %r = kernel.fused @cascade cascade (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<448x128xbf16>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<448x128xbf16>) -> tensor<4096x448xf32>
    %d = nd.cast %c : tensor<4096x448xf32> -> tensor<4096x448xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x448xbf16>, tensor<448x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// 64 columns of the result leave registers for three warp groups, where few rows are left over.
// CHECK:      @narrow cascade config<tile = {m = 192, k = 128}, stages = 2, warps = 12, schedule = "persistent", split = 4, indexing = "tma", instruction = "wgmma", turns = true>
func.func @narrow(%x: tensor<4096x64xbf16>, %w: tensor<2048x64xbf16>) -> tensor<4096x64xf32> {
  %r = kernel.fused @narrow cascade (%a = %x : tensor<4096x64xbf16>, %b = %w : tensor<2048x64xbf16>) -> tensor<4096x64xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x64xbf16>, tensor<2048x64xbf16>) -> tensor<4096x2048xf32>
    %d = nd.cast %c : tensor<4096x2048xf32> -> tensor<4096x2048xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x2048xbf16>, tensor<2048x64xbf16>) -> tensor<4096x64xf32>
    kernel.yield %e : tensor<4096x64xf32>
  }
  func.return %r : tensor<4096x64xf32>
}

// Blocks of one warp group share an SM where each has few steps.
// CHECK:      @side_by_side cascade config<tile = {m = 64, k = 128}, stages = 2, warps = 4, schedule = "persistent", split = 4, occupancy = 2, indexing = "tma", instruction = "wgmma">
func.func @side_by_side(%x: tensor<4096x64xbf16>, %w: tensor<1024x64xbf16>) -> tensor<4096x64xf32> {
  %r = kernel.fused @side_by_side cascade (%a = %x : tensor<4096x64xbf16>, %b = %w : tensor<1024x64xbf16>) -> tensor<4096x64xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x64xbf16>, tensor<1024x64xbf16>) -> tensor<4096x1024xf32>
    %d = nd.cast %c : tensor<4096x1024xf32> -> tensor<4096x1024xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x1024xbf16>, tensor<1024x64xbf16>) -> tensor<4096x64xf32>
    kernel.yield %e : tensor<4096x64xf32>
  }
  func.return %r : tensor<4096x64xf32>
}

// CHECK:      @three_masked cascade config<tile = {m = 64, k = 64}, stages = 2, warps = 4, schedule = "dynamic", group = 128, split = 4, occupancy = 3, indexing = "tma", instruction = "wgmma">
func.func @three_masked(%x: tensor<4096x64xbf16>, %w: tensor<1024x64xbf16>, %seen: tensor<4096x1024xi1>) -> tensor<4096x64xf32> {
  %r = kernel.fused @three_masked cascade (%a = %x : tensor<4096x64xbf16>, %b = %w : tensor<1024x64xbf16>, %m = %seen : tensor<4096x1024xi1>) -> tensor<4096x64xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x64xbf16>, tensor<1024x64xbf16>) -> tensor<4096x1024xf32>
    %z = nd.constant 0.0 : tensor<4096x1024xf32>
    %s = nd.where %m, %c, %z : (tensor<4096x1024xi1>, tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
    %d = nd.cast %s : tensor<4096x1024xf32> -> tensor<4096x1024xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x1024xbf16>, tensor<1024x64xbf16>) -> tensor<4096x64xf32>
    kernel.yield %e : tensor<4096x64xf32>
  }
  func.return %r : tensor<4096x64xf32>
}

// With more steps blocks of two warp groups load less for each row. A third one gains nothing beside a mask.
// CHECK:      @two_masked cascade config<tile = {m = 128, k = 128}, stages = 2, warps = 8, schedule = "dynamic", group = 32, split = 4, indexing = "tma", instruction = "wgmma">
func.func @two_masked(%x: tensor<4096x64xbf16>, %w: tensor<4096x64xbf16>, %seen: tensor<4096x4096xi1>) -> tensor<4096x64xf32> {
  %r = kernel.fused @two_masked cascade (%a = %x : tensor<4096x64xbf16>, %b = %w : tensor<4096x64xbf16>, %m = %seen : tensor<4096x4096xi1>) -> tensor<4096x64xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x64xbf16>, tensor<4096x64xbf16>) -> tensor<4096x4096xf32>
    %z = nd.constant 0.0 : tensor<4096x4096xf32>
    %s = nd.where %m, %c, %z : (tensor<4096x4096xi1>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %d = nd.cast %s : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
    kernel.yield %e : tensor<4096x64xf32>
  }
  func.return %r : tensor<4096x64xf32>
}

// With a mask, rows may have more columns than others: blocks take tiles as they come to them, batches of 16 MB of right
// operands together.
// CHECK:      @masked cascade config<tile = {m = 128, k = 128}, stages = 2, warps = 8, schedule = "dynamic", group = 16, split = 4, indexing = "tma", instruction = "wgmma">
func.func @masked(%x: tensor<4096x128xbf16>, %w: tensor<4096x128xbf16>, %seen: tensor<4096x4096xi1>) -> tensor<4096x128xf32> {
  %r = kernel.fused @masked cascade (%a = %x : tensor<4096x128xbf16>, %b = %w : tensor<4096x128xbf16>, %m = %seen : tensor<4096x4096xi1>) -> tensor<4096x128xf32> {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<4096x128xbf16>, tensor<4096x128xbf16>) -> tensor<4096x4096xf32>
    %z = nd.constant 0.0 : tensor<4096x4096xf32>
    %s = nd.where %m, %c, %z : (tensor<4096x4096xi1>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %d = nd.cast %s : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
    %e = nd.matmul %d, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x128xbf16>) -> tensor<4096x128xf32>
    kernel.yield %e : tensor<4096x128xf32>
  }
  func.return %r : tensor<4096x128xf32>
}

// Few rows: parts of the columns keep SMs busy, 16 of each of 8 heads, with 64 rows of which 16 are there.
// CHECK:      @few cascade config<tile = {m = 64, k = 128}, stages = 2, warps = 4, schedule = "persistent", split = 16, indexing = "tma", instruction = "wgmma">
func.func @few(%x: tensor<8x16x128xbf16>, %w: tensor<8x65536x128xbf16>) -> tensor<8x16x128xf32> {
  %r = kernel.fused @few cascade (%a = %x : tensor<8x16x128xbf16>, %b = %w : tensor<8x65536x128xbf16>) -> tensor<8x16x128xf32> {
    %c = nd.matmul %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<8x16x128xbf16>, tensor<8x65536x128xbf16>) -> tensor<8x16x65536xf32>
    %d = nd.cast %c : tensor<8x16x65536xf32> -> tensor<8x16x65536xbf16>
    %e = nd.matmul %d, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<8x16x65536xbf16>, tensor<8x65536x128xbf16>) -> tensor<8x16x128xf32>
    kernel.yield %e : tensor<8x16x128xf32>
  }
  func.return %r : tensor<8x16x128xf32>
}

// Vectors that a product of f8 reads behind it come by TMA, four stages ahead; those that one of bf16 reads do not.
// CHECK:      @scaled matmul config<tile = {m = 128, n = 192, k = 128}, {{.*}}schedule = "persistent", {{.*}}load_stages = 4>
func.func @scaled(%x: tensor<8192x8192xf8E4M3FN>, %w: tensor<8192x8192xf8E4M3FN>, %s: tensor<8192xf32>) -> tensor<8192x8192xbf16> {
  %r = kernel.fused @scaled matmul (%a = %x : tensor<8192x8192xf8E4M3FN>, %b = %w : tensor<8192x8192xf8E4M3FN>, %c = %s : tensor<8192xf32>) -> tensor<8192x8192xbf16> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<8192x8192xf8E4M3FN>, tensor<8192x8192xf8E4M3FN>) -> tensor<8192x8192xf32>
    %v = nd.broadcast %c {dims = [1]} : tensor<8192xf32> -> tensor<8192x8192xf32>
    %q = nd.mul %p, %v : tensor<8192x8192xf32>
    %y = nd.cast %q : tensor<8192x8192xf32> -> tensor<8192x8192xbf16>
    kernel.yield %y : tensor<8192x8192xbf16>
  }
  func.return %r : tensor<8192x8192xbf16>
}

// CHECK:      @biased_product matmul config<
// CHECK-NOT:  load_stages
func.func @biased_product(%x: tensor<8192x8192xbf16>, %w: tensor<8192x8192xbf16>, %s: tensor<8192xf32>) -> tensor<8192x8192xbf16> {
  %r = kernel.fused @biased_product matmul (%a = %x : tensor<8192x8192xbf16>, %b = %w : tensor<8192x8192xbf16>, %c = %s : tensor<8192xf32>) -> tensor<8192x8192xbf16> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [1]} : (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xf32>
    %v = nd.broadcast %c {dims = [1]} : tensor<8192xf32> -> tensor<8192x8192xf32>
    %q = nd.add %p, %v : tensor<8192x8192xf32>
    %y = nd.cast %q : tensor<8192x8192xf32> -> tensor<8192x8192xbf16>
    kernel.yield %y : tensor<8192x8192xbf16>
  }
  func.return %r : tensor<8192x8192xbf16>
}
