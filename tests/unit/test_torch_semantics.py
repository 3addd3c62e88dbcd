"""What torch promises of a compiled function, on the cpu target: aliasing, mutation, dtypes, shapes, threads, errors."""

from __future__ import annotations

import copy
import gc
import re
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import irc
from irc_frontend.evaluation import current_autotune
from irc_frontend.torch import backend, explain, program
from irc_frontend.torch.backend import MAX_SHAPES, ManyShapes
from irc_frontend.torch.graphs import Compiled, NotCompiled, watching
from irc_frontend.torch.rules import value_of

pytestmark = [
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
    pytest.mark.usefixtures("fresh_torch"),
]


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    return torch.compile(function, backend=backend, **options)


@pytest.fixture
def seen() -> Any:
    """The graphs that are compiled during the test."""
    found: list[Compiled] = []
    with watching(lambda kind, graph: found.append(graph)):
        yield found


def test_results_alias_as_in_torch() -> None:
    @compiled
    def f(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return y, y.clone(), y.clone(), x.clone(), x.view(-1), y.view(-1), x

    x = torch.randn(3, 4)
    y, *copies, x_view, y_view, same = f(x)
    assert same is x or same.data_ptr() == x.data_ptr()
    assert x_view.data_ptr() == x.data_ptr() and y_view.data_ptr() == y.data_ptr()
    assert len({t.data_ptr() for t in (x, y, *copies)}) == 5


def test_mutation_of_arguments_and_of_their_views() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x.add_(1)
        row = x[0]
        row.mul_(2)
        y.t_()
        return row, x * 2

    x, y = torch.randn(3, 4), torch.randn(2, 3)
    a, b = x.clone(), y.clone()
    row, twice = compiled(f)(x, y)
    wanted, wanted_twice = f(a, b)
    torch.testing.assert_close((x, y, row, twice), (a, b, wanted, wanted_twice))
    assert row.data_ptr() == x.data_ptr()


def test_arguments_are_written_after_all_that_reads_them(seen: list[Compiled]) -> None:
    """Also by a program behind an op of torch; those of one element type in one copy."""

    def step(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        result = torch.linalg.eigvalsh(x) + a * b
        a.add_(1.0)
        b.mul_(a)
        n += 1
        return result * b + n

    x = torch.eye(3) * 2
    state = [torch.randn(3), torch.randn(3, 3), torch.tensor(4)]
    twins = [each.clone() for each in state]
    compiled = torch.compile(step, backend=backend)
    for _ in range(3):
        torch.testing.assert_close(compiled(x, *state), step(x, *twins))
        torch.testing.assert_close(state, twins)
    assert [str(node.target) for node in seen[0].division.writes] == ["aten.copy_.default"] * 3
    assert "copy_" not in str(seen[0].division.reasons)


def test_gradients_of_ops_that_keep_more_than_they_give() -> None:
    """A factorization keeps arrays for its gradient in an order of its own."""
    matrix, values = torch.randn(20, 20) + 20 * torch.eye(20), torch.randn(20)
    inputs = [each.clone().requires_grad_() for each in (matrix, values)]
    twins = [each.clone().requires_grad_() for each in (matrix, values)]
    compiled(torch.linalg.solve)(*inputs).sin().sum().backward()
    torch.linalg.solve(*twins).sin().sum().backward()
    torch.testing.assert_close([x.grad for x in inputs], [x.grad for x in twins])


@pytest.mark.parametrize("is_training", [True, False])
def test_running_statistics(is_training: bool) -> None:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.BatchNorm2d(4)
    )
    model.train(is_training)
    twin, compiled = copy.deepcopy(model), torch.compile(model, backend=backend)
    for size in (2, 2, 3, 4):  # of changing shapes in the end
        x = torch.randn(size, 2, 6, 6)
        found, wanted = compiled(x), twin(x)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        found.sum().backward()
        wanted.sum().backward()
    torch.testing.assert_close(model.state_dict(), twin.state_dict(), rtol=1e-4, atol=1e-5)


def test_numbers_and_dtypes_are_promoted_as_in_torch() -> None:
    def f(i: torch.Tensor, h: torch.Tensor, x: torch.Tensor) -> Any:
        return i / 2, i + 0.5, h * x, h + 1e9, i * 3 - 2, i > 1.5, h.float() + x, i.bool() | (i == 0), -i // 2

    i = torch.arange(-3, 5)
    h, x = torch.randn(8, dtype=torch.float16), torch.randn(8)
    torch.testing.assert_close(compiled(f)(i, h, x), f(i, h, x))


def test_numbers_meet_bfloat16_unrounded() -> None:
    """0.044715 is not rounded to bf16 before it is multiplied."""
    x = torch.full((64,), 256.0, dtype=torch.bfloat16)
    f = lambda x: x * 0.044715  # noqa: E731
    torch.testing.assert_close(compiled(f)(x), f(x), rtol=0, atol=0)


def test_casts_to_float8() -> None:
    x = torch.tensor([448.0, 460.0, 500.0, 1e5, -1e6, 1.1, 0.0])
    f = lambda x: (x.to(torch.float8_e4m3fn).float(), x.to(torch.float8_e5m2).float())  # noqa: E731
    torch.testing.assert_close(compiled(f)(x), f(x), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_signs_and_casts_to_bytes_of_all_numbers(dtype: torch.dtype) -> None:
    """The sign of NaN is 0, and what does not fit in a byte wraps."""
    x = torch.tensor([-1.5, -1.0, -0.5, -300.7, 255.9, 256.0, 3e4, float("nan"), 0.0], dtype=dtype)
    f = lambda x: (torch.sign(x), x.to(torch.uint8), torch.zeros(9, dtype=torch.uint8).copy_(x * 1.0))  # noqa: E731
    torch.testing.assert_close(compiled(f)(x), f(x), rtol=0, atol=0)


READS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "cross_entropy": lambda x, i: nn.functional.cross_entropy(x, i),
    "embedding": lambda x, i: nn.functional.embedding(i, x),
    "embedding of one row": lambda x, i: nn.functional.embedding(i, x.sum(0, keepdim=True).expand(5, 5)),
    "embedding of equal rows": lambda x, i: nn.functional.embedding(i, torch.ones(5, 2)),
    "gather": lambda x, i: x.gather(1, i[:, None]),
    "index": lambda x, i: x[i, i],
    "index_add": lambda x, i: x.index_add(0, i, torch.ones(5, 5)),
    "index_put": lambda x, i: x.index_put((i,), torch.ones(5)),
    "index_select": lambda x, i: x.index_select(1, i),
    "scatter": lambda x, i: x.scatter(1, i[:, None], 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i[None], torch.ones(1, 5)),
    "take": lambda x, i: x[0].take(i),
}


@pytest.mark.parametrize("name", READS)
def test_indices_out_of_range_are_an_error_as_in_torch(name: str) -> None:
    """Negative ones too, where torch does not count them from the end."""
    x, run = torch.randn(5, 5), compiled(READS[name])
    for index in (0, 4, 5, -1, -6):
        indices = torch.tensor([0, index, 2, 3, 1])
        try:
            wanted = READS[name](x, indices)
        except (IndexError, RuntimeError):
            with pytest.raises(irc.IrcError, match=f"index {index} is out of range"):
                run(x, indices)
        else:
            torch.testing.assert_close(run(x, indices), wanted)


def test_labels_that_are_ignored_may_be_out_of_range() -> None:
    x, labels = torch.randn(3, 5, requires_grad=True), torch.tensor([1, -100, 4])
    loss = nn.functional.cross_entropy
    found, wanted = (torch.autograd.grad(f(x, labels), x) for f in (compiled(loss), loss))
    torch.testing.assert_close(found, wanted)


def test_a_loss_keeps_the_scores_of_classes_as_they_are(seen: list[Compiled]) -> None:
    """And two numbers a row; neither them nor what log_softmax gives in f32."""
    head, x, labels = nn.Linear(16, 40), torch.randn(24, 16), torch.randint(0, 40, (24,))

    def step(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            scores = head(x)
        return nn.functional.cross_entropy(scores.float(), labels)

    losses = [f(x, labels) for f in (compiled(step), step)]
    gradients = [torch.autograd.grad(loss, list(head.parameters())) for loss in losses]
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=2e-2, atol=1e-4)
    kept = [value_of(node) for level in seen[0].division.subgraphs for each in level for node in each.results]
    assert [x.dtype for x in kept if x.shape == (24, 40)] == [torch.bfloat16]
    assert [x.dtype for x in kept if x.numel() == 24 and x.is_floating_point()] == [torch.float32] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("shape", "dim"), [((), 0), ((0, 4), 1), ((4, 0), 0), ((3, 5), 0), ((2, 3, 4), -2)])
