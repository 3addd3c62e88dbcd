"""What ATen ops mean: a rule an op, a function of Tensors that records it.

A rule takes what the op takes: Tensors in place of torch's, everything else as it is. It gives a Tensor, or a tuple of
them where the op has several results; an element type is mended afterwards, a shape has to be right. It raises IrcError
(or `Left`) where it does not do a case: that node stays with torch, and `explain` shows why.
"""

from __future__ import annotations

import math
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as PROMOTION
from torch._prims_common import elementwise_dtypes
from torch.fx import Node as FxNode
from torch.fx.node import map_arg

from irc.runtime.artifact import DTYPES
from irc.support.diagnostics import IrcError, Span
from irc_frontend.casts import deferred
from irc_frontend.elementwise import Number
from irc_frontend.evaluation import target as on_target
from irc_frontend.graph import ARGUMENT, Node
from irc_frontend.place import PACKAGE, recording
from irc_frontend.tensor import Tensor
from irc_frontend.torch.costs import why_slow

RuleT = TypeVar("RuleT", bound=Callable[..., Any])

ELEMENTS: Mapping[torch.dtype, str] = {getattr(torch, dtype.name): name for name, dtype in DTYPES.items()}
"""The element name of each dtype that irc has: torch names its dtypes as numpy and ml_dtypes do."""


REASON = "irc"
"""Why an op of torch's functions stays with torch, among the annotations that its ATen ops get (`meta["custom"]`)."""


class Left(IrcError):
    """A case that a rule leaves to torch; the message says why."""


@dataclass(frozen=True)
class Rule:
    """How an op is recorded. promotion: the operands are cast to one type first, by torch's rule for elementwise ops.
    targets: where it can run. cost: why a node is torch's on a GPU, where that depends on how its operands lie in
    memory. is_own: torch has no kernel of it that could be faster."""

    record: Callable[..., Any]
    promotion: PROMOTION | None
    targets: frozenset[str]
    cost: Callable[[FxNode], str | None] | None = None
    is_own: bool = False


RULES: dict[Any, Rule] = {}
"""By OpOverload."""


class Composed(ABC):
    """The target of a node that irc records from graphs that it holds, and that torch can call."""

    @abstractmethod
    def __call__(self, *args: Any) -> Any:
        """What torch makes of it."""

    @abstractmethod
    def record(self, *args: Any) -> Any:
        """As a rule records an op."""


def rule_of(target: Any) -> Rule | None:
    """The rule of what a node calls, if there is one."""
    return Rule(target.record, None, frozenset(("cpu", "cuda"))) if isinstance(target, Composed) else RULES.get(target)


SAME = PROMOTION.DEFAULT
"""The operands' common type is that of the result."""
FLOAT = PROMOTION.INT_TO_FLOAT
"""As SAME, with integers and bools as f32."""
BOOL = PROMOTION.ALWAYS_BOOL
"""The operands get their common type; the result has bools."""


def rule(
    *ops: Any,
    promotion: PROMOTION | None = None,
    targets: Iterable[str] = ("cpu", "cuda"),
    cost: Callable[[FxNode], str | None] | None = None,
    is_own: bool = False,
) -> Callable[[RuleT], RuleT]:
    """Registers the decorated function as the rule of `ops`, which are OpOverloads."""

    def register(function: RuleT) -> RuleT:
        for op in ops:
            RULES[op] = Rule(function, promotion, frozenset(targets), cost, is_own)
        return function

    return register


def value_of(node: FxNode) -> Any:
    """The fake value of a node: a tensor, a number, or a tuple of them."""
    return node.meta.get("val")


def device_of(node: FxNode) -> torch.device | None:
    """The device of a node's tensor, or the first of its tensors; None where it has none."""
    value = value_of(node)
    values = value if isinstance(value, tuple | list) else (value,)
    return next((each.device for each in values if isinstance(each, torch.Tensor)), None)


def element_of(dtype: torch.dtype) -> str:
    """irc's name of a dtype; `Left` where it has none."""
    try:
        return ELEMENTS[dtype]
    except KeyError:
        name, known = str(dtype).removeprefix("torch."), ", ".join(ELEMENTS.values())
        raise Left(f"irc has no element type {name}", hint=f"it has {known}") from None


