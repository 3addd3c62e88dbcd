"""irc-opt on damaged input: whatever comes in, only output or one diagnostic comes out."""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType

import pytest
from drawing import examples, long, seeds
from hypothesis import given
from hypothesis import strategies as st

from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import PIPELINES
from irc.ir.printer import print_ir
from irc.language import parse
from irc.support.diagnostics import IrcError, render
from irc_tools.driver import OptMain, Piece
from irc_tools.opt import argument_parser

ROOT = Path(__file__).parents[2]

SEEDS = """\
func.func @f(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant dense<1.5> : tensor<4x8xf32>
  %d = arith.addf %x, %c : tensor<4x8xf32>
  %e = "test.op"(%d, %y) <{axis = 1 : i64, perm = array<i64: 1, 0>}> ({
  ^bb0(%i: index):
    %0 = arith.muli %i, %i : index
  }) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %d : tensor<4x8xf32>
}
// -----
#map = affine_map<(d0, d1)[s0] -> (d0 + 1, d1 floordiv 2, s0)>
builtin.module attributes {a = #map, b = [1 : i32, "s", @f::@g], c = dense<[1, 2]> : tensor<2xi8>} {
  %c = arith.constant 0 : index
  %r = scf.for %i = %c to %c step %c iter_args(%a = %c) -> (index) {
    %s = arith.select %t, %a, %i : index
    scf.yield %s : index
  } loc("here.mlir":1:2)
  %t = arith.cmpi slt, %c, %r : index
}
"""

TOKENS = st.sampled_from(
    '( ) { } [ ] < > , : = -> % ^ @ # ! ? x -1 0 1 99999999999999999999999 0x 1e999 1.5 " \\ f32 i0 i1 ui8 bf16 index '
    'tensor<2x?xf32> tensor<-1xf32> memref<2xf32> vector<0xf32> dense<> dense<1> loc(unknown) loc("a":1:1) // \0 \u2028 '
    "unit true false nan %x %c ^bb0 @f nd.add nd.matmul nd.constant kernel.fused tile.map cuda.kernel func.func "
    "!tile.view<4xf32> #tile.fragment<(1):(1)> #kernel.config<stages=1>".split(" ")
)

PROGRAM = """\
dim M = 8, N = 4
func g(x: f32[M, N], w: bf16[N]) -> f32[M, N] {
    a = cast(x, bf16) * w - 2 ** 3 // 1
    return cast(where(a > 0, a, -a), f32)
}
func f(x: f32[M, N], w: bf16[N], i: i32[M]) -> (f32[M, N], f32[]) {
    y, = g(x, w)
    z: f32[M, N] = softmax(y, axis=-1)[::1, 0:N]
    return z @ permute(z, [1, 0]) @ z, sum(take(x, i), axis=[0, 1])
}
"""

PROGRAM_TOKENS = st.sampled_from(
    "( ) { } [ ] , : = -> + - * ** / // % @ & | ^ ~ << >> == != < <= . ... None inf nan true dim func return x y M N 0 1 -1 "
    "9999999999999999999 1e400 1.5 f32 bf16 i8 bool f8e4m3 f32[] f32[M,-1] sum softmax take concat reshape pad cast "
    "attention keepdims=true axis=9 # \n \t \0 \u00e9 \" '".split(" ")
)


@st.composite
def damaged(draw: st.DrawFn, text: str, tokens: st.SearchStrategy[str]) -> str:
    """The text after a few insertions, deletions, replacements and moves of pieces of it."""
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 12)))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            text = text[:begin] + text[end:]
        elif kind == 1:
            text = text[:begin] + draw(tokens) + text[end:]
        elif kind == 2:
            other = draw(st.integers(0, len(text)))
            text = text[:begin] + text[other : other + 20] + text[begin:]
        else:
            text = text[:begin] + draw(st.text(max_size=3)) + text[begin:]
    return text


@cache
def driver(passes: str) -> OptMain:
    return OptMain(argument_parser().parse_args(["-p", passes, "--allow-unregistered-dialect"]))


def outcome(text: str, frontend: str, passes: str) -> str:
    """What irc-opt says: its output, or its diagnostic, which is not one of an internal error."""
    outputs: list[str] = []
    error = driver(passes).process(Piece(text, 0), f"fuzz.{frontend}", frontend, outputs)
    if error is None:
        assert outputs
        return outputs[0]
    assert "internal error" not in error.message
    return render(error)


@cache
def ir_seeds() -> list[str]:
    """Valid IR of every level to damage: this file's, and the FileCheck tests of the dialects."""
    files = sorted((ROOT / "tests" / "lit").glob("*/dialect*.mlir"))
    texts = [SEEDS, *(path.read_text(encoding="utf-8") for path in files)]
    return [piece for text in texts for piece in text.split("// -----") if piece.strip()]


