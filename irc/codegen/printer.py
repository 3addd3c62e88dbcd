"""Printing of cuda kernels as CUDA C++: one op, one line or two.

`KernelPrinter` walks a kernel; what an op prints as is in the modules `printer_*`, one for each family, which
register a function for each op type with `@prints(OpType)`. A value is a const local with its name hint; a constant
is printed where it is used. The prelude defines, of the functions that the lines call, those that they do call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    UnknownLoc,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from irc.codegen.literals import literal
from irc.codegen.names import Names
from irc.codegen.prelude import prelude
from irc.codegen.snippet import Snippet
from irc.codegen.users_code import source_lines
from irc.dialects.cuda import SPELLINGS, KernelOp, LookupOp, PtrType, SharedOp, TensorMapType
from irc.ir.blocks import ops_in
from irc.ir.dtypes import element_of
from irc.ir.properties import values_of
from irc.support.diagnostics import IrcError, labels

OpT = TypeVar("OpT", bound=Operation)
PrintFunction = Callable[["KernelPrinter", OpT], None]

_PRINTERS: dict[type[Operation], PrintFunction[Operation]] = {}


def prints(*types: type[OpT]) -> Callable[[PrintFunction[OpT]], PrintFunction[OpT]]:
    """Register a function that prints ops of these types."""

    def register(function: PrintFunction[OpT]) -> PrintFunction[OpT]:
        for type in types:
            _PRINTERS[type] = function  # pyright: ignore[reportArgumentType]
        return function

    return register


def printed_ops() -> frozenset[type[Operation]]:
    """The op types that have a C++ form."""
    _load_families()
    return frozenset(_PRINTERS)


def print_module(module: ModuleOp) -> str:
    """The C++ source of all kernels of a module; IrcError at an op that has no C++ form."""
    kernels = [op for op in ops_in(module) if isinstance(op, KernelOp)]
    return print_kernels(kernels) if kernels else "// no cuda.kernel in this module\n"


def print_kernels(kernels: Sequence[KernelOp]) -> str:
    """One translation unit with these kernels."""
    return "".join(f"{line}\n" for line, _ in located_lines(kernels))


def located_lines(kernels: Sequence[KernelOp]) -> list[tuple[str, Attribute]]:
    """The lines of one translation unit with these kernels, each with the location of the op that it is printed for."""
    _load_families()
    needed: dict[str, Snippet | None] = {}
    bodies: list[tuple[str, Attribute]] = []
    for kernel in kernels:
        bodies += [*([("", UnknownLoc())] if bodies else []), *_lines_of(kernel, needed)]
    if all(kernel.code is not None for kernel in kernels):
        return bodies
    return [*((line, UnknownLoc()) for line in f"{prelude(needed)}\n".split("\n")[:-1]), *bodies]


def _lines_of(kernel: KernelOp, needed: dict[str, Snippet | None]) -> list[tuple[str, Attribute]]:
    if kernel.code is not None:
        return [(line, kernel.location) for line in source_lines(kernel)]
    return KernelPrinter(kernel, needed).print()


class KernelPrinter:
    """Prints one kernel; `needed` collects the names of prelude snippets."""

    def __init__(self, kernel: KernelOp, needed: dict[str, Snippet | None]) -> None:
        self.kernel = kernel
        self.wide_index = kernel.index.value.data == 64
        self._needed = needed
        self._names = Names(_instructions(kernel))
        self._expressions: dict[SSAValue, str] = {}
        self._tables: dict[DenseArrayBase, str] = {}
        self._lines: list[tuple[str, Attribute]] = []
        self._location: Attribute = kernel.location
        self._indent = 0
        self._place = ""

    def print(self) -> list[tuple[str, Attribute]]:
        """The lines of the kernel, each with the location of the op that it is printed for."""
        if self.kernel.max_sets > 1:
            self._print_for_sets()
        else:
            arguments = [self._argument(i) for i in range(len(self.kernel.arguments))]
            self.line(f'extern "C" __global__ void {self._attributes()}')
            self.line(f"{self.kernel.sym_name.data}({', '.join(arguments)}) {{")
            self._print_body()
        return self._lines

    def _print_for_sets(self) -> None:
        """The kernel as a function of one set of operands, called with that of the block. Its parameters are those of
        the function, and not names for parts of the array, as only parameters can be promised not to overlap."""
        name = self.kernel.sym_name.data
        arguments = [self._argument(i, "&") for i in range(len(self.kernel.arguments))]
        fields = [self._expressions[value] for value in self.kernel.arguments]
        self.line(f"__device__ __forceinline__ void {name}_of_set({', '.join(arguments)}) {{")
        self._print_body()
        self.line(f"struct {name}_set {{")
        for value, field in zip(self.kernel.arguments, fields, strict=True):
            self.line(f"  {self._field(value)} {field};")
        self.line("};")
        self.line(f"struct {name}_sets {{ {name}_set at[{self.kernel.max_sets}]; }};")
        self.line(f'extern "C" __global__ void {self._attributes()}')
        self.line(f"{name}(const __grid_constant__ {name}_sets sets) {{")
        self.line(f"  const {name}_set& own = sets.at[blockIdx.z];")
        self.line(f"  {name}_of_set({', '.join(f'own.{field}' for field in fields)});")
        self.line("}")

    def _field(self, value: SSAValue) -> str:
        """The type of a parameter in a set, where each takes the bytes that `irc.support.parameters` says."""
        if isinstance(value.type, TensorMapType):
            return "TensorMap"
        if isinstance(value.type, PtrType):
            return f"{self.type(value.type.element)}*"
        return f"alignas(8) {self.type(value.type)}"

    def _print_body(self) -> None:
        self._indent += 1
        self._print_shared()
        self._print_tables()
        self._indent -= 1
        self.block(self.kernel.body.block)
        self.line("}")

    def _attributes(self) -> str:
        bounds = [str(self.kernel.block.value.data)]
        if self.kernel.min_blocks is not None:
            bounds.append(str(self.kernel.min_blocks.value.data))
        parts = [f"__launch_bounds__({', '.join(bounds)})"]
        if self.kernel.cluster is not None:
            parts.insert(0, f"__cluster_dims__({', '.join(map(str, values_of(self.kernel.cluster)))})")
        return " ".join(parts)

    def _argument(self, index: int, reference: str = "") -> str:
        """The declaration of a parameter; a tensor map, which is used where it lies, with `reference` behind."""
        value = self.kernel.arguments[index]
        name = self._names.fresh(value.name_hint or f"arg{index}")
        self._expressions[value] = name
        if isinstance(value.type, TensorMapType):
            self.use("TensorMap")
            return f"const {'' if reference else '__grid_constant__ '}TensorMap{reference} {name}"
        if isinstance(value.type, PtrType):
            restrict = "" if self.kernel.may_overlap(value) else " __restrict__"
            const = "" if self.kernel.written[index] else "const "
            return f"{const}{self.type(value.type.element)}*{restrict} {name}"
        return f"const {self.type(value.type)} {name}"

    def _print_shared(self) -> None:
        aligns = [op.align.value.data for op in ops_in(self.kernel) if isinstance(op, SharedOp)]
        if not aligns:
            return
        self.line(f"extern __shared__ __align__({max(16, *aligns)}) unsigned char shared_memory[];")
        self.line("const unsigned shared_base = (unsigned)__cvta_generic_to_shared(shared_memory);")

    def _print_tables(self) -> None:
        for op in ops_in(self.kernel):
            if isinstance(op, LookupOp) and op.values not in self._tables:
                name = self._tables[op.values] = self._names.fresh("table")
                texts = ", ".join(self.constant(IntegerAttr(value, i64), i64) for value in values_of(op.values))
                self.line(f"static __constant__ const long long {name}[{len(op.values)}] = {{{texts}}};")

    # What the printers of ops use

    def line(self, text: str) -> None:
        """Print a line at the current indentation."""
        self._lines += [(line, self._location) for line in ("  " * self._indent + text).split("\n")]

    def use(self, snippet: str) -> None:
        """Have the prelude define a snippet."""
        self._needed[snippet] = None

    def call(self, function: str | Snippet, *arguments: SSAValue | str | int) -> None:
        """Print a call of a function of the prelude, or of one that it has to define besides."""
        name, snippet = (function, None) if isinstance(function, str) else (function.name, function)
        self._needed[name] = snippet
        texts = [self.value(each) if isinstance(each, SSAValue) else str(each) for each in arguments]
        self.line(f"{name}({', '.join(texts)});")

    def type(self, type: Attribute) -> str:
        """The C++ type of a scalar."""
        if isinstance(type, IndexType):
            return "long long" if self.wide_index else "int"
        name = element_of(type).cuda
        if name in STORAGE:
            self.use(name)
        return name

    def value(self, value: SSAValue) -> str:
        """A C++ expression for a value: a name, or a literal."""
        expression = self._expressions.get(value)
        if expression is None:
            raise IrcError(
                f"a value of {_name_of(value.owner)} is used before it is printed", _location_of(value.owner)
            )
        return expression

    def name(self, value: SSAValue, expression: str) -> None:
        """Let an expression that has no effect, such as a literal, stand for a value."""
        self._expressions[value] = expression

    def define(self, value: SSAValue, expression: str) -> None:
        """Print a const local with the value of an expression."""
        name = self._names.fresh(value.name_hint)
        self.line(f"const {self.type(value.type)} {name} = {expression};")
        self._expressions[value] = name

    def declare(self, value: SSAValue, initial: str | None = None) -> str:
        """Print a local that is assigned later, and give its name."""
        name = self._names.fresh(value.name_hint)
        self.line(f"{self.type(value.type)} {name}{'' if initial is None else f' = {initial}'};")
        self._expressions[value] = name
        return name

    def fresh(self, hint: str) -> str:
        """A name that no value has."""
        return self._names.fresh(hint)

    def constant(self, value: Attribute, type: Attribute) -> str:
        """The literal of an attribute's value."""
        text = literal(value, type, wide_index=self.wide_index)
        if not isinstance(type, IntegerType | IndexType | Float32Type | Float64Type):
            self.type(type)
        return text

    def table(self, values: DenseArrayBase) -> str:
        """The name of a table in constant memory."""
        return self._tables[values]

    def block(self, block: Block) -> None:
        """Print the ops of a block, one level deeper."""
        self._indent += 1
        for op in block.ops:
            self.op(op)
        self._indent -= 1

    def op(self, op: Operation) -> None:
        """Print one op, after a comment with its place where that changes."""
        function = _PRINTERS.get(type(op))
        if function is None:
            raise IrcError(
                f"{op.name} has no CUDA C++ form", op.location, "lower it to ops of cuda, arith, math and scf"
            )
        outer, self._location = self._location, op.location
        if not isinstance(op, ConstantOp):  # which stands where it is used
            self._comment(op)
        try:
            function(self, op)
        except (KeyError, VerifyException) as error:
            raise IrcError(f"{op.name} cannot be printed as CUDA C++: {error}", op.location) from error
        self._location = outer

    def _comment(self, op: Operation) -> None:
        place = next(labels(op.location), None)
        text = "" if place is None else f"{place.span.file.rsplit('/', 1)[-1]}:{place.span.line}"
        if text and text != self._place:
            self.line(f"// {text}")
        self._place = text or self._place


