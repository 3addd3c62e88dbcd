"""What PyTorch's own tests call its operators with: the samples of OpInfo."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import torch
import windows
from comparison import Tolerances
from torch.testing._internal import common_methods_invocations as invocations
from torch.testing._internal.common_device_type import tol, toleranceOverride
from torch.utils._pytree import tree_leaves, tree_map

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64}
"""The element types that may be tested."""

USUAL = ("f32", "bf16")
"""Those that are tested where no others are asked for."""

WIDER = {torch.float32: torch.float64, torch.bfloat16: torch.float32}
"""What a result is computed in to have one that is more exact. Nothing is wider than f64."""

SEED = 1729

Inputs = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""The first argument, the others, and those by name."""


@dataclass(frozen=True)
class Call:
    """One call of an operator."""

    function: Callable[..., Any]
    input: Any
    args: tuple[Any, ...]
    options: dict[str, Any]
    summary: str

    def inputs(self, dtype: torch.dtype, wanted: torch.dtype | None = None) -> Inputs:
        """New tensors with the values and strides of the sample's; those of `dtype`, and `dtype` itself where it is an
        argument, become `wanted`."""

        def renewed(x: Any) -> Any:
            if isinstance(x, torch.Tensor):
                return _copy(x, wanted if x.dtype == dtype else None)
            return wanted if x is dtype and wanted is not None else x

        return tree_map(renewed, (self.input, self.args, self.options))


def _copy(x: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    source = x.detach()
    if dtype is not None and dtype != x.dtype:
        made = source.to(dtype)
    elif source.layout is not torch.strided or source.is_conj() or source.is_neg():
        made = source.clone()
    else:
        storage = source.untyped_storage().clone()
        made = torch.empty(0, dtype=x.dtype, device=x.device).set_(
            storage, source.storage_offset(), source.size(), source.stride()
        )  # pyright: ignore[reportArgumentType]
    return made.requires_grad_(x.requires_grad)


def _call_as_it_is(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return function(*args, **options)


invocations.wrapper_set_seed = _call_as_it_is  # pyright: ignore[reportPrivateImportUsage]
"""Operators that draw are called without what PyTorch's tests put around them, which torch.compile cannot trace; `seed`
is called before instead."""


@cache
def operators() -> list[Any]:
    """The OpInfo of each operator, and of each of its variants, that has f32 or bf16 on the CPU, and of those that
    PyTorch's tests lack."""
    return [op for op in [*invocations.op_db, *windows.operators()] if any(has(op, element) for element in USUAL)]


def name_of(op: Any) -> str:
    """`add`, or `std.unbiased` for a variant."""
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def has(op: Any, element: str, device: str = "cpu") -> bool:
    """Whether the operator has the element type on a device."""
    return bool(op.supports_dtype(DTYPES[element], device))


def is_defined(op: Any) -> bool:
    """Whether the results are said: not where memory is returned as it is."""
    return "empty" not in op.name and not op.skip_correctness_check_compile_vs_eager


def differentiates(op: Any, dtype: torch.dtype, device: str = "cpu") -> bool:
    return bool(op.supports_autograd and dtype in op.supported_backward_dtypes(device))


def seed() -> None:
    """The same random numbers from here on."""
    torch.manual_seed(SEED)
    np.random.seed(SEED)
    random.seed(SEED)


def count(op: Any, dtype: torch.dtype, limit: int | None, device: str = "cpu") -> int:
    """How many samples the operator has, at most `limit`."""
    return sum(1 for _ in islice(_samples(op, dtype, device), limit))


def calls(op: Any, dtype: torch.dtype, limit: int | None, start: int = 0, device: str = "cpu") -> Iterator[Call]:
    """The first `limit` samples without the first `start`, on a device; the first also with tensors of which every other
    element is skipped."""
    samples = _samples(op, dtype, device)
    for number, sample in islice(enumerate(samples), start, limit):
        if op.name in FIRST_OF_EQUALS and dtype is torch.bfloat16 and sample.input.numel() > MAX_DISTINCT:
            continue
        if op.name in ATTENTION and sample.kwargs.get("dropout_p"):
            continue
        yield _call(op, sample)
        if number == 0 and _is_dense(sample):
            yield _call(op, sample.noncontiguous())


def _samples(op: Any, dtype: torch.dtype, device: str) -> Iterator[Any]:
    seed()
    return iter(op.sample_inputs(device, dtype, requires_grad=differentiates(op, dtype, device)))


def _call(op: Any, sample: Any) -> Call:
    first = _distinct(sample.input) if op.name in FIRST_OF_EQUALS else sample.input
    function = _unsigned(op.op, sample.output_process_fn_grad) if op.name in WITH_VECTORS else op.op
    return Call(function, first, sample.args, sample.kwargs, sample.summary())


WITH_VECTORS = frozenset("svd linalg.svd linalg.eigh".split())
"""Operators that do not say which of two opposite vectors they give: of these, PyTorch's samples say what is to be
compared, their sizes or their products."""


def _unsigned(function: Callable[..., Any], process: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *args, **options: process(function(*args, **options))


FIRST_OF_EQUALS = frozenset("sort argsort msort topk kthvalue mode median nanmedian".split())
"""Operators that do not say which of equal elements they take: they are called with elements that differ."""


ATTENTION = frozenset(["nn.functional.scaled_dot_product_attention", "nn.functional.multi_head_attention_forward"])
"""Operators that drop of their own accord, each backend what it likes: `tests/unit/test_torch_dropout.py` is of that."""


MAX_DISTINCT = 512
"""Whole numbers around 0 that bf16 has exactly."""


def _distinct(x: torch.Tensor) -> torch.Tensor:
    """As x, with other numbers."""
    numbers = torch.randperm(x.numel()).reshape(x.shape).sub(x.numel() // 2)
    return torch.empty_like(x).copy_(numbers).requires_grad_(x.requires_grad)


def _is_dense(sample: Any) -> bool:
    tensors = [x for x in tree_leaves((sample.input, sample.args, sample.kwargs)) if isinstance(x, torch.Tensor)]
    return bool(tensors) and all(x.layout is torch.strided for x in tensors)


STORED = {("nn.functional.scaled_dot_product_attention", torch.bfloat16): Tolerances(0.25, 1.6e-2)}
"""Gradients from a result that is stored rounded, as those of torch's fused kernels are, where eager takes its kernel of
several ops: sum(g * y) of results around 8, where the exact gradient is near 0."""


USUAL_TOLERANCES = {torch.float64: (1e-7, 1e-7), torch.float32: (1e-5, 1.3e-6), torch.bfloat16: (1e-5, 1.6e-2)}
"""PyTorch's, by element type: absolute and relative."""


def tolerances(op: Any, dtype: torch.dtype) -> Tolerances:
    """PyTorch's for the element type, or the widest that its own tests of the operator have."""
    atol, rtol = STORED.get((op.name, dtype), USUAL_TOLERANCES[dtype])
    for given in _overrides(op.decorators, dtype):
        atol, rtol = max(atol, given.atol), max(rtol, given.rtol)
    return Tolerances(atol, rtol)


def _overrides(decorators: Sequence[Any], dtype: torch.dtype) -> Iterator[tol]:
    for info in decorators:
        for decorator in getattr(info, "decorators", [info]):
            if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
                yield decorator.d[dtype]
