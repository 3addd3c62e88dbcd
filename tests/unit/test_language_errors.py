"""Bad programs: each is an IrcError with its message at the place of the offending expression."""

from __future__ import annotations

import pytest

from irc.language import parse
from irc.support.diagnostics import IrcError, Span, render

HEADER = "func f(x: bf16[4, 4], y: bf16[3], i: i32[4, 4], b: bool[4, 4], s: f32[]) -> bf16[4, 4] {\n"


def error_of(text: str, dims: dict[str, int] | None = None) -> IrcError:
    with pytest.raises(IrcError) as caught:
        parse(text, "bad.irc", dims)
    return caught.value


def spanned(error: IrcError, text: str) -> str:
    """The text under the error's span."""
    span = error.location
    assert isinstance(span, Span)
    line = text.split("\n")[span.line - 1]
    return line[span.column - 1 : (span.end_column or 0) - 1]


@pytest.mark.parametrize(
    ("statement", "under", "message"),
    [
        ("e = x @ x + y", "x @ x + y", "cannot add bf16[4, 4] and bf16[3]"),
        ("e = x + i", "x + i", "cannot add bf16[4, 4] and i32[4, 4]"),
        ("e = x - y", "x - y", "cannot subtract bf16[3] from bf16[4, 4]"),
        ("e = x @ y", "x @ y", "cannot multiply the matrices bf16[4, 4] and bf16[3]"),
        ("e = i / 2", "i / 2", "cannot divide i32[4, 4] by the literal 2"),
        ("e = b + b", "b + b", "cannot add bool[4, 4] and bool[4, 4]"),
        ("e = x & x", "x & x", "cannot combine bf16[4, 4] and bf16[4, 4] by `&`"),
        ("e = x << 1", "x << 1", "cannot shift"),
        ("e = i << -1", "-1", "a shift by a negative amount"),
        ("e = i + 2.5", "2.5", "the float literal 2.5 cannot be i32"),
        ("e = i + 3000000000", "3000000000", "out of the range of i32"),
        ("e = x * 1e39", "1e39", "out of the range of bf16"),
        ("e = x + true", "true", "cannot be bf16"),
        ("e = i ** -1", "-1", "a negative exponent"),
        ("e = i ** i", "i", "the exponent of an integer must be a literal"),
        ("e = where(b, 1, 0)", "where(b, 1, 0)", "nothing gives the literal 1 and the literal 0 an element type"),
        ("e = where(x, x, x)", "x", "where expects bools for c"),
        ("e = 9 ** 9 ** 9", "9 ** 9 ** 9", "beyond 64-bit integers"),
        ("e = 9.0 ** 9 ** 9", "9.0 ** 9 ** 9", "beyond float64"),
        ("e = 1e999", "1e999", "beyond float64"),
        ("e = 99999999999999999999", "99999999999999999999", "beyond 64-bit integers"),
        ("e = 1 / 0", "1 / 0", "division by zero"),
        ("e = x < y < x", "x < y < x", "comparisons are not chained"),
        ("e = z", "z", "unknown name z"),
        ("e = sigmod(x)", "sigmod", "unknown function sigmod"),
        ("e = exp", "exp", "exp is a function"),
        ("e = y(x)", "y", "y is not a function"),
        ("e = f32(x)", "f32", "f32 is not a function"),
        ("e = f(x)", "f", "f is not defined above"),
        ("e = exp(i)", "i", "exp expects floats for x, found i32[4, 4]"),
        ("e = reorder(x, iota([4], i32), iota([3], i32))", "iota([3], i32)", "reorder expects 4 indices for inverse"),
        (
            "e = grouped_matmul(x, x, y)",
            "y",
            "grouped_matmul expects integers for ends, found bf16[3]",
        ),
        (
            "e = grouped_matmul(x, broadcast(x, [2, 4, 4]), iota([3], i32))",
            "broadcast(x, [2, 4, 4])",
            "grouped_matmul expects 3 matrices, found bf16[2, 4, 4]",
        ),
        (
            "e = grouped_matmul(x, broadcast(y, [2, 3, 4], dims=[1]), iota([2], i32))",
            "grouped_matmul(x, broadcast(y, [2, 3, 4], dims=[1]), iota([2], i32))",
            "grouped_matmul cannot contract axis 1 of bf16[4, 4] with axis 1 of bf16[2, 3, 4]",
        ),
        ("e = exp(2)", "2", "exp expects an array for x"),
        ("e = exp(x, x)", "exp(x, x)", "exp takes at most 1 positional arguments, found 2"),
        ("e = sum()", "sum()", "sum needs x"),
        ("e = sum(x, axes=1)", "axes=1", "sum has no parameter axes"),
        ("e = sum(x, axis=2)", "2", "axis 2 is out of range"),
        ("e = sum(x, axis=[0, -2])", "[0, -2]", "names an axis twice"),
        ("e = sum(x, axis=0, axis=1)", "axis=1", "axis is given twice"),
        ("e = sum(axis=0, x)", "x", "a positional argument after a keyword argument"),
        ("e = max(x[:0])", "max(x[:0])", "the max of nothing"),
        ("e = max(x, x)", "x", "max reduces one array over axes"),
        ("e = x[4]", "4", "index 4 is out of range for axis 0"),
        ("e = x[0, 0, 0]", "x[0, 0, 0]", "3 indices for bf16[4, 4]"),
        ("e = x[::-1]", "-1", "a step of -1"),
        ("e = x[..., ...]", "...", "`...` more than once"),
        ("e = x[i]", "i", "cannot index by i32[4, 4]"),
        ("e = x[1.0]", "1.0", "an index is an integer"),
        ("e = 2[0]", "2", "cannot index the literal 2"),
        ("e = reshape(x, [3, -1])", "[3, -1]", "cannot reshape bf16[4, 4] to [3, -1]"),
        ("e = reshape(x, [-1, -1])", "[-1, -1]", "-1 at most once"),
        ("e = broadcast(y, [4])", "[4]", "cannot broadcast bf16[3] to [4]"),
        ("e = zeros([-1], f32)", "[-1]", "a negative size, -1"),
        ("e = zeros([2.0], f32)", "[2.0]", "expects integers in shape"),
        ("e = zeros([2], x)", "x", "zeros expects an element type for type"),
        ("e = full([2], 300, u8)", "300", "out of the range of u8"),
        ("e = full([2], inf, f8e4m3)", "inf", "f8e4m3 has no infinity"),
        ("e = permute(x, [0, 0])", "[0, 0]", "not a permutation"),
        ("e = concat([x, y])", "[x, y]", "cannot concatenate"),
        ("e = pad(x, [[1, 1]])", "[[1, 1]]", "pad expects [lo, hi]"),
        ("e = pad(x, [[-1, 1], [0, 0]])", "[[-1, 1], [0, 0]]", "a negative width"),
        ("e = squeeze(x, 0)", "0", "squeeze drops axes of extent 1"),
        ("e = split(x, 3)", "3", "cannot split an extent of 4 into 3 equal parts"),
        ('e = gelu(x, approximate="erf")', '"erf"', 'gelu expects "none" or "tanh" for approximate'),
        ("e = topk(x, 5, axis=0)", "5", "topk of 5"),
        ("e = topk(x, 1, axis=0)", "topk(x, 1, axis=0)", "one name for 2 values"),
        ("a, b2 = x", "x", "2 names for bf16[4, 4]"),
        ("a, b2, c = topk(x, 1, axis=0)", "topk(x, 1, axis=0)", "3 names for 2 values"),
        ("e = [x, x]", "[x, x]", "a name stands for an array or a number"),
        ("e: f32[4, 4] = x", "x", "e is declared f32[4, 4], found bf16[4, 4]"),
        ("e: f33[4, 4] = x", "f33", "unknown element type f33"),
        ("x = y", "x", "x is an argument"),
        ("sum = y", "sum", "sum is a builtin function"),
        ("f32 = y", "f32", "f32 is an element type"),
        ("true = y", "true", "true is a keyword"),
        ("f = y", "f", "f is a function or a dim"),
        ("return x", "return x", "statements after return"),
        ("e = bitcast(x, f32)", "bitcast(x, f32)", "cannot read the bits of bf16[4, 4] as f32"),
        ("e = cast(x, 3)", "3", "cast expects an element type for type"),
        ("e = take(x, x)", "x", "take expects integers for indices"),
        ("e = attention(x, x, y)", "attention(x, x, y)", "attention expects matrices"),
        ("e = attention(x, x, x, window=0)", "0", "attention expects a window of 1 or more, found 0"),
        ("e = attention(x, x, x, soft_cap=-2.0)", "-2.0", "attention expects a soft_cap greater than 0, found -2.0"),
        ("e = attention(x, x, x, bias=i)", "i", "attention expects floats or bools for bias"),
        ("e = attention(x, x, x, bias=y[:3])", "y[:3]", "expects what broadcasts to the scores [4, 4] for bias"),
        ("e = attention_log_sum_exp(x, y)", "attention_log_sum_exp(x, y)", "attention_log_sum_exp expects matrices"),
        ("e = attention_log_sum_exp(x, x[:, 1:])", "attention_log_sum_exp(x, x[:, 1:])", "cannot combine bf16[4, 4]"),
        ("e = attention_weights(x, x, y)", "y", "attention_weights expects f32[4] for log_sum_exp, found bf16["),
        ("e = x + * y", "*", "unexpected `*`"),
        ("e = x $ y", "$", "unexpected character '$'"),
        ('e = "abc', '"', "a string that does not end on its line"),
        ("e = x +", " "[:0], "unexpected end of the line"),
        (
            "e = zeros([1000000, 1000000, 1000000], f32)",
            "zeros([1000000, 1000000, 1000000], f32)",
            "the most is 2 ** 48",
        ),
    ],
)
def test_statement(statement: str, under: str, message: str) -> None:
    text = f"{HEADER}    {statement}\n    return x\n}}\n"
    error = error_of(text)
    assert message in error.message
    span = error.location
    assert isinstance(span, Span) and span.line == 2
    if under:
        assert spanned(error, text) == under
        assert under == statement[span.column - 5 :][: len(under)]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "one function or more"),
        ("dim A = 1", 1, 1, "one function or more"),
        ("dim A = 1.5\nfunc f(x: f32[]) -> f32[] { return x }", 1, 9, "the dim A must be an integer"),
        ("dim A = 4 / 2\n", 1, 9, "the dim A must be an integer"),
        ("dim A = B\ndim B = 1\n", 1, 9, "B is defined below"),
        ("dim A = 1\ndim A = 2\n", 2, 5, "A is defined twice"),
        ("dim exp = 1\n", 1, 5, "exp is a builtin function"),
        ("func f(x: f32[-1]) -> f32[] { return x }", 1, 15, "a negative size, -1"),
        ("func f(x: f32[], x: f32[]) -> f32[] { return x }", 1, 18, "x is an argument"),
        ("func f(x: f32[]) -> f32[] {\n  y = x\n}", 3, 1, "f does not return"),
        ("func f(x: f32[]) -> f32[] {\n  return x, x\n}", 2, 3, "declared with 1 results, found 2"),
        ("func f(x: f32[]) -> (f32[], f16[]) {\n  return x, x\n}", 2, 13, "result 1 of f is declared f16[], found f32[]"),
        ("func f(x: f32[]) -> f32[] {\n  return g(x)\n}\nfunc g(x: f32[]) -> f32[] {\n return x\n}", 2, 10, "g is not defined above"),
        ("func g(x: f32[]) -> f32[] { return x }\nfunc f(x: f16[]) -> f32[] {\n  return g(x)\n}", 3, 12, "g expects f32[] for x"),
        ("func f(x: f32[]) -> f32[] { return x", 1, 37, "unexpected end of the file"),
        ("func f(x: f32[]) -> f32[] {\n  y = (x\n  return y\n}", 3, 3, "unexpected `return`"),
        ("x = 1", 1, 1, "unexpected `x`"),
    ],
)  # fmt: skip
def test_program(text: str, line: int, column: int, message: str) -> None:
    error = error_of(text)
    assert message in error.message
    assert isinstance(error.location, Span)
    assert (error.location.line, error.location.column) == (line, column)