STORAGE = ("f16", "bf16", "f8e4m3", "f8e5m2")
"""Types that C++ has as structs of bits."""


def _instructions(kernel: KernelOp) -> set[str]:
    """The functions that instructions of a kernel are."""
    rows = ((SPELLINGS[type(op)], op) for op in ops_in(kernel) if type(op) in SPELLINGS)
    return {row.function_of(op) for row, op in rows if row.is_function(op)}


def _name_of(owner: Operation | Block) -> str:
    return owner.name if isinstance(owner, Operation) else "a block argument"


def _location_of(owner: Operation | Block) -> Attribute | None:
    return owner.location if isinstance(owner, Operation) else None


def _load_families() -> None:
    """Import the modules that register printers: here, because they import this one."""
    from irc.codegen import (  # noqa: F401
        printer_arith,  # pyright: ignore[reportUnusedImport]
        printer_cast,  # pyright: ignore[reportUnusedImport]
        printer_math,  # pyright: ignore[reportUnusedImport]
        printer_memory,  # pyright: ignore[reportUnusedImport]
        printer_scf,  # pyright: ignore[reportUnusedImport]
        printer_spelling,  # pyright: ignore[reportUnusedImport]
        printer_tensor_core,  # pyright: ignore[reportUnusedImport]
    )
