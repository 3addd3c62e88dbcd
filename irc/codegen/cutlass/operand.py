"""Operands that are computed on the way to a product: a kernel before it writes them to arrays, element by element."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.codegen.cutlass.functors import BITWISE, Functor, functor_names, functor_of
from irc.codegen.cutlass.product import ELEMENTS
from irc.dialects import nd
from irc.dialects.nd.base import shape_of
from irc.ir.dtypes import element_of
from irc.ir.rewriting import location_of
from irc.support.diagnostics import IrcError


@dataclass
class Operand:
    """A computed operand. arrays: what it is computed from, of its own shape. text: its element i in C++, where
    `{0}[i]` is element i of the first array."""

    value: SSAValue
    arrays: list[BlockArgument]
    functors: list[Functor]
    text: str = ""

    @staticmethod
    def of(value: SSAValue) -> Operand:
        """IrcError where it is computed of anything but arrays of its shape and constants, element by element."""
        found = Operand(value, [], [])
        is_cast = isinstance(value.owner, nd.CastOp) and element_of(value.type).is_float
        root = value.owner.operands[0] if is_cast and isinstance(value.owner, Operation) else value
        found.text = f"{ELEMENTS[element_of(value.type).name]}({found._element(root)})"
        return found

    def _element(self, value: SSAValue) -> str:
        if isinstance(value, BlockArgument):
            if value not in self.arrays:
                self.arrays.append(value)
            return f"float({{{self.arrays.index(value)}}}[i])"
        op = value.owner
        assert isinstance(op, Operation)
        match op:
            case nd.ConstantOp() if op.splat_value is not None and element_of(value.type).is_float:
                return f"float({float(op.splat_value)!r})"
            case nd.BroadcastOp() if _is_constant(op.operands[0]):
                return self._element(op.operands[0])
            case nd.CastOp() if element_of(value.type).is_float:
                element = self._element(op.operands[0])
                is_wide = element_of(value.type).name == "f32"
                return element if is_wide else f"float({ELEMENTS[element_of(value.type).name]}({element}))"
            case _:
                return self._elementwise(op)

    def _elementwise(self, op: Operation) -> str:
        name = op.name.removeprefix("nd.")
        functor = functor_of(name, len(op.operands))
        alike = all(shape_of(each) == shape_of(self.value) for each in (*op.operands, *op.results))
        if functor is None or name in BITWISE or not alike or element_of(op.results[0].type).name != "f32":
            known = ", ".join(each for each in functor_names() if each not in BITWISE)
            raise IrcError(
                f"no kernel before a product computes its operand by this op ({op.name})",
                location_of(op),
                f"accepted: {known} of f32, casts, arrays of the operand's shape, constants",
            )
        self.functors.append(functor)
        return f"{functor.name}<float>{{{{}}}}({', '.join(map(self._element, op.operands))})"


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, nd.ConstantOp)


OPERAND = """\
/// Element i of an operand, of those of what it is computed from.
CUTLASS_HOST_DEVICE {type} element_of_{name}({parameters}, int64_t i) {{
  return {text};
}}

__global__ void compute_{name}({parameters}, {type}* result) {{
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < {size}; i += gridDim.x * int64_t(blockDim.x)) {{
    result[i] = element_of_{name}({arguments}, i);
  }}
}}
"""


def operand_text(operand: Operand, name: str, arrays: list[str]) -> str:
    """The functions that compute it, from arrays of these names."""
    types = [ELEMENTS[element_of(array.type).name] for array in operand.arrays]
    size = 1
    for extent in shape_of(operand.value):
        size *= extent
    return OPERAND.format(
        type=ELEMENTS[element_of(operand.value.type).name],
        name=name,
        parameters=", ".join(f"{type} const* {array}" for type, array in zip(types, arrays, strict=True)),
        arguments=", ".join(arrays),
        text=operand.text.format(*arrays),
        size=size,
    )
