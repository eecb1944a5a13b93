"""Words for `florc explain SCRIPT`: each loop, what it changes, what replay will do with it.

Enters: a plan whose loops carry their effects (`effects.loop_effects`) and, if at hand, the source. Leaves:
text, or plain data for `--json`. Nothing is decided here.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .advice import notes
from .index import names_bound_by, own_nodes
from .plan import LoopPlan, Plan

Role = Literal["main loop", "skip block", "small", "refused"]
SMALL = "nothing in it takes long"
"""The reason of loops that are not worth a guard; they are counted, not listed."""
WIDTH = 100
"""Columns the text is wrapped to: fits a terminal beside an editor, and leaves long access paths whole."""
SHOWN_NAMES = 9
"""Names listed before "and … more": what a reader takes in at a glance; `--json` has them all."""
MANY_ATTRIBUTES = 3
"""From so many attributes on an object is named as a whole."""
SHOWN_HEADER = 56
"""Characters of a loop's own line that are shown."""
SHOWN_LINES = 12
"""Line numbers of small loops that are listed."""
REMEDIES = (
    (
        "yields",
        "If its work takes long, do that in a plain function and yield from a short loop around the call.",
    ),
    ("async", "If its work takes long, move it into a plain function that the loop calls."),
    ("awaits", "If its work takes long, move it into a plain function that the loop calls."),
    (
        "compiled",
        "Nothing is lost where the loop that calls the function is guarded: it is skipped with that one.",
    ),
    ("class with bases", "Build the values in a function, and bind the result in the class body."),
    ("nonlocal", "Move the nonlocal statement to the top of its function."),
    ("finally", "Move the break, continue or return out of the finally block."),
)
"""A word of a refusal's reason -> what to do about it."""


FULL: dict[Role, str] = {
    "main loop": "Replay can start it at any iteration, with all of that put back as it was.",
    "skip block": "Replay skips it and puts that back, unless a line you added inside has to run.",
}
SHORT: dict[Role, str] = {
    "main loop": "Replay can start it at any iteration.",
    "skip block": "Replay skips it likewise.",
}
"""What is said from the second loop of a role on: told once, it is known."""


@dataclass(frozen=True)
class Entry:
    """One loop as it is told: its place, its part in a replay, the sentences about it."""

    loop: LoopPlan
    depth: int
    header: str
    role: Role
    changed: tuple[str, ...]
    rebound: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class _Line:
    """What the source says about a loop: its own line, the names it binds (plans of module loops have none),
    its names."""

    header: str = ""
    binds: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


def explain(plan: Plan, source: bytes | None = None) -> str:
    """Return the text for one module, loops by line, nested ones indented; ends in a newline.

    With `source` the loops' own lines are quoted and advice about the rest of the file follows.
    """
    if plan.refused:
        return (
            _wrapped(
                f"{plan.file} runs as it is written: {_sentence(plan.refused)} No loop of it is skipped or "
                "started in the middle; the rest of the project is not affected.",
                0,
            )
            + "\n"
        )
    entries = _entries(plan, source)
    told = [e for e in entries if e.role != "small"]
    width = max((len(_title(plan, e)) for e in told), default=0)
    parts = ["\n".join(_paragraph(plan, e, width)) for e in _told_once(told)]
    small = [e.loop for e in entries if e.role == "small"]
    if small:
        parts.append(_wrapped(_small_loops(small), 0))
    parts += [_wrapped(f"{plan.file}:{n.line}: {n.text}", 0, "  ") for n in notes(plan, source or b"")]
    return "\n\n".join(parts or [f"{plan.file} has no loops."]) + "\n"


def explain_data(plan: Plan, source: bytes | None = None) -> list[dict[str, object]]:
    """Return the same as plain data, one dictionary for each loop, small ones included."""
    remarks = notes(plan, source or b"")
    return [
        {
            "id": e.loop.id,
            "file": plan.file,
            "line": e.loop.line,
            "end_line": e.loop.end_line,
            "function": e.loop.function,
            "kind": e.loop.kind,
            "header": e.header,
            "depth": e.depth,
            "role": e.role,
            "guarded": e.loop.guarded and not plan.refused,
            "reason": plan.refused or e.loop.reason,
            "changes": list(e.changed),
            "rebinds": list(e.rebound),
            "calls": list(e.loop.calls),
            "text": " ".join(e.sentences),
            "advice": [n.text for n in remarks if n.line == e.loop.line],
        }
        for e in _entries(plan, source)
    ]


def _entries(plan: Plan, source: bytes | None) -> list[Entry]:
    ordered = sorted(plan.loops, key=lambda loop: (loop.line, loop.col))
    lines = _lines_of(source)
    return [_entry(plan, loop, ordered, lines.get((loop.line, loop.col), _Line())) for loop in ordered]


def _entry(plan: Plan, loop: LoopPlan, ordered: Sequence[LoopPlan], line: _Line) -> Entry:
    around = [o for o in ordered if o is not loop and _inside(loop, o) and o.reason != SMALL]
    role = _role(plan, loop, ordered, around)
    binds = line.binds | set(loop.binds)
    rebound = tuple(n for n in loop.changes if n in binds)
    changed = tuple(n for n in loop.changes if n not in binds)
    place = f" in {loop.function}()" if loop.function else ""
    header = line.header or f"{loop.kind} loop{place}"
    sentences = tuple(s for s in (_effects(changed, rebound, line), _replay(plan, loop, role)) if s)
    return Entry(loop, len(around), header, role, changed, rebound, sentences)


def _inside(loop: LoopPlan, other: LoopPlan) -> bool:
    return (other.line, other.col) < (loop.line, loop.col) and loop.end_line <= other.end_line