def test_what_the_user_reads() -> None:
    text = "dim M = 4\n\nfunc gating(x: bf16[M, M], b: bf16[3]) -> bf16[M, M] {\n    h = x @ x + b\n    return h\n}\n"
    rendered = render(error_of(text)).split("\n")
    assert rendered[0] == "bad.irc:4:9: error: cannot add bf16[4, 4] and bf16[3]"
    assert rendered[1] == "    h = x @ x + b"
    assert rendered[2] == "        ^^^^^^^^^"
    assert rendered[3].startswith("hint: ")


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("e = x + i", "cast(x, bf16)"),
        ("e = sigmod(x)", "did you mean sigmoid?"),
        ("e = sum(x, axs=0)", "did you mean axis?"),
        ("e = x + X", "did you mean x?"),
        ("e = x + residual", "names here are x, "),
        ("if x > 0 { e = x }", "where(condition, a, b) chooses elements"),
        ("for j in x", "no loops"),
        ("e = i / 2", "`//`"),
        ("e = where(b, 1, 0)", "cast(1, f32)"),
        ("e = x[i]", "take"),
        ("e = x[::-1]", "flip"),
        ("e = permute(x, [1, 1])", "each of 0 to 1 once"),
    ],
)
def test_hints(statement: str, hint: str) -> None:
    error = error_of(f"{HEADER}    {statement}\n    return x\n}}\n")
    assert error.hint is not None and hint in error.hint


