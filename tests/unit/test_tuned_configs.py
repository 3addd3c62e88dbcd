"""The database of tuned configs, what compilations take from it, and irc-tune."""

from __future__ import annotations

import json
import sqlite3
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import irc
from irc.configs.alone import config_text, key_of, parse_config
from irc.configs.check import check_config
from irc.configs.space import KernelSpace, value_of
from irc.dialects.kernel import FusedOp
from irc.driver.compiler import Options, compile_artifact, lower_program
from irc.driver.measuring import CpuBench, Job
from irc.driver.tuning import Tunable, subject_of, tunable_kernels
from irc.ir.targets import set_target, target
from irc.language import parse
from irc.support import tuned
from irc.support.tuned import KernelKey, Measurement, TunedConfig, Unreadable
from irc.tuning.bench import WRONG, Fault, NotTimed
from irc_tools.tune import main

PRODUCT = "func dense(x: bf16[512, 256], w: bf16[256, 512]) -> bf16[512, 512] { return relu(x @ w) }"
SOFTMAX = "func rows(x: f32[64, 100]) -> f32[64, 100] { return softmax(x, axis=-1) }"
PROGRAMS = {
    "product": PRODUCT,
    "f32 product": "func f(x: f32[100, 64], w: f32[64, 72]) -> f32[100, 72] { return x @ w }",
    "rows": SOFTMAX,
    "columns": "func f(x: f32[4096, 256]) -> f32[256] { return sum(x, axis=0) }",
    "map": "func f(x: f32[512, 512], y: f32[512, 512]) -> f32[512, 512] { return relu(x) * y }",
    "permute": "func f(x: f16[512, 256]) -> f16[256, 512] { return permute(x, [1, 0]) }",
    "attention": "func f(q: bf16[2, 256, 64], k: bf16[2, 256, 64], v: bf16[2, 256, 64]) -> bf16[2, 256, 64] "
    "{ return softmax(q @ permute(k, [0, 2, 1]), axis=-1) @ v }",
}


@pytest.fixture(autouse=True)
def own_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("IRC_TUNED", raising=False)


def tunables(text: str, arch: str = "sm_90a") -> list[Tunable]:
    module = parse(text, "program", None)
    set_target(module, arch)
    return tunable_kernels(module, Options(arch))


def put(key: KernelKey, config: str, chip: str = "sm_90a") -> None:
    tuned.keep([TunedConfig(key.kernel, key.shapes, chip, "kernel", config, 1e-3, 2e-3)])


def config_in(text: str, arch: str = "sm_90a") -> Any:
    module = lower_program(text, "kernel", arch=arch)
    return next(op.config for op in module.walk() if isinstance(op, FusedOp))


OTHER = (
    'tile = {m = 64, n = 64, k = 64}, stages = 3, cluster = [1, 1], warps = 4, schedule = "persistent", group = 4, '
    'indexing = "tma", instruction = "wgmma"'
)


def test_compilations_take_what_was_found() -> None:
    (kernel,) = tunables(PRODUCT)
    before = config_in(PRODUCT)
    assert compile_artifact(PRODUCT, arch="sm_90a").manifest["kernels"][0]["config"]["stages"] == before.stages
    put(kernel.key, OTHER)
    assert config_text(config_in(PRODUCT)) == OTHER != config_text(before)
    assert compile_artifact(PRODUCT, arch="sm_90a").manifest["kernels"][0]["config"]["stages"] == 3


def test_a_kernel_is_known_by_what_it_computes() -> None:
    """Not by names, of functions and of arguments; by its rounding, its shapes and what the user set of its config."""
    (kernel,) = tunables(PRODUCT)
    (renamed,) = tunables(PRODUCT.replace("dense", "other").replace("x", "left"))
    assert renamed.key == kernel.key
    assert tunables(PRODUCT.replace("relu", "tanh"))[0].key != kernel.key
    (longer,) = tunables(PRODUCT.replace("256", "320"))
    assert (longer.key.kernel, longer.key.shapes) == (kernel.key.kernel, kernel.key.shapes.replace("256", "320"))
    set_by_hand = kernel.kernel
    set_by_hand.config = parse_config("stages = 2")
    assert key_of(set_by_hand, target("sm_90a")) != kernel.key


def test_equal_kernels_of_a_program_are_tuned_once() -> None:
    twice = "func f(x: f32[64, 64], y: f32[64, 64]) -> (f32[64, 64], f32[64, 64]) { return softmax(x, axis=-1), softmax(y, axis=-1) }"
    assert len(tunables(twice)) == 1


