"""Drawn host functions: launches of kernels without code, collectives, views and concats in place, with donated
arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

KERNELS = """
cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] in_place [0, 1] {
  cuda.return
}
cuda.kernel @exp(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [2, 1, 1] block 32 writes [0, 1] {
  cuda.return
}
cuda.kernel @large(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [132, 1, 1] block 32 writes [0, 1] in_place [0, 1] {
  cuda.return
}
cuda.kernel @add(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] in_place [0, 2] {
  cuda.return
}
cuda.kernel @two(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1, 1] in_place [0, 2] {
  cuda.return
}
cuda.kernel @sum(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] sums [1] {
  cuda.return
}
cuda.kernel @queue(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %n: !cuda.ptr<i32>) grid [4, 1, 1] block 32 writes [0, 1, 1] sums [2] {
  cuda.return
}
cuda.kernel @put(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] updates [1, 2] {
  cuda.return
}
"""
"""`queue` has a counter, which nobody reads; `put` stores to some bytes of what it updates."""

_OUTPUTS = {"two": 2, "queue": 2}
_INPUTS = {"add": 2, "put": 2}


@dataclass
class _Value:
    name: str
    shape: tuple[int, ...]
    is_plain: bool = True
    """Whether anything may be done with it: it is no part of a larger array."""

    @property
    def type(self) -> str:
        return _type(self.shape)


def _type(shape: Sequence[int]) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}f32>"


class DrawnFunction:
    """The text of a function of launches, collectives, views and concats in place, with donated arguments."""

    def __init__(self, random: Random, extents: Sequence[int] = (4, 16, 64, 100, 500), *, joins: bool = True):
        self._random, self._extents = random, extents
        self._lines: list[str] = []
        self._values: list[_Value] = []
        arguments = [_Value(f"%x{number}", (random.choice(extents), 4)) for number in range(random.randint(1, 4))]
        self._values += arguments
        kinds = [self._launch] * 8 + [self._exchange] * 2 + [self._view, self._constant] + [self._join] * joins
        for _ in range(random.randint(1, 14)):
            random.choice(kinds)()
        plain = [value for value in self._values if value.is_plain]
        results = [random.choice(plain[-8:]) for _ in range(random.randint(1, 5))]
        given = [f"{value.name}: {value.type}" for value in arguments]
        for number, argument in enumerate(self._donated(arguments, results)):
            if argument is not None:
                given[argument] += f" {{irc.donated = {number} : i64}}"
        names, types = (", ".join(each) for each in zip(*((x.name, x.type) for x in results), strict=True))
        body = "\n".join(f"  {line}" for line in self._lines)
        self.text = f"func.func @f({', '.join(given)}) -> ({types}) {{\n{body}\n  func.return {names} : {types}\n}}\n"

    def _donated(self, arguments: Sequence[_Value], results: Sequence[_Value]) -> list[int | None]:
        """For each result the argument that is donated for it, if one is."""
        free = [number for number in range(len(arguments)) if self._random.random() < 0.6]
        found: list[int | None] = []
        for result in results:
            fitting = [number for number in free if arguments[number].type == result.type]
            found.append(self._random.choice(fitting) if fitting else None)
            free = [number for number in free if number != found[-1]]
        return found

    def _any(self) -> _Value:
        return self._random.choice(self._values[-8:])

    def _plain(self) -> _Value:
        return self._random.choice([value for value in self._values if value.is_plain][-8:])

    def _new(self, shape: Sequence[int], *, is_plain: bool = True) -> _Value:
        value = _Value(f"%v{len(self._lines)}_{len(self._values)}", tuple(shape), is_plain)
        self._values.append(value)
        return value

    def _launch(self) -> None:
        kernel = self._random.choice(["neg", "exp", "large", "add", "two", "sum", "queue", "put"])
        inputs = [self._any() for _ in range(_INPUTS.get(kernel, 1))]
        if kernel == "put":
            inputs[1] = self._plain()
        self._write(kernel, inputs, inputs[-1].shape if kernel == "put" else self._shape(inputs[0].shape))

    def _shape(self, like: tuple[int, ...]) -> tuple[int, ...]:
        return like if self._random.random() < 0.6 else (self._random.choice(self._extents), 4)

    def _write(self, kernel: str, inputs: Sequence[_Value], shape: Sequence[int], *, is_plain: bool = True) -> _Value:
        made = [self._new(shape, is_plain=is_plain)]
        names, types = [made[0].name], [made[0].type]
        if kernel == "two":
            made.append(self._new(self._shape(tuple(shape))))
            names.append(made[1].name)
            types.append(made[1].type)
        elif kernel == "queue":
            names.append(f"{made[0].name}_n")
            types.append("tensor<1xi32>")
        given = ", ".join(value.name for value in inputs)
        line = f"{', '.join(names)} = kernel.launch @{kernel}({given}) : "
        self._lines.append(f"{line}({', '.join(value.type for value in inputs)}) -> ({', '.join(types)})")
        return made[0]

    def _exchange(self) -> None:
        x = self._plain()
        kind = self._random.choice(["all_reduce", "all_gather", "reduce_scatter"])
        monoid = "" if kind == "all_gather" else 'monoid = "sum", '
        if kind == "all_reduce":
            inputs = [x, *(self._plain() for _ in range(self._random.randint(0, 2)))]
            made = [self._new(value.shape) for value in inputs]
        else:
            first, *rest = x.shape
            made = [self._new([first * 2 if kind == "all_gather" else max(1, first // 4), *rest])]
            inputs = [x] if kind == "all_gather" or first % 4 == 0 else []
        if not inputs:
            self._values.pop()
            return
        names = [", ".join(value.name for value in values) for values in (made, inputs)]
        attributes = f'{{{monoid}over = "data"}}'
        types = [", ".join(value.type for value in values) for values in (inputs, made)]
        self._lines.append(f'{names[0]} = "nd.{kind}"({names[1]}) <{attributes}> : ({types[0]}) -> ({types[1]})')

    def _view(self) -> None:
        x = self._plain()
        made = self._new(
            [*x.shape[:-1], 2, x.shape[-1] // 2] if len(x.shape) == 2 and x.shape[-1] % 2 == 0 else x.shape
        )
        self._lines.append(f"{made.name} = nd.reshape {x.name} : {x.type} -> {made.type}")

    def _constant(self) -> None:
        made = self._new((4, 4))
        self._lines.append(f"{made.name} = nd.constant 1.0 : {made.type}")

    def _join(self) -> None:
        """A concat in place of what launches make for it, with readers of the parts perhaps."""
        rows, widths = self._random.choice(self._extents), [self._random.choice([1, 2, 5]) for _ in range(2)]
        axis = self._random.randrange(2)
        shapes = [(rows, width) for width in widths] if axis else [(width, rows) for width in widths]
        parts = [
            self._write(self._random.choice(["neg", "exp"]), [self._any()], shape, is_plain=False) for shape in shapes
        ]
        whole = self._new((rows, sum(widths)) if axis else (sum(widths), rows))
        given, types = (", ".join(each) for each in zip(*((x.name, x.type) for x in parts), strict=True))
        self._lines.append(
            f"{whole.name} = nd.concat {given} {{axis = {axis}, nd.in_place}} : ({types}) -> {whole.type}"
        )
