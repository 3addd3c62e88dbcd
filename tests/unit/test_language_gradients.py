"""`grad` and `value_and_grad` in the language: values, nesting, locations, errors."""

from __future__ import annotations

import numpy as np
import pytest

from irc.dialects import nd
from irc.driver.program import parse
from irc.interpreters.nd.interpreter import Array, Precision, evaluate
from irc.ir.dtypes import element_named
from irc.language.printer import print_module
from irc.support.diagnostics import IrcError, render

FUNCTIONS = """
func cube(x: f64[]) -> f64[] {
    return x ** 3
}
func line(x: f64[3], y: f64[3], n: i32[]) -> (f64[], f64[3]) {
    p = x * y
    return sum(p), p
}
func vector(x: f64[]) -> f64[3] {
    return broadcast(x, [3])
}
func bits(x: bf16[]) -> f32[] {
    return cast(bitcast(x, f16), f32)
}
"""
BF16 = element_named("bf16").dtype
X, Y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


def run(body: str, *args: Array, head: str = "x: f64[]) -> f64[]") -> tuple[Array, ...]:
    return evaluate(parse(f"{FUNCTIONS}\nfunc main({head} {{\n    {body}\n}}\n", "test.irc"), args)


def test_derivatives_of_a_cube():
    for expression, expected in (
        ("grad(cube, wrt=[x])(x)", 12.0),
        ("grad(grad(cube, wrt=[x]), wrt=[x])(x)", 12.0),
        ("grad(grad(grad(cube, wrt=[x]), wrt=[x]), wrt=[x])(x)", 6.0),
        ("grad(cube, wrt=[x])(x=x * x)", 48.0),
        ("grad(cube, wrt=[x])(2)", 12.0),
        ("1 + grad(cube, wrt=[x])(x) ** 2", 145.0),
    ):
        (found,) = run(f"return {expression}", np.array(2.0))
        assert found == expected, expression


def test_values_come_first_and_gradients_in_the_order_of_wrt():
    head = "x: f64[3], y: f64[3]) -> (f64[], f64[3], f64[3], f64[3])"
    value, product, dy, dx = run("return value_and_grad(line, wrt=[y, x])(x, y, 1)", X, Y, head=head)
    assert value == 32
    np.testing.assert_array_equal(product, X * Y)
    np.testing.assert_array_equal(dy, X)
    np.testing.assert_array_equal(dx, Y)


def test_the_gradient_of_an_expression_goes_through_calls():
    text = (
        FUNCTIONS
        + """
func outer(x: f64[3]) -> f64[] {
    l, p = line(x, x, 0)
    return cube(l)
}
func main(x: f64[3]) -> f64[3] {
    return grad(outer, wrt=[x])(x)
}
"""
    )
    (found,) = evaluate(parse(text, "test.irc"), [X])
    np.testing.assert_allclose(found, 3 * 14.0**2 * 2 * X)


def test_a_gradient_prints_as_irc_and_means_the_same():
    text = "func f(x: bf16[4]) -> f32[] {\n    return sum(cast(tanh(x * x), f32))\n}\n"
    text += "func main(x: bf16[4]) -> bf16[4] {\n    return grad(f, wrt=[x])(x)\n}\n"
    module = parse(text, "test.irc")
    again = parse(print_module(module), "again.irc")
    x = np.array([0.1, -0.5, 1.0, 2.0], BF16)
    precisions: tuple[Precision, ...] = ("program", "excess", "float64")
    for precision in precisions:
        before, after = (evaluate(m, [x], precision=precision) for m in (module, again))
        np.testing.assert_array_equal(before[0], after[0])


ERRORS = [
    ("return grad(cube, wrt=[x])", "grad(...) is a function"),
    ("return grad(cube)(x)", "grad takes a function and wrt"),
    ("return grad(cube, cube, wrt=[x])(x)", "grad takes a function and wrt"),
    ("return grad(cube, wrt=[y])(x)", "cube has no parameter y"),
    ("return grad(cub, wrt=[x])(x)", "did you mean cube?"),
    ("return grad(sum, wrt=[x])(x)", "expected a function"),
    ("return cube(x)(x)", "expected a function"),
    ("return grad(main, wrt=[x])(x)", "main is not defined above"),
    ("return grad(vector, wrt=[x])(x)", "cannot differentiate vector: its first result is f64[3]"),
    ("return grad(line, wrt=[n])(x, x, 1)", "cannot differentiate with respect to n: i32[]"),
    ("return grad(cube, wrt=x)(x)", "wrt is a list of names"),
    ("return grad(cube, wrt=[])(x)", "wrt names no parameter"),
    ("return grad(line, wrt=[x, x])(x, x, 1)", "x is named twice"),
    ("return grad(cube, wrt=[x])(x, x)", "grad(cube) takes 1 arguments, found 2"),
    ("grad = x\n    return grad", "grad is a builtin function"),
    ("return grad", "grad is a function"),
]


@pytest.mark.parametrize(("body", "message"), ERRORS)
def test_errors(body: str, message: str):
    with pytest.raises(IrcError) as caught:
        run(body, np.array(2.0))
    assert message in render(caught.value)


def test_an_op_without_a_gradient_is_shown_with_the_call():
    with pytest.raises(IrcError) as caught:
        run("return cast(grad(bits, wrt=[x])(cast(x, bf16)), f64)", np.array(2.0))
    shown = render(caught.value)
    assert "test.irc:13:17: error: cannot differentiate nd.bitcast" in shown
    assert "test.irc:17:17: note: called from here" in shown


def test_a_tower_of_gradients_has_a_limit():
    text = "func f(x: f32[]) -> f32[] {\n    return gelu(gelu(gelu(x)))\n}\nfunc main(x: f32[]) -> f32[] {\n    return "
    tower = "f"
    for _ in range(40):
        tower = f"grad({tower}, wrt=[x])"
    with pytest.raises(IrcError, match="the gradient has more than 50000 operations"):
        parse(f"{text}{tower}(x)\n}}\n", "test.irc")


def test_gradients_keep_locations():
    text = "func f(x: f32[]) -> f32[] {\n    return exp(x)\n}\nfunc g(x: f32[]) -> f32[] {\n    return grad(f, wrt=[x])(x)\n}\n"
    module = parse(text, "test.irc")
    for op in module.walk():
        if isinstance(op, nd.NdOp):
            assert "test.irc" in str(op.location)
