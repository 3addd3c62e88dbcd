"""The cuda dialect: text round trips, verifiers say what they expected and found, effects keep what has to stay."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, scf
from xdsl.ir.affine import AffineMap
from xdsl.parser import Parser
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.utils.exceptions import ParseError, VerifyException

from irc.dialects import cuda
from irc.dialects.cuda import Cuda, RegistersType, TensorMapType


def context() -> Context:
    made = Context()
    for dialect in (builtin.Builtin, arith.Arith, scf.Scf, Cuda):
        made.load_dialect(dialect)
    return made


def parse(text: str) -> builtin.ModuleOp:
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def in_kernel(body: str, arguments: str = "", clauses: str = "grid [2, 1, 1] block 128") -> str:
    return (
        f"cuda.kernel @k({arguments}) {clauses} {{\n%c0 = arith.constant 0 : index\n%s0 = arith.constant 0 : i32\n"
        f"%yes = arith.constant true\n{body}\ncuda.return\n}}"
    )


MAP = "!cuda.tensor_map<bf16, [64, 64], box [64, 64], swizzle 128>"
F32 = "!cuda.registers<8 x f32>"

INVALID = [
    ("", "", "grid [2, 1] block 128", "expected a grid of three extents"),
    ("", "", "grid [2, 1, 1] block 2048", "expected 1 to 1024 threads in a block, found 2048"),
    ("", "", "grid [3, 1, 1] block 128 cluster [2, 1, 1]", "expected a grid of whole clusters"),
    ("", "", "grid [2, 1, 1] block 128 index 16", "expected an index of 32 or 64 bits, found 16"),
    (
        "",
        "%x: i32",
        "grid [2, 1, 1] block 128 operands [0, 1]",
        "expected an entry of operands for each of 1 arguments",
    ),
    ("%r = cuda.registers : !cuda.registers<0 x f32>", "", None, "expected one register element or more, found 0"),
    (
        f"%r = cuda.registers : {F32}\n%i = arith.constant 8 : index\n%v = cuda.get %r[%i] : {F32}",
        "",
        None,
        "expected elements inside of !cuda.registers<8 x f32>, found 1 from 8",
    ),
    (
        f"%r = cuda.registers : {F32}\ncuda.load %x[%c0] -> %r[%c0] {{count = 3}} : !cuda.ptr<f32> -> {F32}",
        "%x: !cuda.ptr<f32>",
        None,
        "bytes of one access to be one of 1, 2, 4, 8, 16, found 12",
    ),
    (
        f"%r = cuda.registers : {F32}\ncuda.load %x[%c0] -> %r[%c0] : !cuda.ptr<bf16> -> {F32}",
        "%x: !cuda.ptr<bf16>",
        None,
        "expected a pointer to f32, found !cuda.ptr<bf16>",
    ),
    (
        f"%r = cuda.registers : {F32}\ncuda.store %r[%c0], %x[%c0] : {F32} -> !cuda.ptr<f32>",
        "%x: !cuda.ptr<f32>",
        "grid [2, 1, 1] block 128 writes [0]",
        "expected %x to be read only",
    ),
    (
        f"%a = cuda.shared {{offset = 0}}\ncuda.tma_load %m[%s0] -> %a, %a : {MAP}",
        f"%m: {MAP}",
        None,
        "expected 2 coordinates",
    ),
    ("", "%m: !cuda.tensor_map<bf16, [64, 60], box [64, 60]>", None, "expected strides that are multiples of 16 bytes"),
    ("", "%m: !cuda.tensor_map<bf16, [64, 64], box [64, 64], swizzle 64>", None, "expected an inner box of at most"),
    ("", "%m: !cuda.tensor_map<bf16, [64, 64], box [64, 512]>", None, "expected box extents in 1..256"),
    (
        f'%r = cuda.registers : {F32}\ncuda.mma %r[%c0], %r[%c0], %r[%c0] {{instruction = "m16n8k16"}} : {F32}, {F32}, {F32}',
        "",
        None,
        "expected the instruction for f32 to be one of m16n8k8, found m16n8k16",
    ),
    (
        f"%r = cuda.registers : {F32}\n%d = arith.constant 0 : i64\n"
        f"cuda.wgmma %r[%c0], %d, %d, %yes {{n = 12, k = 16, lhs_type = bf16, rhs_type = bf16}} : {F32}, i1",
        "",
        None,
        "expected n to be a multiple of 8",
    ),
    (
        f"%r = cuda.registers : {F32}\n%d = arith.constant 0 : i64\n"
        f"cuda.wgmma %r[%c0], %d, %d, %yes {{n = 16, k = 8, lhs_type = f32, rhs_type = f32, transpose_lhs = true}} : {F32}, i1",
        "",
        None,
        "expected a transposed operand of 16-bit type",
    ),
    ("%d = cuda.descriptor %s0 {leading = 8, stride = 1024}", "", None, "expected leading to be a multiple of 16"),
    ("cuda.named_sync %s0 {threads = 100}", "", None, "expected a multiple of 32 threads"),
    ("cuda.set_registers {count = 41, grow = true}", "", None, "expected a multiple of 8 registers"),
    (
        '%v = cuda.shuffle "left" %s0, %s0 : i32',
        "",
        None,
        "expected mode to be one of xor, up, down, index, found left",
    ),
    (
        '%v = cuda.atomic "min" %f, %x[%c0] : !cuda.ptr<f32>',
        "%x: !cuda.ptr<f32>, %f: f32",
        None,
        "expected the type of",
    ),
]


@pytest.mark.parametrize("body, arguments, clauses, message", INVALID)
def test_invalid(body: str, arguments: str, clauses: str | None, message: str) -> None:
    text = in_kernel(body, arguments) if clauses is None else in_kernel(body, arguments, clauses)
    with pytest.raises((VerifyException, ParseError)) as caught:
        parse(text)
    assert message in str(caught.value)


def test_clauses_round_trip() -> None:
    text = in_kernel(
        "",
        f"%m: {MAP}, %p: !cuda.ptr<i8>, %n: i64",
        "grid [4, 2, 1] block 128 cluster [2, 1, 1] shared 4096 index 64 min_blocks 2 operands [0, 0, 1] writes [0, 0, 0] aliased [0, 2]",
    )
    module = parse(text)
    printed = str(module)
    assert "min_blocks 2 operands [0, 0, 1] writes [0, 0, 0] aliased [0, 2] {" in printed
    assert parse(printed).is_structurally_equivalent(module)


def test_default_strides_of_tensor_maps() -> None:
    map = TensorMapType.of(builtin.bf16, [64, 128], [256, 1], [32, 64], 128)
    assert str(map) == "!cuda.tensor_map<bf16, [64, 128], strides [256, 1], box [32, 64], swizzle 128>"
    assert "strides" not in str(TensorMapType.of(builtin.bf16, [64, 128], [128, 1], [32, 64], 128))


def test_constructors_verify() -> None:
    kernel = cuda.KernelOp("k", [cuda.PtrType(builtin.f32)], grid=[1, 1, 1], block=32, writes=[1])
    block = kernel.body.block
    zero = arith.ConstantOp.from_int_and_width(0, builtin.IndexType())
    registers = cuda.RegistersOp(4, builtin.f32)
    block.add_ops(
        [
            zero,
            registers,
            cuda.LoadOp(block.args[0], registers.result, zero.result, zero.result, count=4, cache="streaming"),
            cuda.StoreOp(registers.result, zero.result, block.args[0], zero.result, count=4),
            cuda.ReturnOp(),
        ]
    )
    module = builtin.ModuleOp([kernel])
    module.verify()
    assert registers.result.type == RegistersType(4, builtin.f32)
    assert parse(str(module)).is_structurally_equivalent(module)


def test_effects() -> None:
    """Unused values go, equal places merge, reads of registers do not move over writes, accesses stay."""
    module = parse(
        in_kernel(
            f"""%r = cuda.registers : {F32}
            %unused = cuda.registers : {F32}
            %a = cuda.thread_id
            %b = cuda.thread_id
            %one = arith.constant 1.0 : f32
            %before = cuda.get %r[%c0] : {F32}
            cuda.set %r[%c0], %one : {F32}
            %after = cuda.get %r[%c0] : {F32}
            %again = cuda.get %r[%c0] : {F32}
            %dead = cuda.shuffle "xor" %after, %s0 : f32
            %sum = arith.addf %before, %after : f32
            %total = arith.addf %sum, %again : f32
            cuda.set %r[%a], %total : {F32}
            cuda.load %x[%b] -> %r[%c0] : !cuda.ptr<f32> -> {F32}
            cuda.sync""",
            "%x: !cuda.ptr<f32>",
        )
    )
    CommonSubexpressionElimination().apply(context(), module)
    DeadCodeElimination().apply(context(), module)
    names = [op.name for op in module.walk()]
    assert names.count("cuda.thread_id") == 1
    assert names.count("cuda.registers") == 1
    assert names.count("cuda.get") == 2
    assert names.count("cuda.set") == 2 and names.count("cuda.load") == 1 and names.count("cuda.sync") == 1
    assert "cuda.shuffle" not in names


def test_no_affine_maps_in_types() -> None:
    """Device scalars are numbers only."""
    with pytest.raises(VerifyException, match="expected a scalar"):
        cuda.PtrType(builtin.AffineMapAttr(AffineMap.identity(1)))
