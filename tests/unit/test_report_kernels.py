"""What a page shows of kernels: configs, resources, layouts, the pipeline, and the simulator's counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawing import slow

import irc
from irc.configs.space import KernelSpace
from irc.dialects import tile
from irc.dialects.kernel import ConfigAttr, FusedOp, TileSizes
from irc.driver.compiler import Origin, artifact_options, compile_artifact, lower_program
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import KERNEL
from irc.driver.reporting import report
from irc.driver.subjects import subject_of
from irc.ir.targets import target_of
from irc.layout.cute import Layout
from irc.layout.fragment import Fragment
from irc.layout.shared import SharedLayout, Swizzle
from irc.report.kernels import KernelReport, of_config
from irc.report.layouts import drawings
from irc.report.program import ProgramReport
from irc.report.timeline import BUSY, WAITING, Timeline, timeline

ARCH = "sm_90a"
EXAMPLES = Path(__file__).parents[2] / "examples"

GATING = """dim M = 1024, K = 2048, N = 1024

func gating(x: bf16[M, K], w1: bf16[K, N], w2: bf16[K, N]) -> bf16[M, N] {
    return sigmoid(x @ w1) * (x @ w2)
}
"""
SOFTMAX = "func rows(x: f32[64, 1024]) -> f32[64, 1024] {\n    return softmax(x)\n}\n"


def reported(text: str) -> ProgramReport:
    return report(Origin(subject_of(text), "sim", artifact_options(arch=ARCH)))


@pytest.fixture(scope="module")
def gating() -> KernelReport:
    return reported(GATING).kernels[0]


def programs(program: str | Path) -> list[tile.ProgramOp]:
    return [op for op in lower_program(program, "tile", arch=ARCH).ops if isinstance(op, tile.ProgramOp)]


def configured(config: ConfigAttr, rows: int = 1024) -> tile.ProgramOp:
    """The program of the gated product with what a config sets."""
    module = lower_program(GATING.replace("M = 1024", f"M = {rows}"), "nd", arch=ARCH)
    run_passes(module, passes_of(KERNEL[KERNEL.index("check-extents") : KERNEL.index("choose-config")]))
    (kernel,) = [op for op in module.walk() if isinstance(op, FusedOp)]
    kernel.config = config
    (program,) = [op for op in lower_program(module, "tile", arch=ARCH).ops if isinstance(op, tile.ProgramOp)]
    return program


def test_the_config_is_the_one_that_is_chosen(gating: KernelReport) -> None:
    manifest = compile_artifact(GATING, arch=ARCH).manifest["kernels"][0]
    config = dict(gating.config)
    assert set(config) == set(manifest["config"])
    assert config["tile"] == " ".join(f"{dim}={size}" for dim, size in manifest["config"]["tile"].items())
    assert config["stages"] == str(manifest["config"]["stages"])
    found = gating.alternatives
    assert found is not None and found.count > len(found.rows) == 16
    assert found.rows[found.chosen][found.columns.index("tile")] == config["tile"]
    estimates = [float(row[1].removesuffix(" us")) for row in found.rows]
    assert estimates == sorted(estimates)


def test_a_config_that_ranks_late_is_shown_with_its_rank() -> None:
    module = subject_of(GATING).module(artifact_options(arch=ARCH))
    run_passes(module, passes_of(KERNEL[: KERNEL.index("choose-config")]))
    (kernel,) = [op for op in module.walk() if isinstance(op, FusedOp)]
    space = KernelSpace(kernel, target_of(module))
    worst = space.ranked(list(space.seeds))[-1]
    kernel.config = worst
    found = of_config(kernel, space).alternatives
    assert found is not None
    assert found.chosen == len(found.rows) - 1 and int(found.rows[-1][0]) > len(found.rows)
    kernel.config = ConfigAttr.of(tile=TileSizes(m=64, n=64, k=64))
    assert of_config(kernel, None).alternatives is None


def test_resources_are_what_the_manifest_says(gating: KernelReport) -> None:
    manifest = compile_artifact(GATING, arch=ARCH).manifest["kernels"][0]
    found = dict(gating.resources)
    assert found["grid"] == " x ".join(map(str, manifest["grid"]))
    assert found["registers of a thread"] == f"{manifest['registers']} of 255"
    assert found["shared memory of a block"].startswith(f"{manifest['shared_memory'] / 1024:.4g} KiB of")
    assert found["spilled"].startswith(f"{manifest['spills']} bytes")
    assert found["blocks that share an SM"].startswith("1:")
    assert found["barriers by number"] == "3 of 16"


def test_fragments_are_drawn_where_threads_hold_them() -> None:
    (program,) = programs(GATING)
    found = drawings(program)
    for type in {value.type for op in program.walk() for value in op.results}:
        if not isinstance(type, tile.PendingType):
            continue
        encoding = type.tile.encoding  # pyright: ignore[reportAttributeAccessIssue]
        shape = type.tile.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
        drawing = next(each for each in found if each.text == str(encoding))
        fragment = Fragment.from_layout(shape, encoding.data)
        assert sum(cell.width for cell in drawing.cells) == drawing.rows * drawing.columns
        for cell in drawing.cells:
            thread = int(cell.text)
            held = {
                tuple(int(at) for at in fragment.coordinates(thread, value))  # pyright: ignore[reportArgumentType]
                for value in range(fragment.value_count)
            }
            assert {(cell.row, cell.column + at) for at in range(cell.width)} <= held
        break
    else:
        pytest.fail("no accumulator")


def test_shared_layouts_are_drawn_in_their_banks() -> None:
    text = """