def test_log_softmax(dtype: torch.dtype, shape: tuple[int, ...], dim: int) -> None:
    x = 90 * torch.randn(shape).to(dtype)
    wanted = torch.log_softmax(x, dim)
    torch.testing.assert_close(
        compiled(torch.log_softmax)(x, dim), wanted, rtol=1e-2 if dtype.itemsize == 2 else 1e-5, atol=1e-4
    )


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("correction", [None, 0, 1.5, 5, 5.5])
def test_variances_of_any_correction(correction: float | None, dtype: torch.dtype, seen: list[Compiled]) -> None:
    """Of 5 elements: infinite where none are left, also behind the point."""

    def f(x: torch.Tensor) -> Any:
        return torch.var_mean(x, 1, correction=correction)  # pyright: ignore[reportArgumentType, reportCallIssue]

    x = torch.randn(4, 5, dtype=dtype)
    torch.testing.assert_close(compiled(f)(x), f(x))
    assert not any(node for graph in seen for level in graph.division.left for node in level)


def test_autocast() -> None:
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4))
    run, x = compiled(model), torch.randn(8, 16)
    with torch.autocast("cpu", torch.bfloat16):
        found, wanted = run(x), model(x)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)


def test_strides_of_arguments_and_results() -> None:
    def f(x: torch.Tensor) -> Any:
        return x.permute(2, 0, 1) * 2, (x + 1).permute(0, 2, 1), torch.relu(x[:, ::2])

    for x in (torch.randn(2, 3, 4), torch.randn(4, 3, 2).permute(2, 1, 0), torch.randn(2, 6, 4)[:, ::2]):
        found, wanted = compiled(f)(x), f(x)
        torch.testing.assert_close(found, wanted)
        assert [y.stride() for y in found[:2]] == [y.stride() for y in wanted[:2]]


