"""How a program's copies, products and epilogue overlap: channels, panels of an epilogue, operands that are
streamed."""