def _role(plan: Plan, loop: LoopPlan, ordered: Sequence[LoopPlan], around: Sequence[LoopPlan]) -> Role:
    if not loop.guarded or plan.refused:
        return "small" if loop.reason.endswith(SMALL) else "refused"
    own = f"{plan.file}::{loop.function}"
    reached = any(o.guarded and own in o.calls for o in ordered if o is not loop)
    return "skip block" if reached or any(o.guarded for o in around) else "main loop"


def _lines_of(source: bytes | None) -> dict[tuple[int, int], _Line]:
    if source is None:
        return {}
    loops = (n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.For, ast.AsyncFor, ast.While)))
    return {(n.lineno, n.col_offset): _Line(_header(n), _names_bound_in(n), _names_in(n)) for n in loops}


def _header(node: ast.For | ast.AsyncFor | ast.While) -> str:
    """Return a loop's own line, shortened: `for epoch in range(1, args.epochs + 1)`."""
    if isinstance(node, ast.While):
        text = f"while {ast.unparse(node.test)}"
    else:
        target = ast.unparse(node.target)
        target = target[1:-1] if isinstance(node.target, ast.Tuple) and len(node.target.elts) > 1 else target
        text = f"{'async ' if isinstance(node, ast.AsyncFor) else ''}for {target} in {ast.unparse(node.iter)}"
    return textwrap.shorten(text, SHOWN_HEADER, placeholder=" …")


def _names_bound_in(node: ast.AST) -> frozenset[str]:
    return frozenset(n for part in own_nodes(node) for n in names_bound_by(part))


def _names_in(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _near(names: Sequence[str], line: _Line) -> tuple[list[str], int]:
    """Split what the loop's text mentions from what only the functions it calls can get at (counted)."""
    near = [n for n in names if not line.names or n.partition(".")[0] in line.names]
    if not near or len(names) <= SHOWN_NAMES:
        return list(names), 0
    return near, len(names) - len(near)


def _gathered(names: Sequence[str]) -> tuple[str, ...]:
    """Name an object once instead of three attributes of it; a method's own `self` is told in detail."""
    owners = [n.rpartition(".")[0] for n in names]
    return tuple(
        dict.fromkeys(
            o if o and o != "self" and owners.count(o) >= MANY_ATTRIBUTES else n
            for n, o in zip(names, owners, strict=True)
        )
    )


def _effects(changed: Sequence[str], rebound: Sequence[str], line: _Line) -> str:
    parts = []
    near, more = _near(_gathered(changed), line)
    if near:
        parts.append(f"changes {_listed(near)}" + (f" ({more} more through what it calls)" if more else ""))
    if rebound:
        parts.append(f"rebinds {_listed(rebound)}")
    if not parts:
        return "It changes nothing that is used outside it."
    return _sentence(f"It {'; '.join(parts)}")


def _replay(plan: Plan, loop: LoopPlan, role: Role) -> str:
    if role == "small":
        return _sentence(f"It carries no guard: {SMALL}")
    if role == "refused":
        reason = plan.refused or loop.reason
        told = f"No guard at {plan.file}:{loop.line}: {_sentence(reason)} On replay it runs as it is written."
        return f"{told} {_remedy(reason)}".rstrip()
    if role == "main loop":
        text = FULL[role]
        if loop.has_else:
            text += " Because of its else it is never skipped as a whole."
    elif loop.has_else:
        text = (
            "Replay runs it: a loop with an else is never skipped as a whole. Without the else it could be."
        )
    else:
        text = FULL[role]
    return text + (" A return out of it is repeated with its value." if loop.has_return else "")


def _remedy(reason: str) -> str:
    return next((remedy for word, remedy in REMEDIES if word in reason), "")


def _paragraph(plan: Plan, entry: Entry, width: int) -> list[str]:
    status = "not guarded" if entry.role == "refused" else f"guarded, {entry.role}"
    title = f"{_title(plan, entry):<{width}}   {status}"
    return [title, _wrapped(" ".join(entry.sentences), 2 * entry.depth + 4)]


def _told_once(entries: Sequence[Entry]) -> list[Entry]:
    """Shorten what replay does with a loop where the text has said it already."""
    result: list[Entry] = []
    for entry in entries:
        known = any(other.role == entry.role for other in result)
        full, short = FULL.get(entry.role), SHORT.get(entry.role, "")
        sentences = tuple(s.replace(full, short) if full and known else s for s in entry.sentences)
        result.append(replace(entry, sentences=sentences))
    return result


def _title(plan: Plan, entry: Entry) -> str:
    return f"{'  ' * entry.depth}{plan.file}:{entry.loop.line}  {entry.header}"


def _small_loops(loops: Sequence[LoopPlan]) -> str:
    if len(loops) == 1:
        return f"1 small loop carries no guard (line {loops[0].line}): {SMALL}. Replay just runs it."
    lines = [str(loop.line) for loop in loops[:SHOWN_LINES]] + (["…"] if len(loops) > SHOWN_LINES else [])
    return (
        f"{len(loops)} small loops carry no guard (lines {', '.join(lines)}): nothing in them takes long. "
        "Replay just runs them."
    )


def _listed(names: Sequence[str]) -> str:
    """Return `a, b and c`, the tail of a long list counted."""
    shown = list(names[:SHOWN_NAMES])
    if len(names) > SHOWN_NAMES + 1:
        shown.append(f"{len(names) - SHOWN_NAMES} more")
    else:
        shown = list(names)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."


def _wrapped(text: str, indent: int, hanging: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
