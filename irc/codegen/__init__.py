"""The cuda dialect to CUDA C++ (`printer`), to PTX and cubin (`compiling`, `nvrtc`, `cache`), to SASS (`sass`)."""

from irc.codegen.compiling import CompiledKernel, compile_kernel
from irc.codegen.printer import print_kernels, print_module
from irc.codegen.sass import disassemble, opcodes

print_cuda = print_module

__all__ = ["CompiledKernel", "compile_kernel", "disassemble", "opcodes", "print_cuda", "print_kernels", "print_module"]
