"""How a program's copies, products and epilogue overlap: rings, panels of an epilogue, operands that are streamed."""
