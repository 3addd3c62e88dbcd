"""What rows do with models of torch: their bodies, a forward pass or a training step, and how wrong a result is.

Nothing here loads a compiler: what follows may be its first call, which is timed."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from irc.support.diagnostics import IrcError

MODES: dict[str, dict[str, Any]] = {
    "eager": {},
    "compile": {},
    "max-autotune": {"mode": "max-autotune-no-cudagraphs"},
    "reduce-overhead": {"mode": "reduce-overhead"},
}
"""Options of torch.compile. max-autotune is without its CUDA graph, which would copy the inputs of each set into its
own: the host is ahead of the device anyway where that is what is timed."""

WORST = 1.5
"""How many times eager's error irc's may be, both against the model in f32."""


PRECISION = "high"
"""Of torch's products in f32 where a model in bf16 is timed: where torch.compile takes attention apart, it multiplies
in f32, and asks for this to use tensor cores."""


@contextmanager
def precision_kept(torch: Any) -> Generator[None]:
    """Leaves the precision of torch's products in f32 as it was."""
    before = torch.get_float32_matmul_precision()
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def body_function(row: str, body: str, arguments: Sequence[str], namespace: dict[str, Any]) -> Callable[..., Any]:
    """The Python function of a row's body. IrcError where it does not parse."""
    source = f"def work({', '.join(arguments)}):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"
    made = dict(namespace)
    try:
        exec(compile(source, f"<torch of {row}>", "exec"), made)
    except SyntaxError as error:
        raise IrcError(f"row {row!r}: its torch body is no Python: {error}") from error
    return made["work"]


def built(torch: Any, row: str, body: str, dims: Mapping[str, int]) -> tuple[Any, list[Any]]:
    """The model of a row's body, and its inputs."""
    model, inputs = _of_body(torch, row, body, dims)
    return model, list(inputs)


def built_for_sizes(
    torch: Any, row: str, body: str, dims: Mapping[str, int], swept: Sequence[Mapping[str, int]]
) -> tuple[Any, list[list[Any]]]:
    """The model of a row's body, and its inputs for each of the sizes: the body gives a function of these."""
    model, inputs_of = _of_body(torch, row, body, dims)
    if not callable(inputs_of):
        raise IrcError(f"row {row!r}: with sizes, its model is given with a function of {', '.join(swept[0])}")
    make: Any = inputs_of
    return model, [list(make(**sizes)) for sizes in swept]


def _of_body(torch: Any, row: str, body: str, dims: Mapping[str, int]) -> tuple[Any, Any]:
    return body_function(row, body, list(dims), {"torch": torch, "vary_norms": vary_norms})(**dims)


def vary_norms(model: Any) -> None:
    """Draws the parameters and running statistics of batch norms. Models begin with norms that change nothing but how
    ties are rounded."""
    from torch import nn

    norms = [each for each in model.modules() if isinstance(each, nn.BatchNorm2d | nn.BatchNorm3d)]
    for norm in norms:
        if norm.running_mean is not None and norm.running_var is not None:
            nn.init.normal_(norm.running_mean, std=0.1)
            nn.init.uniform_(norm.running_var, 0.5, 2.0)
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias, std=0.1)


class Step(Protocol):
    """What a row does with `run`, a model compiled or not. A call of it is timed, its result is checked."""

    def __call__(self, run: Any, inputs: Sequence[Any]) -> None: ...

    def result(self, run: Any, inputs: Sequence[Any]) -> Any: ...


class Forward:
    """A forward pass, and its first result."""

    def __call__(self, run: Any, inputs: Sequence[Any]) -> None:
        run(*inputs)

    def result(self, run: Any, inputs: Sequence[Any]) -> Any:
        return _first(run(*inputs))


class Training:
    """A loss and its gradients, without an optimizer, so that every step has the same parameters. The running
    statistics of norms move, but in training nothing depends on them."""

    def __init__(self, torch: Any, model: Any, name: str, loss: str):
        self._torch, self._model = torch, model
        self._parameters: list[Any] = list(model.parameters())
        self._loss = body_function(name, loss, ["model", "*inputs"], {"torch": torch})

    def __call__(self, run: Any, inputs: Sequence[Any]) -> None:
        self._loss(run, *inputs).backward()
        self._drop_gradients()

    def result(self, run: Any, inputs: Sequence[Any]) -> Any:
        """All gradients put together; zeros of parameters that the loss does not depend on."""
        with without_dropout(self._torch, self._model):
            self._loss(run, *inputs).backward()
        found = [self._torch.zeros_like(p) if p.grad is None else p.grad for p in self._parameters]
        self._drop_gradients()
        return self._torch.cat([gradient.flatten() for gradient in found])

    def _drop_gradients(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None


@contextmanager
def without_dropout(torch: Any, model: Any) -> Generator[None]:
    """What dropout draws depends on the type of its elements, and on the compiler: gradients with it do not compare."""
    dropouts = [(module, module.p) for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    for module, _ in dropouts:
        module.p = 0.0
    try:
        yield
    finally:
        for module, probability in dropouts:
            module.p = probability


def _first(result: Any) -> Any:
    """The result of a model: a tensor, or the first of those that it has."""
    return result if hasattr(result, "shape") else next(iter(result.values()))


def error_of(found: Any, reference: Any) -> float:
    """The mean difference, in units of the reference's standard deviation."""
    if found.shape != reference.shape:
        raise IrcError(f"a result of {list(found.shape)}, expected {list(reference.shape)}")
    return float((found.float() - reference).abs().mean() / reference.std())
