"""The learned cost model: trees that are grown, written down and read, and how a space ranks by them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from irc.configs import learned
from irc.configs.features import Featurizer
from irc.configs.learned import RATIO, LearnedModel, Node, learned_model
from irc.configs.space import KernelSpace
from irc.driver.compiler import Options
from irc.driver.tuning import tunable_kernels
from irc.ir.targets import set_target, target
from irc.language import parse
from irc_tools.dataset.trees import Boosting, boosted

CHIP = "sm_90a"
PROGRAMS = {
    "matmul": "func f(x: bf16[512, 256], w: bf16[256, 512]) -> bf16[512, 512] { return x @ w }",
    "reduce": "func f(x: f32[64, 100]) -> f32[64, 100] { return softmax(x, axis=-1) }",
    "map": "func f(x: f32[512, 512], y: f32[512, 512]) -> f32[512, 512] { return relu(x) * y }",
    "permute": "func f(x: f16[512, 256]) -> f16[256, 512] { return permute(x, [1, 0]) }",
    "cascade": "func f(q: bf16[2, 256, 64], k: bf16[2, 256, 64], v: bf16[2, 256, 64]) -> bf16[2, 256, 64] "
    "{ return softmax(q @ permute(k, [0, 2, 1]), axis=-1) @ v }",
}


def drawn(rows: int = 600) -> tuple[Any, Any, list[str]]:
    """Ten features, of which a target depends on three."""
    random = np.random.default_rng(0)
    features = np.concatenate([random.random((rows, 5)), random.integers(0, 4, (rows, 5))], axis=1)
    target = (features[:, 0] > 0.3) * features[:, 7] + (features[:, 9] == 2)
    return features, target, [RATIO, *(f"f{number}" for number in range(1, 10))]


def boosted_by(features: Any, target: Any, names: list[str], settings: Boosting, weights: Any = None) -> list[Node]:
    """Of one group."""
    count = len(target)
    return boosted(
        features, target, np.ones(count) if weights is None else weights, np.zeros(count, int), names, settings
    )


def test_trees_learn_what_a_target_depends_on() -> None:
    features, target, names = drawn()
    model = LearnedModel({}, {}, boosted_by(features[:400], target[:400], names, Boosting()))
    error = model.predict(features[400:], names, 0.0) - target[400:]
    assert error.var() < 0.05 * target.var()
    assert {RATIO, "f7", "f9"} <= set(model.names)


def test_weights_say_which_rows_matter() -> None:
    """Of equal features with different targets."""
    features, target = np.zeros((100, 1)), np.arange(100) % 2
    features[:50], target[50:] = 1, 0
    weights = np.where(target == 1, 3.0, 1.0)
    settings = Boosting(count=60, shrinkage=0, share=1)
    model = LearnedModel({}, {}, boosted_by(features, target, [RATIO], settings, weights))
    low, high = model.predict(np.array([[0.0], [1.0]]), [RATIO], 0.0)
    assert high - low == pytest.approx(0.75, abs=0.03)


def test_what_a_group_has_in_common_is_not_learned() -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 50)
    features = np.stack([random.random(200), groups], axis=1)
    target = (features[:, 0] > 0.5) + 100.0 * groups
    model = LearnedModel({}, {}, boosted(features, target, np.ones(200), groups, [RATIO, "group"], Boosting()))
    low, high, other = model.predict(np.array([[0.2, 0], [0.8, 0], [0.8, 3]]), [RATIO, "group"], 0.0)
    assert high - low == pytest.approx(1, abs=0.05)
    assert other == pytest.approx(high, abs=0.05)


def test_leaves_are_no_smaller_and_no_more_than_said() -> None:
    features, target, names = drawn(100)
    (tree,) = boosted(
        features, target, np.ones(100), np.zeros(100, int), names, Boosting(count=1, leaves=3, fewest=20, share=1)
    )

    def leaves(node: Any, rows: Any) -> list[int]:
        if not isinstance(node, tuple):
            return [int(rows.sum())]
        low = features[:, names.index(node[0])] <= node[1]
        return [*leaves(node[2], rows & low), *leaves(node[3], rows & ~low)]

    found = leaves(tree, np.ones(100, bool))
    assert len(found) == 3
    assert min(found) >= 20


def test_a_target_without_differences_has_no_splits() -> None:
    features, _, names = drawn(50)
    assert LearnedModel({}, {}, boosted_by(features, np.zeros(50), names, Boosting())).names == [RATIO]


def test_models_are_what_their_text_says() -> None:
    features, target, names = drawn()
    trees = boosted_by(features, target, names, Boosting(count=9))
    model = LearnedModel({"rows": 600}, {"map": 0.5}, trees)
    again = LearnedModel.of(model.text())
    assert again == model
    assert len(model.text().splitlines()) == 9 + 6, "a tree in each line"
    found = model.predict(features, names, 0.5)
    assert (again.predict(features, names, 0.5) == found).all()
    assert (model.predict(features[:, ::-1], names[::-1], 0.5) == found).all(), "columns go by their names"
    without = model.predict(features, names, 0.0)
    np.testing.assert_allclose(found - without, 0.5 * np.log(2) * features[:, 0])


def space_of(kind: str) -> KernelSpace:
    module = parse(PROGRAMS[kind], kind, None)
    set_target(module, CHIP)
    (tunable,) = tunable_kernels(module, Options(CHIP))
    assert tunable.kernel.kind.value == kind
    return KernelSpace(tunable.kernel, target(CHIP))


@pytest.mark.parametrize("kind", list(PROGRAMS))
def test_configs_in_numbers(kind: str) -> None:
    """All are finite and have the same names; the heuristic's differs from itself in nothing."""
    space, random = space_of(kind), Random(0)
    configs = [config for _ in range(6) if (config := space.drawn(random)) is not None]
    featurizer: Featurizer = space._featurizer
    names = list(featurizer.features(space.seeds[0]))
    matrix = featurizer.matrix([space.seeds[0], *configs], names)
    assert matrix.shape == (1 + len(configs), len(names))
    assert np.isfinite(matrix).all()
    compared = [number for number, name in enumerate(names) if name.endswith("/ heuristic")]
    assert not matrix[0, compared].any()
    assert [bool(matrix[0, names.index(f"kind={each}")]) for each in PROGRAMS] == [each == kind for each in PROGRAMS]
    assert len({tuple(row) for row in matrix.tolist()}) == len({space.seeds[0], *configs}), "no two are alike"
    assert featurizer.matrix([], names).shape == (0, len(names))


