"""Source text to instrumented text and plan: the one door to the compiler's front half."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace

from .blocks import Block, find_blocks
from .compiled import compiled_scopes
from .formfeed import with_form_feeds, without_form_feeds
from .plan import LoopPlan, Plan
from .positions import Unfaithful, with_original_positions
from .quiet import parse_quietly
from .regions import find_regions, module_region
from .shape import RUNTIME_MODULE, alias_for

MODULE_AS_WRITTEN = "the whole module runs as it is written"
UNPARSED = "libcst cannot parse it, though Python can"
INSTRUMENTED = "it is instrumented already"
NOT_ROUND_TRIP = "libcst does not give it back byte for byte"
NOT_FAITHFUL = "its instrumented text would not be the same program"
TOO_DEEP = "it is nested too deeply"


@dataclass(frozen=True)
class Instrumented:
    """A module's source before and after, and what was decided about it."""

    original: bytes
    text: bytes
    plan: Plan


def instrument(source: bytes, file: str, ids: Mapping[tuple[int, int], str] | None = None) -> Instrumented:
    """Put guards into ``source``; untouched lines stay byte for byte.

    Args:
        source: the file's bytes, so that its coding line, BOM and line ends count.
        file: posix path that block ids start with.
        ids: on replay, (line, column) of each loop to guard -> the id it was recorded under.

    Raises SyntaxError for what Python refuses, nothing else.
    """
    try:
        tree = parse_quietly(source, file)
        compiled = compiled_scopes(tree)
        blocks = find_blocks(tree, file, ids, compiled)
        loops = tuple(block.plan for block in blocks)
        guarded = frozenset((loop.line, loop.col) for loop in loops if loop.guarded)
        plan = Plan(file, loops, find_regions(tree, compiled, guarded), "")
        text = _text(source, tree, blocks)
    except RecursionError:
        return _as_written(source, Plan(file, (), (), TOO_DEEP))
    except _Refused as refusal:
        return _as_written(source, replace(plan, refused=str(refusal)))
    return Instrumented(source, text, plan)


class _Refused(Exception):
    """Carries why a module must run as it is written."""


def _as_written(source: bytes, plan: Plan) -> Instrumented:
    loops = tuple(_without_guard(loop) for loop in plan.loops)
    return Instrumented(source, source, replace(plan, loops=loops, regions=(module_region(),)))


def _without_guard(loop: LoopPlan) -> LoopPlan:
    return replace(loop, guarded=False, reason=loop.reason or MODULE_AS_WRITTEN)


def _text(source: bytes, tree: ast.Module, blocks: tuple[Block, ...]) -> bytes:
    import libcst as cst  # here: half a second that `florc diff` and the like do not need

    from .rewrite import rewritten

    if _imports_runtime(tree):
        raise _Refused(INSTRUMENTED)
    plain, feeds = without_form_feeds(source)
    try:
        module = cst.parse_module(plain)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a panic of its native parser is no Exception
        raise _Refused(UNPARSED) from error
    if module.bytes != plain:
        raise _Refused(NOT_ROUND_TRIP)
    if not any(block.plan.guarded for block in blocks):
        return source
    alias = alias_for(source)
    text = with_form_feeds(rewritten(module, blocks, alias).bytes, feeds)
    _check(text, tree, alias)
    return text


def _imports_runtime(tree: ast.Module) -> bool:
    imports = [node for node in tree.body if isinstance(node, ast.Import)]
    return any(alias.name == RUNTIME_MODULE for node in imports for alias in node.names)


def _check(text: bytes, tree: ast.Module, alias: str) -> None:
    """Refuse a text that is not the user's program plus guards, whatever made it so."""
    try:
        with_original_positions(parse_quietly(text, "<instrumented>"), tree, alias)
    except (SyntaxError, Unfaithful) as error:
        raise _Refused(NOT_FAITHFUL) from error
