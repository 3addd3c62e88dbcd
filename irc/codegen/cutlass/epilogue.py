"""The ops after a product as nodes of CUTLASS's epilogue visitor tree.

A value is visited with the axes of the product's result that its own axes follow, so that a broadcast of a vector, or
of what is computed from vectors, becomes a node that loads rows or columns below elementwise nodes of the whole tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from irc.analysis.op_classes import is_reduction, is_unit_reshape, monoid_of, reduced_axes
from irc.codegen.cutlass.functors import BITWISE, IDENTITY, Functor, functor_names, functor_of
from irc.codegen.cutlass.product import ELEMENTS, Product, check_rows
from irc.dialects import nd
from irc.dialects.kernel import FusedOp
from irc.dialects.nd.base import shape_of
from irc.ir.dtypes import Element, element_named, element_of
from irc.ir.iteration import iteration_of
from irc.ir.rewriting import location_of
from irc.support.diagnostics import IrcError

Axes = tuple[int | None, ...]
"""For each axis of a value the axis of the product's result that it follows; None of an axis of extent 1."""

LOADS = {"": "scalar", "n": "row", "m": "column", "mn": "tile", "ln": "row", "lm": "column", "lmn": "tile"}
"""What is loaded of an array whose axes are those of the batch (l), the rows (m) and the columns (n)."""


REDUCTIONS = {"reduce_row": "n", "reduce_column": "m", "reduce_scalar": ""}
"""The nodes that reduce a tile, by the axes that they keep."""

IDENTITIES = {"sum": 0.0, "max": -math.inf, "min": math.inf}
"""What can be reduced, and what reduces to nothing."""


@dataclass(eq=False)
class Node:
    """`kind`: accumulator, product (one that is computed before), constant, scalar, row, column, tile (arrays),
    compute, store, and reductions of the tile to a row, a column or a scalar (reduce_row and others). `inputs` feed the
    node.

    element: what it gives. functor: of compute, and of a reduction, whose identity is `value`. argument: of an array;
    batched, whether it has one for each batch. result: the number of the array that is written. product: that of the
    product. op: where it comes from.
    """

    kind: str
    element: Element
    op: Operation | None = None
    inputs: tuple[Node, ...] = ()
    functor: Functor | None = None
    argument: BlockArgument | None = None
    batched: bool = False
    result: int = 0
    value: float = 0.0
    product: int = 0


@dataclass
class Epilogue:
    """The nodes in an order in which each follows its inputs; the last one gives result number `first`, which CUTLASS
    calls D. compute: the element type of the computation. source: the array that CUTLASS loads as its C."""

    nodes: list[Node]
    compute: Element
    results: list[Element]
    first: int
    source: Node | None

    @property
    def reductions(self) -> list[Node]:
        return [node for node in self.nodes if node.kind in REDUCTIONS]

    @property
    def shares(self) -> bool:
        """Whether a node feeds several others, or stores: then the nodes are no tree. Fetching an accumulator or a
        constant twice costs nothing."""
        inputs = [node for each in self.nodes for node in each.inputs if node.kind not in ("accumulator", "constant")]
        return len(set(inputs)) < len(inputs) or any(node.kind in ("store", *REDUCTIONS) for node in self.nodes)


def epilogue_of(kernel: FusedOp, products: Sequence[Product]) -> Epilogue:
    """What follows the first product, whose sums are in registers; those of the others are loaded. IrcError where an op
    has no node."""
    return _Translator(kernel, products[0], {each.op: at for at, each in enumerate(products) if at}).run()


def bare_epilogue(product: Product) -> Epilogue:
    """Stores the sums of a product as they are."""
    sums = Node("accumulator", product.accumulator, product.op)
    stored = Node("compute", product.accumulator, product.op, (sums,), IDENTITY)
    return Epilogue([sums, stored], product.accumulator, [product.accumulator], 0, None)


