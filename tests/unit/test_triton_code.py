"""Functions of Triton: declared, specialized, kept as machine code, referred to where there is no GPU. NVRTC is in
Triton's place (`fake_triton.py`), but for tests that need it."""

# pyright: reportMissingParameterType=false, reportUndefinedVariable=false

from __future__ import annotations

import dataclasses
import inspect
import shutil
import sys
from pathlib import Path
from typing import Any

import fake_triton
import numpy as np
import pytest
from declared_kernels import check_op_of_torch, module_of
from fake_triton import jit
from noting_device import NotingDevice

import irc
import irc_frontend as ir
from irc.codegen import print_module
from irc.codegen.elf import resources_of
from irc.codegen.nvrtc import compile_source
from irc.codegen.triton_compiler import parameters_of
from irc.driver.build import build
from irc.driver.compiler import Origin, artifact_options, compile_artifact
from irc.driver.program import new_context
from irc.driver.reporting import report
from irc.driver.subjects import subject_of
from irc.ir.alignment import align
from irc.ir.functions import entry_of
from irc.ir.parser import parse_ir
from irc.ir.printer import print_ir
from irc.runtime import saved
from irc.runtime.artifact import Artifact
from irc.runtime.executor import Executor
from irc.runtime.plan import Plan
from irc.support.diagnostics import IrcError
from irc_frontend.kernels import TritonKernel

pytestmark = pytest.mark.usefixtures("on_cpu")

X = np.linspace(-1, 1, 320, dtype=np.float32)
Y = np.full(320, 3, np.float32)


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_triton.install(monkeypatch)


@jit("const int i = blockIdx.x * BLOCK + threadIdx.x; if (i < N) out[i] = alpha * x[i] + y[i];")
def axpy_of(out, x, N, alpha, y, BLOCK: tl.constexpr):  # noqa: F821
    pass


def axpy(**options: Any) -> TritonKernel:
    given: dict[str, Any] = {
        "function": axpy_of,
        "operands": "x: f32[N], y: f32[N], alpha: f32",
        "results": "out: f32[N]",
        "values": {"BLOCK": 128},
        "grid": lambda N, BLOCK: (N + BLOCK - 1) // BLOCK,
        "reference": lambda x, y, alpha: alpha * x + y,
    }
    return ir.triton_kernel(**(given | options))


def compiled(function: Any, *arrays: Any) -> Artifact:
    return build(module_of(function, *arrays))


def test_other_targets_run_the_reference() -> None:
    kernel, expected = axpy(), 2 * X + Y
    np.testing.assert_array_equal(kernel(X, Y, 2.0), expected)
    np.testing.assert_array_equal(kernel(X, alpha=2.0, y=Y), expected)
    with ir.target("sim"):
        np.testing.assert_array_equal(kernel(X, Y, 2.0), expected)
    assert not fake_triton.compiled


def test_gradients() -> None:
    kernel = axpy()
    np.testing.assert_array_equal(ir.grad(lambda x: kernel(x, Y, 3.0).sum())(X), np.full_like(X, 3))

    @kernel.gradient
    def _(g: ir.Tensor, out: ir.Tensor, x: ir.Tensor, y: ir.Tensor, alpha: float) -> Any:
        return g * (100 * alpha), None

    np.testing.assert_array_equal(ir.grad(lambda x: kernel(x, Y, 2.0).sum())(X), np.full_like(X, 200))