def test_no_elements() -> None:
    f = lambda x: (x.sum(0), torch.relu(x) @ torch.ones(4, 2), torch.cat([x, x]))  # noqa: E731
    x = torch.randn(0, 4)
    torch.testing.assert_close(compiled(f)(x), f(x))


def test_arrays_made_from_nothing() -> None:
    f = lambda: (torch.arange(4) * 2, torch.tril(torch.ones(3, 3)))  # noqa: E731
    torch.testing.assert_close(compiled(f)(), f())


def test_random_numbers_are_those_of_torch() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.rand_like(x) * x.relu() + torch.dropout(x, 0.5, True) + torch.randn(x.shape).abs()

    x = torch.randn(4, 8)
    torch.manual_seed(3)
    found = compiled(f)(x)
    torch.manual_seed(3)
    torch.testing.assert_close(found, f(x))


def test_a_graph_break(seen: list[Compiled]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return y - 1

    for x in (torch.ones(4), -torch.ones(4)):
        torch.testing.assert_close(compiled(f)(x), f(x))
    assert len(seen) == 3


def test_changing_shapes_are_programs_for_classes_of_sizes(seen: list[Compiled]) -> None:
    """Sizes up to 8, 64, 512 and 4096."""
    model = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))
    run = compiled(model, dynamic=True)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error")
        for rows in [*range(2, 2 + MAX_SHAPES + 4), 64, 100, 2, 3, 1000, 511]:
            x = torch.randn(rows, 4)
            torch.testing.assert_close(run(x), model(x))
    assert len(seen) == 4 and all(len(graph.programs) == 1 for graph in seen)


def test_kernels_of_a_class_are_right_for_its_sizes(seen: list[Compiled]) -> None:
    """On the simulator, as there is no GPU."""
    norm, first, second = nn.LayerNorm(64), nn.Linear(64, 128), nn.Linear(128, 32)
    model = nn.Sequential(norm, first, nn.GELU(), second).to(torch.bfloat16)
    x = torch.randn(100, 64, dtype=torch.bfloat16)
    torch._dynamo.mark_dynamic(x, 0)
    with torch.no_grad():
        compiled(model)(x)
        ((of_class,),) = [graph.programs for graph in seen]
        of_class.executable = irc.compile(of_class.module(), target="sim", arch="sm_90a")
        for rows in (65, 100, 333):
            x = torch.randn(rows, 64, dtype=torch.bfloat16)
            arguments = [*norm.parameters(), None, x, *first.parameters(), *second.parameters()]
            taken: list[Any] = [arguments[int(re.findall(r"\d+", node.name)[0])] for node in of_class.subgraph.inputs]
            torch.testing.assert_close(of_class.at({"s0": rows})(*taken), model(x), atol=0.02, rtol=0.02)


