"""CUDA graphs that nobody asked for: which graphs become some, after which calls, and that a caller cannot tell."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Generator, Sequence
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from faked_captures import again, captures, recording, replayed
from test_torch_replays import (
    Net,
    compiled_updates,
    kept_losses,
    no_backward,
    on_gpu,
    one_by_one,
    options,
    sums,
    two_copies,
    two_forward,
)
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from irc.runtime.trace import tracing
from irc_frontend.torch import automatic, lending, replays
from irc_frontend.torch.automatic import (
    CALLS,
    HOST_SECONDS,
    MAX_MOVES,
    SEGMENTS,
    Automatic,
    Room,
    estimate_of,
    why_not_automatic,
)
from irc_frontend.torch.division import divide
from irc_frontend.torch.replays import Replays

backend_module = import_module("irc_frontend.torch.backend")  # whose name is also that of its function


@pytest.fixture(autouse=True)
def on_a_device(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Tensors of the CPU are those of a device, which has much free memory."""
    monkeypatch.delenv("IRC_GRAPHS", raising=False)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: -1)
    monkeypatch.setattr(torch.cuda, "get_allocator_backend", lambda: "native")
    monkeypatch.setattr(automatic, "free_memory", lambda device: 1 << 40)
    monkeypatch.setattr(replays, "room", Room())
    captures.clear()
    replayed.clear()
    options.clear()
    yield
    options.clear()


def replays_of(function: Callable[..., Any], *examples: Tensor, kind: str = "inference", **others: Any) -> Replays:
    """The replays of a graph that gives what a function gives, a list; its first argument is a parameter."""

    def run(arguments: list[Any]) -> Sequence[Any]:
        given = list(arguments)
        arguments.clear()
        return function(*given)

    module = make_fx(function, tracing_mode="fake")(*examples)
    found = Automatic(kind, (1 << 20) - 16, most_taken=1 << 10, convolves=True)
    return Replays(module, recording(run), [0], again, kind=kind, automatic=found, **others)


def scaled(weight: Tensor, x: Tensor) -> list[Tensor]:
    return [weight * x]


def test_a_graph_is_captured_after_calls_that_lie_alike() -> None:
    weight, x = torch.full((4,), 2.0), torch.ones(4)
    run = replays_of(scaled, weight, x)
    kept = [run([weight, x * number])[0] for number in range(CALLS + 4)]
    assert (len(captures), len(replayed)) == (1, 4)
    for number, y in enumerate(kept):
        assert torch.equal(y, torch.full((4,), 2.0 * number))


def test_copies_of_a_model_by_turns_have_captures_each() -> None:
    weights, x = [torch.full((4,), 2.0), torch.full((4,), 3.0)], torch.ones(4)
    run = replays_of(scaled, weights[0], x)
    for _ in range(CALLS + 2):
        for weight in weights:
            assert torch.equal(run([weight, x])[0], weight)
    assert (len(captures), len(replayed)) == (2, 4)


def test_parameters_that_move_at_every_call_are_no_graph(recwarn: pytest.WarningsRecorder) -> None:
    x, kept = torch.ones(4), [torch.ones(4) for _ in range(MAX_MOVES + 1)]
    run = replays_of(scaled, x, x)
    for weight in kept:
        run([weight, x])
    for _ in range(2 * CALLS):
        run([kept[0], x])
    assert not captures and not recwarn.list


def attempts(run: Replays, arguments: Sequence[Tensor]) -> int:
    """How many of some calls are replays, after as many as a capture waits for."""
    for _ in range(CALLS):
        run(list(arguments))
    before = len(replayed)
    for _ in range(3):
        run(list(arguments))
    return len(replayed) - before


def test_calls_that_others_look_at_are_no_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    arguments = torch.ones(4), torch.ones(4)
    run = replays_of(scaled, *arguments)
    assert attempts(run, arguments) == 3
    with tracing():
        assert attempts(run, arguments) == 0
    with FlopCounterMode(display=False):
        assert attempts(run, arguments) == 0
    with monkeypatch.context() as patch:
        patch.setattr(automatic, "is_capturing", lambda: True)
        assert attempts(run, arguments) == 0
    assert attempts(run, arguments) == 3 and len(captures) == 1


@pytest.mark.parametrize(
    "path, value",
    [
        ("torch.distributed.is_initialized", True),
        ("torch.backends.cudnn.benchmark", True),
        ("torch.cuda.current_device", 5),
        ("torch.cuda.get_allocator_backend", "cudaMallocAsync"),
    ],
)
def test_nothing_is_captured_where_that_may_be_noticed(monkeypatch: pytest.MonkeyPatch, path: str, value: Any) -> None:
    arguments = torch.ones(4), torch.ones(4)
    run = replays_of(scaled, *arguments)
    with monkeypatch.context() as patch:
        if path.endswith("benchmark"):
            with torch.backends.cudnn.flags(enabled=True, benchmark=value):
                assert attempts(run, arguments) == 0
        else:
            patch.setattr(path, lambda: value)
            assert attempts(run, arguments) == 0
    assert attempts(run, arguments) == 3