@pytest.mark.parametrize("part", ["(", "[", "-", "exp(", "2 ** "])
def test_nesting_is_bounded(part: str) -> None:
    error = error_of(f"{HEADER}    e = {part * 5000}x\n    return x\n}}\n")
    assert "nested deeper than 100 levels" in error.message


def test_nesting_within_the_bound_works() -> None:
    for opening, closing in (("(", ")"), ("exp(", ")"), ("-", ""), ("x + (", ")")):
        text = f"func f(x: f32[]) -> f32[] {{ return {opening * 95}x{closing * 95} }}"
        parse(text).verify()


def test_functions_that_double_are_bounded() -> None:
    functions = ["func g0(x: f32[]) -> f32[] { return x + x }"]
    functions += [f"func g{i}(x: f32[]) -> f32[] {{ return g{i - 1}(g{i - 1}(x)) }}" for i in range(1, 40)]
    assert "more than" in error_of("\n".join(functions)).message


def test_a_size_that_nothing_declares() -> None:
    text = "func f(x: f32[N]) -> f32[N] { return x }"
    assert error_of(text).hint == "`dim N = 64` before the functions names a number"
    assert error_of(f"dim n = 4\n{text}").hint == "did you mean n?"


def test_unknown_dims_are_named() -> None:
    text = "dim size = 2\nfunc f(x: f32[size]) -> f32[size] { return x }"
    error = error_of(text, {"sise": 3})
    assert "no dim sise" in error.message and error.hint == "did you mean size?"
    assert "negative size" in error_of(text, {"size": -1}).message
    assert "64-bit" in error_of(text, {"size": 2**70}).message
    assert "the dim size must be an integer, found 2.5" in error_of(text, {"size": 2.5}).message  # pyright: ignore[reportArgumentType]
