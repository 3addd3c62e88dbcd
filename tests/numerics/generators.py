"""Random `nd` modules: one function whose results depend on every op that could be added.

Values stay moderate (a divisor is |x| + 1, an exponential is of tanh), so that an error is that of a pass and not of the program.
Comparisons, argmax and casts to integers, where the least difference decides, take only exact values: arguments, integers, and what
moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from xdsl.builder import Builder
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from irc.dialects import nd
from irc.ir.dtypes import element_named
from irc.ir.rewriting import Inserter

FLOATS = ("f32", "f32", "f64", "bf16", "bf16", "f16")
ELEMENTS = (*FLOATS, "i32", "u8", "i8", "bool")
EXTENTS = (1, 2, 3, 4, 5)


class Program:
    """A function under construction; `exact` are the values that no rounding has touched."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.block = Block()
        self.exact: set[SSAValue] = set()
        self.values: list[SSAValue] = []
        self.line = 1
        for _ in range(rng.randint(1, 3)):
            self.argument()

    def argument(self) -> None:
        shape = [self.rng.choice(EXTENTS) for _ in range(self.rng.randint(0, 3))]
        value = self.block.insert_arg(nd.tensor(shape, element_named(self.rng.choice(ELEMENTS))), len(self.block.args))
        self.values.append(value)
        self.exact.add(value)

    def location(self) -> FileLineColLoc:
        return FileLineColLoc(StringAttr("generated.irc"), IntAttr(self.line), IntAttr(1))

    def put(self, op: Operation) -> SSAValue:
        """Adds the op and returns its first result."""
        self.line += 1
        return Inserter(Builder(InsertPoint.at_end(self.block)), self.location()).value(op)

    def pick(self, holds: Callable[[SSAValue], bool]) -> SSAValue | None:
        """A value for which `holds`, the later ones more often; None where there is none."""
        found = [value for value in self.values if holds(value)]
        return self.rng.choice(found[-4:] if self.rng.random() < 0.6 else found) if found else None

    def number(self, like: SSAValue) -> SSAValue:
        """A splat of the value's type."""
        element = nd.element_of(like)
        choices = (0.0, -0.0, 1.0, 2.0, -1.0, 0.1) if element.is_float else (0, 1, 2, 5)
        value = bool(self.rng.randint(0, 1)) if element.kind == "bool" else self.rng.choice(choices)
        return self.put(nd.ConstantOp.splat(value, nd.type_of(like)))

    def module(self) -> ModuleOp:
        """The function, which returns the values that nothing uses."""
        results = [value for value in self.values if value.first_use is None][-4:] or self.values[-1:]
        self.put_return(results)
        function = FuncOp("main", ([a.type for a in self.block.args], [v.type for v in results]), Region(self.block))
        function.location = self.location()
        return ModuleOp([function])

    def put_return(self, results: Sequence[SSAValue]) -> None:
        op = ReturnOp(*results)
        op.location = self.location()
        self.block.add_op(op)


def is_float(value: SSAValue) -> bool:
    return nd.element_of(value).is_float


def is_number(value: SSAValue) -> bool:
    return nd.element_of(value).kind != "bool"


def anything(value: SSAValue) -> bool:
    return True


def unary(p: Program) -> SSAValue | None:
    x = p.pick(is_float)
    if x is None:
        return None
    plain = (nd.NegOp, nd.AbsOp, nd.ReluOp, nd.TanhOp, nd.SigmoidOp, nd.SiluOp, nd.ErfOp, nd.SinOp)
    kind = p.rng.randint(0, 5)
    if kind == 0:
        return p.put(nd.GeluOp(x, p.rng.choice(("none", "tanh"))))
    if kind == 1:
        return p.put(nd.LeakyReluOp(x, 0.01))
    if kind == 2:
        return p.put(p.rng.choice((nd.ExpOp, nd.Expm1Op, nd.Exp2Op))(p.put(nd.TanhOp(x))))
    return p.put(p.rng.choice(plain)(x))