class Packed(nn.Module):
    """Attention of words that are numbered, as libraries of models do it: which sequence a word is of is found from the
    numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.of_places, self.qkv = nn.Embedding(10, 16), nn.Embedding(100, 16), nn.Linear(16, 48)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        batch, length = words.shape
        places = torch.arange(length).unsqueeze(0)
        numbers = places.expand(batch, -1)
        of = (torch.diff(numbers, prepend=numbers[:, :1] - 1, dim=-1) != 1).cumsum(-1)
        each, row, column = torch.arange(batch)[:, None, None, None], places[:, None, :, None], places[:, None, None]
        seen = (column <= row) & (of[each, row] == of[each, column])
        x = self.table(words) + self.of_places(places)
        q, k, v = (part.view(batch, length, 2, 8).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return x + F.scaled_dot_product_attention(q, k, v, seen).transpose(1, 2).flatten(2)


def test_packed_sequences_of_changing_lengths_are_by_classes(seen: list[Compiled]) -> None:
    model = Packed()
    run = compiled(model, dynamic=True)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error")
        for batch, length in [(2, 9), (3, 40), (8, 64), (2, 65), (5, 99), (7, 10), (4, 33), (6, 17), (2, 20), (3, 70)]:
            words = torch.randint(0, 10, (batch, length))
            torch.testing.assert_close(run(words), model(words))
    assert len(seen) == 2


def test_training_with_changing_shapes_is_by_classes(seen: list[Compiled]) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))
    run = compiled(model, dynamic=True)
    for rows in (2, 5, 7, 8):
        x = torch.randn(rows, 4)
        run(x).square().sum().backward()
        found = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        model.zero_grad()
        model(x).square().sum().backward()
        torch.testing.assert_close(found, [p.grad for p in model.parameters()])
        model.zero_grad()
    assert len(seen) == 2


def test_arrays_that_lie_otherwise_are_no_new_class(seen: list[Compiled]) -> None:
    run = compiled(lambda x: x.exp() * 2, dynamic=True)
    for x in (torch.randn(5, 8), torch.randn(6, 8), torch.randn(8, 6).T, torch.randn(8, 7).T, torch.randn(8, 7).T):
        torch.testing.assert_close(run(x), x.exp() * 2)
    classes = [graph for graph in seen if graph.programs[0]._dims]
    assert len(classes) <= 2 and len(seen) <= 4


def test_what_stays_with_torch_has_the_sizes_of_the_call(seen: list[Compiled]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.fft.fft(x.tanh(), dim=1).abs().reshape(x.shape[0] * 2, 4) * 2

    run = compiled(f)
    for rows in (3, 5, 8):
        x = torch.randn(rows, 8)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=512)
        torch.testing.assert_close(run(x), f(x))
    assert len(seen) == 1 and any(seen[0].division.left)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x / x.shape[0],
        lambda x: x * x.shape[0] + 1,
        lambda x: x.roll(x.shape[0] // 2),
        lambda x: torch.cond(x.sum() > 0, lambda x: x.sin() * 2, lambda x: x.cos() - 1, (x,)),
    ],
)
def test_what_computes_with_a_size_is_a_program_for_each(f: Any, seen: list[Compiled]) -> None:
    run = compiled(f, dynamic=True)
    for rows in (3, 5, 8):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(run(x), f(x))
    assert len(seen) == 3


def test_changing_shapes_compile_a_bounded_number_of_programs(seen: list[Compiled]) -> None:
    run = compiled(lambda x: x / x.shape[0], dynamic=True)
    with pytest.warns(ManyShapes, match=r"computes with a size.*Pad the inputs") as warned:
        for rows in [*range(2, 2 + MAX_SHAPES + 4), 2, 3]:
            x = torch.randn(rows, 4)
            torch.testing.assert_close(run(x), x / rows)
    assert len(seen) == MAX_SHAPES and len(warned) == 1


def test_the_number_of_shapes_is_an_option(seen: list[Compiled]) -> None:
    linear = nn.Linear(4, 8)
    run = compiled(lambda x: linear(x).relu() / x.shape[0], dynamic=True, options={"max_shapes": 2})
    with pytest.warns(ManyShapes, match='for 2 of them.*"max_shapes": 8') as warned:
        for rows in (2, 3, 4, 5):
            run(torch.randn(rows, 4)).mean().backward()
    assert [graph.division.subgraphs != [] for graph in seen] == [True] * 4 and len(warned) == 1
    with pytest.raises(Exception, match="has the options max_shapes, autotune and graphs, found speed"):
        compiled(nn.ReLU(), options={"speed": 1})(torch.ones(2))


@pytest.mark.parametrize(("mode", "autotune"), [("default", False), ("max-autotune-no-cudagraphs", True)])
def test_modes_say_whether_kernels_are_tuned(
    monkeypatch: pytest.MonkeyPatch, mode: str, autotune: bool | float
) -> None:
    found: list[bool | float] = []
    module = sys.modules["irc_frontend.torch.backend"]
    real = module._begun
    monkeypatch.setattr(module, "_begun", lambda *given: found.append(current_autotune()) or real(*given))
    monkeypatch.setattr("irc.driver.tuning.tune_missing", lambda *_: None)
    x = torch.randn(5)
    torch.testing.assert_close(compiled(nn.ReLU(), mode=mode)(x), x.relu())
    assert found == [autotune]


def test_a_mode_without_a_meaning_is_an_error() -> None:
    with pytest.raises(Exception, match="modes default, reduce-overhead, max-autotune, .*found fast"):
        backend(torch.fx.symbolic_trace(nn.ReLU()), [], mode="fast")
    with pytest.raises(Exception, match="graphs: expected True or False, found 2"):
        compiled(nn.ReLU(), options={"graphs": 2})(torch.ones(2))


def test_changing_shapes_with_gradients() -> None:
    run = compiled(lambda x, w: torch.tanh(x @ w).sum(), dynamic=True)
    for rows in (2, 5, 7):
        x, w = torch.randn(rows, 4, requires_grad=True), torch.randn(4, 3, requires_grad=True)
        found = torch.autograd.grad(run(x, w), (x, w))
        torch.testing.assert_close(found, torch.autograd.grad(torch.tanh(x @ w).sum(), (x, w)))


def test_threads_that_meet_new_sizes() -> None:
    """What is traced in a call does not meet what Dynamo traces in another thread, nor calls of what is compiled. A
    number that changes may be any."""
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            f = compiled(lambda x: (x * number).sum(0))
            for rows in range(4, 7):
                x = torch.ones(rows, 3 + number)
                torch.testing.assert_close(f(x), (x * number).sum(0))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_two_threads() -> None:
    run, x = compiled(nn.Sequential(nn.Linear(8, 8), nn.GELU())), torch.randn(4, 8)
    wanted, results = run(x), [False] * 4

    def work(number: int) -> None:
        results[number] = all(torch.equal(run(x), wanted) for _ in range(20))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_an_exception_of_the_user_passes_through() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        torch._dynamo.graph_break()
        raise LookupError("of the user")

    with pytest.raises(LookupError, match="of the user"):
        compiled(f)(torch.ones(2))


def test_an_interrupted_compilation_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    run, x = compiled(lambda x: x.relu() * 3), torch.randn(4)
    with monkeypatch.context() as patch:
        patch.setattr(program, "begin_nodes", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(x)
    torch.testing.assert_close(run(x), x.relu() * 3)


@pytest.mark.filterwarnings("default::irc_frontend.torch.graphs.NotCompiled")
def test_what_cannot_be_compiled_runs_in_torch(monkeypatch: pytest.MonkeyPatch, seen: list[Compiled]) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise irc.IrcError("no room")

    monkeypatch.setattr(program, "begin_nodes", refuse)
    x = torch.randn(4)
    with pytest.warns(NotCompiled, match="no room"):
        found = compiled(lambda x: x.relu() * 3)(x)
    torch.testing.assert_close(found, x.relu() * 3)
    assert not seen[0].programs and "no room" in str([*seen[0].division.reasons.values()])


def test_memory_over_many_calls() -> None:
    run, x = compiled(nn.Sequential(nn.Linear(8, 8), nn.Softmax(-1))), torch.randn(4, 8, requires_grad=True)

    def objects() -> int:
        for _ in range(400):
            run(x)
        gc.collect()
        return len(gc.get_objects())

    objects()
    before = objects()
    assert objects() - before < 50


def test_explain_says_what_is_compiled_and_why_not() -> None:
    class Factors(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.eigvals(x @ x.mT + torch.eye(x.shape[-1])).real

    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), Factors())
    buffers = [buffer.clone() for buffer in model.buffers()]
    found = explain(model, torch.randn(2, 3, 8, 8))
    assert [graph.kind for graph in found.graphs] == ["forward", "backward"]
    assert found.left["aten.linalg_eig.default", "no rule"] == 1 and found.compiled > 5
    assert all(graph.kernels and graph.nbytes and graph.flops for graph in found.graphs)
    assert "aten.linalg_eig.default" in str(found) and "forward" in str(found)
    assert not any("convolution" in op for op, _ in found.left)
    torch.testing.assert_close([*model.buffers()], buffers)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_explain_does_not_count_sorting_among_the_kernels() -> None:
    found = explain(lambda x: torch.sort(x.exp(), -1)[0].sum(-1), torch.randn(4, 8))
    (graph,) = found.graphs
    assert not graph.left and graph.kernels == 2 and graph.nbytes == 2 * 4 * 32 + 4 * 32 + 4 * 4


def test_explain_shows_graph_breaks() -> None:
    """Also those of a function that torch does not trace at all, every time."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.exp().sum() > 0 else x

    assert explain(f, torch.ones(4)).breaks == {"Data-dependent branching": 1}
    for _ in range(2):
        found = explain(nn.LSTM(4, 8), torch.randn(5, 2, 4))
        assert not found.graphs and found.breaks == {"Attempted to wrap RNN, GRU, or LSTM": 1}
        assert "RNN, GRU, or LSTM" in str(found)
    assert not explain(nn.ReLU(), torch.ones(4)).breaks


