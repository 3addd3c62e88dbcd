"""Ops of the language that compute element by element, each added to a program that is being written."""

from __future__ import annotations

from numerics.language_writer import ELEMENTS, FLOATS, Writer, fits, joined, other

SMOOTH = "tanh sigmoid erf sin cos silu gelu relu abs neg".split()
POLES = "log log2 sqrt exp exp2 expm1 tan log1p".split()
GUARDED = (
    "exp(tanh({x}))",
    "exp2(tanh({x}))",
    "expm1(sin({x}))",
    "log(abs({x}) + 1)",
    "log2(abs({x}) + 1)",
    "log1p(abs({x}))",
    "sqrt(abs({x}) + 1)",
    "rsqrt(abs({x}) + 1)",
    "reciprocal(abs({x}) + 1)",
    "tan(sin({x}))",
    'gelu({x}, approximate="tanh")',
    "leaky_relu({x}, 0.125)",
    "softmax({x})",
    "{x} ** 2",
    "tanh({x}) ** 3",
    "(abs({x}) + 1) ** -1",
    "pow(abs({x}) + 1, sin({x}))",
)


def unary(p: Writer) -> None:
    x = p.pick(lambda v: v.is_float)
    if x is None:
        return
    if x.is_exact and p.chance(0.3) and not p.is_differentiated:
        p.put(f"{p.random.choice(POLES)}({x.name})", x.element, x.shape, [x])
    elif p.chance(0.5):
        p.put(f"{p.random.choice(SMOOTH)}({x.name})", x.element, x.shape, [x])
    else:
        text = p.random.choice([text for text in GUARDED if x.rank or "softmax" not in text])
        p.put(text.format(x=x.name), x.element, x.shape, [x])


def exact_unary(p: Writer) -> None:
    x = p.pick(lambda v: v.is_exact and v.element != "bool")
    if x is None:
        return
    if x.is_float and p.chance(0.3):
        p.put(f"{p.choice('isnan', 'isinf')}({x.name})", "bool", x.shape, [x])
        return
    op = p.choice("abs", "neg", "relu", "sign", "floor", "ceil", "round", "+", "-")
    p.put(f"{op}({x.name})", x.element, x.shape, [x], rounds=False)


def bits(p: Writer) -> None:
    x = p.pick(lambda v: v.is_exact and not v.is_float)
    if x is None:
        return
    if p.chance(0.3):
        op = "~" if x.is_integer or p.chance(0.5) else "logical_not"
        p.put(f"{op}({x.name})", x.element, x.shape, [x])
        return
    y, shape = other(p, x)
    op = p.choice("&", "|", "^") if x.element == "bool" else p.choice("&", "|", "^", "<<", ">>")
    p.put(f"{x.name} {op} {y.name}", x.element, shape, [x, y])


def binary(p: Writer) -> None:
    x = p.pick(lambda v: v.element != "bool")
    if x is None:
        return
    y, shape = other(p, x)
    texts = ["{x} + {y}", "{x} - {y}", "{x} * {y}", "{y} * {x}"]
    if not p.is_differentiated or (x.is_exact and y.is_exact):
        texts += ["minimum({x}, {y})", "maximum({x}, {y})"]
    if x.is_float:
        texts += ["{x} / (abs({y}) + 1)", "atan2({x}, abs({y}) + 1)"]
    if x.is_exact and y.is_exact:
        texts += ["{x} // {y}", "{x} % {y}"] if x.is_integer else ["{x} // (abs({y}) + 1)", "{x} % (abs({y}) + 1)"]
    if x.is_integer:
        texts += ["{x} ** 3", "pow({x}, {y})"]
    text = p.random.choice(texts)
    shape = x.shape if "{y}" not in text else shape
    p.put(text.format(x=x.name, y=y.name), x.element, shape, [x, y] if "{y}" in text else [x])


def numbers(p: Writer) -> None:
    """Arithmetic with literals."""
    x = p.pick(lambda v: v.element != "bool")
    if x is None:
        return
    texts = ["{x} + 2", "3 - {x}", "{x} * 3", "minimum({x}, 2)", "maximum(1, {x})", "clamp({x}, 0, 3)"]
    if p.is_differentiated and not x.is_exact:
        texts = texts[:3]
    if x.is_exact:
        texts += ["{x} // 3", "{x} % 3"]
    p.put(p.random.choice(texts).format(x=x.name), x.element, x.shape, [x])


def compare(p: Writer) -> None:
    x = p.pick(lambda v: v.is_exact)
    if x is None:
        return
    y, shape = other(p, x, exact=True)
    op = p.choice("==", "!=", *(("<", "<=", ">", ">=") if x.element != "bool" else ()))
    p.put(f"{x.name} {op} {y.name}", "bool", shape, [x, y])


def choose(p: Writer) -> None:
    x = p.pick(lambda v: True)
    if x is None:
        return
    y, shape = other(p, x)
    c = p.pick(lambda v: v.element == "bool" and (both := joined(v.shape, shape)) is not None and fits(both))
    c = c or p.argument("bool", shape)
    both = joined(c.shape, shape)
    assert both is not None
    if x.element != "bool" and p.chance(0.2):
        both = joined(c.shape, x.shape)
        assert both is not None
        p.put(f"where({c.name}, {x.name}, {p.random.randint(0, 5)})", x.element, both, [c, x], rounds=False)
    else:
        p.put(f"where({c.name}, {x.name}, {y.name})", x.element, both, [c, x, y], rounds=False)


def cast(p: Writer) -> None:
    x = p.pick(lambda v: True)
    if x is None:
        return
    element = p.random.choice(ELEMENTS if x.is_exact else FLOATS)
    p.put(f"cast({x.name}, {element})", element, x.shape, [x], rounds=not x.is_exact)


SAME_BITS = {
    "f64": "i64",
    "i64": "f64",
    "f32": "i32",
    "i32": "f32",
    "f16": "i16",
    "bf16": "i16",
    "i16": "bf16",
    "i8": "u8",
    "u8": "f8e5m2",
    "f8e4m3": "u8",
    "f8e5m2": "i8",
}


def bitcast(p: Writer) -> None:
    x = p.pick(lambda v: v.is_exact and v.element in SAME_BITS)
    if x is None or (p.is_differentiated and x.is_float):
        return
    element = SAME_BITS[x.element]
    if element in FLOATS:  # of no NaN, whose bits are open
        p.put(f"bitcast(bitcast({x.name} & 63, {element}), {x.element})", x.element, x.shape, [x], rounds=False)
    else:
        p.put(f"bitcast({x.name}, {element})", element, x.shape, [x], rounds=False)
