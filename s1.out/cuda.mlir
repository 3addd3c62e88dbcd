builtin.module {
  cuda.plan @f(%x, %w, %result0, %result1, %result2, %result3) : (tensor<3001x70xbf16>, tensor<3001xf32>) -> (tensor<70xf32>, tensor<f32>, tensor<70xf32>, tensor<i32>) streams 3 {
    %arena = cuda.arena : !cuda.buffer<27648>
    %0 = cuda.buffer %arena {offset = 26112 : i64} : !cuda.buffer<27648> -> !cuda.buffer<280>
    %1 = cuda.buffer %arena {offset = 0 : i64} : !cuda.buffer<27648> -> !cuda.buffer<12880>
    %2 = cuda.buffer %arena {offset = 26624 : i64} : !cuda.buffer<27648> -> !cuda.buffer<280>
    %3 = cuda.buffer %arena {offset = 13056 : i64} : !cuda.buffer<27648> -> !cuda.buffer<12880>
    %4 = cuda.buffer %arena {offset = 27392 : i64} : !cuda.buffer<27648> -> !cuda.buffer<4>
    %5 = cuda.buffer %arena {offset = 27136 : i64} : !cuda.buffer<27648> -> !cuda.buffer<100>
    cuda.launch @f_0(%x, %0, %1, %2, %3) : (!cuda.buffer<420140>, !cuda.buffer<280>, !cuda.buffer<12880>, !cuda.buffer<280>, !cuda.buffer<12880>)
    cuda.launch @f_0_finish(%1, %0, %3, %2, %result0, %result2) : (!cuda.buffer<12880>, !cuda.buffer<280>, !cuda.buffer<12880>, !cuda.buffer<280>, !cuda.buffer<280>, !cuda.buffer<280>)
    cuda.launch @f_1(%x, %4, %5) {stream = 1 : i64} : (!cuda.buffer<420140>, !cuda.buffer<4>, !cuda.buffer<100>)
    cuda.launch @f_1_finish(%5, %4, %result1) {stream = 1 : i64} : (!cuda.buffer<100>, !cuda.buffer<4>, !cuda.buffer<4>)
    cuda.record {event = 0 : i64, stream = 1 : i64}
    cuda.launch @f_2(%w, %result3) {stream = 2 : i64} : (!cuda.buffer<12004>, !cuda.buffer<4>)
    cuda.record {event = 1 : i64, stream = 2 : i64}
    cuda.wait {event = 1 : i64}
    cuda.wait {event = 0 : i64}
    cuda.return
  }
  cuda.kernel @f_0(%x: !cuda.ptr<bf16>, %0: !cuda.ptr<f32>, %1: !cuda.ptr<f32>, %2: !cuda.ptr<f32>, %3: !cuda.ptr<f32>) grid [47, 1, 1] block 256 shared 4096 operands [0, 1, 2, 3, 4] writes [0, 1, 1, 1, 1] {
    %thread = cuda.thread_id
    %block = cuda.block_id
    %4 = arith.constant 0 : index
    %5 = arith.cmpi sge, %block, %4 : index
    %6 = arith.constant 1 : index
    %7 = arith.cmpi slt, %block, %6 : index
    %8 = arith.andi %5, %7 : i1
    scf.if %8 {
      %9 = arith.constant 7 : index
      %10 = arith.shli %block, %9 : index
      %11 = arith.constant 0.000000e+00 : f32
      %12 = arith.constant 0xff800000 : f32
      %13 = cuda.registers : !cuda.registers<8 x f32>
      %14 = arith.constant 0 : index
      %15 = arith.constant 4 : index
      %16 = arith.constant 1 : index
      scf.for %v1 = %14 to %15 step %16 {
        %17 = arith.constant 0 : index
        %18 = arith.constant 2 : index
        %19 = arith.constant 1 : index
        scf.for %v0 = %17 to %18 step %19 {
          %20 = arith.constant 1 : index
          %21 = arith.shli %v1, %20 : index
          %22 = arith.addi %v0, %21 : index
          cuda.set %13[%22], %11 : !cuda.registers<8 x f32>
        } {unroll}
      } {unroll}
      %23 = cuda.registers : !cuda.registers<8 x f32>
      scf.for %v1_1 = %14 to %15 step %16 {
        %24 = arith.constant 0 : index
        %25 = arith.constant 2 : index
        %26 = arith.constant 1 : index
        scf.for %v0_1 = %24 to %25 step %26 {
          %27 = arith.constant 1 : index
          %28 = arith.shli %v1_1, %27 : index
          %29 = arith.addi %v0_1, %28 : index
          cuda.set %23[%29], %12 : !cuda.registers<8 x f32>
        } {unroll}
      } {unroll}
      %30 = arith.constant 57 : index
      %31 = arith.constant 16 : index
      scf.for %i = %14 to %30 step %31 {
        %32 = cuda.registers : !cuda.registers<8 x bf16>
        %33 = arith.constant 0.000000e+00 : bf16
        %34 = arith.constant 0 : index
        %35 = arith.constant 4 : index
        %36 = arith.constant 1 : index
        scf.for %v1_2 = %34 to %35 step %36 {
          %37 = arith.constant 63 : index
          %38 = arith.andi %thread, %37 : index
          %39 = arith.constant 6 : index
          %40 = arith.shrui %thread, %39 : index
          %41 = arith.constant 1 : index
          %42 = arith.shli %38, %41 : index
          %43 = arith.constant 2 : index
          %44 = arith.shli %v1_2, %43 : index
          %45 = arith.addi %40, %44 : index
          %46 = arith.addi %10, %42 : index
          %47 = arith.addi %i, %45 : index
          %48 = arith.constant 2944 : index
          %49 = arith.addi %47, %48 : index
          %50 = arith.constant 70 : index
          %51 = arith.muli %49, %50 : index
          %52 = arith.constant 3001 : index
          %53 = arith.cmpi slt, %49, %52 : index
          %54 = arith.addi %51, %46 : index
          %55 = arith.cmpi slt, %46, %50 : index
          %56 = arith.shli %v1_2, %41 : index
          %57 = arith.andi %53, %55 : i1
          scf.if %57 {
            cuda.load %x[%54] -> %32[%56] {count = 2 : i64, cache = "read_only"} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
          } else {
            cuda.set %32[%56], %33 : !cuda.registers<8 x bf16>
            %58 = arith.constant 1 : index
            %59 = arith.addi %56, %58 : index
            cuda.set %32[%59], %33 : !cuda.registers<8 x bf16>
          }
        } {unroll}
        %60 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v1_3 = %34 to %35 step %36 {
          %61 = arith.constant 0 : index
          %62 = arith.constant 2 : index
          %63 = arith.constant 1 : index
          scf.for %v0_2 = %61 to %62 step %63 {
            %64 = arith.constant 1 : index
            %65 = arith.shli %v1_3, %64 : index
            %66 = arith.addi %v0_2, %65 : index
            %67 = cuda.get %32[%66] : !cuda.registers<8 x bf16>
            %68 = arith.constant 63 : index
            %69 = arith.andi %thread, %68 : index
            %70 = arith.constant 6 : index
            %71 = arith.shrui %thread, %70 : index
            %72 = arith.constant 2 : index
            %73 = arith.shli %v1_3, %72 : index
            %74 = arith.addi %71, %73 : index
            %75 = arith.addi %i, %74 : index
            %76 = arith.extf %67 : bf16 to f32
            %77 = arith.constant 57 : index
            %78 = arith.cmpi slt, %75, %77 : index
            %79 = arith.select %78, %76, %11 : f32
            %80 = arith.shli %v1_3, %64 : index
            %81 = arith.addi %v0_2, %80 : index
            cuda.set %60[%81], %79 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        %82 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v1_4 = %34 to %35 step %36 {
          %83 = arith.constant 0 : index
          %84 = arith.constant 2 : index
          %85 = arith.constant 1 : index
          scf.for %v0_3 = %83 to %84 step %85 {
            %86 = arith.constant 1 : index
            %87 = arith.shli %v1_4, %86 : index
            %88 = arith.addi %v0_3, %87 : index
            %89 = cuda.get %32[%88] : !cuda.registers<8 x bf16>
            %90 = arith.constant 63 : index
            %91 = arith.andi %thread, %90 : index
            %92 = arith.constant 6 : index
            %93 = arith.shrui %thread, %92 : index
            %94 = arith.constant 2 : index
            %95 = arith.shli %v1_4, %94 : index
            %96 = arith.addi %93, %95 : index
            %97 = arith.addi %i, %96 : index
            %98 = arith.extf %89 : bf16 to f32
            %99 = arith.constant 57 : index
            %100 = arith.cmpi slt, %97, %99 : index
            %101 = arith.select %100, %98, %12 : f32
            %102 = arith.shli %v1_4, %86 : index
            %103 = arith.addi %v0_3, %102 : index
            cuda.set %82[%103], %101 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        %104 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v1_5 = %34 to %35 step %36 {
          %105 = arith.constant 0 : index
          %106 = arith.constant 2 : index
          %107 = arith.constant 1 : index
          scf.for %v0_4 = %105 to %106 step %107 {
            %108 = arith.constant 1 : index
            %109 = arith.shli %v1_5, %108 : index
            %110 = arith.addi %v0_4, %109 : index
            %111 = cuda.get %13[%110] : !cuda.registers<8 x f32>
            %112 = arith.shli %v1_5, %108 : index
            %113 = arith.addi %v0_4, %112 : index
            %114 = cuda.get %60[%113] : !cuda.registers<8 x f32>
            %115 = arith.addf %111, %114 : f32
            %116 = arith.shli %v1_5, %108 : index
            %117 = arith.addi %v0_4, %116 : index
            cuda.set %104[%117], %115 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        %118 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v1_6 = %34 to %35 step %36 {
          %119 = arith.constant 0 : index
          %120 = arith.constant 2 : index
          %121 = arith.constant 1 : index
          scf.for %v0_5 = %119 to %120 step %121 {
            %122 = arith.constant 1 : index
            %123 = arith.shli %v1_6, %122 : index
            %124 = arith.addi %v0_5, %123 : index
            %125 = cuda.get %23[%124] : !cuda.registers<8 x f32>
            %126 = arith.shli %v1_6, %122 : index
            %127 = arith.addi %v0_5, %126 : index
            %128 = cuda.get %82[%127] : !cuda.registers<8 x f32>
            %129 = arith.maximumf %125, %128 : f32
            %130 = arith.shli %v1_6, %122 : index
            %131 = arith.addi %v0_5, %130 : index
            cuda.set %118[%131], %129 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        scf.for %v1_7 = %34 to %35 step %36 {
          %132 = arith.constant 0 : index
          %133 = arith.constant 2 : index
          %134 = arith.constant 1 : index
          scf.for %v0_6 = %132 to %133 step %134 {
            %135 = arith.constant 1 : index
            %136 = arith.shli %v1_7, %135 : index
            %137 = arith.addi %v0_6, %136 : index
            %138 = cuda.get %104[%137] : !cuda.registers<8 x f32>
            %139 = arith.shli %v1_7, %135 : index
            %140 = arith.addi %v0_6, %139 : index
            cuda.set %13[%140], %138 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        scf.for %v1_8 = %34 to %35 step %36 {
          %141 = arith.constant 0 : index
          %142 = arith.constant 2 : index
          %143 = arith.constant 1 : index
          scf.for %v0_7 = %141 to %142 step %143 {
            %144 = arith.constant 1 : index
            %145 = arith.shli %v1_8, %144 : index
            %146 = arith.addi %v0_7, %145 : index
            %147 = cuda.get %118[%146] : !cuda.registers<8 x f32>
            %148 = arith.shli %v1_8, %144 : index
            %149 = arith.addi %v0_7, %148 : index
            cuda.set %23[%149], %147 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
      } {unroll = 4 : i64}
      %150 = cuda.registers : !cuda.registers<2 x f32>
      %151 = arith.constant 2 : index
      scf.for %v0_8 = %14 to %151 step %16 {
        %152 = cuda.get %13[%v0_8] : !cuda.registers<8 x f32>
        cuda.set %150[%v0_8], %152 : !cuda.registers<2 x f32>
      } {unroll}
      scf.for %v0_9 = %14 to %151 step %16 {
        %153 = arith.constant 1 : index
        %154 = arith.constant 4 : index
        scf.for %r = %153 to %154 step %153 {
          %155 = arith.constant 1 : index
          %156 = arith.shli %r, %155 : index
          %157 = arith.addi %v0_9, %156 : index
          %158 = cuda.get %13[%157] : !cuda.registers<8 x f32>
          %159 = cuda.get %150[%v0_9] : !cuda.registers<2 x f32>
          %160 = arith.addf %159, %158 : f32
          cuda.set %150[%v0_9], %160 : !cuda.registers<2 x f32>
        } {unroll}
      } {unroll}
      %161 = arith.constant 6 : index
      %162 = arith.shrui %thread, %161 : index
      %163 = arith.constant 3 : index
      %164 = arith.andi %162, %163 : index
      scf.for %v0_10 = %14 to %151 step %16 {
        %165 = arith.constant 63 : index
        %166 = arith.andi %thread, %165 : index
        %167 = arith.constant 6 : index
        %168 = arith.shrui %thread, %167 : index
        %169 = arith.constant 1 : index
        %170 = arith.shli %166, %169 : index
        %171 = arith.addi %170, %v0_10 : index
        %172 = arith.constant 7 : index
        %173 = arith.shli %164, %172 : index
        %174 = arith.addi %173, %171 : index
        %175 = cuda.shared {offset = 0 : i64}
        %176 = arith.index_cast %175 : i32 to index
        %177 = arith.constant 2 : index
        %178 = arith.shli %174, %177 : index
        %179 = arith.addi %176, %178 : index
        %180 = arith.index_cast %179 : index to i32
        cuda.shared_store %150[%v0_10], %180 : !cuda.registers<2 x f32>
      } {unroll}
      cuda.sync
      scf.for %v0_11 = %14 to %151 step %16 {
        %181 = arith.constant 63 : index
        %182 = arith.andi %thread, %181 : index
        %183 = arith.constant 6 : index
        %184 = arith.shrui %thread, %183 : index
        %185 = arith.constant 1 : index
        %186 = arith.shli %182, %185 : index
        %187 = arith.addi %186, %v0_11 : index
        %188 = cuda.shared {offset = 0 : i64}
        %189 = arith.index_cast %188 : i32 to index
        %190 = arith.constant 2 : index
        %191 = arith.shli %187, %190 : index
        %192 = arith.addi %189, %191 : index
        %193 = arith.index_cast %192 : index to i32
        cuda.shared_load %193 -> %150[%v0_11] : !cuda.registers<2 x f32>
        %194 = arith.constant 4 : index
        scf.for %w = %185 to %194 step %185 {
          %195 = cuda.registers : !cuda.registers<1 x f32>
          %196 = arith.constant 7 : index
          %197 = arith.shli %w, %196 : index
          %198 = arith.addi %197, %187 : index
          %199 = cuda.shared {offset = 0 : i64}
          %200 = arith.index_cast %199 : i32 to index
          %201 = arith.constant 2 : index
          %202 = arith.shli %198, %201 : index
          %203 = arith.addi %200, %202 : index
          %204 = arith.index_cast %203 : index to i32
          %205 = arith.constant 0 : index
          cuda.shared_load %204 -> %195[%205] : !cuda.registers<1 x f32>
          %206 = cuda.get %195[%205] : !cuda.registers<1 x f32>
          %207 = cuda.get %150[%v0_11] : !cuda.registers<2 x f32>
          %208 = arith.addf %207, %206 : f32
          cuda.set %150[%v0_11], %208 : !cuda.registers<2 x f32>
        } {unroll}
      } {unroll}
      %209 = cuda.registers : !cuda.registers<2 x f32>
      scf.for %v0_12 = %14 to %151 step %16 {
        %210 = cuda.get %23[%v0_12] : !cuda.registers<8 x f32>
        cuda.set %209[%v0_12], %210 : !cuda.registers<2 x f32>
      } {unroll}
      scf.for %v0_13 = %14 to %151 step %16 {
        %211 = arith.constant 1 : index
        %212 = arith.constant 4 : index
        scf.for %r_1 = %211 to %212 step %211 {
          %213 = arith.constant 1 : index
          %214 = arith.shli %r_1, %213 : index
          %215 = arith.addi %v0_13, %214 : index
          %216 = cuda.get %23[%215] : !cuda.registers<8 x f32>
          %217 = cuda.get %209[%v0_13] : !cuda.registers<2 x f32>
          %218 = arith.maximumf %217, %216 : f32
          cuda.set %209[%v0_13], %218 : !cuda.registers<2 x f32>
        } {unroll}
      } {unroll}
      %219 = arith.shrui %thread, %161 : index
      %220 = arith.andi %219, %163 : index
      scf.for %v0_14 = %14 to %151 step %16 {
        %221 = arith.constant 63 : index
        %222 = arith.andi %thread, %221 : index
        %223 = arith.constant 6 : index
        %224 = arith.shrui %thread, %223 : index
        %225 = arith.constant 1 : index
        %226 = arith.shli %222, %225 : index
        %227 = arith.addi %226, %v0_14 : index
        %228 = arith.constant 7 : index
        %229 = arith.shli %220, %228 : index
        %230 = arith.addi %229, %227 : index
        %231 = cuda.shared {offset = 2048 : i64}
        %232 = arith.index_cast %231 : i32 to index
        %233 = arith.constant 2 : index
        %234 = arith.shli %230, %233 : index
        %235 = arith.addi %232, %234 : index
        %236 = arith.index_cast %235 : index to i32
        cuda.shared_store %209[%v0_14], %236 : !cuda.registers<2 x f32>
      } {unroll}
      cuda.sync
      scf.for %v0_15 = %14 to %151 step %16 {
        %237 = arith.constant 63 : index
        %238 = arith.andi %thread, %237 : index
        %239 = arith.constant 6 : index
        %240 = arith.shrui %thread, %239 : index
        %241 = arith.constant 1 : index
        %242 = arith.shli %238, %241 : index
        %243 = arith.addi %242, %v0_15 : index
        %244 = cuda.shared {offset = 2048 : i64}
        %245 = arith.index_cast %244 : i32 to index
        %246 = arith.constant 2 : index
        %247 = arith.shli %243, %246 : index
        %248 = arith.addi %245, %247 : index
        %249 = arith.index_cast %248 : index to i32
        cuda.shared_load %249 -> %209[%v0_15] : !cuda.registers<2 x f32>
        %250 = arith.constant 4 : index
        scf.for %w_1 = %241 to %250 step %241 {
          %251 = cuda.registers : !cuda.registers<1 x f32>
          %252 = arith.constant 7 : index
          %253 = arith.shli %w_1, %252 : index
          %254 = arith.addi %253, %243 : index
          %255 = cuda.shared {offset = 2048 : i64}
          %256 = arith.index_cast %255 : i32 to index
          %257 = arith.constant 2 : index
          %258 = arith.shli %254, %257 : index
          %259 = arith.addi %256, %258 : index
          %260 = arith.index_cast %259 : index to i32
          %261 = arith.constant 0 : index
          cuda.shared_load %260 -> %251[%261] : !cuda.registers<1 x f32>
          %262 = cuda.get %251[%261] : !cuda.registers<1 x f32>
          %263 = cuda.get %209[%v0_15] : !cuda.registers<2 x f32>
          %264 = arith.maximumf %263, %262 : f32
          cuda.set %209[%v0_15], %264 : !cuda.registers<2 x f32>
        } {unroll}
      } {unroll}
      %265 = arith.constant 63 : index
      %266 = arith.andi %thread, %265 : index
      %267 = arith.shrui %thread, %161 : index
      %268 = arith.cmpi eq, %267, %14 : index
      scf.if %268 {
        %269 = arith.constant 63 : index
        %270 = arith.andi %thread, %269 : index
        %271 = arith.constant 6 : index
        %272 = arith.shrui %thread, %271 : index
        %273 = arith.constant 1 : index
        %274 = arith.shli %270, %273 : index
        %275 = arith.addi %10, %274 : index
        %276 = arith.constant 70 : index
        %277 = arith.cmpi slt, %275, %276 : index
        %278 = arith.constant 0 : index
        scf.if %277 {
          cuda.store %150[%278], %0[%275] {count = 2 : i64} : !cuda.registers<2 x f32> -> !cuda.ptr<f32>
        }
      }
      %279 = arith.andi %thread, %265 : index
      %280 = arith.shrui %thread, %161 : index
      %281 = arith.cmpi eq, %280, %14 : index
      scf.if %281 {
        %282 = arith.constant 63 : index
        %283 = arith.andi %thread, %282 : index
        %284 = arith.constant 6 : index
        %285 = arith.shrui %thread, %284 : index
        %286 = arith.constant 1 : index
        %287 = arith.shli %283, %286 : index
        %288 = arith.addi %10, %287 : index
        %289 = arith.constant 70 : index
        %290 = arith.cmpi slt, %288, %289 : index
        %291 = arith.constant 0 : index
        scf.if %290 {
          cuda.store %209[%291], %2[%288] {count = 2 : i64} : !cuda.registers<2 x f32> -> !cuda.ptr<f32>
        }
      }
    }
    %block_1 = cuda.block_id
    %292 = arith.cmpi sge, %block_1, %6 : index
    %293 = arith.constant 47 : index
    %294 = arith.cmpi slt, %block_1, %293 : index
    %295 = arith.andi %292, %294 : i1
    %296 = arith.subi %block_1, %6 : index
    scf.if %295 {
      %297 = arith.constant 0.000000e+00 : f32
      %298 = arith.constant 0xff800000 : f32
      %299 = cuda.registers : !cuda.registers<8 x f32>
      %300 = arith.constant 0 : index
      %301 = arith.constant 4 : index
      %302 = arith.constant 1 : index
      scf.for %v1_9 = %300 to %301 step %302 {
        %303 = arith.constant 0 : index
        %304 = arith.constant 2 : index
        %305 = arith.constant 1 : index
        scf.for %v0_16 = %303 to %304 step %305 {
          %306 = arith.constant 1 : index
          %307 = arith.shli %v1_9, %306 : index
          %308 = arith.addi %v0_16, %307 : index
          cuda.set %299[%308], %297 : !cuda.registers<8 x f32>
        } {unroll}
      } {unroll}
      %309 = cuda.registers : !cuda.registers<8 x f32>
      scf.for %v1_10 = %300 to %301 step %302 {
        %310 = arith.constant 0 : index
        %311 = arith.constant 2 : index
        %312 = arith.constant 1 : index
        scf.for %v0_17 = %310 to %311 step %312 {
          %313 = arith.constant 1 : index
          %314 = arith.shli %v1_10, %313 : index
          %315 = arith.addi %v0_17, %314 : index
          cuda.set %309[%315], %298 : !cuda.registers<8 x f32>
        } {unroll}
      } {unroll}
      %316 = arith.constant 64 : index
      %317 = arith.constant 16 : index
      scf.for %i_1 = %300 to %316 step %317 {
        %318 = cuda.registers : !cuda.registers<8 x bf16>
        %319 = arith.constant 0.000000e+00 : bf16
        %320 = arith.constant 0 : index
        %321 = arith.constant 4 : index
        %322 = arith.constant 1 : index
        scf.for %v1_11 = %320 to %321 step %322 {
          %323 = arith.constant 63 : index
          %324 = arith.andi %thread, %323 : index
          %325 = arith.constant 6 : index
          %326 = arith.shrui %thread, %325 : index
          %327 = arith.constant 1 : index
          %328 = arith.shli %324, %327 : index
          %329 = arith.constant 2 : index
          %330 = arith.shli %v1_11, %329 : index
          %331 = arith.addi %326, %330 : index
          %332 = arith.addi %i_1, %331 : index
          %333 = arith.shli %296, %325 : index
          %334 = arith.addi %333, %332 : index
          %335 = arith.constant 70 : index
          %336 = arith.muli %334, %335 : index
          %337 = arith.addi %336, %328 : index
          %338 = arith.cmpi slt, %328, %335 : index
          %339 = arith.shli %v1_11, %327 : index
          scf.if %338 {
            cuda.load %x[%337] -> %318[%339] {count = 2 : i64, cache = "read_only"} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
          } else {
            cuda.set %318[%339], %319 : !cuda.registers<8 x bf16>
            %340 = arith.constant 1 : index
            %341 = arith.addi %339, %340 : index
            cuda.set %318[%341], %319 : !cuda.registers<8 x bf16>
          }
        } {unroll}
        %342 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v1_12 = %320 to %321 step %322 {
          %343 = arith.constant 0 : index
          %344 = arith.constant 2 : index
          %345 = arith.constant 1 : index
          scf.for %v0_18 = %343 to %344 step %345 {
            %346 = arith.constant 1 : index
            %347 = arith.shli %v1_12, %346 : index
            %348 = arith.addi %v0_18, %347 : index
            %349 = cuda.get %318[%348] : !cuda.registers<8 x bf16>
            %350 = arith.extf %349 : bf16 to f32
            %351 = arith.shli %v1_12, %346 : index
            %352 = arith.addi %v0_18, %351 : index
            cuda.set %342[%352], %350 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        %353 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v1_13 = %320 to %321 step %322 {
          %354 = arith.constant 0 : index
          %355 = arith.constant 2 : index
          %356 = arith.constant 1 : index
          scf.for %v0_19 = %354 to %355 step %356 {
            %357 = arith.constant 1 : index
            %358 = arith.shli %v1_13, %357 : index
            %359 = arith.addi %v0_19, %358 : index
            %360 = cuda.get %299[%359] : !cuda.registers<8 x f32>
            %361 = arith.shli %v1_13, %357 : index
            %362 = arith.addi %v0_19, %361 : index
            %363 = cuda.get %342[%362] : !cuda.registers<8 x f32>
            %364 = arith.addf %360, %363 : f32
            %365 = arith.shli %v1_13, %357 : index
            %366 = arith.addi %v0_19, %365 : index
            cuda.set %353[%366], %364 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        %367 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v1_14 = %320 to %321 step %322 {
          %368 = arith.constant 0 : index
          %369 = arith.constant 2 : index
          %370 = arith.constant 1 : index
          scf.for %v0_20 = %368 to %369 step %370 {
            %371 = arith.constant 1 : index
            %372 = arith.shli %v1_14, %371 : index
            %373 = arith.addi %v0_20, %372 : index
            %374 = cuda.get %309[%373] : !cuda.registers<8 x f32>
            %375 = arith.shli %v1_14, %371 : index
            %376 = arith.addi %v0_20, %375 : index
            %377 = cuda.get %342[%376] : !cuda.registers<8 x f32>
            %378 = arith.maximumf %374, %377 : f32
            %379 = arith.shli %v1_14, %371 : index
            %380 = arith.addi %v0_20, %379 : index
            cuda.set %367[%380], %378 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        scf.for %v1_15 = %320 to %321 step %322 {
          %381 = arith.constant 0 : index
          %382 = arith.constant 2 : index
          %383 = arith.constant 1 : index
          scf.for %v0_21 = %381 to %382 step %383 {
            %384 = arith.constant 1 : index
            %385 = arith.shli %v1_15, %384 : index
            %386 = arith.addi %v0_21, %385 : index
            %387 = cuda.get %353[%386] : !cuda.registers<8 x f32>
            %388 = arith.shli %v1_15, %384 : index
            %389 = arith.addi %v0_21, %388 : index
            cuda.set %299[%389], %387 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        scf.for %v1_16 = %320 to %321 step %322 {
          %390 = arith.constant 0 : index
          %391 = arith.constant 2 : index
          %392 = arith.constant 1 : index
          scf.for %v0_22 = %390 to %391 step %392 {
            %393 = arith.constant 1 : index
            %394 = arith.shli %v1_16, %393 : index
            %395 = arith.addi %v0_22, %394 : index
            %396 = cuda.get %367[%395] : !cuda.registers<8 x f32>
            %397 = arith.shli %v1_16, %393 : index
            %398 = arith.addi %v0_22, %397 : index
            cuda.set %309[%398], %396 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
      } {unroll = 4 : i64}
      %399 = cuda.registers : !cuda.registers<2 x f32>
      %400 = arith.constant 2 : index
      scf.for %v0_23 = %300 to %400 step %302 {
        %401 = cuda.get %299[%v0_23] : !cuda.registers<8 x f32>
        cuda.set %399[%v0_23], %401 : !cuda.registers<2 x f32>
      } {unroll}
      scf.for %v0_24 = %300 to %400 step %302 {
        %402 = arith.constant 1 : index
        %403 = arith.constant 4 : index
        scf.for %r_2 = %402 to %403 step %402 {
          %404 = arith.constant 1 : index
          %405 = arith.shli %r_2, %404 : index
          %406 = arith.addi %v0_24, %405 : index
          %407 = cuda.get %299[%406] : !cuda.registers<8 x f32>
          %408 = cuda.get %399[%v0_24] : !cuda.registers<2 x f32>
          %409 = arith.addf %408, %407 : f32
          cuda.set %399[%v0_24], %409 : !cuda.registers<2 x f32>
        } {unroll}
      } {unroll}
      %410 = arith.constant 6 : index
      %411 = arith.shrui %thread, %410 : index
      %412 = arith.constant 3 : index
      %413 = arith.andi %411, %412 : index
      scf.for %v0_25 = %300 to %400 step %302 {
        %414 = arith.constant 63 : index
        %415 = arith.andi %thread, %414 : index
        %416 = arith.constant 6 : index
        %417 = arith.shrui %thread, %416 : index
        %418 = arith.constant 1 : index
        %419 = arith.shli %415, %418 : index
        %420 = arith.addi %419, %v0_25 : index
        %421 = arith.constant 7 : index
        %422 = arith.shli %413, %421 : index
        %423 = arith.addi %422, %420 : index
        %424 = cuda.shared {offset = 0 : i64}
        %425 = arith.index_cast %424 : i32 to index
        %426 = arith.constant 2 : index
        %427 = arith.shli %423, %426 : index
        %428 = arith.addi %425, %427 : index
        %429 = arith.index_cast %428 : index to i32
        cuda.shared_store %399[%v0_25], %429 : !cuda.registers<2 x f32>
      } {unroll}
      cuda.sync
      scf.for %v0_26 = %300 to %400 step %302 {
        %430 = arith.constant 63 : index
        %431 = arith.andi %thread, %430 : index
        %432 = arith.constant 6 : index
        %433 = arith.shrui %thread, %432 : index
        %434 = arith.constant 1 : index
        %435 = arith.shli %431, %434 : index
        %436 = arith.addi %435, %v0_26 : index
        %437 = cuda.shared {offset = 0 : i64}
        %438 = arith.index_cast %437 : i32 to index
        %439 = arith.constant 2 : index
        %440 = arith.shli %436, %439 : index
        %441 = arith.addi %438, %440 : index
        %442 = arith.index_cast %441 : index to i32
        cuda.shared_load %442 -> %399[%v0_26] : !cuda.registers<2 x f32>
        %443 = arith.constant 4 : index
        scf.for %w_2 = %434 to %443 step %434 {
          %444 = cuda.registers : !cuda.registers<1 x f32>
          %445 = arith.constant 7 : index
          %446 = arith.shli %w_2, %445 : index
          %447 = arith.addi %446, %436 : index
          %448 = cuda.shared {offset = 0 : i64}
          %449 = arith.index_cast %448 : i32 to index
          %450 = arith.constant 2 : index
          %451 = arith.shli %447, %450 : index
          %452 = arith.addi %449, %451 : index
          %453 = arith.index_cast %452 : index to i32
          %454 = arith.constant 0 : index
          cuda.shared_load %453 -> %444[%454] : !cuda.registers<1 x f32>
          %455 = cuda.get %444[%454] : !cuda.registers<1 x f32>
          %456 = cuda.get %399[%v0_26] : !cuda.registers<2 x f32>
          %457 = arith.addf %456, %455 : f32
          cuda.set %399[%v0_26], %457 : !cuda.registers<2 x f32>
        } {unroll}
      } {unroll}
      %458 = cuda.registers : !cuda.registers<2 x f32>
      scf.for %v0_27 = %300 to %400 step %302 {
        %459 = cuda.get %309[%v0_27] : !cuda.registers<8 x f32>
        cuda.set %458[%v0_27], %459 : !cuda.registers<2 x f32>
      } {unroll}
      scf.for %v0_28 = %300 to %400 step %302 {
        %460 = arith.constant 1 : index
        %461 = arith.constant 4 : index
        scf.for %r_3 = %460 to %461 step %460 {
          %462 = arith.constant 1 : index
          %463 = arith.shli %r_3, %462 : index
          %464 = arith.addi %v0_28, %463 : index
          %465 = cuda.get %309[%464] : !cuda.registers<8 x f32>
          %466 = cuda.get %458[%v0_28] : !cuda.registers<2 x f32>
          %467 = arith.maximumf %466, %465 : f32
          cuda.set %458[%v0_28], %467 : !cuda.registers<2 x f32>
        } {unroll}
      } {unroll}
      %468 = arith.shrui %thread, %410 : index
      %469 = arith.andi %468, %412 : index
      scf.for %v0_29 = %300 to %400 step %302 {
        %470 = arith.constant 63 : index
        %471 = arith.andi %thread, %470 : index
        %472 = arith.constant 6 : index
        %473 = arith.shrui %thread, %472 : index
        %474 = arith.constant 1 : index
        %475 = arith.shli %471, %474 : index
        %476 = arith.addi %475, %v0_29 : index
        %477 = arith.constant 7 : index
        %478 = arith.shli %469, %477 : index
        %479 = arith.addi %478, %476 : index
        %480 = cuda.shared {offset = 2048 : i64}
        %481 = arith.index_cast %480 : i32 to index
        %482 = arith.constant 2 : index
        %483 = arith.shli %479, %482 : index
        %484 = arith.addi %481, %483 : index
        %485 = arith.index_cast %484 : index to i32
        cuda.shared_store %458[%v0_29], %485 : !cuda.registers<2 x f32>
      } {unroll}
      cuda.sync
      scf.for %v0_30 = %300 to %400 step %302 {
        %486 = arith.constant 63 : index
        %487 = arith.andi %thread, %486 : index
        %488 = arith.constant 6 : index
        %489 = arith.shrui %thread, %488 : index
        %490 = arith.constant 1 : index
        %491 = arith.shli %487, %490 : index
        %492 = arith.addi %491, %v0_30 : index
        %493 = cuda.shared {offset = 2048 : i64}
        %494 = arith.index_cast %493 : i32 to index
        %495 = arith.constant 2 : index
        %496 = arith.shli %492, %495 : index
        %497 = arith.addi %494, %496 : index
        %498 = arith.index_cast %497 : index to i32
        cuda.shared_load %498 -> %458[%v0_30] : !cuda.registers<2 x f32>
        %499 = arith.constant 4 : index
        scf.for %w_3 = %490 to %499 step %490 {
          %500 = cuda.registers : !cuda.registers<1 x f32>
          %501 = arith.constant 7 : index
          %502 = arith.shli %w_3, %501 : index
          %503 = arith.addi %502, %492 : index
          %504 = cuda.shared {offset = 2048 : i64}
          %505 = arith.index_cast %504 : i32 to index
          %506 = arith.constant 2 : index
          %507 = arith.shli %503, %506 : index
          %508 = arith.addi %505, %507 : index
          %509 = arith.index_cast %508 : index to i32
          %510 = arith.constant 0 : index
          cuda.shared_load %509 -> %500[%510] : !cuda.registers<1 x f32>
          %511 = cuda.get %500[%510] : !cuda.registers<1 x f32>
          %512 = cuda.get %458[%v0_30] : !cuda.registers<2 x f32>
          %513 = arith.maximumf %512, %511 : f32
          cuda.set %458[%v0_30], %513 : !cuda.registers<2 x f32>
        } {unroll}
      } {unroll}
      %514 = arith.constant 63 : index
      %515 = arith.andi %thread, %514 : index
      %516 = arith.shrui %thread, %410 : index
      %517 = arith.cmpi eq, %516, %300 : index
      scf.if %517 {
        %518 = arith.constant 63 : index
        %519 = arith.andi %thread, %518 : index
        %520 = arith.constant 6 : index
        %521 = arith.shrui %thread, %520 : index
        %522 = arith.constant 1 : index
        %523 = arith.shli %519, %522 : index
        %524 = arith.constant 70 : index
        %525 = arith.muli %296, %524 : index
        %526 = arith.addi %525, %523 : index
        %527 = arith.cmpi slt, %523, %524 : index
        %528 = arith.constant 0 : index
        scf.if %527 {
          cuda.store %399[%528], %1[%526] {count = 2 : i64} : !cuda.registers<2 x f32> -> !cuda.ptr<f32>
        }
      }
      %529 = arith.andi %thread, %514 : index
      %530 = arith.shrui %thread, %410 : index
      %531 = arith.cmpi eq, %530, %300 : index
      scf.if %531 {
        %532 = arith.constant 63 : index
        %533 = arith.andi %thread, %532 : index
        %534 = arith.constant 6 : index
        %535 = arith.shrui %thread, %534 : index
        %536 = arith.constant 1 : index
        %537 = arith.shli %533, %536 : index
        %538 = arith.constant 70 : index
        %539 = arith.muli %296, %538 : index
        %540 = arith.addi %539, %537 : index
        %541 = arith.cmpi slt, %537, %538 : index
        %542 = arith.constant 0 : index
        scf.if %541 {
          cuda.store %458[%542], %3[%540] {count = 2 : i64} : !cuda.registers<2 x f32> -> !cuda.ptr<f32>
        }
      }
    }
    cuda.return
  }
  cuda.kernel @f_0_finish(%0: !cuda.ptr<f32>, %1: !cuda.ptr<f32>, %2: !cuda.ptr<f32>, %3: !cuda.ptr<f32>, %4: !cuda.ptr<f32>, %5: !cuda.ptr<f32>) grid [1, 1, 1] block 256 shared 4096 operands [0, 1, 2, 3, 4, 5] writes [0, 0, 0, 0, 1, 1] {
    %thread = cuda.thread_id
    %block = cuda.block_id
    %6 = arith.constant 7 : index
    %7 = arith.shli %block, %6 : index
    %8 = arith.constant 0.000000e+00 : f32
    %9 = arith.constant 0xff800000 : f32
    %10 = cuda.registers : !cuda.registers<4 x f32>
    %11 = arith.constant 0 : index
    %12 = arith.constant 2 : index
    %13 = arith.constant 1 : index
    scf.for %v1 = %11 to %12 step %13 {
      %14 = arith.constant 0 : index
      %15 = arith.constant 2 : index
      %16 = arith.constant 1 : index
      scf.for %v0 = %14 to %15 step %16 {
        %17 = arith.constant 1 : index
        %18 = arith.shli %v1, %17 : index
        %19 = arith.addi %v0, %18 : index
        cuda.set %10[%19], %8 : !cuda.registers<4 x f32>
      } {unroll}
    } {unroll}
    %20 = cuda.registers : !cuda.registers<4 x f32>
    scf.for %v1_1 = %11 to %12 step %13 {
      %21 = arith.constant 0 : index
      %22 = arith.constant 2 : index
      %23 = arith.constant 1 : index
      scf.for %v0_1 = %21 to %22 step %23 {
        %24 = arith.constant 1 : index
        %25 = arith.shli %v1_1, %24 : index
        %26 = arith.addi %v0_1, %25 : index
        cuda.set %20[%26], %9 : !cuda.registers<4 x f32>
      } {unroll}
    } {unroll}
    %27 = arith.constant 46 : index
    %28 = arith.constant 8 : index
    scf.for %i = %11 to %27 step %28 {
      %29 = cuda.registers : !cuda.registers<4 x f32>
      %30 = arith.constant 0.000000e+00 : f32
      %31 = arith.constant 0 : index
      %32 = arith.constant 2 : index
      %33 = arith.constant 1 : index
      scf.for %v1_2 = %31 to %32 step %33 {
        %34 = arith.constant 63 : index
        %35 = arith.andi %thread, %34 : index
        %36 = arith.constant 6 : index
        %37 = arith.shrui %thread, %36 : index
        %38 = arith.constant 1 : index
        %39 = arith.shli %35, %38 : index
        %40 = arith.constant 2 : index
        %41 = arith.shli %v1_2, %40 : index
        %42 = arith.addi %37, %41 : index
        %43 = arith.addi %7, %39 : index
        %44 = arith.addi %i, %42 : index
        %45 = arith.constant 70 : index
        %46 = arith.muli %44, %45 : index
        %47 = arith.constant 46 : index
        %48 = arith.cmpi slt, %44, %47 : index
        %49 = arith.addi %46, %43 : index
        %50 = arith.cmpi slt, %43, %45 : index
        %51 = arith.shli %v1_2, %38 : index
        %52 = arith.andi %48, %50 : i1
        scf.if %52 {
          cuda.load %0[%49] -> %29[%51] {count = 2 : i64, cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
        } else {
          cuda.set %29[%51], %30 : !cuda.registers<4 x f32>
          %53 = arith.constant 1 : index
          %54 = arith.addi %51, %53 : index
          cuda.set %29[%54], %30 : !cuda.registers<4 x f32>
        }
      } {unroll}
      %55 = cuda.registers : !cuda.registers<4 x f32>
      scf.for %v1_3 = %31 to %32 step %33 {
        %56 = arith.constant 0 : index
        %57 = arith.constant 2 : index
        %58 = arith.constant 1 : index
        scf.for %v0_2 = %56 to %57 step %58 {
          %59 = arith.constant 1 : index
          %60 = arith.shli %v1_3, %59 : index
          %61 = arith.addi %v0_2, %60 : index
          %62 = cuda.get %29[%61] : !cuda.registers<4 x f32>
          %63 = arith.constant 63 : index
          %64 = arith.andi %thread, %63 : index
          %65 = arith.constant 6 : index
          %66 = arith.shrui %thread, %65 : index
          %67 = arith.constant 2 : index
          %68 = arith.shli %v1_3, %67 : index
          %69 = arith.addi %66, %68 : index
          %70 = arith.addi %i, %69 : index
          %71 = arith.constant 46 : index
          %72 = arith.cmpi slt, %70, %71 : index
          %73 = arith.select %72, %62, %8 : f32
          %74 = arith.shli %v1_3, %59 : index
          %75 = arith.addi %v0_2, %74 : index
          cuda.set %55[%75], %73 : !cuda.registers<4 x f32>
        } {unroll}
      } {unroll}
      %76 = cuda.registers : !cuda.registers<4 x f32>
      %77 = arith.constant 0.000000e+00 : f32
      scf.for %v1_4 = %31 to %32 step %33 {
        %78 = arith.constant 63 : index
        %79 = arith.andi %thread, %78 : index
        %80 = arith.constant 6 : index
        %81 = arith.shrui %thread, %80 : index
        %82 = arith.constant 1 : index
        %83 = arith.shli %79, %82 : index
        %84 = arith.constant 2 : index
        %85 = arith.shli %v1_4, %84 : index
        %86 = arith.addi %81, %85 : index
        %87 = arith.addi %7, %83 : index
        %88 = arith.addi %i, %86 : index
        %89 = arith.constant 70 : index
        %90 = arith.muli %88, %89 : index
        %91 = arith.constant 46 : index
        %92 = arith.cmpi slt, %88, %91 : index
        %93 = arith.addi %90, %87 : index
        %94 = arith.cmpi slt, %87, %89 : index
        %95 = arith.shli %v1_4, %82 : index
        %96 = arith.andi %92, %94 : i1
        scf.if %96 {
          cuda.load %2[%93] -> %76[%95] {count = 2 : i64, cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
        } else {
          cuda.set %76[%95], %77 : !cuda.registers<4 x f32>
          %97 = arith.constant 1 : index
          %98 = arith.addi %95, %97 : index
          cuda.set %76[%98], %77 : !cuda.registers<4 x f32>
        }
      } {unroll}
      %99 = cuda.registers : !cuda.registers<4 x f32>
      scf.for %v1_5 = %31 to %32 step %33 {
        %100 = arith.constant 0 : index
        %101 = arith.constant 2 : index
        %102 = arith.constant 1 : index
        scf.for %v0_3 = %100 to %101 step %102 {
          %103 = arith.constant 1 : index
          %104 = arith.shli %v1_5, %103 : index
          %105 = arith.addi %v0_3, %104 : index
          %106 = cuda.get %76[%105] : !cuda.registers<4 x f32>
          %107 = arith.constant 63 : index
          %108 = arith.andi %thread, %107 : index
          %109 = arith.constant 6 : index
          %110 = arith.shrui %thread, %109 : index
          %111 = arith.constant 2 : index
          %112 = arith.shli %v1_5, %111 : index
          %113 = arith.addi %110, %112 : index
          %114 = arith.addi %i, %113 : index
          %115 = arith.constant 46 : index
          %116 = arith.cmpi slt, %114, %115 : index
          %117 = arith.select %116, %106, %9 : f32
          %118 = arith.shli %v1_5, %103 : index
          %119 = arith.addi %v0_3, %118 : index
          cuda.set %99[%119], %117 : !cuda.registers<4 x f32>
        } {unroll}
      } {unroll}
      %120 = cuda.registers : !cuda.registers<4 x f32>
      scf.for %v1_6 = %31 to %32 step %33 {
        %121 = arith.constant 0 : index
        %122 = arith.constant 2 : index
        %123 = arith.constant 1 : index
        scf.for %v0_4 = %121 to %122 step %123 {
          %124 = arith.constant 1 : index
          %125 = arith.shli %v1_6, %124 : index
          %126 = arith.addi %v0_4, %125 : index
          %127 = cuda.get %10[%126] : !cuda.registers<4 x f32>
          %128 = arith.shli %v1_6, %124 : index
          %129 = arith.addi %v0_4, %128 : index
          %130 = cuda.get %55[%129] : !cuda.registers<4 x f32>
          %131 = arith.addf %127, %130 : f32
          %132 = arith.shli %v1_6, %124 : index
          %133 = arith.addi %v0_4, %132 : index
          cuda.set %120[%133], %131 : !cuda.registers<4 x f32>
        } {unroll}
      } {unroll}
      %134 = cuda.registers : !cuda.registers<4 x f32>
      scf.for %v1_7 = %31 to %32 step %33 {
        %135 = arith.constant 0 : index
        %136 = arith.constant 2 : index
        %137 = arith.constant 1 : index
        scf.for %v0_5 = %135 to %136 step %137 {
          %138 = arith.constant 1 : index
          %139 = arith.shli %v1_7, %138 : index
          %140 = arith.addi %v0_5, %139 : index
          %141 = cuda.get %20[%140] : !cuda.registers<4 x f32>
          %142 = arith.shli %v1_7, %138 : index
          %143 = arith.addi %v0_5, %142 : index
          %144 = cuda.get %99[%143] : !cuda.registers<4 x f32>
          %145 = arith.maximumf %141, %144 : f32
          %146 = arith.shli %v1_7, %138 : index
          %147 = arith.addi %v0_5, %146 : index
          cuda.set %134[%147], %145 : !cuda.registers<4 x f32>
        } {unroll}
      } {unroll}
      scf.for %v1_8 = %31 to %32 step %33 {
        %148 = arith.constant 0 : index
        %149 = arith.constant 2 : index
        %150 = arith.constant 1 : index
        scf.for %v0_6 = %148 to %149 step %150 {
          %151 = arith.constant 1 : index
          %152 = arith.shli %v1_8, %151 : index
          %153 = arith.addi %v0_6, %152 : index
          %154 = cuda.get %120[%153] : !cuda.registers<4 x f32>
          %155 = arith.shli %v1_8, %151 : index
          %156 = arith.addi %v0_6, %155 : index
          cuda.set %10[%156], %154 : !cuda.registers<4 x f32>
        } {unroll}
      } {unroll}
      scf.for %v1_9 = %31 to %32 step %33 {
        %157 = arith.constant 0 : index
        %158 = arith.constant 2 : index
        %159 = arith.constant 1 : index
        scf.for %v0_7 = %157 to %158 step %159 {
          %160 = arith.constant 1 : index
          %161 = arith.shli %v1_9, %160 : index
          %162 = arith.addi %v0_7, %161 : index
          %163 = cuda.get %134[%162] : !cuda.registers<4 x f32>
          %164 = arith.shli %v1_9, %160 : index
          %165 = arith.addi %v0_7, %164 : index
          cuda.set %20[%165], %163 : !cuda.registers<4 x f32>
        } {unroll}
      } {unroll}
    } {unroll = 4 : i64}
    %166 = cuda.registers : !cuda.registers<2 x f32>
    scf.for %v0_8 = %11 to %12 step %13 {
      %167 = cuda.get %10[%v0_8] : !cuda.registers<4 x f32>
      cuda.set %166[%v0_8], %167 : !cuda.registers<2 x f32>
    } {unroll}
    scf.for %v0_9 = %11 to %12 step %13 {
      %168 = arith.constant 2 : index
      %169 = arith.addi %v0_9, %168 : index
      %170 = cuda.get %10[%169] : !cuda.registers<4 x f32>
      %171 = cuda.get %166[%v0_9] : !cuda.registers<2 x f32>
      %172 = arith.addf %171, %170 : f32
      cuda.set %166[%v0_9], %172 : !cuda.registers<2 x f32>
    } {unroll}
    %173 = arith.constant 6 : index
    %174 = arith.shrui %thread, %173 : index
    %175 = arith.constant 3 : index
    %176 = arith.andi %174, %175 : index
    scf.for %v0_10 = %11 to %12 step %13 {
      %177 = arith.constant 63 : index
      %178 = arith.andi %thread, %177 : index
      %179 = arith.constant 6 : index
      %180 = arith.shrui %thread, %179 : index
      %181 = arith.constant 1 : index
      %182 = arith.shli %178, %181 : index
      %183 = arith.addi %182, %v0_10 : index
      %184 = arith.constant 7 : index
      %185 = arith.shli %176, %184 : index
      %186 = arith.addi %185, %183 : index
      %187 = cuda.shared {offset = 0 : i64}
      %188 = arith.index_cast %187 : i32 to index
      %189 = arith.constant 2 : index
      %190 = arith.shli %186, %189 : index
      %191 = arith.addi %188, %190 : index
      %192 = arith.index_cast %191 : index to i32
      cuda.shared_store %166[%v0_10], %192 : !cuda.registers<2 x f32>
    } {unroll}
    cuda.sync
    scf.for %v0_11 = %11 to %12 step %13 {
      %193 = arith.constant 63 : index
      %194 = arith.andi %thread, %193 : index
      %195 = arith.constant 6 : index
      %196 = arith.shrui %thread, %195 : index
      %197 = arith.constant 1 : index
      %198 = arith.shli %194, %197 : index
      %199 = arith.addi %198, %v0_11 : index
      %200 = cuda.shared {offset = 0 : i64}
      %201 = arith.index_cast %200 : i32 to index
      %202 = arith.constant 2 : index
      %203 = arith.shli %199, %202 : index
      %204 = arith.addi %201, %203 : index
      %205 = arith.index_cast %204 : index to i32
      cuda.shared_load %205 -> %166[%v0_11] : !cuda.registers<2 x f32>
      %206 = arith.constant 4 : index
      scf.for %w = %197 to %206 step %197 {
        %207 = cuda.registers : !cuda.registers<1 x f32>
        %208 = arith.constant 7 : index
        %209 = arith.shli %w, %208 : index
        %210 = arith.addi %209, %199 : index
        %211 = cuda.shared {offset = 0 : i64}
        %212 = arith.index_cast %211 : i32 to index
        %213 = arith.constant 2 : index
        %214 = arith.shli %210, %213 : index
        %215 = arith.addi %212, %214 : index
        %216 = arith.index_cast %215 : index to i32
        %217 = arith.constant 0 : index
        cuda.shared_load %216 -> %207[%217] : !cuda.registers<1 x f32>
        %218 = cuda.get %207[%217] : !cuda.registers<1 x f32>
        %219 = cuda.get %166[%v0_11] : !cuda.registers<2 x f32>
        %220 = arith.addf %219, %218 : f32
        cuda.set %166[%v0_11], %220 : !cuda.registers<2 x f32>
      } {unroll}
    } {unroll}
    %221 = cuda.registers : !cuda.registers<2 x f32>
    scf.for %v0_12 = %11 to %12 step %13 {
      %222 = cuda.get %20[%v0_12] : !cuda.registers<4 x f32>
      cuda.set %221[%v0_12], %222 : !cuda.registers<2 x f32>
    } {unroll}
    scf.for %v0_13 = %11 to %12 step %13 {
      %223 = arith.constant 2 : index
      %224 = arith.addi %v0_13, %223 : index
      %225 = cuda.get %20[%224] : !cuda.registers<4 x f32>
      %226 = cuda.get %221[%v0_13] : !cuda.registers<2 x f32>
      %227 = arith.maximumf %226, %225 : f32
      cuda.set %221[%v0_13], %227 : !cuda.registers<2 x f32>
    } {unroll}
    %228 = arith.shrui %thread, %173 : index
    %229 = arith.andi %228, %175 : index
    scf.for %v0_14 = %11 to %12 step %13 {
      %230 = arith.constant 63 : index
      %231 = arith.andi %thread, %230 : index
      %232 = arith.constant 6 : index
      %233 = arith.shrui %thread, %232 : index
      %234 = arith.constant 1 : index
      %235 = arith.shli %231, %234 : index
      %236 = arith.addi %235, %v0_14 : index
      %237 = arith.constant 7 : index
      %238 = arith.shli %229, %237 : index
      %239 = arith.addi %238, %236 : index
      %240 = cuda.shared {offset = 2048 : i64}
      %241 = arith.index_cast %240 : i32 to index
      %242 = arith.constant 2 : index
      %243 = arith.shli %239, %242 : index
      %244 = arith.addi %241, %243 : index
      %245 = arith.index_cast %244 : index to i32
      cuda.shared_store %221[%v0_14], %245 : !cuda.registers<2 x f32>
    } {unroll}
    cuda.sync
    scf.for %v0_15 = %11 to %12 step %13 {
      %246 = arith.constant 63 : index
      %247 = arith.andi %thread, %246 : index
      %248 = arith.constant 6 : index
      %249 = arith.shrui %thread, %248 : index
      %250 = arith.constant 1 : index
      %251 = arith.shli %247, %250 : index
      %252 = arith.addi %251, %v0_15 : index
      %253 = cuda.shared {offset = 2048 : i64}
      %254 = arith.index_cast %253 : i32 to index
      %255 = arith.constant 2 : index
      %256 = arith.shli %252, %255 : index
      %257 = arith.addi %254, %256 : index
      %258 = arith.index_cast %257 : index to i32
      cuda.shared_load %258 -> %221[%v0_15] : !cuda.registers<2 x f32>
      %259 = arith.constant 4 : index
      scf.for %w_1 = %250 to %259 step %250 {
        %260 = cuda.registers : !cuda.registers<1 x f32>
        %261 = arith.constant 7 : index
        %262 = arith.shli %w_1, %261 : index
        %263 = arith.addi %262, %252 : index
        %264 = cuda.shared {offset = 2048 : i64}
        %265 = arith.index_cast %264 : i32 to index
        %266 = arith.constant 2 : index
        %267 = arith.shli %263, %266 : index
        %268 = arith.addi %265, %267 : index
        %269 = arith.index_cast %268 : index to i32
        %270 = arith.constant 0 : index
        cuda.shared_load %269 -> %260[%270] : !cuda.registers<1 x f32>
        %271 = cuda.get %260[%270] : !cuda.registers<1 x f32>
        %272 = cuda.get %221[%v0_15] : !cuda.registers<2 x f32>
        %273 = arith.maximumf %272, %271 : f32
        cuda.set %221[%v0_15], %273 : !cuda.registers<2 x f32>
      } {unroll}
    } {unroll}
    %274 = cuda.registers : !cuda.registers<2 x f32>
    %275 = arith.constant 0.000000e+00 : f32
    %276 = arith.constant 63 : index
    %277 = arith.andi %thread, %276 : index
    %278 = arith.shrui %thread, %173 : index
    %279 = arith.shli %277, %13 : index
    %280 = arith.addi %7, %279 : index
    %281 = arith.constant 70 : index
    %282 = arith.cmpi slt, %280, %281 : index
    scf.if %282 {
      cuda.load %1[%280] -> %274[%11] {count = 2 : i64, cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<2 x f32>
    } else {
      %283 = arith.constant 0 : index
      cuda.set %274[%283], %275 : !cuda.registers<2 x f32>
      %284 = arith.constant 1 : index
      cuda.set %274[%284], %275 : !cuda.registers<2 x f32>
    }
    %285 = cuda.registers : !cuda.registers<2 x f32>
    scf.for %v0_16 = %11 to %12 step %13 {
      %286 = cuda.get %166[%v0_16] : !cuda.registers<2 x f32>
      %287 = cuda.get %274[%v0_16] : !cuda.registers<2 x f32>
      %288 = arith.addf %286, %287 : f32
      cuda.set %285[%v0_16], %288 : !cuda.registers<2 x f32>
    } {unroll}
    %289 = arith.andi %thread, %276 : index
    %290 = arith.shrui %thread, %173 : index
    %291 = arith.cmpi eq, %290, %11 : index
    scf.if %291 {
      %292 = arith.constant 63 : index
      %293 = arith.andi %thread, %292 : index
      %294 = arith.constant 6 : index
      %295 = arith.shrui %thread, %294 : index
      %296 = arith.constant 1 : index
      %297 = arith.shli %293, %296 : index
      %298 = arith.addi %7, %297 : index
      %299 = arith.constant 70 : index
      %300 = arith.cmpi slt, %298, %299 : index
      %301 = arith.constant 0 : index
      scf.if %300 {
        cuda.store %285[%301], %4[%298] {count = 2 : i64} : !cuda.registers<2 x f32> -> !cuda.ptr<f32>
      }
    }
    %302 = cuda.registers : !cuda.registers<2 x f32>
    %303 = arith.constant 0.000000e+00 : f32
    %304 = arith.addi %7, %279 : index
    %305 = arith.cmpi slt, %304, %281 : index
    scf.if %305 {
      cuda.load %3[%304] -> %302[%11] {count = 2 : i64, cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<2 x f32>
    } else {
      %306 = arith.constant 0 : index
      cuda.set %302[%306], %303 : !cuda.registers<2 x f32>
      %307 = arith.constant 1 : index
      cuda.set %302[%307], %303 : !cuda.registers<2 x f32>
    }
    %308 = cuda.registers : !cuda.registers<2 x f32>
    scf.for %v0_17 = %11 to %12 step %13 {
      %309 = cuda.get %221[%v0_17] : !cuda.registers<2 x f32>
      %310 = cuda.get %302[%v0_17] : !cuda.registers<2 x f32>
      %311 = arith.maximumf %309, %310 : f32
      cuda.set %308[%v0_17], %311 : !cuda.registers<2 x f32>
    } {unroll}
    %312 = arith.andi %thread, %276 : index
    %313 = arith.shrui %thread, %173 : index
    %314 = arith.cmpi eq, %313, %11 : index
    scf.if %314 {
      %315 = arith.constant 63 : index
      %316 = arith.andi %thread, %315 : index
      %317 = arith.constant 6 : index
      %318 = arith.shrui %thread, %317 : index
      %319 = arith.constant 1 : index
      %320 = arith.shli %316, %319 : index
      %321 = arith.addi %7, %320 : index
      %322 = arith.constant 70 : index
      %323 = arith.cmpi slt, %321, %322 : index
      %324 = arith.constant 0 : index
      scf.if %323 {
        cuda.store %308[%324], %5[%321] {count = 2 : i64} : !cuda.registers<2 x f32> -> !cuda.ptr<f32>
      }
    }
    cuda.return
  }
  cuda.kernel @f_1(%x: !cuda.ptr<bf16>, %0: !cuda.ptr<f32>, %1: !cuda.ptr<f32>) grid [26, 1, 1] block 256 shared 128 operands [0, 1, 2] writes [0, 1, 1] {
    %thread = cuda.thread_id
    %block = cuda.block_id
    %2 = arith.constant 0 : index
    %3 = arith.cmpi sge, %block, %2 : index
    %4 = arith.constant 1 : index
    %5 = arith.cmpi slt, %block, %4 : index
    %6 = arith.andi %3, %5 : i1
    scf.if %6 {
      %7 = arith.constant 0.000000e+00 : f32
      %8 = cuda.registers : !cuda.registers<8 x f32>
      %9 = arith.constant 0 : index
      %10 = arith.constant 4 : index
      %11 = arith.constant 1 : index
      scf.for %v1 = %9 to %10 step %11 {
        %12 = arith.constant 0 : index
        %13 = arith.constant 2 : index
        %14 = arith.constant 1 : index
        scf.for %v0 = %12 to %13 step %14 {
          %15 = arith.constant 1 : index
          %16 = arith.shli %v1, %15 : index
          %17 = arith.addi %v0, %16 : index
          cuda.set %8[%17], %7 : !cuda.registers<8 x f32>
        } {unroll}
      } {unroll}
      %18 = arith.constant 5270 : index
      %19 = arith.constant 2048 : index
      scf.for %i = %9 to %18 step %19 {
        %20 = cuda.registers : !cuda.registers<8 x bf16>
        %21 = arith.constant 0.000000e+00 : bf16
        %22 = arith.constant 0 : index
        %23 = arith.constant 4 : index
        %24 = arith.constant 1 : index
        scf.for %v1_1 = %22 to %23 step %24 {
          %25 = arith.constant 1 : index
          %26 = arith.shli %thread, %25 : index
          %27 = arith.constant 9 : index
          %28 = arith.shli %v1_1, %27 : index
          %29 = arith.addi %26, %28 : index
          %30 = arith.addi %i, %29 : index
          %31 = arith.constant 204800 : index
          %32 = arith.addi %30, %31 : index
          %33 = arith.constant 210070 : index
          %34 = arith.cmpi slt, %32, %33 : index
          %35 = arith.shli %v1_1, %25 : index
          scf.if %34 {
            cuda.load %x[%32] -> %20[%35] {count = 2 : i64, cache = "read_only"} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
          } else {
            cuda.set %20[%35], %21 : !cuda.registers<8 x bf16>
            %36 = arith.constant 1 : index
            %37 = arith.addi %35, %36 : index
            cuda.set %20[%37], %21 : !cuda.registers<8 x bf16>
          }
        } {unroll}
        %38 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v1_2 = %22 to %23 step %24 {
          %39 = arith.constant 0 : index
          %40 = arith.constant 2 : index
          %41 = arith.constant 1 : index
          scf.for %v0_1 = %39 to %40 step %41 {
            %42 = arith.constant 1 : index
            %43 = arith.shli %v1_2, %42 : index
            %44 = arith.addi %v0_1, %43 : index
            %45 = cuda.get %20[%44] : !cuda.registers<8 x bf16>
            %46 = arith.shli %thread, %42 : index
            %47 = arith.addi %46, %v0_1 : index
            %48 = arith.constant 9 : index
            %49 = arith.shli %v1_2, %48 : index
            %50 = arith.addi %47, %49 : index
            %51 = arith.addi %i, %50 : index
            %52 = arith.extf %45 : bf16 to f32
            %53 = arith.constant 5270 : index
            %54 = arith.cmpi slt, %51, %53 : index
            %55 = arith.select %54, %52, %7 : f32
            %56 = arith.shli %v1_2, %42 : index
            %57 = arith.addi %v0_1, %56 : index
            cuda.set %38[%57], %55 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        %58 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v1_3 = %22 to %23 step %24 {
          %59 = arith.constant 0 : index
          %60 = arith.constant 2 : index
          %61 = arith.constant 1 : index
          scf.for %v0_2 = %59 to %60 step %61 {
            %62 = arith.constant 1 : index
            %63 = arith.shli %v1_3, %62 : index
            %64 = arith.addi %v0_2, %63 : index
            %65 = cuda.get %8[%64] : !cuda.registers<8 x f32>
            %66 = arith.shli %v1_3, %62 : index
            %67 = arith.addi %v0_2, %66 : index
            %68 = cuda.get %38[%67] : !cuda.registers<8 x f32>
            %69 = arith.addf %65, %68 : f32
            %70 = arith.shli %v1_3, %62 : index
            %71 = arith.addi %v0_2, %70 : index
            cuda.set %58[%71], %69 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
        scf.for %v1_4 = %22 to %23 step %24 {
          %72 = arith.constant 0 : index
          %73 = arith.constant 2 : index
          %74 = arith.constant 1 : index
          scf.for %v0_3 = %72 to %73 step %74 {
            %75 = arith.constant 1 : index
            %76 = arith.shli %v1_4, %75 : index
            %77 = arith.addi %v0_3, %76 : index
            %78 = cuda.get %58[%77] : !cuda.registers<8 x f32>
            %79 = arith.shli %v1_4, %75 : index
            %80 = arith.addi %v0_3, %79 : index
            cuda.set %8[%80], %78 : !cuda.registers<8 x f32>
          } {unroll}
        } {unroll}
      } {unroll = 4 : i64}
      %81 = cuda.registers : !cuda.registers<1 x f32>
      %82 = cuda.get %8[%9] : !cuda.registers<8 x f32>
      cuda.set %81[%9], %82 : !cuda.registers<1 x f32>
      %83 = arith.constant 8 : index
      scf.for %r = %11 to %83 step %11 {
        %84 = arith.constant 1 : index
        %85 = arith.andi %r, %84 : index
        %86 = arith.shrui %r, %84 : index
        %87 = arith.shli %86, %84 : index
        %88 = arith.addi %85, %87 : index
        %89 = cuda.get %8[%88] : !cuda.registers<8 x f32>
        %90 = arith.constant 0 : index
        %91 = cuda.get %81[%90] : !cuda.registers<1 x f32>
        %92 = arith.addf %91, %89 : f32
        cuda.set %81[%90], %92 : !cuda.registers<1 x f32>
      } {unroll}
      %93 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %94 = arith.constant 1 : i32
      %95 = cuda.shuffle "xor" %93, %94 : f32
      %96 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %97 = arith.addf %96, %95 : f32
      cuda.set %81[%9], %97 : !cuda.registers<1 x f32>
      %98 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %99 = arith.constant 2 : i32
      %100 = cuda.shuffle "xor" %98, %99 : f32
      %101 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %102 = arith.addf %101, %100 : f32
      cuda.set %81[%9], %102 : !cuda.registers<1 x f32>
      %103 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %104 = arith.constant 4 : i32
      %105 = cuda.shuffle "xor" %103, %104 : f32
      %106 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %107 = arith.addf %106, %105 : f32
      cuda.set %81[%9], %107 : !cuda.registers<1 x f32>
      %108 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %109 = arith.constant 8 : i32
      %110 = cuda.shuffle "xor" %108, %109 : f32
      %111 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %112 = arith.addf %111, %110 : f32
      cuda.set %81[%9], %112 : !cuda.registers<1 x f32>
      %113 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %114 = arith.constant 16 : i32
      %115 = cuda.shuffle "xor" %113, %114 : f32
      %116 = cuda.get %81[%9] : !cuda.registers<1 x f32>
      %117 = arith.addf %116, %115 : f32
      cuda.set %81[%9], %117 : !cuda.registers<1 x f32>
      %118 = arith.constant 5 : index
      %119 = arith.shrui %thread, %118 : index
      %120 = arith.constant 7 : index
      %121 = arith.andi %119, %120 : index
      %122 = arith.constant 31 : index
      %123 = arith.andi %thread, %122 : index
      %124 = arith.cmpi eq, %123, %9 : index
      scf.if %124 {
        %125 = arith.constant 0 : index
        %126 = cuda.shared {offset = 0 : i64}
        %127 = arith.index_cast %126 : i32 to index
        %128 = arith.constant 2 : index
        %129 = arith.shli %121, %128 : index
        %130 = arith.addi %127, %129 : index
        %131 = arith.index_cast %130 : index to i32
        cuda.shared_store %81[%125], %131 : !cuda.registers<1 x f32>
      }
      cuda.sync
      %132 = cuda.shared {offset = 0 : i64}
      %133 = arith.index_cast %132 : i32 to index
      %134 = arith.index_cast %133 : index to i32
      cuda.shared_load %134 -> %81[%9] : !cuda.registers<1 x f32>
      scf.for %w = %11 to %83 step %11 {
        %135 = cuda.registers : !cuda.registers<1 x f32>
        %136 = cuda.shared {offset = 0 : i64}
        %137 = arith.index_cast %136 : i32 to index
        %138 = arith.constant 2 : index
        %139 = arith.shli %w, %138 : index
        %140 = arith.addi %137, %139 : index
        %141 = arith.index_cast %140 : index to i32
        %142 = arith.constant 0 : index
        cuda.shared_load %141 -> %135[%142] : !cuda.registers<1 x f32>
        %143 = cuda.get %135[%142] : !cuda.registers<1 x f32>
        %144 = cuda.get %81[%142] : !cuda.registers<1 x f32>
        %145 = arith.addf %144, %143 : f32
        cuda.set %81[%142], %145 : !cuda.registers<1 x f32>
      } {unroll}
      %146 = arith.cmpi eq, %thread, %9 : index
      scf.if %146 {
        %147 = arith.constant 0 : index
        cuda.store %81[%147], %0[%147] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
      }
    }
    %block_1 = cuda.block_id
    %148 = arith.cmpi sge, %block_1, %4 : index
    %149 = arith.constant 26 : index
    %150 = arith.cmpi slt, %block_1, %149 : index
    %151 = arith.andi %148, %150 : i1
    %152 = arith.subi %block_1, %4 : index
    scf.if %151 {
      %153 = arith.constant 0.000000e+00 : f32
      %154 = cuda.registers : !cuda.registers<8 x f32>
      %155 = arith.constant 0 : index
      %156 = arith.constant 8 : index
      %157 = arith.constant 1 : index
      scf.for %v0_4 = %155 to %156 step %157 {
        cuda.set %154[%v0_4], %153 : !cuda.registers<8 x f32>
      } {unroll}
      %158 = arith.constant 8192 : index
      %159 = arith.constant 2048 : index
      scf.for %i_1 = %155 to %158 step %159 {
        %160 = cuda.registers : !cuda.registers<8 x bf16>
        %161 = arith.constant 3 : index
        %162 = arith.shli %thread, %161 : index
        %163 = arith.addi %i_1, %162 : index
        %164 = arith.constant 13 : index
        %165 = arith.shli %152, %164 : index
        %166 = arith.addi %165, %163 : index
        %167 = arith.constant 0 : index
        cuda.load %x[%166] -> %160[%167] {count = 8 : i64, cache = "read_only"} : !cuda.ptr<bf16> -> !cuda.registers<8 x bf16>
        %168 = cuda.registers : !cuda.registers<8 x f32>
        %169 = arith.constant 8 : index
        %170 = arith.constant 1 : index
        scf.for %v0_5 = %167 to %169 step %170 {
          %171 = cuda.get %160[%v0_5] : !cuda.registers<8 x bf16>
          %172 = arith.extf %171 : bf16 to f32
          cuda.set %168[%v0_5], %172 : !cuda.registers<8 x f32>
        } {unroll}
        %173 = cuda.registers : !cuda.registers<8 x f32>
        scf.for %v0_6 = %167 to %169 step %170 {
          %174 = cuda.get %154[%v0_6] : !cuda.registers<8 x f32>
          %175 = cuda.get %168[%v0_6] : !cuda.registers<8 x f32>
          %176 = arith.addf %174, %175 : f32
          cuda.set %173[%v0_6], %176 : !cuda.registers<8 x f32>
        } {unroll}
        scf.for %v0_7 = %167 to %169 step %170 {
          %177 = cuda.get %173[%v0_7] : !cuda.registers<8 x f32>
          cuda.set %154[%v0_7], %177 : !cuda.registers<8 x f32>
        } {unroll}
      } {unroll = 4 : i64}
      %178 = cuda.registers : !cuda.registers<1 x f32>
      %179 = cuda.get %154[%155] : !cuda.registers<8 x f32>
      cuda.set %178[%155], %179 : !cuda.registers<1 x f32>
      scf.for %r_1 = %157 to %156 step %157 {
        %180 = cuda.get %154[%r_1] : !cuda.registers<8 x f32>
        %181 = arith.constant 0 : index
        %182 = cuda.get %178[%181] : !cuda.registers<1 x f32>
        %183 = arith.addf %182, %180 : f32
        cuda.set %178[%181], %183 : !cuda.registers<1 x f32>
      } {unroll}
      %184 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %185 = arith.constant 1 : i32
      %186 = cuda.shuffle "xor" %184, %185 : f32
      %187 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %188 = arith.addf %187, %186 : f32
      cuda.set %178[%155], %188 : !cuda.registers<1 x f32>
      %189 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %190 = arith.constant 2 : i32
      %191 = cuda.shuffle "xor" %189, %190 : f32
      %192 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %193 = arith.addf %192, %191 : f32
      cuda.set %178[%155], %193 : !cuda.registers<1 x f32>
      %194 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %195 = arith.constant 4 : i32
      %196 = cuda.shuffle "xor" %194, %195 : f32
      %197 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %198 = arith.addf %197, %196 : f32
      cuda.set %178[%155], %198 : !cuda.registers<1 x f32>
      %199 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %200 = arith.constant 8 : i32
      %201 = cuda.shuffle "xor" %199, %200 : f32
      %202 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %203 = arith.addf %202, %201 : f32
      cuda.set %178[%155], %203 : !cuda.registers<1 x f32>
      %204 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %205 = arith.constant 16 : i32
      %206 = cuda.shuffle "xor" %204, %205 : f32
      %207 = cuda.get %178[%155] : !cuda.registers<1 x f32>
      %208 = arith.addf %207, %206 : f32
      cuda.set %178[%155], %208 : !cuda.registers<1 x f32>
      %209 = arith.constant 5 : index
      %210 = arith.shrui %thread, %209 : index
      %211 = arith.constant 7 : index
      %212 = arith.andi %210, %211 : index
      %213 = arith.constant 31 : index
      %214 = arith.andi %thread, %213 : index
      %215 = arith.cmpi eq, %214, %155 : index
      scf.if %215 {
        %216 = arith.constant 0 : index
        %217 = cuda.shared {offset = 32 : i64}
        %218 = arith.index_cast %217 : i32 to index
        %219 = arith.constant 2 : index
        %220 = arith.shli %212, %219 : index
        %221 = arith.addi %218, %220 : index
        %222 = arith.index_cast %221 : index to i32
        cuda.shared_store %178[%216], %222 : !cuda.registers<1 x f32>
      }
      cuda.sync
      %223 = cuda.shared {offset = 32 : i64}
      %224 = arith.index_cast %223 : i32 to index
      %225 = arith.index_cast %224 : index to i32
      cuda.shared_load %225 -> %178[%155] : !cuda.registers<1 x f32>
      scf.for %w_1 = %157 to %156 step %157 {
        %226 = cuda.registers : !cuda.registers<1 x f32>
        %227 = cuda.shared {offset = 32 : i64}
        %228 = arith.index_cast %227 : i32 to index
        %229 = arith.constant 2 : index
        %230 = arith.shli %w_1, %229 : index
        %231 = arith.addi %228, %230 : index
        %232 = arith.index_cast %231 : index to i32
        %233 = arith.constant 0 : index
        cuda.shared_load %232 -> %226[%233] : !cuda.registers<1 x f32>
        %234 = cuda.get %226[%233] : !cuda.registers<1 x f32>
        %235 = cuda.get %178[%233] : !cuda.registers<1 x f32>
        %236 = arith.addf %235, %234 : f32
        cuda.set %178[%233], %236 : !cuda.registers<1 x f32>
      } {unroll}
      %237 = arith.cmpi eq, %thread, %155 : index
      scf.if %237 {
        %238 = arith.constant 0 : index
        cuda.store %178[%238], %1[%152] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
      }
    }
    cuda.return
  }
  cuda.kernel @f_1_finish(%0: !cuda.ptr<f32>, %1: !cuda.ptr<f32>, %2: !cuda.ptr<f32>) grid [1, 1, 1] block 32 operands [0, 1, 2] writes [0, 0, 1] {
    %thread = cuda.thread_id
    %block = cuda.block_id
    %3 = cuda.registers : !cuda.registers<1 x f32>
    %4 = arith.constant 0.000000e+00 : f32
    %5 = arith.constant 25 : index
    %6 = arith.cmpi slt, %thread, %5 : index
    %7 = arith.constant 0 : index
    scf.if %6 {
      cuda.load %0[%thread] -> %3[%7] {cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
    } else {
      %8 = arith.constant 0 : index
      cuda.set %3[%8], %4 : !cuda.registers<1 x f32>
    }
    %9 = cuda.registers : !cuda.registers<1 x f32>
    %10 = cuda.get %3[%7] : !cuda.registers<1 x f32>
    %11 = arith.constant 0.000000e+00 : f32
    %12 = arith.constant 25 : index
    %13 = arith.cmpi slt, %thread, %12 : index
    %14 = arith.select %13, %10, %11 : f32
    cuda.set %9[%7], %14 : !cuda.registers<1 x f32>
    %15 = cuda.registers : !cuda.registers<1 x f32>
    %16 = cuda.get %9[%7] : !cuda.registers<1 x f32>
    cuda.set %15[%7], %16 : !cuda.registers<1 x f32>
    %17 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %18 = arith.constant 1 : i32
    %19 = cuda.shuffle "xor" %17, %18 : f32
    %20 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %21 = arith.addf %20, %19 : f32
    cuda.set %15[%7], %21 : !cuda.registers<1 x f32>
    %22 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %23 = arith.constant 2 : i32
    %24 = cuda.shuffle "xor" %22, %23 : f32
    %25 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %26 = arith.addf %25, %24 : f32
    cuda.set %15[%7], %26 : !cuda.registers<1 x f32>
    %27 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %28 = arith.constant 4 : i32
    %29 = cuda.shuffle "xor" %27, %28 : f32
    %30 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %31 = arith.addf %30, %29 : f32
    cuda.set %15[%7], %31 : !cuda.registers<1 x f32>
    %32 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %33 = arith.constant 8 : i32
    %34 = cuda.shuffle "xor" %32, %33 : f32
    %35 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %36 = arith.addf %35, %34 : f32
    cuda.set %15[%7], %36 : !cuda.registers<1 x f32>
    %37 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %38 = arith.constant 16 : i32
    %39 = cuda.shuffle "xor" %37, %38 : f32
    %40 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %41 = arith.addf %40, %39 : f32
    cuda.set %15[%7], %41 : !cuda.registers<1 x f32>
    %42 = cuda.registers : !cuda.registers<1 x f32>
    cuda.load %1[%7] -> %42[%7] {cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
    %43 = cuda.registers : !cuda.registers<1 x f32>
    %44 = cuda.get %15[%7] : !cuda.registers<1 x f32>
    %45 = cuda.get %42[%7] : !cuda.registers<1 x f32>
    %46 = arith.addf %44, %45 : f32
    cuda.set %43[%7], %46 : !cuda.registers<1 x f32>
    %47 = arith.cmpi eq, %thread, %7 : index
    scf.if %47 {
      %48 = arith.constant 0 : index
      cuda.store %43[%48], %2[%48] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
    }
    cuda.return
  }
  cuda.kernel @f_2(%w: !cuda.ptr<f32>, %0: !cuda.ptr<i32>) grid [1, 1, 1] block 256 shared 128 operands [0, 1] writes [0, 1] {
    %thread = cuda.thread_id
    %block = cuda.block_id
    %1 = cuda.registers : !cuda.registers<16 x f32>
    %2 = arith.constant 0.000000e+00 : f32
    %3 = arith.constant 0 : index
    %4 = arith.constant 16 : index
    %5 = arith.constant 1 : index
    scf.for %v0 = %3 to %4 step %5 {
      %6 = arith.constant 8 : index
      %7 = arith.shli %v0, %6 : index
      %8 = arith.addi %thread, %7 : index
      %9 = arith.constant 3001 : index
      %10 = arith.cmpi slt, %8, %9 : index
      scf.if %10 {
        cuda.load %w[%8] -> %1[%v0] {cache = "read_only"} : !cuda.ptr<f32> -> !cuda.registers<16 x f32>
      } else {
        cuda.set %1[%v0], %2 : !cuda.registers<16 x f32>
      }
    } {unroll}
    %11 = cuda.registers : !cuda.registers<16 x i32>
    scf.for %v0_1 = %3 to %4 step %5 {
      %12 = cuda.get %1[%v0_1] : !cuda.registers<16 x f32>
      %13 = arith.constant 8 : index
      %14 = arith.shli %v0_1, %13 : index
      %15 = arith.addi %thread, %14 : index
      %16 = arith.constant 0.000000e+00 : f32
      %17 = arith.cmpf ogt, %12, %16 : f32
      %18 = arith.extui %17 : i1 to i32
      %19 = arith.constant 0 : i32
      %20 = arith.constant 3001 : index
      %21 = arith.cmpi slt, %15, %20 : index
      %22 = arith.select %21, %18, %19 : i32
      cuda.set %11[%v0_1], %22 : !cuda.registers<16 x i32>
    } {unroll}
    %23 = cuda.registers : !cuda.registers<1 x i32>
    %24 = cuda.get %11[%3] : !cuda.registers<16 x i32>
    cuda.set %23[%3], %24 : !cuda.registers<1 x i32>
    scf.for %r = %5 to %4 step %5 {
      %25 = cuda.get %11[%r] : !cuda.registers<16 x i32>
      %26 = arith.constant 0 : index
      %27 = cuda.get %23[%26] : !cuda.registers<1 x i32>
      %28 = arith.addi %27, %25 : i32
      cuda.set %23[%26], %28 : !cuda.registers<1 x i32>
    } {unroll}
    %29 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %30 = arith.constant 1 : i32
    %31 = cuda.shuffle "xor" %29, %30 : i32
    %32 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %33 = arith.addi %32, %31 : i32
    cuda.set %23[%3], %33 : !cuda.registers<1 x i32>
    %34 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %35 = arith.constant 2 : i32
    %36 = cuda.shuffle "xor" %34, %35 : i32
    %37 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %38 = arith.addi %37, %36 : i32
    cuda.set %23[%3], %38 : !cuda.registers<1 x i32>
    %39 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %40 = arith.constant 4 : i32
    %41 = cuda.shuffle "xor" %39, %40 : i32
    %42 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %43 = arith.addi %42, %41 : i32
    cuda.set %23[%3], %43 : !cuda.registers<1 x i32>
    %44 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %45 = arith.constant 8 : i32
    %46 = cuda.shuffle "xor" %44, %45 : i32
    %47 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %48 = arith.addi %47, %46 : i32
    cuda.set %23[%3], %48 : !cuda.registers<1 x i32>
    %49 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %50 = arith.constant 16 : i32
    %51 = cuda.shuffle "xor" %49, %50 : i32
    %52 = cuda.get %23[%3] : !cuda.registers<1 x i32>
    %53 = arith.addi %52, %51 : i32
    cuda.set %23[%3], %53 : !cuda.registers<1 x i32>
    %54 = arith.constant 5 : index
    %55 = arith.shrui %thread, %54 : index
    %56 = arith.constant 7 : index
    %57 = arith.andi %55, %56 : index
    %58 = arith.constant 31 : index
    %59 = arith.andi %thread, %58 : index
    %60 = arith.cmpi eq, %59, %3 : index
    scf.if %60 {
      %61 = arith.constant 0 : index
      %62 = cuda.shared {offset = 0 : i64}
      %63 = arith.index_cast %62 : i32 to index
      %64 = arith.constant 2 : index
      %65 = arith.shli %57, %64 : index
      %66 = arith.addi %63, %65 : index
      %67 = arith.index_cast %66 : index to i32
      cuda.shared_store %23[%61], %67 : !cuda.registers<1 x i32>
    }
    cuda.sync
    %68 = cuda.shared {offset = 0 : i64}
    %69 = arith.index_cast %68 : i32 to index
    %70 = arith.index_cast %69 : index to i32
    cuda.shared_load %70 -> %23[%3] : !cuda.registers<1 x i32>
    %71 = arith.constant 8 : index
    scf.for %w_1 = %5 to %71 step %5 {
      %72 = cuda.registers : !cuda.registers<1 x i32>
      %73 = cuda.shared {offset = 0 : i64}
      %74 = arith.index_cast %73 : i32 to index
      %75 = arith.constant 2 : index
      %76 = arith.shli %w_1, %75 : index
      %77 = arith.addi %74, %76 : index
      %78 = arith.index_cast %77 : index to i32
      %79 = arith.constant 0 : index
      cuda.shared_load %78 -> %72[%79] : !cuda.registers<1 x i32>
      %80 = cuda.get %72[%79] : !cuda.registers<1 x i32>
      %81 = cuda.get %23[%79] : !cuda.registers<1 x i32>
      %82 = arith.addi %81, %80 : i32
      cuda.set %23[%79], %82 : !cuda.registers<1 x i32>
    } {unroll}
    %83 = arith.cmpi eq, %thread, %3 : index
    scf.if %83 {
      %84 = arith.constant 0 : index
      cuda.store %23[%84], %0[%84] : !cuda.registers<1 x i32> -> !cuda.ptr<i32>
    }
    cuda.return
  }
}
