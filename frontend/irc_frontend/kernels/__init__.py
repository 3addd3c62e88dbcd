"""Kernels of the user: written in Python as loops over tiles (docs/kernels.md), in CUDA C++ or in Triton
(docs/cuda-kernels.md)."""

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
