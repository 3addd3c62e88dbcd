"""What a target takes for parts of the work, which passes weigh where they divide it between kernels.

An H200's are fitted to its kernels. Where others have no fit of their own, they have what follows from their clocks,
SMs and bandwidths, or the H200's.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OperandCosts:
    """What an element of a product's operand of 16 bits takes that is computed in the product's kernel, in cycles of an
    SM, for each tile that reads it (`irc/fusion/prologue_cost.py`).

    Without warp groups, the threads that multiply issue all instructions, 128 a cycle, and what is loaded beyond a
    plain operand takes its way from the L2.
    """

    tile: tuple[int, int]
    """Rows and columns of most tiles."""
    byte: float
    """For each byte that it is computed from beyond `free_bytes`."""
    free_bytes: float
    """Bytes that it is computed from without cost."""
    instruction: float
    """For each instruction of the threads that multiply."""
    written: float | None = None
    """Where other threads compute it, and write it to shared memory; None where those that multiply compute both
    operands."""

    @staticmethod
    def of_warps(operand_bytes: int) -> OperandCosts:
        """Those of a target without warp groups."""
        return OperandCosts(tile=(128, 128), byte=1 / operand_bytes, free_bytes=2, instruction=1 / 128)


@dataclass(frozen=True)
class WindowCosts:
    """What ways of reading the operands of convolutions take, which `arrange-convolutions` weighs against copies. All
    are an H200's, but for `gathered`, and were measured in benchmarks/results, in 2026-11-28-h200-notes.md and
    2026-11-28-h200-random-convolutions.json."""

    gathered: float = 16.0
    """Cycles of a lane for an element that threads bring to shared memory. 7x7 taps at strides of 2, of 128 images of
    3x224x224, took an H100 515 us so, and multiply 236 million elements (2026-11-25-h100-notes.md)."""
    gathered_tap: float = 0.2
    """Cycles of an SM for an element of a row of taps that threads load: 128 images of 3 x 224 x 224 take an H100 101
    us with 16 columns, and 214 summed in registers (benchmarks/results/2026-11-27-h100-configs.jsonl.gz)."""
    split_pixel: float = 2.5
    """Cycles of an SM that a pixel at one tap takes TMA more where it may begin inside of a sector. 24 channels, 3x3
    windows of 505x17x61, dilated, take 6.1 cycles (110 us); 32, 5x5 windows at strides of 2 of 453x28x31, 3.6 (35 us).
    """
    pixel: float = 1.8
    """Cycles of an SM that TMA takes for the channels of a pixel at one tap, of a group, beside its bytes. 3x3 windows
    over 128x256x56x56 take 551 us with groups of 16 channels, 317 of 32, 255 of 64."""
    pixel_bytes: float = 46
    """Bytes of such a pixel that TMA brings in one cycle more."""
    register_multiply_adds: float = 26
    """Of groups of few channels, that an SM makes in a cycle in registers: 23 and 25 with 8 channels and 24 outputs in
    each of 8 groups, 39 with 8 outputs in each of 32, channels last."""
    depthwise: float = 0.03
    """Cycles of an SM for a multiply-add of a depthwise convolution with channels first. 7x7 taps of 120x128x48x17, in
    rows of 32 of which 15 are beyond the end, take 135 us, 0.057 for each (number 90 without the minimum)."""
    loaded: float = 1.3
    """The time of the bytes that a product with rows on both sides of what is contracted moves, whose operands threads
    load, in that of a copy."""
    loaded_unaligned: float = 2.0
    """The same with rows that do not begin at 16 bytes."""
    by_warps: float = 3.0
    """The time of such a product's multiply-adds beside them, by warps alone, in that of warp groups. With `loaded` it
    gives the 23 us of 88x96x31x48>96 and the 22 of 48x96x48x56>128 (numbers 25 and 77 without what follows)."""
    following: float = 64
    """Instructions for what follows a product of warp groups that an SM executes in a cycle: half of what it issues, as
    one group of two is at them. They add to what the bytes take; in a kernel of its own memory takes longer. With a
    gelu, 113x128x31x28>96 takes 22 us, of which its bytes are 10, and 44x48x96x61>192 98, of which they are 30 (numbers
    94 and 21)."""

    def pixel_cycles(self, nbytes: int) -> float:
        """What TMA takes for a pixel at one tap, of so many bytes of channels, in cycles of an SM."""
        return self.pixel + nbytes / self.pixel_bytes


@dataclass(frozen=True)
class WarpGroupCosts:
    """What a product of warp groups takes besides its multiply-adds and operands, in cycles of an SM where nothing else
    is said (`irc/configs/wgmma_cycles.py`). Those of sm_90a, fitted to an H200
    (benchmarks/results/2026-11-21-h200-gemm-tiles.json)."""

    store: float = 0.05
    """For a byte of a result."""
    cheap: float = 0.008
    """For a cheap elementwise op on an element."""
    costly: float = 0.08
    """For a costly one."""
    narrow_subtiles: float = 2.0
    """How much longer epilogue subtiles of half as many columns take to store, in rows of 32 bytes. Fitted to an H200:
    2056 cubed takes 34.4 us in tiles of 192 x 176, 33.5 in those of 192 x 192, as many of them at a time."""
    beside_arrival: float = 0.5
    """The part of an epilogue that operands which arrive can hide: half of it stores, on their way. 3x3 windows of 32
    channels to 96 over 453x31x28 take an H200 71.4 us in tiles of 128 x 96, whose groups take turns or not, 62.3 in
    those of 192 x 96 and 57.9 in those of 256 x 96. With a tanh and another array read, 4x4 windows of 96 channels,
    transposed, to 256 take 438 us where groups take turns, 508 to 547 else
    (benchmarks/results/2026-11-28-h200-notes.md)."""
    instructions: int = 128
    """Instructions of threads that an SM issues in a cycle."""
    part: float = 20.0
    """What the threads which multiply wait for before each part of a left operand that they compute at once, besides
    their instructions. They compute the part after issuing the products of the one before, which hides little: its
    registers are read until these are done."""
    step: float = 100.0
    """The same at each step."""
    outside: int = 3
    """How much longer rows take that lie outside of an operand, and are filled with zeros."""
    behind: int = 2
    """The same of columns of the last tile along N, of many matrices whose right operands are contiguous along N: whole
    boxes lie outside. On an H100 64 products of 128 x 4096 x 4096 take 495 us in tiles of 128 x 192, which have such
    columns, and 371 in those of 128 x 256; 64 of 1024 cubed 244 and 200. One of 5120 cubed does not: 351 and 363. No
    tile was timed by itself (benchmarks/results/2026-11-28-h100-notes.md). Products in groups do not either: even ones
    take as long by both on an H200, and 64 drawn ones 283 us by the first, 315 by the second."""
    cool: float = 0.87
    """What an SM loads in a cycle of a cool chip, by what it does in one of a chip that products have heated up for
    long: the clock of SMs is faster then, and that of the L2 cache is not. An H100 multiplies 4096 cubed in 202 us in
    tiles of 128 x 128, in 191 in those of 128 x 256; 8192 x 4096 x 4096 in 416, 352 in tiles of 128 x 192, 346 in those
    of 128 x 256 (benchmarks/results/2026-11-25-h100-notes.md). Operands that fit into a quarter of the L2 come as fast
    as ever: 4096 x 4096 x 512 takes 28.5 us in tiles of 128 x 128, 29.2 in those of 128 x 160, 30 to 31.8 in those of
    128 x 192 (2026-11-27)."""
    narrow_boxes: float = 1.25
    """How much longer the right operand takes in boxes of half a line: where it is contiguous along N, and a tile has
    no whole lines."""
    narrow_boxes_of_taps: float = 1.7
    """The same where a left operand is read at each tap of a window, as in gradients of weights: their steps wait for
    TMA, which takes as long for half a line. On an H200 3x3 windows of 320 channels to 320 over 8x64x64 take 118 us in
    tiles of 128 x 192, and 146 in those of 128 x 160."""
    split_lines: float = 1.6
    """How much longer rows of operands take that do not begin at halves of a line of 128 bytes."""
    written_before: float = 1.18
    """How much longer operands take that a kernel before has just written, where they are no small part of the L2
    cache: their lines are still on the way to memory. At 4096 cubed tiles of 128 x 128 take 218 us, by themselves
    185."""
    take_turns: float = 3000
    """What a second consumer group waits before its first turn, and the last epilogue takes longer by half as many
    threads."""
    least_code: int = 14 << 10
    """Bytes of a kernel's code before its epilogues."""
    code_cache: int = 100 << 10
    """Bytes of code that an SM keeps."""
    code_rate: float = 5.0
    """Bytes of the rest that it fetches in a cycle, again for every tile: epilogues are unrolled over a thread's
    accumulators, and each consumer group has its own."""
    beside_memory: float = 0.1
    """How much of the shorter of an SM's work and device memory's shows: at the start, and where they do not
    overlap."""
    finish: float = 3400.0
    """From the end of products of parts to the end of the kernel that adds them, at least. 32 x 4096 x 14336 takes an
    H100 41.5 us whole, 43.6 in two parts (2026-11-27)."""
    added_up: float = 1000.0
    """The same where the kernel that reads the sum adds up parts, whose loads wait for no launch. Estimated: no kernel
    was timed with and without."""
    finish_bytes: float = 1500.0
    """Bytes of partial results that are written and read again in a cycle of the GPU."""