def test_the_backend_has_a_name() -> None:
    """The entry point, which torch finds by the installed package."""
    from importlib.metadata import entry_points

    found = [entry for entry in entry_points(group="torch_dynamo_backends") if entry.name == "irc"]
    assert not found or found[0].load() is backend


def test_graphs_have_one_program_for_each_run_of_ops(seen: list[Compiled]) -> None:
    """What lies between two convolutions is one program; views beside them are torch's."""
    first, second = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 5, 3)
    with torch.no_grad():
        compiled(lambda x: second(first(x).relu() * 2).flatten(1))(torch.randn(1, 3, 8, 8))
    assert [len(graph.programs) for graph in seen] == [1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: nn.functional.pad(x, (1, 1), value=300),
        lambda x: x.scatter(0, torch.tensor([0]), 300),
        lambda x: x.index_fill(0, torch.tensor([0]), -129),
    ],
)
def test_a_number_that_a_type_does_not_have_is_an_error_as_in_torch(function: Any) -> None:
    x = torch.tensor([1, 2, 3], dtype=torch.int8)
    for run in (function, compiled(function)):
        with pytest.raises(RuntimeError, match="cannot be converted to type int8_t without overflow"):
            run(x)


def test_unsigned_numbers_below_0_wrap_as_in_torch() -> None:
    """But where an array is padded."""
    x = torch.tensor([1, 2, 3], dtype=torch.uint8)
    found = compiled(lambda x: x.index_fill(0, torch.tensor([0]), -1).masked_fill(x == 3, -2))(x)
    assert found.tolist() == [255, 2, 254]
    with pytest.raises(RuntimeError, match="cannot be converted to type uint8_t without overflow"):
        compiled(lambda x: nn.functional.pad(x, (1, 1), value=-1))(x)


def test_sizes_of_0_are_of_no_class() -> None:
    run = compiled(lambda x: (x * 2).sum(0))
    for rows in (5, 0, 0, 5, 1):
        x = torch.randn(rows, 3)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        torch.testing.assert_close(run(x), (x * 2).sum(0))


def test_a_shape_that_would_be_less_than_0_for_other_sizes_is_compiled_by_itself() -> None:
    """Of the gradient of a convolution, whose image and window both change."""
    x, w = torch.randn(5, 4, 6, 7, requires_grad=True), torch.randn(4, 4, 3, 3, requires_grad=True)
    found, wanted = compiled(F.conv2d, dynamic=True)(x, w), F.conv2d(x, w)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    found, wanted = (torch.autograd.grad(each, (x, w), torch.ones_like(wanted)) for each in (found, wanted))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_shapes_change_in_graphs_with_effects() -> None:
    """As checks of errors are: what keeps their order is no array."""
    run = compiled(lambda x: torch.linalg.inv(x * 2), dynamic=True)
    for n in (2, 3, 20):
        x = torch.randn(2, n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n)) + 4 * torch.eye(n)
        torch.testing.assert_close(run(x), torch.linalg.inv(x * 2))
