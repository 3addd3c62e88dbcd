"""Loops over tiles in Python: the source of a kernel is rewritten so that each says when it begins and ends.

A loop over tiles is traced once, with values that stand for any iteration. Names that it assigns and reads again in a
later iteration, or behind it, are what the loop carries; which these are is read off the source. So

    for k in tiles(K):
        acc = acc + f(k)

becomes, where the iterable is one of tiles, and stays what it is elsewhere,

    loop = enter(tiles(K), ("k",), ("acc",), (), locals())
    k = loop.indices
    [acc] = loop.carried
    acc = acc + f(k)
    loop.leave(locals())
    [acc] = loop.results

All nodes keep the lines and columns of the user's file.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterable, Sequence
from copy import deepcopy
from types import CellType, CodeType, FunctionType

from irc_frontend.graph import fail

HOOKS = "__irc_loops"
"""The name by which rewritten functions know what they call."""


def rewritten(function: FunctionType, hooks: object) -> FunctionType:
    """The function with its loops rewritten; it shares globals, defaults and closure. IrcError where its source is not
    known, or has what a loop over tiles cannot have."""
    tree = _definition(function)
    names = function.__code__.co_freevars
    _Rewriter(tree).rewrite()
    outer = ast.FunctionDef(
        name="__irc_factory",
        args=_parameters([HOOKS, *names]),
        body=[tree, ast.Return(ast.Name(tree.name, ast.Load()))],
        decorator_list=[],
    )
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, tree)], []))
    code = _code_of(compile(module, function.__code__.co_filename, "exec"), [outer.name, tree.name])
    cells = dict(zip(names, function.__closure__ or (), strict=True))
    cells[HOOKS] = CellType(hooks)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__qualname__ = function.__qualname__
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _definition(function: FunctionType) -> ast.FunctionDef:
    """The function's syntax tree, at its lines and columns."""
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError as error:
        raise fail(
            f"the source of the kernel {function.__name__} is not known", "kernels are written in files"
        ) from error
    source = "".join(lines)
    inner = source != textwrap.dedent(source)
    tree = ast.parse(f"if True:\n{source}" if inner else source)
    ast.increment_lineno(tree, first - 1 - inner)
    found = tree.body[0].body[0] if isinstance(tree.body[0], ast.If) else tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise fail("a kernel is a function that `def` makes", "@kernel stands before a def")
    found.decorator_list = []
    return found


def _parameters(names: Sequence[str]) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def _code_of(code: CodeType, path: Sequence[str]) -> CodeType:
    for name in path:
        code = next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)
    return code


class _Rewriter:
    """Rewrites the loops of one function."""

    def __init__(self, function: ast.FunctionDef):
        self._function = function
        self._numbers = itertools.count()

    def rewrite(self) -> None:
        self._function.body = self._statements(self._function.body, frozenset())

    def _statements(self, statements: Sequence[ast.stmt], after: frozenset[str]) -> list[ast.stmt]:
        """`after`: names that are read behind the statements, where these do not assign them."""
        new: list[ast.stmt] = []
        for number, statement in enumerate(statements):
            rest = statements[number + 1 :]
            new += self._statement(statement, exposed(rest) | (after - _assigned_for_sure(rest)))
        return new

    def _statement(self, statement: ast.stmt, after: frozenset[str]) -> list[ast.stmt]:
        if isinstance(statement, ast.For):
            return self._loop(statement, after)
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            return [statement]
        for part in ("body", "orelse", "finalbody"):
            if nested := getattr(statement, part, None):
                setattr(statement, part, self._statements(nested, after))
        return [statement]

    def _loop(self, loop: ast.For, after: frozenset[str]) -> list[ast.stmt]:
        number = next(self._numbers)
        tiles, opened = f"__irc_tiles_{number}", f"__irc_loop_{number}"
        again = after | exposed(loop.body)
        assigned = _assigned(loop.body) | _assigned_by(loop.target)
        carried = sorted((assigned - _assigned_by(loop.target)) & again)
        others = sorted(assigned - set(carried))
        traced = self._statements(_refusing(deepcopy(loop.body)), again)
        plain = ast.For(
            target=loop.target,
            iter=_expression(tiles, loop.iter),
            body=self._statements(loop.body, again),
            orelse=self._statements(loop.orelse, after),
        )
        names = _targets(loop.target)
        enter = f"{opened} = {HOOKS}.enter({tiles}, {names!r}, {tuple(carried)!r}, {tuple(others)!r}, locals())"
        body: list[ast.stmt] = [
            *_made(enter, loop.iter),
            ast.copy_location(ast.Assign([deepcopy(loop.target)], _expression(f"{opened}.indices", loop.iter)), loop),
            *_unpacked(carried, f"{opened}.carried", loop.iter),
            *traced,
            *_made(f"{opened}.leave(locals())", loop.iter),
            *_unpacked([*carried, *others], f"{opened}.results", loop.iter),
        ]
        choice = ast.If(_expression(f"{HOOKS}.is_tiles({tiles})", loop.iter), body, [ast.copy_location(plain, loop)])
        assign = ast.Assign([ast.Name(tiles, ast.Store())], loop.iter)
        return [ast.copy_location(assign, loop.iter), ast.copy_location(choice, loop.iter)]


