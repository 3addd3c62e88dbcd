"""`build-host-plan` over drawn functions: in whatever order streams and events let the steps run, results are those of
the function. The verifier of plans sees bytes that race; this sees also that they are the right ones."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from drawing import long, seeds
from drawn_functions import KERNELS, DrawnFunction
from gpu.programs.run_time_extents import PROGRAMS, sizes_of
from plan_meanings import Meaning, acts_of, acts_of_call, ran
from xdsl.dialects.builtin import ModuleOp

from irc.dialects.cuda import KernelOp
from irc.dialects.host import PlanOp, RecordOp, WaitOp
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import ALL
from irc.driver.program import isolate, new_context, parse
from irc.ir.extents import at_sizes
from irc.ir.parser import parse_ir
from irc.ir.targets import set_target
from irc.ir.verification import verify
from irc.passes.host.build_host_plan import BuildHostPlanPass
from irc.runtime.plan import Memset
from irc.runtime.plan_reader import read_plan
from irc.runtime.sizes import SizedPlan
from irc.support.diagnostics import IrcError

DIMS = "builtin.module attributes {irc.dims = {N = array<i64: 1, 512, 1, 521>}} {"


def planned(module: ModuleOp, random: Random) -> PlanOp | None:
    """The plan of a drawn function, which takes its place; None where it exchanges donated arguments."""
    try:
        BuildHostPlanPass(streams=random.choice([1, 2, 3, 8]), sets=random.choice([1, 2, 128])).apply(
            new_context(), module
        )
    except IrcError as error:
        assert "donated arguments cannot be exchanged" in str(error)
        return None
    verify(module)
    (plan,) = [op for op in module.ops if isinstance(op, PlanOp)]
    return plan


def kernels_of(module: ModuleOp) -> dict[str, KernelOp]:
    return {op.symbol: op for op in module.ops if isinstance(op, KernelOp)}


def check(found: list[np.ndarray], meaning: Meaning, what: str) -> None:
    for number, (a, b) in enumerate(zip(found, meaning.results, strict=True)):
        assert np.array_equal(a, b), f"result {number} of {what}"


def test_plans_mean_their_functions_in_any_order() -> None:
    for seed in seeds(80):
        random = Random(seed)
        module = parse_ir(new_context(), KERNELS + DrawnFunction(random).text, "drawn.mlir")
        meaning = Meaning(module)
        if (plan := planned(module, random)) is None:
            continue
        acts = acts_of(plan, kernels_of(module))
        for pick in (lambda count: 0, lambda count: count - 1, random.randrange):
            check(ran(acts, meaning, pick), meaning, f"seed {seed}")


def test_plans_of_calls_mean_their_functions_for_every_size() -> None:
    """The arena of a call is another one: buffers that grow with an extent, and such as do not."""
    for seed in seeds(40, 1000):
        random = Random(seed)
        text = DrawnFunction(random, (4, 16, 521, 521, 1042, 700), joins=False).text
        module = parse_ir(new_context(), f"{DIMS}{KERNELS}{text}}}", "drawn.mlir")
        before = module.clone()
        if planned(module, random) is None:
            continue
        sized = SizedPlan(read_plan(module))
        for n in (1, 500):
            meaning = Meaning(at_sizes(before, {"N": n}))
            acts = acts_of_call(sized.at({"N": n}), kernels_of(module))
            check(ran(acts, meaning, random.randrange), meaning, f"seed {seed} with N = {n}")


LAYERS = """
dim B in 1..64, S in 1..512, H = 2, D = 64
func f(x: bf16[B, S, 3 * H * D], w: bf16[H * D, 3 * H * D]) -> (bf16[B, S, 3 * H * D], bf16[B, 3 * H * D]) {
    t = permute(reshape(x, [B, S, 3, H, D]), [2, 0, 3, 1, 4])
    a = reshape(permute(attention(t[0], t[1], t[2], causal=true), [0, 2, 1, 3]), [B, S, H * D])
    u = permute(reshape(a @ w * 0.125, [B, S, 3, H, D]), [2, 0, 3, 1, 4])
    b = reshape(permute(attention(u[0], u[1], u[2], causal=true), [0, 2, 1, 3]), [B, S, H * D])
    y = b @ w * 0.125
    return y, mean(y, axis=1)
}"""
"""Two attentions, each with a counter of tiles."""


@long(10, of_all=2)
@pytest.mark.parametrize("name", ["layers", *PROGRAMS])
def test_plans_of_programs_with_run_time_extents_mean_their_functions(name: str) -> None:
    module = isolate(parse({"layers": LAYERS, **PROGRAMS}[name], "<test>"))
    set_target(module, "sm_90a")
    run_passes(module, passes_of(ALL[:-1]), verified=False)
    before = module.clone()
    run_passes(module, passes_of(ALL[-1:]))
    plan, random = read_plan(module), Random(0)
    if name == "layers":
        assert [step.buffer.size for step in plan.steps if isinstance(step, Memset)] == [260]
    sized = SizedPlan(plan)
    for sizes in sizes_of(plan.dims)[:2]:
        meaning = Meaning(at_sizes(before, sizes))
        acts = acts_of_call(sized.at(sizes), kernels_of(module))
        check(ran(acts, meaning, random.randrange), meaning, f"{name} with {sizes}")


CHAIN = """
func.func @f(%x0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = kernel.launch @neg(%x0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = "nd.all_reduce"(%a) <{monoid = "sum", over = "data"}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = kernel.launch @neg(%b) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = kernel.launch @exp(%c) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %d : tensor<4x4xf32>
}
"""


@pytest.mark.parametrize("number", range(2))
def test_a_plan_without_one_of_its_waits_means_something_else(number: int) -> None:
    """Beside a collective: the launch behind it may run first, and so may the collective."""
    module = parse_ir(new_context(), KERNELS + CHAIN, "chain.mlir")
    meaning = Meaning(module)
    plan = planned(module, Random(0))
    assert plan is not None
    waits = [op for op in plan.body.block.ops if isinstance(op, WaitOp)]
    assert len(waits) == len([op for op in plan.body.block.ops if isinstance(op, RecordOp)]) == 2
    waits[number].detach()
    acts = acts_of(plan, kernels_of(module))
    with pytest.raises(AssertionError):
        for seed in range(20):
            check(ran(acts, meaning, Random(seed).randrange), meaning, "the plan")
