"""As much of torch, on numpy, as the bodies of benchmark rows use: float64 values, so that a body can be compared with
the interpreter where there is no torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import erf

Array = np.ndarray[Any, Any]


class Tensor:
    """An array with torch's methods."""

    def __init__(self, value: Any):
        self.value = np.asarray(value)

    device = "cpu"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def permute(self, *order: Any) -> Tensor:
        return Tensor(np.transpose(self.value, order[0] if isinstance(order[0], list) else order))

    def contiguous(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return self

    def double(self) -> Tensor:
        return Tensor(self.value.astype(np.float64))

    def to(self, dtype: Any) -> Tensor:
        return Tensor(self.value.astype(dtype))

    def t(self) -> Tensor:
        return Tensor(self.value.T)

    def reshape(self, *shape: int) -> Tensor:
        return Tensor(self.value.reshape(shape))

    def tolist(self) -> list[Any]:
        return self.value.tolist()

    def numel(self) -> int:
        return self.value.size

    def sqrt(self) -> Tensor:
        return Tensor(np.sqrt(self.value))

    def rsqrt(self) -> Tensor:
        return Tensor(1 / np.sqrt(self.value))

    def clamp_min(self, low: Any) -> Tensor:
        return Tensor(np.maximum(self.value, low))

    def square(self) -> Tensor:
        return Tensor(self.value**2)

    def sum(self, axes: Any = None) -> Tensor:
        return Tensor(self.value.sum(axes))

    def mean(self, axes: Any = None) -> Tensor:
        return Tensor(self.value.mean(axes))

    def amax(self, axes: Any) -> Tensor:
        return Tensor(self.value.max(axes))

    def amin(self, axes: Any) -> Tensor:
        return Tensor(self.value.min(axes))

    def var(self, axes: Any, correction: int) -> Tensor:
        return Tensor(self.value.var(axes, ddof=correction))

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self.value[index])

    def __add__(self, other: Any) -> Tensor:
        return Tensor(self.value + _value(other))

    def __sub__(self, other: Any) -> Tensor:
        return Tensor(self.value - _value(other))

    def __rsub__(self, other: Any) -> Tensor:
        return Tensor(_value(other) - self.value)

    def __mul__(self, other: Any) -> Tensor:
        return Tensor(self.value * _value(other))

    def __truediv__(self, other: Any) -> Tensor:
        return Tensor(self.value / _value(other))

    def __gt__(self, other: Any) -> Tensor:
        return Tensor(self.value > _value(other))

    def __ge__(self, other: Any) -> Tensor:
        return Tensor(self.value >= _value(other))

    def __lt__(self, other: Any) -> Tensor:
        return Tensor(self.value < _value(other))

    def __and__(self, other: Any) -> Tensor:
        return Tensor(self.value & _value(other))

    def __lshift__(self, other: int) -> Tensor:
        return Tensor(self.value << other)

    def __rshift__(self, other: int) -> Tensor:
        return Tensor(self.value >> other)

    def __matmul__(self, other: Tensor) -> Tensor:
        return Tensor(self.value @ other.value)


def _value(other: Any) -> Any:
    return other.value if isinstance(other, Tensor) else other


def _sigmoid(x: Tensor) -> Tensor:
    return Tensor(1 / (1 + np.exp(-x.value)))


def _normalized(x: Tensor, mean: Any, eps: float) -> Tensor:
    centred = x.value - mean
    return Tensor(centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps))


def _taps(x: Any, w: Any, numbers: Any) -> Any:
    """Of a convolution that is not transposed: each tap of the kernel, and where in the padded x the results read it."""
    stride, padding, dilation = numbers
    rank = w.ndim - 2
    extents = [
        (x.shape[2 + i] + 2 * padding[i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(rank)
    ]
    for tap in np.ndindex(*w.shape[2:]):
        starts = [at * step for at, step in zip(tap, dilation, strict=True)]
        yield tap, (..., *(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, extents, stride, strict=True)))


def _padded(x: Any, padding: Any) -> Any:
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])


