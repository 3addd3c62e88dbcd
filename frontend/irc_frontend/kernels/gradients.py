"""A traced call, and its gradients: those that the user gave, or reverse mode of what the kernel computes.

What a kernel computes is what it computes in tiles of the whole extent: nd ops on whole arrays (`raise-programs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import Any

from xdsl.context import Context

from irc.ir.functions import entry_of
from irc.passes.tile.raise_programs import RaiseProgramsPass
from irc.support.diagnostics import IrcError, Span
from irc_frontend import elementwise
from irc_frontend.build import Builder, build_module
from irc_frontend.graph import ARGUMENT, CALL, LAUNCH, LEAF, Node, fail, sorted_nodes
from irc_frontend.jit import is_array
from irc_frontend.kernels.own import Gradient, Own
from irc_frontend.launch import Launch
from irc_frontend.nodes import Nodes
from irc_frontend.pytrees import rebuilt, tree_leaves
from irc_frontend.reduction import reduce
from irc_frontend.reverse import reverse
from irc_frontend.structure import as_it_lies, permute
from irc_frontend.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Recorded:
    """A traced call: its results as nodes of its inputs, in a tree. arguments: those of the call, by place and by
    name. views: the order of axes in which the call sees each input, None where that is its own. is_traced: whether
    it is a function that was traced, not code of the user; reference: the results by other ops, if such code has
    them."""

    name: str
    tree: Any
    inputs: Sequence[Node]
    roots: Sequence[Node]
    arguments: Any
    own: Own
    views: Sequence[tuple[int, ...] | None]
    is_traced: bool = True
    reference: Sequence[Node] | None = None

    def of(self, nodes: Sequence[Node]) -> list[Node]:
        """The results of other inputs of the same kind, which know their gradients."""
        bases = [x if view is None else as_it_lies(x)[0] for x, view in zip(nodes, self.views, strict=True)]
        plain = copied(self.inputs, self.roots, bases)
        attributes = (("call", self), ("results", len(plain)))
        operands = [*nodes, *plain]
        return [
            Node(CALL, operands, root.shape, root.element, attributes, result=number, place=root.place)
            for number, root in enumerate(plain)
        ]

    def gradients(
        self, cotangents: Sequence[Node | None], results: Sequence[Node], arrays: Sequence[Node]
    ) -> Sequence[Node | None]:
        """Those of the arrays of a call; None where there is none."""
        function = self.own.gradient
        if function is None:
            return self._of_meaning(cotangents, arrays)
        return self._given_by(function, cotangents, results, arrays)

    def _given_by(
        self,
        function: Gradient,
        cotangents: Sequence[Node | None],
        results: Sequence[Node],
        arrays: Sequence[Node],
    ) -> list[Node | None]:
        filled = [zeros(y) if g is None else g for g, y in zip(cotangents, results, strict=True)]
        g, y = (self._tree(each) for each in (filled, results))
        remaining = map(Tensor.of, arrays)
        leaves = (next(remaining) if is_array(leaf) else leaf for leaf in tree_leaves(self.arguments))
        args, options = rebuilt(self.arguments, leaves)
        found = function(g, y, *args, **options)
        gradients = list(found) if isinstance(found, tuple | list) else [found]  # pyright: ignore[reportUnknownArgumentType]
        if len(gradients) != len(arrays):
            raise _wrong(
                function,
                f"the gradient of {self.name} gives {len(gradients)} arrays, and its call has {len(arrays)}",
                "one for each array among the arguments, in order; None for one that has no gradient",
            )
        return [self._checked(function, each, array) for each, array in zip(gradients, arrays, strict=True)]

    def _tree(self, nodes: Sequence[Node]) -> Any:
        """A tree as that of the results."""
        remaining = map(Tensor.of, nodes)
        leaves = tree_leaves(self.tree)
        return rebuilt(self.tree, (next(remaining) if isinstance(leaf, Tensor) else leaf for leaf in leaves))

    def _checked(self, function: Gradient, gradient: Any, array: Node) -> Node | None:
        if gradient is None or not array.is_float:
            return None
        if not isinstance(gradient, Tensor) or gradient.shape != array.shape or not gradient.node.is_float:
            found = gradient.node.type if isinstance(gradient, Tensor) else type(gradient).__name__
            raise _wrong(function, f"the gradient of {self.name} gives {found} for an array {array.type}")
        return elementwise.astype(gradient.node, array.element)

    def _of_meaning(self, cotangents: Sequence[Node | None], arrays: Sequence[Node]) -> list[Node | None]:
        """By reverse mode of the sum of the results, each times its cotangent."""
        inputs = [Node(ARGUMENT, (), x.shape, x.element) if x.is_float else x for x in arrays]
        bases = [
            x if view is None else permute(x, [view.index(axis) for axis in range(len(view))])
            for x, view in zip(inputs, self.views, strict=True)
        ]
        roots = copied(self.inputs, self.meaning, bases)
        terms = [
            reduce("sum", elementwise.apply("mul", root, g), None, False, "f32")
            for g, root in zip(cotangents, roots, strict=True)
            if g is not None
        ]
        total = terms[0]
        for term in terms[1:]:
            total = elementwise.apply("add", total, term)
        floats = [(x, array) for x, array in zip(inputs, arrays, strict=True) if x.is_float]
        _, gradients = reverse([total], [x for x, _ in floats], [array for _, array in floats])
        found = iter(gradients)
        return [next(found) if x.is_float else None for x in inputs]

    @cached_property
    def meaning(self) -> list[Node]:
        """The results by ops on whole arrays, which are nodes of the inputs. IrcError where they have no such form."""
        if not self.is_traced:
            if self.reference is None:
                raise fail(
                    f"{self.name} has no gradient: the code of the user says none",
                    f"say what it is, @{self.name}.gradient before a function, or give it a reference, which has one",
                )
            return list(self.reference)
        order = sorted_nodes(self.roots)
        leaves = [*self.inputs, *(node for node in order if node.op == LEAF)]
        whole = {node: node for node in leaves}
        for node in order:
            if node not in whole:
                whole[node] = _copy(node, [whole[each] for each in node.operands])
        roots = [whole[root] for root in self.roots]
        builder = Builder(has_calls=True)
        module = build_module(sorted_nodes([*leaves, *roots]), roots, leaves, builder)
        try:
            RaiseProgramsPass().apply(Context(), module)
        except IrcError as error:
            hint = f"say what it is: @{self.name}.gradient before a function"
            raise IrcError(f"{self.name} has no gradient: {error.message}", error.location, hint) from error
        return Nodes(entry_of(module).body.block, leaves, builder, order).results()


def _copy(node: Node, operands: Sequence[Node]) -> Node:
    """The node with other operands, and tiles of the whole extent where it is a launch."""
    attributes = node.attributes
    if node.op == LAUNCH:
        launch = dict(attributes)["program"]
        assert isinstance(launch, Launch)
        attributes = (("program", launch.whole or launch),)
    return Node(node.op, operands, node.shape, node.element, attributes, result=node.result, place=node.place)


def copied(inputs: Sequence[Node], roots: Sequence[Node], nodes: Sequence[Node]) -> list[Node]:
    """What the roots are of other inputs."""
    known = dict(zip(inputs, nodes, strict=True))
    for node in sorted_nodes(roots):
        if node not in known and node.op != LEAF:
            operands = [known.get(each, each) for each in node.operands]
            known[node] = Node(
                node.op, operands, node.shape, node.element, node.attributes, None, node.result, node.place
            )
    return [known.get(root, root) for root in roots]


def zeros(result: Node) -> Node:
    """Zeros of a node's type."""
    return Node("constant", (), result.shape, result.element, (("value", 0),))


def _wrong(function: Gradient, message: str, hint: str | None = None) -> IrcError:
    code: CodeType = function.__code__  # pyright: ignore[reportFunctionMemberAccess]
    return IrcError(message, Span(code.co_filename, code.co_firstlineno, 1), hint)
