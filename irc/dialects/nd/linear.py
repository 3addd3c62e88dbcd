"""Matrix products of any rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from irc.dialects.nd.base import (
    NUMBER,
    Location,
    NdOp,
    Operand,
    element_of,
    ints,
    ints_prop,
    normalized,
    rank_of,
    shape_of,
    tensor,
)
from irc.ir.dtypes import Element
from irc.ir.iteration import Iteration, IterationInterface, Kind, Pattern, access, dim_exprs, numbered

PRECISIONS = ("default", "f32", "tf32", "bf16")
"""How f32 operands are multiplied."""

OF_MATMUL = (*PRECISIONS, "f16")
"""The same, and sums of f16."""


@irdl_op_definition
class MatmulOp(NdOp, IterationInterface):
    """Sums products over pairs of contracted axes, for each index of the batch axes, which are pairs too.

    The result's axes are the batch axes (in the order of `lhs_batch`), then lhs's free axes, then rhs's, each in their
    order. Operands have one element type, or both are f8. Products of f16, bf16 and f8 are exact and accumulate in f32,
    or in f64 for a result of f64; the sum is rounded to the result's element type, so that bf16 x bf16 -> f32 gives it
    unrounded. Integers are exact modulo the width of an integer result; for a float result i8 and ui8 accumulate in
    i32, wider ones in their own type. `precision` says how f32 operands are multiplied: `default` and `f32` accurately,
    `tf32` and `bf16` after rounding them. Of f16 and bf16, `f32` says that sums are as accurate as those of f32: tensor
    cores add up one step along K, and ordinary additions the steps. `f16` says that sums of f16 products, for a result
    of f16, are f16 too: they may be rounded after each addition.
    """

    name = "nd.matmul"
    PATTERN: ClassVar[Pattern] = Pattern.PRODUCT
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    lhs_batch = ints_prop([])
    rhs_batch = ints_prop([])
    lhs_contract = ints_prop()
    rhs_contract = ints_prop()
    precision = prop_def(StringAttr, default_value=StringAttr("default"))

    def __init__(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        lhs_batch: Sequence[int] = (),
        rhs_batch: Sequence[int] = (),
        lhs_contract: Sequence[int],
        rhs_contract: Sequence[int],
        element: Attribute | Element | None = None,
        precision: str = "default",
        location: Location | None = None,
    ):
        a, b = rank_of(lhs), rank_of(rhs)
        lhs_batch, rhs_batch = [normalized(i, a) for i in lhs_batch], [normalized(i, b) for i in rhs_batch]
        lhs_contract, rhs_contract = [normalized(i, a) for i in lhs_contract], [normalized(i, b) for i in rhs_contract]
        shape = product_shape(shape_of(lhs), shape_of(rhs), lhs_batch, rhs_batch, lhs_contract, rhs_contract)
        properties = {
            "lhs_batch": lhs_batch,
            "rhs_batch": rhs_batch,
            "lhs_contract": lhs_contract,
            "rhs_contract": rhs_contract,
            "precision": precision,
        }
        self.setup([lhs, rhs], [tensor(shape, element or element_of(lhs))], properties, location)

    @property
    def lhs_free(self) -> tuple[int, ...]:
        """The axes of lhs that are neither batch nor contracted."""
        return _free(rank_of(self.lhs), ints(self.lhs_batch), ints(self.lhs_contract))

    @property
    def rhs_free(self) -> tuple[int, ...]:
        """The axes of rhs that are neither batch nor contracted."""
        return _free(rank_of(self.rhs), ints(self.rhs_batch), ints(self.rhs_contract))

    def iteration(self) -> Iteration:
        lhs, rhs, contract = shape_of(self.lhs), shape_of(self.rhs), ints(self.lhs_contract)
        dims = (
            *numbered("b", [lhs[axis] for axis in ints(self.lhs_batch)]),
            *numbered("m", [lhs[axis] for axis in self.lhs_free]),
            *numbered("n", [rhs[axis] for axis in self.rhs_free]),
            *numbered("k", [lhs[axis] for axis in contract], Kind.REDUCE, "sum"),
        )
        places = list(zip(dims, dim_exprs(len(dims)), strict=True))
        b, m, n, k = ([place for dim, place in places if dim.role == role] for role in "bmnk")
        left = dict(zip((*ints(self.lhs_batch), *self.lhs_free, *contract), (*b, *m, *k), strict=True))
        right_axes = (*ints(self.rhs_batch), *self.rhs_free, *ints(self.rhs_contract))
        right = dict(zip(right_axes, (*b, *n, *k), strict=True))
        inputs = tuple(access(len(dims), [side[axis] for axis in range(len(side))]) for side in (left, right))
        return Iteration(dims, inputs, AffineMap(len(dims), 0, (*b, *m, *n)))

    def check(self) -> None:
        elements = [element_of(value) for value in (self.lhs, self.rhs)]
        if elements[0] is not elements[1] and not all(e.is_float and e.size == 1 for e in elements):
            raise self.fail(f"expects operands with one element type, found {self.lhs.type} and {self.rhs.type}")
        self.check_element(self.lhs, NUMBER)
        self.check_element(self.result, NUMBER, " result")
        if self.precision.data not in OF_MATMUL:
            raise self.fail(f'expects a precision of {", ".join(OF_MATMUL)}, found "{self.precision.data}"')
        if self.precision.data == "f16" and {e.name for e in (*elements, element_of(self.result))} != {"f16"}:
            types = f"{self.lhs.type}, {self.rhs.type} and {self.result.type}"
            raise self.fail(f"has sums of f16, which are of operands and for a result of f16, found {types}")
        self.check_axes((*ints(self.lhs_batch), *ints(self.lhs_contract)), rank_of(self.lhs), "lhs axes")
        self.check_axes((*ints(self.rhs_batch), *ints(self.rhs_contract)), rank_of(self.rhs), "rhs axes")
        self._check_pairs(ints(self.lhs_batch), ints(self.rhs_batch), "batch")
        self._check_pairs(ints(self.lhs_contract), ints(self.rhs_contract), "contracted")
        numbers = (ints(p) for p in (self.lhs_batch, self.rhs_batch, self.lhs_contract, self.rhs_contract))
        self.check_result_shape(product_shape(shape_of(self.lhs), shape_of(self.rhs), *numbers))

    def _check_pairs(self, lhs: Sequence[int], rhs: Sequence[int], what: str) -> None:
        if len(lhs) != len(rhs):
            raise self.fail(f"expects as many {what} axes of lhs as of rhs, found {list(lhs)} and {list(rhs)}")
        a, b = shape_of(self.lhs), shape_of(self.rhs)
        for i, j in zip(lhs, rhs, strict=True):
            if a[i] != b[j]:
                raise self.fail(
                    f"expects {what} axes of one extent, found {a[i]} (axis {i} of lhs) and {b[j]} (axis {j} of rhs)"
                )


def product_shape(
    lhs: Sequence[int],
    rhs: Sequence[int],
    lhs_batch: Sequence[int],
    rhs_batch: Sequence[int],
    lhs_contract: Sequence[int],
    rhs_contract: Sequence[int],
) -> tuple[int, ...]:
    """The result shape of a matmul: batch extents, free extents of lhs, free extents of rhs."""
    return (
        *(lhs[i] for i in lhs_batch),
        *(lhs[i] for i in _free(len(lhs), lhs_batch, lhs_contract)),
        *(rhs[i] for i in _free(len(rhs), rhs_batch, rhs_contract)),
    )


def _free(rank: int, batch: Sequence[int], contract: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i in range(rank) if i not in batch and i not in contract)
