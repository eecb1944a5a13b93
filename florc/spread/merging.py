"""One summary of the summaries of a replay's workers. Pure."""

from __future__ import annotations

import json
from typing import Any


def merge(summaries: list[dict[str, Any]]) -> dict[str, Any]:
    """One summary of all workers' ones; {} of none."""
    if not summaries:
        return {}
    whole = json.loads(json.dumps(summaries[0]))
    for other in summaries[1:]:
        _add(whole, other)
    return {**whole, "workers": len(summaries)}


def _add(whole: dict[str, Any], other: dict[str, Any]) -> None:
    """Add one worker's summary: counts are summed, times are those of the slowest, words come once."""
    whole["exact"] = whole["exact"] and other["exact"]
    for mine, theirs in zip(whole["main_loops"], other["main_loops"], strict=True):
        mine["executed"] = sorted({*mine["executed"], *theirs["executed"]})
        mine["restored"] = sorted({*mine["restored"], *theirs["restored"]} - {*mine["executed"]})
    for mine, theirs in zip(whole["probes"], other["probes"], strict=True):
        mine["fired"] += theirs["fired"]
    for counts, theirs in [(whole[name], other[name]) for name in ("blocks", "bytes")] + [
        (whole["checks"][name], other["checks"][name]) for name in whole["checks"]
    ]:
        for name in counts:
            counts[name] += theirs[name]
    for name in whole["seconds"]:
        whole["seconds"][name] = max(whole["seconds"][name], other["seconds"][name])
    for name in ("problems", "causes", "notes", "refused"):
        whole[name] += [words for words in other[name] if words not in whole[name]]
    whole["started_again"] = whole["started_again"] or other["started_again"]
