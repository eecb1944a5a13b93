"""What the benchmarks must know of another recorder, and what their scripts have in common."""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import variants
from benchmarks.catalog import Workload


@dataclass(frozen=True)
class Peer:
    """One recorder.

    Attributes:
        requirements: what pip installs, after torch.
        write: gives the workload's text with this recorder in it.
        record: options of the recording run; replay: of the replay, given the number of epochs.
        stores: folders, below the script's or the user's home, in which it keeps what it recorded.
        branch: the git branch that it wants to find.
    """

    name: str
    requirements: tuple[str, ...]
    write: Callable[[Workload], str]
    record: tuple[str, ...]
    replay: Callable[[int], Sequence[str]]
    stores: tuple[str, ...]
    branch: str = "main"

    def script(self, workload: Workload, args: Sequence[str], probed: bool) -> str:
        """The text to run. The script's own options are written into it: the recorders read sys.argv too."""
        text = self.write(workload)
        if probed:
            text = variants.fill(text, "outer probe", variants.outer_probe(workload))
        text = text.replace("parser.parse_args()", f"parser.parse_args({list(args)!r})")
        return variants.strip(text)


def wrap_loop(text: str, place: str, before: str, after: str) -> str:
    """Wrap what the marked loop goes over."""
    pattern = re.compile(rf"^([ ]*for .+? in )(.+):(  # \[{place}\])$", re.MULTILINE)
    if not pattern.search(text):
        raise variants.MissingPlace(f"no loop [{place}]")
    return pattern.sub(rf"\1{before}\2{after}:\3", text, count=1)


def in_context(text: str, manager: str) -> str:
    """Put the main loop into a `with` statement."""
    begin, end = "    # [loop begin]\n", "    # [loop end]\n"
    head, rest = text.split(begin)
    body, tail = rest.split(end)
    indented = re.sub(r"^(?=.)", "    ", body, flags=re.MULTILINE)
    return f"{head}    with {manager}:\n{indented}{end}{tail}"
