"""Layout-free tile programs of attention, as a user would write them: two dots that feed each other, with an online
softmax between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Attention:
    """softmax(q k') v for `queries` x `head` and `length` x `head` arrays of bf16: a block has `rows` queries, a step of
    its loop `keys` keys. config: the fields of its `#kernel.config`.

    causal: query i meets no keys behind number i - `back`. window: nor keys before number i - `window` + 1. The bounds
    of the loop are values then, which depend on the tile; a query that meets no key has a row of zeros.
    """

    config: str
    rows: int = 64
    keys: int = 64
    head: int = 64
    queries: int = 128
    length: int = 256
    causal: bool = False
    back: int = 0
    window: int | None = None
    wide: bool = False
    """Whether k and v are of f32, and rounded in the program: they are no copies then."""
    apart: bool = False
    """Whether the blocks whose keys all queries of a causal tile meet have a loop of their own, without a mask: before
    the one that masks, or between two of them where there is a window."""
    tiles: str = ""
    """How `tile.for_tiles` takes its tiles: what stands behind its steps."""

    @property
    def text(self) -> str:
        """The program as a module."""
        s, o, row = self._scores, self._output, self._row
        q, kv = f"{self.queries}x{self.head}xbf16", f"{self.length}x{self.head}x{self._element}"
        types = f"tensor<{q}>, tensor<{kv}>, tensor<{kv}>"
        divided = "%d = arith.divf %x0, %x1 : f32\n"
        if self._is_masked:
            divided = (
                "%ratio = arith.divf %x0, %x1 : f32\n%empty = arith.cmpf oeq, %x1, %zero : f32\n"
                "%d = arith.select %empty, %zero, %ratio : f32\n"
            )
        end = _map(
            "%y",
            {"%acc": o, "%sums": row},
            o.replace("f32", "bf16"),
            f"{divided}%z = arith.truncf %d : f32 to bf16",
            "bf16",
        )
        return f"""builtin.module {{
func.func @attention(%q: tensor<{q}>, %k: tensor<{kv}>, %v: tensor<{kv}>) -> tensor<{q}> {{
%0 = kernel.launch @attention_0(%q, %k, %v) : ({types}) -> tensor<{q}>
func.return %0 : tensor<{q}>
}}
tile.program @attention_0(%q: !tile.view<{q}>, %k: !tile.view<{kv}>, %v: !tile.view<{kv}>, %o: !tile.view<{q}>) \
{{results = 1 : i64, config = #kernel.config<{self.config}>}} {{
tile.for_tiles (%i) extents [{self.queries}] steps [{self.rows}] {self.tiles}{{
%c0 = arith.constant 0 : index
%n = arith.constant {self.length} : index
%step = arith.constant {self.keys} : index
%zero = arith.constant 0.000000e+00 : f32
%least = arith.constant -1.000000e+30 : f32
%a0 = tile.splat %zero : f32 -> {o}
%s0 = tile.splat %zero : f32 -> {s}
%l0 = tile.splat %zero : f32 -> {row}
%m0 = tile.splat %least : f32 -> {row}
%qt = tile.load %q[%i, %c0] : !tile.view<{q}> -> tensor<{self.rows}x{self.head}xbf16>
{self._bounds}
{self._loops}
{end}
tile.store %y, %o[%i, %c0] : {o.replace("f32", "bf16")}, !tile.view<{q}>
}}
}}
}}"""

    @property
    def _is_masked(self) -> bool:
        return self.causal or self.window is not None

    @property
    def _scores(self) -> str:
        return f"tensor<{self.rows}x{self.keys}xf32>"

    @property
    def _output(self) -> str:
        return f"tensor<{self.rows}x{self.head}xf32>"

    @property
    def _row(self) -> str:
        return f"tensor<{self.rows}x1xf32>"

    @property
    def _bounds(self) -> str:
        """The loop's %first and %last: the blocks of keys that a query of the tile meets."""
        ops: list[str] = []
        if self.window is not None:
            ops += [
                f"%back = arith.constant {self.window - 1} : index",
                "%oldest = arith.subi %i, %back : index",
                "%block = arith.floordivsi %oldest, %step : index",
                "%begin = arith.muli %block, %step : index",
                "%first = arith.maxsi %begin, %c0 : index",
            ]
        else:
            ops.append("%first = arith.constant 0 : index")
        if self.causal:
            ops += [
                f"%rows = arith.constant {self.rows - self.back} : index",
                "%behind = arith.addi %i, %rows : index",
                "%last = arith.minsi %behind, %n : index",
            ]
        else:
            ops.append(f"%last = arith.constant {self.length} : index")
        return "\n".join(ops)

    @property
    def _loops(self) -> str:
        results = ("%acc", "%sums", "%maxima")
        if not self.apart:
            return self._loop("%first", "%last", ("%a0", "%l0", "%m0"), results, is_masked=self._is_masked)
        whole = [
            f"%ahead = arith.constant {1 - self.back} : index",
            "%met = arith.addi %i, %ahead : index",
            "%blocks = arith.floordivsi %met, %step : index",
            "%keys = arith.muli %blocks, %step : index",
            "%some = arith.maxsi %keys, %c0 : index",
            "%full = arith.minsi %some, %last : index",
        ]
        starts, between, first = ("%a0", "%l0", "%m0"), ("%a_whole", "%l_whole", "%m_whole"), "%first"
        if self.window is not None:
            before, first = ("%a_window", "%l_window", "%m_window"), "%inside"
            whole += [
                f"%reach = arith.constant {self.rows - self.window + self.keys - 1} : index",
                "%edge = arith.addi %i, %reach : index",
                "%cut = arith.floordivsi %edge, %step : index",
                "%met_by_all = arith.muli %cut, %step : index",
                "%later = arith.maxsi %met_by_all, %first : index",
                "%inside = arith.minsi %later, %last : index",
                self._loop("%first", "%inside", starts, before, is_masked=True),
            ]
            starts = before
        whole.append(f"%whole = arith.maxsi %full, {first} : index")
        whole.append(self._loop(first, "%whole", starts, between, is_masked=False))
        whole.append(self._loop("%whole", "%last", between, results, is_masked=True))
        return "\n".join(whole)

    def _loop(
        self, first: str, last: str, starts: tuple[str, str, str], results: tuple[str, str, str], *, is_masked: bool
    ) -> str:
        acc, sums, maxima = starts
        return (
            f"{', '.join(results)} = scf.for %j = {first} to {last} step %step "
            f"iter_args(%a = {acc}, %l = {sums}, %m = {maxima}) -> ({self._output}, {self._row}, {self._row}) {{\n"
            f"{self._step(is_masked=is_masked)}\n}}"
        )

    def _step(self, *, is_masked: bool) -> str:
        """What an iteration of the loop does."""
        scores = "%masked" if is_masked else "%s"
        s, o, row = self._scores, self._output, self._row
        weights, block = s.replace("f32", "bf16"), f"tensor<{self.keys}x{self.head}xbf16>"
        ops = [
            *self._loaded("%kt", "%k[%c0, %j] {map = affine_map<(d0, d1) -> (d1, d0)>}", self.head, self.keys),
            f"%s = tile.dot %qt, %kt, %s0 : tensor<{self.rows}x{self.head}xbf16>, "
            f"tensor<{self.head}x{self.keys}xbf16>, {s} -> {s}",
            *(self._masks if is_masked else []),
            _reduce("%most", scores, s, row, "maximumf"),
            _map("%m1", {"%m": row, "%most": row}, row, "%z = arith.maximumf %x0, %x1 : f32"),
            _map("%p", {scores: s, "%m1": row}, s, "%d = arith.subf %x0, %x1 : f32\n%z = math.exp %d : f32"),
            _reduce("%sum", "%p", s, row, "addf"),
            _map("%r", {"%m": row, "%m1": row}, row, "%d = arith.subf %x0, %x1 : f32\n%z = math.exp %d : f32"),
            _map(
                "%l1",
                {"%l": row, "%r": row, "%sum": row},
                row,
                "%f = arith.mulf %x0, %x1 : f32\n%z = arith.addf %f, %x2 : f32",
            ),
            _map("%a1", {"%a": o, "%r": row}, o, "%z = arith.mulf %x0, %x1 : f32"),
            _map("%pb", {"%p": s}, weights, "%z = arith.truncf %x0 : f32 to bf16", "bf16"),
            *self._loaded("%vt", "%v[%j, %c0]", self.keys, self.head),
            f"%a2 = tile.dot %pb, %vt, %a1 : {weights}, {block}, {o} -> {o}",
            f"scf.yield %a2, %l1, %m1 : {o}, {row}, {row}",
        ]
        return "\n".join(ops)

    @property
    def _element(self) -> str:
        return "f32" if self.wide else "bf16"

    def _loaded(self, result: str, place: str, rows: int, columns: int) -> list[str]:
        """A block of k or v, of bf16."""
        name = f"{result}w" if self.wide else result
        view, block = f"!tile.view<{self.length}x{self.head}x{self._element}>", f"tensor<{rows}x{columns}xbf16>"
        loaded = block.replace("bf16", self._element)
        rounded = _map(result, {name: loaded}, block, "%z = arith.truncf %x0 : f32 to bf16", "bf16")
        return [f"{name} = tile.load {place} : {view} -> {loaded}", *([rounded] if self.wide else [])]

    @property
    def _masks(self) -> list[str]:
        """-inf where a query does not meet a key."""
        tests: list[str] = []
        if self.causal:
            back = f"%shift = arith.constant {self.back} : index\n%near = arith.subi %x1, %shift : index\n"
            tests.append(f"{back}%is = arith.cmpi sge, %near, %x2 : index")
        if self.window is not None:
            span = f"%span = arith.constant {self.window} : index\n%distance = arith.subi %x1, %x2 : index\n"
            tests.append(f"{span}%is = arith.cmpi slt, %distance, %span : index")
        body, score = ["%none = arith.constant 0xFF800000 : f32"], "%x0"
        for at, test in enumerate(tests):
            kept = "%z" if test is tests[-1] else "%kept"
            body.append(f"{test.replace('%is', f'%is{at}')}\n{kept} = arith.select %is{at}, {score}, %none : f32")
            score = kept
        rows, keys = f"tensor<{self.rows}x1xindex>", f"tensor<1x{self.keys}xindex>"
        types = {"%s": self._scores, "%query": rows, "%key": keys}
        return [
            f"%query = tile.iota %i {{axis = 0 : i64}} : {rows}",
            f"%key = tile.iota %j {{axis = 1 : i64}} : {keys}",
            _map("%masked", types, self._scores, "\n".join(body), elements=("f32", "index", "index")),
        ]

    def arguments(self) -> list[Array]:
        rng = np.random.default_rng(0)
        shapes = [(self.queries, self.head), (self.length, self.head), (self.length, self.head)]
        q, k, v = ((rng.standard_normal(shape) * 0.3).astype(ml_dtypes.bfloat16) for shape in shapes)
        return [q, k.astype(np.float32), v.astype(np.float32)] if self.wide else [q, k, v]

    def expected(self, arguments: list[Array]) -> Array:
        """In float64."""
        q, k, v = (x.astype(np.float64) for x in arguments)
        distance = np.arange(self.queries)[:, None] - np.arange(self.length)
        scores = q @ k.T
        if self.causal:
            scores[distance < self.back] = -np.inf
        if self.window is not None:
            scores[distance >= self.window] = -np.inf
        weights = np.exp(scores - np.maximum(scores.max(1, keepdims=True), -1e30))
        sums = weights.sum(1, keepdims=True)
        return weights @ v / np.where(sums == 0, 1, sums)


def _map(
    result: str, inputs: dict[str, str], out: str, body: str, element: str = "f32", elements: tuple[str, ...] = ()
) -> str:
    types = elements or ("f32",) * len(inputs)
    arguments = ", ".join(f"%x{at}: {type}" for at, type in enumerate(types))
    head = f"{result} = tile.map {', '.join(inputs)} : {', '.join(inputs.values())} -> {out}"
    return f"{head} {{\n^bb0({arguments}):\n{body}\ntile.yield %z : {element}\n}}"


def _reduce(result: str, value: str, type: str, out: str, op: str) -> str:
    head = f"{result} = tile.reduce {value} {{axes = array<i64: 1>}} : {type} -> {out}"
    return f"{head} {{\n^bb0(%x: f32, %y: f32):\n%z = arith.{op} %x, %y : f32\ntile.yield %z : f32\n}}"


EVERY = [
    Attention(
        f'instruction = "{instruction}", warps = {rows // 16}, stages = {stages}, schedule = "{schedule}"',
        *(rows, keys, head, 3 * rows, 5 * keys),
        tiles="" if schedule == "grid" else 'schedule "persistent" ',
    )
    for instruction, schedules in {
        "fma": "grid persistent",
        "mma": "grid persistent",
        "wgmma": "grid persistent pingpong",
    }.items()
    for schedule in schedules.split()
    for stages in (1, 2, 3, 4)
    for rows, keys, head in (
        (64, 64, 64),
        (64, 128, 64),
        (64, 80, 128),
        (64, 80, 256),
        (128, 112, 128),
        (128, 176, 128),
    )
]
"""A block that persists has two tiles, and a tile more steps than stages."""

REFUSED = re.compile(r"needs \d+ bytes of shared memory|holds \d+ registers in each thread")
"""What is said of one that does not fit."""
