"""The small changes of a module: one comparison, condition, number or call each.

Texts and the options of classes (`frozen`, `slots`) are left alone. So is a condition of which a
part is changed into its opposite already.
"""

import ast
import collections
import copy
import dataclasses
import itertools
from collections.abc import Iterator

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
}
_FUNCTIONS = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list"}
_Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of a module."""

    is_in_function: bool
    """False: it runs when the module is imported."""
    line: int
    told: str
    """`place: before -> after`; stays the same when lines move."""
    lines: frozenset[int]
    """The lines of its statement, without the body of it."""
    index: int
    """Of the changed node in `ast.walk`."""
    number: int
    """Which of the node's changes it is."""


def mutants(source: str) -> list[Mutant]:
    """Return every change of a module."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    options = {part for node in ast.walk(tree) for part in _options_of_class(node)}
    found = [
        _mutant(tree, parents, index, number)
        for index, node in enumerate(ast.walk(tree))
        if node not in options
        for number in range(_changes(node))
    ]
    return list(_told_apart(sorted(found, key=lambda item: (item.line, item.index))))


def changed(source: str, mutant: Mutant) -> ast.Module:
    """Return the module with the change."""
    tree = ast.parse(source)
    _change(_node(tree, mutant.index), mutant.number)
    return ast.fix_missing_locations(tree)


def _mutant(tree: ast.Module, parents: dict[ast.AST, ast.AST], index: int, number: int) -> Mutant:
    node = _node(tree, index)
    statement = _statement(node, parents)
    shown = _shown(node, parents)
    before = _text(shown)
    changing = copy.deepcopy(shown)
    _change(
        _node(changing, next(at for at, one in enumerate(ast.walk(shown)) if one is node)), number
    )
    scopes = _scopes(node, parents)
    names = [scope.name for scope in reversed(scopes) if isinstance(scope, _Named)]
    place = ".".join(names) or "module"
    return Mutant(
        is_in_function=bool(scopes) and not isinstance(scopes[0], ast.ClassDef),
        line=getattr(node, "lineno", statement.lineno),
        told=f"{place}: {before} -> {_text(changing)}",
        lines=frozenset(_lines(statement)),
        index=index,
        number=number,
    )


def _told_apart(found: list[Mutant]) -> Iterator[Mutant]:
    """Number the mutants of one place that read alike."""
    seen: collections.Counter[str] = collections.Counter()
    for item in found:
        seen[item.told] += 1
        count = seen[item.told]
        yield dataclasses.replace(item, told=f"{item.told} ({count})") if count > 1 else item


def _node(tree: ast.AST, index: int) -> ast.AST:
    return next(itertools.islice(ast.walk(tree), index, None))


def _statement(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        node = parents[node]
    return node


def _shown(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """Return the node, or what it is a part of if it says little alone."""
    if isinstance(node, ast.Constant):
        node = parents[node]
    while isinstance(node, ast.keyword | ast.Slice | ast.UnaryOp) and not isinstance(
        parents[node], ast.stmt
    ):
        node = parents[node]
    return node


def _text(node: ast.AST) -> str:
    """Return a node as text; of a statement with a body its first line."""
    text = ast.unparse(node).strip()
    return text.partition("\n")[0] if hasattr(node, "body") else " ".join(text.split())


def _scopes(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> list[ast.AST]:
    """Return the functions and classes whose bodies have a node, the innermost first."""
    scopes: list[ast.AST] = []
    while node in parents:
        inside, node = node, parents[node]
        body = getattr(node, "body", None)
        if isinstance(node, _Named | ast.Lambda) and _is_in(inside, body):
            scopes.append(node)
    return scopes


def _is_in(node: ast.AST, body: ast.AST | list[ast.stmt] | None) -> bool:
    return node is body or (isinstance(body, list) and node in body)


def _lines(statement: ast.stmt) -> range:
    """Return the lines of a statement, without its body."""
    body = getattr(statement, "body", None)
    end = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return range(statement.lineno, max(end, statement.lineno) + 1)


def _options_of_class(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a class that say how it is made."""
    if isinstance(node, ast.ClassDef):
        for part in (*node.decorator_list, *node.keywords):
            yield from ast.walk(part)


def _changes(node: ast.AST) -> int:
    """Return the number of ways to change a node."""
    match node:
        case ast.Compare(ops=[operator, *_]):
            return int(type(operator) in _OPPOSITES)
        case ast.IfExp(test=test) | ast.If(test=test):
            return int(not _is_negated_already(test))
        case ast.BoolOp():
            return 1
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
            return 1
        case ast.Constant(value=value) if isinstance(value, int):
            return 1
        case ast.UnaryOp(op=ast.Not()):
            return 1
        case ast.Call(func=ast.Name(id=name)) if name in _FUNCTIONS:
            return 1
        case ast.comprehension(ifs=ifs):
            return len(ifs)
        case _:
            return 0


def _is_negated_already(test: ast.expr) -> bool:
    """Return whether another mutant is the opposite of this condition."""
    match test:
        case ast.Compare(ops=[operator]):
            return not isinstance(operator, _ORDERS)
        case ast.UnaryOp(op=ast.Not()):
            return True
        case _:
            return False


def _change(node: ast.AST, number: int) -> None:
    match node:
        case ast.Compare():
            node.ops = [_OPPOSITES[type(node.ops[0])](), *node.ops[1:]]
        case ast.BoolOp():
            node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        case ast.BinOp():
            node.op = _OPERATORS[type(node.op)]()
        case ast.Constant(value=bool() | int() as value):
            node.value = not value if isinstance(value, bool) else value + 1
        case ast.UnaryOp():
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.Call(func=ast.Name(id=name)):
            node.func = ast.Name(_FUNCTIONS[name], ast.Load())
            node.keywords = [] if name == "sorted" else node.keywords
        case ast.comprehension():
            node.ifs[number] = ast.Constant(value=True)
        case ast.IfExp() | ast.If():
            node.test = ast.UnaryOp(ast.Not(), node.test)
