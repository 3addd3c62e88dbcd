"""Which accesses TMA can make: boxes of a strided view (CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, 5.5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irc.analysis.accesses import access_of
from irc.dialects.tile import AccessOp, LoadOp, element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_RANK
from irc.layout.affine import slope_of

SWIZZLE_BYTES = 128
"""The width of the swizzle pattern that GEMM operands use."""
MAX_BOX = 256


@dataclass(frozen=True)
class BoxAccess:
    """A tile that is a box of a view. `dims[v]` is the tile dimension that view dimension v follows, or None where the
    box has extent 1; `inner` is the tile dimension that is contiguous in memory. Tile dimensions of extent 1 need not
    follow any."""

    dims: tuple[int | None, ...]
    inner: int


def has_tensor_map(op: AccessOp) -> bool:
    """Whether the elements of a view lie as a tensor map wants them, and scalars say where the access is."""
    view, size = op.view_type, element_of(op.view_type.element_type).size
    *apart, inner = view.get_strides()
    is_aligned = view.alignment >= TENSOR_MAP_ALIGNMENT and not any(s * size % TENSOR_MAP_ALIGNMENT for s in apart)
    is_near = inner == 1 and all(s * size < 1 << 40 for s in apart)
    return is_aligned and is_near and 0 not in view.get_shape() and not op.gathers


def box_access(op: AccessOp, shape: Sequence[int]) -> BoxAccess | None:
    """The tile of extents `shape` as a box of the view; None where it is not one or TMA cannot take it.

    Within a row, a box begins at a multiple of 16 bytes. A chip takes another start for an illegal instruction, with
    every swizzle (measured on an H100).
    """
    view = op.view_type
    if not 1 <= view.rank <= TENSOR_MAP_RANK or not has_tensor_map(op):
        return None
    dims: list[int | None] = []
    for expr in op.access_map.results:
        slopes = [slope_of(expr, d) for d in range(len(shape))]
        moving = [d for d, slope in enumerate(slopes) if slope != 0]
        if len(moving) > 1 or any(slopes[d] != 1 for d in moving):
            return None
        dims.append(moving[0] if moving else None)
    used = [d for d in dims if d is not None]
    if not _are_followed(used, shape) or (used != sorted(used) and len(shape) != 2):
        return None
    inner = dims[-1]
    unit = TENSOR_MAP_ALIGNMENT // element_of(view.element_type).size
    if inner is None or shape[inner] < unit or access_of(op).vector(inner, unit) < unit:
        return None
    if any(shape[d] > MAX_BOX for d in range(len(shape)) if d != inner):
        return None
    return BoxAccess(tuple(dims), inner)


def _are_followed(dims: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether each tile dimension is there once, those of extent 1 at most once."""
    return len(set(dims)) == len(dims) and all(d in dims or extent == 1 for d, extent in enumerate(shape))


def is_swizzled_load(op: LoadOp, least: int) -> bool:
    """Whether TMA can bring a tile of two dimensions to rows, of at least so many bytes, of a swizzled buffer."""
    shape = shape_of(op.result.type)
    box = box_access(op, shape) if len(shape) == 2 and 1 not in shape else None
    width = shape[-1] * element_of(element_type_of(op.result.type)).size
    return box is not None and box.inner == 1 and op.other is None and width >= least


def is_vector_load(op: LoadOp) -> bool:
    """Whether TMA can bring what is loaded: a row, or a column."""
    shape = shape_of(op.result.type)
    return len(shape) == 2 and 1 in shape and op.other is None and box_access(op, shape) is not None
