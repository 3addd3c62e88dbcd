"""Kernels written in Python, functions with loops over tiles, in CUDA C++ and in Triton (docs/kernels.md)."""

from irc_frontend.kernels.code import CudaKernel, cuda_kernel
from irc_frontend.kernels.kernel import Kernel, addmm, atomic_add, copy_of, empty, empty_like, kernel
from irc_frontend.kernels.tiles import tiles
from irc_frontend.kernels.triton_code import TritonKernel, triton_kernel

__all__ = [
    "CudaKernel",
    "Kernel",
    "TritonKernel",
    "addmm",
    "atomic_add",
    "copy_of",
    "cuda_kernel",
    "empty",
    "empty_like",
    "kernel",
    "tiles",
    "triton_kernel",
]