@pytest.mark.parametrize("path", sorted(learned.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_models_that_ship_read_features_that_there_are(path: Path) -> None:
    model = learned_model(path.stem)
    assert model is not None
    assert set(model.names) <= set(space_of("map")._featurizer.features(space_of("map").seeds[0]))
    assert set(model.shares) <= set(PROGRAMS)
    for kind in model.shares:
        space = space_of(kind)
        configs = [*space.seeds, *space.neighbors(space.seeds[0])]
        ranked = space.ranked(configs)
        assert sorted(map(str, ranked)) == sorted(map(str, configs))


def test_spaces_rank_by_the_model_of_their_chip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For the kinds that it is for; others by the formula."""
    monkeypatch.setattr(learned, "FOLDER", tmp_path)
    learned_model.cache_clear()
    try:
        by_formula = [space_of(kind) for kind in ("map", "permute")]
        configs = [[*space.seeds, *space.neighbors(space.seeds[0])] for space in by_formula]
        fewest_warps = LearnedModel({}, {"map": 0.0}, [("warps", 2.5, -1.0, ("warps", 3.5, 0.0, 1.0))])
        (tmp_path / f"{CHIP}.json").write_text(fewest_warps.text())
        learned_model.cache_clear()
        of_map, of_permute = [space_of(kind) for kind in ("map", "permute")]
        warps = [config.warps or 0 for config in of_map.ranked(configs[0])]
        assert warps == sorted(warps)
        assert warps[0] < warps[-1]
        assert of_permute.ranked(configs[1]) == by_formula[1].ranked(configs[1])
        assert of_map.ranked([]) == []
    finally:
        learned_model.cache_clear()
