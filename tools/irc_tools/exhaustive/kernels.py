"""The 60 kernels, of all kinds: names of the data set's programs (`irc_tools/dataset/sources.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import zip_longest

from irc.support.diagnostics import IrcError
from irc_tools.dataset.sources import Source, sources

PRODUCT = "gemm/4096^3"
"""The product that is also tuned for some seconds."""

KERNELS: Mapping[str, Sequence[str]] = {
    "products": (
        PRODUCT,
        "gemm/64x8192x8192",
        "gemm-sweep/1024x1024x4096 nt bf16",
        "gemm/512x4096x4096",
        "gemm-sweep/2047x2047x2047 tn bf16",
        "gemm-sweep/4096x4096x4096 nt f8e4m3",
        "gemm-sweep/256x256x8192 nt bf16",
        "gemm-sweep/2048x2048x2048 nt f32",
        "gemm-sweep/512x4096x4096 nt i8",
        "gemm-sweep/4096x4096x512 nt bf16",
        "gemm-rows/2048^3 f64",
    ),
    "fused products": (
        "gemm/relu(x@w+b) 4096",
        "gemm/gelu_tanh(x@w+b)+r 8192x8192x2048",
        "gemm/swiglu 8192x14336x4096",
        "gemm/sum((x@w)^2, rows) 4096",
        "gemm-rows/softmax(x@w) 16384x256x1024",
        "operands/x@(relu(w)*s) 2048",
        "gemm/gating 2048",
    ),
    "grouped": (
        "grouped/8 x 1024x4096x4096",
        "grouped/64 x 256x2048x2048",
        "grouped/of rows, 64 x 256x2048x2048, even",
    ),
    "scaled": (
        "operands/i8 channels 256x4096x4096",
        "scaled/f8 blocks 4096x4096x7168",
        "operands/i8 groups 16x4096x4096",
        "scaled/int4 groups 256x4096x4096",
    ),
    "attention": (
        "attention/full 4x16x4096x128 bf16",
        "attention/causal 4x32x4096x64 bf16",
        "attention/decode 16x32/8x8192x128 bf16",
        "attention/flex soft cap 4x16x4096x128 bf16",
        "attention/full 32x12x512x64 bf16",
    ),
    "attention, gradients": (
        "attention/gradients causal 4x16x4096x128 bf16",
        "attention/gradients full 8x32x2048x64 bf16",
    ),
    "convolutions": (
        "convolution/3x3 256x64x56x56>64 fprop",
        "convolution/3x3 256x256x14x14>256 dgrad",
        "convolution/3x3 128x256x56x56>256 wgrad",
        "convolution/1x1 256x64x56x56>256 fprop",
        "convolution/stem 7x7 s2 256x3x224x224>64 fprop",
        "convolution/depthwise 3x3 64x144x112x112 fprop",
    ),
    "windows": (
        "windows/max_pool 3 s2 p1 NHWC",
        "windows/avg_pool 11 s11 NCHW",
        "windows/bilinear x2 NHWC",
    ),
    "norms": (
        "memory/rms_norm 16384x8192 bf16",
        "memory/layer_norm 16384x8192 bf16",
        "windows/group_norm 8 groups 128x64x112x112 NCHW bf16",
        "windows/batch_norm in training, relu 128x64x112x112 NHWC bf16",
    ),
    "reductions": (
        "memory/sum of columns 16384x8192 bf16",
        "windows/max over the middle 127x509x1021 f32",
        "memory/sum of all 16384x8192 bf16",
        "windows/cosine loss 262144x512 bf16",
    ),
    "softmax": ("memory/softmax 16384x8192 bf16", "memory/cross entropy 16384x32768 bf16"),
    "elementwise": ("memory/gelu(x)*y+z 16384x8192 bf16", "examples/gelu_chain"),
    "permutes": (
        "memory/permute (1,0) 16384^2 bf16",
        "memory/(4,2,0,3,1) 24x32x40x48x56 bf16",
        "memory/(2,0,1) 509x521x523 f32",
        "memory/NCHW->NHWC 256x256x56x56 bf16",
    ),
    "in Python": (
        "kernels/running_sums(f32[16384, 2048])",
        "kernels/scaled_matmul(f8e4m3[4096, 56, 128], f8e4m3[32, 128, 56, 128], f32[56, 4096], f32[32, 56])",
        "kernels/attention(bf16[64, 2048, 64], bf16[64, 2048, 64], bf16[64, 2048, 64])",
    ),
}
"""By kind. A program of several kernels stands for the one that the cost formula says takes longest."""


def selected(only: Sequence[str] = ()) -> list[tuple[str, Source]]:
    """Kinds and programs, in an order whose every beginning has some of each kind. only: patterns of names, as of
    files. IrcError where none has one."""
    known = {source.name: source for source in sources([], [], 0)}
    turns = zip_longest(*([(kind, known[name]) for name in names] for kind, names in KERNELS.items()))
    found = [each for turn in turns for each in turn if each is not None]
    wanted = [each for each in found if not only or any(fnmatchcase(each[1].name, pattern) for pattern in only)]
    if not wanted:
        raise IrcError(f"no kernel is named {' or '.join(only)}", hint=f"names are as {PRODUCT}: gemm/*, memory/*")
    return wanted
