"""The operators of windows and norms: convolutions, pools, resampling, padding, normalization. Some are in no list of
PyTorch's tests, and have samples here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.testing import make_tensor
from torch.testing._internal.common_dtype import floating_types, floating_types_and
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

PATTERNS = """nn.functional.conv* nn.functional.*pool* nn.functional.max_unpool* max_pool2d_with_indices_backward
nn.functional.interpolate* nn.functional.upsample_* _upsample_* nn.functional.grid_sample grid_sampler_*
nn.functional.unfold nn.functional.fold unfold unfold_copy nn.functional.*_norm native_*_norm _native_batch_norm_legit
_batch_norm_with_update nn.functional.normalize _weight_norm nn.functional.local_response_norm nn.functional.pixel_*
nn.functional.channel_shuffle nn.functional.pad.* constant_pad_nd""".split()
"""Names of the family's operators, as patterns of a shell."""

Shape = tuple[int, ...]


def operators() -> list[OpInfo]:
    """Those that PyTorch's tests have no samples of."""
    pools = [(f"nn.functional.lp_pool{axes}d", "", _pool_samples(axes), axes < 3) for axes in (1, 2, 3)]
    resampling = [
        ("nn.functional.interpolate", f"{mode}_antialiased", _antialiased_samples(mode), False)
        for mode in ("bilinear", "bicubic")
    ]
    others: list[tuple[str, str, Any, bool]] = [
        ("nn.functional.fold", "", _fold_samples, True),
        ("_weight_norm", "", _weight_norm_samples, True),
    ]
    return [
        OpInfo(
            name,
            variant_test_name=variant,
            dtypes=floating_types_and(torch.bfloat16) if has_bf16 else floating_types(),
            sample_inputs_func=made,
            supports_out=False,
        )
        for name, variant, made, has_bf16 in [*pools, *resampling, *others]
    ]


def _pool_samples(axes: int) -> Any:
    """Powers, windows, steps, rounding up; elements are positive where roots of sums of odd powers are taken."""
    extents = (9, 8, 7)[:axes]
    windows: list[tuple[float, int | list[int], int | list[int] | None, bool]] = [
        (2, 2, None, False),
        (2, 3, 2, True),
        (1, [3, 2, 2][:axes], 1, False),
        (3, 3, [2, 1, 2][:axes], False),
        (2.5, 4, 3, True),
    ]

    def samples(_: OpInfo, device: str, dtype: torch.dtype, requires_grad: bool, **__: Any) -> Iterator[SampleInput]:
        for leading in ((2, 3), (3,)):
            for power, window, step, rounds_up in windows:
                x = make_tensor(
                    (*leading, *extents), device=device, dtype=dtype, low=0.25, high=2, requires_grad=requires_grad
                )
                yield SampleInput(x, args=(power, _of_axes(window, axes), _of_axes(step, axes), rounds_up))

    return samples


def _of_axes(value: int | list[int] | None, axes: int) -> int | list[int] | None:
    """torch's function of one axis takes numbers alone."""
    return value[0] if isinstance(value, list) and axes == 1 else value


def _fold_samples(_: OpInfo, device: str, dtype: torch.dtype, requires_grad: bool, **__: Any) -> Iterator[SampleInput]:
    """Images from columns: windows, dilations, paddings, steps; with and without a batch."""
    cases = [
        ((8, 9), (2, 2), 1, 0, 1),
        ((8, 9), (3, 2), (2, 1), 1, 1),
        ((10, 7), (3, 3), 1, (0, 2), (2, 3)),
        ((10, 7), (2, 3), (2, 2), (1, 2), (3, 1)),
    ]
    for size, window, dilation, padding, step in cases:
        pairs = [_pair(each) for each in (dilation, padding, step)]
        blocks = 1
        for axis, (extent, width) in enumerate(zip(size, window, strict=True)):
            d, p, s = (pair[axis] for pair in pairs)
            blocks *= (extent + 2 * p - d * (width - 1) - 1) // s + 1
        for leading in ((2,), (), (0,)):
            shape = (*leading, 3 * window[0] * window[1], blocks)
            x = make_tensor(shape, device=device, dtype=dtype, requires_grad=requires_grad)
            yield SampleInput(x, args=(size, window, dilation, padding, step))


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def _weight_norm_samples(
    _: OpInfo, device: str, dtype: torch.dtype, requires_grad: bool, **__: Any
) -> Iterator[SampleInput]:
    """Directions and lengths, as `torch.nn.utils.parametrizations.weight_norm` calls it: along the first axis, along
    the last, along all."""
    shapes: list[tuple[Shape, int, Shape]] = [
        ((5, 4), 0, (5, 1)),
        ((5, 4), 1, (1, 4)),
        ((4, 3, 3, 3), 0, (4, 1, 1, 1)),
        ((4, 3, 3), 2, (1, 1, 3)),
        ((5, 4), -1, ()),
    ]
    for shape, axis, lengths in shapes:
        v, g = (make_tensor(each, device=device, dtype=dtype, requires_grad=requires_grad) for each in (shape, lengths))
        yield SampleInput(v, args=(g, axis))


def _antialiased_samples(mode: str) -> Any:
    """Fewer places and more, by sizes and by factors; corners aligned and not."""

    def samples(_: OpInfo, device: str, dtype: torch.dtype, requires_grad: bool, **__: Any) -> Iterator[SampleInput]:
        for aligned in (True, False):
            for how in ({"size": (4, 3)}, {"size": (5, 17)}, {"scale_factor": 0.6}, {"scale_factor": (1.7, 0.4)}):
                x = make_tensor((2, 3, 11, 9), device=device, dtype=dtype, requires_grad=requires_grad)
                yield SampleInput(x, kwargs={"mode": mode, "align_corners": aligned, "antialias": True, **how})

    return samples
