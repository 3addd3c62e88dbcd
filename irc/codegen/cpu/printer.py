"""`cpu.kernel` as LLVM IR: loops and branches become blocks, memory is addressed by element.

A kernel is `void NAME(ptr memory, i64 first, i64 end, ptr own)`. `memory` points to a pointer for each operand and
result, and behind them to one to i64: the number of a check that fails is written to the first, its index to the one
that has the check's number. `own` points to `own_bytes` that only this thread uses, aligned to `ALIGNMENT`. Every
memref has an alias scope of its own. bf16 is i16, and i1 in memory is i8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from irc.codegen.cpu.bf16_products import product_functions, scratch_bytes
from irc.codegen.cpu.float_products import PANEL_BYTES, Product, Vectors, float_products
from irc.codegen.cpu.scalars import SCALARS, literal, llvm_type
from irc.codegen.cpu.thin_products import thin_of, thin_product
from irc.codegen.cpu.transposing import transposing_functions
from irc.codegen.cpu.vector_functions import VectorFunction
from irc.dialects.cpu import GemmOp, KernelOp, TransposeOp
from irc.dialects.scalar import CheckIndexOp
from irc.ir.discardable import UNROLL
from irc.ir.dtypes import element_of
from irc.looping.unsupported import Unsupported
from irc.support.integers import round_up

ALIGNMENT = 64
"""Bytes to which memory of a thread's own is aligned: a line of the cache, and the widest vector."""

HEADER_LINES = 2
"""Of a kernel's text, before the lines of its ops."""

VECTOR = 16
"""Elements of a vector of loops that are unrolled: of f32, the widest one."""


@dataclass(frozen=True)
class KernelText:
    """A kernel as LLVM IR; `own_bytes` is the memory that each thread needs."""

    name: str
    text: str
    own_bytes: int
    checks: tuple[CheckIndexOp, ...]
    """The ops whose numbers, from 1 on, are written where an index is out of range."""
    locations: tuple[Attribute, ...]
    """Of the ops that the first lines of the text are printed for; the lines behind them define functions."""


def print_kernel(
    kernel: KernelOp, *, vectors: Vectors, has_pairs: bool, functions: Mapping[str, VectorFunction]
) -> KernelText:
    """The module of one kernel; Unsupported where an op has no LLVM IR here. vectors: the CPU's. has_pairs: whether it
    multiplies pairs of bf16. functions: those of the C library that there are on vectors."""
    printer = Printer(kernel, vectors, has_pairs, functions)
    text = printer.module()
    locations = (*[kernel.location] * HEADER_LINES, *printer.locations)
    return KernelText(kernel.sym_name.data, text, printer.own_bytes, tuple(printer.checks), locations)