@dataclass
class _Translator:
    kernel: FusedOp
    product: Product
    before: dict[Operation, int]
    known: dict[tuple[SSAValue, Axes], Node] = field(default_factory=dict[tuple[SSAValue, Axes], Node])
    first: int | None = None

    def run(self) -> Epilogue:
        self.compute = self._compute_element()
        shape = shape_of(self.product.op.results[0])
        outputs = list(self.kernel.yielded.outputs)
        roots: list[Node] = []
        self.first = next((i for i, value in enumerate(outputs) if shape_of(value) == shape), None)
        if self.first is None:
            found = f"results of shape {list(shape_of(outputs[0]))} alone"
            raise _no_node(_maker(outputs[0]), found, f"a result of {list(shape)}, and reductions beside it")
        for i, value in enumerate(outputs):
            if shape_of(value) != shape:
                roots.append(self._reduced(value, i))
                continue
            node, element = self._visit(value, tuple(range(len(shape)))), element_of(value.type)
            if element.name not in ELEMENTS:
                raise _no_node(_maker(value), f"a result of {element.name}", f"results of {', '.join(ELEMENTS)}")
            check_rows(_maker(value), "a result", self.product.n, element)
            roots.append(self._rounded(node, element, i))
        first = roots.pop(self.first)
        others = roots
        if first in _reachable(others):
            first = Node("compute", first.element, first.op, (first,), IDENTITY)
        nodes = _reachable([*others, first])
        elements = [element_of(v.type) for v in outputs]
        source = next((n for n in nodes if n.kind == "tile"), None)
        return Epilogue(nodes, self.compute, elements, self.first, source)

    def _compute_element(self) -> Element:
        """f32; i32 where all the ops are on integers."""
        types = [element_of(v.type) for op in self.kernel.block.ops for v in op.results]
        whole = self.product.accumulator.name == "i32" and not any(t.is_float for t in types)
        return element_named("i32" if whole else "f32")

    def _rounded(self, node: Node, element: Element, result: int) -> Node:
        """A root: what the first result is, or the node that stores another one."""
        if result != self.first:
            return Node("store", element, node.op, (node,), result=result)
        if node.kind == "compute" and node.element is element:
            return node
        return Node("compute", element, node.op, (node,), IDENTITY)

    def _reduced(self, value: SSAValue, result: int) -> Node:
        """A reduction of the whole of M, of N or of both, which is a result as it is."""
        op, shape = _maker(value), shape_of(self.product.op.results[0])
        if not is_reduction(op) or monoid_of(op) not in IDENTITIES or shape_of(op.operands[0]) != shape:
            accepted = f"results of {list(shape)}, and {', '.join(IDENTITIES)} of them over rows, columns or both"
            hint = ", before split-reductions" if isinstance(op, nd.SumOp | nd.MaxOp | nd.MinOp) else ""
            raise _no_node(op, f"a result of shape {list(shape_of(value))}", accepted + hint)
        axes = reduced_axes(op)
        kept = "".join(side for axis, side in enumerate(self.product.axes) if axis not in axes)
        kind = next((kind for kind, sides in REDUCTIONS.items() if sides == kept), None)
        monoid, element = monoid_of(op), element_of(value.type)
        if kind is None or "l" in self.product.axes:
            raise _no_node(op, "a reduction of a batch, or of a part of the rows or columns", "whole rows or columns")
        if element is not self.compute or (kind == "reduce_scalar" and monoid != "sum"):
            accepted = f"{', '.join(IDENTITIES)} of {self.compute.name}, of both rows and columns sum"
            raise _no_node(op, f"{monoid} of {element.name}", accepted)
        node = self._visit(op.operands[0], tuple(range(len(shape))))
        functor = functor_of({"sum": "add", "max": "maximum", "min": "minimum"}[monoid], 2)
        return Node(kind, element, op, (node,), functor, result=result, value=IDENTITIES[monoid])

    def _visit(self, value: SSAValue, axes: Axes) -> Node:
        if (value, axes) not in self.known:
            self.known[value, axes] = self._make(value, axes)
        return self.known[value, axes]

    def _make(self, value: SSAValue, axes: Axes) -> Node:
        if isinstance(value, BlockArgument):
            return self._load(value, axes)
        op = value.owner
        assert isinstance(op, Operation)
        if op is self.product.op or op in self.before:
            if axes != tuple(range(len(axes))):
                raise _no_node(op, "the product's result in another order", "its own order")
            if op in self.before:
                return Node("product", element_of(op.results[0].type), op, product=self.before[op])
            return Node("accumulator", self.product.accumulator, op)
        match op:
            case nd.ConstantOp() if op.splat_value is not None:
                return Node("constant", self.compute, op, value=float(op.splat_value))
            case nd.BroadcastOp() | nd.PermuteOp():
                read = iteration_of(op).inputs[0].map.results
                return self._visit(
                    op.operands[0], tuple(axes[e.position] if isinstance(e, AffineDimExpr) else None for e in read)
                )
            case nd.ReshapeOp() if is_unit_reshape(op):
                kept = iter([axis for axis, n in zip(axes, shape_of(value), strict=True) if n != 1])
                return self._visit(
                    op.operands[0], tuple(None if n == 1 else next(kept) for n in shape_of(op.operands[0]))
                )
            case nd.CastOp():
                return self._cast(op, axes)
            case _:
                return self._elementwise(op, axes)

    def _cast(self, op: Operation, axes: Axes) -> Node:
        """A cast to the type of the computation is made where the value is read; others round."""
        node, source, target = (
            self._visit(op.operands[0], axes),
            element_of(op.operands[0].type),
            element_of(op.results[0].type),
        )
        if target.name not in ELEMENTS or (source.is_float and not target.is_float):
            raise _no_node(op, f"a cast from {source.name} to {target.name}", "casts between floats, and from integers")
        if target is self.compute:
            return node
        if node.kind == "compute" and node.op is op.operands[0].owner and op.operands[0].has_one_use():
            node.element = target
            return node
        return Node("compute", target, op, (node,), IDENTITY)

    def _elementwise(self, op: Operation, axes: Axes) -> Node:
        name = op.name.removeprefix("nd.")
        functor = functor_of(name, len(op.operands))
        on_bool = element_of(op.results[0].type).kind == "bool"
        whole = self.compute.name == "i32" and name not in ("add", "sub", "mul", "neg", "relu", "maximum", "minimum")
        if functor is None or whole or (name in BITWISE and not on_bool):
            known = ", ".join(functor_names())
            raise _no_node(op, "this op after a product", f"{known}, cast, broadcast of vectors and scalars")
        inputs = tuple(self._visit(operand, axes) for operand in op.operands)
        return Node("compute", self.compute, op, inputs, functor)

    def _load(self, argument: BlockArgument, axes: Axes) -> Node:
        element, maker = element_of(argument.type), self.product.op
        shape = shape_of(self.product.op.results[0])
        kept = [axis for axis, n in zip(axes, shape_of(argument), strict=True) if n != 1]
        sides = "".join(dict.fromkeys(self.product.axes[axis] for axis in kept if axis is not None))
        whole = [i for i, side in enumerate(self.product.axes) if side in sides and shape[i] != 1]
        if None in kept or kept != whole or sides not in LOADS:
            found = f"{argument.name_hint or 'an operand'} of shape {list(shape_of(argument))} in the epilogue"
            raise _no_node(maker, found, "scalars, vectors of rows or columns and whole arrays")
        if element.name not in ELEMENTS:
            raise _no_node(maker, f"an operand of {element.name}", f"operands of {', '.join(ELEMENTS)}")
        kind = LOADS[sides]
        if kind in ("row", "tile"):
            check_rows(maker, argument.name_hint or "an operand", prod(shape[i] for i in whole[-1:]), element)
        return Node(kind, element, maker, argument=argument, batched="l" in sides)


def _maker(value: SSAValue) -> Operation:
    """The op that makes a value, or the kernel's of an argument."""
    if isinstance(value.owner, Operation):
        return value.owner
    parent = value.owner.parent_op()
    assert parent is not None
    return parent


def _no_node(op: Operation, what: str, accepted: str) -> IrcError:
    return IrcError(
        f"an epilogue visitor tree has no node for {what} ({op.name})", location_of(op), f"accepted: {accepted}"
    )


def _reachable(roots: list[Node]) -> list[Node]:
    """The nodes below the roots, inputs first, the roots in their order."""
    found: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node in found:
            return
        for each in node.inputs:
            visit(each)
        found[node] = None

    for root in roots:
        visit(root)
    return list(found)
