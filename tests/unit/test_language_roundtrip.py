"""Text to `nd` to text to `nd`: the second IR is the first, for the examples, for random programs and after passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import examples, long
from hypothesis import given
from hypothesis import strategies as st
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from irc.dialects import nd
from irc.ir.dtypes import ELEMENTS, Element, element_named
from irc.language import parse, print_module
from irc.passes.nd.canonicalize_nd import CanonicalizeNdPass
from irc.passes.nd.decompose_nd import DecomposeNdPass
from irc.passes.nd.widen_arithmetic import WidenArithmeticPass
from irc.support.diagnostics import IrcError

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.irc"))


def check_round_trip(module: ModuleOp) -> str:
    """Prints the module, parses that, and compares; the text."""
    text = print_module(module)
    again = parse(text, "printed.irc")
    again.verify()
    assert module.is_structurally_equivalent(again), f"{text}\n{module}\n{again}"
    assert print_module(again) == text
    return text


@long(4)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_before_and_after_each_pass(path: Path) -> None:
    module = parse(path.read_text(), str(path))
    module.verify()
    check_round_trip(module)
    for each in (CanonicalizeNdPass(), DecomposeNdPass(), WidenArithmeticPass(), CanonicalizeNdPass()):
        each.apply(Context(), module)
        check_round_trip(module)


# Random programs, as text: statements that parse are kept.

OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "@"]
UNARY = [
    "-{a}", "~{a}", "abs({a})", "exp({a})", "relu({a})", "round({a})", "sigmoid({a})", "gelu({a})", "isnan({a})",
    'gelu({a}, approximate="tanh")', "leaky_relu({a}, 0.1)", "logical_not({a})", "cast({a}, {t})", "bitcast({a}, {t})",
    "transpose({a})", "reshape({a}, [-1])", "reshape({a}, [1, -1])", "{a}[1:]", "{a}[..., None, ::2]", "{a}[0]", "{a}[-1:]",
    "broadcast({a}, [2, 3])", "broadcast({a}, [2, 3, 2], dims=[1, 2])", "pad({a}, [[1, 0]])", "pad({a}, [[0, 1], [2, 0]], value={n})",
    "flip({a}, -1)", "tile({a}, [2, 2])", "tril({a})", "triu({a}, k=1)", "sum({a})", "sum({a}, axis=-1, keepdims=true)",
    "prod({a}, axis=0)", "mean({a}, dtype=f32)", "var({a}, axis=0, correction=1)", "max({a})", "any({a})", "all({a}, axis=0)",
    "argmax({a}, axis=0)", "argmin({a})", "cumsum({a}, -1)", "cumprod({a}, 0)", "sort({a}, 0)", "expand_dims({a}, 0)",
    "softmax({a})", "log_softmax({a}, axis=0)", "layer_norm({a})", "rms_norm({a}, eps=1e-3)", "attention({a}, {a}, {a})",
    "attention_log_sum_exp({a}, {a}, causal=true, window=2, bias={a} > 0)", "attention_weights({a}, {a}, sum({a}, axis=-1), scale=2.0, soft_cap=3.0)",
    "one_hot({a}, 3, {t})", "permute({a}, [1, 0])", "squeeze({a}, 0)", "topk({a}, 1, 0)", "split({a}, 2, axis=-1)",
]  # fmt: skip
BINARY = [
    "minimum({a}, {b})", "pow({a}, {b})", "atan2({a}, {b})", "clamp({a}, {n}, {b})", "where({a}, {b}, {n})", "concat([{a}, {b}])",
    "stack([{a}, {b}], axis=1)", "take({a}, {b})", "take_along({a}, {b}, 0)", "scatter_add({a}, {b}, {n})",
    "matmul({a}, {b}, dtype=f32)", 'matmul({a}, {b}, precision="tf32")', "where({a} == {b}, {a}, {b})",
    "reorder({a}, sum(cast({a}, i32), axis=1), sum(cast({a}, i32), axis=1))",
    "grouped_matmul({a}, {b}, sum(cast({a}, i32), axis=0))", "grouped_matmul({a}, stack([{b}, {b}]), iota([2], i32), y_contract=2)",
    "matmul({a}, {b}, lhs_batch=[0], rhs_batch=[0], lhs_contract=[], rhs_contract=[])",
]  # fmt: skip
MADE = [
    "zeros([2, 3], {t})", "full([3], {n}, {t})", "full([], {n}, {t})", "iota([2, 3], {t}, axis=1)", "array([1, 2, 3], {t})",
    "random_normal([2], {t}, seed=7)", "full([0, 2], {n}, {t})",
]  # fmt: skip
NUMBERS = ["0", "1", "2", "3", "-1", "0.5", "-0.0", "inf", "nan", "true", "1 / 3", "1e-30", "65504"]
TYPES = [element.name for element in ELEMENTS]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program whose statements are mostly valid on their own; those that are not are dropped."""
    shapes = ["", "3", "2, 3", "1, 3", "2, 1", "2, 2, 3", "0, 3"]
    parameters = [f"x{i}: {draw(st.sampled_from(TYPES))}[{draw(st.sampled_from(shapes))}]" for i in range(4)]
    pool = [f"x{i}" for i in range(4)]
    kept: list[str] = []
    for i in range(draw(st.integers(1, 12))):
        fields = {"a": draw(st.sampled_from(pool)), "b": draw(st.sampled_from(pool)), "t": draw(st.sampled_from(TYPES))}
        fields["n"] = draw(st.sampled_from(NUMBERS))
        template = draw(st.sampled_from(UNARY + BINARY + MADE))
        if draw(st.booleans()):
            template = f"{{a}} {draw(st.sampled_from(OPERATORS))} {draw(st.sampled_from(['{b}', '{n}']))}"
        expression = template.format(**fields)
        targets = [f"v{i}, w{i}"] if expression.startswith(("topk", "split")) else [f"v{i}"]
        if _parses(parameters, [*kept, f"{targets[0]} = {expression}"]):
            kept.append(f"{targets[0]} = {expression}")
            pool += targets[0].split(", ")
    return _program(parameters, kept)


