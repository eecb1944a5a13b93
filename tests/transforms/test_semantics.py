"""Instrumented programs do what the plain ones do, when their loops run and when they are skipped."""

import textwrap

import pytest

from florc.transforms import instrument, to_code

from .stub import Record, Replay, run

# Each program leaves what is to be compared in `out`. Loops touch nothing but names of their function's
# frame, so that a replay which skips them and puts these names back must come to the same.
PROGRAMS = {
    "a name bound only if the loop runs": """
        def f(n):
            for i in range(n):
                last = str(work(i))
            try:
                return i, last
            except UnboundLocalError as error:
                return type(error).__name__
        out = f(3), f(0)
    """,
    "a name the loop deletes": """
        def f(n):
            a = b = 1
            for i in range(n):
                work(i)
                if i == 1:
                    del a
            return sorted(k for k in locals() if k in "abi")
        out = f(1), f(2), f(0)
    """,
    "break and continue": """
        def f(n):
            total = 0
            for i in range(n):
                if work(i) % 2: continue
                if i > 5: break
                total += i
            return i, total
        out = f(3), f(10)
    """,
    "return from two loops deep": """
        def f(n):
            for i in range(n):
                for j in range(i):
                    if work(i * j) == 6:
                        return i, j
                    seen = j
            return i
        out = f(2), f(9)
    """,
    "a bare return and one of None": """
        def f(n):
            for i in range(n):
                work(i)
                if i == 2: return
                if i == 7: return None
            return "end"
        out = f(2), f(5)
    """,
    "return a tuple and a starred one": """
        def f(n, *rest):
            while True:
                n = work(n)
                if n > 3:
                    return n, *rest
                n += 1
        out = f(1, 2, 3), f(9)
    """,
    "for with else": """
        def f(n):
            for i in range(n):
                if work(i) == 3:
                    found = i
                    break
            else:
                found = None
            return found
        out = f(2), f(5), f(0)
    """,
    "while with else and return in it": """
        def f(n):
            while n > 0:
                n = work(n) - 2
                for k in range(n):
                    work(k)
            else:
                return "else", n
        out = f(3), f(4)
    """,
    "walrus in a condition and in a comprehension": """
        def f(items):
            pending = tuple(items)
            while (item := work(pending[-1])) and (pending := pending[:-1]):
                squares = [last := x * x for x in range(item)]
            return item, sorted(k for k in locals() if k != "pending"), pending
        out = f([1, 2, 3]), f([1, 0, 5])
    """,
    "a comprehension keeps its own variable": """
        def f():
            x = "mine"
            for i in range(3):
                ys = [work(x) for x in range(i)]
            return x, ys, i
        out = f()
    """,
    "names bound by with, except, import, def, class, match": """
        import contextlib
        def f():
            for i in range(3):
                with contextlib.nullcontext(work(i)) as (entered):
                    import os.path, json as j
                    from math import sqrt as root, pi
                try:
                    raise ValueError(i)
                except ValueError as error:
                    def inner(): return i * 2
                    class K: attr = i
                match [i, {"k": i, "z": 1}]:
                    case [first, {"k": second, **rest}] if work(first) >= 0:
                        pass
                    case [*every]:
                        pass
            names = sorted(locals())
            return names, entered, os.path.sep, j.dumps(pi), root(4), inner(), K.attr, first, second, rest
        out = f()
    """,
    "a nested function writes a name of its maker": """
        def f(n):
            best, calls = None, 0
            def note(x):
                nonlocal best, calls
                calls += 1
                if best is None or x > best:
                    best = x
            for i in range(n):
                note(work(i % 4))
            return best, calls
        out = f(0), f(7)
    """,
    "a loop in a nested function writes a name of the outer one": """
        def f(n):
            best = 0
            def search():
                nonlocal best
                for i in range(n):
                    best += work(i)
                return i
            return search(), best
        out = f(4)
    """,
    "a deeper nonlocal, past a function with a name of its own": """
        def f():
            x = y = 0
            def middle():
                x = 10
                def inner():
                    nonlocal x, y
                    x += 1; y += 1
                for i in range(3):
                    inner()
                return x
            for i in range(2):
                m = middle()
            return x, y, m
        out = f()
    """,
    "a nested function deletes": """
        def f(n):
            x = 1
            def drop():
                nonlocal x
                del x
            for i in range(n):
                drop()
            try:
                return x
            except NameError as error:
                return "gone"
        out = f(0), f(1)
    """,
    "a global in a function": """
        count = 0
        def f(n):
            global count
            for i in range(n):
                step = work(1)
            count += n
            return step
        out = f(3), count
    """,
    "try and finally around and in a loop": """
        def f(n):
            log = ()
            try:
                for i in range(n):
                    try:
                        if work(i) == 2:
                            return log, i
                    finally:
                        log += (i,)
            finally:
                log += ("end",)
            return log
        out = f(2), f(5)
    """,
    "loops one after the other feed each other": """
        def f(n):
            xs = ()
            for i in range(n): xs += (work(i),)
            for x in xs: i += work(x)
            while i > 3: i = work(i) - 1; xs = xs[1:]
            return xs, i, x
        out = f(5)
    """,
    "recursion": """
        def f(n):
            total = n
            for i in range(n):
                total += f(n - 1) + work(0)
            return total
        out = f(4)
    """,
    "private names in a class": """
        class C:
            def __run(self, n):
                __t = 0
                for __i in range(n):
                    __t += work(__i)
                return __t, __i
            def go(self): return self.__run(4)
        out = C().go()
    """,
    "a generator around, a loop without yield in it": """
        def g(n):
            for i in range(n):
                total = 0
                for j in range(i):
                    total += work(j)
                yield total
            while n:
                n = work(n) - 1
            return n
        def f():
            result = yield from g(4)
            yield ("result", result)
        out = list(f())
    """,
    "star targets, subscripts and nested tuples as targets": """
        def f():
            box = [0, 0]
            for a, (b, *c) in [(1, (2, 3)), (4, (5, 6, 7))]:
                work(a)
            return a, b, c
        out = f()
    """,
    "an annotated assignment, and one that only annotates": """
        def f():
            for i in range(3):
                x: int = work(i)
                y: str
            return sorted(locals())
        out = f()
    """,
    "an empty iterable that is a generator expression": """
        def f():
            for i in (work(x) for x in ()):
                pass
            for j in (work(x) for x in (1, 2)): pass
            return sorted(locals().keys())
        out = f()
    """,
    "a parameter rebound": """
        def f(n, *args, key=None, **kwargs):
            for n in range(n):
                args += (work(n),); key = args; kwargs = None
            return n, args, key, kwargs
        out = f(3), f(0, 1, key=2, z=3)
    """,
}

