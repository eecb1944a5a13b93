"""Following the journal: what the program writes, notes and reads of clocks, held against the record."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .children import Flag
from .clocks import CLOCKS, differ_in_times, reader
from .context import context
from .emitter import Emitter
from .errors import NoReader, ReplayDone, StoreError
from .guards import Stack
from .lockstep import Cursor, Edits, Place, Span
from .output import locate
from .plain import as_data, text
from .project import Project
from .replay_loop import ReplayLoop
from .script import Script
from .signals import calm
from .tally import NotedValue, Restart, Tally, Wish


def _stands_in(frame: Any, spans: tuple[Span, ...]) -> bool:
    """True if what a frame executes stands in one of these parts of its text."""
    place = _places(frame.f_code)[frame.f_lasti // 2]
    return any(start <= place < end for start, end in spans)


@functools.lru_cache(maxsize=64)
def _places(code: Any) -> list[Place]:
    """Line and column of each instruction, which code has since Python 3.11."""
    return [(line or 0, column or 0) for line, _, column, _ in code.co_positions()]


MAX_PROBLEMS = 20  # inexact places told by name


class Follower:
    """One replay of one recorded run, but for its loops."""

    def __init__(self, script: Script, edits: Edits, wish: Wish, emit: Emitter) -> None:
        self.project = Project()
        self.stack = Stack()
        self.script = script
        self.edits = edits
        self.wish = wish
        self.window = wish.window
        self.cursor = Cursor(script, edits)
        self.tally = Tally()
        self.ahead = False  # an iterator is being moved forward: nothing that it does counts
        self.off = False  # diverged for good: the program simply runs
        self.failed = False  # an added line has raised what nobody caught
        self._shows, self.foreign, self.values_lost = Flag(), Flag(), Flag()
        self.showing = self.window.outside(0)
        self.skipped_any = False
        self._last_restored = ""  # the loop of which a state was put back last
        self._emit = emit
        self._told: set[str] = set()
        self._probe_lines = edits.probes
        self._old_lines = {(file, new): old for (file, old), new in edits.lines.items()}

    @property
    def showing(self) -> bool:
        """True where text is printed; forked children ask too."""
        return bool(self._shows.value)

    @showing.setter
    def showing(self, value: bool) -> None:
        self._shows.value = int(value)

    # -- output ---------------------------------------------------------------------------
    def is_probe(self, frame: Any) -> bool:
        """True if the code running in frame was reached through a line the user added."""
        return self._probe(frame) is not None

    def _probe(self, frame: Any) -> tuple[str, int] | None:
        """File id and line of the added line through which the code running in frame was reached."""
        files, lines = self.project.files, self._probe_lines
        while frame is not None:
            file = files.get(frame.f_code.co_filename)
            if file is not None and frame.f_lineno in lines.get(file, ()):
                spans = self.edits.spans.get(file, {}).get(frame.f_lineno)
                if spans is None or _stands_in(frame, spans):
                    return file, frame.f_lineno
            frame = frame.f_back
        return None

    def wrote(self, fd: int, text: str) -> None:
        """Text that the program now writes: a probe's goes out, the rest as it was recorded."""
        if self.ahead:
            return
        if self.failed and fd == 2:
            self._emit(fd, text)
            return
        frame = sys._getframe(2)
        if self.is_probe(frame):
            if self._at_the_end():
                raise self._stop(ReplayDone())
            file, line, _ = locate(frame, self.project.files)
            if text.endswith("\n"):  # one print is several writes
                self.tally.fired[(file, line)] = self.tally.fired.get((file, line), 0) + 1
            if self.wish.keep_said:
                self._keep_said(file, line, fd, text)
            self._out(fd, text)
        elif fd != 1 or self.off:
            self.cursor.beside()
            self.recorded(fd, text)
        else:
            self._follow(text, frame)

    def raised(self, error: Exception) -> None:
        """Nobody caught this. If an added line raised it, say so, and let python's words on it out."""
        place = None
        trace = error.__traceback__
        while trace is not None:
            file = self.project.files.get(trace.tb_frame.f_code.co_filename)
            if file is not None and trace.tb_lineno in self._probe_lines.get(file, ()):
                place = f"{file}:{trace.tb_lineno}"
            trace = trace.tb_next
        if place is not None and not self.ahead:
            self.failed = self.off = True
            self.problem(f"{place}, an added line, raised {type(error).__name__}: {error}")

    def logged(self, name: str, value: Any, frame: Any) -> None:
        """A value that the program hands to `florc.log`: an added line's is kept, the rest compared."""
        with calm:
            self._logged(name, value, frame)

    def _logged(self, name: str, value: Any, frame: Any) -> None:
        if self.ahead:
            return
        kept, note = as_data(value)
        if not self._is_noted(frame):
            if not self.off:
                self._follow_value(name, kept, note, frame)
            return
        if self._at_the_end():
            raise self._stop(ReplayDone())
        file, line, _ = locate(frame, self.project.files)
        self.tally.fired[(file, line)] = self.tally.fired.get((file, line), 0) + 1
        if self.showing and not self.wish.silent:
            outermost = self.stack.loops[0] if self.stack.loops else None
            where = context(frame, self.project.sources, outermost)
            self.tally.noted.append(NotedValue(self.cursor.position, file, line, name, kept, note, where))

    def _is_noted(self, frame: Any) -> bool:
        """True for a call of `florc.log` that was added, in a line of its own or in a recorded one."""
        file, line, _ = locate(frame, self.project.files)
        return line in self.edits.noted.get(file, ()) or self.is_probe(frame)

    def _follow_value(self, name: str, kept: Any, note: str, frame: Any) -> None:
        event = self.cursor.take("v")
        if event is None or event[3] != name:
            file, line, _ = locate(frame, self.project.files)
            self.diverge(f"{file}:{line} notes {name!r}, which the recorded run did not there")
            return
        self.tally.output_compared += 1
        if [text(event[4]), event[5]] == [text(kept), note]:
            self.tally.output_equal += 1
        elif note and differ_in_times(event[4], kept):
            self.tally.output_clocks += 1
        else:
            self.inexact(f"{event[1]}:{event[2]} now notes {name!r} as {kept!r}, recorded was {event[4]!r}")

    def logged_elsewhere(self, frame: Any) -> None:
        """In another thread, or in a forked child: an added line's value has no place in the run."""
        if self._is_noted(frame):
            self.values_lost.value = 1

    def wrote_beside(self, fd: int, text: str) -> None:
        """Text by another thread: no record has it, so that it goes out as it comes."""
        if not self.wish.new_only or self.is_probe(sys._getframe(2)):
            self._out(fd, text)

    def wrote_in_child(self, fd: int) -> bool:
        """In a forked child: True if what it writes is to go out. No later attempt can take it back."""
        goes = self.showing and not self.wish.silent
        if self.wish.new_only and not self.is_probe(sys._getframe(2)):
            goes = False
        if goes and fd == 1:
            self.foreign.value = 1
        return goes

    def _keep_said(self, file: str, line: int, fd: int, text: str) -> None:
        outer = self.stack.loops[0] if self.stack.loops else None
        if self.showing and isinstance(outer, ReplayLoop):
            self.tally.said.add((outer.number, outer.iteration), file, line, fd, text)

    def _follow(self, text: str, frame: Any) -> None:
        event = self.cursor.take("w")
        if event is None:
            file, line, _ = locate(frame, self.project.files)
            self.diverge(f"{file}:{line} writes {text[:60]!r}, which the recorded run did not")
            self.recorded(1, text)
            return
        recorded = self.cursor.text(event)
        self.tally.output_compared += 1
        if recorded == text:
            self.tally.output_equal += 1
        elif differ_in_times(recorded, text):
            self.tally.output_clocks += 1  # a clock that is not journalled: the recorded text is what counts
        else:
            self.inexact(f"{event[2]}:{event[3]} now writes {text[:60]!r}, recorded was {recorded[:60]!r}")
        self.recorded(1, recorded)

    def recorded(self, fd: int, text: str) -> None:
        """Give out text of the recorded program."""
        if not self.wish.new_only:
            self._out(fd, text)

    def _out(self, fd: int, text: str) -> None:
        if self.showing and not self.wish.silent:
            self.tally.shown = True
            try:
                self._emit(fd, text)
            except BrokenPipeError:
                raise self.unread() from None

    def unread(self) -> BaseException:
        """Nobody reads the output any more: what ends the replay."""
        return self._stop(NoReader())

    def clock(self, name: str, value: Any, frame: Any) -> Any:
        """The recorded reading of a clock, where the recorded run read it too."""
        if self.off or self.ahead:
            return value
        probe = self._probe(frame)
        if probe is not None:
            # what libraries read (times of log records, names of runs) is mostly not shown
            if self.showing and frame.f_code.co_filename in self.project.files:
                what = "reads the clock" if name in CLOCKS else "draws from the system's entropy"
                place = "{}:{}".format(*probe)
                self.problem(f"{place}, an added line, {what}: the run would have got something else")
            return value
        who = reader(frame, self.project.files)
        recorded = self.cursor.clock(name, who) if who else None
        return value if recorded is None else recorded

    def recorded_line(self, path: str, line: int) -> int | None:
        """The recorded line of a line of the edited project; None for files that are not the project's."""
        file = self.project.files.get(path)
        return None if file is None else self._old_lines.get((file, line), -line)

    def _at_the_end(self) -> bool:
        """True where an interrupted run ended: what the program would have written next is not known."""
        return self.script.interrupted and self.cursor.at_end

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """While an iterator is moved forward."""
        self.ahead, before = True, self.ahead
        try:
            yield
        finally:
            self.ahead = before

    # -- trouble --------------------------------------------------------------------------
    def diverge(self, words: str) -> None:
        """The program does what the recorded run did not."""
        if self._at_the_end():
            raise self._stop(ReplayDone())  # the recorded run was killed here
        self.inexact(words)
        self.off = True
        self.showing = self.showing or self.window.whole

    def inexact(self, words: str) -> None:
        """Something differs from the record. If anything was skipped so far, try again without."""
        if self.skipped_any and not self.wish.scratch:
            raise self._stop(Restart(words, self._last_restored))
        self.problem(words)

    def replaced(self) -> BaseException:
        """The program puts another one in its place (os.exec): what ends this one instead."""
        if not self.script.stopped:
            self.problem("the program puts another one in its place, which the recorded run did not")
        return self._stop(ReplayDone())

    def ended(self) -> None:
        """The program has ended of itself: the recorded run must have written no more."""
        if self.off or not self.window.whole or self.script.interrupted:
            return
        text = next(self.cursor.texts_ahead(), None)
        if text is not None:
            self.inexact(f"the program ends where the recorded run went on to write {text[:60]!r}")

    def _stop(self, end: BaseException) -> BaseException:
        """End the program: nothing that it writes on its way out counts."""
        self._emit.muted = True
        self.off = True
        return end

    def unpaid(self, error: StoreError) -> BaseException:
        """What the last restore has put off cannot be had: what ends this attempt."""
        return self._stop(Restart(f"{self._last_restored}: {error}", self._last_restored))

    def problem(self, words: str) -> None:
        if len(self.tally.problems) < MAX_PROBLEMS and words not in self.tally.problems:
            self.tally.problems.append(words)

    def note(self, words: str, key: str = "") -> None:
        """Tell something once (one telling a key)."""
        if (key or words) not in self._told:
            self._told.add(key or words)
            self.tally.notes.append(words)
