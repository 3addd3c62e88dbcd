"""The cpu dialect: a kernel is a loop nest over memory, of `scf`, `arith`, `math` and `memref` ops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import (
    BoolAttr,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    LocationAttr,
    MemRefType,
    bf16,
    f32,
)
from xdsl.ir import Attribute, Block, Dialect, Region, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import (
    IsolatedFromAbove,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from irc.ir.operations import BuiltOp, CodeOp, Reach


@irdl_op_definition
class KernelOp(CodeOp):
    """The code of one launch, on a range of its `tiles`.

    The arguments are the memory of the launch's operands, then of its `results` results, as 1-d memrefs that do not
    overlap where one is written; then the first tile, and the one behind the last. Threads that run ranges of tiles
    side by side compute what one that runs all of them computes.
    """

    PROPERTIES: ClassVar[tuple[str, ...]] = ("results", "tiles")
    REQUIRED: ClassVar[tuple[str, ...]] = PROPERTIES

    name = "cpu.kernel"
    results_count = prop_def(IntegerAttr, prop_name="results")
    tiles = prop_def(IntegerAttr)

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        name: str,
        memory: Sequence[Attribute],
        results: int,
        tiles: int,
        *,
        location: LocationAttr | None = None,
    ):
        body = Region(Block(arg_types=[*memory, IndexType(), IndexType()]))
        super().__init__(name, results, tiles, location, regions=[body])

    @property
    def result_count(self) -> int:
        return self.results_count.value.data

    @property
    def tile_count(self) -> int:
        return self.tiles.value.data

    @property
    def arrays(self) -> list[Reach]:
        types = [value.type for value in self.memory]
        return [Reach(type.element_type, 0, prod(type.get_shape())) for type in types if isinstance(type, MemRefType)]

    @property
    def memory(self) -> tuple[SSAValue, ...]:
        """The operands' and the results' memory."""
        return tuple(self.body.block.args[:-2])

    @property
    def written(self) -> tuple[SSAValue, ...]:
        """The results' memory."""
        return self.memory[len(self.memory) - self.result_count :]

    @property
    def first(self) -> SSAValue:
        return self.body.block.args[-2]

    @property
    def end(self) -> SSAValue:
        return self.body.block.args[-1]

    def verify_(self) -> None:
        types = [arg.type for arg in self.body.block.args]
        if len(types) < 2 or any(not isinstance(type, IndexType) for type in types[-2:]):
            raise VerifyException("expected the first tile and the end of the range as the last two arguments")
        for type in types[:-2]:
            if not isinstance(type, MemRefType) or len(type.get_shape()) != 1:
                raise VerifyException(f"expected 1-d memrefs as arguments of a kernel, found {type}")
        if not 0 <= self.result_count <= len(types) - 2:
            raise VerifyException(f"expected at most {len(types) - 2} results, found {self.result_count}")
        if self.tile_count < 0:
            raise VerifyException(f"expected tiles of 0 or more, found {self.tile_count}")


@irdl_op_definition
class GemmOp(BuiltOp):
    """C += A B: C has m x n elements from the start of its memory, row-major in rows of `width`. All are of f32 or f64,
    or A and B of bf16 and C of f32, whose subnormal elements may count as 0.

    Element (i, l) of A is at `lhs_offset` + i * `lhs_stride` + l, or, where `lhs_transposed`, at `lhs_offset` + i +
    l * `lhs_stride`; element (l, j) of B likewise.
    """

    name = "cpu.gemm"
    lhs = operand_def(MemRefType)
    lhs_offset = operand_def(IndexType)
    rhs = operand_def(MemRefType)
    rhs_offset = operand_def(IndexType)
    acc = operand_def(MemRefType)
    m = operand_def(IndexType)
    n = operand_def(IndexType)
    k = operand_def(IndexType)
    lhs_stride = prop_def(IntegerAttr)
    lhs_transposed = prop_def(BoolAttr)
    rhs_stride = prop_def(IntegerAttr)
    rhs_transposed = prop_def(BoolAttr)
    width = prop_def(IntegerAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$lhs `[` $lhs_offset `]` `,` $rhs `[` $rhs_offset `]` `->` $acc `sizes` $m `,` $n `,` $k attr-dict `:` "
        "type($lhs) `,` type($rhs) `->` type($acc)"
    )

    def __init__(
        self,
        lhs: tuple[SSAValue, SSAValue, int, bool],
        rhs: tuple[SSAValue, SSAValue, int, bool],
        acc: SSAValue,
        sizes: Sequence[SSAValue],
        width: int,
    ):
        """`lhs` and `rhs` are (memory, offset, stride, whether it is transposed)."""
        super().__init__(*lhs[:2], *rhs[:2], acc, *sizes, *lhs[2:], *rhs[2:], width)

    @property
    def element(self) -> Attribute:
        assert isinstance(self.acc.type, MemRefType)
        return self.acc.type.element_type

    @property
    def is_narrow(self) -> bool:
        """Whether it multiplies bf16."""
        assert isinstance(self.lhs.type, MemRefType)
        return self.lhs.type.element_type == bf16

    def verify_(self) -> None:
        found = [value.type.element_type for value in (self.lhs, self.rhs, self.acc)]  # pyright: ignore
        plain = found[0] == found[1] == found[2] and isinstance(self.element, Float32Type | Float64Type)
        if not plain and found != [bf16, bf16, f32]:
            expected = "three of f32 or of f64, or bf16, bf16 and f32"
            raise VerifyException(f"expected {expected}, found {', '.join(map(str, found))}")  # pyright: ignore


@irdl_op_definition
class TransposeOp(BuiltOp):
    """Writes a matrix of `rows` x `columns` that is contiguous along its rows: element (i, j) of it, at
    `target_offset` + i * `width` + j, is at `source_offset` + i + j * `pitch` of the source."""

    name = "cpu.transpose"
    source = operand_def(MemRefType)
    source_offset = operand_def(IndexType)
    target = operand_def(MemRefType)
    target_offset = operand_def(IndexType)
    rows = operand_def(IndexType)
    columns = operand_def(IndexType)
    pitch = prop_def(IntegerAttr)
    width = prop_def(IntegerAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$source `[` $source_offset `]` `->` $target `[` $target_offset `]` `sizes` $rows `,` $columns attr-dict `:` "
        "type($source) `->` type($target)"
    )

    def __init__(
        self,
        source: tuple[SSAValue, SSAValue, int],
        target: tuple[SSAValue, SSAValue, int],
        sizes: tuple[SSAValue, SSAValue],
    ):
        """`source` is (memory, offset, pitch), `target` (memory, offset, width)."""
        super().__init__(*source[:2], *target[:2], *sizes, source[2], target[2])

    @property
    def element(self) -> Attribute:
        assert isinstance(self.source.type, MemRefType)
        return self.source.type.element_type

    def verify_(self) -> None:
        assert isinstance(self.target.type, MemRefType)
        if self.target.type.element_type != self.element:
            raise VerifyException(f"expected elements of {self.element}, found {self.target.type.element_type}")


Cpu = Dialect("cpu", [KernelOp, GemmOp, TransposeOp])
