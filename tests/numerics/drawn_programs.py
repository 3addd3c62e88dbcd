"""Random programs of sizes that nobody tuned for, as text: permutes, reductions and products with what fuses with them.

The families of `generators.py` mix every op at extents of a few elements. These have arrays beyond a tile, rows that
begin anywhere, and few ops each, so that every one meets the kernels that are made for it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 31, 32, 33, 48, 61, 64, 67, 96, 128, 130)
LONG = (200, 257, 300, 512, 521, 1000, 1024, 1031)
MAX_ELEMENTS = 24_000
"""Elements of an array."""

FLOATS = ("f32", "bf16", "f16", "f64")
INTEGERS = ("i8", "u8", "i16", "i32", "i64")
UNARY = ("relu", "tanh", "sigmoid", "abs", "gelu", "silu", "neg", "cos")
BINARY = ("({a} + {b})", "({a} - {b})", "({a} * {b})", "minimum({a}, {b})", "maximum({a}, {b})")


class Drawn:
    """A program under construction: its parameters and its statements."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.parameters: list[str] = []
        self.statements: list[str] = []

    def parameter(self, element: str, shape: list[int]) -> str:
        name = f"x{len(self.parameters)}"
        self.parameters.append(f"{name}: {_type(element, shape)}")
        return name

    def text(self, results: list[tuple[str, str, list[int]]]) -> str:
        """The program, whose results are values with their elements and shapes."""
        types = ", ".join(_type(element, shape) for _, element, shape in results)
        values = ", ".join(value for value, _, _ in results)
        body = "".join(f"    {line}\n" for line in [*self.statements, f"return {values}"])
        return f"func f({', '.join(self.parameters)}) -> ({types}) {{\n{body}}}\n"

    def let(self, value: str) -> str:
        name = f"v{len(self.statements)}"
        self.statements.append(f"{name} = {value}")
        return name

    def shape(self, ranks: tuple[int, int], most: int = MAX_ELEMENTS) -> list[int]:
        while True:
            found = [self.random.choice(EXTENTS) for _ in range(self.random.randint(*ranks))]
            if self.random.random() < 0.3:
                found[self.random.randrange(len(found))] = self.random.choice(LONG)
            if prod(found) <= most:
                return found

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def array(self, element: str, shape: list[int], depth: int = 2) -> str:
        """A value of this shape: a parameter, as it is or after up to `depth` moves."""
        random, rank, depth = self.random, len(shape), depth - 1
        match random.randint(0, 11) if depth >= 0 else 11:
            case 0 | 1 if rank:
                order = random.sample(range(rank), rank)
                stored = [0] * rank
                for axis, place in enumerate(order):
                    stored[place] = shape[axis]
                return f"permute({self.array(element, stored, depth)}, {order})"
            case 2 if rank:
                steps = [random.choice((1, 1, 1, 2, 3)) for _ in shape]
                starts = [random.choice((0, 0, 1, 3)) for _ in shape]
                stops = [start + (n - 1) * step + 1 for start, n, step in zip(starts, shape, steps, strict=True)]
                whole = [stop + random.choice((0, 0, 1, 5)) for stop in stops]
                if prod(whole) > 4 * MAX_ELEMENTS:
                    return self.parameter(element, shape)
                cuts = ", ".join(map("{}:{}:{}".format, starts, stops, steps))
                return f"{self.array(element, whole, depth)}[{cuts}]"
            case 3 if rank:
                return (
                    f"flip({self.array(element, shape, depth)}, {random.sample(range(rank), random.randint(1, rank))})"
                )
            case 4 if rank and max(shape) > 3:
                axis = shape.index(max(shape))
                low, high = random.choice(((1, 0), (0, 1), (1, 2)))
                inner = [n - (low + high) * (at == axis) for at, n in enumerate(shape)]
                pads = [[low, high] if at == axis else [0, 0] for at in range(rank)]
                return f"pad({self.array(element, inner, depth)}, {pads})"
            case 5 if rank:
                split = [factor for n in shape for factor in _factors(random, n)]
                flat = [prod(shape)] if self.chance(0.3) else split
                return f"reshape({self.array(element, flat, depth)}, {shape})"
            case 6 if rank:
                kept = sorted(random.sample(range(rank), random.randint(min(1, rank - 1), rank)))
                inner = self.array(element, [shape[axis] for axis in kept], depth)
                return f"broadcast({inner}, {shape}, dims={kept})"
            case 7 if element in FLOATS and element != "f64":
                return f"cast({self.parameter(random.choice(('bf16', 'f16', 'f32', 'i8', 'u8')), shape)}, {element})"
            case 8 if rank and max(shape) > 1:
                axis = shape.index(max(shape))
                cut = random.randrange(1, shape[axis])
                parts = [[n if at != axis else part for at, n in enumerate(shape)] for part in (cut, shape[axis] - cut)]
                values = ", ".join(self.array(element, part, depth) for part in parts)
                return f"concat([{values}], axis={axis})"
            case _:
                return self.parameter(element, shape)

    def pointwise(self, value: str, element: str, shape: list[int]) -> str:
        """Up to two ops on a value."""
        for _ in range(self.random.randint(0, 2)):
            if element in FLOATS and self.chance(0.4):
                value = f"{self.random.choice(UNARY)}({value})"
            else:
                other = self.array(element, shape) if self.chance(0.5) else self.vector(element, shape)
                value = self.random.choice(BINARY).format(a=value, b=other)
        return value

    def vector(self, element: str, shape: list[int]) -> str:
        if not shape:
            return self.parameter(element, [])
        axis = self.random.randrange(len(shape))
        vector = self.parameter(element, [shape[axis]])
        return f"{vector}[{', '.join(':' if at == axis else 'None' for at in range(len(shape)))}]"