def _grouped(x: Any, axis: int, groups: int) -> Any:
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def _merged(x: Any, axis: int) -> Any:
    return x.reshape(*x.shape[:axis], -1, *x.shape[axis + 2 :])


def _forward(x: Any, w: Any, numbers: Any, groups: int) -> Any:
    total: Any = 0
    padded = _padded(x, numbers[1])
    for tap, places in _taps(x, w, numbers):
        kernel = _grouped(w[(..., *tap)], 0, groups)
        total = total + np.einsum("ngc...,goc->ngo...", _grouped(padded[places], 1, groups), kernel)
    return _merged(total, 1)


def _backward(g: Any, x: Any, w: Any, numbers: Any, groups: int) -> Any:
    """The gradients of x and of the kernel."""
    padded = _padded(x, numbers[1])
    of_x, of_w, parts = np.zeros_like(padded), np.zeros_like(w), _grouped(g, 1, groups)
    for tap, places in _taps(x, w, numbers):
        kernel = _grouped(w[(..., *tap)], 0, groups)
        of_x[places] += _merged(np.einsum("ngo...,goc->ngc...", parts, kernel), 1)
        rows, columns = (each.reshape(*each.shape[:3], -1) for each in (parts, _grouped(padded[places], 1, groups)))
        of_w[(..., *tap)] = _merged(np.einsum("ngop,ngcp->goc", rows, columns), 0)
    inside = tuple(slice(p, p + n) for p, n in zip(numbers[1], x.shape[2:], strict=True))
    return of_x[(..., *inside)], of_w


