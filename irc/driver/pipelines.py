"""The passes of irc, in order, and the named pipelines, as data.

Nothing is imported here, so that commands can name and explain passes without loading them. A named pipeline stands in
a pass list like a pass (`irc-opt -p 'kernel,canonicalize'`); options given to it go to each of its passes that has them
(`all{strict-rounding=true}`).
"""

from __future__ import annotations

PASSES: dict[str, str] = {
    "raise-programs": "irc.passes.tile.raise_programs:RaiseProgramsPass",
    "canonicalize-nd": "irc.passes.nd.canonicalize_nd:CanonicalizeNdPass",
    "decompose-nd": "irc.passes.nd.decompose_nd:DecomposeNdPass",
    "differentiate-nd": "irc.passes.nd.differentiate_nd:DifferentiateNdPass",
    "propagate-shardings": "irc.passes.nd.propagate_shardings:PropagateShardingsPass",
    "partition-nd": "irc.passes.nd.partition_nd:PartitionNdPass",
    "bucket-collectives": "irc.passes.nd.bucket_collectives:BucketCollectivesPass",
    "widen-arithmetic": "irc.passes.nd.widen_arithmetic:WidenArithmeticPass",
    "outer-products": "irc.passes.nd.outer_products:OuterProductsPass",
    "row-products": "irc.passes.nd.row_products:RowProductsPass",
    "cancel-permutes": "irc.passes.nd.cancel_permutes:CancelPermutesPass",
    "check-extents": "irc.passes.nd.check_extents:CheckExtentsPass",
    "fuse-epilogues": "irc.passes.tile.fuse_epilogues:FuseEpiloguesPass",
    "separate-cascades": "irc.passes.kernel.separate_cascades:SeparateCascadesPass",
    "factor-reductions": "irc.passes.kernel.factor_reductions:FactorReductionsPass",
    "scale-exponents": "irc.passes.kernel.scale_exponents:ScaleExponentsPass",
    "arrange-convolutions": "irc.passes.kernel.arrange_convolutions:ArrangeConvolutionsPass",
    "recompute-nd": "irc.passes.kernel.recompute_nd:RecomputeNdPass",
    "fuse-kernels": "irc.passes.kernel.fuse_kernels:FuseKernelsPass",
    "align-operands": "irc.passes.kernel.align_operands:AlignOperandsPass",
    "choose-config": "irc.passes.kernel.choose_config:ChooseConfigPass",
    "split-reductions": "irc.passes.kernel.split_reductions:SplitReductionsPass",
    "concat-in-place": "irc.passes.kernel.concat_in_place:ConcatInPlacePass",
    "tile-arrays": "irc.passes.tile.tile_arrays:TileArraysPass",
    "tile-kernels": "irc.passes.tile.tile_kernels:TileKernelsPass",
    "share-programs": "irc.passes.tile.share_programs:ShareProgramsPass",
    "mark-in-place": "irc.passes.tile.mark_in_place:MarkInPlacePass",
    "lower-to-cpu": "irc.passes.cpu.lower_to_cpu:LowerToCpuPass",
    "expand-math": "irc.passes.cpu.expand_math:ExpandMathPass",
    "order-tiles": "irc.passes.tile.order_tiles:OrderTilesPass",
    "merge-loads": "irc.passes.tile.merge_loads:MergeLoadsPass",
    "merge-dots": "irc.passes.tile.merge_dots:MergeDotsPass",
    "promote-sums": "irc.passes.tile.promote_sums:PromoteSumsPass",
    "split-dots": "irc.passes.tile.split_dots:SplitDotsPass",
    "place-operands": "irc.passes.tile.place_operands:PlaceOperandsPass",
    "divide-steps": "irc.passes.tile.divide_steps:DivideStepsPass",
    "slice-dots": "irc.passes.tile.slice_dots:SliceDotsPass",
    "narrow-maps": "irc.passes.tile.narrow_maps:NarrowMapsPass",
    "multicast-copies": "irc.passes.tile.multicast_copies:MulticastCopiesPass",
    "overlap-epilogue": "irc.passes.tile.overlap_epilogue:OverlapEpiloguePass",
    "merge-reductions": "irc.passes.tile.merge_reductions:MergeReductionsPass",
    "stage-loads": "irc.passes.tile.stage_loads:StageLoadsPass",
    "stage-scales": "irc.passes.tile.stage_scales:StageScalesPass",
    "stage-stores": "irc.passes.tile.stage_stores:StageStoresPass",
    "assign-layouts": "irc.passes.tile.assign_layouts:AssignLayoutsPass",
    "defer-reductions": "irc.passes.tile.defer_reductions:DeferReductionsPass",
    "make-channels": "irc.passes.tile.make_channels:MakeChannelsPass",
    "specialize-warps": "irc.passes.tile.specialize_warps:SpecializeWarpsPass",
    "order-groups": "irc.passes.tile.order_groups:OrderGroupsPass",
    "pair-steps": "irc.passes.tile.pair_steps:PairStepsPass",
    "schedule-loops": "irc.passes.tile.schedule_loops:ScheduleLoopsPass",
    "expand-schedule": "irc.passes.tile.expand_schedule:ExpandSchedulePass",
    "take-turns": "irc.passes.tile.take_turns:TakeTurnsPass",
    "await-dots": "irc.passes.tile.await_dots:AwaitDotsPass",
    "guard-masks": "irc.passes.tile.guard_masks:GuardMasksPass",
    "queue-tiles": "irc.passes.tile.queue_tiles:QueueTilesPass",
    "plan-shared": "irc.passes.tile.plan_shared:PlanSharedPass",
    "lower-schedule": "irc.passes.cuda.lower_schedule:LowerSchedulePass",
    "lower-to-cuda": "irc.passes.cuda.lower_to_cuda:LowerToCudaPass",
    "lower-dots": "irc.passes.cuda.lower_dots:LowerDotsPass",
    "lower-channels": "irc.passes.cuda.lower_channels:LowerChannelsPass",
    "allocate-scratch": "irc.passes.cuda.allocate_scratch:AllocateScratchPass",
    "insert-barriers": "irc.passes.cuda.insert_barriers:InsertBarriersPass",
    "split-offsets": "irc.passes.cuda.split_offsets:SplitOffsetsPass",
    "split-conversions": "irc.passes.cuda.split_conversions:SplitConversionsPass",
    "expand-device-math": "irc.passes.cuda.expand_device_math:ExpandDeviceMathPass",
    "merge-constants": "irc.passes.cuda.merge_constants:MergeConstantsPass",
    "overlap-launches": "irc.passes.host.overlap_launches:OverlapLaunchesPass",
    "build-host-plan": "irc.passes.host.build_host_plan:BuildHostPlanPass",
}
"""Pass name to `module:Class`, in the order in which they run."""