@dataclass(frozen=True)
class CascadeCosts:
    """What products of what is computed from other products take in one kernel (`irc/fusion/cascade_cost.py`)."""

    busy: float = 0.5
    """Of the rate of matrix instructions, the part that a kernel reaches that computes exponentials between two
    products: on an H200 550 of 989 TFLOP/s."""
    busy_alone: float = 0.75
    """The same of a product alone."""
    column: float = 20
    """Cycles that a block of the fewest rows takes for a column of the scores, however many of the rows there are: 16
    queries of 32 heads of 64, with 8 heads of 2048 keys, take an H200 25.2 us in 128 blocks, of which the bytes take
    15.4."""


@dataclass(frozen=True)
class AccessCosts:
    """What moving a tile between memory and registers takes, in cycles of an SM's load-store unit, each for a wavefront
    of 128 bytes (`irc/layout/cost.py`)."""

    global_request: float = 4.0
    """A load or store of a warp beside its lines: address, predicate, a place in the queues. Measured on an H200: a
    permutation of bf16 with 4-byte stores of whole lines reaches 0.50 of a copy, with 16-byte ones 0.60."""
    line: float = 1.0
    """A line of 128 bytes that a request to global memory touches: one look at the L1's tags, one wavefront of data."""
    loaded_part: float = 1.4
    """A part of a line that is loaded by a request of its own: the L2 looks up about 0.7 requests a cycle for each
    multiprocessor."""
    stored_part: float = 4.0
    """The same for a store: the request, its data in a packet of its own, and a line that the L2 has to put
    together."""
    latency: float = 600.0
    """From a load of device memory to its data."""
    barrier: float = 40.0
    """A barrier and the latency of what waits behind it: a load from shared memory comes back after about 30 cycles."""
    warp_barrier: float = 10.0
    """The same where a warp meets by itself: the others run on."""
    instruction: float = 0.25
    """An arithmetic instruction of a warp: four schedulers issue one a cycle each."""
    shuffle: float = 1.0
    """A shuffle of a warp: 32 lanes a cycle (CUDA C++ Programming Guide, "Arithmetic Instructions")."""
    spill: float = 4.0
    """A register of a warp that does not fit: a store to local memory and a load, a request and a line each."""
    shared_request: float = 1.0
    """Cycles of a multiprocessor for an instruction on shared memory beside its wavefronts: its address, four integer
    instructions at four a cycle."""
    replay: float = 2.0
    """Cycles for a wavefront that a conflict makes necessary, beside its own: the instruction is issued again."""
    move: float = 0.5
    """A byte permutation of a warp: 64 lanes a cycle (CUDA C++ Programming Guide, "Arithmetic Instructions")."""
    smaller_box: float = 1.05
    """The wavefronts, over the fewest, that a smaller box may take: more of its blocks share a multiprocessor. On an
    H200 a permutation of 27416x6075 bytes took 132 us in boxes of 40 KB, and 101 in boxes of 23 KB (with 4 % more
    wavefronts)."""