def _made(code: str, place: ast.AST) -> list[ast.stmt]:
    """Statements that stand at the place of a node."""
    found = ast.parse(code).body
    for node in (node for each in found for node in ast.walk(each)):
        ast.copy_location(node, place)
    return found


def _expression(code: str, place: ast.AST) -> ast.expr:
    (found,) = _made(code, place)
    assert isinstance(found, ast.Expr)
    return found.value


def _unpacked(names: Sequence[str], values: str, place: ast.AST) -> list[ast.stmt]:
    return _made(f"[{', '.join(names)}] = {values}", place) if names else []


def _targets(target: ast.expr) -> tuple[str, ...]:
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return tuple(part.id if isinstance(part, ast.Name) else "_" for part in parts)


def _assigned_by(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _assigned(statements: Iterable[ast.stmt]) -> set[str]:
    """Names that the statements assign, those of functions inside not counted."""
    found: set[str] = set()
    todo: list[ast.AST] = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            todo += ast.iter_child_nodes(node)
    return found


def exposed(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """Names that are read before the statements assign them."""
    found: set[str] = set()
    _expose(statements, set(), found)
    return frozenset(found)


def _assigned_for_sure(statements: Iterable[ast.stmt]) -> set[str]:
    defined: set[str] = set()
    _expose(statements, defined, set())
    return defined


def _expose(statements: Iterable[ast.stmt], defined: set[str], found: set[str]) -> None:
    for statement in statements:
        match statement:
            case ast.If():
                found |= _reads(statement.test) - defined
                branches = [set(defined), set(defined)]
                for part, names in zip((statement.body, statement.orelse), branches, strict=True):
                    _expose(part, names, found)
                defined |= branches[0] & branches[1]
            case ast.For():
                found |= _reads(statement.iter) - defined
                _expose(statement.body, defined | _assigned_by(statement.target), found)
                _expose(statement.orelse, set(defined), found)
            case ast.While() | ast.Try():
                found |= _reads(statement) - defined
            case ast.With():
                for item in statement.items:
                    found |= _reads(item.context_expr) - defined
                    defined |= set() if item.optional_vars is None else _assigned_by(item.optional_vars)
                _expose(statement.body, defined, found)
            case _:
                found |= _reads(statement) - defined
                if isinstance(statement, ast.AugAssign):
                    found |= _assigned_by(statement.target) - defined
                defined |= _assigned([statement])


def _reads(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _refusing(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with what leaves a loop over tiles early made an error."""
    return [_Refusing().visit(each) for each in statements]


class _Refusing(ast.NodeTransformer):
    """`depth`: loops of the statement between it and the one over tiles."""

    def __init__(self) -> None:
        self.depth = 0

    def visit_For(self, node: ast.For) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return node if self.depth else _refused("break", node)

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return node if self.depth else _refused("continue", node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return _refused("return", node)


def _refused(word: str, node: ast.stmt) -> ast.AST:
    return _made(f"{HOOKS}.refuse({word!r})", node)[0]
