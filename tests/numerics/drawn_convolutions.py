"""Random convolutions with what stands around them, as text: up to three spatial axes in any order of axes, strides,
dilation, padding, groups up to depthwise, transposed ones, of every element that products have."""

from __future__ import annotations

from math import prod
from random import Random

from numerics.drawn_programs import FLOATS, Drawn

ELEMENTS = ("bf16", "bf16", "bf16", "f16", "f32", "f32", "f64", "i8", "u8", "i32", "f8e4m3")
CHANNELS = (1, 2, 3, 4, 8, 8, 16, 16, 24, 32, 33, 64, 72)
ORDERS = ("x_axes", "kernel_axes", "result_axes")
MAX_WORK = 600_000
"""Multiply-adds of a convolution, which a simulated kernel of no tensor cores makes one by one."""


class _Window:
    """The numbers of one convolution, and the extents that they give."""

    def __init__(self, random: Random) -> None:
        rank = random.choice((1, 2, 2, 2, 3))
        self.groups = random.choice((1, 1, 1, 1, 2, 4, 8))
        inputs = random.choice(CHANNELS)
        outputs = random.choice(CHANNELS)
        if random.random() < 0.15:  # depthwise, perhaps with several results for each channel
            self.groups, inputs, outputs = 8 * inputs, 1, random.choice((1, 1, 1, 2))
        self.x = [random.choice((1, 2, 3)), self.groups * inputs]
        self.kernel = [self.groups * outputs, inputs]
        self.result = [self.x[0], self.kernel[0]]
        self.numbers: dict[str, list[int]] = {
            name: [] for name in ("strides", "low", "high", "dilation", "input_dilation")
        }
        is_transposed = random.random() < 0.2
        for _ in range(rank):
            taps = random.choice((1, 2, 3, 3, 3, 4, 5, 7)[: 9 - 2 * rank + 2])
            extent = random.choice((1, 2, 4, 5, 7, 8, 9, 11, 13)[: 9 - 2 * (rank == 3)])
            stride, dilation = random.choice((1, 1, 1, 2, 3)), random.choice((1, 1, 1, 2))
            apart = random.choice((1, 2, 2, 3)) if is_transposed else 1
            low, high = random.choice((0, 1, 1, 2)), random.choice((0, 1, 1, 3))
            while (extent - 1) * apart + 1 + low + high < (taps - 1) * dilation + 1:
                extent += 1
            self.x.append(extent)
            self.kernel.append(taps)
            for name, number in zip(self.numbers, (stride, low, high, dilation, apart), strict=True):
                self.numbers[name].append(number)
            self.result.append(((extent - 1) * apart + 1 + low + high - (taps - 1) * dilation - 1) // stride + 1)

    @property
    def work(self) -> int:
        return prod(self.result) * prod(self.kernel[1:])


def convolution(p: Drawn) -> str:
    """A convolution of one or two operands that are computed, in any order of axes, and what follows it."""
    window = _Window(p.random)
    while window.work > MAX_WORK:
        window = _Window(p.random)
    element = p.random.choice(ELEMENTS)
    result = {"i8": "i32", "u8": "i32", "f8e4m3": "f32"}.get(element, element)
    rank = len(window.x)
    last = [0, *range(2, rank), 1]
    orders = [list(range(rank)), last, last, p.random.sample(range(rank), rank)]
    layout = p.random.choice(orders)
    x = _array(p, element, window.x, layout, computed=element in FLOATS and p.chance(0.3))
    kernel = _array(p, element, window.kernel, p.random.choice((layout, layout, *orders)), computed=False)
    numbers = ", ".join(f"{name}={values}" for name, values in window.numbers.items())
    numbers += f", groups={window.groups}" + (", flipped=true" if p.chance(0.1) else "")
    value, shape = p.let(f"conv({x}, {kernel}, {numbers})"), window.result
    if 0 in shape or p.chance(0.2):
        return p.text([(value, result, shape)])
    value = _after(p, value, result, shape)
    stored = [shape[axis] for axis in layout]
    if p.chance(0.2) and result in FLOATS:
        op = p.random.choice(("softmax", "log_softmax", "rms_norm"))
        value = p.let(f"{op}({value}, axis=1)")
    if p.chance(0.25):
        op, axes = (
            p.random.choice(("sum", "max", "min")),
            p.random.choice(([1], [0, *range(2, rank)], [*range(2, rank)])),
        )
        kept = [n for axis, n in enumerate(shape) if axis not in axes]
        reduced = p.let(f"{op}({value}, axis={axes})")
        if p.chance(0.5):
            return p.text([(reduced, result, kept)])
        return p.text([(p.let(f"permute({value}, {layout})"), result, stored), (reduced, result, kept)])
    if p.chance(0.3) and result in ("f32", "f16"):
        other = p.random.choice(("f16", "bf16") if result == "f32" else ("bf16",))
        value, result = p.let(f"cast({value}, {other})"), other
    return p.text([(p.let(f"permute({value}, {layout})"), result, stored)])


def gradients(p: Drawn) -> str:
    """The gradients of a convolution's operands, where the result's is an array: such of dilated and of long windows."""
    window = _Window(p.random)
    while window.work > MAX_WORK // 4 or 0 in window.result:
        window = _Window(p.random)
    element = p.random.choice(("bf16", "bf16", "f32", "f64"))
    layout = p.random.choice((list(range(len(window.x))), [0, *range(2, len(window.x)), 1]))
    shapes = [[shape[axis] for axis in layout] for shape in (window.x, window.kernel, window.result)]
    numbers = ", ".join(f"{name}={values}" for name, values in window.numbers.items())
    numbers += f", groups={window.groups}" + (", flipped=true" if p.chance(0.1) else "")
    orders = ", ".join(f"{name}={sorted(range(len(layout)), key=layout.__getitem__)}" for name in ORDERS)
    arrays = "x: {0}[{1}], k: {0}[{2}], g: {0}[{3}]".format(element, *(str(shape)[1:-1] for shape in shapes))
    types = ", ".join(f"{element}[{str(shape)[1:-1]}]" for shape in shapes[:2])
    return f"""func loss({arrays}) -> f32[] {{
    y = conv(x, k, {numbers}, {orders})
    return sum(cast(y * g, f32))
}}
func f({arrays}) -> ({types}) {{
    a, b = grad(loss, wrt=[x, k])(x, k, g)
    return a, b
}}
"""


def _array(p: Drawn, element: str, shape: list[int], layout: list[int], *, computed: bool) -> str:
    """An operand whose memory has the axes in an order of its own, perhaps after a norm and an activation."""
    stored = [shape[axis] for axis in layout]
    value = p.parameter(element, stored)
    if layout != sorted(layout):
        value = f"permute({value}, {sorted(range(len(layout)), key=layout.__getitem__)})"
    if not computed:
        return value
    scale, shift = (p.parameter(element, [shape[1]]) for _ in range(2))
    along = f"[{', '.join(['None', ':', *['None'] * (len(shape) - 2)])}]"
    return p.let(f"{p.random.choice(('relu', 'sigmoid', 'cos'))}({value} * {scale}{along} + {shift}{along})")


def _after(p: Drawn, value: str, element: str, shape: list[int]) -> str:
    """Bias, activation and residual."""
    rank = len(shape)
    if p.chance(0.6):
        bias = p.parameter(element, [shape[1]])
        value = p.let(f"{value} + {bias}[{', '.join(['None', ':', *['None'] * (rank - 2)])}]")
    if p.chance(0.5) and element in FLOATS:
        value = p.let(f"{p.random.choice(('relu', 'gelu', 'silu', 'tanh'))}({value})")
    if p.chance(0.4):
        layout = p.random.choice((list(range(rank)), [0, *range(2, rank), 1]))
        value = p.let(f"{value} + {_array(p, element, shape, layout, computed=False)}")
    return value