def _program(parameters: list[str], statements: list[str]) -> str:
    body = "".join(f"    {statement}\n" for statement in statements)
    return f"func f({', '.join(parameters)}, r: f32[]) -> f32[] {{\n{body}    return r\n}}\n"


def _parses(parameters: list[str], statements: list[str]) -> bool:
    try:
        parse(_program(parameters, statements))
    except IrcError:
        return False
    return True


@examples(150)
@given(programs())
def test_random_programs(text: str) -> None:
    module = parse(text)
    module.verify()
    check_round_trip(module)


@long(4)
@pytest.mark.parametrize("template", [*UNARY, *BINARY, *MADE])
def test_every_template_is_valid_for_some_operands(template: str) -> None:
    """The random programs are not vacuous: each template parses for some shapes and types, and prints back."""
    shapes = ["2", "2, 2", "1, 2", "2, 1", "2, 2, 2", "3", ""]
    found = 0
    for shape in shapes:
        for element in ("f32", "i32", "bool"):
            for other in (element, "i32"):
                parameters = [f"a: {element}[{shape}]", f"b: {other}[{shape}]"]
                expression = template.format(a="a", b="b", t="f32", n="1")
                several = expression.startswith(("topk", "split"))
                statement = f"{'v, w' if several else 'v'} = {expression}"
                if _parses(parameters, [statement]):
                    check_round_trip(parse(_program(parameters, [statement])))
                    found += 1
    assert found


# IR that no text of today's parser gives, built directly.


def module_of(build: Callable[[Builder, tuple[SSAValue, ...]], SSAValue], *types: Any) -> ModuleOp:
    function = FuncOp("f", (types, [types[0]]))
    builder = Builder(InsertPoint.at_end(function.body.block))
    result = build(builder, tuple(function.body.block.args))
    builder.insert(ReturnOp(result))
    function.update_function_type()
    return ModuleOp([function])


F32 = nd.tensor((2, 3), element_named("f32"))
I32 = nd.tensor((2, 3), element_named("i32"))


