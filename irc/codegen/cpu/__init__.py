"""`cpu` kernels to LLVM IR to machine code: one printer, op by op, and llvmlite.

xDSL has a way to llvmlite of its own (`xdsl/backend/llvm`). It takes the llvm dialect alone, without branches' values
from `scf`, alias scopes and intrinsics with flags, and builds llvmlite's objects, which print slower than text is made.
"""
