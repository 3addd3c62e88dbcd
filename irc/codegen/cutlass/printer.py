"""A matmul kernel of the kernel level as a file of C++ on CUTLASS 3.x.

Types from the collective builder, a visitor tree of one alias for each node, its arguments, the same computation of one
element on the host, and a main that compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from irc.codegen.cutlass.comparison import kept_extent, main_text, number_text
from irc.codegen.cutlass.epilogue import REDUCTIONS, Epilogue, Node, bare_epilogue, epilogue_of
from irc.codegen.cutlass.functors import ELEMENTWISE
from irc.codegen.cutlass.operand import Operand, operand_text
from irc.codegen.cutlass.product import ELEMENTS, Matrix, Product, products_of
from irc.codegen.cutlass.program import ARRAYS, HEADERS, NO_DRIVER
from irc.codegen.names import Names
from irc.dialects.kernel import Anchor, FusedOp
from irc.dialects.nd.base import shape_of
from irc.ir.dtypes import Element, element_of
from irc.ir.locations import describe
from irc.ir.rewriting import location_of
from irc.support.diagnostics import IrcError


def print_module(module: ModuleOp, name: str = "") -> str:
    """The file of the module's matmul kernel, or of the kernel with this name."""
    kernels = [op for op in module.walk() if isinstance(op, FusedOp)]
    if not kernels:
        raise IrcError("-t cutlass reads the kernel level, the module has no kernel.fused", hint="run -p kernel first")
    chosen = [k for k in kernels if (_name(k) == name if name else k.kind is Anchor.MATMUL)]
    if len(chosen) != 1:
        found = f"no kernel {name}" if name else f"{len(chosen)} matmul kernels"
        known = ", ".join(_name(kernel) for kernel in kernels)
        raise IrcError(f"-t cutlass writes one kernel, found {found}", hint=f"-t 'cutlass{{kernel=NAME}}' of {known}")
    return print_kernel(chosen[0])


def print_kernel(kernel: FusedOp) -> str:
    """IrcError where CUTLASS cannot say what the kernel computes."""
    products = products_of(kernel)
    return _File(kernel, products, epilogue_of(kernel, products)).text()


def _name(kernel: FusedOp) -> str:
    return "kernel" if kernel.sym_name is None else kernel.sym_name.data


