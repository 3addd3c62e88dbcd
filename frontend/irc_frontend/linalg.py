"""Norms and small linear algebra: `numpy.linalg` on Tensors.

Norms of vectors are programs like others. The rest is LAPACK on the host, by numpy, between programs: a function under
`jit` cannot call it. Matrices are the last two axes, of f32 or f64; f16 and bf16 are computed in f32. `det`, `inv`,
`solve`, `cholesky`, `eigh` and the singular values have gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from irc_frontend.elementwise_functions import abs as absolute
from irc_frontend.elementwise_functions import sqrt, where
from irc_frontend.functions import expand_dims, tril
from irc_frontend.graph import Node, fail
from irc_frontend.host import Gradient, HostCall
from irc_frontend.making_functions import eye
from irc_frontend.shapes import axes_of, axis_of
from irc_frontend.tensor import Like, Tensor, node_of, tensors_of

__all__ = ["cholesky", "det", "eigh", "inv", "norm", "qr", "solve", "svd", "svdvals"]

Shape = tuple[int, ...]


class QR(NamedTuple):
    """a = Q R."""

    Q: Tensor
    R: Tensor


class SVD(NamedTuple):
    """a = U diag(S) Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class Eigh(NamedTuple):
    """a = V diag(w) V^T, w in ascending order."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def det(a: Like) -> Tensor:
    """The determinant of each matrix."""
    x = _square("det", a)
    return _call("det", lambda a: [np.linalg.det(a)], _of_det, [x], [x.shape[:-2]])[0]


def _of_det(arrays: Sequence[Node], results: Sequence[Node], given: Sequence[Node | None]) -> list[Node | None]:
    a, value, (g,) = Tensor.of(arrays[0]), Tensor.of(results[0]), _tensors(given, results)
    return [(_last(g * value) * inv(a).mT).node]


def inv(a: Like) -> Tensor:
    """The inverse of each matrix."""
    x = _square("inv", a)
    return _call("inv", lambda a: [np.linalg.inv(a)], _of_inv, [x], [x.shape])[0]


def _of_inv(arrays: Sequence[Node], results: Sequence[Node], given: Sequence[Node | None]) -> list[Node | None]:
    turned, (g,) = Tensor.of(results[0]).mT, _tensors(given, results)
    return [(-(turned @ g @ turned)).node]


def solve(a: Like, b: Like) -> Tensor:
    """x of a x = b, for b of one axis or of matrices whose columns are right sides."""
    x, y = tensors_of((a, b))
    x = _square("solve", x)
    is_vector = y.ndim == 1
    right = expand_dims(y, -1) if is_vector else y
    if right.shape[:-1] != x.shape[:-1]:
        raise fail(f"solve: the right side of {x.node.type} has its rows, found {y.node.type}")
    found = _call("solve", lambda a, b: [np.linalg.solve(a, b)], _of_solve, [x, right], [right.shape])[0]
    return found.squeeze(-1) if is_vector else found


def _of_solve(arrays: Sequence[Node], results: Sequence[Node], given: Sequence[Node | None]) -> list[Node | None]:
    a, x, (g,) = Tensor.of(arrays[0]), Tensor.of(results[0]), _tensors(given, results)
    right = solve(a.mT, g)
    return [(-(right @ x.mT)).node, right.node]


def cholesky(a: Like) -> Tensor:
    """L, lower, of L L^T = a; the upper part of `a` is not read."""
    x = _square("cholesky", a)
    return _call("cholesky", lambda a: [np.linalg.cholesky(a)], _of_cholesky, [x], [x.shape])[0]


def _of_cholesky(arrays: Sequence[Node], results: Sequence[Node], given: Sequence[Node | None]) -> list[Node | None]:
    low, (g,) = Tensor.of(results[0]), _tensors(given, results)
    inner = tril(low.mT @ g)
    inner = inner - 0.5 * inner * eye(low.shape[-1], dtype=low.element)
    found = solve(low.mT, solve(low.mT, inner.mT).mT)
    return [(0.5 * (found + found.mT)).node]


def qr(a: Like, mode: str = "reduced") -> QR:
    """Q with orthonormal columns and R, upper, of Q R = a; `complete` has a square Q. It has no gradient."""
    x = _matrix("qr", a)
    if mode not in ("reduced", "complete"):
        raise fail(f"qr: the mode is 'reduced' or 'complete', found {mode!r}")
    *front, rows, columns = x.shape
    inner = rows if mode == "complete" else min(rows, columns)
    shapes = [(*front, rows, inner), (*front, inner, columns)]
    return QR(*_call("qr", lambda a: np.linalg.qr(a, mode), None, [x], shapes))


def svd(a: Like, full_matrices: bool = True) -> SVD:
    """U, the singular values in descending order, and V^T. U and V^T have no gradient: `svdvals` has."""
    x = _matrix("svd", a)
    *front, rows, columns = x.shape
    inner = min(rows, columns)
    left, right = (rows, columns) if full_matrices else (inner, inner)
    shapes = [(*front, rows, left), (*front, inner), (*front, right, columns)]
    return SVD(*_call("svd", lambda a: np.linalg.svd(a, full_matrices), None, [x], shapes))


def svdvals(a: Like) -> Tensor:
    """The singular values in descending order."""
    x = _matrix("svdvals", a)
    shape = (*x.shape[:-2], min(x.shape[-2:]))
    return _call("svdvals", lambda a: [np.linalg.svd(a, compute_uv=False)], _of_svdvals, [x], [shape])[0]


def _of_svdvals(arrays: Sequence[Node], results: Sequence[Node], given: Sequence[Node | None]) -> list[Node | None]:
    left, _, right = svd(Tensor.of(arrays[0]), full_matrices=False)
    (g,) = _tensors(given, results)
    return [((left * expand_dims(g, -2)) @ right).node]


def eigh(a: Like) -> Eigh:
    """The eigenvalues in ascending order and eigenvectors, columns, of symmetric matrices, of which the lower part is
    read."""
    x = _square("eigh", a)
    return Eigh(*_call("eigh", lambda a: np.linalg.eigh(a), _of_eigh, [x], [x.shape[:-1], x.shape]))


def _of_eigh(arrays: Sequence[Node], results: Sequence[Node], given: Sequence[Node | None]) -> list[Node | None]:
    values, vectors = map(Tensor.of, results)
    of_values, of_vectors = _tensors(given, results)
    identity = eye(values.shape[-1], dtype=values.element)
    apart = expand_dims(values, -2) - expand_dims(values, -1)
    inverse = where(identity > 0, 0.0, 1 / where(identity > 0, 1.0, apart))
    inner = identity * expand_dims(of_values, -1) + inverse * (vectors.mT @ of_vectors)
    found = vectors @ inner @ vectors.mT
    return [(0.5 * (found + found.mT)).node]


def norm(
    x: Like, ord: float | str | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Tensor:
    """numpy's norms: of vectors along one axis, of matrices along two, or of all elements, where neither an order nor
    axes are given."""
    tensor = Tensor.of(node_of(x))
    if not tensor.node.is_float:
        raise fail(f"norm of {tensor.node.type}: x.astype('f32') computes it in f32, x.astype('f64') in numpy's f64")
    if axis is None and ord is None:
        return sqrt((tensor * tensor).sum(keepdims=keepdims))
    named = axes_of(axis, tensor.ndim) if axis is None or not isinstance(axis, int) else (axis_of(axis, tensor.ndim),)
    if len(named) == 1:
        return _vector_norm(tensor, 2 if ord is None else ord, named[0], keepdims)
    if len(named) != 2:
        raise fail(f"norm is of one axis or two, found {list(named)}")
    rows, columns = (axis_of(each, tensor.ndim) for each in axis) if isinstance(axis, list | tuple) else named
    return _matrix_norm(tensor, "fro" if ord is None else ord, rows, columns, keepdims)


def _vector_norm(x: Tensor, ord: float | str, axis: int, keepdims: bool) -> Tensor:
    size = absolute(x)
    if isinstance(ord, str):
        raise fail(f"norm: {ord!r} is a norm of matrices", "the order of a vector's norm is a number")
    if ord == np.inf:
        return size.max(axis, keepdims)
    if ord == -np.inf:
        return size.min(axis, keepdims)
    if ord == 0:
        return (x != 0).astype(x.element).sum(axis, keepdims=keepdims)
    if ord == 1:
        return size.sum(axis, keepdims=keepdims)
    if ord == 2:
        return sqrt((x * x).sum(axis, keepdims=keepdims))
    return (size ** float(ord)).sum(axis, keepdims=keepdims) ** (1 / ord)


def _matrix_norm(x: Tensor, ord: float | str, rows: int, columns: int, keepdims: bool) -> Tensor:
    if ord == "fro":
        return sqrt((x * x).sum((rows, columns), keepdims=keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        summed, other = (rows, columns) if abs(float(ord)) == 1 else (columns, rows)
        sums = absolute(x).sum(summed, keepdims=True)
        found = sums.max(other, keepdims=True) if float(ord) > 0 else sums.min(other, keepdims=True)
    elif ord in (2, -2, "nuc"):
        others = [each for each in range(x.ndim) if each not in (rows, columns)]
        values = svdvals(x.permute(*others, rows, columns))
        found = values.sum(-1) if ord == "nuc" else values.max(-1) if ord == 2 else values.min(-1)
        found = found.reshape([1 if each in (rows, columns) else n for each, n in enumerate(x.shape)])
    else:
        raise fail(f"norm: the order of a matrix's norm is fro, nuc, 1, -1, 2, -2, inf or -inf, found {ord!r}")
    return found if keepdims else found.squeeze((rows, columns))


def _matrix(name: str, a: Like) -> Tensor:
    tensor = Tensor.of(node_of(a))
    if not tensor.node.is_float:
        raise fail(f"{name} of {tensor.node.type}: x.astype('f32') computes it in f32, x.astype('f64') in numpy's f64")
    if tensor.ndim < 2:
        raise fail(f"{name} is of matrices, found {tensor.node.type}")
    return tensor


def _square(name: str, a: Like) -> Tensor:
    tensor = _matrix(name, a)
    if tensor.shape[-1] != tensor.shape[-2]:
        raise fail(f"{name} is of square matrices, found {tensor.node.type}")
    return tensor


def _call(
    name: str,
    function: Callable[..., Any],
    gradient: Gradient | None,
    arrays: Sequence[Tensor],
    shapes: Sequence[Shape],
) -> list[Tensor]:
    """The results of a function of the host, of these shapes and the arrays' element type."""
    element = arrays[0].element
    wide = "f64" if element == "f64" else "f32"
    nodes = [x.astype(wide).node for x in arrays]
    found = HostCall(name, function, gradient).results(nodes, [(shape, wide) for shape in shapes])
    return [Tensor.of(node).astype(element) for node in found]


def _tensors(given: Sequence[Node | None], results: Sequence[Node]) -> list[Tensor]:
    """The cotangents, zeros where there is none."""
    return [Tensor.of(x) * 0 if g is None else Tensor.of(g) for g, x in zip(given, results, strict=True)]


def _last(x: Tensor) -> Tensor:
    """Two axes of extent 1 behind the others."""
    return x.reshape(*x.shape, 1, 1)
