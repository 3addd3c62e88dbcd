"""Triton itself, where it is installed: what irc takes of it is there and means what irc takes it for."""

# pyright: reportMissingParameterType=false, reportInvalidTypeForm=false, reportUndefinedVariable=false

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.codegen.elf import resources_of
from irc.codegen.triton_compiler import compile_function, is_function, parameters_of
from irc.driver.build import build
from irc.support.diagnostics import IrcError

triton: Any = pytest.importorskip("triton")
tl: Any = pytest.importorskip("triton.language")

pytestmark = pytest.mark.usefixtures("on_cpu")


@triton.jit
def scaled(x, out, N, factor, BLOCK: tl.constexpr, add=0):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < N) * factor + add, mask=at < N)


@triton.jit
def doubled(x, out, M, N, BLOCK: tl.constexpr):
    place = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    loaded = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BLOCK, BLOCK]).load(place)
    tl.make_tensor_descriptor(out, [M, N], [N, 1], [BLOCK, BLOCK]).store(place, loaded * 2)


@triton.jit
def wrong(x, out):
    value = tl.load(x)
    tl.store(out, undeclared(value))  # noqa: F821


def test_what_is_known_of_a_function() -> None:
    found = parameters_of(scaled)
    assert [each.name for each in found] == ["x", "out", "N", "factor", "BLOCK", "add"]
    assert [each.is_constexpr for each in found] == [False, False, False, False, True, False]
    assert [(each.has_default, each.default) for each in found[4:]] == [(False, None), (True, 0)]
    assert is_function(scaled) and not is_function(triton.autotune([triton.Config({})], [])(scaled))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_a_function_becomes_machine_code(arch: str) -> None:
    types = {"x": "*fp32", "out": "*fp32", "N": "i32", "factor": "fp32"}
    code = compile_function(scaled, types, {"BLOCK": 256, "add": 1}, ["x", "out", "N"], arch, warps=2, stages=3)
    assert (code.entry, code.threads, code.scratch, code.version) == ("scaled", 64, 0, triton.__version__)
    assert code.hidden >= 1 and code.cubin[:4] == b"\x7fELF"
    assert resources_of(code.cubin, "scaled").registers > 0
    assert "v4.b32" in code.ptx
    other = compile_function(scaled, types, {"BLOCK": 256, "add": 1}, ["N"], arch, warps=2, stages=3)
    assert "v4.b32" not in other.ptx


def test_descriptors_take_scratch_memory() -> None:
    kernel = ir.triton_kernel(
        doubled,
        operands="x: f32[M, N]",
        results="out: f32[M, N]",
        values={"BLOCK": 64},
        grid=lambda M, N: (M // 64, N // 64),
    )
    with ir.target("cuda"):
        plan = build(kernel.module(np.ones((256, 128), np.float32))).plan
    places = [each.get("space", each.get("value")) for each in plan["steps"][0]["parameters"]]
    assert places[:5] == ["argument", "result", 256, 128, "arena"] and set(places[5:]) <= {0}
    assert plan["arena"] >= 8 * 128


@triton.jit
def squared(x):
    return x * x


@triton.jit
def mapped(x, out, N, FUNCTION: tl.constexpr, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, FUNCTION(tl.load(x + at, mask=at < N).to(TYPE)), mask=at < N)


def test_constants_are_anything_that_triton_takes() -> None:
    kernel = ir.triton_kernel(
        mapped,
        operands="x: i32[N]",
        results="out: f32[N]",
        values={"FUNCTION": squared, "TYPE": tl.float32, "BLOCK": lambda N: triton.next_power_of_2(N)},
        grid=1,
    )
    with ir.target("cuda"):
        source = build(kernel.module(np.ones(100, np.int32))).kernels[0].source
    assert "// FUNCTION = squared\n// TYPE = triton.language.float32\n// BLOCK = 128\n" in source


def test_an_error_is_at_its_line() -> None:
    kernel = ir.triton_kernel(wrong, operands="x: f32[N]", results="out: f32[N]", grid=1)
    with ir.target("cuda"), pytest.raises(IrcError, match="Triton cannot compile wrong: .*undeclared") as error:
        kernel.module(np.ones(4, np.float32))
    line = inspect.getsourcelines(wrong.fn)[1] + 3
    assert str(error.value).startswith(f"{__file__}:{line}:")


def test_the_example_smooths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    example = importlib.import_module("triton_kernel")
    drawn = np.random.default_rng(0)
    gate, x = drawn.uniform(0.5, 1, (3, 50)).astype(np.float32), drawn.standard_normal((3, 50), np.float32)
    expected, value = np.empty_like(x), np.zeros(3, np.float32)
    for step in range(50):
        value = expected[:, step] = gate[:, step] * value + x[:, step]
    np.testing.assert_allclose(example.state(gate, x), expected, rtol=1e-5, atol=1e-5)
    with ir.target("cuda"):
        assert build(example.state.module(gate, x)).plan["steps"][0]["grid"] == [3, 1, 1]
    assert example.main().shape == (8, 200)
