"""Node tests of the package onnx, by operator; `make test-onnx` runs all of them."""

from __future__ import annotations

import pytest
from drawing import long
from onnx_cases import SHAPES, cases, judge, operator_of

import irc_frontend.onnx

LEFT = {
    "Attention": "_bf16 _fp16 _bf16_expanded _fp16_expanded",
    "BitCast": "_bool_to_uint8",
    "Cast": "_no_saturate",
    "CastLike": "_no_saturate",
    "Dropout": "training",
    "MaxPool": "with_argmax",
}
"""Tests that do not pass, by parts of their names: roundings of narrow floats between ops, bits of bools, casts to f8
that give NaN, random numbers, and places of maxima."""


@long(10)
@pytest.mark.parametrize("operator", sorted(irc_frontend.onnx.RULES))
def test_an_operator(operator: str) -> None:
    parts = LEFT.get(operator, "").split()
    tests = [each for each in cases().values() if operator_of(each) == operator]
    judged = [judge(each, "interpret") for each in tests if not any(part in each.name for part in parts)]
    wrong = [each for each in judged if each.verdict not in ("irc", SHAPES, "type", "shape")]
    assert not wrong
