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
    windows: WindowCosts = WindowCosts()
    """Of the operands of convolutions."""
