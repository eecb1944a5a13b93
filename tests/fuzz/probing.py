"""Add to a generated program what its user adds later: lines that look, in random places."""

from __future__ import annotations

import random
import re

from . import preamble
from .conditions import Conditions
from .programs import ProgramMaker
from .statements import KEYS
from .text import AFTER, CLOSE, OPEN, TOP, Program
from .vocabulary import shows_of
from .writer import INDENT, Place, Point

MAX_PROBES = 6
COUNTING = re.compile(r" *for (i\d+)(?:, .*)? in (?:range|enumerate)\(")  # a loop inside others that counts
IN_HEAD = -1  # the place behind the imports

# anywhere: names that may be unbound here, and the generators' states
LOOSE = ("last", "value", "got", "head", "tail", "squares", "total", "both", "trace", "global_hits",
         "len(bag)",
         "sorted(registry)", "keep.what is None", "random.getstate()[1][:2]", "len(callbacks)", "Meter.total",
         "Best.seen",
         "helper.state", "helper.items", "helper.count", "tally.names", "remember.__defaults__",
         "fibonacci.cache_info()",
         "os.path.exists('log.txt')", "os.environ.get('FUZZ')", "log.level",
         "[type(v).__name__ for v in bag]", "anchor.history",
         "'got' in globals()", "error", "taken", "first", "rest", "started > 0",
         "recall.__defaults__", "type(value).__name__", "late(1)", "count_up.n", "Local.n")
# in the fixed part: (file, the line before it, what is looked at)
FIXED = (("train.py", "        self.sum += value", "self.count, value"),
         ("train.py", "        count += 1", "count"),
         ("train.py", "        seen.append(value)", "seen, mean"),
         ("train.py", "    tally.calls += 1", "tally.names"),
         ("train.py", "        result += square(v)", "v, result"), ("train.py", "    result = 0", "amount"),
         ("train.py", "    memory.append(value)", "memory"), ("train.py", "        cache[n] = n * n",
                                                              "cache"),
         ("train.py", "        self.calls += 1", "self.calls, self.fc.bias.sum().item()"),
         ("train.py", "        loss.backward()",
          "loss.item(), net.fc.weight.grad is None"), ("train.py", "        self._value = value",
                                                       "self.history"),
         ("train.py", "        self.best = value", "type(self).seen"),
         ("train.py", "        self.asked += 1", "i"),
         ("helper.py", '    state["n"] += 1', "count, state"),
         ("helper.py", "    items.append(next(_ticket))", "items, n"))
# probes that change what they look at, and what undoes that in the truth
DISTURBING = {
    "": (("random.random()", "_s = random.getstate()", "random.setstate(_s)"),
         ("random.sample(range(9), 2)", "_s = random.getstate()", "random.setstate(_s)")),
    "list": (("$p and $p.pop()", "_s = list($p)", "$p[:] = _s"),
             ("$p.append(7)", "_s = list($p)", "$p[:] = _s")),
    "dict": (("$p.pop('a', None)", "_s = dict($p)", "$p.clear(); $p.update(_s)"),),
    "array": (("$p.fill(0)", "_s = $p.copy()", "$p[:] = _s"),),
    "np global": (("np.random.rand()", "_s = np.random.get_state()", "np.random.set_state(_s)"),),
    "torch rng": (("torch.rand(1).item()", "_s = torch.get_rng_state()", "torch.set_rng_state(_s)"),),
    "tensor": (("$p.zero_()", "_s = $p.clone()", "$p.copy_(_s)"),),
    "rng": (("$p.random()", "_s = $p.getstate()", "$p.setstate(_s)"),),
    "meter": (("$p.history.clear()", "_s = list($p.history)", "$p.history[:] = _s"),),
}


