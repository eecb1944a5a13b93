"""A workload's text and a variant's name -> the script that is run. Pure text: marked places are filled.

    plain    as it stands                  outer    with the outer probe, what `florc replay` is given
    manual   saves by hand                 inner    with the inner probe
    marked   marks where iterations of the main loop begin and end
    truth    both probes; dumps what the outer one reads, iteration by iteration
    floor    runs up to the loop, imports what florc imports, reads only what the outer probe reads
    load     runs up to the loop, loads every checkpoint saved by hand whole
"""
from __future__ import annotations

import re

from .catalog import Workload

OUTER, INNER = "| outer", "| inner"
FLORC_IMPORTS = "import florc.cli, florc.replaying, florc.runtime.session"  # with all that these import


class MissingPlace(ValueError):
    """A workload's text lacks a place that a variant fills."""


def fill(text: str, place: str, *statements: str) -> str:
    """Put statements where the comment `# [place]` stands, at its indentation."""
    pattern = re.compile(rf"^([ ]*)# \[{place}\]\n", re.MULTILINE)
    if not pattern.search(text):
        raise MissingPlace(f"no place [{place}]")
    return pattern.sub(lambda found: "".join(f"{found[1]}{line}\n" for line in statements), text, count=1)


def strip(text: str) -> str:
    """Take out the marks of the places that nobody filled."""
    return re.sub(r"  # \[[a-z ]+\]$", "", re.sub(r"^[ ]*# \[[a-z ]+\]\n", "", text, flags=re.MULTILINE),
                  flags=re.MULTILINE)


def script(workload: Workload, variant: str) -> str:
    """The text that is run for a variant."""
    return strip(_VARIANTS[variant](workload))


def _plain(workload: Workload) -> str:
    return workload.text


def outer_probe(workload: Workload) -> str:
    return f'print("{OUTER}", {workload.outer})'


def inner_probe(workload: Workload) -> str:
    return f'print("{INNER}", {workload.inner})'


def _outer(workload: Workload) -> str:
    return fill(workload.text, "outer probe", outer_probe(workload))


def _inner(workload: Workload) -> str:
    return fill(workload.text, "inner probe", inner_probe(workload))


def counted(text: str) -> str:
    """Count the main loop's iterations in `bench_n`."""
    return fill(fill(text, "loop begin", "bench_n = -1", "# [loop begin]"),
                "epoch begin", "bench_n += 1", "# [epoch begin]")


def _manual(workload: Workload) -> str:
    text = importing(counted(workload.text), "import os", "import torch")
    text = fill(text, "loop begin", 'os.makedirs("saved", exist_ok=True)')
    save = f'torch.save(dict({workload.states}), f"saved/{{bench_n:05d}}.pt")'
    if workload.save_every > 1:
        every = workload.save_every
        return fill(text, "epoch end", f"if bench_n % {every} == {every - 1}:", f"    {save}")
    return fill(text, "epoch end", save)


def _marked(workload: Workload) -> str:
    text = fill(workload.text, "epoch begin", 'bench_mark("iteration-start")')
    return fill(text, "epoch end", 'bench_mark("iteration-end")')


def _truth(workload: Workload) -> str:
    text = counted(importing(workload.text, "import touched"))
    if workload.inner:
        text = fill(text, "inner probe", inner_probe(workload))
    return fill(text, "outer probe", outer_probe(workload),
                f"touched.dump(bench_n, {workload.touched}, {workload.number})")


def importing(text: str, *statements: str) -> str:
    """Put imports after the first one, which every workload has."""
    first = "import argparse\n"
    return text.replace(first, first + "".join(f"{line}\n" for line in statements), 1)


def _instead_of_loop(workload: Workload, text: str, *put_back: str) -> str:
    """Only put the state back where the loop's body stood, and look at it; end with the loop."""
    end = ('bench_mark("loop-end")', "return")
    if workload.outer_in_loop:
        text = fill(text, "epoch begin", *put_back, outer_probe(workload), "continue")
        return fill(text, "loop end", *end)
    text = fill(text, "epoch begin", "continue")
    return fill(text, "loop end", *put_back, outer_probe(workload), *end)


def _floor(workload: Workload) -> str:
    text = counted(importing(workload.text, FLORC_IMPORTS, "import touched"))
    return _instead_of_loop(workload, text, f"{workload.number} = touched.fill(bench_n, {workload.touched})")


def _load(workload: Workload) -> str:
    text = importing(counted(workload.text), "import torch")
    return _instead_of_loop(workload, text,
                            'saved = torch.load(f"saved/{bench_n:05d}.pt", weights_only=False)',
                            workload.restores)


_VARIANTS = {"plain": _plain, "manual": _manual, "marked": _marked, "outer": _outer, "inner": _inner,
             "truth": _truth, "floor": _floor, "load": _load}