def _shared_constant(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    two = builder.insert(nd.ConstantOp.splat(2, I32))
    power = builder.insert(nd.PowOp(args[0], two))
    return builder.insert(nd.MulOp(power.result, two)).result


def _full_slice(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    return builder.insert(nd.SliceOp(args[0], [0, 0], [2, 3])).result


def _same_reshape(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    return builder.insert(nd.ReshapeOp(args[0], [2, 3])).result


def _same_broadcast(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    wide = builder.insert(nd.BroadcastOp(args[0], [2, 3], [0, 1]))
    return builder.insert(nd.AddOp(args[0], wide)).result


def _two_constants(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    one = builder.insert(nd.ConstantOp.splat(1.0, F32))
    two = builder.insert(nd.ConstantOp.splat(2.0, F32))
    return builder.insert(nd.AddOp(one, two)).result


def _both_broadcast(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    row = builder.insert(nd.SumOp(args[0], [0]))
    wide = builder.insert(nd.BroadcastOp(row, [2, 3], [1]))
    other = builder.insert(nd.BroadcastOp(row, [2, 3], [1]))
    return builder.insert(nd.AddOp(wide, other)).result


def _swapped_helpers(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    row = builder.insert(nd.SumOp(args[0], [0]))
    one = builder.insert(nd.ConstantOp.splat(1.0, F32))
    wide = builder.insert(nd.BroadcastOp(row, [2, 3], [1]))
    return builder.insert(nd.AddOp(wide, one)).result


def _negative_base(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    base = builder.insert(nd.ConstantOp.splat(-2.0, F32))
    return builder.insert(nd.PowOp(base, args[0])).result


def _negative_exponent(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    exponent = builder.insert(nd.ConstantOp.splat(-2, I32))
    return builder.insert(nd.PowOp(args[0], exponent)).result


def _pad_value(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    value = builder.insert(nd.MaxOp(args[0], [0, 1]))
    return builder.insert(nd.PadOp(args[0], value, [1, 0], [0, 2])).result


def _outer_product(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    return builder.insert(nd.MatmulOp(args[0], args[0], lhs_contract=[], rhs_contract=[])).result


def _transposed_product(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    return builder.insert(nd.MatmulOp(args[0], args[0], lhs_contract=[1], rhs_contract=[1], precision="bf16")).result


def _conv(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    image = builder.insert(nd.ReshapeOp(args[0], [1, 2, 3]))
    kernel = builder.insert(nd.ConstantOp.from_array(np.arange(8, dtype=np.float32).reshape(2, 2, 2)))
    return builder.insert(nd.ConvOp(image, kernel, strides=[2], low=[1], high=[2])).result


def _conv_in_another_order(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    image = builder.insert(nd.ReshapeOp(args[0], [1, 3, 2]))
    kernel = builder.insert(nd.ConstantOp.from_array(np.arange(8, dtype=np.float32).reshape(2, 2, 2)))
    orders: dict[str, Any] = {"x_axes": [0, 2, 1], "kernel_axes": [1, 2, 0], "result_axes": [2, 0, 1]}
    return builder.insert(nd.ConvOp(image, kernel, **orders, flipped=True)).result


@pytest.mark.parametrize(
    ("build", "type"),
    [
        (_shared_constant, I32),
        (_full_slice, F32),
        (_same_reshape, F32),
        (_same_broadcast, F32),
        (_two_constants, F32),
        (_both_broadcast, F32),
        (_swapped_helpers, F32),
        (_negative_base, F32),
        (_negative_exponent, I32),
        (_pad_value, F32),
        (_outer_product, F32),
        (_transposed_product, F32),
        (_conv, F32),
        (_conv_in_another_order, F32),
    ],
)
def test_built_ir(build: Callable[[Builder, tuple[SSAValue, ...]], SSAValue], type: Any) -> None:
    module = module_of(build, type)
    module.verify()
    check_round_trip(module)


def _values(element: Element) -> np.ndarray[Any, Any]:
    """All bit patterns of the small types, a sample of the others."""
    if element.kind == "bool":
        return np.array([False, True])
    if element.bits <= 16:
        return np.arange(1 << element.bits, dtype=f"u{element.size}").view(element.dtype)
    bits = np.random.default_rng(0).integers(0, 256, 500 * element.size, dtype=np.uint8)
    return bits.view(element.dtype)


@pytest.mark.parametrize("element", [e for e in ELEMENTS if e.bits != 16], ids=lambda e: e.name)
def test_constants_are_exact(element: Element) -> None:
    values = _values(element)
    module = module_of(lambda b, _: b.insert(nd.ConstantOp.from_array(values)).result, nd.tensor((), element))
    check_round_trip(module)


@pytest.mark.parametrize("name", ["f16", "bf16", "i16"])
def test_constants_of_16_bits_are_exact(name: str) -> None:
    element = element_named(name)
    values = _values(element)[::13]
    module = module_of(lambda b, _: b.insert(nd.ConstantOp.from_array(values)).result, nd.tensor((), element))
    check_round_trip(module)


def test_what_has_no_spelling_is_an_error() -> None:
    module = parse("func f(x: f32[]) -> f32[] { return exp(x) }")
    function = next(iter(module.ops))
    assert isinstance(function, FuncOp)
    op = next(iter(function.body.block.ops))
    op.attributes["other"] = element_named("f32").type
    with pytest.raises(IrcError, match="the attribute other of nd.exp has no spelling"):
        print_module(module)


def test_names_are_mended() -> None:
    text = "func f(a_1: f32[2], a_2: f32[2]) -> f32[2] { return a_1 + a_2 }"
    assert "func f(a_1: f32[2], a_2: f32[2])" in check_round_trip(parse(text))
    module = parse("func f(x: f32[2]) -> f32[2] { return exp(x) }")
    function = next(iter(module.ops))
    assert isinstance(function, FuncOp)
    function.body.block.args[0].name_hint = "sum"
    next(iter(function.body.block.ops)).results[0].name_hint = "a.b-c"
    assert "sum1: f32[2]" in check_round_trip(module) and "a_b_c = " in check_round_trip(module)
