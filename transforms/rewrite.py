"""Put guards into a libcst tree: every token, blank line and comment of the source stays where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from .blocks import Block
from .shape import Guard, guard_for, import_line

_NO_LOOPS_BELOW = (
    cst.BaseExpression,
    cst.BaseSmallStatement,
    cst.BaseParenthesizableWhitespace,
    cst.EmptyLine,
    cst.TrailingWhitespace,
    cst.Decorator,
    cst.Parameters,
    cst.Annotation,
    cst.AsName,
    cst.WithItem,
)
"""Nodes the walk does not enter: it is the larger half of the time to visit them."""

Statement = cst.BaseCompoundStatement | cst.SimpleStatementLine


def rewritten(module: cst.Module, blocks: Sequence[Block], alias: str) -> cst.Module:
    """Return ``module`` with a guard around each guarded loop of ``blocks`` and the runtime imported.

    ``blocks`` lists every loop of the module in source order, as ``find_blocks`` does.
    """
    writer = _Writer(module, blocks, alias)
    changed = module.visit(writer)
    if writer.position != len(blocks):
        raise ValueError("the loops of the syntax tree and of the text differ")
    return _with_import(changed, writer.parsed([import_line(alias)]))


class _Writer(cst.CSTTransformer):
    """One pass over the tree; the loops come in the order of ``blocks``."""

    def __init__(self, module: cst.Module, blocks: Sequence[Block], alias: str) -> None:
        super().__init__()
        self.module = module
        self.config = module.config_for_parsing
        self.blocks = blocks
        self.alias = alias
        self.position = 0
        # per function around: the loops around, a None for each without a guard
        self.open: list[list[Guard | None]] = [[]]

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Return):
            return False
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self.open.append([])
        elif isinstance(node, (cst.For, cst.While)):
            self._enter_loop()
        return not isinstance(node, _NO_LOOPS_BELOW)

    def _enter_loop(self) -> None:
        if self.position == len(self.blocks):
            raise ValueError("the text has more loops than the syntax tree")
        block = self.blocks[self.position]
        self.position += 1
        guard = guard_for(block, self.alias, self._around()) if block.plan.guarded else None
        self.open[-1].append(guard)

    def _around(self) -> list[str]:
        return [guard.name for guard in self.open[-1] if guard is not None]

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        self.open.pop()
        return updated_node

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        self.open.pop()
        return updated_node

    def leave_Return(self, original_node: cst.Return, updated_node: cst.Return) -> cst.Return:
        around = self._around()
        if not around:
            return updated_node
        value = _parenthesized_tuple(updated_node.value or cst.Name("None"))
        for name in reversed(around):
            value = _call(name, "returning", value)
        gap = _space_if_none(updated_node.whitespace_after_return)
        return updated_node.with_changes(value=value, whitespace_after_return=gap)

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        guard = self.open[-1].pop()
        if guard is None:
            return updated_node
        over: cst.BaseExpression = _call(guard.name, "over", _parenthesized_tuple(updated_node.iter))
        if guard.skippable:
            nothing = cst.Tuple(())
            over = cst.IfExp(test=_attribute(guard.name, "skipped"), body=nothing, orelse=over)
        gap = _space_if_none(updated_node.whitespace_after_in)
        return self._around_loop(guard, updated_node.with_changes(iter=over, whitespace_after_in=gap))

    def leave_While(
        self, original_node: cst.While, updated_node: cst.While
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        guard = self.open[-1].pop()
        if guard is None:
            return updated_node
        if guard.skippable:
            gap = _space_if_none(updated_node.whitespace_after_while)
            test = _unless_skipped(guard.name, updated_node.test)
            updated_node = updated_node.with_changes(test=test, whitespace_after_while=gap)
        return self._around_loop(guard, updated_node)

    def _around_loop(
        self, guard: Guard, loop: cst.For | cst.While
    ) -> cst.FlattenSentinel[cst.BaseStatement]:
        before = self.parsed(guard.before)
        before[0] = before[0].with_changes(leading_lines=loop.leading_lines)
        body = _with_top(loop.body, self.parsed(guard.top))
        bare = loop.with_changes(leading_lines=(), body=body)
        return cst.FlattenSentinel([*before, bare, *self.parsed(guard.after)])

    def parsed(self, lines: Sequence[str]) -> list[Statement]:
        """Make statements of guard lines, in which a tab stands for one level of indentation."""
        text = "\n".join([*lines, ""]).replace("\t", self.module.default_indent)
        text = text.replace("\n", self.module.default_newline)
        return list(cst.parse_module(text, config=self.config).body)


def _attribute(owner: str, name: str) -> cst.Attribute:
    return cst.Attribute(cst.Name(owner), cst.Name(name))


def _call(owner: str, method: str, argument: cst.BaseExpression) -> cst.Call:
    return cst.Call(_attribute(owner, method), [cst.Arg(argument)])


def _parenthesized_tuple(value: cst.BaseExpression) -> cst.BaseExpression:
    """Keep ``return a, b`` and ``for x in a, b`` one argument when they move into a call."""
    if isinstance(value, cst.Tuple) and not value.lpar:
        return _parenthesized(value)
    return value


def _parenthesized(value: cst.BaseExpression) -> cst.BaseExpression:
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _space_if_none(
    whitespace: cst.SimpleWhitespace | cst.MaybeSentinel,
) -> cst.SimpleWhitespace | cst.MaybeSentinel:
    """Part ``in(x)`` and ``return(x)``: what follows no longer starts with a parenthesis."""
    is_none = isinstance(whitespace, cst.SimpleWhitespace) and not whitespace.value
    return cst.SimpleWhitespace(" ") if is_none else whitespace


def _unless_skipped(guard: str, test: cst.BaseExpression) -> cst.BaseExpression:
    running = cst.UnaryOperation(cst.Not(), _attribute(guard, "skipped"))
    if _is_true(test):
        return running
    kept = test if test.lpar else _parenthesized(test)
    return cst.BooleanOperation(running, cst.And(), kept)


def _is_true(test: cst.BaseExpression) -> bool:
    return (isinstance(test, cst.Name) and test.value == "True") or (
        isinstance(test, cst.Integer) and test.value == "1"
    )


def _with_top(body: cst.BaseSuite, top: Sequence[Statement]) -> cst.IndentedBlock:
    """Put ``top`` before the statements of a loop; a body on the header's line gets lines of its own."""
    if isinstance(body, cst.IndentedBlock):
        return body.with_changes(body=[*top, *body.body])
    if not isinstance(body, cst.SimpleStatementSuite):
        raise TypeError(f"not a suite: {body!r}")
    line = cst.SimpleStatementLine(body.body, trailing_whitespace=body.trailing_whitespace)
    return cst.IndentedBlock([*top, line])