def test_shapes_of_a_class_share_a_config() -> None:
    (kernel,) = tunables(PRODUCT)
    put(kernel.key, OTHER)
    near, far = PRODUCT.replace("512", "496"), PRODUCT.replace("512", "1024")
    assert tunables(near)[0].key.shape_class == kernel.key.shape_class
    assert config_text(config_in(near)) == OTHER
    assert config_text(config_in(far)) != OTHER
    put(tunables(near)[0].key, OTHER.replace("stages = 3", "stages = 2"))
    assert config_in(near).stages == 2, "its own before that of its class"
    assert config_in(PRODUCT).stages == 3


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [("7 16x17", "7 16x18+"), ("1000x4096", "1024+x4096"), ("4097", "4608+"), ("4352", "4608"), ("1 1x2", "1 1x2")],
)
def test_classes_of_shapes(shapes: str, expected: str) -> None:
    assert KernelKey("", shapes, "").shape_class == expected


def test_a_config_that_is_no_longer_legal_is_not_taken() -> None:
    (kernel,) = tunables(PRODUCT)
    before = config_in(PRODUCT)
    for config in (OTHER.replace("stages = 3", "stages = 90"), "stage = 3", 'warps = "four"'):
        put(kernel.key, config)
        assert config_in(PRODUCT) == before


def test_configs_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    (kernel,) = tunables(PRODUCT)
    put(kernel.key, OTHER)
    monkeypatch.setenv("IRC_TUNED", "off")
    assert config_text(config_in(PRODUCT)) != OTHER


def test_a_damaged_database_is_ignored_and_moved_aside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "damaged"))
    (kernel,) = tunables(PRODUCT)
    before = config_in(PRODUCT)
    path = tuned.path()
    assert path is not None
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"no database " * 100)
    with pytest.warns(Unreadable, match="tuned.sqlite are ignored: file is not a database"):
        assert config_in(PRODUCT) == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        assert config_in(PRODUCT) == before
        put(kernel.key, OTHER)
    assert config_text(config_in(PRODUCT)) == OTHER
    assert path.with_suffix(".damaged").read_bytes().startswith(b"no database")


