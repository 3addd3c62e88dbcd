"""Dims that are known when a program is called: their declaration, what calls are refused, plans and launches."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from noting_device import NotingDevice
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp

import irc
from irc.driver.compiler import compile_artifact
from irc.driver.lowering import LEVELS, lower
from irc.driver.program import isolate, parse
from irc.ir.extents import DIMS, declare_dims, dims_of, fits
from irc.ir.printer import print_ir
from irc.ir.properties import numbers
from irc.language.printer import print_module
from irc.planning.arena import Lifetime, place
from irc.runtime import cuda
from irc.runtime.artifact import Artifact
from irc.runtime.cuda import CudaProgram, executable_of
from irc.runtime.plan import Buffer, Copy, Launch, Memset, Plan, TensorMap
from irc.runtime.sizes import SizedPlan
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim, dim_of, extent_text, sized, varying
from irc_tools.opt import main as opt

ROWS = """
dim N in 8..4096 multiple 8, D = 32
func rows(x: f32[N, D], y: f32[N]) -> f32[N, D] {
    return x * reshape(y, [N, 1])
}"""

PRODUCT = """
dim M in 1..65536, K = 256, N = 192
func f(x: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {
    return softmax(x) @ w
}"""


def test_a_prime_is_larger_than_the_sizes_and_divides_no_other_extent():
    dim = dim_of("N", 1, 65536, 8, avoid=[8209 * 3, 0])
    assert dim == Dim("N", 1, 65536, 8, 8219)
    assert dim.stand_in >= 65536
    assert dim_of("N", 1, 4, 1).prime == 521
    assert varying(3 * dim.stand_in, [dim]) == [dim] and not varying(0, [dim]) and not varying(8, [dim])
    assert sized(3 * dim.stand_in, [dim], {"N": 16}) == 48
    assert [extent_text(n, [dim]) for n in (7, dim.stand_in, 6 * dim.stand_in, dim.prime)] == [
        "7", "N", "N * 6", "N // 8",
    ]  # fmt: skip


def test_a_dim_may_say_which_size_is_usual() -> None:
    dims = dim_of("N", 1, 60, 8), dim_of("M", 9, 64, 1, usual=17)
    assert [dim.usual_size for dim in dims] == [56, 17]
    module = ModuleOp([])
    declare_dims(module, dims)
    assert dims_of(module) == dims and fits(module.attributes[DIMS])
    assert not fits(DictionaryAttr({"M": numbers([9, 64, 1, 521, 65])}))


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("N in 0..4", "the dim N has no size: expected sizes from 1"),
        ("N in 9..15 multiple 8", "no multiple of 8 is in 9..15"),
        ("N in 5..4", "expected sizes from 1"),
        ("N in 1..8 multiple 0", "a multiple of 1 or more"),
        ("N in 1..1.5", "the largest size of the dim N must be an integer, found the literal 1.5"),
        ("N in 1..8, M = N + 1", "cannot compute `N + 1`: N is known when the program is called"),
        ("N in 1..8, M in 1..N", "the largest size of the dim M must be an integer, found the extent N"),
    ],
)
def test_declarations_that_mean_nothing(declared: str, message: str):
    with pytest.raises(IrcError, match=re.escape(message)):
        parse(f"dim {declared}\nfunc f(x: f32[N]) -> f32[N] {{ return x }}", "<test>")


@pytest.mark.parametrize(
    "value",
    ["x[0:N]", "sum(x, axis=N)", "-N * x", "x + 1.0 / N", "cast(x, bf16) * N", "cast(x, i8) + N"],
)
def test_an_extent_is_no_literal(value: str):
    with pytest.raises(IrcError, match="N is known when the program is called|found the extent N|literal N|extent N"):
        parse(f"dim N in 1..8\nfunc f(x: f32[N]) -> f32[N] {{ return {value} }}", "<test>")


def test_an_extent_is_a_number_that_arrays_meet():
    text = "dim N in 1..8\nfunc f(x: f32[N]) -> (f32[N], i64[2], f32[]) { return where(x > N, x, x / N), full([2], N, i64), mean(x) }"
    found = irc.compile(text, target="sim")(np.arange(4, dtype=np.float32))
    for value, wanted in zip(found, ([0, 0.25, 0.5, 0.75], [4, 4], 1.5), strict=True):
        assert np.array_equal(value, np.asarray(wanted, value.dtype))


def test_messages_have_the_names_of_extents():
    with pytest.raises(IrcError, match=re.escape("the result of f is declared f32[N * 2], found f32[N]")):
        parse("dim N in 1..8\nfunc f(x: f32[N]) -> f32[2 * N] { return x }", "<test>")


def test_a_size_given_for_a_dim_is_one_of_its_own():
    assert irc.compile(ROWS, target="cpu", dims={"N": 16}).arguments[0].shape == (16, 32)
    with pytest.raises(IrcError, match="the size given for N: N is 12, not a multiple of 8"):
        irc.compile(ROWS, target="cpu", dims={"N": 12})


@pytest.mark.parametrize("target", ["cpu", "sim", "interpret"])
def test_calls_find_the_sizes_in_their_arrays(target: str):
    rows = irc.compile(ROWS, target=target)
    assert [spec.type for spec in (*rows.arguments, *rows.results)] == ["f32[N, 32]", "f32[N]", "f32[N, 32]"]
    for n in (8, 24, 8):
        x, y = np.ones((n, 32), np.float32), np.arange(n, dtype=np.float32)
        assert np.array_equal(rows(x, y), np.broadcast_to(y[:, None], (n, 32)))
    assert rows.at(N=24) is rows.at(N=24) and rows.at(N=24).results[0].shape == (24, 32)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(12, 32), (12,)], "axis 0 of argument x: N is 12, not a multiple of 8"),
        ([(8192, 32), (8192,)], "axis 0 of argument x: N is 8192, not in 8..4096"),
        ([(0, 32), (0,)], "axis 0 of argument x: N is 0, not in 8..4096"),
        ([(16, 32), (24,)], "axis 0 of argument y: N is 24, and 16 in arguments before it"),
        ([(16, 31), (16,)], "argument x: expected f32[16, 32], found f32[16, 31]"),
        ([(16, 32, 1), (16,)], "argument x: expected f32[16, 32], found f32[16, 32, 1]"),
        ([(16,), (16, 1)], "rows: expected a size for N, found none"),
        ([(16, 32)], "expected 2 arrays (x: f32[N, 32], y: f32[N]), found 1"),
    ],
)
def test_calls_that_do_not_fit(shapes: list[tuple[int, ...]], message: str):
    rows = irc.compile(ROWS, target="cpu")
    with pytest.raises(IrcError, match=re.escape(message)):
        rows(*(np.ones(shape, np.float32) for shape in shapes))


def test_sizes_of_an_executable_that_do_not_fit():
    rows = irc.compile(ROWS, target="sim")
    for sizes, message in (
        ({}, "found none"),
        ({"M": 8}, "for N, found M"),
        ({"N": 4}, "rows: N is 4, not a multiple"),
    ):
        with pytest.raises(IrcError, match=message):
            rows.at(**sizes)
    with pytest.raises(IrcError, match="a launcher of rows is for one size"):
        rows.launcher()
    with pytest.raises(IrcError, match="has no run-time extents") as caught:
        irc.compile(ROWS, target="cpu", dims={"N": 8}).at(N=8)
    assert caught.value.hint is not None and caught.value.hint.startswith("`dim N in 1..8` declares one")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-p", "kernel", "-t", "cutlass"], "a CUTLASS file is for one size of M"),
        (["-p", "cpu", "--arch", "cpu"], "a loop nest of a CPU is for one size of M"),
    ],
)
def test_what_is_for_one_size(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "product.irc"
    path.write_text(PRODUCT.replace("softmax(x)", "x"))
    assert opt([str(path), *options]) == 1
    assert message in capsys.readouterr().err
    assert opt([str(path), *options, "-D", "M=64"]) == 0


def test_text_of_a_module_reads_back_as_the_same_module():
    module = parse(ROWS, "<test>")
    text = print_module(module)
    assert "dim N in 8..4096 multiple 8" in text and "x: f32[N, 32]" in text
    read = parse(text, "<text>")
    assert read.is_structurally_equivalent(module) and read.attributes == module.attributes


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_text_of_every_level_goes_on(level: str, tmp_path: Path):
    path = tmp_path / "rows.mlir"
    path.write_text(print_ir(lower(isolate(parse(ROWS, "<test>")), level, arch="sm_90a")))
    rows = irc.compile(path, target="sim")
    for n in (8, 40):
        x, y = np.ones((n, 32), np.float32), np.arange(n, dtype=np.float32)
        assert np.array_equal(rows(x, y), np.broadcast_to(y[:, None], (n, 32)))


def test_an_artifact_with_dims_is_stored_and_read():
    artifact = compile_artifact(PRODUCT, arch="sm_90a")
    read = Artifact.from_bytes(artifact.to_bytes())
    assert read.arguments == artifact.arguments and read.arguments[0].type == "bf16[M, 256]"
    assert Plan.from_json(read.plan) == Plan.from_json(artifact.plan)
    assert [dim.name for dim in Plan.from_json(read.plan).dims] == ["M"]


def test_the_plan_of_a_call_has_its_grids_maps_and_arena():
    plan = Plan.from_json(compile_artifact(PRODUCT, arch="sm_90a").plan)
    small, large = SizedPlan(plan).at({"M": 100}), SizedPlan(plan).at({"M": 65536})
    assert small.arena == 100 * 256 * 2 and large.arena == 65536 * 256 * 2
    for found, m in ((small, 100), (large, 65536)):
        maps = [
            p for step in found.steps if isinstance(step, Launch) for p in step.parameters if isinstance(p, TensorMap)
        ]
        assert (m, 256) in [each.extents for each in maps] and (256, 192) in [each.extents for each in maps]
        assert all(prime not in str(found) for prime in [str(dim.prime) for dim in plan.dims])


@pytest.mark.parametrize("seed", range(20))
def test_buffers_that_lie_apart_in_a_plan_lie_apart_in_a_call(seed: int):
    """Buffers of fixed sizes and of sizes that grow, made and used by drawn steps of a chain."""
    rng, dim = np.random.default_rng(seed), dim_of("N", 1, 4096, 1)
    made = [int(n) for n in rng.integers(0, 12, 12)]
    sizes = [int(n) * (dim.stand_in if rng.random() < 0.7 else 1) for n in rng.integers(1, 3000, 12)]
    lifetimes = [Lifetime(n, step, (int(rng.integers(step, 14)),)) for n, step in zip(sizes, made, strict=True)]
    placed = place(lifetimes, [(1 << step) - 1 for step in range(14)])
    buffers = [Buffer("arena", 0, at, n) for at, n in zip(placed.offsets, sizes, strict=True)]
    plan = Plan("f", placed.size, 1, 0, (), tuple(Memset(buffer, 0, 0) for buffer in buffers), dims=(dim,))
    for size in (1, 7, 1000, 4096):
        call = SizedPlan(plan).at({"N": size})
        found = [step.buffer for step in call.steps if isinstance(step, Memset)]
        assert call.arena <= plan.arena and all(b.offset % 256 == 0 for b in found)
        assert max(b.offset + b.size for b in found) <= call.arena
        for (a, x), (b, y) in product(zip(buffers, found, strict=True), repeat=2):
            if a.offset + a.size <= b.offset:
                assert x.offset + x.size <= y.offset


@pytest.mark.parametrize("seed", [*range(8), 337, 534, 851, 1394])
def test_what_is_zeroed_together_lies_together_in_a_call(seed: int):
    """Counters side by side, which the first step of a drawn chain zeros and others use, among buffers that grow. Of
    the last four seeds a buffer that is made later ends between two counters."""
    rng, dim = np.random.default_rng(seed), dim_of("N", 1, 600, 1)
    sizes = [int(n) * (dim.stand_in if rng.random() < 0.5 else 5) for n in rng.integers(1, 300, 12)]
    made = [int(n) for n in rng.integers(1, 12, 12)]
    lifetimes = [Lifetime(n, step, (int(rng.integers(step, 14)),)) for n, step in zip(sizes, made, strict=True)]
    zeroed, last = 2 * 256 + 4, int(rng.integers(1, 12))
    placed = place([Lifetime(zeroed, 0, (last,)), *lifetimes], [(1 << step) - 1 for step in range(14)])
    first, *offsets = placed.offsets
    buffers = [Buffer("arena", 0, at, n) for at, n in zip(offsets, sizes, strict=True)]
    counters = [Buffer("arena", 0, first + 256 * number, 4) for number in range(3)]
    steps = [Memset(Buffer("arena", 0, first, zeroed), 0, 0), *(Copy(a, b, 0) for a, b in product(counters, buffers))]
    sized = SizedPlan(Plan("f", placed.size, 1, 0, (), tuple(steps), dims=(dim,)))
    for size in (1, 30, 599, 600):
        call = sized.at({"N": size})
        base, *copies = call.steps
        assert isinstance(base, Memset)
        assert call.arena <= placed.size
        for before, step in zip(steps[1:], copies, strict=True):
            assert isinstance(before, Copy) and isinstance(step, Copy)
            assert step.source.offset - base.buffer.offset == before.source.offset - first
            assert first + zeroed > before.destination.offset or base.buffer.offset + zeroed <= step.destination.offset


def test_kernels_are_loaded_once_for_all_sizes(monkeypatch: pytest.MonkeyPatch):
    device = NotingDevice()
    device.largest_shared = 1 << 18
    loaded: list[str] = []
    monkeypatch.setattr(device, "load", lambda cubin, kernel, shared: loaded.append(kernel) or kernel)
    monkeypatch.setattr(cuda, "device", lambda ordinal=0: device)
    artifact = compile_artifact(PRODUCT, arch="sm_90a")
    executable = executable_of(artifact, CudaProgram(artifact))
    grids: list[int] = []
    for m in (1, 100, 5000):
        found = executable.at(M=m)
        found.launcher()([1 << 12, 1 << 13], [1 << 14], 1)
        grids.append(found.kernels[0]["grid"][0])
        assert found.arena_bytes == (m * 512 + 255) // 256 * 256
    assert sorted(loaded) == sorted(kernel.name for kernel in artifact.kernels)
    assert grids == sorted(set(grids))
    work = [executable.at(M=m).kernels[1]["flops"] for m in (1, 100, 5000)]
    assert work == [2 * m * 256 * 192 for m in (1, 100, 5000)]
