"""A function of Triton, an op of irc's graphs: a recurrence along rows, by a scan. It needs `pip install triton`.

python examples/triton_kernel.py        by the kernel on a GPU, by its reference elsewhere
"""

# pyright: reportMissingImports=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl

import irc_frontend as ir


@triton.jit
def joined(gate, value, next_gate, next_value):
    """Two steps of the recurrence as one."""
    return gate * next_gate, value * next_gate + next_value


@triton.jit
def recurrence(gate, x, out, T, BLOCK: tl.constexpr):
    steps = tl.arange(0, BLOCK)
    at = tl.program_id(0) * T + steps
    gates = tl.load(gate + at, mask=steps < T, other=1.0)
    values = tl.load(x + at, mask=steps < T, other=0.0)
    _, found = tl.associative_scan((gates, values), 0, joined)
    tl.store(out + at, found, mask=steps < T)


def by_doubling(gate: ir.Tensor, x: ir.Tensor) -> ir.Tensor:
    """What the kernel computes, by irc's own ops: each step joined with that of 1, 2, 4, ... before it."""
    before = 1
    while before < x.shape[1]:
        value = ir.concatenate([ir.zeros_like(x[:, :before]), x[:, :-before]], 1)
        x = value * gate + x
        gate = gate * ir.concatenate([ir.ones_like(gate[:, :before]), gate[:, :-before]], 1)
        before *= 2
    return x


state = ir.triton_kernel(
    recurrence,
    operands="gate: f32[B, T], x: f32[B, T]",
    results="out: f32[B, T]",
    values={"BLOCK": lambda T: triton.next_power_of_2(T)},
    grid=lambda B: B,
    reference=by_doubling,
)


@ir.jit
def smoothed(x: Any, keep: Any) -> Any:
    """A moving average that each row forgets at a rate of its own: the gates are a launch before the kernel."""
    gate = ir.sigmoid(keep)[:, None] + ir.zeros_like(x)
    return state(gate, x * (1 - gate))


def main() -> np.ndarray[Any, Any]:
    random = np.random.default_rng(0)
    curve = np.sin(np.linspace(0, 6, 200, dtype=np.float32))
    noisy = (curve + 0.5 * random.standard_normal((8, 200))).astype(np.float32)
    keep = np.linspace(0, 2, 8, dtype=np.float32)
    found = smoothed(noisy, keep)
    print(f"distance from the curve: {np.abs(noisy - curve).mean():.2f} before", end=", ")
    print(f"{np.abs(found - curve).mean(1).round(2)} behind")
    return found


if __name__ == "__main__":
    main()