def binary(p: Program) -> SSAValue | None:
    lhs = p.pick(is_number)
    if lhs is None:
        return None
    type = lhs.type
    rhs = p.pick(lambda value: value.type == type) if p.rng.random() < 0.7 else p.number(lhs)
    assert rhs is not None
    if p.rng.random() < 0.3:
        lhs, rhs = rhs, lhs
    if is_float(lhs) and p.rng.random() < 0.2:
        return p.put(nd.DivOp(lhs, p.put(nd.AddOp(p.put(nd.AbsOp(rhs)), one_like(p, rhs)))))
    op = p.rng.choice((nd.AddOp, nd.SubOp, nd.MulOp, nd.MinimumOp, nd.MaximumOp))
    return exact_if(p, p.put(op(lhs, rhs)), not is_float(lhs))


def one_like(p: Program, value: SSAValue) -> SSAValue:
    return p.put(nd.ConstantOp.splat(1.0, nd.type_of(value)))


def power(p: Program) -> SSAValue | None:
    x = p.pick(is_float)
    if x is None:
        return None
    exponent = p.put(nd.ConstantOp.splat(p.rng.choice((0.0, 1.0, 2.0, 3.0)), nd.type_of(x)))
    return p.put(nd.PowOp(p.put(nd.TanhOp(x)), exponent))


def choice(p: Program) -> SSAValue | None:
    exact = p.pick(lambda value: value in p.exact)
    if exact is None:
        return None
    other = p.pick(lambda value: value in p.exact and value.type == exact.type)
    assert other is not None
    compare = p.rng.choice(
        (nd.EqualOp, nd.NotEqualOp) if not is_number(exact) else (nd.LessOp, nd.LessEqualOp, nd.GreaterOp)
    )
    condition = exact_if(p, p.put(compare(exact, other)), True)
    assert condition is not None
    shape = nd.shape_of(condition)
    lhs = p.pick(lambda value: nd.shape_of(value) == shape)
    assert lhs is not None
    if p.rng.random() < 0.3:
        condition = p.put(nd.LogicalNotOp(condition))
    return p.put(nd.WhereOp(condition, lhs, p.number(lhs)))


def exact_if(p: Program, value: SSAValue | None, holds: bool) -> SSAValue | None:
    if holds and value is not None:
        p.exact.add(value)
    return value


def move(p: Program) -> SSAValue | None:
    x = p.pick(anything)
    if x is None:
        return None
    return exact_if(p, _moved(p, x, nd.shape_of(x)), x in p.exact)


def _moved(p: Program, x: SSAValue, shape: tuple[int, ...]) -> SSAValue | None:
    rank, rng = len(shape), p.rng
    match rng.randint(0, 8):
        case 0 | 1:
            return p.put(nd.PermuteOp(x, rng.sample(range(rank), rank)))
        case 2:
            return p.put(
                nd.ReshapeOp(x, rng.choice(([prod(shape)], [*shape, 1], [1, *shape], [e for e in shape if e != 1])))
            )
        case 3 if prod(shape) < 500:
            axis, count = rng.randint(0, rank), rng.choice(EXTENTS)
            places = [i + (i >= axis) for i in range(rank)]
            rng.shuffle(places) if rng.random() < 0.2 else None
            target = [count] * (rank + 1)
            for i, place in enumerate(places):
                target[place] = shape[i]
            return p.put(nd.BroadcastOp(x, target, places))
        case 4:
            starts = [rng.randint(0, extent - 1) for extent in shape]
            stops = [rng.randint(start + 1, extent) for start, extent in zip(starts, shape, strict=True)]
            return p.put(nd.SliceOp(x, starts, stops, [rng.randint(1, 2) for _ in shape]))
        case 5 if rank and prod(shape) < 500:
            other = p.pick(lambda value: value.type == x.type)
            assert other is not None
            return p.put(nd.ConcatOp([x, other], rng.randrange(rank)))
        case 6 if rank:
            return p.put(nd.FlipOp(x, rng.sample(range(rank), rng.randint(0, rank))))
        case 7 if rank >= 2 and is_number(x):
            return p.put(rng.choice((nd.TrilOp, nd.TriuOp))(x, rng.randint(-2, 2)))
        case 8 if rank and prod(shape) < 500:
            low, high = [rng.randint(0, 1) for _ in shape], [rng.randint(0, 1) for _ in shape]
            value = p.put(nd.ConstantOp.splat(False if not is_number(x) else 0, nd.tensor((), nd.element_of(x))))
            return p.put(nd.PadOp(x, value, low, high))
        case _ if rank and prod(shape) < 200:
            return p.put(nd.TileOp(x, [rng.randint(1, 2) for _ in shape]))
        case _:
            return None