def argument(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """A Tensor that stands for one of torch's."""
    return Tensor.of(Node(ARGUMENT, (), shape, element_of(dtype)))


def why_left(node: FxNode, target: str) -> str | None:
    """Why a node has to stay with torch; None where irc can do it. It records the node by itself, for it shows then
    whether the rule does this case."""
    if node.op != "call_function":
        return f"a {node.op} node"
    if node.target is operator.getitem:
        return None
    rule = rule_of(node.target)
    if rule is None:
        return node.meta.get("custom", {}).get(REASON, "no rule")
    if target not in rule.targets:
        return f"not on the target {target}"
    try:
        _expect_plain(node, target)
        if target == "cuda" and rule.cost is not None and (reason := rule.cost(node)) is not None:
            return reason
        with on_target(target):
            found = record(node, {operand: _stand_in(operand) for operand in node.all_input_nodes})
    except IrcError as error:
        return error.message
    if target != "cuda" or rule.is_own:
        return None
    return why_slow([each.node for each in (found if isinstance(found, tuple) else (found,)) if each is not None])


def _stand_in(node: FxNode) -> Any:
    value = value_of(node)
    if isinstance(value, tuple | list):
        return tuple(argument(each.shape, each.dtype) for each in value)
    return argument(value.shape, value.dtype)


def _expect_plain(node: FxNode, target: str) -> None:
    """`Left` unless operands and results are dense tensors of known shapes on one device."""
    for each in (node, *node.all_input_nodes):
        value = value_of(each)
        for tensor in value if isinstance(value, tuple | list) else (value,):
            if tensor is None:
                continue
            if not isinstance(tensor, torch.Tensor):
                raise Left(f"an operand is a {type(tensor).__name__}")
            if tensor.device.type != target or tensor.device != device_of(node):
                raise Left("tensors of several devices")
            if tensor.layout is not torch.strided or tensor.is_quantized:
                raise Left(f"a tensor with the layout {tensor.layout}")
            if any(isinstance(extent, torch.SymInt) for extent in tensor.shape):
                raise Left("a shape that depends on values")


def record(node: FxNode, known: Mapping[FxNode, Any]) -> Any:
    """The Tensor, or the tuple of them, of a node whose operands are `known`."""
    if node.target is operator.getitem:
        return known[node.all_input_nodes[0]][node.args[1]]
    with recording(place_of(node)):
        return _fitted(node, recorded(node, known))


def recorded(node: FxNode, known: Mapping[FxNode, Any]) -> Any:
    """What a rule gives of a node, whose shapes and element types may be others than torch's."""
    found = rule_of(node.target)
    if found is None:
        raise Left(f"no rule of {node.target}")
    args: Any = map_arg(node.args, known.__getitem__)
    options: Any = map_arg(node.kwargs, known.__getitem__)
    if found.promotion is not None:
        args = _promoted(node, args, found.promotion)
    return found.record(*args, **options)


def _promoted(node: FxNode, args: Sequence[Any], kind: PROMOTION) -> list[Any]:
    """The Tensors among the arguments in their common type, and the numbers as that has them."""
    values = [value_of(arg) if isinstance(arg, FxNode) else arg for arg in node.args]
    operands = [value for value in values if isinstance(value, torch.Tensor | bool | int | float)]
    computed, result = elementwise_dtypes(*operands, type_promotion_kind=kind)
    element = element_of(computed if kind is BOOL else result)
    numbers = [arg for arg in (*args, *node.kwargs.values()) if isinstance(arg, float)]
    if element in ("bf16", "f16") and not all(_is_exact(number, element) for number in numbers):
        # torch computes in f32 with the number as f32 has it. The casts are none that the user wrote: nothing is
        # rounded by them.
        return [deferred(promoted(arg, element), "f32") if isinstance(arg, Tensor) else arg for arg in args]
    return [promoted(arg, element) for arg in args]


def _is_exact(number: float, element: str) -> bool:
    return not math.isfinite(number) or _in_array(number, element) == number


def _in_array(number: float, element: str) -> float:
    """The number as an array of the element type has it."""
    with np.errstate(over="ignore"):
        return float(np.asarray(number).astype(DTYPES[element]))


def promoted(x: Any, element: str) -> Any:
    """A Tensor cast to the element type, or a number as that type has it; anything else as it is."""
    if isinstance(x, Tensor):
        return x.astype(element)
    return number_in(x, element) if isinstance(x, bool | int | float) else x


def number_in(value: Number, element: str) -> Number:
    """The number as torch puts it into an array: floats beyond the range become infinite, integers wrap."""
    dtype = DTYPES[element]
    if element == "bool":
        return bool(value)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return (int(value) - limits.min) % (limits.max - limits.min + 1) + limits.min
    number = float(value)
    if math.isfinite(number) and math.isinf(_in_array(number, element)):
        return math.copysign(math.inf, number)
    largest = float(ml_dtypes.finfo(dtype).max)
    return max(-largest, min(largest, number)) if math.isfinite(number) else number


def as_stored(value: Any, element: str) -> Any:
    """A Tensor or a number as what is stored into an array. Of a number that the type does not have torch has an error,
    but that unsigned integers wrap those below 0."""
    dtype = DTYPES[element]
    if dtype.kind in "iu" and isinstance(value, bool | int | float):
        limits = np.iinfo(dtype)
        if not min(limits.min, -limits.max) <= value <= limits.max:
            raise Left(f"{value} as {element}")
    return promoted(value, element)


def _fitted(node: FxNode, result: Any) -> Any:
    value = value_of(node)
    if not isinstance(value, tuple | list):
        return _fit(result, value)
    if len(result) != len(value):
        raise Left(f"the rule gave {len(result)} results, torch has {len(value)}")
    used = [user.args[1] for user in node.users]
    return tuple(
        _fit(each, want) if position in used and want is not None else None
        for position, (each, want) in enumerate(zip(result, value, strict=True))
    )


def _fit(result: Tensor, value: torch.Tensor) -> Tensor:
    if result.shape != tuple(value.shape):
        raise Left(f"the rule gave {result.node.type}, torch has the shape {list(value.shape)}")
    return mended(result, value.dtype)


def mended(result: Tensor, dtype: torch.dtype) -> Tensor:
    """The result in torch's element type."""
    element = element_of(dtype)
    is_rounding = result.element == "f32" and element in ("bf16", "f16")
    return deferred(result, element) if is_rounding else result.astype(element)


_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def place_of(node: FxNode) -> Span:
    """The user's line that a node comes from; the op where that is not known."""
    found = _FRAME.finditer(node.meta.get("stack_trace") or "")
    frames = [frame for frame in found if not frame["file"].startswith(PACKAGE)]
    return Span(frames[-1]["file"], int(frames[-1]["line"]), 1) if frames else Span(f"<{node.target}>", 1, 1)