#swizzled = #tile.shared<(8,64):(64,1) swizzle(3,3,3)>
builtin.module attributes {irc.target = "sm_90a"} {
  tile.program @p(%x: !tile.view<8x64xbf16>) {results = 1 : i64} {
    %0 = tile.alloc : !tile.buffer<8x64xbf16, #swizzled>
  }
}"""
    from irc.driver.program import parse

    (drawing,) = drawings(parse(text, "p.mlir"))
    layout = SharedLayout(Layout((8, 64), (64, 1)), Swizzle(3, 3, 3))
    assert (drawing.rows, drawing.columns, len(drawing.cells)) == (8, 64, 64)
    for cell in drawing.cells:
        first = layout((cell.row, cell.column)) * 2 // 4 % 32
        assert cell.text == f"{first}-{first + 3}" and cell.hue == first
    columns = [{cell.text for cell in drawing.cells if cell.column == at} for at in range(0, 64, 8)]
    assert all(len(banks) == 8 for banks in columns), "a swizzle spreads a column over all banks"


def rows(found: Timeline) -> dict[str, list[tuple[float, float, str, str]]]:
    return {name: [(s.begin, s.end, s.kind, s.text) for s in segments] for name, segments in found.rows}


def test_the_pipeline_overlaps_copies_and_products() -> None:
    tile_sizes = TileSizes(m=128, n=64, k=64)
    config = ConfigAttr.of(tile=tile_sizes, schedule="pingpong", warps=4, cluster=(1, 1), stages=6)
    alone = rows(timeline(configured(config)))
    assert not any(name.startswith("compute_1") for name in alone), "a block with one tile has no second turn"
    program = configured(config, rows=4096)
    found = timeline(program)
    by_row = rows(found)
    assert [name.partition(",")[0] for name in by_row] == ["load", "compute_0", "compute_1", "copies", "tensor cores"]
    assert found.is_cut and not found.is_stuck
    for name, segments in by_row.items():
        ends = [0.0, *(end for _, end, _, _ in segments)]
        assert all(begin >= end for (begin, *_), end in zip(segments, ends, strict=False)), (
            f"{name} does two things at once"
        )
    copies, products = by_row["copies"], by_row["tensor cores"]
    assert products[0][0] > copies[0][1], "the first product waits for its operands"
    assert copies[-1][0] < products[-1][0] and copies[6][0] < products[1][0], "later copies run beside products"
    assert len(products) == 20, "ten steps of each of two tiles"
    load = next(segments for name, segments in by_row.items() if name.startswith("load"))
    stages = next(op for op in program.walk() if isinstance(op, tile.ChannelOp)).stage_count
    waits = [text for _, _, kind, text in load if kind == WAITING]
    assert waits[0] == f"waits for room in stage {stages}"


def test_a_stage_more_is_waited_for_less() -> None:
    def waited(stages: int) -> float:
        return timeline(configured(ConfigAttr.of(stages=stages))).cycles

    assert waited(1) > waited(2) > waited(4)


@pytest.mark.parametrize(
    "name", ["attention", "image", "layer_norm", "permute_5d", "reductions", "resnet_block", "softmax"]
)
def test_programs_of_all_kinds_have_timelines(name: str) -> None:
    for program in programs(EXAMPLES / f"{name}.irc"):
        found = timeline(program)
        segments = [segment for _, segments in found.rows for segment in segments]
        assert {segment.kind for segment in segments} <= {BUSY, WAITING}
        assert any(segment.kind == BUSY for segment in segments) and found.cycles > 0
        assert not found.is_stuck


def test_counts_of_a_whole_run_are_the_simulators() -> None:
    """Of a kernel whose blocks all fit into one frame, and that ends before the limit."""
    import numpy as np

    text = SOFTMAX.replace("64, 1024", "4, 1024")
    found = reported(text)
    assert found.counts is not None
    (whole,) = irc.compile(text, "sim", arch=ARCH).statistics(np.zeros((4, 1024), np.float32))
    assert [each.found for each in found.counts.ops] == [op for op in whole.ops if op.requests]
    ((line, sums),) = found.counts.lines
    assert line == 2 and sums.sectors == whole.sectors() and sums.conflicts == whole.conflicts
    marked = [line for line in found.columns[4].lines if line.mark]
    assert [line.text.split("cuda.")[1].split()[0] for line in marked] == [
        each.op.name.removeprefix("cuda.") for each in found.counts.ops
    ]
    assert found.columns[0].lines[1].mark.startswith(f"{whole.sectors()} sectors")


@slow
def test_counts_stop_early_in_long_kernels() -> None:
    found = reported(GATING).counts
    assert found is not None and not found.note
    loads = [each.found for each in found.ops if each.op.name == "cuda.tma_load"]
    assert loads and all(0 < each.instructions < 100000 for each in loads)


def test_conflicts_are_said_where_they_are() -> None:
    found = reported("func t(x: f32[64, 64]) -> f32[64, 64] {\n    return transpose(x)\n}\n").counts
    assert found is not None
    assert all(each.found.sectors == each.found.ideal_sectors for each in found.ops)


def test_programs_that_are_not_simulated_say_why() -> None:
    found = reported("func f(x: f32[65536, 65536]) -> f32[65536, 65536] {\n    return x + 1\n}\n").counts
    assert found is not None and found.note.startswith("Its arrays take 32.0 GiB")
    sized = reported("dim N in 1..64\n\nfunc f(x: f32[N, 64]) -> f32[N, 64] {\n    return x + 1\n}\n").counts
    assert sized is not None and "-D" in sized.note
