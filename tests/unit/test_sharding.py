"""Programs divided among the ranks of a mesh: on every rank they compute the parts of what the whole program does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from drawing import long, seeds
from ranks_in_threads import JOINED, on_ranks

import irc
from irc.dialects.nd import element_of, shape_of
from irc.driver.lowering import levels
from irc.driver.partitioning import partitioned
from irc.driver.program import load
from irc.interpreters.nd.interpreter import entry, evaluate
from irc.support.communicator import communicator
from irc.support.mesh import Mesh, Sharding

MESHES = [Mesh(("data",), (2,)), Mesh(("data", "model"), (2, 2))]

PROGRAMS = {
    "mlp": "func f(x: f32[8, 16], w: f32[16, 32], v: f32[32, 8]) -> f32[8, 8] { return relu(x @ w) @ v }",
    "batched": "func f(x: f32[4, 8, 16], w: f32[4, 16, 8]) -> f32[4, 8, 8] { return x @ w }",
    "softmax": "func f(x: f32[8, 16]) -> f32[8, 16] { return softmax(x, axis=1) }",
    "norm": "func f(x: f32[8, 16], g: f32[16], b: f32[16]) -> f32[8, 16] { return layer_norm(x, axis=1) * g + b }",
    "attention": "func f(q: f32[2, 4, 8, 4], k: f32[2, 4, 8, 4], v: f32[2, 4, 8, 4]) -> f32[2, 4, 8, 4] "
    "{ return attention(q, k, v, causal=true) }",
    "heads": "func f(x: f32[4, 8, 16]) -> f32[4, 4, 8, 4] { return permute(reshape(x, [4, 8, 4, 4]), [0, 2, 1, 3]) }",
    "merged": "func f(x: f32[4, 8, 16]) -> f32[32, 16] { return reshape(x, [32, 16]) + 1 }",
    "embedding": "func f(t: f32[16, 8], i: i32[8]) -> f32[8, 8] { return take(t, i, axis=0) }",
    "spread": "func f(x: f32[16, 8], i: i32[8], u: f32[8, 8]) -> f32[16, 8] { return scatter_add(x, i, u, axis=0) }",
    "mask": "func f(x: f32[8, 16]) -> f32[8, 16] { return tril(x, k=2) + iota([8, 16], f32, axis=1) }",
    "cut": "func f(x: f32[8, 16], y: f32[8, 8]) -> f32[8, 12] { return concat([x[:, 2:6], y], axis=1) }",
    "reduced": "func f(x: f32[8, 16]) -> f32[16] { return max(x, axis=0) - min(x, axis=0) * sum(x) }",
    "any": "func f(x: bool[8, 16]) -> (bool[16], bool[8]) { return any(x, axis=0), all(x, axis=1) }",
    "scan": "func f(x: f32[8, 16]) -> f32[8, 16] { return cumsum(x, axis=1) }",
    "padded": "func f(x: f32[8, 16]) -> f32[8, 18] { return pad(x, [[0, 0], [1, 1]]) }",
    "random": "func f(x: f32[8, 16], s: i64[]) -> f32[8, 16] { return x + random_normal([8, 16], f32, s) }",
    "conv": "func f(x: f32[4, 8, 8, 8], w: f32[8, 8, 3, 3]) -> f32[4, 8, 8, 8] { return conv(x, w, strides=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], input_dilation=[1, 1]) }",
    "step": """
