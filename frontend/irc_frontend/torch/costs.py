"""What irc could do on a GPU, and torch does better."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache as once
from pathlib import Path
from typing import Any, cast

import torch
from torch.fx import Node as FxNode

from irc.driver.compiler import resolve_arch
from irc.support import cache
from irc.support.integers import power_of_two
from irc_frontend.graph import ARGUMENT, Node, sorted_nodes, structure
from irc_frontend.recorded import recorded

MAX_COMPARISONS = 1 << 32
"""Of the places and the indices of a scatter on a GPU; an H200 makes so many in 3 ms."""

_ATTENTION = ("attention", "attention_weights")


def why_slow(results: Iterable[Node]) -> str | None:
    """Why these results are torch's on a GPU; None where irc computes them as well."""
    order = sorted_nodes(results)
    scatters = filter(None, map(_why_scattered, order))
    if (reason := next(scatters, None)) is not None:
        return reason
    if not all(_has_window(node) for node in order if node.op == "conv"):
        return "a convolution whose window is beyond the limits of TMA"
    return _why_several(order, results) if _is_attention(order) else None


def _is_attention(order: Iterable[Node]) -> bool:
    """Also one that is written out, as products."""
    ops = [node.op for node in order]
    return ops.count("matmul") > 1 or any(op in _ATTENTION for op in ops)