def test_a_database_of_other_tables_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "other"))
    path = tuned.path()
    assert path is not None
    path.parent.mkdir(exist_ok=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE configs (kernel TEXT)")
    database.close()
    with pytest.warns(Unreadable, match="no such column"):
        assert config_in(PRODUCT)


def test_without_a_cache_configs_last_as_long_as_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", "off")
    text = PRODUCT.replace("relu", "exp")
    (kernel,) = tunables(text)
    put(kernel.key, OTHER)
    assert config_text(config_in(text)) == OTHER


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80", "cpu"])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_space_has_legal_configs_around_the_heuristics(text: str, arch: str) -> None:
    machine, random = target(arch), Random(0)
    for kernel in tunables(text, arch):
        space = KernelSpace(kernel.kernel, machine)
        neighbors = [each for start in space.seeds[:4] for each in space.neighbors(start)]
        drawn = [each for _ in range(12) if (each := space.drawn(random)) is not None]
        mutants = [space.mutant(random.choices(drawn, k=4), 0.8, 0.7, random) for _ in range(12)] if drawn else []
        assert neighbors and drawn
        for config in [*space.seeds, *neighbors, *drawn, *filter(None, mutants)]:
            check_config(kernel.kernel, config, machine)
            assert 0 < space.estimate(config) < 1
            assert parse_config(config_text(config)) == config


def test_what_the_user_set_is_no_axis() -> None:
    (kernel,) = tunables(PRODUCT)
    kernel.kernel.config = parse_config("tile = {m = 128}, stages = 2")
    space = KernelSpace(kernel.kernel, target("sm_90a"))
    axes = space.axes(space.seeds[0])
    assert not {"tile.m", "stages"} & set(axes) and {"tile.n", "schedule"} <= set(axes)
    assert {(value_of(each, "tile.m"), each.stages) for each in space.neighbors(space.seeds[0])} == {(128, 2)}


def test_the_native_bench_compares_with_the_heuristic() -> None:
    bench, options = CpuBench(), Options("cpu")
    (kernel,) = tunables(SOFTMAX, "cpu")
    subject = subject_of(kernel, target("cpu"), options)
    right = [bench.compile(subject.job(config)) for config in subject.space.neighbors(subject.space.seeds[0])]
    wrong = bench.compile(Job(subject.job(subject.space.seeds[0]).text.replace("nd.max", "nd.min"), options))
    assert bench.refer(bench.compile(subject.job(subject.space.seeds[0]))).seconds > 0
    assert all(bench.measure(each, 1.0).seconds > 0 for each in right)
    assert bench.measure(right[0], 0.0).is_stopped
    other = Job(subject.job(subject.space.seeds[0]).text.replace("nd.exp ", "nd.tanh "), options)
    with pytest.raises(Fault, match="result 0 is not the heuristic's") as caught:
        bench.measure(bench.compile(other), 1.0)
    assert caught.value.outcome == WRONG
    assert bench.measure(wrong, 1.0).seconds > 0, "softmax is the same relative to any element"


def test_autotune_tunes_once(capfd: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(0).standard_normal((64, 100)).astype(np.float32)
    expected = irc.compile(SOFTMAX, "interpret")(x)
    tuned_once = irc.compile(SOFTMAX, "cpu", autotune=0.5)
    assert "generation 1" in capfd.readouterr().err
    np.testing.assert_allclose(tuned_once(x), expected, rtol=1e-5, atol=1e-7)
    (kept,) = tuned.tuned_configs("cpu")
    assert tuned.has(tunables(SOFTMAX, "cpu")[0].key, "cpu")
    assert irc.compile(SOFTMAX, "cpu", autotune=True) is irc.compile(SOFTMAX, "cpu") is tuned_once
    assert capfd.readouterr().err == ""
    assert config_text(config_of_native(SOFTMAX)) == kept.config


def config_of_native(text: str) -> Any:
    from irc.driver.lowering import lower

    module = lower(parse(text, "program", None), "kernel", arch="cpu", tuned=True)
    return next(op.config for op in module.walk() if isinstance(op, FusedOp))


def test_autotune_needs_a_target_with_times() -> None:
    with pytest.warns(NotTimed, match="the interpret target has no times to tune by"):
        irc.compile(SOFTMAX, "interpret", autotune=True)
    with pytest.raises(irc.IrcError, match="the seconds for each kernel, found -1"):
        irc.compile(SOFTMAX, "cpu", autotune=-1)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "rows.irc"
    path.write_text(SOFTMAX)
    return path


def test_irc_tune(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tunes, says so, ships what it found to another database, and gives its measurements."""
    command = [str(program), "--target", "cpu"]
    assert main([*command, "--budget", "0.5s", "--workers", "1"]) == 0
    assert "rows_0: the heuristic's takes" in capsys.readouterr().out
    assert main([*command, "--list"]) == 0
    assert capsys.readouterr().out == "rows_0: reduce of 64x100 64, tuned\n"
    assert main(command) == 0
    assert capsys.readouterr().out == "1 kernels were tuned before (--again tunes them anew)\n"
    file, rows = tmp_path / "tuned.toml", tmp_path / "rows.jsonl"
    assert main(["export", str(file)]) == main(["measurements", str(rows)]) == 0
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert {"kernel", "shapes", "chip", "text", "config", "outcome", "reason", "seconds", "estimate"} == set(found[0])
    assert "nd.softmax" in found[0]["text"] or "nd.exp" in found[0]["text"]
    before = tuned.tuned_configs()
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert tuned.tuned_configs() == []
    assert main(["import", str(file)]) == 0
    assert tuned.tuned_configs() == before
    capsys.readouterr()
    assert main(["show"]) == 0
    assert capsys.readouterr().out.startswith("rows_0 on cpu, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "soon"], "--budget soon: expected a time"),
        (["--budget", "0s"], "--budget 0s: expected a time"),
        (["--workers", "0"], "--workers 0: expected a positive number"),
        (["--search", "best"], "unknown search 'best'"),
        (["--kernel", "rows_9"], "no kernel is named rows_9"),
        (["--target", "sim"], "invalid choice: 'sim'"),
    ],
)
def test_bad_arguments(program: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "--target", "cpu", *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config = 3", "expected tables [[config]]"),
        ("[[config]]\nkernel = 'a'", "config 1: expected the fields kernel, shapes"),
        ("[[config", "Expected ']]'"),
        (
            '[[config]]\nkernel="a"\nshapes="1"\nchip="cpu"\nname="f"\nconfig="stage = 3"\nseconds=1.0\nheuristic=1.0',
            "no #kernel.config",
        ),
        (
            '[[config]]\nkernel="a"\nshapes="1"\nchip="cpu"\nname="f"\nconfig="stages = 3"\nseconds="1"\nheuristic=1.0',
            "config 1: seconds is not a float, found '1'",
        ),
    ],
)
def test_files_that_are_no_configs(tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    assert main(["import", str(path)]) == 1
    assert message in capsys.readouterr().err


def test_measurements_are_never_replaced() -> None:
    key = KernelKey.of("tensor<8x8xf32>")
    for seconds in (1.0, 2.0):
        tuned.keep_measurements(key, "cpu", [Measurement("stages = 1", "timed", "", seconds, None)])
    assert [row.measurement.seconds for row in tuned.dataset()] == [1.0, 2.0]