@examples(150, one_in=2)
@given(st.data())
def test_damaged_ir(data: st.DataObject) -> None:
    text = data.draw(damaged(data.draw(st.sampled_from(ir_seeds())), TOKENS))
    outcome(text, "mlir", "canonicalize,cse")


@examples(150)
@given(st.text(max_size=60))
def test_any_text_as_ir(text: str) -> None:
    outcome(text, "mlir", "")


@examples(150)
@given(damaged(PROGRAM, PROGRAM_TOKENS))
def test_damaged_programs(text: str) -> None:
    outcome(text, "irc", "kernel")


@examples(150)
@given(st.text(max_size=60))
def test_any_text_as_a_program(text: str) -> None:
    outcome(text, "irc", "nd")


@examples(150)
@given(st.text(alphabet='abc-_{}=,[]" 0123456789.', max_size=30))
def test_any_pass_list(text: str) -> None:
    from irc_tools.pipeline_spec import parse_passes

    try:
        parse_passes(text, driver("").available_passes)
    except IrcError as error:
        assert render(error)


LOWERED = (
    "func f(x: f32[64, 256]) -> f32[64, 256] {\n    return softmax(x)\n}\n",
    "func f(x: bf16[256, 256], w: bf16[256, 256]) -> f32[256] {\n    return sum(cast(relu(x) @ w, f32), axis=0)\n}\n",
    "func f(x: f32[20, 8], i: i64[5]) -> (f32[5, 8], f32[20, 8], f32[8, 20]) {\n"
    "    return take(x, i), cumsum(x, axis=0), permute(x, [1, 0])\n}\n",
    "func f(x: f32[64, 256], w: f32[256, 64]) -> f32[64, 64] {\n    return x @ w\n}\n",
    "func f(donate p: f32[30], g: f32[30]) -> (f32[30], f32[30]) {\n"
    "    return p - 0.1 * g, random_normal([30], f32, 3)\n}\n",
    "func f(q: bf16[2, 32, 16], k: bf16[2, 32, 16]) -> bf16[2, 32, 16] {\n    return attention(q, k, q)\n}\n",
)

LONGEST = 10
"""Seconds of a processor until there is an answer."""


@cache
def dumps(program: str) -> list[str]:
    """The IR of a program after each pass."""
    module, texts = parse(program, "program.irc"), list[str]()
    for name in PIPELINES["all"]:
        run_passes(module, passes_of([name]))
        texts.append(print_ir(module))
    return list(dict.fromkeys(texts))


def without_a_line(draw: random.Random, text: str) -> str:
    lines = text.split("\n")
    del lines[draw.randrange(len(lines))]
    return "\n".join(lines)


def with_lines_exchanged(draw: random.Random, text: str) -> str:
    lines = text.split("\n")
    a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def with_another(pattern: str, change: Callable[[random.Random, str], str]) -> Callable[[random.Random, str], str]:
    """A damage that changes one of the places where the pattern is."""

    def damage(draw: random.Random, text: str) -> str:
        found = list(re.finditer(pattern, text))
        if not found:
            return text
        place = draw.choice(found)
        return text[: place.start()] + change(draw, place[0]) + text[place.end() :]

    return damage


def another_number(draw: random.Random, number: str) -> str:
    old = int(number)
    return str(draw.choice([0, -1, 1, 7, old - 1, old + 1, old // 2, 2 * old, 2**32, 2**40]))


DAMAGES = (
    without_a_line,
    with_lines_exchanged,
    with_another(r"(?<![%\w.])\d+", another_number),
    with_another(r"[\w.]+ = [^,{}\n]+,? ?", lambda draw, attribute: ""),
    with_another(r"%\w+", lambda draw, value: f"%{draw.choice(['0', '1', '2', '5', '10', 'x', 'w'])}"),
)


class Late(BaseException):
    """No answer in time. No command catches it."""


@contextmanager
def ending_in_time() -> Generator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise Late(f"no answer within {LONGEST} seconds")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@long(6)
@pytest.mark.fuzz
@pytest.mark.parametrize("program", LOWERED)
def test_damaged_ir_of_every_level(program: str) -> None:
    for seed in seeds(40, first=len(program)):
        draw = random.Random(seed)
        text = draw.choice(dumps(program))
        for _ in range(draw.choice([1, 1, 2])):
            text = draw.choice(DAMAGES)(draw, text)
        with ending_in_time():
            outcome(text, "mlir", "all")