def test_settings_of_convolutions_are_of_a_capture() -> None:
    arguments = torch.ones(4), torch.ones(4)
    run = replays_of(scaled, *arguments)
    assert attempts(run, arguments) == 3
    with torch.backends.cudnn.flags(enabled=True, deterministic=not torch.backends.cudnn.deterministic):
        assert attempts(run, arguments) == 3 and len(captures) == 2


def test_graphs_share_the_room_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of 1 MiB, where 10 % of the memory are 2.5 MiB; what a graph held is there for others when it is gone."""
    held = 0
    monkeypatch.setattr(automatic, "free_memory", lambda device: (25 << 20) - held)
    arguments = torch.ones(4), torch.ones(4)
    runs = [replays_of(scaled, *arguments) for _ in range(2)]
    while runs[-1]._captures == 0:
        assert attempts(runs[held >> 20], arguments) == 3
        held += 1 << 20
    assert attempts(replays_of(scaled, *arguments), arguments) == 0
    runs.clear()
    gc.collect()
    held = 0
    assert attempts(replays_of(scaled, *arguments), arguments) == 3


def test_a_capture_that_fails_is_an_ordinary_call(recwarn: pytest.WarningsRecorder) -> None:
    def refuse(_: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    arguments = torch.ones(4), torch.ones(4)
    run = replays_of(scaled, *arguments)
    run._capture = refuse
    for _ in range(2 * CALLS):
        assert torch.equal(run(list(arguments))[0], torch.ones(4))
    assert not replayed and not recwarn.list


def test_arguments_that_take_long_to_copy_are_an_ordinary_call() -> None:
    for size, wanted in ((256, 3), (257, 0)):
        arguments = torch.ones(size), torch.ones(size)
        assert attempts(replays_of(scaled, *arguments), arguments) == wanted


def test_an_argument_that_overlaps_itself_is_an_ordinary_call() -> None:
    arguments = torch.ones(4), torch.ones(1).expand(4)
    assert attempts(replays_of(scaled, *arguments), arguments) == 0


def training(weight: Tensor, x: Tensor) -> list[Tensor]:
    """A forward graph that gives a result, and keeps that, the weight, x and an array of its own."""
    y = (weight * x).exp()
    return [y, y, weight, x, y * 2]


def test_what_a_caller_gets_is_his_and_what_is_kept_is_lent() -> None:
    weight, x = torch.full((4,), 0.5), torch.ones(4)
    run = replays_of(training, weight, x, kind="forward", visible=1)
    assert attempts(run, (weight, x)) == 3
    y, same, kept_weight, kept_x, own = run([weight, x])
    assert y is same, "torch's check of versions asks whether the result changes"
    assert kept_weight is weight and kept_x is x
    assert weight.data_ptr() in lending.lent and own.data_ptr() in lending.lent
    assert y.data_ptr() not in lending.lent and x.data_ptr() not in lending.lent
    before = len(replayed)
    run([weight, x])
    assert len(replayed) == before, "somebody has what was lent"
    del own
    run([weight, x])
    assert len(replayed) == before + 1
    assert torch.equal(y, (weight * x).exp())


def test_who_looks_at_what_is_kept_gets_his_own() -> None:
    weight, x = torch.full((4,), 0.5), torch.ones(4)
    run = replays_of(training, weight, x, kind="forward", visible=1)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        assert attempts(run, (weight, x)) == 0
    assert attempts(run, (weight, x)) == 3
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        assert attempts(run, (weight, x)) == 0


def trained(monkeypatch: pytest.MonkeyPatch) -> list[Replays]:
    """Graphs of the backend are captured where nobody asked for it, as if all of them were on a GPU and it paid."""
    made: list[Replays] = []

    def replays(module: GraphModule, run: Any, static: Sequence[int], **others: Any) -> Replays:
        made.append(Replays(module, recording(run), static, again, **others))
        return made[-1]

    monkeypatch.setattr(backend_module, "Replays", replays)
    monkeypatch.setattr(backend_module, "why_not_captured", lambda module: None)
    monkeypatch.setattr(
        backend_module,
        "automatic_of",
        lambda module, compiled, static, kind, visible: Automatic(kind, 0, 1 << 20, True),
    )
    return made


@pytest.mark.parametrize(
    "train", [one_by_one, kept_losses, sums, two_forward, no_backward, two_copies, compiled_updates]
)
def test_training_has_the_numbers_of_calls(train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = trained(monkeypatch)
    torch.manual_seed(0)
    first, xs = Net(), torch.randn(24, 16, 6).unbind()
    found: list[tuple[list[float], list[Tensor]]] = []
    for given in ({"graphs": False}, {}):
        torch._dynamo.reset()
        options.clear()
        options.update(given)
        model = copy.deepcopy(first)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        call = torch.compile(Net.__call__, backend="irc", dynamic=False, options=dict(options))
        replayed.clear()
        losses = list(train(partial(call, model), optimizer, xs))
        found.append((losses, [x.detach().clone() for x in model.state_dict().values()]))
        assert bool(replayed) == (not given)
    assert found[0][0] == found[1][0]
    for one, other in zip(found[0][1], found[1][1], strict=True):
        assert torch.equal(one, other)
    assert {each._kind for each in made if each._recordings} >= {"forward", "backward"}
    assert len(captures) <= 6 and len(replayed) >= 12


def test_gradients_and_results_that_are_kept_are_never_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    trained(monkeypatch)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    twin = copy.deepcopy(model)
    runs = torch.compile(model, backend="irc", dynamic=False), twin
    kept: list[list[Tensor]] = [[], []]
    for x in torch.randn(2 * CALLS, 5, 6).unbind():
        for run, own, its in zip(runs, kept, (model, twin), strict=True):
            x = x.clone().requires_grad_()
            y = run(x)
            own += [y.detach(), *torch.autograd.grad(y.square().sum(), [x, *its.parameters()])]
    assert len(replayed) >= CALLS
    for a, b in zip(*kept, strict=True):
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()


@pytest.mark.parametrize("changed", ["result", "argument"])
def test_what_is_changed_before_the_backward_pass_is_an_error(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(monkeypatch)
    weight = torch.nn.Parameter(torch.ones(3, 6))
    run = torch.compile(lambda x: torch.sigmoid(x @ weight.t()), backend="irc", dynamic=False)
    for _ in range(CALLS + 4):
        run(torch.ones(5, 6)).sum().backward()
    before = len(replayed)
    x = torch.ones(5, 6)
    y = run(x)
    assert len(replayed) == before + 1
    with torch.no_grad():
        (y if changed == "result" else x).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_backward_pass_is_run_twice_and_never_differentiated(monkeypatch: pytest.MonkeyPatch) -> None:
    trained(monkeypatch)
    weight = torch.nn.Parameter(torch.ones(3, 6))
    run = torch.compile(lambda x: torch.sigmoid(x @ weight.t()).square(), backend="irc", dynamic=False)
    # torch refuses to do it twice where the backward graph may write to what is kept.
    with import_module("torch._functorch.config").patch(donated_buffer=False):
        for _ in range(CALLS + 4):
            run(torch.ones(5, 6)).sum().backward()
        before = len(replayed)
        loss = run(torch.ones(5, 6)).sum()
        one = torch.autograd.grad(loss, weight, retain_graph=True)[0]
        run(torch.zeros(5, 6))  # an ordinary call: what was kept is needed
        two = torch.autograd.grad(loss, weight)[0]
        assert len(replayed) == before + 3
        assert torch.equal(one, two) and one.data_ptr() != two.data_ptr()
        (gradient,) = torch.autograd.grad(run(torch.ones(5, 6)).sum(), weight, create_graph=True)
        with pytest.raises(RuntimeError, match="double backward"):
            gradient.sum().backward()


def test_the_option_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    trained(monkeypatch)
    x = torch.ones(4, 6)
    counts: list[int] = []
    every: list[dict[str, Any]] = [{}, {"options": {"graphs": True}}, {"options": {"graphs": False}}]
    for given in every:
        torch._dynamo.reset()
        replayed.clear()
        run = torch.compile(torch.nn.Linear(6, 3).eval(), backend="irc", dynamic=False, **given)
        with torch.no_grad():
            for _ in range(CALLS + 2):  # the first one is part of the compilation
                run(x)
        counts.append(len(replayed))
    assert counts == [1, CALLS + 1, 0]
    with pytest.raises(Exception, match="graphs: expected True or False, found 1"):
        torch.compile(torch.nn.Linear(6, 3), backend="irc", options={"graphs": 1})(x)


KERNEL = {"element": "bf16", "flops": 0, "bytes_read": 1 << 10, "bytes_written": 1 << 10, "sets": 1}
"""As a manifest has a kernel that does little."""


def compiled(module: GraphModule, *kernels: dict[str, Any], refused: Sequence[str] = ()) -> Any:
    """What a graph would be compiled to: a program of these kernels, in the arena of 1000 bytes. refused: the names of
    nodes that stay with torch."""
    manifest = {"arch": "sm_90a", "arena": 1000}
    executable = SimpleNamespace(manifest=manifest, kernels=[{**KERNEL, **each} for each in kernels])
    nodes = {node: "refused" for node in module.graph.nodes if node.name in refused}
    return SimpleNamespace(programs=[SimpleNamespace(executable=executable)], division=divide(module.graph, nodes))


def why(function: Callable[..., Any], *inputs: Tensor, launches: int = 20, **others: Any) -> str | None:
    module = on_gpu(function, *inputs)
    refused = others.pop("refused", ())
    return why_not_automatic(
        module, compiled(module, {"launches": launches, **others}, refused=refused), [], "inference", None
    )


def test_a_graph_pays_where_the_host_takes_longer() -> None:
    x = torch.ones(64, 64)
    assert why(torch.relu, x) is None
    assert why(torch.relu, x, launches=6) is None
    assert why(torch.relu, x, launches=5) == "5 launches take the host little longer than the 3 of a replay"
    assert why(torch.relu, x, bytes_read=1 << 30) == "the GPU takes 254 us of a call, the host 130"
    assert why(torch.relu, x, flops=100_000_000_000) == "the GPU takes 132 us of a call, the host 130"
    assert str(why(torch.relu, torch.ones(4096, 4096), launches=6)).startswith("the GPU takes"), (
        "of copies of x and of the result"
    )


def test_what_torch_does_in_a_graph_is_known() -> None:
    x = torch.ones(8, 8)
    assert why(lambda x: x.sort()[0].relu(), x) == "torch does aten.sort.default"
    assert why(lambda x: torch.rand_like(x) * x, x) == "torch does aten.rand_like.default"
    assert why(lambda x: (x.exp() @ x).relu(), x, refused=["mm"]) == "torch does aten.mm.default"
    assert why(lambda x: (x.exp() @ x).relu(), x, refused=["exp"]) is None


def test_what_the_environment_switches_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("IRC_GRAPHS", "off"), ("IRC_SYNC", "1"), ("CUDA_LAUNCH_BLOCKING", "1")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert why(torch.relu, torch.ones(4)) == "it is switched off"
    assert why(torch.relu, torch.ones(4)) is None


def test_an_estimate_has_launches_times_and_memory() -> None:
    """Of a convolution that stays with torch, and a program before and behind it."""

    def function(x: Tensor, weight: Tensor) -> Tensor:
        return torch.nn.functional.conv2d(x.relu(), weight).relu()

    x, weight = torch.ones(1, 64, 32, 32), torch.ones(128, 64, 3, 3)
    module = on_gpu(function, x, weight)
    found = estimate_of(module, compiled(module, {"launches": 2}, {"launches": 1, "sets": 3}), [1], "inference", None)
    assert (found.launches, found.replay) == (4, 3)
    of_x, of_y = 4 * x.numel(), 4 * 128 * 30 * 30
    assert (found.taken, found.given) == (of_x, of_y)
    assert found.held == 1000 + of_x + 2 * of_y + SEGMENTS
    machine = automatic.machine_of(compiled(module))
    most = found.most_taken(machine)
    assert (4 * HOST_SECONDS - found.seconds) * machine.bandwidth / 2 == pytest.approx(most + of_y, abs=2)
    flops = 2 * 128 * 30 * 30 * 64 * 9
    wanted = 4 * machine.launch_time + 4 * 2048 / machine.bandwidth + flops / machine.flops["f32"]
    assert found.seconds == pytest.approx(wanted)


@pytest.mark.parametrize("transposed, mask, times", [(False, [True, True, False], 2), (True, [False, True, False], 1)])
def test_gradients_of_a_convolution_are_estimated(transposed: bool, mask: list[bool], times: int) -> None:
    def function(gradient: Tensor, x: Tensor, weight: Tensor) -> Any:
        rest = ([1, 1], [0, 0], [1, 1], transposed, [0, 0], 1, mask)
        found = torch.ops.aten.convolution_backward.default(gradient, x, weight, None, *rest)
        return [each for each in found if each is not None]

    x = torch.ones(1, 64, 32, 32)
    weight = torch.ones(64, 128, 3, 3) if transposed else torch.ones(128, 64, 3, 3)
    side = 34 if transposed else 30
    module = on_gpu(function, torch.ones(1, 128, side, side), x, weight)
    given = compiled(module, {"launches": 0, "bytes_read": 0, "bytes_written": 0})
    found = estimate_of(module, given, [], "backward", None)
    machine = automatic.machine_of(given)
    flops = times * 2 * (64 * 32 * 32 * 128 * 9 if transposed else 128 * 30 * 30 * 64 * 9)
    assert found.seconds == pytest.approx(machine.launch_time + flops / machine.flops["f32"])
