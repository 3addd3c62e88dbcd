"""Convolutions that are drawn, with work after them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from irc_tools.bench.bars import parse_bar
from irc_tools.bench.convolutions import Convolutions, body_of, call_of, small_dims, types_of
from irc_tools.bench.rows import Row

BARS = (parse_bar("0.9 of compile"),)

ELEMENTS = 12 << 20
"""Of x, about."""

MOST_IMAGES = 512

CHANNELS = (16, 24, 32, 48, 64, 96, 128, 192, 256)
EXTENTS = (14, 17, 28, 31, 48, 56, 61, 96)


KINDS = (*("plain",) * 4, *("strides", "points") * 2, "dilated", "depthwise", "groups", "transposed")


@dataclass(frozen=True)
class After:
    """What follows y, in the language and in torch. `channels`, `places`: the axes of y that these are. What else is
    read: `b`, `s`, one for each channel, and `r`, of y's shape. `keeps`: what is left of y, as `all`, `halves` of the
    places, `images` or `places` without channels."""

    name: str
    irc: str
    torch: str
    keeps: str = "all"


AFTERS = (
    After("bias, relu", "relu(y + b)", "torch.relu(y + b)"),
    After("scale, shift, silu", "silu(y * s + b)", "F.silu(y * s + b)"),
    After("bias, residual, relu", "relu(y + b + r)", "torch.relu(y + b + r)"),
    After("gelu", "gelu(y)", "F.gelu(y)"),
    After("product with tanh", "tanh(y) * r", "torch.tanh(y) * r"),
    After("bias, mean of an image", "mean(y + b, axis=[{places}])", "(y + b).mean(({places}))", "images"),
    After("softmax of channels", "softmax(y, axis={channels})", "torch.softmax(y, {channels})"),
    After("minimum of channels", "min(y, axis={channels})", "y.amin({channels})", "places"),
    After("largest of 2x2", 'reduce_window(y, {window}, monoid="max", strides={window})', "{pool}", "halves"),
)


def draw_convolution(random: Random, number: int, peers: tuple[str, ...]) -> Row:
    """A convolution over two axes: of 1 to 7 taps, at strides, dilated, depthwise, in groups or transposed."""
    channels, outputs = random.choice(CHANNELS), random.choice(CHANNELS)
    height, width = random.choice(EXTENTS), random.choice(EXTENTS)
    kind = random.choice(KINDS)
    taps = 1 if kind == "points" else 4 if kind == "transposed" else random.choice([3, 3, 3, 5, 7])
    if kind == "depthwise":
        outputs = channels
    dilation = 2 if kind == "dilated" else 1
    table = Convolutions(
        name="",
        x=(min(MOST_IMAGES, max(1, ELEMENTS // (channels * height * width))), channels, height, width),
        outputs=outputs,
        window=(taps, taps),
        bars={},
        peers=peers,
        strides=2 if kind in ("strides", "transposed") else 1,
        padding=1 if kind == "transposed" else (taps - 1) * dilation // 2,
        dilation=dilation,
        groups="C" if kind == "depthwise" else 8 if kind == "groups" else 1,
        transposed=kind == "transposed",
        first=random.random() < 0.3,
    )
    after = random.choice(AFTERS)
    name = f"convolution {number}: {kind} {taps}x{taps} {'x'.join(map(str, table.x))}>{outputs}"
    return Row(
        name=f"{name}{', channels first' if table.first else ''}; {after.name}",
        group="convolution",
        program=_program(table, after),
        small=small_dims(table),
        torch=_body(table, after),
        bars=BARS,
        peers=peers,
    )


def _program(table: Convolutions, after: After) -> str:
    x, w, y = types_of(table)
    of_channels = "O, 1, 1" if table.first else "O"
    others = {"b": f"bf16[{of_channels}]", "s": f"bf16[{of_channels}]", "r": y}
    arrays = ", ".join(f"{name}: {type}" for name, type in {"x": x, "w": w, **others}.items())
    dims = ", ".join(f"{name} = {extent}" for name, extent in table.dims.items())
    result = _result(table, after, y)
    body = f"    y = {call_of(table)}\n    return {_put(table, after.irc)}\n"
    return f"dim {dims}\nfunc f({arrays}) -> {result} {{\n{body}}}\n"


def _put(table: Convolutions, text: str) -> str:
    _, channels, *places = table.order
    window = table.placed([1, 1, 2, 2])
    pool = f"F.max_pool2d(y.permute({table.order}), 2, 2, 0).permute({table.placed(range(4))})"
    return text.format(channels=channels, places=", ".join(map(str, places)), window=window, pool=pool)


def _result(table: Convolutions, after: After, y: str) -> str:
    """The type of the result."""
    extents = y.removeprefix("bf16[").removesuffix("]").split(", ")
    images, channels, *places = (extents[axis] for axis in table.order)
    match after.keeps:
        case "images":
            return f"bf16[{images}, {channels}]"
        case "places":
            return f"bf16[{images}, {', '.join(places)}]"
        case "halves":
            return table.typed(images, channels, [f"({place}) // 2" for place in places])
        case _:
            return y


def _body(table: Convolutions, after: After) -> str:
    return f"{body_of(table, 'fprop').replace('return', 'y =', 1)}\nreturn {_put(table, after.torch)}"
