"""Write the results of the trials into docs/reliability.md, as a table.

python -m tests.reliability.report RESULTS.json [docs/reliability.md]
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .trials import FAULTS

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- trials: begin -->", "<!-- trials: end -->"


def table(results: Mapping[str, Any]) -> str:
    """One row for each fault that was tried, or could not be."""
    lines = ["| fault | how it is made | trials | outcomes | name |", "| --- | --- | --- | --- | --- |"]
    for name, fault in FAULTS.items():
        counts = results["trials"].get(name)
        if counts:
            most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            outcomes = ", ".join(f"{count} {verdict}" for verdict, count in most_first)
            lines.append(f"| {fault.what} | {fault.made} | {sum(counts.values())} | {outcomes} | `{name}` |")
        elif name in results["skipped"]:
            lines.append(
                f"| {fault.what} | {fault.made} | 0 | not here: {results['skipped'][name]} | `{name}` |"
            )
    total = sum(sum(counts.values()) for counts in results["trials"].values())
    faults = sum(counts.get("fault", 0) for counts in results["trials"].values())
    return "\n".join([*lines, "", f"{total} trials, {faults} faults.", ""])


def main(args: list[str]) -> int:
    """Put the table between the marks of the page."""
    page = Path(args[1]) if len(args) > 1 else PAGE
    found = table(json.loads(Path(args[0]).read_text()))
    text = page.read_text(encoding="utf-8")
    changed = re.sub(f"(?s)(?<={BEGIN}\n).*(?={END})", lambda _: found, text)
    if BEGIN not in text:
        sys.exit(f"{page} has no place for the table: a line {BEGIN} and a line {END}")
    page.write_text(changed, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
