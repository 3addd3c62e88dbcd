"""Kernels written in Python, functions with loops over tiles, and in CUDA C++ (docs/kernels.md)."""

from irc_frontend.kernels.code import CudaKernel, cuda_kernel
from irc_frontend.kernels.kernel import Kernel, addmm, atomic_add, copy_of, empty, empty_like, kernel
from irc_frontend.kernels.tiles import tiles

__all__ = [
    "CudaKernel",
    "Kernel",
    "addmm",
    "atomic_add",
    "copy_of",
    "cuda_kernel",
    "empty",
    "empty_like",
    "kernel",
    "tiles",
]
