"""Random programs, as text, with any op of the language that has kernels, of any rank, with many extents of one."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from numerics.harness import TOLERANCES
from numerics.language_arrays import (
    composed,
    indexed,
    made,
    move,
    position,
    product,
    reduction,
    scan,
    together,
)
from numerics.language_elements import (
    binary,
    bitcast,
    bits,
    cast,
    choose,
    compare,
    exact_unary,
    numbers,
    unary,
)
from numerics.language_writer import Value, Writer

FAMILIES = (
    *(unary, unary, exact_unary, bits, binary, binary, numbers, compare, choose, cast, bitcast),
    *(move, move, move, together, indexed, indexed, reduction, reduction, position, scan, composed, product, product),
    made,
)


@dataclass(frozen=True)
class Program:
    """The text of a program, and for each result the share of its largest value by which it may be off."""

    text: str
    noise: tuple[float, ...]


def _written(p: Writer, count: int) -> list[Value]:
    """Adds about `count` ops; gives the values that nothing uses."""
    for _ in range(count):
        p.random.choice(FAMILIES)(p)
    found = [value for value in p.values if value.name not in p.used and value.name.startswith("v")]
    return found or p.values[:1]


def forward_program(random: Random) -> Program:
    p = Writer(random)
    results = _written(p, random.randint(4, 30))
    text = p.text([(value.name, value.element, list(value.shape)) for value in results])
    return Program(text, tuple(value.noise for value in results))


def gradient_program(random: Random) -> Program:
    """The gradients of the sum of what a program computes."""
    p = Writer(random, is_differentiated=True)
    values = [value for value in _written(p, random.randint(3, 20)) if value.is_float]
    floats = [value for value in p.values if value.name.startswith("x") and value.is_float]
    if not values or not floats:
        return gradient_program(random)
    loss = " + ".join(f"mean(cast({value.name}, f32))" for value in values)
    text = p.text([(loss, "f32", [])]).replace("func f", "func loss")
    names = ", ".join(parameter.split(":")[0] for parameter in p.parameters)
    wrt = [value.name for value in floats]
    gradients = [f"d{name}" for name in wrt]
    types = ", ".join(f"{v.element}[{', '.join(map(str, v.shape))}]" for v in floats)
    text += f"""func f({", ".join(p.parameters)}) -> ({types}) {{
    {", ".join(gradients)} = grad(loss, wrt=[{", ".join(wrt)}])({names})
    return {", ".join(gradients)}
}}
"""
    noise = 2 * sum(value.noise for value in values) + max(
        TOLERANCES[each] for each in ("f32", *(v.element for v in floats))
    )
    return Program(text, (noise,) * len(floats))
