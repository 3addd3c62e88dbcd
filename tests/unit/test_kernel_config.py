"""The config attribute and the architectures, as Python sees them."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from irc.configs.shares import BEGIN, even_group
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.driver.program import new_context
from irc.ir.targets import KIB, TARGETS, Target, target
from irc.passes.kernel.choose_config import ChooseConfigPass
from irc.support.diagnostics import IrcError


def test_fields_are_attributes_and_replace_changes_a_copy() -> None:
    config = ConfigAttr.of(tile=TileSizes(m=128, n=128, k=64), stages=4)
    assert config.tile == {"m": 128, "n": 128, "k": 64}
    assert config.warps is None
    changed = config.replace(warps=8, stages=None)
    assert (changed.warps, changed.stages, config.stages) == (8, None, 4)
    assert changed == ConfigAttr.of(tile=TileSizes(m=128, n=128, k=64), warps=8)


def test_completed_keeps_what_is_set() -> None:
    given = ConfigAttr.of(stages=2)
    assert given.completed(ConfigAttr.of(stages=4, warps=8)) == ConfigAttr.of(stages=2, warps=8)
    given = ConfigAttr.of(tile=TileSizes(n=256))
    chosen = given.completed(ConfigAttr.of(tile=TileSizes(k=64, n=128, m=128)))
    assert chosen == ConfigAttr.of(tile=TileSizes(m=128, n=256, k=64))
    assert str(chosen.tile) == "{m = 128, n = 256, k = 64}"


@pytest.mark.parametrize(
    "values", [{"tile": [1, 2]}, {"tile": TileSizes(m=0)}, {"stages": 0}, {"cluster": (1,)}, {"schedule": "rows"}]
)
def test_values_of_other_types_are_errors(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        ConfigAttr.of(**values)


def test_an_unknown_architecture_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(IrcError, match="unknown architecture sm_75") as error:
        target("sm_75")
    assert error.value.hint is not None
    assert all(known.name in error.value.hint for known in TARGETS)


def test_facts_of_the_architectures() -> None:
    assert [t.shared_memory // KIB for t in TARGETS] == [163, 99, 227, 227]
    assert [t.has_wgmma for t in TARGETS] == [False, False, True, False]


@pytest.mark.parametrize("machine", TARGETS, ids=lambda machine: machine.name)
def test_costs_of_a_target_follow_from_its_rates(machine: Target) -> None:
    peak = machine.flops["f16"] / (2 * machine.sms * machine.clock)
    assert machine.multiply_adds("bf16") == pytest.approx(peak, rel=0.1)
    assert machine.multiply_adds("i8") > machine.multiply_adds("f16") > machine.multiply_adds("f32")
    assert 1e-6 < machine.launch_time < 2.5e-6
    assert machine.costs.byte == pytest.approx(machine.sms * machine.clock / machine.bandwidth, rel=0.1)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("tile = {m = 64, n = 64, k = 64}, cluster = [16, 1]", "do not divide 8 x 8 tiles"),
        ('cluster = [2, 1], instruction = "mma"', "only wgmma kernels have clusters"),
        ('schedule = "pingpong", instruction = "mma"', "only kernels of wgmma and tcgen05 have the schedule"),
        ('schedule = "dynamic", cluster = [2, 1]', "blocks that take tiles by themselves are in no cluster"),
        ("loop_order = [1, 0]", "only kernels in Python order their loops"),
        ('indexing = "pointers", instruction = "wgmma"', "a kernel of wgmma reads by tma"),
        ('indexing = "tma", instruction = "mma"', "a kernel of mma reads by pointers"),
    ],
)
def test_choices_that_cannot_come_true_are_refused(choice: str, message: str) -> None:
    text = f"""
func.func @f(%x: tensor<512x512xbf16>, %w: tensor<512x512xbf16>) -> tensor<512x512xf32> {{
  %r = kernel.fused @f_0 matmul config<{choice}> (%a = %x : tensor<512x512xbf16>, %b = %w : tensor<512x512xbf16>) -> tensor<512x512xf32> {{
    %c = nd.matmul %a, %b {{lhs_contract = [1], rhs_contract = [0]}} : tensor<512x512xbf16> -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  }}
  func.return %r : tensor<512x512xf32>
}}
"""
    context = new_context()
    module = Parser(context, text).parse_module()
    with pytest.raises(IrcError, match=message):
        ChooseConfigPass().apply(context, module)


@pytest.mark.parametrize(
    ("most", "batches", "rows", "found"), [(64, 192, 1024, 22), (16, 128, 4096, 12), (8, 4, 512, 4)]
)
def test_blocks_that_stay_have_equal_shares(most: int, batches: int, rows: int, found: int) -> None:
    """By a count of the steps of each block: no smaller number of batches that are walked over together is better."""
    tile, step, blocks = 64, 64 if rows == 1024 else 128, 264 if rows == 4096 else 396

    def longest(group: int) -> int:
        tiles = [
            -(-(row + 1) * tile // step) + BEGIN
            for first in range(0, batches, group)
            for row in reversed(range(rows // tile))
            for _ in range(min(group, batches - first))
        ]
        return max(sum(tiles[block::blocks]) for block in range(blocks))

    group = even_group(most, outer=1, batches=batches, rows=rows, tile=tile, step=step, blocks=blocks)
    assert group == found
    assert longest(group) == min(map(longest, range(1, min(most, batches) + 1)))
