"""Programs as marked text: what was recorded, what probes add, and what the truth needs besides.

A program is a list of lines; a mark at a line's end says in which version it stands:

    #+   a probe: in the edited and the truth version
    #=   of the truth alone (it undoes what a probe does to what it looks at)
    #@   of the version that tells the iterations apart

`#@@@ NAME` begins another file; what stands before the first one is train.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAIN = "train.py"
RECORDED, EDITED, TRUTH, MARKED = "recorded", "edited", "truth", "marked"
_SHOWN_IN = {"#+": (EDITED, TRUTH, MARKED), "#=": (TRUTH, MARKED), "#@": (MARKED,)}
_MARK = re.compile(r"\s+(#[+=@])$")
_FILE = re.compile(r"#@@@ (\S+)$")

OPEN, CLOSE = "<P", "P>"  # around what a probe prints
TOP, AFTER = "\x01", "\x02"  # printed by the marked version at each iteration's top, and after the loop


@dataclass(frozen=True)
class Program:
    """A program with its probes. record: options of the recording. replays: options of each replay."""

    lines: tuple[str, ...]
    record: tuple[str, ...] = ("--overhead", "1")
    replays: tuple[tuple[str, ...], ...] = ((),)

    def files(self, version: str) -> dict[str, str]:
        """The files of a version."""
        found: dict[str, list[str]] = {MAIN: []}
        name = MAIN
        for line in self.lines:
            other = _FILE.match(line)
            if other:
                name = other.group(1)
                found[name] = []
                continue
            mark = _MARK.search(line)
            if mark is None:
                found[name].append(line)
            elif version in _SHOWN_IN[mark.group(1)]:
                found[name].append(line[: mark.start()])
            elif version != RECORDED:
                found[name].append("")  # a text may show line numbers: those of the edited version are wanted
        return {name: "\n".join(lines) + "\n" for name, lines in found.items()}

    @property
    def needs_torch(self) -> bool:
        return any(line.startswith("import torch") for line in self.lines)

    @property
    def is_marked(self) -> bool:
        return any(line.endswith("#@") for line in self.lines)

    def text(self) -> str:
        """All of it, as `parse` reads it."""
        head = f"# record: {' '.join(self.record)}\n"
        head += "".join(f"# replay: {' '.join(options)}".rstrip() + "\n" for options in self.replays)
        return head + "\n".join(self.lines) + "\n"


def parse(text: str) -> Program:
    """Read what `Program.text` wrote; other comments at the top are left out."""
    record: tuple[str, ...] = ()
    replays: list[tuple[str, ...]] = []
    lines: list[str] = []
    for line in text.splitlines():
        if not lines and line.startswith("# record:"):
            record = tuple(line.removeprefix("# record:").split())
        elif not lines and line.startswith("# replay:"):
            replays.append(tuple(line.removeprefix("# replay:").split()))
        elif lines or not line.startswith("# "):
            lines.append(line)
    return Program(tuple(lines), record, tuple(replays) or ((),))


def of_probes(text: str) -> str:
    """What the probes of a truth have printed, and nothing else."""
    return "".join(re.findall(rf"{OPEN}.*?{CLOSE}\n", text, flags=re.DOTALL))


def of_iterations(text: str, spec: str) -> str | None:
    """What the marked version printed in the iterations of `--at spec`.

    None where its loop was not left through its end, or has no such iterations.
    """
    parts = iterations(text)
    if parts is None:
        return None
    first, colon, last = spec.partition(":")
    start = int(first) + (len(parts) if first.startswith("-") else 0)
    chosen = parts[start : int(last)] if colon else parts[start : start + 1]
    return "".join(chosen) if chosen else None


def iterations(text: str) -> list[str] | None:
    """What the marked version printed in each iteration; None where its loop was not left through its end."""
    return text.split(AFTER)[0].split(TOP + "\n")[1:] if AFTER in text else None


def is_sample(got: str, parts: list[str], size: int) -> bool:
    """Whether a text is that of so many iterations or less, in their order.

    Where all could be among them, none may be missing in which a probe printed.
    """
    ends = {(0, 0)}  # (how far in the text, of how many iterations)
    for part in parts:
        taken = {(at + len(part), count + 1) for at, count in ends if got.startswith(part, at)}
        ends = taken | (set() if OPEN in part and size >= len(parts) else ends)
    return any(at == len(got) and count <= size for at, count in ends)
