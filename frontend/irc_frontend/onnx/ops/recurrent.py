"""Rules of RNN, GRU and LSTM: one step after the other, as many as the sequence is long. Products with the inputs are
one for all steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, Unpack

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.onnx.rules import rule
from irc_frontend.tensor import Tensor

MAX_STEPS = 1024
"""Of a sequence: each is recorded."""

Activation = Callable[[Tensor], Tensor]

_ACTIVATIONS: Mapping[str, Activation] = {
    "relu": ir.relu,
    "sigmoid": ir.sigmoid,
    "softplus": lambda x: ir.log1p(ir.exp(-ir.abs(x))) + ir.relu(x),
    "softsign": lambda x: x / (1.0 + ir.abs(x)),
    "tanh": ir.tanh,
}


class _Attributes(TypedDict, total=False):
    """Those that all three have."""

    activations: Sequence[bytes]
    clip: float
    direction: str
    hidden_size: int
    layout: int


@dataclass(frozen=True)
class _Weights:
    """Of one direction. input: of all gates, [gates hidden, input]; state: of each gate, [hidden, hidden]; the biases
    are of each gate, [hidden]; peepholes: of the gates i, o and f of an LSTM, [hidden]."""

    input: Tensor
    state: Sequence[Tensor]
    input_bias: Sequence[Tensor]
    state_bias: Sequence[Tensor]
    peepholes: Sequence[Tensor]
    activations: Sequence[Activation]
    clip: float | None

    def sums(self, x: Sequence[Tensor], gate: int, state: Tensor) -> Tensor:
        """What goes into the activation of a gate, of the products with the input and of a state [batch, hidden]."""
        return (
            x[gate] + self.input_bias[gate] + ir.matmul(state, ir.transpose(self.state[gate])) + self.state_bias[gate]
        )

    def activated(self, number: int, x: Tensor) -> Tensor:
        """An activation of the direction."""
        return self.activations[number](x if self.clip is None else ir.clip(x, -self.clip, self.clip))


States = tuple[Tensor, ...]
"""What goes from one step to the next: h, and c of an LSTM, [batch, hidden]."""

Step = Callable[[_Weights, Sequence[Tensor], States], States]
"""The states after a step: of weights, of products with its input for each gate, and of the states before."""


def _rnn_step(w: _Weights, x: Sequence[Tensor], states: States) -> States:
    return (w.activated(0, w.sums(x, 0, states[0])),)


def _gru_step(w: _Weights, x: Sequence[Tensor], states: States, *, resets_products: bool) -> States:
    (h,) = states
    update, reset = (w.activated(0, w.sums(x, gate, h)) for gate in (0, 1))
    if resets_products:
        product = ir.matmul(h, ir.transpose(w.state[2])) + w.state_bias[2]
        new = w.activated(1, x[2] + w.input_bias[2] + reset * product)
    else:
        new = w.activated(1, w.sums(x, 2, reset * h))
    return ((1.0 - update) * new + update * h,)


def _lstm_step(w: _Weights, x: Sequence[Tensor], states: States, *, couples: bool) -> States:
    h, c = states
    sums = [w.sums(x, gate, h) for gate in range(4)]
    if w.peepholes:
        sums[0], sums[2] = sums[0] + w.peepholes[0] * c, sums[2] + w.peepholes[2] * c
    entering = w.activated(0, sums[0])
    kept = 1.0 - entering if couples else w.activated(0, sums[2])
    c = kept * c + entering * w.activated(1, sums[3])
    leaving = w.activated(0, sums[1] + w.peepholes[1] * c if w.peepholes else sums[1])
    return leaving * w.activations[2](c), c


@rule("RNN")
def _rnn(x: Tensor, w: Tensor, r: Tensor, *inputs: Tensor | None, **attributes: Unpack[_Attributes]) -> Any:
    return _recorded(_rnn_step, ["tanh"], [x, w, r, *inputs], 1, attributes)


@rule("GRU")
def _gru(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    *inputs: Tensor | None,
    linear_before_reset: int = 0,
    **attributes: Unpack[_Attributes],
) -> Any:
    step = partial(_gru_step, resets_products=bool(linear_before_reset))
    return _recorded(step, ["sigmoid", "tanh"], [x, w, r, *inputs], 3, attributes)


@rule("LSTM")
def _lstm(
    x: Tensor, w: Tensor, r: Tensor, *inputs: Tensor | None, input_forget: int = 0, **attributes: Unpack[_Attributes]
) -> Any:
    step = partial(_lstm_step, couples=bool(input_forget))
    return _recorded(step, ["sigmoid", "tanh", "tanh"], [x, w, r, *inputs], 4, attributes)


def _recorded(
    step: Step, usual: Sequence[str], inputs: Sequence[Tensor | None], gates: int, attributes: _Attributes
) -> tuple[Tensor, ...]:
    """All results: Y, and the states after the last step."""
    given: dict[int, Any] = dict(enumerate(inputs))
    is_lstm, by_batch = gates == 4, bool(attributes.get("layout", 0))
    x: Tensor = given[0]
    if by_batch:
        x = ir.moveaxis(x, 0, 1)
    steps, batch, _ = x.shape
    if steps > MAX_STEPS:
        raise IrcError(f"a sequence of {steps} steps is not supported", hint=f"each is recorded: {MAX_STEPS} at most")
    hidden = given[2].shape[-1]
    reversals = _reversals(attributes.get("direction", "forward"))
    names = [each.decode().lower() for each in attributes.get("activations", ())] or list(usual) * len(reversals)
    if len(names) != len(usual) * len(reversals):
        raise IrcError(f"expected {len(usual) * len(reversals)} activations, found {len(names)}")
    made: list[tuple[Tensor, States]] = []
    for number, is_reversed in enumerate(reversals):
        own = names[number * len(usual) : (number + 1) * len(usual)]
        weights = _weights(given, number, gates, hidden, own, attributes.get("clip"))
        states = tuple(
            _initial(given.get(place), number, batch, hidden, x.element, by_batch)
            for place in ((5, 6) if is_lstm else (5,))
        )
        made.append(_direction(step, weights, x, given.get(4), states, is_reversed))
    y = ir.stack([each for each, _ in made], 1)
    last = [ir.stack(list(each), 1 if by_batch else 0) for each in zip(*(states for _, states in made), strict=True)]
    return ir.permute(y, (2, 0, 1, 3)) if by_batch else y, *last


def _direction(
    step: Step, weights: _Weights, x: Tensor, lengths: Tensor | None, states: States, is_reversed: bool
) -> tuple[Tensor, States]:
    """h of all steps, [steps, batch, hidden], which are 0 behind the end of a sequence, and the last states."""
    steps, gates = x.shape[0], len(weights.state)
    products = ir.matmul(x, ir.transpose(weights.input))
    found: list[Tensor] = [states[0]] * steps
    for t in reversed(range(steps)) if is_reversed else range(steps):
        now = step(weights, ir.split(products[t], gates, axis=-1), states)
        if lengths is not None:
            is_there = (lengths > t).reshape(-1, 1)
            now = tuple(ir.where(is_there, new, old) for new, old in zip(now, states, strict=True))
            found[t] = ir.where(is_there, now[0], 0.0)
        else:
            found[t] = now[0]
        states = now
    return ir.stack(found, 0), states


def _weights(
    given: Mapping[int, Any], number: int, gates: int, hidden: int, names: Sequence[str], clip: float | None
) -> _Weights:
    if unknown := [each for each in names if each not in _ACTIVATIONS]:
        raise IrcError(f"the activation {unknown[0]} is not supported", hint=f"irc has {', '.join(_ACTIVATIONS)}")
    zeros = ir.zeros((2 * gates * hidden,), given[0].element)
    biases = ir.split(zeros if given.get(3) is None else given[3][number], 2 * gates, axis=0)
    return _Weights(
        input=given[1][number],
        state=ir.split(given[2][number], gates, axis=0),
        input_bias=biases[:gates],
        state_bias=biases[gates:],
        peepholes=() if given.get(7) is None else ir.split(given[7][number], 3, axis=0),
        activations=[_ACTIVATIONS[each] for each in names],
        clip=clip,
    )


def _initial(given: Tensor | None, number: int, batch: int, hidden: int, element: str, by_batch: bool) -> Tensor:
    if given is None:
        return ir.zeros((batch, hidden), element)
    return given[:, number] if by_batch else given[number]


def _reversals(direction: str) -> tuple[bool, ...]:
    """Whether each direction begins at the end."""
    known = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    if direction not in known:
        raise IrcError(f"the direction {direction} is not known", hint=f"it is one of {', '.join(known)}")
    return known[direction]
