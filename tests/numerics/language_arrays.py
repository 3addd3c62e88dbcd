"""Ops of the language that move, reduce, multiply and make arrays, each added to a program that is being written."""

from __future__ import annotations

from math import prod

from numerics.language_writer import ELEMENTS, EXTENTS, INTEGERS, Value, Writer, any_axis, fits, signed, without


def move(p: Writer) -> None:
    x = p.pick(lambda v: True)
    if x is None:
        return
    found = _moved(p, x)
    if found is not None and fits(found[1]):
        p.put(found[0], x.element, found[1], [x], rounds=False)


def _moved(p: Writer, x: Value) -> tuple[str, list[int]] | None:
    random, shape, rank, name = p.random, list(x.shape), x.rank, x.name
    kind = random.choice("permute transpose reshape broadcast expand squeeze flip tile tri slice index pad".split())
    match kind:
        case "permute":
            order = random.sample(range(rank), rank)
            return f"permute({name}, {order})", [shape[axis] for axis in order]
        case "transpose" if rank > 1:
            return f"transpose({name})", [*shape[:-2], shape[-1], shape[-2]]
        case "reshape":
            target = random.choice(([prod(shape)], [*shape, 1], [1, *shape], [n for n in shape if n != 1]))
            if rank > 1 and p.chance(0.4):
                at = random.randrange(rank - 1)
                target = [*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]]
            return f"reshape({name}, {target})", target
        case "broadcast":
            extra = random.choice(EXTENTS)
            dims = sorted(random.sample(range(rank + 1), rank))
            target = [extra] * (rank + 1)
            for axis, dim in enumerate(dims):
                target[dim] = shape[axis] if shape[axis] != 1 or p.chance(0.7) else extra
            return f"broadcast({name}, {target}, dims={dims})", target
        case "expand":
            at = random.randint(0, rank)
            return f"expand_dims({name}, {at})", [*shape[:at], 1, *shape[at:]]
        case "squeeze" if 1 in shape:
            at = shape.index(1)
            return f"squeeze({name}, {signed(p, at, rank)})", without(shape, [at])
        case "flip" if rank:
            return f"flip({name}, {random.sample(range(rank), random.randint(1, rank))})", shape
        case "tile" if rank:
            reps = [random.choice((1, 1, 2, 3)) for _ in shape]
            return f"tile({name}, {reps})", [n * count for n, count in zip(shape, reps, strict=True)]
        case "tri" if rank > 1 and x.element != "bool":
            return f"{p.choice('tril', 'triu')}({name}, k={random.randint(-2, 2)})", shape
        case "slice" if rank:
            starts = [random.randint(0, n - 1) for n in shape]
            stops = [random.randint(start + 1, n) for start, n in zip(starts, shape, strict=True)]
            steps = [random.choice((1, 1, 2, 3)) for _ in shape]
            cuts = ", ".join(map("{}:{}:{}".format, starts, stops, steps))
            extents = [len(range(*cut)) for cut in zip(starts, stops, steps, strict=True)]
            return f"{name}[{cuts}]", extents
        case "index" if rank:
            at = random.randint(-shape[0], shape[0] - 1)
            return f"{name}[{at}, None, ...]", [1, *shape[1:]]
        case "pad" if rank and x.element != "bool":
            low, high = ([random.choice((0, 0, 1, 2)) for _ in shape] for _ in range(2))
            pads = [list(pair) for pair in zip(low, high, strict=True)]
            target = [n + a + b for n, a, b in zip(shape, low, high, strict=True)]
            return f"pad({name}, {pads}, value={random.randint(0, 2)})", target
        case _:
            return None


def together(p: Writer) -> None:
    """A concat or stack of values, or the parts of one."""
    x = p.pick(lambda v: v.rank > 0)
    if x is None:
        return
    axis = any_axis(p, x)
    if p.chance(0.3):
        cut = p.random.randint(1, x.shape[axis])
        if cut < x.shape[axis]:
            shapes = [[*x.shape[:axis], n, *x.shape[axis + 1 :]] for n in (cut, x.shape[axis] - cut)]
            p.put_all(f"split({x.name}, [{cut}], axis={axis})", x.element, shapes, [x], rounds=False)
        return

    def joins(v: Value) -> bool:
        return v.element == x.element and v.rank == x.rank and without(v.shape, [axis]) == without(x.shape, [axis])

    parts = [x, *(v for _ in range(p.random.randint(0, 2)) if (v := p.pick(joins)) is not None)]
    names = ", ".join(v.name for v in parts)
    if all(v.shape == x.shape for v in parts) and p.chance(0.5):
        shape = [*x.shape[:axis], len(parts), *x.shape[axis:]]
        text = f"stack([{names}], axis={axis})"
    else:
        shape = [*x.shape[:axis], sum(v.shape[axis] for v in parts), *x.shape[axis + 1 :]]
        text = f"concat([{names}], axis={axis})"
    if fits(shape):
        p.put(text, x.element, shape, parts, rounds=False)


