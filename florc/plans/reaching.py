"""Added lines in code that the recorded run never came to: they print nothing, and the user is told why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from florc.matching import FileMatch
from florc.runtime.script import Script
from florc.transforms import MODULE_REGION


def unreached(script: Script, matches: Mapping[str, FileMatch]) -> Iterator[str]:
    """One sentence for each probe in a function or branch that did not run.

    None where that is not known: of a run that was killed, or in which other processes ran a part of the
    program, and in code whose running is not marked.
    """
    if script.ran is None or script.interrupted or script.stopped:
        return
    for file, one in matches.items():
        ran = script.ran.get(file, frozenset())
        for probe in one.match.probes:
            shows = probe.kind != "removed" and not probe.inert
            if shows and probe.region not in (MODULE_REGION, *ran):
                yield f"{file}:{probe.line}: never reached in this run"
