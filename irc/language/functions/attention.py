"""Attention, and what its gradients need of the scores."""

from __future__ import annotations

from math import inf, sqrt

from irc.ir.dtypes import Element, accumulator
from irc.language.arguments import Arguments
from irc.language.builder import broadcast_shapes
from irc.language.functions.registry import builtin
from irc.language.values import Array, Value
from irc.support.shapes import is_grouped


@builtin("attention(q, k, v, causal=false, scale=None, window=None, bias=None, soft_cap=None)")
def attention(args: Arguments) -> Value:
    q, k, v = factors = _factors(args, "qkv")
    found = _types(factors)
    if k.shape[:-2] != v.shape[:-2] or not is_grouped(q.shape[:-2], k.shape[:-2]):
        hint = "heads of k and v, the extent before the last two, may divide those of q"
        raise args.error(f"attention expects matrices with the same leading extents, found {found}", None, hint)
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        hint = "q is [.., S, D], k is [.., T, D], v is [.., T, E]"
        raise args.error(f"attention cannot combine {found}", None, hint)
    return _emit(args, factors, (*q.shape[:-1], v.shape[-1]), q.element)


@builtin("attention_log_sum_exp(q, k, causal=false, scale=None, window=None, bias=None, soft_cap=None)")
def attention_log_sum_exp(args: Arguments) -> Value:
    q, k = _scored(args)
    return _emit(args, [q, k], q.shape[:-1], accumulator(q.element))


@builtin("attention_weights(q, k, log_sum_exp, causal=false, scale=None, window=None, bias=None, soft_cap=None)")
def attention_weights(args: Arguments) -> Value:
    q, k = _scored(args)
    sums, element = args.float_array("log_sum_exp"), accumulator(q.element)
    if sums.shape != q.shape[:-1] or sums.element is not element:
        wanted = f"{element.name}[{', '.join(map(str, q.shape[:-1]))}]"
        raise args.error(f"attention_weights expects {wanted} for log_sum_exp, found {sums}", "log_sum_exp")
    return _emit(args, [q, k, sums], (*q.shape[:-1], k.shape[-2]), q.element)


def _factors(args: Arguments, names: str) -> list[Array]:
    """Arrays that are multiplied: floats of one element type, matrices at least."""
    factors = [args.float_array(name) for name in names]
    found = _types(factors)
    if len({factor.element for factor in factors}) > 1:
        raise args.error(f"{args.function} expects one element type, found {found}", None, "cast them: cast(x, bf16)")
    if min(factor.rank for factor in factors) < 2:
        raise args.error(f"{args.function} expects matrices, found {found}")
    return factors


def _scored(args: Arguments) -> tuple[Array, Array]:
    q, k = factors = _factors(args, "qk")
    if q.shape[:-2][: k.rank - 2] != k.shape[:-2] or q.shape[-1] != k.shape[-1]:
        hint = "k is [.., T, D], q is [.., S, D], and may have more axes before S"
        raise args.error(f"{args.function} cannot combine {_types(factors)}", None, hint)
    return q, k


def _types(arrays: list[Array]) -> str:
    *first, last = map(str, arrays)
    return f"{', '.join(first)} and {last}"


def _emit(args: Arguments, operands: list[Array], shape: tuple[int, ...], element: Element) -> Array:
    q, k, *_ = operands
    scale, window = args.real("scale", 1.0 / sqrt(max(1, q.shape[-1]))), args.integer("window", 0)
    if window < 1 and "window" in args:
        raise args.error(f"{args.function} expects a window of 1 or more, found {window}", "window")
    soft_cap = args.real("soft_cap", 0.0)
    if "soft_cap" in args and not 0 < soft_cap < inf:
        raise args.error(f"{args.function} expects a soft_cap greater than 0, found {soft_cap}", "soft_cap")
    biases = [_bias(args, (*q.shape[:-1], k.shape[-2]))] if "bias" in args else []
    options = {"causal": args.flag("causal"), "scale": scale, "window": window, "soft_cap": soft_cap}
    return args.emit(args.function, [*operands, *biases], shape, element, **options)


def _bias(args: Arguments, scores: tuple[int, ...]) -> Array:
    """The bias, broadcast to the scores."""
    bias = args.array("bias")
    if not bias.element.is_float and bias.element.kind != "bool":
        raise args.wrong("bias", "floats or bools")
    if broadcast_shapes([bias.shape, scores]) != scores:
        raise args.wrong("bias", f"what broadcasts to the scores {list(scores)}")
    return args.builder.broadcast(bias, scores, args.operand("bias")[1])
