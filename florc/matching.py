"""The recorded project against the edited one, file by file: what replay needs to know of the edit."""

from __future__ import annotations

import ast
import os
import pickle
import symtable
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from . import messages
from .cache import Cache
from .errors import EXIT_REFUSED, FlorcError, syntax_error
from .runtime.lockstep import Edits, Span
from .runtime.script import Script
from .transforms import Match, Plan, Probe, instrument, match

MAX_CHANGES = 20  # changed lines told by name


@dataclass(frozen=True)
class FileMatch:
    """One recorded file: its source and plan then, its source now, and how the two go together."""

    recorded: bytes
    plan: Plan
    source: bytes
    match: Match


def match_project(script: Script, folder: str, cache: Cache | None = None) -> dict[str, FileMatch]:
    """File id -> match, for every recorded file; FlorcError (69) if the program is another one.

    cache: keeps what was found for the next replay.
    """
    found: dict[str, FileMatch] = {}
    for event in script.events:
        if event[0] == "M" and event[2] not in found:
            file, recorded = event[2], event[4].encode("latin-1")
            path = os.path.join(folder, file)
            found[file] = _known(recorded, _read(path, file), file, path, cache)
    _refuse_changes(found)
    return found


def _read(path: str, file: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        message = f"a file of the recorded program cannot be read: {error.strerror}"
        raise FlorcError(message, file=file, exit_code=EXIT_REFUSED) from None


def _known(old: bytes, new: bytes, file: str, path: str, cache: Cache | None) -> FileMatch:
    """Match two sources, unless that has been done before."""
    key = "" if cache is None else cache.key("match", file, old, new)
    payload = None if cache is None else cache.read(key)
    if payload is not None:
        kept = pickle.loads(payload)  # signed with this user's key
        if isinstance(kept, FileMatch):
            return kept
    found = _match(old, new, file, path)
    if cache is not None:
        cache.write(key, pickle.dumps(found))
    return found


def _match(old: bytes, new: bytes, file: str, path: str) -> FileMatch:
    try:
        plan = instrument(old, file).plan
        found = match(old, new, plan, isolating=True)
    except (SyntaxError, ValueError) as error:
        if isinstance(error, SyntaxError):
            error.filename = path
        raise syntax_error(error, path) from None
    guarded = {loop.id for loop in plan.loops if loop.guarded}
    ids = {place: block for place, block in found.ids.items() if block in guarded}
    return FileMatch(old, plan, new, replace(found, ids=ids))


def _refuse_changes(matches: dict[str, FileMatch]) -> None:
    changes = [(file, change) for file, found in matches.items() for change in found.match.changes]
    if not changes:
        return
    for file, change in changes[:MAX_CHANGES]:
        messages.say(f"{file}:{change.new_line or change.old_line}: {change.text}  ({change.why})")
    more = f" ({len(changes) - MAX_CHANGES} more)" if len(changes) > MAX_CHANGES else ""
    added = sum(change.added for _, change in changes)
    found = [_count(added, "added line that does more than look", "added lines that do more than look")]
    found += [_count(len(changes) - added, "changed line", "changed lines")]
    raise FlorcError(
        f"this is another program than the recorded one: {' and '.join(filter(None, found))}{more}",
        hint="a replay takes added lines that only observe; record again, or undo the changes",
        exit_code=EXIT_REFUSED,
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def edits_of(matches: dict[str, FileMatch]) -> Edits:
    """All matches as the runtime reads them."""
    probes = {file: found.match.probes for file, found in matches.items()}
    noting = {file: [one for one in found if one.kind == "noted"] for file, found in probes.items()}
    changed = {file: [one for one in found if one.kind != "noted"] for file, found in probes.items()}
    standing = {file: [one for one in found if one.kind != "removed"] for file, found in changed.items()}
    for file, found in matches.items():
        _refuse_shared_lines(file, found)
    return Edits(
        lines={
            (file, old): new for file, found in matches.items() for old, new in found.match.lines.items()
        },
        dropped=_replaced(changed),
        probes={file: _lines(found) for file, found in standing.items()},
        spans={file: _spans(matches[file].match.lines, found) for file, found in standing.items()},
        regions={
            file: frozenset(one.region for one in [*found, *noting[file]] if not one.inert)
            for file, found in standing.items()
        },
        own={file: own_names(found) for file, found in standing.items()},
        noted={file: _lines(found) for file, found in noting.items()},
        unnoted=_replaced(noting),
        watched={
            file: tuple((one.line, one.watches) for one in found if one.watches)
            for file, found in standing.items()
        },
        everywhere=any(_is_unmarked(found) for found in matches.values()),
        around=_around(matches),
    )


def live(match: FileMatch) -> list[Probe]:
    """The probes that stand in the edited file."""
    return [probe for probe in match.match.probes if probe.kind != "removed"]


def own_names(probes: list[Probe]) -> dict[int, frozenset[str]]:
    """The probes' own names, by the first line of the function or class that they live in."""
    found: dict[int, set[str]] = {}
    for probe in probes:
        for name in probe.own:
            found.setdefault(0 if name in probe.to_globals else probe.scope, set()).add(name)
    return {line: frozenset(names) for line, names in found.items()}


def _lines(probes: list[Probe]) -> frozenset[int]:
    return frozenset(n for probe in probes for n in range(probe.line, probe.end_line + 1))


def _spans(lines: Mapping[int, int], probes: list[Probe]) -> dict[int, tuple[Span, ...]]:
    """Where probes stand on the lines that they share with recorded statements.

    Args:
        lines: line in the recorded file -> line in the edited one.
    """
    shared = set(lines.values()) if _WITH_COLUMNS else set()
    found: dict[int, tuple[Span, ...]] = {}
    for probe in probes:
        span = ((probe.line, probe.columns[0]), (probe.end_line, probe.columns[1]))
        for line in shared.intersection(range(probe.line, probe.end_line + 1)):
            found[line] = (*found.get(line, ()), span)
    return found


def _replaced(probes: dict[str, list[Probe]]) -> frozenset[tuple[str, int]]:
    """The recorded lines of what was edited or removed."""
    return frozenset(
        (file, line) for file, found in probes.items() for one in found for line in _old_lines(one)
    )


def _around(matches: dict[str, FileMatch]) -> frozenset[str]:
    """The recorded loops in whose text probes stand."""
    found = set()
    for one in matches.values():
        lines = [probe.line for probe in one.match.probes if probe.kind != "removed"]
        for node in ast.walk(ast.parse(one.source)) if lines else ():
            if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                block = one.match.ids.get((node.lineno, node.col_offset))
                if block and any(node.lineno < line <= (node.end_lineno or 0) for line in lines):
                    found.add(block)
    return frozenset(found)


def loop_targets(matches: dict[str, FileMatch]) -> dict[str, frozenset[str]]:
    """Block id -> the names that the `for` statement itself sets."""
    found = {}
    for match_ in matches.values():
        for node in ast.walk(ast.parse(match_.source)):
            if isinstance(node, (ast.For, ast.AsyncFor)):
                block = match_.match.ids.get((node.lineno, node.col_offset))
                names = (name.id for name in ast.walk(node.target) if isinstance(name, ast.Name))
                if block is not None:
                    found[block] = frozenset(names)
    return found


def bound_names(matches: dict[str, FileMatch]) -> frozenset[str]:
    """All names that the edited sources bind outside of expressions: one not among them no loop has."""
    found: set[str] = set()
    texts = {file: ast.unparse(ast.parse(one.source)) for file, one in matches.items()}  # of any encoding
    tables = [symtable.symtable(text, file, "exec") for file, text in texts.items()]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        if table.get_name() not in _OF_EXPRESSIONS:
            found.update(
                name.get_name()
                for name in table.get_symbols()
                if name.is_assigned() or name.is_parameter() or name.is_imported()
            )
    return frozenset(found)


_OF_EXPRESSIONS = frozenset({"listcomp", "setcomp", "dictcomp", "genexpr", "lambda"})


def _yields(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True for generators and coroutines (what an inner function yields counts too: nobody is the worse)."""
    return isinstance(function, ast.AsyncFunctionDef) or any(
        isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function)
    )


_WITH_COLUMNS = sys.version_info >= (3, 11)  # code tells in which columns it stands


def _refuse_shared_lines(file: str, found: FileMatch) -> None:
    """Recorded text is known by its line: statements that share one cannot be told apart."""
    for probe in found.match.probes:
        shared = [line for line in _old_lines(probe) if line in found.match.lines]
        if probe.kind == "removed" and shared:
            raise FlorcError(
                "a statement was removed from a line that it shared with others",
                file=file,
                line=probe.line,
                hint="their recorded text cannot be told apart; put it back",
                exit_code=EXIT_REFUSED,
            )
        lines = set(found.match.lines.values())
        shared = [line for line in range(probe.line, probe.end_line + 1) if line in lines]
        if shared and (probe.kind == "edited" or not _WITH_COLUMNS) and _calls_beside(found, shared):
            raise FlorcError(
                "an added or edited statement shares its line with one that may print too",
                file=file,
                line=probe.line,
                hint="what they print cannot be told apart; give it a line of its own",
                exit_code=EXIT_REFUSED,
            )


def _calls_beside(found: FileMatch, lines: list[int]) -> bool:
    """True if more than probes call something on these lines of the edited file."""
    begins = {(probe.line, probe.columns[0]) for probe in found.match.probes}
    return any(
        isinstance(node, ast.stmt)
        and not hasattr(node, "body")
        and not {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}.isdisjoint(lines)
        and (node.lineno, node.col_offset) not in begins
        and any(isinstance(part, ast.Call) for part in ast.walk(node))
        for node in ast.walk(ast.parse(found.source))
    )


def _old_lines(probe: Probe) -> Iterator[int]:
    if probe.old is not None:
        yield from range(probe.old[0], probe.old[1] + 1)


def _is_unmarked(found: FileMatch) -> bool:
    """True if a probe stands in a function whose running the record could not mark (a compiled one).

    Its region is then one outside of that function, and tells nothing.
    """
    probes = [probe for probe in found.match.probes if probe.kind != "removed" and not probe.inert]
    if not probes:
        return False
    added = {probe.line for probe in found.match.probes}
    functions = [
        node
        for node in ast.walk(ast.parse(found.source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno not in added
    ]
    for probe in probes:
        around = [
            node
            for node in functions
            if node.body[0].lineno <= probe.line <= (node.end_lineno or node.lineno)
        ]
        if around:
            innermost = max(around, key=lambda node: node.lineno)
            if _yields(innermost):
                return True  # it runs in parts, and its mark is set by the first of them alone
            start = found.match.lines.get(found.plan.regions[probe.region].line, 0)
            if probe.region == 0 or not innermost.lineno <= start <= (innermost.end_lineno or 0):
                return True
    return False
