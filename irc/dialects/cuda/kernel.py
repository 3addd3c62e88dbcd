"""Kernels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, SymbolNameConstraint
from xdsl.ir import Attribute, Block, Region, SSAValue, Use
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.thread import BlockIdOp
from irc.dialects.cuda.types import PtrType, TensorMapType, size_of
from irc.ir.blocks import ops_in
from irc.ir.launching import LaunchableInterface
from irc.ir.operations import BuiltOp
from irc.ir.properties import number, numbers, pairs_of, values_of
from irc.support.parameters import MAX_BYTES, layout_of_set

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)

MAX_GRID = (2**31 - 1, 65535, 65535)
"""Blocks along x, y and z (CUDA programming guide, technical specifications)."""


@irdl_op_definition
class KernelOp(BuiltOp, LaunchableInterface):
    """The code of one thread: `cuda.kernel @name(%x: !cuda.ptr<bf16>, ...) grid [x, y, z] block n {...}`.

    `grid` and `cluster` are blocks along x, y, z; `block` is threads along x; `shared` is bytes of dynamic shared
    memory; `index` is the width, 32 or 64, of `index` values; `min_blocks` is the blocks an SM should hold
    (`__launch_bounds__`). `operands` names, for each argument, the operand of the launch that it describes (several
    may describe one); `writes` is 1 for an argument through which the kernel may write. `in_place` has pairs of launch
    operands: the second may be written to the memory of the first; of those in `updates` the second holds before the
    launch what the first does. `sums` are launch operands that are zero before the launch, to which it adds. Pointers
    do not overlap, except those of the launch operands in `aliased`.
    `dims` names those of the module whose sizes are operands of the launch behind its arrays, each a multiple of what
    the dim is a multiple of; `domains` are those whose tiles the grid has then: of each the blocks of a cluster, the
    most clusters (0: any number), and an extent and a step along each dimension.
    `sets`: a launch has up to so many sets of operands, and as many grids along z; each block works on the set of its
    number there, and knows nothing of the others.
    `code` is CUDA C++ that the user wrote, line by line, in the place of a body: the kernel in it is called `entry`,
    and has a pointer for each argument. `given` are lines before it. With `image`, the machine code of `entry` as
    `irc.codegen.images` writes it, `code` is the text that another compiler made it of, and nothing compiles that. Such
    a kernel reads arrays that begin at multiples of 16 bytes, and has parameters besides its pointers: `values` are
    numbers, `places` where they are among the parameters.
    """

    name = "cuda.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    grid = prop_def(DenseArrayBase)
    block = prop_def(IntegerAttr)
    cluster = opt_prop_def(DenseArrayBase)
    shared = opt_prop_def(IntegerAttr)
    index = prop_def(IntegerAttr)
    min_blocks = opt_prop_def(IntegerAttr)
    launch_operands = opt_prop_def(DenseArrayBase, prop_name="operands")
    writes = opt_prop_def(DenseArrayBase)
    in_place = opt_prop_def(DenseArrayBase)
    updates = opt_prop_def(DenseArrayBase)
    sums = opt_prop_def(DenseArrayBase)
    dims = opt_prop_def(ArrayAttr)
    domains = opt_prop_def(ArrayAttr)
    aliased = opt_prop_def(DenseArrayBase)
    sets = opt_prop_def(IntegerAttr)
    entry = opt_prop_def(StringAttr)
    given = opt_prop_def(ArrayAttr[StringAttr])
    code = opt_prop_def(ArrayAttr[StringAttr])
    image = opt_prop_def(ArrayAttr[StringAttr])
    values = opt_prop_def(ArrayAttr[IntegerAttr | FloatAttr])
    places = opt_prop_def(DenseArrayBase)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        arguments: Sequence[Attribute] | Region,
        *,
        index: int = 32,
        shared: int = 0,
        operands: Sequence[int] | None = None,
        dims: Sequence[str] | None = None,
        given: Sequence[str] | None = None,
        code: Sequence[str] | None = None,
        image: Sequence[str] | None = None,
        values: Mapping[int, IntegerAttr | FloatAttr] | None = None,
        **properties: Any,
    ):
        """`arguments` are the types of a new, empty body, or the body itself. `values` are by their places."""
        body = arguments if isinstance(arguments, Region) else Region(Block(arg_types=arguments))
        texts = {"dims": dims, "given": given or None, "code": code, "image": image}
        properties |= {key: ArrayAttr(map(StringAttr, each)) for key, each in texts.items() if each is not None}
        if values:
            properties |= {"values": ArrayAttr(values.values()), "places": tuple(values)}
        properties |= {"index": index, "shared": shared or None, "launch_operands": operands}
        super().__init__(name, **properties, regions=[body])

    @property
    def symbol(self) -> str:
        return self.sym_name.data

    @property
    def arguments(self) -> Sequence[SSAValue]:
        return self.body.block.args

    def takes_memory(self, argument: SSAValue) -> bool:
        return isinstance(argument.type, PtrType | TensorMapType)

    @property
    def operand_of_argument(self) -> tuple[int, ...]:
        """In order where the property is absent."""
        if self.launch_operands is None:
            return tuple(range(len(self.arguments)))
        return values_of(self.launch_operands)

    @property
    def in_place_pairs(self) -> frozenset[tuple[int, int]]:
        """Pairs of launch operands of which the second may be written to the memory of the first."""
        return frozenset(pairs_of(self.in_place)) | self.updated_pairs

    @property
    def updated_pairs(self) -> frozenset[tuple[int, int]]:
        """Pairs of launch operands of which the second holds what the first does before the launch."""
        return frozenset(pairs_of(self.updates))

    @property
    def summed(self) -> frozenset[int]:
        """The launch operands that are zero before the launch."""
        return frozenset(() if self.sums is None else values_of(self.sums))

    @property
    def overlapping(self) -> frozenset[int]:
        """The launch operands whose memory may be that of another one."""
        return frozenset(() if self.aliased is None else values_of(self.aliased))

    def may_overlap(self, pointer: SSAValue) -> bool:
        """Whether another argument may have the memory of a pointer."""
        if not self.overlapping:
            return False
        arguments = zip(self.arguments, self.operand_of_argument, strict=True)
        return all(argument is not pointer or operand in self.overlapping for argument, operand in arguments)

    @property
    def dim_names(self) -> tuple[str, ...]:
        """The dims whose sizes a launch has behind its arrays."""
        return () if self.dims is None else tuple(each.data for each in self.dims if isinstance(each, StringAttr))

    @property
    def max_sets(self) -> int:
        return 1 if self.sets is None else self.sets.value.data

    @property
    def set_bytes(self) -> int:
        """Bytes of the parameters of one set."""
        return layout_of_set([isinstance(argument.type, TensorMapType) for argument in self.arguments])[1]

    @property
    def room_for_sets(self) -> int:
        """How many sets of operands its parameters have room for; 1 where the kernel uses the place along z itself."""
        if values_of(self.grid)[2] != 1 or not self.arguments or self.dims is not None or self.code is not None:
            return 1
        uses_z = any(isinstance(op, BlockIdOp) and op.axis.value.data == 2 for op in ops_in(self))
        return 1 if uses_z else max(1, MAX_BYTES // self.set_bytes)

    @property
    def written_in(self) -> str:
        """What a kernel of code is."""
        return "CUDA C++" if self.image is None else "machine code"

    @property
    def value_at(self) -> dict[int, IntegerAttr | FloatAttr]:
        """The numbers among the parameters, by their places."""
        return {} if self.values is None else dict(zip(values_of(self.places), self.values, strict=True))

    @property
    def written(self) -> tuple[bool, ...]:
        """All that is memory where the property is absent."""
        if self.writes is None:
            return tuple(map(self.takes_memory, self.arguments))
        return tuple(value != 0 for value in values_of(self.writes))

    def verify_(self) -> None:
        if not _IDENTIFIER.fullmatch(self.sym_name.data):
            raise VerifyException(f"expected a kernel's name to be an identifier of C, found {self.sym_name.data}")
        _check_dimensions("grid", values_of(self.grid), MAX_GRID)
        threads = self.block.value.data
        if not 1 <= threads <= 1024:
            raise VerifyException(f"expected 1 to 1024 threads in a block, found {threads}")
        if self.index.value.data not in (32, 64):
            raise VerifyException(f"expected an index of 32 or 64 bits, found {self.index.value.data}")
        if self.cluster is not None:
            self._verify_cluster(values_of(self.cluster))
        if self.shared is not None and self.shared.value.data < 0:
            raise VerifyException(f"expected a size of shared memory, found {self.shared.value.data}")
        self._verify_arguments()
        if self.sets is not None:
            self._verify_sets(self.max_sets)
        if not isinstance(self.body.block.last_op, ReturnOp):
            raise VerifyException("expected cuda.kernel to end with cuda.return")
        self._verify_code()

    def _verify_code(self) -> None:
        if self.code is None:
            if any(each is not None for each in (self.entry, self.given, self.image)):
                raise VerifyException("expected code beside entry, given and image, found none")
            if self.values is not None or self.places is not None:
                raise VerifyException("expected an image beside values, found none")
            return
        if self.entry is None or not _IDENTIFIER.fullmatch(self.entry.data):
            raise VerifyException("expected entry to be the name of the kernel in code")
        if len(self.body.block.ops) != 1:
            raise VerifyException("expected code or ops in a kernel, found both")
        if not all(isinstance(argument.type, PtrType) for argument in self.arguments):
            raise VerifyException("expected pointers as the arguments of a kernel of code")
        self._verify_values()

    def _verify_values(self) -> None:
        places = values_of(self.places)
        count = 0 if self.values is None else len(self.values)
        if count and self.image is None:
            raise VerifyException("expected an image beside values, found none")
        if len(places) != count:
            raise VerifyException(f"expected a place for each of {count} values, found {len(places)}")
        if list(places) != sorted(set(places)) or not set(places) <= set(range(count + len(self.arguments))):
            raise VerifyException(f"expected places of values among the parameters in order, found {list(places)}")

    def _verify_cluster(self, cluster: tuple[int, ...]) -> None:
        _check_dimensions("cluster", cluster, (16, 16, 16))
        for blocks, extent in zip(values_of(self.grid), cluster, strict=True):
            if blocks % extent:
                raise VerifyException(
                    f"expected a grid of whole clusters, found {values_of(self.grid)} in clusters of {cluster}"
                )

    def _verify_sets(self, sets: int) -> None:
        if not 1 <= sets <= self.room_for_sets:
            raise VerifyException(
                f"expected at most {self.room_for_sets} sets: of {self.set_bytes} bytes in {MAX_BYTES}, one where a "
                f"kernel uses its place along z; found {sets}"
            )

    def _verify_arguments(self) -> None:
        for argument in self.arguments:
            if not self.takes_memory(argument):
                size_of(argument.type)
        count = len(self.arguments)
        for name, array in (("operands", self.launch_operands), ("writes", self.writes)):
            if array is not None and len(array) != count:
                raise VerifyException(f"expected an entry of {name} for each of {count} arguments, found {len(array)}")
        for argument, writes in zip(self.arguments, self.written, strict=True):
            if not writes and any(_writes_through(use) for use in argument.uses):
                raise VerifyException(f"expected {_named(argument)} to be read only, as its entry of writes says")
        for name, pairs in (("in_place", self.in_place), ("updates", self.updates)):
            if pairs is not None and len(pairs) % 2:
                raise VerifyException(f"expected pairs of operands in {name}, found {len(pairs)} numbers")
        for domain in () if self.domains is None else self.domains:
            if not isinstance(domain, DenseArrayBase) or len(domain) < 4 or len(domain) % 2:
                raise VerifyException("expected domains of a cluster, a limit, and pairs of an extent and a step")
        if any(operand < 0 for operand in self.operand_of_argument):
            raise VerifyException(f"expected indices of launch operands, found {self.operand_of_argument}")

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        properties: dict[str, Attribute | None] = {"sym_name": name}
        while (key := parser.parse_optional_keyword_in(_CLAUSES)) is not None:
            properties[key] = _parse_clause(parser, key)
        for key in ("grid", "block"):
            if key not in properties:
                parser.raise_error(f"expected the clause '{key}' of cuda.kernel")
        properties.setdefault("index", number(32))
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        kernel = cls.create(properties={k: v for k, v in properties.items() if v is not None}, regions=[body])
        if attributes is not None:
            kernel.attributes |= attributes.data
        return kernel

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_block_argument)
        for key in _CLAUSES:
            if (value := self.properties.get(key)) is not None:
                _print_clause(printer, key, value)
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def _writes_through(use: Use) -> bool:
    """Whether an op writes memory through the operand, a pointer or a tensor map."""
    names = ("cuda.store", "cuda.atomic", "cuda.tma_store")
    return use.operation.name in names and isinstance(use.operation.operands[use.index].type, PtrType | TensorMapType)


def _named(argument: SSAValue) -> str:
    return "an argument" if argument.name_hint is None else f"%{argument.name_hint}"


_LISTS = ("grid", "cluster", "operands", "writes", "in_place", "updates", "sums", "aliased", "places")
_CLAUSES = (
    "grid",
    "block",
    "cluster",
    "shared",
    "index",
    "min_blocks",
    "operands",
    "writes",
    "in_place",
    "updates",
    "sums",
    "dims",
    "domains",
    "aliased",
    "sets",
    "entry",
    "given",
    "code",
    "image",
    "values",
    "places",
)
_LINES = ("given", "code", "image")


def _parse_clause(parser: Parser, key: str) -> Attribute | None:
    if key == "entry":
        return StringAttr(parser.parse_str_literal())
    if key in _LINES:
        return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_line(parser)))
    if key in ("dims", "values"):
        return parser.parse_attribute()
    if key == "domains":
        lists = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE,
            lambda: parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer),
        )
        return ArrayAttr(map(numbers, lists))
    if key in _LISTS:
        return numbers(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))
    return number(parser.parse_integer(allow_boolean=False))


def _parse_line(parser: Parser) -> StringAttr:
    """Of any characters: bytes of UTF-8 where it is not all ASCII."""
    content = parser.parse_optional_bytes_literal()
    return StringAttr(parser.parse_str_literal() if content is None else content.decode(errors="replace"))


def _print_clause(printer: Printer, key: str, value: Attribute) -> None:
    if isinstance(value, IntegerAttr) and key == "index" and value.value.data == 32:
        return
    printer.print_string(f" {key}")
    if isinstance(value, ArrayAttr) and key == "domains":
        printer.print_string(f" {[list(values_of(each)) for each in value if isinstance(each, DenseArrayBase)]}")
    elif isinstance(value, ArrayAttr) and key in _LINES:
        _print_lines(printer, [each.data for each in value if isinstance(each, StringAttr)])
    elif isinstance(value, ArrayAttr | StringAttr):
        printer.print_string(" ")
        printer.print_attribute(value)
    if isinstance(value, DenseArrayBase):
        printer.print_string(f" {list(values_of(value))}")
    if isinstance(value, IntegerAttr):
        printer.print_string(f" {value.value.data}")


def _print_lines(printer: Printer, lines: Sequence[str]) -> None:
    """Each on a line of its own."""
    printer.print_string(" [")
    with printer.indented():
        for number, line in enumerate(lines):
            printer.print_string("," if number else "")
            printer._print_new_line()  # pyright: ignore[reportPrivateUsage]
            printer.print_string_literal(line)
    printer.print_string("]")


def _check_dimensions(what: str, values: tuple[int, ...], limits: tuple[int, ...]) -> None:
    if len(values) != 3 or any(not 1 <= value <= limit for value, limit in zip(values, limits, strict=True)):
        raise VerifyException(f"expected a {what} of three extents in 1..{limits}, found {list(values)}")


@irdl_op_definition
class ReturnOp(BuiltOp):
    """The end of a kernel."""

    name = "cuda.return"
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict"
