"""As much of torch, on numpy, as the bodies of benchmark rows use: float64 values, so that a body can be compared with
the interpreter where there is no torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from scipy.special import erf


class Tensor:
    """An array with torch's methods."""

    def __init__(self, value: Any):
        self.value = np.asarray(value)

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

    def numel(self) -> int:
        return self.value.size

    def square(self) -> Tensor:
        return Tensor(self.value**2)

    def sum(self, axes: Any = None) -> Tensor:
        return Tensor(self.value.sum(axes))

    def mean(self, axes: Any) -> Tensor:
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

    def __matmul__(self, other: Tensor) -> Tensor:
        return Tensor(self.value @ other.value)


def _value(other: Any) -> Any:
    return other.value if isinstance(other, Tensor) else other


def _sigmoid(x: Tensor) -> Tensor:
    return Tensor(1 / (1 + np.exp(-x.value)))


def _normalized(x: Tensor, mean: Any, eps: float) -> Tensor:
    centred = x.value - mean
    return Tensor(centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps))


class Torch:
    """The module `torch`."""

    bfloat16 = ml_dtypes.bfloat16

    sigmoid = staticmethod(_sigmoid)

    @staticmethod
    def tanh(x: Tensor) -> Tensor:
        return Tensor(np.tanh(x.value))

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
    def cross_entropy(x: Tensor, labels: Tensor) -> Tensor:
        top = x.value.max(-1, keepdims=True)
        total = np.log(np.exp(x.value - top).sum(-1)) + top[:, 0]
        return Tensor((total - x.value[np.arange(len(total)), labels.value]).mean())
