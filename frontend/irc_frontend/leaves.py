"""Arrays as they come in, and values as they go out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from irc.runtime.arrays import is_freed
from irc.runtime.artifact import DTYPES, ELEMENT_NAMES
from irc_frontend.graph import LEAF, Node, element_named, fail


def to_numpy(value: Any) -> np.ndarray[Any, Any]:
    """An array of any library on the host."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "cpu"):
        return _torch_to_numpy(value.cpu())
    if hasattr(value, "get"):
        return value.get()
    return np.asarray(value)


def _torch_to_numpy(tensor: Any) -> np.ndarray[Any, Any]:
    """torch has no numpy form of bf16 and f8: their bytes are taken as they are. What torch calls contiguous may have
    any stride along an axis of one element."""
    dtype = np.dtype(str(tensor.dtype).removeprefix("torch."))
    torch = sys.modules["torch"]
    tensor = tensor.detach()
    plain = tensor.contiguous().as_strided((tensor.numel(),), (1,))
    return plain.view(torch.uint8).numpy().view(dtype).reshape(tuple(tensor.shape))


def as_given(value: Any, arrays: Sequence[Any]) -> Any:
    """A result as the arguments were: of torch, or of another library as jax is one, where one of them was and the CPU
    computed it."""
    if not isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get("torch")
    if torch is None or not any(isinstance(x, torch.Tensor) for x in arrays):
        others = (x for x in arrays if not isinstance(x, np.ndarray | np.generic))
        other = next((x for x in others if hasattr(x, "__array_namespace__")), None)
        return value if other is None else other.__array_namespace__().asarray(value)  # pyright: ignore[reportUnknownVariableType]
    bytes = torch.from_numpy(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
    return bytes.view(getattr(torch, value.dtype.name)).reshape(value.shape)


def leaf(array: Any, dtype: Any) -> Node:
    """An input. Lists and numbers become numpy arrays, of `dtype` if it is given (else f32 for floats, i64 for
    integers)."""
    if not isinstance(array, np.ndarray | np.generic) and hasattr(array, "__dlpack__"):
        return _from_device(array)
    if isinstance(array, np.ndarray | np.generic):
        found = np.asarray(array)
    else:
        found = _from_python(array, dtype)
    if found.dtype not in ELEMENT_NAMES:
        raise fail(f"irc has no element type {found.dtype}", f"it has {', '.join(DTYPES)}")
    return Node(LEAF, (), found.shape, ELEMENT_NAMES[found.dtype], value=found)


def _from_python(values: Any, dtype: Any) -> np.ndarray[Any, Any]:
    try:
        found = np.asarray(values)
    except ValueError as error:
        raise fail(f"cannot make an array of this: {error}") from error
    if dtype is not None:
        return found.astype(DTYPES[element_named(dtype)])
    return found.astype(np.float32) if found.dtype == np.float64 else found


def _from_device(array: Any) -> Node:
    name = str(array.dtype).removeprefix("torch.")
    try:
        element = ELEMENT_NAMES[np.dtype(name)]
    except (TypeError, KeyError) as error:
        raise fail(f"irc has no element type {name}", f"it has {', '.join(DTYPES)}") from error
    if is_freed(array):
        raise fail("the tensor has no memory: its storage was freed")
    plain = array.detach() if getattr(array, "requires_grad", False) else array
    value = plain if int(plain.__dlpack_device__()[0]) != 1 else to_numpy(plain)
    return Node(LEAF, (), tuple(array.shape), element, value=value)


def placed(values: Sequence[Any], target: str) -> Sequence[Any]:
    """The values of leaves where a program takes them: on the host, or, for the target `cuda`, all of them on the
    device if one is there."""
    if all(isinstance(value, np.ndarray) for value in values):
        return values
    if target != "cuda":
        return [to_numpy(value) for value in values]
    from irc.runtime.transfer import on_one_side

    return on_one_side(values)


def moved(node: Node, value: Any, device: str) -> Node:
    """A leaf with the value of `node` on a device: `cpu`, `cuda`, `cuda:1`; itself where it is there."""
    kind, _, number = device.partition(":")
    if kind not in ("cpu", "cuda") or (number and not (kind == "cuda" and number.isdecimal())):
        raise fail(f"unknown device {device}", "devices are cpu, cuda and cuda:NUMBER")
    on_host = isinstance(value, np.ndarray | np.generic)
    if kind == "cpu":
        return node if on_host else Node(LEAF, (), node.shape, node.element, value=to_numpy(value))
    if on_host:
        from irc.runtime.driver import require_device
        from irc.runtime.transfer import to_device

        require_device()
        return Node(LEAF, (), node.shape, node.element, value=to_device(np.asarray(value), int(number or 0)))
    found = int(value.__dlpack_device__()[1])
    if found != int(number or 0):
        raise fail(f"an array on device {found} does not go to device {device}", "to('cpu') first")
    return node
