"""Every program of the language has kernels, which compute what it means, but for `sort` and `topk`."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from drawing import long, seeds
from numerics.harness import check_kernels
from numerics.language_programs import forward_program, gradient_program

import irc
from irc.driver.program import parse

NAMED = {
    "gradient of a dot product": """func loss(x: f32[8], y: f32[8]) -> f32[] {
    return x @ y
}
func g(x: f32[8], y: f32[8]) -> (f32[8], f32[8]) {
    a, b = grad(loss, wrt=[x, y])(x, y)
    return a, b
}
""",
    "gradient of a matrix times a vector": """func loss(x: bf16[6, 9], y: bf16[9]) -> f32[] {
    z = cast(x @ exp(y), f32)
    return sum(z * z)
}
func g(x: bf16[6, 9], y: bf16[9]) -> (bf16[6, 9], bf16[9]) {
    a, b = grad(loss, wrt=[x, y])(x, y)
    return a, b
}
""",
    "a dot product of one element": """func f(x: i32[]) -> i16[] {
    a = reshape(bitcast(cast(x, f16), i16), [1])
    return a @ a
}
""",
    "a gather that reads a scan": """func f(x: f32[2], y: f32[2], at: i64[1]) -> (f32[1], f32[2]) {
    a = x - y
    b = cumprod(a, 0)
    return take_along(b, at, 0), cumprod(a - y, 0)
}
""",
    "a scan that a gather and a maximum read": """func f(c: bool[], x: i8[17], at: i16[1]) -> (i8[17], bool[1], i16[1]) {
    a = cumsum(x, 0)
    b = where(c, x, x) >= a
    return max(a, axis=[0]) + x, take_along(b, at, 0), cumprod(at, 0)
}
""",
}


@pytest.mark.parametrize("name", NAMED)
def test_named_programs(name: str) -> None:
    check_kernels(NAMED[name])


def test_the_sign_of_zero_is_zero() -> None:
    text = "func f(x: f32[4], y: f32[4]) -> f32[4] {\n    return sign(x) * y\n}\n"
    x, y = np.array([-0.0, 0.0, -0.0, -2.0], np.float32), np.array([3, 3, -3, 3], np.float32)
    for target in ("cpu", "sim"):
        found = irc.compile(text, target)(x, y)
        np.testing.assert_array_equal(found, np.sign(x) * y)
        np.testing.assert_array_equal(np.signbit(found), [False, False, True, True])


@long(6)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(30))
def test_random_programs(seed: int) -> None:
    program = forward_program(Random(seed))
    check_kernels(program.text, seed, noise=program.noise)


@long(8)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(30))
def test_gradients_of_random_programs(seed: int) -> None:
    program = gradient_program(Random(seed))
    check_kernels(program.text, seed, noise=program.noise)


def test_every_draw_is_a_program() -> None:
    """Many are parsed, few are run."""
    for seed in range(60):
        for draw in (forward_program, gradient_program):
            parse(draw(Random(seed)).text, "drawn.irc").verify()
