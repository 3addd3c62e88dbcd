"""The runs of a kernel's function that trace its loops, and the graph that they give."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from irc.dialects.kernel import ConfigAttr
from irc.ir.printer import print_ir
from irc.ir.targets import target
from irc.support.tuned import KernelKey
from irc.tuning.session import Subject
from irc_frontend.graph import ARGUMENT, EMPTY, TILE, Node, fail, fail_at, sorted_nodes
from irc_frontend.jit import is_array
from irc_frontend.kernels.configs import fastest, said_at
from irc_frontend.kernels.facts import Facts
from irc_frontend.kernels.gradients import Recorded
from irc_frontend.kernels.loops import Hooks, Recording, recorded
from irc_frontend.kernels.own import Configs, Own
from irc_frontend.kernels.rewriting import rewritten
from irc_frontend.kernels.sizes import check, choose, config_of, reads_turned
from irc_frontend.kernels.space import NestSpace
from irc_frontend.kernels.trace import GONE
from irc_frontend.kernels.tuning import Traced, chip, module_of, subject_of, tuned_call
from irc_frontend.kernels.untraced import at_users_line
from irc_frontend.pytrees import rebuilt, tree_leaves
from irc_frontend.structure import as_it_lies, permute
from irc_frontend.tensor import Tensor


class Recorder:
    """A kernel's function with its loops rewritten, and the configs that the user set."""

    def __init__(self, function: FunctionType, configs: Configs, own: Own):
        self.name = function.__name__
        self._own = own
        self.function = rewritten(function, Hooks)
        self._configs = configs

    def record(self, args: Any, options: Any, leaves: Sequence[Any], nodes: Sequence[Node]) -> Recorded:
        """Traces the function twice: to see what its loops do, and with the sizes that were chosen for that; with those
        of each config where there are several."""
        facts, traced = self._probed(args, options, leaves, nodes)
        configs = [config_of(each) for each in self._configs.given]
        with said_at(self._configs.place):
            for config in configs:
                check(config, facts)
        if len(configs) == 1:
            return tuned_call(self.name, configs[0], facts, traced, self._configs.autotune)
        return fastest(self.name, configs, traced)

    def subject(self, args: Any, options: Any, leaves: Sequence[Any], nodes: Sequence[Node]) -> Subject:
        """What a tuner is given for the call, around the first config."""
        facts, traced = self._probed(args, options, leaves, nodes)
        given = config_of(self._configs.given[0])
        key = KernelKey.of(print_ir(module_of(traced(given))))
        return subject_of(self.name, key, NestSpace(facts, given, target(chip())), traced)

    def _probed(
        self, args: Any, options: Any, leaves: Sequence[Any], nodes: Sequence[Node]
    ) -> tuple[Sequence[Facts], Traced]:
        """What the loops do, and the call with a config."""
        probe = Recording(self.name)
        self._run(probe, args, options, leaves, nodes)
        if not all(map(reads_turned, probe.facts)):
            probe = Recording(self.name, reads_through=False)
            self._run(probe, args, options, leaves, nodes)

        def traced(config: ConfigAttr) -> Recorded:
            with said_at(self._configs.place):
                choices = [choose(facts, config) for facts in probe.facts]
            recording = Recording(self.name, choices, probe.launches, probe.reads_through)
            return self._run(recording, args, options, leaves, nodes)

        return probe.facts, traced

    def _run(
        self, recording: Recording, args: Any, options: Any, leaves: Sequence[Any], nodes: Sequence[Node]
    ) -> Recorded:
        bases, views = [as_it_lies(node)[0] for node in nodes], [as_it_lies(node)[1] for node in nodes]
        inputs = [Node(ARGUMENT, (), node.shape, node.element) for node in bases]
        seen = [x if view is None else permute(x, view) for x, view in zip(inputs, views, strict=True)]
        remaining = iter(seen)
        given = (Tensor.of(next(remaining)) if is_array(leaf) else leaf for leaf in leaves)
        new_args, new_options = rebuilt((args, options), given)
        self._check_call(new_args, new_options)
        with recorded(recording), at_users_line():
            tree = self.function(*new_args, **new_options)
        roots = [leaf.node for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
        if not roots:
            raise fail(f"{self.name} returns no array", "return out")
        if gone := [root for root in roots if any(node.op == TILE for node in sorted_nodes([root]))]:
            raise fail_at(gone[0], *GONE)
        if any(node.op == EMPTY for node in sorted_nodes(roots)):
            raise fail(f"{self.name} returns an array that no loop over tiles wrote", "out[m, n] = tile writes one")
        return Recorded(self.name, tree, inputs, roots, (new_args, new_options), self._own, views)

    def _check_call(self, args: Any, options: Any) -> None:
        """IrcError where the function cannot be called so."""
        signature = inspect.signature(self.function)
        try:
            signature.bind(*args, **options)
        except TypeError as error:
            raise fail(f"{self.name}: {error}", f"{self.name}({', '.join(signature.parameters)})") from None