def reduction(p: Program) -> SSAValue | None:
    x = p.pick(is_number)
    if x is None or prod(nd.shape_of(x)) > 500:
        return None
    rank = len(nd.shape_of(x))
    axes = p.rng.sample(range(rank), p.rng.randint(0, rank))
    if not is_float(x):
        ops = (nd.MaxOp, nd.MinOp)
        return exact_if(p, p.put(p.rng.choice(ops)(x, axes)), True) if p.rng.random() < 0.5 else integer_sum(p, x, axes)
    if p.rng.random() < 0.2:
        return p.put(nd.VarOp(x, axes, 0))
    return p.put(p.rng.choice((nd.SumOp, nd.MeanOp, nd.MaxOp, nd.MinOp))(x, axes))


def integer_sum(p: Program, x: SSAValue, axes: Sequence[int]) -> SSAValue | None:
    if p.rng.random() < 0.3:
        return p.put(nd.MeanOp(x, axes, element_named("f32")))
    return exact_if(p, p.put(nd.SumOp(x, axes, element_named("i32"))), True)


def composed(p: Program) -> SSAValue | None:
    x = p.pick(lambda value: is_float(value) and len(nd.shape_of(value)) > 0)
    if x is None:
        return None
    axis = p.rng.randrange(len(nd.shape_of(x)))
    op = p.rng.choice((nd.SoftmaxOp, nd.LogSoftmaxOp, nd.LayerNormOp, nd.RmsNormOp, nd.CumsumOp))
    return p.put(op(x, axis, 0.1) if op in (nd.LayerNormOp, nd.RmsNormOp) else op(x, axis))


def matmul(p: Program) -> SSAValue | None:
    lhs = p.pick(lambda value: is_float(value) and len(nd.shape_of(value)) > 0)
    if lhs is None or prod(nd.shape_of(lhs)) > 300:
        return None
    element, axis = nd.element_of(lhs), p.rng.randrange(len(nd.shape_of(lhs)))
    extent = nd.shape_of(lhs)[axis]
    rhs = p.pick(
        lambda value: (
            nd.element_of(value) is element and extent in nd.shape_of(value) and prod(nd.shape_of(value)) < 300
        )
    )
    if rhs is None:
        return None
    other = nd.shape_of(rhs).index(extent)
    batches = [
        (i, j)
        for i, a in enumerate(nd.shape_of(lhs))
        for j, b in enumerate(nd.shape_of(rhs))
        if a == b and i != axis and j != other
    ][: p.rng.randint(0, 1)]
    product = nd.MatmulOp(
        lhs,
        rhs,
        lhs_batch=[i for i, _ in batches],
        rhs_batch=[j for _, j in batches],
        lhs_contract=[axis],
        rhs_contract=[other],
        element=element_named(p.rng.choice(("f32", element.name))) if element.size < 4 else None,
    )
    if prod(nd.shape_of(product.result)) < 2000:
        return p.put(product)
    product.erase()  # an op that is in no block would still count as a use of its operands
    return None


