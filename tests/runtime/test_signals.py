"""Handlers of signals wait while florc is at work, and the program does not notice that they may."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from florc.runtime.atoms import stood_in_for
from florc.runtime.signals import Signals, calm
from tests.florc.running import environment


@pytest.fixture(autouse=True)
def installed():
    before = signal.getsignal(signal.SIGUSR1)
    signals = Signals()
    signals.install()
    yield
    signals.uninstall()
    signal.signal(signal.SIGUSR1, before)


class Raised(Exception):
    pass


def send() -> None:
    os.kill(os.getpid(), signal.SIGUSR1)


def name_of(frame: Any) -> str:
    return str(frame.f_code.co_name)


def test_a_handler_runs_at_once_outside_of_florc():
    seen = []
    signal.signal(signal.SIGUSR1, lambda number, frame: seen.append((number, name_of(frame))))
    send()
    assert seen == [(signal.SIGUSR1, "send")]


def test_a_handler_waits_until_the_outermost_calm_ends():
    seen = []
    signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    with calm:
        with calm:
            send()
        assert not seen
    assert seen == [signal.SIGUSR1]


def test_what_a_handler_raises_comes_out_behind_the_work():
    def fail(number, frame):
        raise Raised

    signal.signal(signal.SIGUSR1, fail)
    done = []
    with pytest.raises(Raised), calm:
        send()
        done.append("all")
    assert done == ["all"] and calm.depth == 0


def test_handlers_wait_in_their_order_and_one_that_raises_keeps_the_rest():
    seen = []

    def fail(number, frame):
        seen.append("first")
        raise Raised

    signal.signal(signal.SIGUSR1, fail)
    with pytest.raises(Raised), calm:
        send()
        signal.signal(signal.SIGUSR1, lambda number, frame: seen.append("second"))
        send()
    with calm:
        assert seen == ["first"]
    assert seen == ["first", "second"]


def test_the_program_is_told_of_its_own_handlers():
    def handler(number, frame):
        pass

    before = signal.getsignal(signal.SIGUSR1)
    assert signal.signal(signal.SIGUSR1, handler) is before
    assert signal.getsignal(signal.SIGUSR1) is handler
    assert signal.signal(signal.SIGUSR1, signal.SIG_IGN) is handler
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("wrong", ["no handler", None, 99])
def test_what_is_no_handler_is_refused_as_ever(wrong):
    with pytest.raises((TypeError, ValueError)):
        signal.signal(signal.SIGUSR1, wrong)


def test_a_stand_in_passes_for_the_real_function():
    assert (signal.signal.__module__, signal.signal.__qualname__) == ("signal", "signal")
    asked: Any = signal.getsignal
    assert stood_in_for(asked) is not None


def test_nothing_is_left_behind():
    def handler(number, frame):
        pass

    other = Signals()
    other.install()
    signal.signal(signal.SIGUSR1, handler)
    other.uninstall()
    assert signal.getsignal(signal.SIGUSR1) is handler


def test_another_thread_neither_waits_nor_makes_wait():
    seen = []
    signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))

    def work():
        for _ in range(1000):
            with calm:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calm.depth == 0
    send()
    assert seen == [signal.SIGUSR1]


def test_a_handler_runs_while_a_text_is_on_its_way():
    seen = []
    signal.signal(signal.SIGUSR1, lambda number, frame: seen.append("handler"))

    def write(text):
        send()
        seen.append(text)
        return len(text)

    with calm:
        assert calm.let_in(write, "text") == 4
        send()
        seen.append("calm again")
    assert seen == ["handler", "text", "calm again", "handler"]


AT_ONCE = """
import os, signal
from florc.runtime.signals import Signals, calm
Signals(at_once=(signal.default_int_handler,)).install()
signal.signal(signal.SIGUSR1, lambda number, frame: print("waited"))
with calm:
    os.kill(os.getpid(), signal.SIGUSR1)
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        print("at once")
"""


def test_handlers_that_may_not_wait_do_not():
    words = [sys.executable, "-c", AT_ONCE]
    done = subprocess.run(words, env=environment(), text=True, capture_output=True, check=False)
    assert (done.stdout, done.stderr) == ("at once\nwaited\n", "")
