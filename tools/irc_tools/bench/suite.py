"""Suites: what irc-bench runs, as TOML files in `benchmarks/suites`.

A row has `name`, `program` (`.irc` text) or `file` (of one, beside the suite) or `model` (the body of a Python function
of the dims, with `torch`, that gives a module and its inputs) or `kernel` (one in Python, `FILE.py:FUNCTION`, a file
beside the suite, with `arguments`: `bf16[M, N]` or a number for each), and may have `group`, `dims` (as by
`-D`), `small` (dims at which a CPU checks it), `torch` (the body of a Python function of the program's arguments, with
`torch` and `F`), `reference` (one for float64, where `torch` does not do), `triton` (a function of the same arguments,
`FILE.py:FUNCTION`), `rival` (another irc program to time),
`inputs` (how arguments are drawn, see `irc_tools.bench.draws`), `bars`, `peers`, `clock` and `tolerance` (by element
type, in place of irc-run's), and `any_order = true` where its sums may be added up in any order. A model is timed in
inference, or where it has a `loss` (the body of a Python function of `model` and `inputs`, a tuple) in training. A
program is compiled for contiguous arrays: strided views are written in it, and in the body.

What a row does not say is as in the row of its name in the suite that `base` names (or one of them, where it is a
list), a file beside this one; or as in the row of those, or before it, that its own `base` names. `clock` and `bars` of
a suite are those of its rows that say none themselves, whatever the base says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from irc.support.diagnostics import IrcError
from irc.support.files import read_text
from irc_tools.bench.bars import COMPILERS, PEERS, TRITON, parse_bar
from irc_tools.bench.convolutions import Convolutions, convolution_rows, read_table
from irc_tools.bench.products import Products, product_rows
from irc_tools.bench.python_files import KernelCall, python_function
from irc_tools.bench.random_programs import draw_rows
from irc_tools.bench.rows import CLOCKS, FIRST_CALL, Row, Suite, Summary

_PACKED = Path(__file__).with_name("suites")
FOLDER = _PACKED if _PACKED.is_dir() else Path(__file__).parents[3] / "benchmarks" / "suites"
"""Where suites are found by name: a wheel has them, else a checkout."""

STATISTICS = ("median", "geomean", "least")


def known_suites() -> list[str]:
    """The names of the suites that come with irc."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_suite(name: str, seed: int | None = None) -> Suite:
    """A suite by its name or its file; `seed` replaces that of rows that are drawn."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not name.endswith(".toml") and not path.is_file():
        raise IrcError(f"unknown suite {name}", hint=f"suites are {', '.join(known_suites())}, or a .toml file")
    return _suite(_content(path), path, seed)


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise IrcError(f"{path} is not TOML: {error}") from error


def _suite(content: dict[str, Any], path: Path, seed: int | None) -> Suite:
    _only(content, _KEYS, f"{path}")
    peers = _peers(_listed(content.get("peers", []), f"{path}: peers"), str(path))
    known = _base(content.get("base", []), path)
    common = {key: content[key] for key in ("clock", "bars") if key in content}
    rows: list[Row] = []
    for table in content.get("rows", []):
        name = str(table.get("name", ""))
        if "base" in table and table["base"] not in known:
            raise IrcError(f"{path}: row {name!r}: no row {table['base']!r} is before it")
        table = {**known.get(table.pop("base", name), {}), **common, **table}
        known[name] = table
        rows.append(_row(table, path, peers))
    for table in content.get("products", []):
        rows += _products(table, path, peers)
    for table in content.get("convolutions", []):
        rows += _convolutions(table, path, peers)
    if "random" in content:
        rows += draw_rows(content["random"], seed, peers)
    _refuse_twins([row.name for row in rows], path)
    if len({row.clock == FIRST_CALL for row in rows}) > 1:
        raise IrcError(f"{path}: rows whose clock is {FIRST_CALL!r} are a suite of their own")
    summaries = tuple(_summary(table, path) for table in content.get("summaries", []))
    show = _one_of(content.get("show", "time"), ("bandwidth", "time"), f"{path}: show")
    return Suite(path.stem, str(content.get("title", path.stem)), tuple(rows), summaries, show)


_KEYS = ("title", "show", "peers", "base", "clock", "bars", "rows", "products", "convolutions", "random", "summaries")


def _base(names: Any, path: Path) -> dict[str, dict[str, Any]]:
    """The rows of other suites by name."""
    names = _listed([names] if isinstance(names, str) else names, f"{path}: base")
    tables = [table for name in names for table in _content(path.with_name(f"{name}.toml")).get("rows", [])]
    return {table.get("name", ""): table for table in tables}


def _row(table: dict[str, Any], path: Path, peers: tuple[str, ...]) -> Row:
    name = str(table.get("name", ""))
    where = f"{path}: row {name!r}"
    _only(table, ("file", "arguments", *Row.__dataclass_fields__), where)
    if not name or sum(key in table for key in ("program", "file", "model", "kernel")) != 1:
        raise IrcError(f"{where}: expected a name, and a program, a file, a model or a kernel")
    if "loss" in table and "model" not in table:
        raise IrcError(f"{where}: a loss is of a model")
    own_peers = _peers(_listed(table["peers"], f"{where}: peers"), where) if "peers" in table else peers
    if "triton" not in table and TRITON in own_peers:
        raise IrcError(f"{where}: the peer triton is a function of a file", hint='triton = "file.py:function"')
    clock = _one_of(table.get("clock", "device"), CLOCKS, f"{where}: clock")
    if clock == FIRST_CALL and ("model" not in table or not set(own_peers) <= set(COMPILERS)):
        raise IrcError(f"{where}: a first call is of a model", hint=f"its peers are of {', '.join(COMPILERS)}")
    return Row(
        name=name,
        program=read_text(path.parent / table["file"]) if "file" in table else str(table.get("program", "")),
        model=str(table.get("model", "")),
        loss=str(table.get("loss", "")),
        sizes=_sizes(table, where),
        group=str(table.get("group", "")),
        dims=_integers(table.get("dims", {}), f"{where}: dims"),
        small=_integers(table.get("small", {}), f"{where}: small"),
        torch=str(table.get("torch", "")),
        reference=str(table.get("reference", "")),
        rival=str(table.get("rival", "")),
        inputs={argument: str(text) for argument, text in table.get("inputs", {}).items()},
        bars=tuple(parse_bar(text) for text in _listed(table.get("bars", []), f"{where}: bars")),
        peers=own_peers,
        clock=clock,
        tolerance=dict(table.get("tolerance", {})),
        any_order=bool(table.get("any_order", False)),
        kernel=_kernel_call(table, path.parent, where),
        triton=python_function(str(table["triton"]), path.parent, where) if "triton" in table else None,
    )


def _sizes(table: dict[str, Any], where: str) -> dict[str, tuple[int, ...]]:
    """The dims that change from one call of a model to the next: lists of as many values."""
    sizes = table.get("sizes", {})
    if not sizes:
        return {}
    if "model" not in table or table.get("clock") == FIRST_CALL:
        raise IrcError(f"{where}: sizes are of a model that is called more than once")
    if not isinstance(sizes, dict) or not all(
        isinstance(values, list) and values and all(type(n) is int and n > 0 for n in values)
        for values in sizes.values()
    ):
        raise IrcError(f"{where}: sizes: expected a table of lists of positive integers")
    if len({len(values) for values in sizes.values()}) > 1:
        raise IrcError(f"{where}: sizes: expected lists of one length")
    return {name: tuple(values) for name, values in sizes.items()}


def _kernel_call(table: dict[str, Any], folder: Path, where: str) -> KernelCall | None:
    arguments = table.get("arguments", {})
    if "kernel" not in table:
        if arguments:
            raise IrcError(f"{where}: arguments are of a kernel")
        return None
    if not isinstance(arguments, dict) or not all(isinstance(value, str | int) for value in arguments.values()):
        raise IrcError(f"{where}: arguments: expected a table of types of arrays and of numbers")
    return KernelCall(python_function(str(table["kernel"]), folder, where), arguments)


def _products(table: dict[str, Any], path: Path, peers: tuple[str, ...]) -> list[Row]:
    where = f"{path}: products {table.get('group', '')!r}"
    _only(table, Products.__dataclass_fields__, where)
    shapes: list[Any] = table.get("shapes", [])
    if not all(isinstance(s, list) and len(s) == 3 and all(type(n) is int and n > 0 for n in s) for s in shapes):
        raise IrcError(f"{where}: expected shapes as lists of M, N, K")
    products = Products(
        str(table.get("group", "")),
        str(table.get("element", "")),
        tuple((m, n, k) for m, n, k in shapes),
        tuple(_listed(table.get("majors", []), f"{where}: majors")),
        tuple(map(parse_bar, _listed(table.get("bars", []), f"{where}: bars"))),
        _peers(_listed(table.get("peers", list(peers)), f"{where}: peers"), where),
    )
    return list(product_rows(products, where))


def _convolutions(table: dict[str, Any], path: Path, peers: tuple[str, ...]) -> list[Row]:
    where = f"{path}: convolutions {table.get('name', '')!r}"
    _only(table, Convolutions.__dataclass_fields__, where)
    if missing := [name for name in ("name", "x", "outputs", "window") if name not in table]:
        raise IrcError(f"{where}: expected {', '.join(missing)}")
    given = table.get("bars", {})
    bars = {name: tuple(map(parse_bar, _listed(given[name], f"{where}: bars of {name}"))) for name in given}
    own = _peers(_listed(table["peers"], where), where) if "peers" in table else peers
    return list(convolution_rows(read_table(table, own, bars), where))


def _summary(table: dict[str, Any], path: Path) -> Summary:
    where = f"{path}: summary"
    _only(table, ("group", "statistic", "bar"), where)
    statistic = _one_of(table.get("statistic", "median"), STATISTICS, f"{where}: statistic")
    return Summary(str(table.get("group", "")), statistic, parse_bar(str(table.get("bar", ""))))


def _peers(names: Iterable[str], where: str) -> tuple[str, ...]:
    return tuple(_one_of(name, PEERS, f"{where}: peers") for name in names)


def _one_of(value: Any, known: tuple[str, ...], where: str) -> str:
    if value not in known:
        raise IrcError(f"{where}: unknown {value!r}", hint=f"expected {', '.join(known)}")
    return value


def _listed(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise IrcError(f"{where}: expected a list of strings")
    return value


def _integers(value: Any, where: str) -> dict[str, int]:
    if not isinstance(value, dict) or not all(type(number) is int for number in value.values()):
        raise IrcError(f"{where}: expected a table of integers")
    return value


def _only(table: dict[str, Any], known: Iterable[str], where: str) -> None:
    """IrcError for a key that means nothing: it would be a misspelled one."""
    known = list(known)
    for key in table:
        if key not in known:
            raise IrcError(f"{where}: unknown key {key!r}", hint=f"keys are {', '.join(known)}")


def _refuse_twins(names: list[str], path: Path) -> None:
    for name in names:
        if names.count(name) > 1:
            raise IrcError(f"{path}: two rows are named {name!r}")
