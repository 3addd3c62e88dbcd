"""`build-host-plan`: schedules without races or redundant waits, arenas without overlaps, plans that execute."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import examples, long
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.test_value import create_ssa_value

from irc.dialects.host import BufferType, CopyOp, LaunchOp, PlanOp, RecordOp, StepOp, WaitOp
from irc.dialects.host.checks import Extent
from irc.driver.lowering import lower
from irc.driver.program import isolate, load, new_context, parse
from irc.ir.parser import parse_ir
from irc.ir.printer import print_ir
from irc.passes.host.build_host_plan import BuildHostPlanPass
from irc.passes.host.overlap_launches import OverlapLaunchesPass
from irc.planning import emission
from irc.planning.arena import ARENA_ALIGNMENT, Lifetime, Placement, aligned, place
from irc.planning.group_launches import MAX_SETS, Member, group
from irc.planning.schedule import Schedule, schedule
from irc.runtime.plan import Buffer, Copy, Launch, Plan, Record, Wait
from irc.runtime.plan_reader import read_plan
from irc.support.diagnostics import IrcError

EXAMPLES = Path(__file__).parents[2] / "examples"


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    """For each step the earlier steps that it needs."""
    count = draw(st.integers(0, 14))
    return [draw(st.lists(st.integers(0, step - 1), max_size=3, unique=True)) if step else [] for step in range(count)]


def run_order(made: Schedule, dropped: tuple[int, int] | None = None) -> list[set[int]]:
    """For each step what is complete before it, from streams and waits alone; one wait may be left out."""
    tail: dict[int, int] = {}
    before: list[set[int]] = []
    for step, stream in enumerate(made.stream):
        done: set[int] = set()
        sources = [tail[stream]] if stream in tail else []
        sources += [need for need in made.waits[step] if (step, need) != dropped]
        for source in sources:
            done |= before[source] | {source}
        before.append(done)
        tail[stream] = step
    return before


@given(graphs(), st.integers(1, 4))
@examples(300)
def test_every_dependency_is_ordered_and_no_wait_is_redundant(graph: list[list[int]], streams: int) -> None:
    made = schedule(graph, streams)
    assert max(made.stream, default=0) < streams
    before = run_order(made)
    for step, needs in enumerate(graph):
        assert set(needs) <= before[step]
        assert made.before[step] == sum(1 << earlier for earlier in before[step])
        for need in made.waits[step]:
            assert not set(graph[step]) <= run_order(made, dropped=(step, need))[step]


@given(graphs(), st.integers(1, 4))
@examples(200)
def test_stream_0_ends_after_everything_by_the_fewest_waits(graph: list[list[int]], streams: int) -> None:
    made = schedule(graph, streams)
    before = run_order(made)
    tails = {stream: step for step, stream in enumerate(made.stream)}

    def joined(waits: list[int]) -> set[int]:
        done: set[int] = set()
        for source in [*([tails[0]] if 0 in tails else []), *waits]:
            done |= before[source] | {source}
        return done

    everything = set(range(len(graph)))
    assert joined(made.final_waits) == everything
    for wait in made.final_waits:
        assert joined([w for w in made.final_waits if w != wait]) != everything


@given(graphs(), st.integers(1, 4), st.data())
@examples(300)
def test_live_buffers_do_not_overlap(graph: list[list[int]], streams: int, data: st.DataObject) -> None:
    made = schedule(graph, streams)
    users = {step: tuple(s for s, needs in enumerate(graph) if step in needs) for step in range(len(graph))}
    buffers = [Lifetime(data.draw(st.integers(0, 3000)), step, users[step]) for step in range(len(graph))]
    placed = place(buffers, made.before)
    before = run_order(made)
    for i, a in enumerate(buffers):
        assert placed.offsets[i] % ARENA_ALIGNMENT == 0
        assert placed.offsets[i] + a.size <= placed.size
        for j in range(i):
            b = buffers[j]
            apart = placed.offsets[i] + a.size <= placed.offsets[j] or placed.offsets[j] + b.size <= placed.offsets[i]
            a_first = {a.made, *a.users} <= before[b.made]
            b_first = {b.made, *b.users} <= before[a.made]
            assert apart or a_first or b_first
            assert disjoint(a, b, made.before) == (a_first or b_first)


@given(graphs(), st.integers(1, 4), st.data())
@examples(200)
def test_buffers_that_several_steps_write_are_alone_from_the_first_on(
    graph: list[list[int]], streams: int, data: st.DataObject
) -> None:
    made = schedule(graph, streams)
    before = run_order(made)
    steps = list(range(len(graph)))
    buffers: list[Lifetime] = []
    while steps:
        count = data.draw(st.integers(1, min(3, len(steps))))
        first, *others = (steps.pop(data.draw(st.integers(0, len(steps) - 1))) for _ in range(count))
        users = {s for s, needs in enumerate(graph) if {first, *others} & set(needs)}
        buffers.append(Lifetime(data.draw(st.integers(1, 3000)), first, tuple(users), tuple(others)))
    placed = place(buffers, made.before)
    for i, a in enumerate(buffers):
        for j, b in enumerate(buffers[:i]):
            apart = placed.offsets[i] + a.size <= placed.offsets[j] or placed.offsets[j] + b.size <= placed.offsets[i]
            orders = [
                all({x.made, *x.others, *x.users} <= before[step] for step in (y.made, *y.others))
                for x, y in ((a, b), (b, a))
            ]
            assert apart or any(orders)


@given(*(st.tuples(st.integers(0, 40), st.integers(1, 60), st.integers(1, 12)) for _ in range(2)), st.integers(12, 20))
@examples(300)
def test_rows_overlap_where_they_share_a_byte(a: tuple[int, int, int], b: tuple[int, int, int], pitch: int) -> None:
    root = create_ssa_value(BufferType(200))
    one, two = (Extent(root, start, start + size, (pitch, width)) for start, size, width in (a, b))

    def held(start: int, size: int, width: int) -> set[int]:
        return {at for at in range(start, start + size) if (at - start) % pitch < width}

    if held(*a) & held(*b):
        assert one.overlaps(two)
        assert two.overlaps(one)
    elif all(size >= pitch for _, size, _ in (a, b)) and a[0] + a[1] >= b[0] + pitch and b[0] + b[1] >= a[0] + pitch:
        assert not one.overlaps(two)
    assert one.overlaps(Extent(root, a[0], a[0] + 1))
    assert not one.overlaps(Extent(root, a[0] + a[1], 200))


def test_a_chain_stays_on_stream_0_and_reuses_its_arena() -> None:
    made = schedule([[], [0], [1], [2]])
    assert made.stream == [0, 0, 0, 0]
    assert made.waits == [[], [], [], []]
    placed = place([Lifetime(1000, 0, (1,)), Lifetime(1000, 1, (2,)), Lifetime(1000, 2, (3,))], made.before)
    assert placed.size == 2 * 1024
    assert placed.offsets[0] == placed.offsets[2] != placed.offsets[1]


def test_independent_steps_run_side_by_side_and_join_once() -> None:
    made = schedule([[], [], [0, 1]])
    assert made.stream == [0, 1, 1]
    assert made.waits == [[], [], [0]]
    assert made.final_waits == [2]


@given(graphs(), st.integers(1, 4))
@examples(200)
def test_the_order_of_enqueuing_keeps_streams_and_waits(graph: list[list[int]], streams: int) -> None:
    made = schedule(graph, streams)
    place_of = {step: place for place, step in enumerate(made.order)}
    assert sorted(place_of) == list(range(len(graph)))
    for step, waits in enumerate(made.waits):
        assert all(place_of[need] < place_of[step] for need in waits)
        same = [earlier for earlier in range(step) if made.stream[earlier] == made.stream[step]]
        assert all(place_of[earlier] < place_of[step] for earlier in same)


def test_streams_take_turns_in_the_order_of_enqueuing() -> None:
    made = schedule([[], [0], [1], [], [3], [4]])
    assert made.stream == [0, 0, 0, 1, 1, 1]
    assert made.order == [0, 3, 1, 4, 2, 5]


def test_steps_that_fill_the_device_get_no_stream_of_their_own() -> None:
    assert schedule([[], [], []], filling={0, 1, 2}).stream == [0, 0, 0]
    assert schedule([[], [], []], filling={1}).stream == [0, 0, 1]
    assert schedule([[], [], [], [1]], filling={3}).stream == [0, 1, 2, 1]


@given(graphs(), st.integers(1, 4), st.data())
@examples(200)
def test_arenas_are_hardly_larger_than_what_lives_together(
    graph: list[list[int]], streams: int, data: st.DataObject
) -> None:
    made = schedule(graph, streams)
    users = {step: tuple(s for s, needs in enumerate(graph) if step in needs) for step in range(len(graph))}
    buffers = [Lifetime(data.draw(st.integers(0, 3000)), step, users[step]) for step in range(len(graph))]
    bound = heaviest_clique(buffers, made.before)
    assert bound <= place(buffers, made.before).size <= 1.5 * bound


def disjoint(a: Lifetime, b: Lifetime, before: Sequence[int]) -> bool:
    """Whether one buffer is dead before the other is made."""
    return any(all(before[y.made] >> step & 1 for step in (x.made, *x.users)) for x, y in ((a, b), (b, a)))


def heaviest_clique(buffers: list[Lifetime], before: Sequence[int]) -> int:
    """Bytes that no placement can do without: the most that buffers which all live together take (branch and bound)."""
    sizes = [aligned(buffer.size) for buffer in buffers]
    together = [
        {j for j, b in enumerate(buffers) if j != i and not disjoint(a, b, before)} for i, a in enumerate(buffers)
    ]
    best = 0

    def extend(weight: int, candidates: set[int]) -> None:
        nonlocal best
        best = max(best, weight)
        for index in sorted(candidates):
            if weight + sum(sizes[each] for each in candidates) <= best:
                return
            extend(weight + sizes[index], candidates & together[index])
            candidates = candidates - {index}

    extend(0, set(range(len(buffers))))
    return best


@long(2)
@pytest.mark.parametrize("name", ["attention", "gated_unit_step", "heads", "image", "layer_norm_backward", "train_mlp"])
def test_the_arenas_of_examples_are_the_smallest_there_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    placed: list[tuple[int, int]] = []

    def noted(buffers: list[Lifetime], before: Sequence[int]) -> Placement:
        made = place(buffers, before)
        placed.append((made.size, heaviest_clique(buffers, before)))
        return made

    monkeypatch.setattr(emission, "place", noted)
    lower(isolate(load(EXAMPLES / f"{name}.irc")), "all")
    ((size, bound),) = placed
    assert 0 < bound <= size <= 1.1 * bound


KERNELS = """
cuda.kernel @add(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] {
  cuda.return
}
cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [2, 1, 1] block 64 shared 65536 writes [0, 1] {
  cuda.return
}
cuda.kernel @large(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [132, 1, 1] block 64 writes [0, 1] {
  cuda.return
}
"""


def plan_of(function: str, streams: int = 8, *, sets: int = MAX_SETS, overlap: bool = False) -> tuple[ModuleOp, PlanOp]:
    context = new_context()
    module = parse_ir(context, KERNELS + function, "test.mlir")
    if overlap:
        OverlapLaunchesPass().apply(context, module)
    BuildHostPlanPass(streams=streams, sets=sets).apply(context, module)
    module.verify()
    (plan,) = [op for op in module.ops if isinstance(op, PlanOp)]
    return module, plan


def steps_of(plan: PlanOp) -> list[StepOp]:
    return [op for op in plan.body.block.ops if isinstance(op, StepOp)]


DIAMOND = """
func.func @f(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %c = kernel.launch @add(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = nd.reshape %c : tensor<8xf32> -> tensor<2x4xf32>
  func.return %d : tensor<2x4xf32>
}
"""


def test_a_diamond_of_launches_alone_uses_two_streams_and_writes_the_result_in_place() -> None:
    module, op = plan_of(DIAMOND, sets=1)
    plan = read_plan(module)
    assert (plan.name, plan.streams, plan.arena, plan.events) == ("f", 2, 512, 2)
    launches = [step for step in plan.steps if isinstance(step, Launch)]
    assert [step.kernel for step in launches] == ["neg", "neg", "add"]
    assert launches[0].stream != launches[1].stream
    assert launches[2].parameters[2] == Buffer("result", 0, 0, 32)
    assert launches[0].parameters[0] == Buffer("argument", 0, 0, 32)
    assert (launches[0].grid, launches[0].block, launches[0].shared) == ((2, 1, 1), 64, 65536)
    assert len([step for step in plan.steps if isinstance(step, Wait)]) == 2
    assert len([step for step in plan.steps if isinstance(step, Record)]) == 2
    assert str(steps_of(op)[0].location).find("test.mlir") >= 0


def test_one_stream_needs_no_events() -> None:
    _, plan = plan_of(DIAMOND, streams=1)
    assert not [op for op in steps_of(plan) if isinstance(op, RecordOp | WaitOp)]


def test_launches_overlap_what_was_launched_right_before_them() -> None:
    """Also what the caller launched; on a stream of its own, or behind a wait, a kernel has nothing right before it."""
    text = "func f(x: f32[64, 64], w: f32[64, 64]) -> f32[64, 64] {\n    return (x @ w) @ w\n}\n"
    for arch, overlaps in (("sm_90a", True), ("sm_80", False)):
        steps = read_plan(lower(parse(text, "f.irc"), "all", arch=arch)).steps
        assert [step.overlaps for step in steps if isinstance(step, Launch)] == [overlaps, overlaps]
    module, _ = plan_of(DIAMOND, sets=1, overlap=True)
    launches = [step for step in read_plan(module).steps if isinstance(step, Launch)]
    assert [launch.overlaps for launch in launches] == [launch is launches[0] for launch in launches]


def test_launches_of_one_kernel_side_by_side_are_one_launch_of_several_sets() -> None:
    module, _ = plan_of(DIAMOND, overlap=True)
    plan = read_plan(module)
    both, last = plan.steps
    assert isinstance(both, Launch)
    assert isinstance(last, Launch)
    assert (plan.streams, both.kernel, both.sets, both.max_sets, both.grid) == (1, "neg", 2, 2, (2, 1, 2))
    x = Buffer("argument", 0, 0, 32)
    assert both.parameters_of_sets == [(x, Buffer("arena", 0, offset, 32)) for offset in (0, 256)]
    assert (last.kernel, last.sets, last.max_sets, last.grid) == ("add", 1, 1, (1, 1, 1))
    assert [both.overlaps, last.overlaps] == [True, True]
    assert Plan.from_json(plan.to_json()) == plan


EARLY = """
builtin.module attributes {irc.target = "sm_90a"} {
  host.plan @f(%a, %w, %result0) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> {
    host.launch @add(%a, %w, %result0) : (!host.buffer<128>, !host.buffer<128>, !host.buffer<128>)
    host.launch @add(%result0, %w, %result0) : (!host.buffer<128>, !host.buffer<128>, !host.buffer<128>)
    host.return
  }
  cuda.kernel @add(%a: !cuda.ptr<f32>, %w: !cuda.ptr<f32>, %r: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] aliased [0, 2] {
    %zero = arith.constant 0 : index
    %y = cuda.registers : !cuda.registers<1 x f32>
    cuda.load %w[%zero] -> %y[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
    cuda.dependency_wait
    cuda.return
  }
}
"""


def test_a_kernel_that_reads_before_it_waits_overlaps_with_its_own_plan_alone() -> None:
    """What the caller launched before the plan may write its arguments."""
    steps = read_plan(parse_ir(new_context(), EARLY, "early.mlir")).steps
    assert [step.overlaps for step in steps if isinstance(step, Launch)] == [False, True]


def launches_in_sets(function: str) -> list[tuple[str, int]]:
    """The kernel and the sets of each launch."""
    module, _ = plan_of(function)
    return [(step.kernel, step.sets) for step in read_plan(module).steps if isinstance(step, Launch)]


def test_chains_go_side_by_side_to_the_end() -> None:
    """The longer one begins alone; what fills the device stays alone."""
    chains = """
func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @neg(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %c = kernel.launch @neg(%b) : (tensor<8xf32>) -> tensor<8xf32>
  %d = kernel.launch @neg(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %e = kernel.launch @neg(%d) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %c, %e : tensor<8xf32>, tensor<8xf32>
}
"""
    assert launches_in_sets(chains) == [("neg", 1), ("neg", 2), ("neg", 2)]
    assert launches_in_sets(chains.replace("neg", "large")) == [("large", 1)] * 5


def test_sets_are_as_many_as_their_parameters_and_arrays_allow() -> None:
    """4 KiB of parameters, and 4 MiB of intermediate arrays; of about one size."""
    results = ", ".join(f"%v{i}" for i in range(300))
    types = ", ".join(["tensor<8xf32>"] * 300)
    lines = "\n".join(f"%v{i} = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>" for i in range(300))
    many = f"func.func @f(%x: tensor<8xf32>) -> ({types}) {{\n{lines}\nfunc.return {results} : {types}\n}}"
    assert [sets for _, sets in launches_in_sets(many)] == [100, 100, 100]
    mebibyte = "tensor<262144xf32>"
    lines = "\n".join(f"%v{i} = kernel.launch @neg(%x) : ({mebibyte}) -> {mebibyte}" for i in range(6))
    lines += "\n" + "\n".join(f"%w{i} = kernel.launch @neg(%v{i}) : ({mebibyte}) -> {mebibyte}" for i in range(6))
    results, types = ", ".join(f"%w{i}" for i in range(6)), ", ".join([mebibyte] * 6)
    large = f"func.func @f(%x: {mebibyte}) -> ({types}) {{\n{lines}\nfunc.return {results} : {types}\n}}"
    assert [sets for _, sets in launches_in_sets(large)] == [3, 3, 3, 3]


def test_a_set_that_overwrites_an_argument_is_behind_the_launch_that_reads_it() -> None:
    swapped = """
func.func @f(%x: tensor<8xf32> {irc.donated = 0 : i64}) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @neg(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %c = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %b, %c : tensor<8xf32>, tensor<8xf32>
}
"""
    assert launches_in_sets(swapped) == [("neg", 2), ("neg", 1)]


@given(graphs(), st.data())
@examples(300)
def test_groups_are_of_one_kind_and_behind_what_they_need(graph: list[list[int]], data: st.DataObject) -> None:
    kinds = [data.draw(st.sampled_from(["a", "b", None])) for _ in graph]
    made = group(graph, [None if kind is None else Member(kind, 3, 0) for kind in kinds])
    assert sorted(step for steps in made for step in steps) == list(range(len(graph)))
    done: set[int] = set()
    for steps in made:
        assert len(steps) <= 3
        assert len(steps) == 1 or {kinds[step] for step in steps} in ({"a"}, {"b"})
        assert all(set(graph[step]) <= done for step in steps)
        done |= set(steps)


def test_no_exchange_waits_for_a_launch_that_it_does_not_need() -> None:
    """Sums 0 and 2, which ranks exchange in steps 1 and 3, have one launch where nothing exchanges them."""
    graph: list[list[int]] = [[], [0], [], [2]]
    members = [Member("sum", 8, 0), None, Member("sum", 8, 0), None]
    assert group(graph, members) == [[0, 2], [1], [3]]
    assert group(graph, members, exchanges=[1, 3]) == [[0], [1], [2], [3]]


def test_arguments_and_repeated_results_are_copied() -> None:
    module, op = plan_of("""
func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %x, %a, %a : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
""")
    assert len([step for step in steps_of(op) if isinstance(step, LaunchOp)]) == 1
    assert len([step for step in steps_of(op) if isinstance(step, CopyOp)]) == 2
    copies = {step.destination.index: step.source for step in read_plan(module).steps if isinstance(step, Copy)}
    assert copies == {0: Buffer("argument", 0, 0, 32), 2: Buffer("result", 1, 0, 32)}


def test_launches_without_elements_are_left_out() -> None:
    module, op = plan_of("""
func.func @f(%x: tensor<0xf32>, %y: tensor<8xf32>) -> (tensor<0xf32>, tensor<8xf32>) {
  %a = kernel.launch @neg(%x) : (tensor<0xf32>) -> tensor<0xf32>
  %b = kernel.launch @neg(%a) : (tensor<0xf32>) -> tensor<0xf32>
  %c = kernel.launch @add(%a, %y) : (tensor<0xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %b, %c : tensor<0xf32>, tensor<8xf32>
}
""")
    assert [op.kernel_name for op in steps_of(op) if isinstance(op, LaunchOp)] == ["add"]
    (launch,) = read_plan(module).steps
    assert isinstance(launch, Launch)
    assert isinstance(launch.parameters[0], Buffer)
    assert launch.parameters[0].size == 0


def test_constants_between_kernels_become_constant_buffers() -> None:
    module, _ = plan_of("""
func.func @f() -> tensor<3xf32> {
  %x = nd.constant [1.0, 2.0, 4.0] : tensor<3xf32>
  %a = kernel.launch @neg(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %a : tensor<3xf32>
}
""")
    plan = read_plan(module)
    assert np.frombuffer(plan.constants[0], np.float32).tolist() == [1.0, 2.0, 4.0]
    assert Plan.from_json(plan.to_json()) == plan


def test_an_op_without_a_kernel_is_an_error_at_its_place() -> None:
    with pytest.raises(IrcError, match="nd.sort runs on the cpu target only so far") as caught:
        plan_of("""
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = nd.sort %x {axis = 0} : tensor<8xf32>
  func.return %a : tensor<8xf32>
}
""")
    assert "test.mlir" in str(caught.value)


@given(graphs().filter(bool), st.integers(1, 3))
@examples(60)
def test_generated_programs_give_valid_plans(graph: list[list[int]], streams: int) -> None:
    """The plan's own verifier finds every race and every read of an overwritten buffer."""
    lines: list[str] = []
    for step, needs in enumerate(graph):
        a = f"%v{needs[0]}" if needs else "%x"
        b = f"%v{needs[-1]}" if needs else "%x"
        lines.append(f"%v{step} = kernel.launch @add({a}, {b}) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>")
    last = len(graph) - 1
    body = "\n".join(lines)
    module, plan = plan_of(
        f"func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {{\n{body}\nfunc.return %v{last} : tensor<8xf32>\n}}",
        streams,
    )
    used = {step for step in range(len(graph)) if any(step in graph[s][:1] + graph[s][-1:] for s in range(len(graph)))}
    assert sum(op.sets.value.data for op in steps_of(plan) if isinstance(op, LaunchOp)) == len(used | {last})
    reparsed: Any = parse_ir(new_context(), print_ir(module), "again.mlir")
    assert read_plan(reparsed) == read_plan(module)