@dataclass
class Printer:
    """Prints one kernel."""

    kernel: KernelOp
    vectors: Vectors
    has_pairs: bool
    functions: Mapping[str, VectorFunction]
    lines: list[str] = field(default_factory=list[str])
    declared: dict[str, str] = field(default_factory=dict[str, str])
    own_bytes: int = 0
    checks: list[CheckIndexOp] = field(default_factory=list[CheckIndexOp])
    locations: list[Attribute] = field(default_factory=list[Attribute])
    """Of the ops that the lines are for."""
    _names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    _scopes: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _count: int = 0
    _label: str = "entry"
    _scope_count: int = 0
    _trips: list[int] = field(default_factory=list[int])
    _kept: dict[str, None] = field(default_factory=dict[str, None])
    """Functions that loops may call later."""

    def module(self) -> str:
        self._entry()
        self._ops(self.kernel.body.block)
        self._locate(self.kernel)
        body = "\n".join(self.lines)
        name = self.kernel.sym_name.data
        header = f'define void @"{name}"(ptr noalias %memory, i64 %first, i64 %end, ptr noalias %own) #0 {{\nentry:\n'
        attributes = "attributes #0 = { nounwind }\nattributes #1 = { nounwind willreturn memory(none) }\n"
        declared = "\n".join([*self.declared.values(), *self._uses()])
        return f"{header}{body}\n  ret void\n}}\n{declared}\n{attributes}{self._metadata()}"

    def _uses(self) -> list[str]:
        """Says of functions on vectors that they stay declared until loops call them."""
        if not self._kept:
            return []
        type, names = f"[{len(self._kept)} x ptr]", ", ".join(f"ptr @{name}" for name in self._kept)
        return [f'@llvm.compiler.used = appending global {type} [{names}], section "llvm.metadata"']

    def _entry(self) -> None:
        allocated = [op for op in self.kernel.body.block.ops if isinstance(op, memref.AllocaOp)]
        self._scope_count = len(self.kernel.memory) + len(allocated)
        for at, arg in enumerate(self.kernel.memory):
            place = self.emit(f"getelementptr ptr, ptr %memory, i64 {at}")
            self._names[arg] = self.emit(f"load ptr, ptr {place}, align 8, !invariant.load !0")
            self._scopes[arg] = len(self._scopes)
        failed = self.emit(f"getelementptr ptr, ptr %memory, i64 {len(self.kernel.memory)}")
        self.lines.append(f"  %failed = load ptr, ptr {failed}, align 8, !invariant.load !0")
        self._names[self.kernel.first], self._names[self.kernel.end] = "%first", "%end"

    def _metadata(self) -> str:
        """Alias scopes: number i of !(i + 2), those of all others in lists behind them."""
        count = len(self._scopes)
        lines = ["!0 = !{}", "!1 = distinct !{!1}"]
        lines += [f"!{2 + at} = distinct !{{!{2 + at}, !1}}" for at in range(count)]
        lines += [f"!{2 + count + at} = !{{!{2 + at}}}" for at in range(count)]
        for at in range(count):
            others = ", ".join(f"!{2 + other}" for other in range(count) if other != at)
            lines.append(f"!{2 + 2 * count + at} = !{{{others}}}")
        for at, trips in enumerate(self._trips):
            number, width = 2 + 3 * count + 3 * at, min(trips, VECTOR)
            lines.append(f"!{number} = distinct !{{!{number}, !{number + 1}, !{number + 2}}}")
            lines.append(f'!{number + 1} = !{{!"llvm.loop.vectorize.width", i32 {width}}}')
            lines.append(f'!{number + 2} = !{{!"llvm.loop.interleave.count", i32 {trips // width}}}')
        return "\n".join(lines) + "\n"

    # Text

    def name(self, value: SSAValue) -> str:
        return self._names[value]

    def new(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def emit(self, text: str) -> str:
        """A line that gives a value; its name."""
        name = self.new()
        self.lines.append(f"  {name} = {text}")
        return name

    def call(self, function: str, type: str, arguments: list[tuple[str, str]], flags: str = "") -> str:
        """A call of an intrinsic."""
        types = ", ".join(each for each, _ in arguments)
        self.declared.setdefault(function, f"declare {type} @{function}({types}) #1")
        passed = ", ".join(f"{each} {value}" for each, value in arguments)
        return self.emit(f"call {flags}{type} @{function}({passed})")

    def call_library(self, function: str, type: str, arguments: Sequence[str]) -> str:
        """A call of a function of the C library, of which loops may make vectors."""
        passed = [(type, argument) for argument in arguments]
        found = self.functions.get(function)
        if found is None:
            return self.call(function, type, passed)
        self.declared[found.name] = found.declaration(type)
        self._kept[found.name] = None
        types, values = ", ".join([type] * len(passed)), ", ".join(f"{type} {value}" for value in arguments)
        self.declared.setdefault(function, f"declare {type} @{function}({types}) #1")
        return self.emit(f"call {type} @{function}({values}) {found.attribute}")

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._label = label

    # Ops

    def _ops(self, block: Block) -> None:
        for op in block.ops:
            parent = op.parent_op()
            assert parent is not None
            self._locate(parent)
            self._op(op)
            self._locate(op)

    def _locate(self, op: Operation) -> None:
        """The lines that have no location yet are the op's."""
        self.locations += [op.location] * (len(self.lines) - len(self.locations))

    def _op(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp():
                self._names[op.result] = literal(op.value)
            case memref.AllocaOp():
                self._alloca(op)
            case memref.LoadOp():
                self._load(op)
            case memref.StoreOp():
                self._store(op)
            case scf.ForOp():
                self._for(op)
            case scf.IfOp():
                self._if(op)
            case GemmOp():
                self._gemm(op)
            case CheckIndexOp():
                self._check_index(op)
            case TransposeOp():
                self._transpose(op)
            case scf.YieldOp():
                pass
            case _:
                rule: Any = SCALARS.get(type(op))
                if rule is None:
                    raise Unsupported(op.name)
                self._names[op.results[0]] = rule(self, op, *map(self.name, op.operands))

    def _alloca(self, op: memref.AllocaOp) -> None:
        type = op.memref.type
        assert isinstance(type, MemRefType)
        self._names[op.memref] = self._own_memory(prod(type.get_shape()) * element_of(type.element_type).size)
        self._scopes[op.memref] = len(self._scopes)

    def _own_memory(self, size: int) -> str:
        place = self.emit(f"getelementptr i8, ptr %own, i64 {self.own_bytes}")
        self.own_bytes += round_up(size, ALIGNMENT)
        return place

    def _place(self, memory: SSAValue, index: SSAValue) -> tuple[str, str, str]:
        """(the type in memory, the pointer, what follows an access: alignment and scopes)."""
        assert isinstance(memory.type, MemRefType)
        type = llvm_type(memory.type.element_type)
        stored = "i8" if type == "i1" else type
        place = self.emit(f"getelementptr inbounds {stored}, ptr {self.name(memory)}, i64 {self.name(index)}")
        scope, count = self._scopes[memory], self._scope_count
        scopes = f"!alias.scope !{2 + count + scope}, !noalias !{2 + 2 * count + scope}"
        return stored, place, f"align {element_of(memory.type.element_type).size}, {scopes}"

    def _load(self, op: memref.LoadOp) -> None:
        stored, place, rest = self._place(op.memref, op.indices[0])
        loaded = self.emit(f"load {stored}, ptr {place}, {rest}")
        type = llvm_type(op.res.type)
        self._names[op.res] = loaded if type == stored else self.emit(f"trunc i8 {loaded} to i1")

    def _store(self, op: memref.StoreOp) -> None:
        value, type = self.name(op.value), llvm_type(op.value.type)
        stored, place, rest = self._place(op.memref, op.indices[0])
        if type != stored:
            value = self.emit(f"zext i1 {value} to i8")
        self.lines.append(f"  store {stored} {value}, ptr {place}, {rest}")

    def _check_index(self, op: CheckIndexOp) -> None:
        """The index as it is; what reads by it stays in its array."""
        self.checks.append(op)
        number = self._count = self._count + 1
        self.lines.append(f"  br i1 {self.name(op.inside)}, label %inside{number}, label %outside{number}")
        self._begin(f"outside{number}")
        check = len(self.checks)
        index = self.name(op.index)
        if (type := llvm_type(op.index.type)) != "i64":
            index = self.emit(f"sext {type} {index} to i64")
        place = self.emit(f"getelementptr i64, ptr %failed, i64 {check}")
        self.lines += [f"  store i64 {index}, ptr {place}", f"  store i64 {check}, ptr %failed"]
        self.lines.append(f"  br label %inside{number}")
        self._begin(f"inside{number}")
        self._names[op.result] = self.name(op.index)

    # Control

    def _for(self, op: scf.ForOp) -> None:
        number = self._count = self._count + 1
        head, body, done = (f"{part}{number}" for part in ("head", "body", "done"))
        before = self._label
        block = op.body.block
        index = self.new()
        carried = [self.new() for _ in op.iter_args]
        low, high, step = self.name(op.lb), self.name(op.ub), self.name(op.step)
        self.lines.append(f"  br label %{head}")
        self._begin(head)
        at = len(self.lines)
        self.lines += [""] * (1 + len(carried))
        test = self.emit(f"icmp slt i64 {index}, {high}")
        self.lines.append(f"  br i1 {test}, label %{body}, label %{done}")
        self._begin(body)
        self._names.update(zip(block.args, [index, *carried], strict=True))
        self._ops(block)
        following = self.emit(f"add nsw i64 {index}, {step}")
        last = block.last_op
        yielded = [] if last is None else [self.name(value) for value in last.operands]
        self.lines[at] = f"  {index} = phi i64 [ {low}, %{before} ], [ {following}, %{self._label} ]"
        for shift, (name, initial, value) in enumerate(zip(carried, op.iter_args, yielded, strict=True), 1):
            ends = f"[ {self.name(initial)}, %{before} ], [ {value}, %{self._label} ]"
            self.lines[at + shift] = f"  {name} = phi {llvm_type(initial.type)} {ends}"
        self.lines.append(f"  br label %{head}{self._at_once(op)}")
        self._begin(done)
        self._names.update(zip(op.results, carried, strict=True))

    def _at_once(self, op: scf.ForOp) -> str:
        """What says of a loop that is to be unrolled that its iterations are elements of vectors side by side."""
        if UNROLL not in op.attributes:
            return ""
        low, high = (_constant(bound) for bound in (op.lb, op.ub))
        self._trips.append(high - low)
        return f", !llvm.loop !{2 + 3 * self._scope_count + 3 * (len(self._trips) - 1)}"

    def _if(self, op: scf.IfOp) -> None:
        number = self._count = self._count + 1
        labels = f"then{number}", f"else{number}"
        done = f"done{number}"
        self.lines.append(f"  br i1 {self.name(op.cond)}, label %{labels[0]}, label %{labels[1]}")
        ends = [self._branch(region, label, done) for region, label in zip(op.regions, labels, strict=True)]
        self._begin(done)
        for at, result in enumerate(op.results):
            sides = ", ".join(f"[ {values[at]}, %{label} ]" for values, label in ends)
            self._names[result] = self.emit(f"phi {llvm_type(result.type)} {sides}")

    def _branch(self, region: Region, label: str, done: str) -> tuple[list[str], str]:
        self._begin(label)
        values: list[str] = []
        if region.blocks:
            self._ops(region.block)
            last = region.block.last_op
            values = [] if last is None else [self.name(value) for value in last.operands]
        self.lines.append(f"  br label %{done}")
        return values, self._label

    # Products

    def _gemm(self, op: GemmOp) -> None:
        lhs, rhs = self._offset(op.lhs, op.lhs_offset), self._offset(op.rhs, op.rhs_offset)
        m, n, k = (self.name(value) for value in (op.m, op.n, op.k))
        lda, ldb, ldc = (value.value.data for value in (op.lhs_stride, op.rhs_stride, op.width))
        left, right = (bool(value.value.data) for value in (op.lhs_transposed, op.rhs_transposed))
        bits, is_paired = element_of(op.element).bits, op.is_narrow and self.has_pairs
        thin = None if op.is_narrow else thin_of((_known(op.m), _known(op.n)), (lda, ldb), (left, right))
        if thin is not None:
            self.declared.update(thin_product(bits, self.vectors, thin.few))
            few, many = (f"ptr {lhs}, i64 {lda}", m), (f"ptr {rhs}, i64 {ldb}", n)
            steps = f"i64 {ldc}, i64 1"
            if thin.swapped:
                few, many, steps = many, few, f"i64 1, i64 {ldc}"
            arguments = f"i64 {many[1]}, i64 {k}, {few[0]}, {many[0]}, ptr {self.name(op.acc)}, {steps}"
            self.lines.append(f"  call void @dots.{thin.few}.f{bits}({arguments})")
            return
        if not is_paired and f"gemm.f{bits}" not in self.declared:
            self.declared.update(float_products(bits, self.vectors, self._products(op.element)))
        flags = [ord("T" if value else "N") for value in (right, left)]
        numbers = ", ".join(f"i64 {value}" for value in (*flags, n, m, k, ldb, lda, ldc))
        memory = self._copies(op) if op.is_narrow else [self._own_memory(PANEL_BYTES)]
        pointers = ", ".join(f"ptr {value}" for value in (rhs, lhs, self.name(op.acc), *memory))
        if op.is_narrow:
            self.declared.update(product_functions(has_pairs=self.has_pairs))
        self.lines.append(f"  call void @gemm.{'bf16' if op.is_narrow else f'f{bits}'}({numbers}, {pointers})")

    def _products(self, element: Attribute) -> list[Product]:
        """Those of the kernel that have sums of this type."""
        found = [op for op in self.kernel.walk() if isinstance(op, GemmOp) and op.element == element]
        return [Product(_known(op.m), _known(op.n), bool(op.rhs_transposed.value.data)) for op in found]

    def _copies(self, op: GemmOp) -> list[str]:
        """Memory for the copies of a product of bf16."""
        assert isinstance(op.acc.type, MemRefType)
        width = op.width.value.data
        rows = prod(op.acc.type.get_shape()) // width
        sizes = scratch_bytes(rows, width, _constant(op.k), has_pairs=self.has_pairs)
        return [self._own_memory(size) for size in sizes]

    def _transpose(self, op: TransposeOp) -> None:
        bits = element_of(op.element).bits
        places = [
            (self._offset(op.source, op.source_offset), op.pitch.value.data),
            (self._offset(op.target, op.target_offset), op.width.value.data),
        ]
        arguments = [f"ptr {place}, i64 {stride}" for place, stride in places]
        arguments += [f"i64 {self.name(value)}" for value in (op.rows, op.columns)]
        function = f"transpose.i{bits}"
        self.declared.update(transposing_functions(bits))
        self.lines.append(f"  call void @{function}({', '.join(arguments)})")

    def _offset(self, memory: SSAValue, offset: SSAValue) -> str:
        assert isinstance(memory.type, MemRefType)
        type = llvm_type(memory.type.element_type)
        type = "i8" if type == "i1" else type
        return self.emit(f"getelementptr {type}, ptr {self.name(memory)}, i64 {self.name(offset)}")


def _constant(value: SSAValue) -> int:
    known = _known(value)
    assert known is not None
    return known


def _known(value: SSAValue) -> int | None:
    """The value of a constant."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None
