"""A product with its epilogue, from the kernel level, as a file of CUTLASS 3.x C++.

`product` reads the operands and the config, `epilogue` turns the ops after the product into nodes of a visitor
tree, `functors` has what they compute, `operand` what is computed before the product; `printer`, `program` and
`comparison` write the file.
"""

from irc.codegen.cutlass.printer import print_kernel, print_module

__all__ = ["print_kernel", "print_module"]