func loss(w: f32[16, 8], v: f32[8, 4], x: f32[8, 16], y: f32[8, 4]) -> f32[] {
    return mean((tanh(x @ w) @ v - y) ** 2)
}
func f(w: f32[16, 8], v: f32[8, 4], x: f32[8, 16], y: f32[8, 4]) -> (f32[16, 8], f32[8, 4], f32[]) {
    l, dw, dv = value_and_grad(loss, wrt=[w, v])(w, v, x, y)
    return w - 0.1 * dw, v - 0.1 * dv, l
}""",
}


def drawn_sharding(shape: Sequence[int], mesh: Mesh, random: Random) -> Sharding:
    found: list[tuple[str, ...]] = [() for _ in shape]
    for name in random.sample(mesh.names, len(mesh.names)):
        axis = random.randrange(-1, len(shape))
        if axis >= 0 and shape[axis] % mesh.count([*found[axis], name]) == 0:
            found[axis] = (*found[axis], name)
    return tuple(found)


def drawn(shape: Sequence[int], dtype: Any, random: np.random.Generator) -> np.ndarray[Any, Any]:
    if dtype == np.bool_:
        return random.random(shape) < 0.5
    return random.integers(0, 8, shape, dtype) if dtype.kind == "i" else random.normal(size=shape).astype(dtype)


@long(4)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mesh", MESHES, ids=["two", "four"])
def test_ranks_compute_the_parts_of_the_whole(name: str, mesh: Mesh) -> None:
    for seed in seeds(3, len(name)):
        check(PROGRAMS[name], mesh, seed)


def check(text: str, mesh: Mesh, seed: int) -> None:
    module = load(text)
    function = entry(module)
    generator, random = np.random.default_rng(seed), Random(seed)
    arrays = [drawn(shape_of(x), element_of(x).dtype, generator) for x in function.body.block.args]
    expected = evaluate(module, arrays, precision="float64")
    given = [drawn_sharding(x.shape, mesh, random) for x in arrays]
    wanted = [drawn_sharding(x.shape, mesh, random) if random.random() < 0.5 else None for x in expected]
    made = partitioned(module, mesh, given, wanted)
    assert all(x == said for x, said in zip(made.results, wanted, strict=True) if said is not None)
    for _ in levels(made.module, ["nd"]):
        pass

    def run(rank: int) -> Any:
        parts = [x[mesh.part(rank, x.shape, s)] for x, s in zip(arrays, given, strict=True)]
        return evaluate(made.module, [*parts, np.array(mesh.coordinates(rank), np.int64)])

    for rank, results in enumerate(on_ranks(mesh, run)):
        for found, whole, sharding in zip(results, expected, made.results, strict=True):
            part = whole[mesh.part(rank, whole.shape, sharding)]
            np.testing.assert_allclose(found, part, rtol=2e-4, atol=2e-5, err_msg=f"{given} {made.results}")


@pytest.mark.parametrize("target", ["interpret", "cpu", "sim"])
def test_targets_run_collectives(target: str) -> None:
    """All ranks in threads of this process; on `sim` the host plan and its kernels for GPUs."""
    mesh, module = MESHES[1], load(PROGRAMS["step"])
    random = np.random.default_rng(0)
    arrays = [drawn(shape_of(x), np.dtype(np.float32), random) for x in entry(module).body.block.args]
    expected = evaluate(module, arrays)
    given: list[Sharding] = [((), ("model",)), (("model",), ()), (("data",), ()), (("data",), ())]
    made = partitioned(module, mesh, given, [given[0], given[1], ()])
    program = irc.compile(made.module, target)

    def run(rank: int) -> Any:
        parts = [x[mesh.part(rank, x.shape, s)] for x, s in zip(arrays, given, strict=True)]
        return program(*parts, np.array(mesh.coordinates(rank), np.int64))

    for rank, results in enumerate(on_ranks(mesh, run)):
        for found, whole, sharding in zip(results, expected, made.results, strict=True):
            np.testing.assert_allclose(found, whole[mesh.part(rank, whole.shape, sharding)], rtol=1e-5, atol=1e-6)


def test_a_rank_may_write_over_what_it_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a plan does, whose arena has other arrays there: rank 0 does it before the others have added anything up."""
    own, written = threading.local(), threading.Event()

    def late(a: Any, b: Any) -> Any:
        assert own.rank == 0 or written.wait(60)
        return np.add(a, b)

    def run(rank: int) -> Any:
        own.rank, x = rank, np.full(4, rank + 1.0)
        (found,) = communicator().all_reduce([x], "sum", ("data", "model"))
        x[:] = np.nan
        if rank == 0:
            written.set()
        return found

    monkeypatch.setitem(JOINED, "sum", late)
    np.testing.assert_array_equal(on_ranks(MESHES[1], run), np.full((4, 4), 10.0))


def test_what_updates_are_added_to_is_added_once() -> None:
    for seed in seeds(4, 100):
        check(PROGRAMS["spread"], MESHES[1], seed)


def test_a_program_outside_of_a_mesh_refuses_to_exchange() -> None:
    made = partitioned(load(PROGRAMS["mlp"]), MESHES[0], [(("data",), ()), None, None], [((), ())])
    program = irc.compile(made.module, "interpret")
    with pytest.raises(irc.IrcError, match="a collective runs, and there is no mesh of ranks"):
        program(*(np.ones(spec.shape, spec.dtype) for spec in program.arguments))