def indexed(p: Writer) -> None:
    x = p.pick(lambda v: v.rank > 0)
    if x is None:
        return
    axis = any_axis(p, x)
    shape = list(x.shape)
    match p.random.randint(0, 3):
        case 0:
            at = p.pick(lambda v: v.is_integer and v.is_exact and v.rank < 3) or p.argument("i32")
            taken = [*shape[:axis], *at.shape, *shape[axis + 1 :]]
            if fits(taken):
                p.put(f"take({x.name}, {at.name}, axis={axis})", x.element, taken, [x, at], rounds=False)
        case 1:
            extents = [n if i != axis else p.random.choice((1, 1, 2, 5)) for i, n in enumerate(shape)]
            at = p.pick(lambda v: v.is_integer and v.is_exact and without(v.shape, [axis]) == without(shape, [axis]))
            at = at or p.argument(p.random.choice(INTEGERS), extents)
            if at.rank == x.rank:
                text = f"take_along({x.name}, {at.name}, {signed(p, axis, x.rank)})"
                p.put(text, x.element, at.shape, [x, at], rounds=False)
        case 2:
            at = p.pick(lambda v: v.is_integer and v.is_exact) or p.argument("i32")
            n, element = p.random.choice(EXTENTS), p.random.choice(ELEMENTS)
            if fits((*at.shape, n)):
                p.put(f"one_hot({at.name}, {n}, {element})", element, (*at.shape, n), [at], rounds=False)
        case _ if x.element != "bool":
            at = p.pick(lambda v: v.is_integer and v.is_exact and v.rank == 1) or p.argument("i64", [3])
            if at.rank == 1 and fits((at.shape[0], *shape)):
                updates = p.argument(x.element, [n if i != axis else at.shape[0] for i, n in enumerate(shape)])
                text = f"scatter_add({x.name}, {at.name}, {updates.name}, axis={axis})"
                p.put(text, x.element, shape, [x, at, updates])
        case _:
            return


def reduction(p: Writer) -> None:
    x = p.pick(lambda v: True)
    if x is None:
        return
    axes = sorted(p.random.sample(range(x.rank), p.random.randint(0, x.rank)))
    is_kept = p.chance(0.3)
    shape = [1 if i in axes else n for i, n in enumerate(x.shape)] if is_kept else without(x.shape, axes)
    given: object = [signed(p, axis, x.rank) for axis in axes]
    if len(axes) == 1 and p.chance(0.5):
        given = axes[0]
    given = "None" if len(axes) == x.rank and p.chance(0.4) else given
    said = f"{x.name}, axis={given}" + (", keepdims=true" if is_kept else "")
    if x.element == "bool":
        p.put(f"{p.choice('any', 'all')}({said})", "bool", shape, [x])
        return
    ops = ["sum", "sum", "mean", "var", "prod"]
    if x.is_exact or not p.is_differentiated:
        ops += ["max", "min"]
    op = p.random.choice(ops)
    if op in ("max", "min"):
        p.put(f"{op}({said})", x.element, shape, [x], rounds=not x.is_exact)
        return
    small = x.element in ("i8", "u8", "i16")
    element = "f32" if x.is_integer and op in ("mean", "var") else "i32" if small else x.element
    if p.chance(0.2):
        element = p.choice("f32", "f64") if x.is_float or op in ("mean", "var") else p.choice("i32", "i64", "i8")
        said += f", dtype={element}"
    p.put(f"{op}({said.replace(x.name, factors(x, op), 1)})", element, shape, [x])


def factors(x: Value, op: str) -> str:
    """What the op takes of a value: a product of many factors takes such as do not overflow."""
    return f"cos({x.name})" if x.is_float and op.endswith("prod") else x.name


def position(p: Writer) -> None:
    x = p.pick(lambda v: v.is_exact and v.element != "bool")
    if x is None:
        return
    op = p.choice("argmax", "argmin")
    if x.rank == 0 or p.chance(0.2):
        p.put(f"{op}({x.name})", "i64", (), [x])
        return
    axis = any_axis(p, x)
    p.put(f"{op}({x.name}, axis={signed(p, axis, x.rank)})", "i64", without(x.shape, [axis]), [x])


def scan(p: Writer) -> None:
    x = p.pick(lambda v: v.rank > 0 and v.element != "bool")
    if x is not None:
        op = p.choice("cumsum", "cumprod")
        p.put(f"{op}({factors(x, op)}, {any_axis(p, x)})", x.element, x.shape, [x])