def _type(element: str, shape: list[int]) -> str:
    return f"{element}[{', '.join(map(str, shape))}]"


def _factors(random: Random, extent: int) -> list[int]:
    divisors = [d for d in range(2, extent) if extent % d == 0]
    if not divisors or random.random() < 0.5:
        return [extent]
    first = random.choice(divisors)
    return [first, extent // first]


def permute(p: Drawn) -> str:
    """A value in another order, with arithmetic on both sides."""
    element = p.random.choice((*FLOATS, *INTEGERS))
    shape = p.shape((2, 6))
    value = p.let(p.pointwise(p.array(element, shape), element, shape))
    order = p.random.sample(range(len(shape)), len(shape))
    shape = [shape[axis] for axis in order]
    value = p.let(f"permute({value}, {order})")
    if p.chance(0.4):
        value = p.let(p.pointwise(value, element, shape))
    if p.chance(0.3) and element != "f64":
        other = p.random.choice(("f32", "bf16") if element in FLOATS else (*INTEGERS, "f32"))
        value, element = p.let(f"cast({value}, {other})"), other
    return p.text([(value, element, shape)])


def reduction(p: Drawn) -> str:
    """One or two reductions of a value, over any axes, and perhaps the value again with what it gave."""
    element = p.random.choice((*FLOATS, *FLOATS, *INTEGERS))
    shape = p.shape((1, 5))
    value = p.let(p.pointwise(p.array(element, shape), element, shape))
    results: list[tuple[str, str, list[int]]] = []
    for _ in range(p.random.choice((1, 1, 2))):
        axes = sorted(p.random.sample(range(len(shape)), p.random.randint(1, len(shape))))
        kept = [n for at, n in enumerate(shape) if at not in axes]
        op = p.random.choice(("sum", "mean", "max", "min", "var") if element in FLOATS else ("sum", "max", "min"))
        found = "i32" if op == "sum" and element in ("i8", "u8", "i16") else element
        if p.chance(0.4) and found == element:
            reduced = p.let(f"{op}({value}, axis={axes}, keepdims=true)")
            again = p.let(p.random.choice(BINARY).format(a=value, b=reduced))
            results.append((again, element, shape))
        else:
            reduced = p.let(f"{op}({value}, axis={axes})")
            results.append((p.let(p.pointwise(reduced, found, kept)), found, kept))
    return p.text(results)


def scan(p: Drawn) -> str:
    """Softmax and norms along an axis, sums along it so far, and the first of the largest of what no rounding touched."""
    element = p.random.choice(FLOATS)
    shape = p.shape((1, 4))
    axis = p.random.randrange(len(shape))
    op = p.random.choice(("softmax", "log_softmax", "layer_norm", "rms_norm", "cumsum", "argmax"))
    value = p.array(element, shape)
    if op == "argmax":
        return p.text([(f"{op}({value}, axis={axis})", "i64", [n for at, n in enumerate(shape) if at != axis])])
    value = p.let(f"{op}({p.pointwise(value, element, shape)}, axis={axis})")
    return p.text([(p.let(p.pointwise(value, element, shape)), element, shape)])


def product(p: Drawn) -> str:
    """A product of one or two operands that are computed, perhaps in batches, and what follows it."""
    element = p.random.choice(("bf16", "bf16", "f16", "f32", "f64", "i8", "u8", "f8e4m3"))
    result = {"i8": "i32", "u8": "i32", "f8e4m3": "f32"}.get(element, element)
    batch = p.random.choice(([], [], [], [2], [3], [2, 2]))
    m, n = p.random.choice(EXTENTS), p.random.choice(EXTENTS)
    k = p.random.choice((*EXTENTS, *LONG)) if m * n < 4000 else p.random.choice(EXTENTS)
    sides: list[str] = []
    for shape in ([*batch, m, k], [*batch, k, n]):
        turned = p.chance(0.4)
        stored = [*batch, *reversed(shape[-2:])] if turned else shape
        is_plain = element == "f8e4m3" or p.chance(0.5)
        side = p.parameter(element, stored) if is_plain else p.array(element, stored)
        if not is_plain and p.chance(0.6):
            side = p.pointwise(side, element, stored)
        sides.append(f"transpose({side})" if turned else side)
    shape = [*batch, m, n]
    value = p.let(f"{sides[0]} @ {sides[1]}")
    if p.chance(0.5):
        value = p.let(p.pointwise(value, result, shape))
    if p.chance(0.2):
        order = p.random.sample(range(len(shape)), len(shape))
        value, shape = p.let(f"permute({value}, {order})"), [shape[axis] for axis in order]
    if p.chance(0.2) and result in FLOATS:
        op = p.random.choice(("softmax", "log_softmax", "layer_norm", "rms_norm"))
        value = p.let(p.pointwise(f"{op}({value}, axis={p.random.choice((-1, -1, -2))})", result, shape))
    if p.chance(0.2):
        axis = p.random.randrange(len(shape))
        return p.text([(f"sum({value}, axis={axis})", result, shape[:axis] + shape[axis + 1 :])])
    return p.text([(value, result, shape)])


def draw_program(family: Callable[[Drawn], str], seed: int) -> str:
    return family(Drawn(Random(seed)))