def convolution(p: Program) -> SSAValue | None:
    """One of a value with itself, so that the extents go together: pads and permutes around it may be absorbed."""
    x = p.pick(lambda value: is_float(value) and len(nd.shape_of(value)) in (3, 4) and prod(nd.shape_of(value)) < 100)
    if x is None or nd.element_of(x).size == 1:
        return None
    rank = len(nd.shape_of(x))
    if p.rng.random() < 0.5:
        zero = p.put(nd.ConstantOp.splat(0, nd.tensor([], nd.element_of(x))))
        x = p.put(nd.PadOp(x, zero, [0] * rank, [0, 0, *(p.rng.randint(0, 1) for _ in range(rank - 2))]))
    kernel = x if p.rng.random() < 0.5 else p.put(nd.FlipOp(x, range(2, rank)))
    order = p.rng.sample(range(rank), rank)
    x, kernel = (p.put(nd.PermuteOp(value, order)) for value in (x, kernel))
    axes = [order.index(axis) for axis in range(rank)]
    padding = [p.rng.randint(0, 2) for _ in range(rank - 2)]
    numbers = {"low": padding, "high": padding, "x_axes": axes, "kernel_axes": axes, "flipped": p.rng.random() < 0.5}
    conv = p.put(nd.ConvOp(x, kernel, **numbers))  # pyright: ignore[reportArgumentType]
    return p.put(nd.PermuteOp(conv, p.rng.sample(range(rank), rank)))


def conversion(p: Program) -> SSAValue | None:
    x = p.pick(anything)
    if x is None:
        return None
    if is_float(x) and x not in p.exact:
        return p.put(nd.CastOp(x, element_named(p.rng.choice(FLOATS))))
    target = p.rng.choice(ELEMENTS)
    return exact_if(p, p.put(nd.CastOp(x, element_named(target))), True)


def indexed(p: Program) -> SSAValue | None:
    indices = p.pick(lambda value: nd.element_of(value).is_integer and len(nd.shape_of(value)) < 2)
    if indices is None:
        return None
    if p.rng.random() < 0.5:
        return exact_if(
            p, p.put(nd.OneHotOp(indices, p.rng.choice(EXTENTS), element_named(p.rng.choice(ELEMENTS)))), True
        )
    x = p.pick(lambda value: len(nd.shape_of(value)) > 0 and prod(nd.shape_of(value)) < 300)
    if x is None:
        return None
    return exact_if(p, p.put(nd.TakeOp(x, indices, p.rng.randrange(len(nd.shape_of(x))))), x in p.exact)


def made(p: Program) -> SSAValue | None:
    shape = [p.rng.choice(EXTENTS) for _ in range(p.rng.randint(1, 2))]
    if p.rng.random() < 0.7:
        type = nd.tensor(shape, element_named(p.rng.choice(("f32", "bf16", "i32", "u8"))))
        return exact_if(p, p.put(nd.IotaOp(type, p.rng.randrange(len(shape)))), True)
    op = p.rng.choice((nd.RandomNormalOp, nd.RandomUniformOp))
    return p.put(op(seed(p), nd.tensor(shape, element_named(p.rng.choice(("f32", "f64", "bf16"))))))


def seed(p: Program) -> SSAValue:
    """A constant, or a number that is computed."""
    scalar = nd.tensor([], element_named("i64"))
    number = p.put(nd.ConstantOp.splat(p.rng.randint(-9, 2**40), scalar))
    if p.rng.random() < 0.5:
        return number
    return p.put(nd.AddOp(number, p.put(nd.SumOp(p.put(nd.IotaOp(nd.tensor([3], element_named("i64")), 0)), [0]))))


FAMILIES = (
    unary,
    unary,
    binary,
    binary,
    binary,
    power,
    choice,
    move,
    move,
    move,
    reduction,
    composed,
    matmul,
    matmul,
    convolution,
    conversion,
    indexed,
    made,
)


def random_module(rng: Random, count: int) -> ModuleOp:
    """A module of about `count` ops."""
    program = Program(rng)
    for _ in range(count):
        value = rng.choice(FAMILIES)(program)
        if value is not None:
            program.values.append(value)
    return program.module()


def modules(most: int = 14) -> SearchStrategy[ModuleOp]:
    """Random modules of up to `most` steps, each of which adds an op or a few."""
    return st.builds(random_module, st.randoms(use_true_random=False), st.integers(1, most))
