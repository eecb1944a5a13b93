"""Keeping what a replay's added lines have noted by `florc.log` beside the run."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from florc import messages
from florc.runtime import answers
from florc.runtime.answers import Answer, Replay

if TYPE_CHECKING:
    from florc.runtime.runs import Run
    from florc.runtime.tally import Tally


def new_id() -> str:
    """A name for a replay: when it was, and a few digits against those of the same second."""
    return f"{datetime.now(timezone.utc).astimezone():%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"


def keep(run: Run, tally: Tally, replay: str) -> None:
    """Keep what one replay, or one worker of it, has noted; tell of it, and where that fails."""
    if not tally.noted:
        return
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    rows = [Answer(**vars(one), replay=replay) for one in tally.noted]
    try:
        answers.keep(run.folder, run.seal, Replay(replay, when, not tally.problems), rows)
    except OSError as error:
        messages.warning(f"what the added lines note is lost: {error.filename}: {error.strerror}")
        return
    messages.say(f"what the added lines have noted is in the log of the run: florc logs {run.run}")
