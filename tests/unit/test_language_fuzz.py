"""Random and mutated texts: `parse` gives a module that verifies, or an IrcError with a place; never another exception."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from drawing import MORE, SEED

from irc.language import parse, print_module
from irc.support.diagnostics import IrcError, render

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.irc"))
COUNT = 1500 * MORE
"""Texts for each kind of mutation."""

pytestmark = pytest.mark.fuzz

TOKENS = [
    *(
    "dim func return true false inf nan None x y f sum exp where cast reshape pad matmul f32 bf16 i32 bool 0 1 2 -1 1.5 1e-5 1e400 "
    "9999999999999999999999 ( ) [ ] { } , : = -> + - * / // % ** @ & | ^ ~ << >> < <= == ... \" #"
).split(),
    "\n",
    " ",
]  # fmt: skip


def check(text: str) -> bool:
    """Whether the text is a program; anything but an IrcError fails the test."""
    try:
        module = parse(text, "fuzz.irc", {})
    except IrcError as error:
        assert error.location is not None
        assert "fuzz.irc:" in render(error)
        return False
    module.verify()
    print_module(module)
    return True


@pytest.fixture(scope="module")
def sources() -> list[str]:
    return [path.read_text() for path in EXAMPLES]


def test_mutated_characters(sources: list[str]) -> None:
    generator = random.Random(SEED + 1)
    alphabet = "".join(TOKENS) + '\x00\t\r\né٣"$\\'
    for _ in range(COUNT):
        text = list(generator.choice(sources))
        for _ in range(generator.randint(1, 4)):
            at = generator.randrange(len(text))
            text[at : at + generator.randint(0, 3)] = generator.choice(alphabet)
        check("".join(text))


def test_mutated_tokens(sources: list[str]) -> None:
    generator = random.Random(SEED + 2)
    valid = 0
    for _ in range(COUNT):
        text = generator.choice(sources)
        words = text.split(" ")
        for _ in range(generator.randint(1, 3)):
            at = generator.randrange(len(words))
            words[at : at + generator.randint(0, 1)] = [generator.choice(TOKENS)]
        valid += check(" ".join(words))
    assert valid < COUNT


def test_mixed_expressions() -> None:
    generator = random.Random(SEED + 3)
    for _ in range(COUNT):
        expression = " ".join(generator.choice(TOKENS[7:-1]) for _ in range(generator.randint(1, 8)))
        check(f"func f(x: f32[2, 3], y: i32[3]) -> f32[2, 3] {{\n    e = {expression}\n    return x\n}}\n")


FUNCTIONS = (
    "sum prod max min mean var any all argmax argmin cumsum sort topk softmax layer_norm attention reshape permute transpose broadcast "
    "concat stack split pad expand_dims squeeze flip tile tril take take_along one_hot scatter_add zeros full iota array conv slice "
    "random_normal cast bitcast where clamp minimum pow gelu leaky_relu matmul declared deferred relaxed"
).split()  # fmt: skip
ARGUMENTS = (
    "x y b 0 1 -1 2 1.5 -0.0 inf nan true None f32 i32 bool [] [0] [1,0] [2,3] [-1] [[1,2],[0,1]] [x] [x,x] [[]] axis=0 axis=-3 "
    "axis=[0,1] axis=None keepdims=true dtype=f32 dtype=bool k=1 value=x eps=0 seed=1 approximate=\"tanh\" dims=[0] groups=0 "
    "lhs_batch=[0] rhs_batch=[0] lhs_contract=[1] rhs_contract=[0] 9223372036854775807 [9223372036854775807] [1099511627776,0] "
    "precision=\"tf32\" scale=nan strides=[1] x[0] y[None] -x x+1 [1.5] [true]"
).split()  # fmt: skip


def test_calls_with_random_arguments() -> None:
    generator = random.Random(SEED + 4)
    valid = 0
    for _ in range(2 * COUNT):
        arguments = [generator.choice("xxxyb")] if generator.random() < 0.8 else []
        arguments += [generator.choice(ARGUMENTS) for _ in range(generator.randint(0, 3))]
        arguments.sort(key=lambda argument: "=" in argument)
        call = f"{generator.choice(FUNCTIONS)}({', '.join(arguments)})"
        valid += check(
            f"func f(x: f32[2, 3], y: i32[3], b: bool[3]) -> f32[2, 3] {{\n    e = {call}\n    return x\n}}\n"
        )
    assert valid > COUNT // 50