PRELUDE = "def work(x): return x\n"


def _program(text: str) -> bytes:
    return (PRELUDE + textwrap.dedent(text)).encode()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("marks", [False, True])
def test_a_program_whose_loops_run_is_as_before(name, marks):
    source = _program(PROGRAMS[name])
    plain = run(compile(source, "plain.py", "exec"), None)
    result = instrument(source, "plain.py")
    assert result.plan.refused == "" and any(loop.guarded for loop in result.plan.loops)
    live = run(to_code(result, "plain.py", marks=marks), Record())
    assert repr(live["out"]) == repr(plain["out"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_whose_loops_are_skipped_is_as_before(name):
    source = _program(PROGRAMS[name])
    code = to_code(instrument(source, "plain.py"), "plain.py", marks=False)
    record = Record()
    live = run(code, record)
    replay = Replay(record)
    again = run(code, replay)
    assert repr(again["out"]) == repr(live["out"])
    assert len(replay.exits) == len(record.exits)
    assert replay.skipped or "else" in name


def test_inside_loops_report_to_the_guard_around():
    source = _program(
        """
        def inner(n):
            for j in range(n): work(j)
        def f():
            for i in range(2):
                inner(i)
        f()
        """
    )
    record = Record()
    run(to_code(instrument(source, "p.py"), "p.py", marks=True), record)
    assert record.ids == ["p.py::f/for#0", "p.py::inner/for#0", "p.py::inner/for#0"]
    assert len(record.exits) == 1


def test_an_exception_goes_through_a_guard():
    source = _program(
        """
        def f(n):
            try:
                for i in range(n):
                    work(10 // (2 - i))
            except ZeroDivisionError:
                return "raised", i
            return i
        out = f(2), f(5)
        """
    )
    code = to_code(instrument(source, "p.py"), "p.py", marks=True)
    assert run(code, Record())["out"] == (1, ("raised", 2))