def _convolution(
    x: Tensor, w: Tensor, bias: None, stride: Any, padding: Any, dilation: Any, transposed: bool, more: Any, groups: int
) -> Tensor:
    numbers = stride, padding, dilation
    if not transposed:
        return Tensor(_forward(x.value, w.value, numbers, groups))
    extents = [
        (x.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (w.shape[2 + i] - 1) + more[i] + 1
        for i in range(len(stride))
    ]
    like = np.zeros((x.shape[0], w.shape[1] * groups, *extents))
    return Tensor(_backward(x.value, like, w.value, numbers, groups)[0])


def _convolution_backward(
    g: Tensor,
    x: Tensor,
    w: Tensor,
    bias: None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    more: Any,
    groups: int,
    mask: Any,
) -> tuple[Tensor, Tensor]:
    """Those of a transposed convolution are its convolution of g, and that one's gradient of the kernel."""
    numbers = stride, padding, dilation
    if transposed:
        of_x, of_w = (
            _forward(g.value, w.value, numbers, groups),
            _backward(x.value, g.value, w.value, numbers, groups)[1],
        )
    else:
        of_x, of_w = _backward(g.value, x.value, w.value, numbers, groups)
    return Tensor(of_x), Tensor(of_w)


def _standard(x: Any, axes: tuple[int, ...], eps: float = 1e-5) -> Any:
    """x by its mean and its deviation over the axes."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def _along(x: Any, value: Tensor | None, other: float) -> Any:
    """A vector of channels, or a number in its place, along [n, c, ...]."""
    return other if value is None else value.value.reshape(-1, *[1] * (x.ndim - 2))


def _norm_backward(
    g: Any, x: Any, w: Tensor | None, mean: Any, scale: Any, axes: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """Of [n, c, ...] normalized over the axes of [n, groups, c / groups, ...], by these statistics."""
    shape, groups = x.shape, mean.shape[1]
    whole = (shape[0], groups, shape[1] // groups, *shape[2:])
    statistics = (*mean.shape, *[1] * (len(whole) - 2))
    normal = (x.reshape(whole) - mean.reshape(statistics)) * scale.reshape(statistics)
    over = tuple(axis for axis in range(x.ndim) if axis != 1)
    scaled = (g * _along(x, w, 1)).reshape(whole)
    outer, inner = (value.mean(axes, keepdims=True) for value in (scaled, scaled * normal))
    of_x = ((scaled - outer - normal * inner) * scale.reshape(statistics)).reshape(shape)
    return Tensor(of_x), Tensor((g * normal.reshape(shape)).sum(over)), Tensor(g.sum(over))


def _group_norm_backward(
    g: Tensor, x: Tensor, mean: Tensor, scale: Tensor, w: Tensor, n: int, c: int, size: int, groups: int, mask: Any
) -> tuple[Tensor, Tensor, Tensor]:
    assert (n, c, size, groups) == (*x.shape[:2], x.numel() // (n * c), mean.shape[1])
    return _norm_backward(g.value, x.value, w, mean.value, scale.value, tuple(range(2, x.value.ndim + 1)))


def _batch_norm_backward(
    g: Tensor, x: Tensor, w: Any, _: None, __: None, mean: Tensor, scale: Tensor, training: bool, eps: float, mask: Any
) -> tuple[Tensor, Tensor, Tensor]:
    axes = (0, *range(2, x.value.ndim + 1))
    return _norm_backward(g.value, x.value, w, mean.value[None], scale.value[None], axes)


class _Aten:
    native_group_norm_backward = staticmethod(_group_norm_backward)
    native_batch_norm_backward = staticmethod(_batch_norm_backward)
    convolution_backward = staticmethod(_convolution_backward)


class _Ops:
    aten = _Aten


class Torch:
    """The module `torch`."""

    bfloat16 = ml_dtypes.bfloat16

    sigmoid = staticmethod(_sigmoid)
    convolution = staticmethod(_convolution)
    ops = _Ops

    @staticmethod
    def tanh(x: Tensor) -> Tensor:
        return Tensor(np.tanh(x.value))

    @staticmethod
    def exp(x: Tensor) -> Tensor:
        return Tensor(np.exp(x.value))

    @staticmethod
    def arange(count: int, device: str) -> Tensor:
        return Tensor(np.arange(count))

    @staticmethod
    def tril(x: Tensor) -> Tensor:
        return Tensor(np.tril(x.value))

    @staticmethod
    def relu(x: Tensor) -> Tensor:
        return Tensor(np.maximum(x.value, 0))

    @staticmethod
    def abs(x: Tensor) -> Tensor:
        return Tensor(np.abs(x.value))

    @staticmethod
    def cos(x: Tensor) -> Tensor:
        return Tensor(np.cos(x.value))

    @staticmethod
    def minimum(x: Tensor, y: Tensor) -> Tensor:
        return Tensor(np.minimum(x.value, y.value))

    @staticmethod
    def maximum(x: Tensor, y: Tensor) -> Tensor:
        return Tensor(np.maximum(x.value, y.value))

    @staticmethod
    def where(condition: Tensor, x: Tensor, y: Any) -> Tensor:
        return Tensor(np.where(condition.value, x.value, _value(y)))

    @staticmethod
    def addmm(b: Tensor, x: Tensor, w: Tensor) -> Tensor:
        return Tensor(b.value + x.value @ w.value)

    @staticmethod
    def softmax(x: Tensor, axis: int) -> Tensor:
        e = np.exp(x.value - x.value.max(axis, keepdims=True))
        return Tensor(e / e.sum(axis, keepdims=True))

    @staticmethod
    def logsumexp(x: Tensor, axis: int) -> Tensor:
        return Tensor(np.logaddexp.reduce(x.value, axis=axis))

    @staticmethod
    def cat(tensors: list[Tensor], dim: int = 0) -> Tensor:
        return Tensor(np.concatenate([each.value for each in tensors], dim))

    @staticmethod
    def stack(tensors: list[Tensor]) -> Tensor:
        return Tensor(np.stack([x.value for x in tensors]))


class Functional:
    """The module `torch.nn.functional`."""

    @staticmethod
    def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False) -> Tensor:
        scores = q.value @ k.value.T / np.sqrt(q.shape[-1])
        if is_causal:
            scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
        return Torch.softmax(Tensor(scores), -1) @ v

    @staticmethod
    def silu(x: Tensor) -> Tensor:
        return x * _sigmoid(x)

    @staticmethod
    def gelu(x: Tensor, approximate: str = "none") -> Tensor:
        v = x.value
        if approximate == "tanh":
            return Tensor(0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))))
        return Tensor(0.5 * v * (1 + erf(v / np.sqrt(2))))

    @staticmethod
    def rms_norm(x: Tensor, shape: tuple[int, ...], eps: float) -> Tensor:
        assert shape == x.shape[-1:]
        return _normalized(x, 0, eps)

    @staticmethod
    def layer_norm(x: Tensor, shape: tuple[int, ...], eps: float) -> Tensor:
        assert shape == x.shape[-1:]
        return _normalized(x, x.value.mean(-1, keepdims=True), eps)

    @staticmethod
    def relu(x: Tensor) -> Tensor:
        return Torch.relu(x)

    @staticmethod
    def group_norm(x: Tensor, groups: int, w: Tensor, b: Tensor) -> Tensor:
        whole = x.value.reshape(x.shape[0], groups, -1)
        return Tensor(_standard(whole, (2,)).reshape(x.shape) * _along(x.value, w, 1) + _along(x.value, b, 0))

    @staticmethod
    def instance_norm(x: Tensor) -> Tensor:
        return Tensor(_standard(x.value, tuple(range(2, x.value.ndim))))

    @staticmethod
    def batch_norm(x: Tensor, mean: None, variance: None, w: Tensor, b: Tensor, training: bool) -> Tensor:
        normal = _standard(x.value, tuple(axis for axis in range(x.value.ndim) if axis != 1))
        return Tensor(normal * _along(x.value, w, 1) + _along(x.value, b, 0))

    @staticmethod
    def cross_entropy(x: Tensor, labels: Tensor) -> Tensor:
        top = x.value.max(-1, keepdims=True)
        total = np.log(np.exp(x.value - top).sum(-1)) + top[:, 0]
        return Tensor((total - x.value[np.arange(len(total)), labels.value]).mean())

    @staticmethod
    def max_pool2d(x: Tensor, size: int, stride: int, padding: int) -> Tensor:
        return Tensor(_pool_windows(x, size, stride, padding, -np.inf).max((-2, -1)))

    @staticmethod
    def avg_pool2d(x: Tensor, size: int, stride: int, padding: int = 0) -> Tensor:
        return Tensor(_pool_windows(x, size, stride, padding, 0.0).mean((-2, -1)))

    @staticmethod
    def adaptive_avg_pool2d(x: Tensor, count: int) -> Tensor:
        """To windows that are all as large."""
        size = x.shape[-1] // count
        return Functional.avg_pool2d(x, size, size)

    @staticmethod
    def interpolate(x: Tensor, scale_factor: int, mode: str) -> Tensor:
        assert mode == "bilinear"
        value = x.value
        for axis in (2, 3):
            extent = value.shape[axis]
            at = np.clip((np.arange(extent * scale_factor) + 0.5) / scale_factor - 0.5, 0, extent - 1)
            first = at.astype(int)
            weight = (at - first).reshape([-1 if each == axis else 1 for each in range(4)])
            low, high = (np.take(value, np.minimum(first + more, extent - 1), axis) for more in (0, 1))
            value = low * (1 - weight) + high * weight
        return Tensor(value)


def _pool_windows(x: Tensor, size: int, stride: int, padding: int, outside: float) -> Array:
    around = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    padded = np.pad(x.value, around, constant_values=outside)
    return sliding_window_view(padded, (size, size), (2, 3))[:, :, ::stride, ::stride]