def composed(p: Writer) -> None:
    x = p.pick(lambda v: v.rank > 0 and v.is_float)
    if x is None:
        return
    axis = any_axis(p, x)
    if p.chance(0.25) and x.rank > 1:
        *batch, s, d = x.shape
        t, e = p.random.choice(EXTENTS[:9]), p.random.choice(EXTENTS[:9])
        if fits((*batch, s, t)) and fits((*batch, t, d)) and fits((*batch, t, e)):
            k, v = p.argument(x.element, [*batch, t, d]), p.argument(x.element, [*batch, t, e])
            options, read = f"causal={p.choice('true', 'false')}", [x, k]
            if p.chance(0.25):
                options += f", window={p.random.randint(1, 4)}"
            if p.chance(0.25):
                read.append(p.argument(p.choice("bool", "f32"), [s, t]))
                options += f", bias={read[-1].name}"
            p.put(f"attention({x.name}, {k.name}, {v.name}, {options})", x.element, [*batch, s, e], [*read, v])
            if t and "bias" not in options and s <= t and p.chance(0.25):  # each row sees its own column
                sums = f"attention_log_sum_exp({x.name}, {k.name}, {options})"
                p.put(sums, "f64" if x.element == "f64" else "f32", [*batch, s], read)
                weights = f"attention_weights({x.name}, {k.name}, {sums}, {options})"
                p.put(weights, x.element, [*batch, s, t], read)
        return
    op = p.choice("softmax", "log_softmax", "layer_norm", "rms_norm")
    eps = ", eps=0.125" if op.endswith("norm") else ""
    p.put(f"{op}({x.name}, axis={signed(p, axis, x.rank)}{eps})", x.element, x.shape, [x])


MULTIPLIED = {"i8": "i32", "u8": "i32", "f8e4m3": "f32", "f8e5m2": "f32"}
"""The element types of products, where they are not those of the operands."""


def product(p: Writer) -> None:
    x = p.pick(lambda v: v.rank > 0 and v.element != "bool")
    if x is None:
        return
    element = MULTIPLIED.get(x.element, x.element)
    options = p.choice("", ", dtype=f32", ', precision="bf16"') if x.element == "f32" else ""
    if p.chance(0.5):
        *batch, k = x.shape
        n = p.random.choice(([], [1], [2], [9]))
        head = batch[:-1] if n else []
        shape = [*(m if p.chance(0.7) else 1 for m in head), k, *n] if n else [k]
        y = p.pick(lambda v: v.element == x.element and list(v.shape) == shape) or p.argument(x.element, shape)
        result = [*batch, *n]
        if fits(result) and fits((*batch, k, *n)):
            text = f"{x.name} @ {y.name}" if not options else f"matmul({x.name}, {y.name}{options})"
            p.put(text, element, result, [x, y])
        return
    _general_product(p, x, element, options)


def _general_product(p: Writer, x: Value, element: str, options: str) -> None:
    """Any axes are batches or contracted, perhaps none."""
    axes = p.random.sample(range(x.rank), x.rank)
    batches, contracted = p.random.randint(0, min(2, x.rank)), p.random.randint(0, 2)
    batch, contract = axes[:batches], axes[batches : batches + contracted]
    roles = [("b", axis) for axis in batch] + [("c", axis) for axis in contract]
    roles += [("f", i) for i in range(p.random.randint(0, 2))]
    order = p.random.sample(roles, len(roles))
    shape = [p.random.choice(EXTENTS[:8]) if role == "f" else x.shape[axis] for role, axis in order]
    free = [n for (role, _), n in zip(order, shape, strict=True) if role == "f"]
    left = [n for i, n in enumerate(x.shape) if i not in (*batch, *contract)]
    result = [*(x.shape[axis] for axis in batch), *left, *free]
    if not fits(shape) or not fits((*result, *(x.shape[axis] for axis in contract))):
        return
    y = p.argument(x.element, shape)
    rhs = [[order.index((role, axis)) for axis in of] for role, of in (("b", batch), ("c", contract))]
    lists = f"lhs_batch={batch}, rhs_batch={rhs[0]}, lhs_contract={contract}, rhs_contract={rhs[1]}"
    p.put(f"matmul({x.name}, {y.name}, {lists}{options})", element, result, [x, y])


def made(p: Writer) -> None:
    shape, element = list(p.any_shape()), p.random.choice(ELEMENTS)
    match p.random.randint(0, 3):
        case 0 if element != "bool":
            p.put(f"full({shape}, {p.random.randint(0, 9)}, {element})", element, shape, [], rounds=False)
        case 1:
            p.put(f"{p.choice('zeros', 'ones')}({shape}, {element})", element, shape, [], rounds=False)
        case 2 if shape and element not in ("bool", "f8e4m3", "f8e5m2"):
            axis = p.random.randrange(len(shape))
            p.put(f"iota({shape}, {element}, axis={axis})", element, shape, [], rounds=False)
        case _ if element in ("f32", "f64", "bf16", "f16"):
            seed = p.pick(lambda v: v.element == "i64" and v.rank == 0)
            text = f"{p.choice('random_normal', 'random_uniform')}({shape}, {element}, {seed.name if seed else 7})"
            p.put(text, element, shape, [] if seed is None else [seed])
        case _:
            return
