"""Write random statements and expressions over the values in sight."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .vocabulary import ANY_OPS, KINDS, UNCOPIED
from .writer import Place, Writer

# what a loop may run over besides numbers
VALUES = "(True, 2, 2.0, 'b', None, 10**20, -1, 1.5, float('nan'))"
MAX_DEPTH = 3  # loops inside loops
MAX_STATEMENTS = 70  # of a program's own part: more says no more, and takes longer
TRIES = 6  # draws of a statement that may stand here, before none is written
KEYS = ("'a'", "'b'", "'c'", "'k'")

SHOWS = (
    "print('at', $n)", "print(f\"value {$n}\")", "print($n, end=' ')", "sys.stdout.write(f\"{$n}\\n\")",
    "print('note', $n, file=sys.stderr)", "print($n, $n, sep='|')", "log.info('seen %s', $n)",
    "log.debug('quiet %s', $n)",
    "warnings.warn(f\"odd {$n}\")", "print('-', $n, flush=True)", "log.warning('%r', $n)")
TESTS = ("$n > $n", "$i % 2", "(seen := $n) > 1", "not $i % 3", "len(bag) > 3", "isinstance(value, int)")
RAISES = ("fails($i)", "if $i == 2: raise KeyError('k')", "work(2)", "fails($i); work(1)")
WITHS = ("with logged(trace, 'w'):", "with contextlib.suppress(ValueError):",
         "with contextlib.suppress(ValueError), logged(trace, 'x') as into:")
CATCHES = ("except (ValueError, KeyError) as error:", "except Exception:", "except (ValueError, KeyError):")
ODD = (
    "head, *tail = [$n, $i, $i]", "squares = {v: work(v) for v in range($i)}", "both = [*range($i), $n]",
    "late = lambda v: v + $i\nlate(2)",
    "def local(v, extra=[]):\n    extra.append(v)\n    return len(extra)\nlocal($i)",
    "started = time.time()", "assert $i >= 0", "trace.append($k)",
    "class Local:\n    n = $i\nbag.append(Local.n)",
    "global_hits[$k] = global_hits.get($k, 0) + 1", "total = sum(v for v in range($i))",
    "callbacks.append(lambda v, n=$i: v + n)", "for callback in callbacks: bag.append(callback($i))",
    "del bag[:-8]",
    "del trace[:-8]", "del callbacks[:-3]", "os.environ['FUZZ'] = str($i)",
    "bag.append(os.environ.get('FUZZ'))",
    "log.setLevel(10 + $i)", "head = $i", "value = keep.what", "keep.what = [keep.what] if $i > 3 else None",
    "registry.pop($k, None)", "bag[:1] = [$n]",
    "value = [v for v in bag if isinstance(v, (int, float))][-3:]",
    "got = sorted(trace)[:2]", "def count_up():\n    count_up.n = getattr(count_up, 'n', 0) + 1\ncount_up()")


# how a module's names are set, where no statement names them
IN_MODULES = ("globals()['$c'] += 1", "sys.modules[__name__].$c += 1", "__import__('__main__').$c += 1",
              "setattr(sys.modules['__main__'], '$c', $c + 1)")


class Body:
    """Writes statements and expressions over the places in sight.

    functions: names of the program's functions that take one number or two and give one. caught: how many try
    statements are around. in_function: whether a return may stand here. again: a call of the function being
    written, for one of its loops.
    """

    def __init__(self, out: Writer) -> None:
        self.out = out
        self.rng = out.rng
        self.functions: list[str] = []
        self.left = MAX_STATEMENTS
        self.caught = 0
        self.in_function = False
        self.again = ""
        self._used: list[str] = []  # names of loops so far
        self._by_hand: set[str] = set()  # those that end a while loop

    # -- expressions
    def number(self, depth: int = 0) -> str:
        rng = self.rng
        draw = rng.randrange(8)
        if draw < 2 or depth > 1:
            return rng.choice(["1", "2", "0.5", "3.25", str(rng.randrange(20)), *self.out.counters])
        if draw < 6 and self.out.places:
            place = rng.choice(self.out.places)
            return self.fill(rng.choice(KINDS[place.kind].reads), place, depth + 1)
        if draw == 6 and self.functions:
            return self.called(self.number(depth + 1))
        return f"({self.number(depth + 1)} {rng.choice('+-*')} {self.number(depth + 1)})"

    def called(self, argument: str) -> str:
        """A call of one of the program's functions."""
        more = self.rng.choice(self.out.counters) if self.out.counters and self.rng.randrange(3) == 0 else ""
        return f"{self.rng.choice(self.functions)}({argument}{more and ', ' + more})"

    def small(self) -> str:
        counted = [f"({name} % 5)" for name in self.out.counters]
        return self.rng.choice([str(self.rng.randrange(1, 7)), *counted])

    def fill(self, template: str, place: Place | None = None, depth: int = 0) -> str:
        """The template with its words filled in."""
        expr, kind = (place.expr, place.kind) if place is not None else ("bag", "")
        same = [one.expr for one in self.out.places if one.kind == kind] or [expr]

        def word(found: re.Match[str]) -> str:
            letter = found.group(1)
            if letter == "n":
                return self.number(depth + 1)
            if letter == "i":
                return self.small()
            if letter == "k":
                return self.rng.choice(KEYS)
            if letter == "q":
                return self.rng.choice(same)
            return {"p": expr, "o": expr.replace("net", "opt"), "s": expr.replace("net", "sch")}[letter]

        return re.sub(r"\$([pqnikos])", word, template)

    # -- statements
    def operation(self) -> None:
        """A statement that changes something, most often."""
        if not self.out.places:
            return self.call()
        for _ in range(TRIES):
            place = self.rng.choice(self.out.places)
            ops: Sequence[str] = KINDS[place.kind].ops
            if self.rng.randrange(8) == 0:
                ops = ANY_OPS[4:] if place.kind in UNCOPIED else ANY_OPS
            text = self.fill(self.rng.choice(ops), place)
            if self.out.may_bind(text):
                return self.out.emit(text)

    def call(self) -> None:
        if self.functions and self.rng.randrange(3):
            self.out.emit(self.rng.choice(("", "value = ")) + self.called(self.number()))
        else:
            self.out.emit(self.fill("work($i)"))

    def statements(self, count: int, depth: int, in_loop: bool) -> None:
        for _ in range(count):
            self.left -= 1
            if self.left > 0:
                self.statement(depth, in_loop)

    def statement(self, depth: int, in_loop: bool) -> None:
        draw = self.rng.randrange(100)
        if draw < 56:
            self.operation()
        elif draw < 64:
            self.call()
        elif draw < 70:
            self.out.emit(self.fill(self.rng.choice(SHOWS)))
        elif draw < 79:
            self.branch(depth, in_loop)
        elif draw < 87 and depth < MAX_DEPTH:
            self.loop(depth)
        elif draw < 92:
            self.guarded(depth, in_loop)
        elif draw < 96 and (in_loop or self.caught):
            self.leave(in_loop)
        else:
            self.odd()

    def leave(self, in_loop: bool) -> None:
        """Leave a loop, the function or the try statement, now and then."""
        ways = ["break", "continue"] if in_loop else []
        ways += ["return $n"] if self.in_function and in_loop else []
        ways += ["raise ValueError($i)", "fails(3)"] if self.caught else []
        self.out.emit(self.fill(f"if $n > {self.rng.choice((3, 20, 60))}: {self.rng.choice(ways)}"))

    def odd(self) -> None:
        rebinds = self.out.counters and self.rng.randrange(6) == 0
        text = self._rebinding() if rebinds else self.fill(self.rng.choice(ODD))
        if self.out.may_bind(text):
            self.out.emit(text)

    def _rebinding(self) -> str:
        """Let a loop's variable grow in the loop's body: a while loop ends all the same."""
        way = "global" if self.out.rebindable is None else "nonlocal"
        ways = ("$c += 1", "if $i > 3: $c += 2", "bag.append(($c := $c + 1))", "($c, got) = ($c + 1, $c)",
                f"def later():\n    {way} $c\n    $c += 1\nlater()",
                *(IN_MODULES if way == "global" else ()))
        return self.fill(self.rng.choice(ways).replace("$c", self.rng.choice(self.out.counters)))

    def branch(self, depth: int, in_loop: bool) -> None:
        out, rng = self.out, self.rng
        if rng.randrange(5) == 0:
            with out.block(self.fill("match $i % 3:")):
                for case in ("case 0:", "case 1 | 2:", "case _:"):
                    with out.block(case):
                        self.statements(1, depth, in_loop)
            # between two cases no statement may stand
            out.points = [point for point in out.points if not self._is_before_case(point.at, point.indent)]
            return
        with out.block(self.fill(f"if {rng.choice(TESTS)}:")):
            self.statements(rng.randrange(1, 3), depth, in_loop)
        if rng.randrange(5) < 2:
            self.clause("else:", depth, in_loop)

    def _is_before_case(self, at: int, indent: int) -> bool:
        """Whether a point lies in a match statement outside of its cases."""
        lines = self.out.lines
        header = next((line for line in reversed(lines[:at]) if len(line) - len(line.lstrip()) < 4 * indent),
                      "")
        return header.lstrip().startswith("match ")

    def clause(self, header: str, depth: int, in_loop: bool) -> None:
        """A clause that continues the statement just written: no probe may stand before it."""
        self.out.points = [point for point in self.out.points
                           if (point.at, point.indent) != (len(self.out.lines), self.out.indent)]
        with self.out.block(header):
            self.statements(1, depth, in_loop)

    def guarded(self, depth: int, in_loop: bool) -> None:
        """A with or a try statement."""
        out, rng = self.out, self.rng
        if rng.randrange(3) == 0:
            header = rng.choice(WITHS)
            self.caught += "suppress" in header
            with out.block(header):
                self.statements(rng.randrange(1, 3), depth, in_loop)
                if "suppress" in header and rng.randrange(2):
                    out.emit(self.fill("fails($i)"))
            self.caught -= "suppress" in header
            return
        self.caught += 1
        with out.block("try:"):
            if depth < MAX_DEPTH and rng.randrange(3) == 0:
                self.loop(depth)  # which an exception may leave
            self.statements(1, depth, in_loop)
            out.emit(self.fill(rng.choice(RAISES)))
            self.statements(1, depth, in_loop)
        self.caught -= 1
        self.clause(rng.choice(CATCHES), depth, in_loop)
        if rng.randrange(3) == 0:
            self.clause("else:", depth, in_loop)
        if rng.randrange(3) == 0:
            self.clause("finally:", depth, in_loop=False)

    # -- loops
    def loop(self, depth: int) -> None:
        """A loop inside others, or of a function."""
        out, rng = self.out, self.rng
        name = self.loop_name()
        header, first, last = self.loop_header(name, rng.choice((2, 3, 5, 9, 9)))
        for line in first:
            out.emit(line)
        before = out.enter(name, header)
        with out.block(header):
            for line in last:
                out.emit(line)
            if self.again and rng.randrange(2):
                out.emit(self.again)
                self.again = ""
            if rng.randrange(5):
                self.call()
            self.statements(rng.randrange(1, 4), depth + 1, in_loop=True)
        out.counters, out.names = before
        if rng.randrange(7) == 0:
            self.clause("else:", depth, in_loop=False)

    def loop_name(self, stem: str = "i") -> str:
        """A name for a loop: seldom that of another one, which may be around this one."""
        ends = self._by_hand & set(self.out.counters)
        free = [name for name in self._used if name not in ends]
        if free and self.rng.randrange(7) == 0:
            return self.rng.choice(free)
        self._used.append(self.out.new_name(stem))
        return self._used[-1]

    def loop_header(self, name: str, turns: int) -> tuple[str, list[str], list[str]]:
        """(the header, lines before it, lines at its top); the name is a counting variable."""
        other = self.out.new_name("x")
        forms: list[tuple[str, list[str], list[str]]] = [
            *[(f"for {name} in range({turns}):", [], [])] * 5,
            (f"for {name}, {other} in enumerate('abcdefghi'[:{turns}]):", [], []),
            (f"while {name} < {turns}:", [f"{name} = 0"], [f"{name} += 1"]),
            ("while True:", [f"{name} = 0"], [f"{name} += 1", f"if {name} > {turns}: break"]),
            (f"for {name} in itertools.count():", [], [f"if {name} >= {turns}: break"]),
            (f"for {name}, {other} in zip(range({turns}), numbers_from(2)):", [], []),
            (f"for {name} in list(range({turns})):", [], []),
            (f"for {name} in range(1, {turns} + 1):", [], []),
            (f"for {name} in range(0, 2 * {turns}, 2):", [], []),
            (f"for {name} in range({turns}, 0, -1):", [], []),
            (f"for {name} in reversed(range({turns})):", [], []),
            (f"for {name}, {other} in enumerate({VALUES}[:{turns}]):", [], []),
            (f"for {other}, {name} in enumerate(range({turns}, 0, -1)):", [], []),
            (f"for {name}, {other} in enumerate(range({turns}), 2):", [], []),
            (f"for {name}, ({other}, _) in enumerate(zip(range({turns}), 'abcdefghi')):", [], []),
            (f"for {name}, {name} in zip('abcdefghi', range({turns})):", [], []),
            (f"for {name} in itertools.islice(numbers_from(0), {turns}):", [], []),
            (f"for {name} in (v for v in range({turns})):", [], []),
            (f"for {name}, *{other} in [(v, v * v, v) for v in range({turns})]:", [], []),
        ]
        for place in self.out.places:
            if place.kind == "iterator":
                forms.append((f"for {name}, {other} in zip(range({turns}), {place.expr}):", [], []))
            elif place.kind == "loader":
                forms.append((f"for {name}, {other} in enumerate({place.expr}):", [], []))
        form = self.rng.choice(forms)
        if form[1]:
            self._by_hand.add(name)
        return form
