"""What a program can see of itself, one line a fact: to be the same under python and under florc record."""
from __future__ import annotations

import atexit
import dataclasses
import inspect
import logging
import multiprocessing
import os
import pickle
import runpy
import subprocess
import sys
import threading
import traceback
import typing
import warnings

import neighbour


@dataclasses.dataclass
class State:
    """A class of the main program."""
    step: int = 0
    names: list[str] = dataclasses.field(default_factory=list)


class Colour(typing.NamedTuple):
    red: int


def square(number: int) -> int:
    for _ in range(2):
        neighbour.twice(number)
    return number * number


def fails(rows):
    for row in rows:
        neighbour.twice(row)
        print(row["a"]["b"]   ["c"])


def where_am_i() -> str:
    return __name__


def show(what, *facts):
    print(what, *facts, flush=True)


def identity():
    show("argv", sys.argv)
    show("path", sys.path[0])
    show("file", __file__)
    show("names", __name__, __package__, __spec__ and __spec__.name, __doc__)
    show("loader", type(__loader__).__name__, __loader__.name, __cached__)
    show("globals", [name for name in globals() if not name.startswith("_florc")][:14])
    show("builtins", type(__builtins__).__name__)
    show("main is", sys.modules["__main__"].__dict__ is globals(), sys.modules["__mp_main__"].__dict__ is globals())
    show("annotations", __annotations__)
    show("flags", sys.flags.optimize, sys.flags.dev_mode, sys.flags.utf8_mode, sys._xoptions, sys.warnoptions)
    show("stdin", sys.stdin.read())
    show("cwd", os.getcwd())
    show("limit", sys.getrecursionlimit(), threading.current_thread() is threading.main_thread())
    show("hooks", sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__)


def objects():
    state = State(3, ["a"])
    again = pickle.loads(pickle.dumps(state))
    show("pickle", again, type(again) is State, pickle.dumps(State)[:30])
    show("namedtuple", pickle.loads(pickle.dumps(Colour(1))), Colour.__module__)
    show("hints", typing.get_type_hints(State), typing.get_type_hints(square))
    show("dataclass", dataclasses.fields(State)[1].name, State.__module__, State.__qualname__)


def source():
    show("source", inspect.getsource(square), inspect.getsourcelines(fails)[1])
    show("class", inspect.getsource(State), inspect.getsourcefile(State), inspect.getmodule(State).__name__)
    show("module", inspect.getsource(sys.modules["__main__"])[:40], inspect.getsource(neighbour)[:40])
    show("code", square.__code__.co_filename, square.__code__.co_firstlineno, square.__code__.co_name)
    show("neighbour", neighbour.__file__, neighbour.__spec__.origin, neighbour.__package__ == "")
    show("frame", inspect.currentframe().f_lineno, inspect.stack()[0].code_context)


def errors():
    try:
        fails([{"a": {"b": {"c": 1}}}, {"a": {"b": 2}}])
    except TypeError:
        show("traceback", traceback.format_exc())
    try:
        neighbour.breaks()
    except ZeroDivisionError:
        show("other file", traceback.format_exc())
    try:
        import broken_neighbour
    except SyntaxError as error:
        show("syntax", error.filename, error.lineno, error.offset, error.text)
    try:
        import failing_neighbour
    except ValueError:
        show("import", traceback.format_exc())
    try:
        import not_there
    except ImportError:
        show("missing", traceback.format_exc())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(1):
            warnings.warn("careful", stacklevel=1)
        neighbour.warns()
    show("warnings", [(str(w.message), w.filename, w.lineno) for w in caught])
    warnings.warn("told on stderr")
    logging.basicConfig(format="%(filename)s:%(lineno)d %(funcName)s %(module)s %(message)s")
    for _ in range(1):
        logging.warning("logged")


def pools():
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            show(method, pool.map(square, range(4)), pool.apply(where_am_i))
            show(method, pool.map(dataclasses.asdict, [State(1), State(2)]))
        process = context.Process(target=square, args=(3,))
        process.start()
        process.join()
        show(method, process.exitcode)
    child = os.fork()
    if not child:
        show("forked", where_am_i())
        sys.exit(7)
    show("waited", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def other_ways():
    show("run_path", runpy.run_path("aside.py", run_name="aside")["RESULT"])
    show("run_module", runpy.run_module("neighbour")["__name__"])
    show("subprocess", subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True).stdout)
    scope = {}
    exec("total = 0\nfor i in range(3): total += i", scope)
    show("exec", scope["total"])


def leave():
    print("at exit", sys.modules["__main__"].State is State)


if __name__ == "__main__":
    atexit.register(leave)
    identity()
    objects()
    source()
    errors()
    other_ways()
    pools()
    threading.Thread(target=lambda: (threading.Event().wait(0.2), print("thread done"))).start()
    print("written to stderr", file=sys.stderr)
    sys.exit("the end")
