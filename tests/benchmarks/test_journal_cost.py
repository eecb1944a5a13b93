"""What the journal's cost is added up from: marks that are set, and time in the recorder, each once."""

from __future__ import annotations

import time

from benchmarks.journal import CountedMarks, _add_up, nanoseconds_a_mark, page


def test_marks_that_are_set_are_counted_and_set():
    before = CountedMarks.hits
    marks = CountedMarks(4)
    marks[2] = 1
    marks[2] = 1
    marks[3] = 1
    assert CountedMarks.hits - before == 3 and bytes(marks) == b"\0\0\1\1"
    marks[:] = bytes(4)  # the recorder clears them
    assert CountedMarks.hits - before == 3


def test_time_in_the_recorder_counts_once_and_the_end_apart():
    class Recorder:
        def _safely(self, action):
            action()

        def loop(self):
            self._safely(lambda: time.sleep(0.02))

        def finish(self):
            self._safely(lambda: time.sleep(0.03))

    told = {"seconds": 0.0, "end": 0.0}
    _add_up(Recorder, told)
    Recorder().loop()
    assert told["seconds"] >= 0.02 and told["end"] == 0.0
    once = told["seconds"]
    Recorder().finish()
    assert told["seconds"] == once and told["end"] >= 0.03


def test_the_page_says_what_a_mark_takes():
    text = page(12.34, [["flat", "1.00", "10", "0.0010", "2.0", "0.20", "1.0"]])
    assert "A mark takes 12.3 ns" in text and "| flat |" in text
    assert nanoseconds_a_mark() > 0