def _why_scattered(node: Node) -> str | None:
    """irc's sums in a fixed order may take much longer than torch's, which are in any."""
    if node.op != "scatter_add":
        return None
    from irc.decomposition.indexed import comparisons  # imported late: it imports xDSL

    axis = cast("int", dict(node.attributes)["axis"])
    places, count = node.shape[axis], math.prod(list(node.operands)[1].shape)
    if not places or comparisons(places, count, math.prod(node.shape) // places) <= MAX_COMPARISONS:
        return None
    return f"a scatter of {count} to {places} places, too many to compare"


MIN_CHANNELS = 16
"""Of inputs and of outputs: from so many on TMA brings pixels of a window, and tiles are full."""

SMALL_BYTES = 1 << 20
"""Of both arrays of a convolution of points that is irc's with any channels: a launch takes longer than it."""

IMAGE_CHANNELS = 4
"""Up to so many inputs, those of an image, cuDNN fills them up to 8 first."""


LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
"""torch's memory format with channels innermost, by the rank of the array. Of three axes there is none: kernels read
such arrays as they lie, or copies."""


def is_channels_last(value: torch.Tensor) -> bool:
    """Whether an array of a convolution has channels innermost, or a rank of which torch knows no such format."""
    return value.ndim not in LAST or value.is_contiguous(memory_format=LAST[value.ndim])


def is_map_of_windows(weight: Sequence[int], groups: int) -> bool:
    """Whether a convolution is depthwise, by the extents of its weight, and of so few taps that it is unrolled."""
    if weight[1] != 1:
        return False
    from irc.dialects.nd.convolution import MAX_TAPS  # imported late: it imports xDSL

    return math.prod(weight) <= MAX_TAPS * groups


def why_slow_convolution(node: FxNode) -> str | None:
    """Why a convolution, or its gradients, are cuDNN's on a GPU, by the arrays' shapes and strides. On an H200, in
    bf16 with channels last, irc's take 0.6 to 1.2 of cuDNN's time where x has two axes of space and channels in one
    group, forward and for the gradient of x; those of weights take 0.9 to 1.25. On an H100, all three take 0.3 to 0.85
    where each channel is a group of its own, 0.15 to 0.85 of images of few channels, 1.6 to 2.4 of 32 groups
    (benchmarks/results). Over one axis of space and over three the kernels are of the same classes: TMA brings pixels
    of windows, or threads rows of taps of few channels. Those were not measured."""
    is_gradient = node.target is torch.ops.aten.convolution_backward.default
    args: Any = node.args[1:] if is_gradient else node.args
    x, weight = (each.meta["val"] for each in args[:2])
    first: Any = node.args[0]
    groups, element = args[8], str(x.dtype).removeprefix("torch.")
    is_depthwise = is_map_of_windows(weight.shape, groups)
    if x.dtype not in (torch.bfloat16, torch.float16):
        return f"a convolution of {element} on a GPU, which is cuDNN's"
    if groups != 1 and not is_depthwise:
        return f"a convolution of {groups} groups, for which cuDNN is faster"
    if not 3 <= x.ndim <= 5:
        return f"a convolution over {x.ndim - 2} axes"
    if not is_channels_last(first.meta["val"]):
        return "a convolution with channels first, for which there are no measurements"
    if groups == 1 and _is_small(first.meta["val"], x, weight):
        return None
    fewest = weight.shape[0] if is_depthwise else min(weight.shape[:2])
    is_of_images = x.ndim == 4 or (not is_gradient and _has_rows_of_taps(x.ndim, weight.shape, args))
    if groups == 1 and is_of_images and x.shape[1] <= IMAGE_CHANNELS and max(weight.shape[:2]) >= MIN_CHANNELS:
        return None
    if is_gradient and args[9][1] and not is_depthwise:
        return "the gradient of a convolution's weight, for which cuDNN is faster"
    if fewest < MIN_CHANNELS:
        return f"a convolution of {fewest} channels, fewer than {MIN_CHANNELS}"
    return None


def _is_small(*arrays: torch.Tensor) -> bool:
    """Whether a convolution is of points, as a squeeze-and-excitation has them, and arrays are so small that what
    counts is that no graph ends before it."""
    *_, weight = arrays
    return math.prod(weight.shape[2:]) == 1 and sum(each.numel() * each.itemsize for each in arrays) <= SMALL_BYTES


def _has_rows_of_taps(rank: int, weight: Sequence[int], args: Sequence[Any]) -> bool:
    """Whether a convolution of three axes of space reads the rows of taps where they lie, with all of K at once: such a
    row begins at a whole pair of elements, and has a power of two of them (arrange-convolutions)."""
    from irc.configs.gathered import MAX_DEPTH  # imported late: it imports xDSL

    is_plain = not args[6] and args[5][-1] == 1
    depth = power_of_two(weight[-1] * weight[1] + args[4][-1] % 2) * math.prod(weight[2:-1])
    return rank == 5 and is_plain and depth <= MAX_DEPTH


def _has_window(node: Node) -> bool:
    """Whether TMA brings the pixels of a convolution's window, with channels last in rows that are filled with
    zeros. Depthwise convolutions are maps, which load windows, and so few channels come by pointers. So they do in the
    gradients of these weights, where x has its channels first, and the window is that of a result's places. One place
    alone has no window."""
    attributes: dict[str, Any] = dict(node.attributes)
    x, kernel = list(node.operands)
    axes = attributes["kernel_axes"] or range(len(x.shape))
    weights = [kernel.shape[axis] for axis in axes]
    if math.prod(x.shape[2:]) == math.prod(weights[2:]) == 1:
        return True
    is_gradient = math.prod(weights[2:]) > math.prod(node.shape[2:])
    is_depthwise = attributes["groups"] != 1 or attributes.get("batch_groups", 1) != 1
    if is_depthwise or x.shape[1] <= IMAGE_CHANNELS or (is_gradient and x.shape[0] <= IMAGE_CHANNELS):
        return True
    key = WINDOWS, node.attributes, x.shape, x.element, tuple(weights), kernel.element, node.element
    if key not in _known:

        def ask() -> bool:
            from irc_frontend.torch.lowered_costs import has_window

            return has_window(attributes, x, weights, node.element)

        _known[key] = _kept(WINDOWS, repr(key), ask)
    return _known[key]


_known: dict[Hashable, Any] = {}


def _why_several(order: list[Node], results: Iterable[Node]) -> str | None:
    """Attention whose scores go through memory is torch's: it has one kernel for all."""
    arch, roots = resolve_arch(None), list(results)
    key = arch, structure(order, roots)
    if key not in _known:
        arguments = [node for node in order if node.op == ARGUMENT]

        def ask() -> str | None:
            from irc_frontend.torch.lowered_costs import why_in_several

            return why_in_several(order, roots, arguments, arch)

        graph = recorded(order, roots, arguments)
        _known[key] = ask() if graph is None else _kept(REASONS, (graph.key, arch), ask)
    return _known[key]


REASONS, WINDOWS = "attention", "windows"
"""The kinds of entries in irc's cache: why attention is torch's, `null` where it is not; whether TMA brings the pixels
of a convolution."""


def _kept(kind: str, of: object, ask: Callable[[], Any]) -> Any:
    """What the disk has of it, as no pass is loaded for a graph whose programs are known."""
    key = cache.key_of(kind, of, _sources())
    if (known := cache.read(kind, key)) is not None:
        return json.loads(known)
    found = ask()
    cache.write(kind, key, json.dumps(found).encode())
    return found


@once
def _sources() -> list[bytes]:
    """The modules that decide: irc's own source is in all keys, this package's is not."""
    return [Path(__file__).with_name(name).read_bytes() for name in ("costs.py", "lowered_costs.py")]