def test_parameters_are_passed_in_the_order_of_the_function() -> None:
    kernel = axpy(num_warps=8, num_stages=lambda BLOCK: BLOCK // 32)
    artifact = compiled(lambda x, y: ir.exp(kernel(ir.sqrt(x), y, 2.5)), X, Y)
    launch = artifact.plan["steps"][1]
    assert (launch["kernel"], launch["grid"], launch["block"], launch["shared"]) == ("axpy_of_0", [3, 1, 1], 256, 256)
    spaces = [each.get("space", each.get("value")) for each in launch["parameters"]]
    assert spaces == ["arena", "arena", 320, 2.5, "argument", 0, 0]
    assert [each.get("element") for each in launch["parameters"]] == [None, None, "i32", "f32", None, "i64", "i64"]
    (source,) = fake_triton.compiled
    assert source.signature == {
        "out": "*fp32",
        "x": "*fp32",
        "N": "i32",
        "alpha": "fp32",
        "y": "*fp32",
        "BLOCK": "constexpr",
    }
    assert source.constexprs == {(5,): 128}
    assert source.attrs == {(at,): [["tt.divisibility", 16]] for at in (0, 1, 2, 4)}


@jit("out[0] = x[0];")
def many_of(x: const, out, M, K: i64, one, flag, fixed, nothing, wide, small=5, mode: tl.constexpr = "sum"):  # noqa: F821
    pass


def test_numbers_are_specialized_as_triton_does() -> None:
    kernel = ir.triton_kernel(
        many_of,
        operands="x: u8[M, K], flag: bool",
        results="out: u8[1]",
        values={"one": 1, "fixed": 16, "nothing": None, "wide": lambda K: K << 32},
        grid=1,
    )
    launch = compiled(lambda x: kernel(x, True), np.zeros((7, 32), np.uint8)).plan["steps"][0]
    (source,) = fake_triton.compiled
    assert [source.signature[name] for name in ("x", "M", "K", "flag", "fixed", "wide", "small")] == [
        *("*ku8", "i32", "i64", "i1", "i32", "i64", "i32")
    ]
    assert source.constexprs == {(4,): 1, (7,): None, (10,): "sum"}
    assert sorted(at for (at,) in source.attrs) == [0, 1, 3, 8]
    numbers = [(each["element"], each["value"]) for each in launch["parameters"] if "element" in each]
    assert numbers == [
        *(("i32", 7), ("i64", 32), ("bool", 1), ("i32", 16), ("i64", 32 << 32), ("i32", 5), ("i64", 0), ("i64", 0))
    ]


def test_the_machine_code_is_in_the_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read back needs no Triton, and is the same machine code."""
    module = module_of(lambda x, y: axpy()(x, y, 2.0), X, Y)
    text = print_ir(module)
    for name in ("triton", "triton.compiler", "triton.backends", "triton.backends.compiler"):
        monkeypatch.setitem(sys.modules, name, None)
    again = parse_ir(new_context(), text, "again.mlir")
    assert print_ir(again) == text
    first, second = build(module), build(again)
    assert first.kernels[0].cubin == second.kernels[0].cubin
    assert first.kernels[0].cubin[:4] == b"\x7fELF" and ".entry axpy_of(" in first.kernels[0].ptx
    line = inspect.getsourcelines(axpy_of.fn)[1] + 1
    assert first.kernels[0].location == f"{__file__}:{line}:1"
    entry = first.manifest["kernels"][0]
    assert entry["registers"] == compile_of(axpy_of).resources["axpy_of"].registers and entry["spills"] == 0


def compile_of(function: Any) -> Any:
    """What NVRTC says of a function, compiled as in a call with X."""
    source = fake_triton.compiled[-1]
    text = fake_triton.text_of(source)
    return compile_source(text, "sm_90a")


def test_resources_are_read_from_machine_code() -> None:
    text = """
extern "C" __global__ void framed(float* x) {
  float own[100];
  for (int i = 0; i < 100; i++) own[i] = x[i];
  x[threadIdx.x] = own[int(x[3])] + own[int(x[4])];
}
extern "C" __global__ void small(float* x) { x[0] = 1; }
"""
    made = compile_source(text, "sm_90a")
    for name, said in made.resources.items():
        found = resources_of(made.cubin, name)
        assert (found.registers, found.stack) == (said.registers, said.stack)
    assert made.resources["framed"].stack == 400
    with pytest.raises(IrcError, match="no kernel large"):
        resources_of(made.cubin, "large")
    with pytest.raises(IrcError, match="64-bit ELF"):
        resources_of(b"PTX", "small")


def test_the_text_of_the_function_is_shown() -> None:
    module = module_of(lambda x, y: axpy()(x, y, 2.0), X, Y)
    source = build(module.clone()).kernels[0].source
    assert source.startswith("// axpy_of_0: machine code of axpy_of\n// out: *fp32, a multiple of 16\n")
    assert "// BLOCK = 128\n// Triton 3.6.0\n// def axpy_of(out, x, N, alpha, y" in source
    assert compile_source(source, "sm_90a").resources == {}
    assert print_module(module) == source
    page = report(Origin(subject_of(module), "cuda", artifact_options()))
    assert any("// def axpy_of" in line.text for column in page.columns for line in column.lines)
    assert any("EXIT" in line.text for column in page.columns for line in column.lines) or not shutil.which("nvdisasm")


def test_two_kinds_of_call_are_two_kernels() -> None:
    kernel = axpy()
    artifact = compiled(lambda x, y: kernel(kernel(kernel(x, y, 2.0), y, 3.0), y, 2.0), X, Y)
    assert [step["kernel"] for step in artifact.plan["steps"]] == ["axpy_of_0", "axpy_of_1", "axpy_of_0"]
    assert [(each.name, each.symbol) for each in artifact.kernels] == [
        ("axpy_of_0", "axpy_of"),
        ("axpy_of_1", "axpy_of"),
    ]


def test_it_is_loaded_by_the_name_that_triton_gave(tmp_path: Path) -> None:
    artifact = compiled(lambda x, y: axpy()(x, y, 2.0), X, Y)
    assert Artifact.from_bytes(artifact.to_bytes()).kernels == artifact.kernels
    asked: list[tuple[str, int]] = []

    class Device(NotingDevice):
        def load(self, cubin: bytes, kernel: str, shared: int) -> Any:
            asked.append((kernel, shared))
            return super().load(cubin, kernel, shared)

    Executor(artifact, Plan.from_json(artifact.plan), Device())  # pyright: ignore[reportArgumentType]
    assert asked == [("axpy_of", 192)]
    saved.save(artifact, tmp_path / "f.irx")
    document, data = saved._read(tmp_path / "f.irx")  # pyright: ignore[reportPrivateUsage]
    again = saved._artifact(document, data)  # pyright: ignore[reportPrivateUsage]
    assert (again.kernels[0].name, again.kernels[0].symbol) == ("axpy_of_0", "axpy_of")


@jit("atomicAdd(&y[at[threadIdx.x]], 1.0f);", hidden=0)
def bump_of(at, y):
    pass


def test_effects() -> None:
    """A result that holds an operand is the parameter for both; others are zero before."""
    at = np.zeros(4, np.int32)
    bump = ir.triton_kernel(bump_of, operands="x: f32[N], at: i32[K]", results="y: f32[N]", updates={"y": "x"}, grid=1)
    steps = compiled(bump, X, at).plan["steps"]
    assert [step["is"] for step in steps] == ["Copy", "Launch"]
    assert [each["space"] for each in steps[1]["parameters"]] == ["argument", "result"]
    count = ir.triton_kernel(bump_of, operands="at: i32[K]", results="y: f32[16]", zeroed=["y"], grid=1)
    assert [step["is"] for step in compiled(count, at).plan["steps"]] == ["Memset", "Launch"]


@jit("((float*)hidden0)[0] = x[0]; out[0] = x[0];", global_scratch_size=256)
def scratched_of(x, out):
    pass


def test_blocks_have_scratch_memory_of_their_own() -> None:
    kernel = ir.triton_kernel(scratched_of, operands="x: f32[N]", results="out: f32[N]", grid=(3, 2))
    artifact = compiled(lambda x: ir.exp(kernel(x)), X)
    launch = artifact.plan["steps"][0]
    scratch = launch["parameters"][2]
    assert (scratch["space"], scratch["size"]) == ("arena", 6 * 256)
    assert launch["parameters"][3] == {"is": "Scalar", "element": "i64", "value": 0, "dim": None}


def test_machine_code_is_for_one_architecture() -> None:
    module = module_of(lambda x, y: axpy()(x, y, 2.0), X, Y)
    with pytest.raises(IrcError, match="is for sm_90a, and the module for sm_80") as error:
        compile_artifact(module, arch="sm_80")
    assert "sm_80" in (error.value.hint or "")


def test_an_image_that_is_damaged() -> None:
    text = print_ir(module_of(lambda x, y: axpy()(x, y, 2.0), X, Y))
    damaged = text.replace('image [\n    "e', 'image [\n    "A')
    assert damaged != text
    with pytest.raises(IrcError, match="the image of axpy_of_0 is damaged"):
        build(parse_ir(new_context(), damaged, "damaged.mlir"))


def test_an_argument_that_may_begin_anywhere() -> None:
    module = module_of(lambda x, y: axpy()(x, y, 2.0), X, Y)
    align(entry_of(module), {0: 4})
    with pytest.raises(IrcError, match="axpy_of_0 is machine code for arrays that begin at multiples of 16") as error:
        build(module)
    assert "align" in (error.value.hint or "")


@pytest.mark.parametrize("target", ["cpu", "sim", "interpret"])
def test_ir_of_a_kernel_is_for_a_gpu(target: str) -> None:
    module = module_of(lambda x, y: axpy()(x, y, 2.0), X, Y)
    with pytest.raises(IrcError, match="axpy_of_0 is") as error:
        irc.compile(module, target)(X, Y)
    assert "reference=" in (error.value.hint or "")


def test_a_kernel_without_a_reference() -> None:
    with pytest.raises(IrcError, match="axpy_of is a function of Triton, which a GPU alone runs") as error:
        axpy(reference=None)(X, Y, 2.0)
    assert "reference=" in (error.value.hint or "")


@jit("", error=(3, 4, "unsupported statement"))
def wrong_of(x, out):
    first = x
    missing(first)  # noqa: F821


def test_an_error_of_triton_is_at_its_line_of_the_file() -> None:
    kernel = ir.triton_kernel(wrong_of, operands="x: f32[N]", results="out: f32[N]", grid=1)
    with pytest.raises(IrcError, match="Triton cannot compile wrong_of: unsupported statement") as error:
        module_of(kernel, X)
    line = inspect.getsourcelines(wrong_of.fn)[1] + 3
    assert str(error.value).startswith(f"{__file__}:{line}:5")


def test_triton_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(IrcError, match="a function of Triton needs Triton") as error:
        module_of(lambda x, y: axpy()(x, y, 2.0), X, Y)
    assert "pip install triton" in (error.value.hint or "")


def test_another_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    class Older:
        def __init__(self, fn: Any, signature: Any, constants: Any, attrs: Any):
            pass

    monkeypatch.setattr(sys.modules["triton.compiler"], "ASTSource", Older)
    with pytest.raises(
        IrcError, match="Triton 3.6.0 is not as irc knows it: ASTSource takes fn, signature, con"
    ) as error:
        module_of(lambda x, y: axpy()(x, y, 2.0), X, Y)
    assert "3.3" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"launch_cooperative_grid": True}, "one cooperative grid"),
        ({"profile_scratch_size": 8}, "takes 8 bytes for a profile"),
        ({"global_scratch_size": 8, "hidden": 0}, "is not as irc knows it"),
    ],
)
def test_launches_that_irc_does_not_do(about: dict[str, Any], message: str) -> None:
    function = fake_triton.Function(bump_of.fn, bump_of.cuda, about.pop("hidden", 2), about)
    kernel = ir.triton_kernel(function, operands="at: i32[K]", results="y: f32[16]", zeroed=["y"], grid=1)
    with pytest.raises(IrcError, match=message):
        module_of(kernel, np.zeros(4, np.int32))


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"function": lambda x: x}, "expected a function under triton.jit, found function", "triton.autotune"),
        (
            {"values": {}, "grid": 1},
            "the parameter BLOCK, which is not declared",
            "operands and results declare N, alpha",
        ),
        ({"values": {"BLOCK": 8, "WARPS": 4}}, "has no parameter WARPS", "its parameters are out, x, N"),
        ({"values": {"BLOCK": 8, "N": 4}}, "values: N is declared", "no array, number or extent"),
        ({"operands": "z: f32[N], y: f32[N], alpha: f32"}, "has no parameter z", "out, x, N, alpha, y, BLOCK"),
        ({"updates": {"out": "x"}}, "has a parameter x, which a result updates", "for both"),
        ({"results": "out: f32[BLOCK]"}, "out: f32[BLOCK] has the unknown extent BLOCK", ""),
        ({"grid": lambda M: M}, "grid is a function of M", "names are BLOCK, N, alpha"),
        ({"num_warps": lambda M: M}, "num_warps is a function of M", ""),
        ({"values": {"BLOCK": lambda M: M}}, "values is a function of M", ""),
    ],
)
def test_declarations_that_are_wrong(options: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(IrcError) as error:
        axpy(**options)
    assert message in error.value.message
    assert hint in (error.value.hint or "")
    assert str(error.value).startswith(f"{__file__}:")


@jit("")
def typed_of(x, out, n: u32):  # noqa: F821
    pass


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda: axpy(num_warps=64), "num_warps of axpy_of is 64"),
        (lambda: axpy(num_stages=0), "num_stages of axpy_of is 0"),
        (lambda: axpy(grid=0), "grid of axpy_of is 0"),
    ],
)
def test_launches_that_are_wrong(kernel: Any, message: str) -> None:
    with ir.target("cuda"), pytest.raises(IrcError) as error:
        kernel().module(X, Y, 2.0)
    assert message in error.value.message


def test_numbers_that_cannot_be_passed() -> None:
    def called(value: Any) -> Any:
        kernel = ir.triton_kernel(
            typed_of, operands="x: f32[N]", results="out: f32[N]", values={"n": value}, grid=1, reference=lambda x: x
        )
        return module_of(kernel, X)

    with pytest.raises(IrcError, match="typed_of has the parameter n: u32"):
        called(7)
    other = dataclasses.replace(parameters_of(typed_of)[2], type="")
    assert other.is_specialized and not other.is_constexpr
    with pytest.raises(IrcError, match="many_of takes 'text' for one"):
        kernel = ir.triton_kernel(
            many_of,
            operands="x: u8[M, K], flag: bool",
            results="out: u8[1]",
            values={"one": "text", "fixed": 16, "nothing": None, "wide": 2},
            grid=1,
        )
        module_of(lambda x: kernel(x, True), np.zeros((7, 32), np.uint8))


def test_it_is_an_op_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # torch looks for more of Triton than is in its place
    check_op_of_torch(axpy())