class Prober:
    """Draws probes for one generated program; each call of `program` gives another set of them."""

    def __init__(self, rng: random.Random, maker: ProgramMaker) -> None:
        self.rng = rng
        self.maker = maker
        self.out = maker.out
        self.added: list[tuple[int, int, str]] = []  # (before which line, indentation, a marked line)

    def program(self, record: tuple[str, ...]) -> Program:
        """The program with probes, and how it is to be replayed."""
        rng = self.rng
        self.added = []
        deep = [point for point in self.out.points if self._may_be_left(point)]
        if deep and rng.randrange(3) == 0:
            return self._bounded(deep, record)
        chosen = [self._point() for _ in range(rng.randrange(1, MAX_PROBES + 1))]
        wants_own = rng.randrange(6) == 0
        for number, point in enumerate(chosen):
            # what adjacent lines change is put back after the last of them
            alone = sum(one.at == point.at for one in chosen) == 1 and not (wants_own and number == 0)
            self._probe(point, alone)
        fixed = self._fixed() if rng.randrange(4) == 0 else []
        own = wants_own and self._own_state(chosen)
        loops = self.maker.main_loops
        replays: list[tuple[str, ...]] = [()]
        if rng.randrange(4) == 0:
            replays.append(("--new",))
        countable = len(loops) == 1 and not own and not fixed and all(point.inside for point in chosen)
        if countable and rng.randrange(2):
            self._add(loops[0].top, loops[0].indent + 1, [f"print({TOP!r})"], "#@", first=True)
            self._add(loops[0].after, loops[0].indent, [f"print({AFTER!r}, end='')"], "#@", first=True)
            replays.append(("--at", rng.choice(("0", "1", "2", "-1", "1:3"))))
            replays.append(("--sample", rng.choice(("2", "99"))))
        return self._written(fixed, record, replays)

    def _may_be_left(self, point: Point) -> bool:
        """Whether the innermost loop around counts by a variable, and is no main loop."""
        indent = point.indent * len(INDENT)
        for line in reversed(self.out.lines[:point.at]):
            if line.strip() and _indent(line) < indent:
                indent = _indent(line)
                if line.lstrip().startswith(("for ", "while ", "def ")):
                    found = COUNTING.match(line)
                    return found is not None and found[1] == point.names[-1]
        return False

    def _bounded(self, deep: list[Point], record: tuple[str, ...]) -> Program:
        """The program with few probes, all of them in loops that may be left early."""
        for point in self.rng.sample(deep, min(len(deep), self.rng.choice((1, 1, 2)))):
            self._add(point.at, point.indent, self._conditions(point).bounded(), "#+")
        return self._written([], record, [(), ("--new",)])

    def _written(self, fixed: list[tuple[str, str, str]], record: tuple[str, ...],
                 replays: list[tuple[str, ...]]) -> Program:
        if any("florc.log(" in line for _, _, line in self.added):
            self._add(IN_HEAD, 0, ["import florc"], "#+", first=True)
        helper = ["#@@@ helper.py", *preamble.HELPER.splitlines()]
        return Program(tuple(self._lines(fixed) + _with_fixed(helper, "helper.py", fixed)), record,
                       tuple(replays))

    def _lines(self, fixed: list[tuple[str, str, str]]) -> list[str]:
        before: dict[int, list[str]] = {}
        for at, _, line in sorted(self.added,
                                  key=lambda one: -one[1]):  # a block's end before what follows it
            before.setdefault(at, []).append(line)
        lines: list[str] = []
        for number, line in enumerate([*self.out.lines, ""]):
            lines += before.get(number, [])
            lines.append(line)
        first = [line for at, _, line in self.added if at == IN_HEAD]
        head, imported = self.maker.head, self.maker.imported
        return [*head[:imported], *first, *_with_fixed(head[imported:], "train.py", fixed), *lines[:-1]]

    def _point(self) -> Point:
        """A place for a probe: in a main loop more often than not."""
        inside = [point for point in self.out.points if point.inside]
        return self.rng.choice(inside if inside and self.rng.randrange(3) else self.out.points)

    def _fixed(self) -> list[tuple[str, str, str]]:
        there = set(self.maker.head) | set(preamble.HELPER.splitlines())
        found = [one for one in FIXED if one[1] in there]
        return self.rng.sample(found, min(len(found), 2))

    def _probe(self, point: Point, alone: bool) -> None:
        rng = self.rng
        if rng.randrange(10) < (6 if point.names else 1):
            if alone and rng.randrange(8) == 0:
                return self._disturb(point, self._conditions(point).test())
            return self._add(point.at, point.indent, self._conditions(point).lines(), "#+")
        draw = rng.randrange(20 if alone else 19)
        if draw < 11:
            lines = [f'print("{OPEN}", {self._expression(point)}, "{CLOSE}")']
        elif draw < 13:
            lines = [f'print("{OPEN}", {self._expression(point)}, {self._expression(point)}, "{CLOSE}")']
        elif draw < 17:
            lines = ["try:", f'    print("{OPEN}", {rng.choice(LOOSE)}, "{CLOSE}")',
                     "except Exception as _e:",
                     f'    print("{OPEN}", type(_e).__name__, "{CLOSE}")']
        elif draw < 18:
            lines = [f"if {self._expression(point)}:",
                     f'    print("{OPEN}", {self._expression(point)}, "{CLOSE}")']
        elif draw < 19:
            lines = [f"for _v in ({self._expression(point)},):", f'    print("{OPEN}", _v, "{CLOSE}")']
        else:
            return self._disturb(point)
        self._add(point.at, point.indent, lines, "#+")

    def _add(self, at: int, indent: int, lines: list[str], mark: str, *, first: bool = False) -> None:
        marked = [(at, indent, f"{INDENT * indent}{line}  {mark}") for line in lines]
        self.added = marked + self.added if first else self.added + marked

    def _expression(self, point: Point) -> str:
        """Something to look at that is in sight."""
        if not point.places:
            return "random.getstate()[1][0]"
        place = self.rng.choice(point.places)
        return self._fill(self.rng.choice(shows_of(place.kind)), place, point)

    def _fill(self, template: str, place: Place, point: Point) -> str:
        same = [one.expr for one in point.places if one.kind == place.kind]
        expr = place.expr
        words = {"$p": expr, "$o": expr.replace("net", "opt"), "$s": expr.replace("net", "sch")}

        def word(found: re.Match[str]) -> str:
            letter = found.group()
            if letter in words:
                return words[letter]
            return self.rng.choice(same if letter == "$q" else KEYS if letter == "$k" else ("1", "2", "3"))

        return re.sub(r"\$[pqkios]", word, template)

    def _conditions(self, point: Point) -> Conditions:
        return Conditions(self.rng, point.names, lambda: self._expression(point))

    def _disturb(self, point: Point, test: str = "") -> None:
        """A probe that changes what it looks at, in the truth with what undoes it; test: before it."""
        kinds = [(kind, place) for place in point.places for kind in [place.kind] if kind in DISTURBING]
        kind, place = self.rng.choice([*kinds, ("", Place("bag", ""))])
        probe, save, undo = (part.replace("$p", place.expr) for part in self.rng.choice(DISTURBING[kind]))
        self._add(point.at, point.indent, [save], "#=")
        shown = f'print("{OPEN}", {probe}, "{CLOSE}")'
        lines = [shown]
        if test:
            lines = self.rng.choice((
                [f"if {test}:", INDENT + shown], [f"if {test} and {shown} is None:", f"{INDENT}pass"]))
        self._add(point.at, point.indent, lines, "#+")
        self._add(point.at, point.indent, [undo], "#=")

    def _own_state(self, chosen: list[Point]) -> bool:
        """A list of the probes' own, filled at one point and shown at the end."""
        self._add(IN_HEAD, 0, ["_mine = []"], "#+", first=True)
        point = chosen[0]
        self._add(point.at, point.indent, [f"_mine.append(str({self._expression(point)})[:40])"], "#+")
        self._add(len(self.out.lines), 0, [f'print("{OPEN}", len(_mine), _mine[-3:], "{CLOSE}")'], "#+")
        return True


def _with_fixed(lines: list[str], file: str, fixed: list[tuple[str, str, str]]) -> list[str]:
    """The lines with the probes of the fixed part after those they follow."""
    found = []
    for line in lines:
        found.append(line)
        for name, before, looked_at in fixed:
            if (name, before) == (file, line):
                found.append(f'{" " * _indent(line)}print("{OPEN}", {looked_at}, "{CLOSE}")  #+')
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