class _File:
    """`before`: the products that are computed before the first one, each in a namespace and an array of its name."""

    def __init__(self, kernel: FusedOp, products: Sequence[Product], epilogue: Epilogue):
        self.kernel, self.products, self.epilogue = kernel, products, epilogue
        self.product = products[0]
        names = Names()
        for taken in ("A", "B", "C", "D", "L", "M", "N", "K", "data", "run", "main", "check", "results"):
            names.fresh(taken)
        self.arrays: dict[SSAValue, str] = {
            a: names.fresh(a.name_hint) for a in kernel.block.args if a.uses.get_length()
        }
        self.drawn = list(self.arrays)
        matrices = [side.argument for product in products for side in (product.lhs, product.rhs)]
        self.operands = [Operand.of(value) for value in dict.fromkeys(matrices) if value not in self.arrays]
        self.arrays |= {operand.value: names.fresh("operand") for operand in self.operands}
        self.results = [names.fresh("result") for _ in epilogue.results]
        self.before = [names.fresh("product") for _ in products[1:]]
        self.values = {node: names.fresh("v") for node in epilogue.nodes}
        self.compute = ELEMENTS[epilogue.compute.name]

    @property
    def _first(self) -> Element:
        """The element type of D."""
        return self.epilogue.results[self.epilogue.first]

    @property
    def _added(self) -> list[str]:
        """The results that blocks add to in any order."""
        return [self.results[node.result] for node in self.epilogue.reductions if node.kind == "reduce_scalar"]

    def text(self) -> str:
        parts = [
            self._title(),
            NO_DRIVER if self._added else "",
            HEADERS,
            "namespace {\n",
            self._functors(),
            self._types(),
            ARRAYS,
            *(operand_text(each, self.arrays[each.value], self._sources(each)) for each in self.operands),
            self._data(),
            *(self._computed_before(at) for at in range(len(self.before))),
            self._run(),
            self._reference(),
            "}  // namespace\n",
            self._main(),
        ]
        return "\n".join(part for part in parts if part)

    def _title(self) -> str:
        place = describe(location_of(self.kernel))
        return (
            f"// {_name(self.kernel)}, {place}: a product with its epilogue, written by irc-opt -t cutlass.\n"
            "// nvcc -std=c++17 -arch=sm_90a -O3 --expt-relaxed-constexpr -DNDEBUG \\\n"
            "//   -I CUTLASS/include -I CUTLASS/tools/util/include FILE.cu -o FILE\n"
        )

    def _functors(self) -> str:
        functors = [node.functor for node in self.epilogue.nodes if node.functor]
        functors += [functor for operand in self.operands for functor in operand.functors]
        own = dict.fromkeys(functor.text for functor in functors if functor.text)
        return "\n".join(["namespace functors {\n", ELEMENTWISE, *own, "}  // namespace functors\n"]) if own else ""

    def _computed_before(self, at: int) -> str:
        """The types of a product that is computed before, and its call."""
        product = self.products[at + 1]
        own = _File(self.kernel, [product], bare_epilogue(product))
        own.arrays, own.operands, own.results = self.arrays, [], [self.before[at]]
        name = self.before[at]
        return f"namespace {name} {{\n{own._types()}\n{own._run()}}}  // namespace {name}\n"

    # Types

    def _types(self) -> str:
        p = self.product
        is_pingpong = p.schedule == "pingpong" or p.tile[0] < 128
        mainloop = "KernelTmaWarpSpecializedPingpong" if is_pingpong else "KernelTmaWarpSpecializedCooperative"
        epilogue = "TmaWarpSpecialized" if is_pingpong else "TmaWarpSpecializedCooperative"
        source = self.epilogue.source
        shapes = [
            "cute::Shape<" + ", ".join(f"cute::_{n}" for n in extents) + ">" for extents in (p.tile, (*p.cluster, 1))
        ]
        lines = [
            "namespace fusion = cutlass::epilogue::fusion;",
            f"constexpr int64_t L = {p.batch}, M = {p.m}, N = {p.n}, K = {p.k};",
            "constexpr auto nearest = cutlass::FloatRoundStyle::round_to_nearest;",
            *_matrix_types("A", p.lhs),
            *_matrix_types("B", p.rhs),
            f"using C = {'void' if source is None else ELEMENTS[source.element.name]};",
            f"using D = {ELEMENTS[self._first.name]};",
            "using Rows = cutlass::layout::RowMajor;",
            f"using Tile = {shapes[0]};",
            f"using Cluster = {shapes[1]};",
            "",
            *self._nodes(),
            "",
            "using CollectiveEpilogue = typename cutlass::epilogue::collective::CollectiveBuilder<",
            "    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,",
            f"    cutlass::epilogue::collective::EpilogueTileAuto, {ELEMENTS[p.accumulator.name]}, {self.compute},",
            f"    C, Rows, {_per_access(source.element if source is not None else self._first)}, "
            f"D, Rows, {_per_access(self._first)},",
            f"    cutlass::epilogue::{epilogue}, Epilogue>::CollectiveOp;",
            "using CollectiveMainloop = typename cutlass::gemm::collective::CollectiveBuilder<",
            "    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp,",
            f"    A, LayoutA, {_per_access(p.lhs.element)}, B, LayoutB, {_per_access(p.rhs.element)}, "
            f"{ELEMENTS[p.accumulator.name]}, Tile, Cluster,",
            "    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(",
            "        sizeof(typename CollectiveEpilogue::SharedStorage))>,",
            f"    cutlass::gemm::{mainloop}>::CollectiveOp;",
            "using Kernel = cutlass::gemm::kernel::GemmUniversal<",
            "    cute::Shape<int, int, int, int>, CollectiveMainloop, CollectiveEpilogue>;",
            "using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;",
            "",
        ]
        return "\n".join(lines)

    def _nodes(self) -> list[str]:
        nodes, lines = self.epilogue.nodes, list[str]()
        for node in nodes:
            type = self._type(node)
            if node.inputs and not self.epilogue.shares:
                type = f"fusion::Sm90EVT<{', '.join([type, *map(self._alias, node.inputs)])}>"
            lines.append(f"using {self._alias(node)} = {type};{self._comment(node)}")
        if not self.epilogue.shares:
            return [*lines, f"using Epilogue = {self._alias(nodes[-1])};"]
        edges = (f"cute::seq<{', '.join(str(nodes.index(i)) for i in node.inputs)}>" for node in nodes)
        return [
            *lines,
            f"using Epilogue = fusion::Sm90TopologicalVisitor<{self.compute},",
            f"    cute::tuple<{', '.join(edges)}>,",
            f"    {', '.join(map(self._alias, nodes))}>;",
        ]

    def _alias(self, node: Node) -> str:
        return self.values[node].upper()

    def _type(self, node: Node) -> str:
        element = ELEMENTS[node.element.name]
        batch = "int64_t" if node.batched else "cute::_0"
        match node.kind:
            case "accumulator":
                return "fusion::Sm90AccFetch"
            case "constant" | "scalar":
                return f"fusion::Sm90ScalarBroadcast<{element}>"
            case "row":
                stride = f"cute::Stride<cute::_0, cute::_1, {batch}>"
                return f"fusion::Sm90RowBroadcast<0, Tile, {element}, {self.compute}, {stride}>"
            case "column":
                stride = f"cute::Stride<cute::_1, cute::_0, {batch}>"
                return f"fusion::Sm90ColBroadcast<0, Tile, {element}, {self.compute}, {stride}>"
            case "tile" if node is self.epilogue.source:
                return "fusion::Sm90SrcFetch<C>"
            case "tile" | "product":
                return f"fusion::Sm90AuxLoad<0, void, {element}, Rows, void, void>"
            case "reduce_scalar":
                return f"fusion::Sm90ScalarReduction<cutlass::plus, cutlass::atomic_add, {element}, {element}, nearest>"
            case "reduce_row" | "reduce_column":
                assert node.functor is not None
                functors = ", ".join([node.functor.name] * 3)
                kind = "Row" if node.kind == "reduce_row" else "Col"
                return f"fusion::Sm90{kind}Reduction<{functors}, 0, Tile, {element}, {element}, nearest>"
            case "store":
                return f"fusion::Sm90AuxStore<0, void, {element}, nearest, Rows, void, void>"
            case _:
                assert node.functor is not None
                return f"fusion::Sm90Compute<{node.functor.name}, {element}, {self.compute}, nearest>"

    def _comment(self, node: Node) -> str:
        """What the node is: the array that it loads, or the op and its place."""
        if node.argument is not None:
            return f"  // {self.arrays[node.argument]}"
        return "" if node.op is None else f"  // {node.op.name}, {describe(location_of(node.op))}"

    # Arguments

    def _data(self) -> str:
        lines = ["struct Data {"]
        for argument, name in self.arrays.items():
            size = 1
            for extent in shape_of(argument):
                size *= extent
            lines.append(f"  Array<{ELEMENTS[element_of(argument.type).name]}> {name}{{{size}}};")
        sizes = {node.result: kept_extent(node) for node in self.epilogue.reductions}
        for at, (name, element) in enumerate(zip(self.results, self.epilogue.results, strict=True)):
            lines.append(f"  Array<{ELEMENTS[element.name]}> {name}{{{sizes.get(at, 'L * M * N')}}};")
        for name, product in zip(self.before, self.products[1:], strict=True):
            lines.append(f"  Array<{ELEMENTS[product.accumulator.name]}> {name}{{L * M * N}};")
        draws = [f"    {self.arrays[array]}.draw({seed});" for seed, array in enumerate(self.drawn, 1)]
        for operand in self.operands:
            name, sources = self.arrays[operand.value], self._sources(operand)
            elements = ", ".join(f"{source}.host.data()" for source in sources)
            draws.append(f"    for (size_t i = 0; i < {name}.host.size(); ++i) {{")
            draws.append(f"      {name}.host[i] = element_of_{name}({elements}, i);")
            draws.append("    }")
        return "\n".join([*lines, "", "  Data() {", *draws, "  }", "};\n"])

    def _sources(self, operand: Operand) -> list[str]:
        """The arrays that an operand is computed from."""
        return [self.arrays[array] for array in operand.arrays]

    def _compute_operands(self) -> list[str]:
        lines: list[str] = []
        for operand in self.operands:
            name = self.arrays[operand.value]
            pointers = ", ".join(f"data.{each}.device" for each in (*self._sources(operand), name))
            lines += [f"  compute_{name}<<<1024, 256>>>({pointers});", "  check(cudaGetLastError());"]
        return lines

    def _run(self) -> str:
        nodes, source = self.epilogue.nodes, self.epilogue.source
        arguments = [self._arguments(node) for node in nodes]
        last = self.values[nodes[-1]]
        if self.epilogue.shares:
            everything = ", ".join(self.values[node] for node in nodes)
            arguments.append(f"  typename Epilogue::Arguments epilogue{{{everything}}};")
            last = "epilogue"
        c = "nullptr" if source is None or source.argument is None else f"data.{self.arrays[source.argument]}.device"
        lhs, rhs = self.arrays[self.product.lhs.argument], self.arrays[self.product.rhs.argument]
        lines = [
            "/// Computes the results on the device.",
            "void run(Data& data) {",
            *self._compute_operands(),
            *(f"  {name}::run(data);" for name in self.before),
            "  int const m = M, n = N, k = K, l = L;",
            "  auto const stride_a = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, l});",
            "  auto const stride_b = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, l});",
            "  auto const stride_c = cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, l});",
            "  auto const stride_d = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, l});",
            *arguments,
            "  typename Gemm::Arguments arguments{",
            "      cutlass::gemm::GemmUniversalMode::kGemm, {m, n, k, l},",
            f"      {{data.{lhs}.device, stride_a, data.{rhs}.device, stride_b}},",
            f"      {{{last}, {c}, stride_c, data.{self.results[self.epilogue.first]}.device, stride_d}}}};",
            "  Gemm gemm;",
            "  check(gemm.can_implement(arguments));",
            "  Array<uint8_t> workspace(std::max<size_t>(Gemm::get_workspace_size(arguments), 1));",
            "  check(gemm.initialize(arguments, workspace.device));",
            *(f"  check(cudaMemset(data.{name}.device, 0, sizeof({self.compute})));" for name in self._added),
            "  check(gemm.run());",
            "  check(cudaDeviceSynchronize());",
            "}\n",
        ]
        return "\n".join(lines)

    def _arguments(self, node: Node) -> str:
        name = self.values[node]
        array = "" if node.argument is None else f"data.{self.arrays[node.argument]}.device"
        element = ELEMENTS[node.element.name]
        match node.kind:
            case "constant":
                value = f"{{{{{number_text(node.value, self.epilogue.compute)}}}}}"
            case "scalar":
                value = f"{{{{}}, {{{array}}}}}"
            case "row" if node.batched:
                value = f"{{{array}, {element}(0), {{cute::_0{{}}, cute::_1{{}}, N}}}}"
            case "column" if node.batched:
                value = f"{{{array}, {element}(0), {{cute::_1{{}}, cute::_0{{}}, M}}}}"
            case "row" | "column":
                value = f"{{{array}}}"
            case "product":
                value = f"{{data.{self.before[node.product - 1]}.device, {element}(0), stride_d}}"
            case "tile" if node is not self.epilogue.source:
                value = f"{{{array}, {element}(0), stride_d}}"
            case "reduce_row" | "reduce_column" | "reduce_scalar":
                identity = number_text(node.value, node.element)
                value = f"{{data.{self.results[node.result]}.device, {identity}}}"
            case "store":
                value = f"{{data.{self.results[node.result]}.device, stride_d}}"
            case _:
                value = "{}"
        if node.inputs and not self.epilogue.shares:
            value = "{" + ", ".join([*(self.values[i] for i in node.inputs), value]) + "}"
        return f"  typename {self._alias(node)}::Arguments {name}{value};"

    # The reference

    def _reference(self) -> str:
        lines = [
            "/// The results at one place, computed on the host.",
            "void reference(Data const& data, int64_t l, int64_t m, int64_t n, double* results) {",
        ]
        for sum, product in zip(self._sums, self.products, strict=True):
            lines += self._summed(sum, product)
        for node in self.epilogue.nodes:
            if node.kind in REDUCTIONS:
                lines.append(f"  results[{node.result}] = double({self._scalar(node)});")
                continue
            if node.kind == "store":
                lines.append(f"  results[{node.result}] = double(float({_cast(self._scalar(node), node.element)}));")
                continue
            lines.append(f"  {self.compute} const {self.values[node]} = {self._scalar(node)};")
        lines.append(f"  results[{self.epilogue.first}] = double({self.values[self.epilogue.nodes[-1]]});")
        return "\n".join([*lines, "}\n"])

    @property
    def _sums(self) -> list[str]:
        """The sums of the products in the reference."""
        return ["sum", *(f"sum_of_{name}" for name in self.before)]

    def _summed(self, sum: str, product: Product) -> list[str]:
        """A product at l, m, n."""
        a, b = self.arrays[product.lhs.argument], self.arrays[product.rhs.argument]
        depth = "K" if product is self.product else str(product.k)
        at_a = f"(l * M + m) * {depth} + k" if product.lhs.row_major else f"(l * {depth} + k) * M + m"
        at_b = f"(l * {depth} + k) * N + n" if product.rhs.row_major else f"(l * N + n) * {depth} + k"
        return [
            f"  double {sum} = 0;",
            f"  for (int64_t k = 0; k < {depth}; ++k) {{",
            f"    {sum} += data.{a}.at({at_a}) * data.{b}.at({at_b});",
            "  }",
        ]

    def _scalar(self, node: Node) -> str:
        """The node's value at l, m, n, in the type of the computation."""
        place = {"scalar": "0", "row": "n", "column": "m", "tile": "(l * M + m) * N + n"}
        if node.kind in place:
            assert node.argument is not None
            batched = {"row": "l * N + n", "column": "l * M + m"}.get(node.kind) if node.batched else None
            return f"{self.compute}(data.{self.arrays[node.argument]}.host[{batched or place[node.kind]}])"
        inputs = ", ".join(self.values[i] for i in node.inputs)
        match node.kind:
            case "accumulator" | "product":
                return f"{self.compute}({self._sums[node.product]})"
            case "constant":
                return number_text(node.value, self.epilogue.compute)
            case "store" | "reduce_row" | "reduce_column" | "reduce_scalar":
                return inputs
            case _:
                assert node.functor is not None
                value = f"{node.functor.name}<{self.compute}>{{}}({inputs})"
                return (
                    value if node.element is self.epilogue.compute else f"{self.compute}({_cast(value, node.element)})"
                )

    def _main(self) -> str:
        return main_text(self.epilogue, self.results)


def _matrix_types(name: str, matrix: Matrix) -> list[str]:
    layout = "RowMajor" if matrix.row_major else "ColumnMajor"
    return [f"using {name} = {ELEMENTS[matrix.element.name]};", f"using Layout{name} = cutlass::layout::{layout};"]


def _per_access(element: Element) -> int:
    """Elements of 16 bytes."""
    return 16 // element.size


def _cast(value: str, element: Element) -> str:
    return f"{ELEMENTS[element.name]}({value})"
