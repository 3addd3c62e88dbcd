// The gated product sigmoid(x @ w1 + b1) * (x @ w2 + b2) at 4096, as one persistent kernel on clusters of two blocks: a producer thread loads
// tiles by TMA into a channel of four stages, two warp groups of 64 rows multiply. One m64n256 wgmma has w1's 128 columns and w2's.
// RUN: irc-opt %s | filecheck %s
// RUN: irc-opt %s -t cuda | filecheck %s --check-prefix=SOURCE

// CHECK: cuda.kernel @gating
// SOURCE-NOT: #include
// SOURCE: DEVICE void wgmma_256_16_f32_bf16_bf16_shared_K_MN(void* accumulator, long long lhs, long long rhs, bool accumulate) {
// SOURCE: setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// SOURCE-NEXT: {{%0, %1, .*, %127}, %128, %129, p, 1, 1, 0, 1; }}
// SOURCE: extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)
// SOURCE-NEXT: gating(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap w1,
// SOURCE: extern __shared__ __align__(1024) unsigned char shared_memory[];
// SOURCE: if (producer) {
// SOURCE: asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
// SOURCE: tma_load_multicast_2d(w1, b, full_barrier, 3, k0, n0);
// SOURCE: #pragma unroll
// SOURCE: for (int kk = 0; kk < 4; kk += 1) {
// SOURCE: wgmma_256_16_f32_bf16_bf16_shared_K_MN(acc, {{.*}});
// SOURCE: stmatrix_x4({{.*}}, packed);
cuda.kernel @gating(
    %x: !cuda.tensor_map<bf16, [4096, 4096], box [128, 64], swizzle 128>,
    %w1: !cuda.tensor_map<bf16, [4096, 4096], box [64, 64], swizzle 128>,
    %w2: !cuda.tensor_map<bf16, [4096, 4096], box [64, 64], swizzle 128>,
    %out: !cuda.tensor_map<bf16, [4096, 4096], box [64, 64], swizzle 128>,
    %b1: !cuda.ptr<bf16>, %b2: !cuda.ptr<bf16>
  ) grid [132, 1, 1] block 384 cluster [2, 1, 1] shared 229440 min_blocks 1 operands [0, 1, 3, 5, 2, 4] writes [0, 0, 0, 1, 0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %s0 = arith.constant 0 : i32
  %s1 = arith.constant 1 : i32
  %s2 = arith.constant 2 : i32
  %s3 = arith.constant 3 : i32
  %s4 = arith.constant 4 : i32
  %s5 = arith.constant 5 : i32
  %s7 = arith.constant 7 : i32
  %s8 = arith.constant 8 : i32
  %s16 = arith.constant 16 : i32
  %s31 = arith.constant 31 : i32
  %s64 = arith.constant 64 : i32
  %s127 = arith.constant 127 : i32
  %s128 = arith.constant 128 : i32
  %s8192 = arith.constant 8192 : i32
  %s16384 = arith.constant 16384 : i32
  %s32768 = arith.constant 32768 : i32
  %d2 = arith.constant 2 : i64
  %d128 = arith.constant 128 : i64
  %one = arith.constant 1.0 : f32
  %row_tiles = arith.constant 16 : i32
  %tiles = arith.constant 512 : i32
  %per_group = arith.constant 256 : i32
  %k_steps = arith.constant 64 : i32

  %A = cuda.shared {offset = 0 : i64, align = 1024 : i64}
  %B = cuda.shared {offset = 65536 : i64, align = 1024 : i64}
  %C = cuda.shared {offset = 196608 : i64, align = 1024 : i64}
  %full = cuda.shared {offset = 229376 : i64}
  %empty = cuda.shared {offset = 229408 : i64}
  %thread = cuda.thread_id
  %t = arith.index_cast %thread : index to i32
  %t128 = arith.divsi %t, %s128 : i32
  %group = cuda.warp_uniform %t128 : i32
  %rank_index = cuda.cluster_rank
  %rank = arith.index_cast %rank_index : index to i32
  %first_thread = arith.cmpi eq, %t, %s0 : i32
  scf.if %first_thread {
    scf.for %i = %s0 to %s4 step %s1 : i32 {
      %i8 = arith.muli %i, %s8 overflow<nsw> : i32
      %f = arith.addi %full, %i8 overflow<nsw> : i32
      %e = arith.addi %empty, %i8 overflow<nsw> : i32
      cuda.barrier_init %f {count = 1 : i64}
      cuda.barrier_init %e {count = 4 : i64}
    }
    cuda.fence_barrier_init
  }
  cuda.cluster_sync
  %block_index = cuda.block_id
  %block = arith.index_cast %block_index : index to i32
  %grid = arith.constant 132 : i32
  %first = arith.divsi %block, %s2 : i32
  %step = arith.divsi %grid, %s2 : i32
  %producer = arith.cmpi eq, %group, %s0 : i32
  scf.if %producer {
    cuda.set_registers {count = 40 : i64, grow = false}
    scf.if %first_thread {
      %last_stage, %last_phase = scf.for %tile = %first to %tiles step %step iter_args(%tile_stage = %s0, %tile_phase = %s1) -> (i32, i32) : i32 {
        %g = arith.divsi %tile, %per_group : i32
        %r = arith.remsi %tile, %per_group : i32
        %g8 = arith.muli %g, %s8 overflow<nsw> : i32
        %rm = arith.remsi %r, %s8 : i32
        %mi = arith.addi %g8, %rm overflow<nsw> : i32
        %mi2 = arith.muli %mi, %s2 overflow<nsw> : i32
        %mir = arith.addi %mi2, %rank overflow<nsw> : i32
        %m0 = arith.muli %mir, %s128 overflow<nsw> : i32
        %ni = arith.divsi %r, %s8 : i32
        %n0 = arith.muli %ni, %s128 overflow<nsw> : i32
        %next_stage, %next_phase = scf.for %k = %s0 to %k_steps step %s1 iter_args(%stage = %tile_stage, %phase = %tile_phase) -> (i32, i32) : i32 {
          %stage8 = arith.muli %stage, %s8 overflow<nsw> : i32
          %full_barrier = arith.addi %full, %stage8 overflow<nsw> : i32
          %empty_barrier = arith.addi %empty, %stage8 overflow<nsw> : i32
          cuda.barrier_wait %empty_barrier, %phase
          cuda.barrier_expect %full_barrier {bytes = 49152 : i64}
          %k0 = arith.muli %k, %s64 overflow<nsw> : i32
          %sa = arith.muli %stage, %s16384 overflow<nsw> : i32
          %a = arith.addi %A, %sa overflow<nsw> : i32
          cuda.tma_load %x[%m0, %k0] -> %a, %full_barrier : !cuda.tensor_map<bf16, [4096, 4096], box [128, 64], swizzle 128>
          %sb = arith.muli %stage, %s32768 overflow<nsw> : i32
          %b = arith.addi %B, %sb overflow<nsw> : i32
          %n64 = arith.addi %n0, %s64 overflow<nsw> : i32
          %is_first = arith.cmpi eq, %rank, %s0 : i32
          scf.if %is_first {
            %b_1 = arith.addi %b, %s8192 overflow<nsw> : i32
            cuda.tma_load %w1[%k0, %n0] -> %b, %full_barrier multicast %s3 : !cuda.tensor_map<bf16, [4096, 4096], box [64, 64], swizzle 128>
            cuda.tma_load %w1[%k0, %n64] -> %b_1, %full_barrier multicast %s3 : !cuda.tensor_map<bf16, [4096, 4096], box [64, 64], swizzle 128>
          } else {
            %b_2 = arith.addi %b, %s16384 overflow<nsw> : i32
            %b_3 = arith.addi %b_2, %s8192 overflow<nsw> : i32
            cuda.tma_load %w2[%k0, %n0] -> %b_2, %full_barrier multicast %s3 : !cuda.tensor_map<bf16, [4096, 4096], box [64, 64], swizzle 128>
            cuda.tma_load %w2[%k0, %n64] -> %b_3, %full_barrier multicast %s3 : !cuda.tensor_map<bf16, [4096, 4096], box [64, 64], swizzle 128>
          }
          %later = arith.addi %stage, %s1 overflow<nsw> : i32
          %wraps = arith.cmpi eq, %later, %s4 : i32
          %wrapped = arith.select %wraps, %s0, %later : i32
          %flipped = arith.xori %phase, %s1 : i32
          %turned = arith.select %wraps, %flipped, %phase : i32
          scf.yield %wrapped, %turned : i32, i32
        } {unroll = 1 : i64}
        scf.yield %next_stage, %next_phase : i32, i32
      }
      %drained_stage, %drained_phase = scf.for %i = %s0 to %s4 step %s1 iter_args(%stage = %last_stage, %phase = %last_phase) -> (i32, i32) : i32 {
        %stage8 = arith.muli %stage, %s8 overflow<nsw> : i32
        %empty_barrier = arith.addi %empty, %stage8 overflow<nsw> : i32
        cuda.barrier_wait %empty_barrier, %phase
        %later = arith.addi %stage, %s1 overflow<nsw> : i32
        %wraps = arith.cmpi eq, %later, %s4 : i32
        %wrapped = arith.select %wraps, %s0, %later : i32
        %flipped = arith.xori %phase, %s1 : i32
        %turned = arith.select %wraps, %flipped, %phase : i32
        scf.yield %wrapped, %turned : i32, i32
      }
    }
  } else {
    cuda.set_registers {count = 232 : i64, grow = true}
    %consumer = arith.subi %group, %s1 overflow<nsw> : i32
    %lane = arith.andi %t, %s31 : i32
    %member = arith.andi %t, %s127 : i32
    %warp = arith.shrsi %member, %s5 : i32
    %leads = arith.cmpi eq, %member, %s0 : i32
    %releases = arith.cmpi slt, %member, %s2 : i32
    %acc = cuda.registers : !cuda.registers<128 x f32>
    %my_a = arith.muli %consumer, %s8192 overflow<nsw> : i32
    %my_c = arith.muli %consumer, %s16384 overflow<nsw> : i32
    %barrier_id = arith.addi %consumer, %s1 overflow<nsw> : i32
    %e0, %e1, %e2 = scf.for %tile = %first to %tiles step %step iter_args(%tile_stage = %s0, %tile_phase = %s0, %tile_released = %s0) -> (i32, i32, i32) : i32 {
      %g = arith.divsi %tile, %per_group : i32
      %r = arith.remsi %tile, %per_group : i32
      %g8 = arith.muli %g, %s8 overflow<nsw> : i32
      %rm = arith.remsi %r, %s8 : i32
      %mi = arith.addi %g8, %rm overflow<nsw> : i32
      %mi2 = arith.muli %mi, %s2 overflow<nsw> : i32
      %mir = arith.addi %mi2, %rank overflow<nsw> : i32
      %m0 = arith.muli %mir, %s128 overflow<nsw> : i32
      %ni = arith.divsi %r, %s8 : i32
      %n0 = arith.muli %ni, %s128 overflow<nsw> : i32
      %next_stage, %next_phase, %next_released = scf.for %k = %s0 to %k_steps step %s1 iter_args(%stage = %tile_stage, %phase = %tile_phase, %released = %tile_released) -> (i32, i32, i32) : i32 {
        %stage8 = arith.muli %stage, %s8 overflow<nsw> : i32
        %full_barrier = arith.addi %full, %stage8 overflow<nsw> : i32
        cuda.barrier_wait %full_barrier, %phase
        cuda.registers_fence %acc : !cuda.registers<128 x f32>
        cuda.wgmma_fence
        %sa = arith.muli %stage, %s16384 overflow<nsw> : i32
        %a_stage = arith.addi %A, %sa overflow<nsw> : i32
        %a = arith.addi %a_stage, %my_a overflow<nsw> : i32
        %sb = arith.muli %stage, %s32768 overflow<nsw> : i32
        %b = arith.addi %B, %sb overflow<nsw> : i32
        %da = cuda.descriptor %a {leading = 16 : i64, stride = 1024 : i64}
        %db = cuda.descriptor %b {leading = 8192 : i64, stride = 1024 : i64}
        scf.for %kk = %s0 to %s4 step %s1 : i32 {
          %kk64 = arith.extsi %kk : i32 to i64
          %a_offset = arith.muli %kk64, %d2 overflow<nsw> : i64
          %b_offset = arith.muli %kk64, %d128 overflow<nsw> : i64
          %da_k = arith.addi %da, %a_offset overflow<nsw> : i64
          %db_k = arith.addi %db, %b_offset overflow<nsw> : i64
          %accumulate = arith.ori %k, %kk : i32
          cuda.wgmma %acc[%c0], %da_k, %db_k, %accumulate {n = 256 : i64, k = 16 : i64, lhs_type = bf16, rhs_type = bf16, transpose_rhs = true} : !cuda.registers<128 x f32>, i32
        } {unroll}
        cuda.wgmma_commit
        cuda.wgmma_wait {pending = 1 : i64}
        cuda.registers_fence %acc : !cuda.registers<128 x f32>
        %has_earlier = arith.cmpi sgt, %k, %s0 : i32
        %after = scf.if %has_earlier -> (i32) {
          scf.if %releases {
            %released8 = arith.muli %released, %s8 overflow<nsw> : i32
            %empty_barrier = arith.addi %empty, %released8 overflow<nsw> : i32
            cuda.barrier_arrive_cluster %empty_barrier, %member
          }
          %following = arith.addi %released, %s1 overflow<nsw> : i32
          %ends = arith.cmpi eq, %following, %s4 : i32
          %chosen = arith.select %ends, %s0, %following : i32
          scf.yield %chosen : i32
        } else {
          scf.yield %released : i32
        }
        %later = arith.addi %stage, %s1 overflow<nsw> : i32
        %wraps = arith.cmpi eq, %later, %s4 : i32
        %wrapped = arith.select %wraps, %s0, %later : i32
        %flipped = arith.xori %phase, %s1 : i32
        %turned = arith.select %wraps, %flipped, %phase : i32
        scf.yield %wrapped, %turned, %after : i32, i32, i32
      }
      cuda.wgmma_wait
      cuda.registers_fence %acc : !cuda.registers<128 x f32>
      scf.if %releases {
        %released8 = arith.muli %next_released, %s8 overflow<nsw> : i32
        %empty_barrier = arith.addi %empty, %released8 overflow<nsw> : i32
        cuda.barrier_arrive_cluster %empty_barrier, %member
      }
      %following = arith.addi %next_released, %s1 overflow<nsw> : i32
      %ends = arith.cmpi eq, %following, %s4 : i32
      %released_after = arith.select %ends, %s0, %following : i32
      scf.for %subtile = %c0 to %c2 step %c1 {
        %subtile_number = arith.index_cast %subtile : index to i32
        %subtile_bytes = arith.muli %subtile_number, %s8192 overflow<nsw> : i32
        %mine = arith.addi %C, %my_c overflow<nsw> : i32
        %staging = arith.addi %mine, %subtile_bytes overflow<nsw> : i32
        scf.if %leads {
          cuda.tma_store_wait {pending = 1 : i64, read = true}
        }
        cuda.named_sync %barrier_id {threads = 128 : i64}
        %subtile64 = arith.muli %subtile_number, %s64 overflow<nsw> : i32
        %column = arith.addi %n0, %subtile64 overflow<nsw> : i32
        %column_index = arith.index_cast %column : i32 to index
        %lane3 = arith.andi %lane, %s3 : i32
        %lane_pair = arith.muli %lane3, %s2 overflow<nsw> : i32
        %lane_column = arith.index_cast %lane_pair : i32 to index
        %thread_column = arith.addi %column_index, %lane_column : index
        %subtile32 = arith.muli %subtile, %c32 : index
        scf.for %j = %c0 to %c4 step %c1 {
          %packed = cuda.registers : !cuda.registers<8 x bf16>
          %bias1 = cuda.registers : !cuda.registers<2 x bf16>
          %bias2 = cuda.registers : !cuda.registers<2 x bf16>
          %j8 = arith.muli %j, %c8 : index
          %j16 = arith.muli %j, %c16 : index
          %first_value = arith.addi %subtile32, %j8 : index
          %first_column = arith.addi %thread_column, %j16 : index
          scf.for %half = %c0 to %c2 step %c1 {
            %half8 = arith.muli %half, %c8 : index
            %at = arith.addi %first_column, %half8 : index
            cuda.load %b1[%at] -> %bias1[%c0] {count = 2 : i64} : !cuda.ptr<bf16> -> !cuda.registers<2 x bf16>
            cuda.load %b2[%at] -> %bias2[%c0] {count = 2 : i64} : !cuda.ptr<bf16> -> !cuda.registers<2 x bf16>
            %half4 = arith.muli %half, %c4 : index
            scf.for %q = %c0 to %c4 step %c1 {
              %value = arith.addi %half4, %q : index
              %i1 = arith.addi %first_value, %value : index
              %i2 = arith.addi %i1, %c64 : index
              %odd = arith.remsi %q, %c2 : index
              %x1 = cuda.get %acc[%i1] : !cuda.registers<128 x f32>
              %x2 = cuda.get %acc[%i2] : !cuda.registers<128 x f32>
              %p1 = cuda.get %bias1[%odd] : !cuda.registers<2 x bf16>
              %p2 = cuda.get %bias2[%odd] : !cuda.registers<2 x bf16>
              %p1f = arith.extf %p1 : bf16 to f32
              %p2f = arith.extf %p2 : bf16 to f32
              %h1 = arith.addf %x1, %p1f : f32
              %h2 = arith.addf %x2, %p2f : f32
              %negated = arith.negf %h1 : f32
              %exponential = math.exp %negated fastmath<fast> : f32
              %denominator = arith.addf %one, %exponential : f32
              %sigmoid = arith.divf %one, %denominator fastmath<fast> : f32
              %gated = arith.mulf %sigmoid, %h2 : f32
              %rounded = arith.truncf %gated : f32 to bf16
              cuda.set %packed[%value], %rounded : !cuda.registers<8 x bf16>
            } {unroll}
          } {unroll}
          %lane_high = arith.shrsi %lane, %s3 : i32
          %lane_bit = arith.andi %lane_high, %s1 : i32
          %lane_rows = arith.muli %lane_bit, %s8 overflow<nsw> : i32
          %lane7 = arith.andi %lane, %s7 : i32
          %warp16 = arith.muli %warp, %s16 overflow<nsw> : i32
          %row0 = arith.addi %warp16, %lane_rows overflow<nsw> : i32
          %row = arith.addi %row0, %lane7 overflow<nsw> : i32
          %j_number = arith.index_cast %j : index to i32
          %j2 = arith.muli %j_number, %s2 overflow<nsw> : i32
          %lane4 = arith.shrsi %lane, %s4 : i32
          %chunk = arith.addi %j2, %lane4 overflow<nsw> : i32
          %row7 = arith.andi %row, %s7 : i32
          %swizzled = arith.xori %chunk, %row7 : i32
          %row_bytes = arith.muli %row, %s128 overflow<nsw> : i32
          %chunk_bytes = arith.muli %swizzled, %s16 overflow<nsw> : i32
          %offset = arith.addi %row_bytes, %chunk_bytes overflow<nsw> : i32
          %address = arith.addi %staging, %offset overflow<nsw> : i32
          cuda.stmatrix %packed[%c0], %address : !cuda.registers<8 x bf16>
        } {unroll}
        cuda.fence_proxy_async
        cuda.named_sync %barrier_id {threads = 128 : i64}
        %consumer64 = arith.muli %consumer, %s64 overflow<nsw> : i32
        %first_row = arith.addi %m0, %consumer64 overflow<nsw> : i32
        scf.if %leads {
          cuda.tma_store %staging -> %out[%first_row, %column] : !cuda.tensor_map<bf16, [4096, 4096], box [64, 64], swizzle 128>
          cuda.tma_store_commit
        }
      } {unroll}
      scf.yield %next_stage, %next_phase, %released_after : i32, i32, i32
    }
    scf.if %leads {
      cuda.tma_store_wait {read = true}
    }
  }
  cuda.return
}