TARGETS: dict[str, str] = {
    "irc": "irc.driver.emit:IrcTarget",
    "cuda": "irc.driver.emit:CudaTarget",
    "asm": "irc.driver.emit:AsmTarget",
    "cutlass": "irc.driver.emit:CutlassTarget",
}
"""Target name (`irc-opt -t`) to `module:Class`."""

DIALECTS: dict[str, str] = {
    "nd": "irc.dialects.nd:Nd",
    "kernel": "irc.dialects.kernel:Kernel",
    "tile": "irc.dialects.tile:Tile",
    "scalar": "irc.dialects.scalar:Scalar",
    "cuda": "irc.dialects.cuda:Cuda",
    "cpu": "irc.dialects.cpu:Cpu",
    "host": "irc.dialects.host:Host",
}
"""Dialect name to `module:attribute`."""

PARTITION: tuple[str, ...] = (
    "canonicalize-nd",
    "decompose-nd",
    "canonicalize-nd",
    "propagate-shardings",
    "partition-nd",
    "bucket-collectives",
)
"""To the program of each rank of a mesh, on whole arrays of its own: the other pipelines take it from there."""

ND: tuple[str, ...] = (
    "canonicalize-nd",
    "decompose-nd",
    "widen-arithmetic",
    "outer-products",
    "row-products",
    "canonicalize-nd",
    "cancel-permutes",
)
"""To `nd` ops that the kernel level knows, with every rounding explicit."""

KERNEL: tuple[str, ...] = (
    *ND,
    "check-extents",
    "fuse-epilogues",
    "separate-cascades",
    "factor-reductions",
    "scale-exponents",
    "arrange-convolutions",
    "recompute-nd",
    "fuse-kernels",
    "align-operands",
    "choose-config",
    "split-reductions",
)
"""To fused regions with their configs."""

PROGRAMS: tuple[str, ...] = (
    *KERNEL,
    "concat-in-place",
    "tile-arrays",
    "tile-kernels",
    "share-programs",
    "mark-in-place",
)
"""To tile programs, from which on each kernel is lowered by itself."""

TILE: tuple[str, ...] = (
    *PROGRAMS,
    "order-tiles",
    "merge-loads",
    "merge-dots",
    "promote-sums",
    "split-dots",
    "place-operands",
    "divide-steps",
    "slice-dots",
    "narrow-maps",
    "multicast-copies",
    "overlap-epilogue",
    "merge-reductions",
    "stage-loads",
    "stage-scales",
    "stage-stores",
    "assign-layouts",
    "defer-reductions",
    "make-channels",
    "specialize-warps",
    "order-groups",
    "pair-steps",
    "schedule-loops",
    "expand-schedule",
    "take-turns",
    "await-dots",
    "guard-masks",
    "queue-tiles",
    "plan-shared",
)
"""To tile programs with layouts, channels and partitions, their shared memory planned."""

CUDA: tuple[str, ...] = (
    *TILE,
    "lower-schedule",
    "lower-to-cuda",
    "lower-dots",
    "lower-channels",
    "allocate-scratch",
    "insert-barriers",
    "split-offsets",
    "split-conversions",
    "expand-device-math",
    "merge-constants",
)
"""To the code of a thread."""

ALL: tuple[str, ...] = (*CUDA, "overlap-launches", "build-host-plan")
"""Everything: kernels and the host plan that launches them."""

CPU: tuple[str, ...] = (*KERNEL, "tile-arrays", "tile-kernels", "share-programs", "lower-to-cpu", "expand-math")
"""To the loop nests of a CPU, for the architecture `cpu`."""

PIPELINES: dict[str, tuple[str, ...]] = {
    "partition": PARTITION,
    "nd": ND,
    "kernel": KERNEL,
    "programs": PROGRAMS,
    "tile": TILE,
    "cuda": CUDA,
    "all": ALL,
    "cpu": CPU,
}

PIPELINE_HELP: dict[str, str] = {
    "partition": "each rank's program, of one on arrays that are divided among the ranks of a mesh",
    "nd": "nd ops that kernels are made of, every rounding explicit",
    "kernel": "fused kernels with their configs",
    "programs": "tile programs, which fused kernels became",
    "tile": "tile programs with layouts, channels and partitions of warps",
    "cuda": "the code of a thread",
    "all": "kernels and the host plan",
    "cpu": "loop nests of a CPU, with --arch cpu",
}