def _with_import(module: cst.Module, line: Sequence[Statement]) -> cst.Module:
    """Put the import after docstring and ``__future__`` imports, and after every comment at the top."""
    body = list(module.body)
    place = sum(1 for _ in _preamble(body))
    following = body[place]
    lines = list(getattr(following, "leading_lines", ()))
    split = len(lines)
    if place:  # comments right above a statement stay with it; blank lines part the import from what precedes
        while split and lines[split - 1].comment is not None:
            split -= 1
    moved = line[0].with_changes(leading_lines=lines[:split])
    kept = following.with_changes(leading_lines=lines[split:])
    return module.with_changes(body=[*body[:place], moved, kept, *body[place + 1 :]])


def _preamble(body: Sequence[Statement]) -> Iterator[cst.SimpleStatementLine]:
    for index, statement in enumerate(body):
        if not isinstance(statement, cst.SimpleStatementLine):
            return
        first = statement.body[0]
        is_docstring = index == 0 and isinstance(first, cst.Expr) and _is_string(first.value)
        if not is_docstring and not _is_future(first):
            return
        yield statement


def _is_string(value: cst.BaseExpression) -> bool:
    return isinstance(value, (cst.SimpleString, cst.ConcatenatedString))


def _is_future(statement: cst.BaseSmallStatement) -> bool:
    return (
        isinstance(statement, cst.ImportFrom)
        and isinstance(statement.module, cst.Name)
        and statement.module.value == "__future__"
        and not statement.relative
    )
