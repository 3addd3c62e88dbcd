"""How a program's copies, products and epilogue overlap: channels, subtiles of an epilogue, operands that are
streamed."""