@dataclass(frozen=True)
class KernelCosts:
    """What the blocks of a kernel wait for, by which a tuner orders its configs (`irc/configs/footprint.py`)."""

    latency: float = 7e-7
    """Seconds from a load to its bytes, under load."""
    thread_bytes: int = 64
    """That a thread has on the way at once, at most."""
    turnover: float = 4e-7
    """Seconds from the end of a block to the first work of the next on its place."""
    by_warps: float = 2
    """How much longer warps take for products that warp groups could compute."""
    cpu_tile: float = 2e-6
    """Seconds that a tile takes on a CPU, whatever it does: a call, and the first touch of its memory."""
    cpu_cache: float = 4
    """How much faster than memory the caches of a CPU are."""


ACCESSES = AccessCosts()
"""All targets have these."""


@dataclass(frozen=True)
class Costs:
    """What a target takes for the work that is divided between kernels."""

    multiply_adds: int
    """Of operands of 16 bits, that an SM makes in a cycle."""
    operand_bytes: int
    """That an SM loads in a cycle for products."""
    byte: float
    """Cycles of an SM for a byte of the device memory, all SMs together."""
    launch: float
    """Cycles of an SM, summed over all SMs, of one more launch."""
    idle_elements: int
    """Elements of an array that one SM reads in the time of a launch."""
    operand: OperandCosts
    """Of what a product's kernel computes of its operands."""
    row_tiles: tuple[int, ...] = (128, 64, 32, 16)
    """Rows that a tile with whole rows of a product can have."""
    row_following: float = 0.1
    """Cycles of an SM for what follows an element of a row that is read again, in the kernel of its product:
    exponentials and shuffles, which a kernel of its own hides behind its loads."""
    small_bytes: int = 4 << 20
    """Bytes of an array that the memory of a large GPU gives in the time of a launch."""
    widened_bytes: int = 1 << 24
    """Bytes of a value from which on kernels compute it again from the narrower product that it is stored as: what
    reads smaller ones gains less than a launch, where an op (a gather of labels) is in a kernel of its own for that."""
    unaligned: float = 6.0
    """How much longer a product takes that reads operands element by element, as their rows begin anywhere
    (`align-operands`)."""
    unaligned_step: float = 0.7e-6
    """Seconds for each of its steps along K at least: one waits for its loads, however small tiles are. Measured on an
    H200 with bf16, in us, copied first / read element by element: 7.7 / 14.5 at 300, 7.7 / 12.1 at 513, 14.8 / 39 at
    1023, 66 / 198 at 2047, 372 / 1128 at 4095 (M = N = K, or off by 2)."""
    windows: WindowCosts = WindowCosts()
    """Of the operands of convolutions."""
    warp_groups: WarpGroupCosts = WarpGroupCosts()
    """Of products of warp groups."""
    cascades: CascadeCosts = CascadeCosts()
    """Of several products in one kernel."""
    accesses: AccessCosts = ACCESSES
    """Of tiles on their way between memory and registers."""
    kernels: KernelCosts = KernelCosts()
    """Of blocks."""
