"""Small programs over every function, element type and kind of shape of the language, for tests on a GPU and without."""

from __future__ import annotations

from gpu.programs import creation, elementwise, products, reductions, shapes
from gpu.programs.program import Program, arguments_of, difference

__all__ = ["PROGRAMS", "Program", "arguments_of", "difference"]

FAMILIES = (elementwise, shapes, reductions, products, creation)

PROGRAMS: tuple[Program, ...] = tuple(program for family in FAMILIES for program in family.programs())
