"""How a program ends: exit codes, tracebacks without florc's frames, threads and atexit handlers."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
from types import SimpleNamespace, TracebackType
from typing import NoReturn, cast

EXIT_EXCEPTION = 1  # python's code after an uncaught exception
EXIT_INTERRUPT = 130  # the shell's word for a process ended by SIGINT
_EXIT_UNUSABLE = 255  # an integer no C long holds becomes -1
_C_LONG = 1 << 63
_EXIT_MASK = 0xFF  # what the operating system keeps of an exit code

_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_OWN_FOLDERS = (
    _OWN_FOLDER,
    *{os.path.realpath(_OWN_FOLDER + room) + os.sep for room in ("runtime", "transforms")},
)


def report(error: BaseException | None, ends: tuple[type[BaseException], ...] = ()) -> int:
    """Tell of an uncaught exception as python does, and return the exit code it leads to.

    ends: exceptions that end the program without being an error.
    """
    if error is None or isinstance(error, ends):
        return 0
    if isinstance(error, SystemExit):
        return _system_exit(error)
    strip(error)
    _call_excepthook(error)
    return EXIT_INTERRUPT if isinstance(error, KeyboardInterrupt) else EXIT_EXCEPTION


def _system_exit(error: SystemExit) -> int:
    """The exit code of a SystemExit; a message goes to standard error and makes it 1."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & _EXIT_MASK if -_C_LONG <= code < _C_LONG else _EXIT_UNUSABLE
    try:
        print(code, file=sys.stderr, flush=True)
    except Exception:
        pass  # as python: a message that cannot be printed is lost
    return EXIT_EXCEPTION


def _call_excepthook(error: BaseException) -> None:
    """Do what the interpreter does with an exception that nobody caught."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except BaseException as second:
        strip(second)
        print("Error in sys.excepthook:", file=sys.stderr)
        traceback.print_exception(type(second), second, second.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        traceback.print_exception(type(error), error, error.__traceback__)


def strip(error: BaseException) -> None:
    """Take florc's frames off the tracebacks of an exception and of all it was raised from."""
    pending, seen = [error], set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        importing = isinstance(current, SyntaxError)
        current.__traceback__ = _without_own_frames(current.__traceback__, importing)
        pending += [link for link in (current.__cause__, current.__context__) if link is not None]
        pending += getattr(current, "exceptions", ())  # of an exception group


def _without_own_frames(trace: TracebackType | None, importing: bool) -> TracebackType | None:
    """The traceback without florc's frames; `importing`: without the import system's too.

    Python hides the import system's frames itself, except where one of florc's stands between them.
    """
    kept = []
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_OWN_FOLDERS) and not (importing and file.startswith("<frozen importlib")):
            kept.append(trace)
        trace = trace.tb_next
    following = None
    for entry in reversed(kept):
        entry.tb_next = following
        following = entry
    return following


def shut_down() -> None:
    """Wait for the threads and run the atexit handlers, in python's order.

    The interpreter would do both after florc has returned; they are brought forward because what they
    print belongs to the program, and the exit code of a replay depends on it.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
    except BaseException as error:  # an impatient Ctrl-C: python tells of it and goes on
        strip(error)
        _tell_ignored(error)
    atexit._run_exitfuncs()


def _tell_ignored(error: BaseException) -> None:
    """Say what the interpreter says of an exception while it waits for the threads."""
    telling = sys.unraisablehook
    if telling is not sys.__unraisablehook__:
        facts = {"exc_type": type(error), "exc_value": error, "exc_traceback": error.__traceback__}
        telling(cast("sys.UnraisableHookArgs", SimpleNamespace(**facts, err_msg=None, object=threading)))
        return
    since_13 = sys.version_info >= (3, 13)
    print(
        f"Exception ignored {'on threading shutdown:' if since_13 else f'in: {threading!r}'}", file=sys.stderr
    )
    print("Traceback (most recent call last):", file=sys.stderr)
    traceback.print_tb(error.__traceback__)
    print(f"{type(error).__name__}: {error}", file=sys.stderr)


def raise_silently(error: KeyboardInterrupt) -> NoReturn:
    """Let the interpreter end by the signal, without a second traceback."""
    sys.excepthook = lambda *_: None
    raise error.with_traceback(None)
