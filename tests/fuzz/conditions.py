"""Write added `if`s: tests over variables of the loops around and parameters, alone and with other operands.

What a replay leaves out because such a test is false is a claim about every value that the test's names can
have; so the tests drawn here are of all forms, over names that mean what they seem to and names that do not.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from .text import CLOSE, OPEN
from .writer import INDENT

MAX_NESTED = 2  # ifs in ifs
STRAYS = ("epoch1", "i2", "x3", "n", "step", "value", "last")  # bound or not, to one thing or another

# $c, $d: names; $i, $j: whole numbers, $m: one that is not zero
ATOMS = (
    "$c == $i", "$c == $i", "$c == $i", "$i == $c", "$c != $i", "$c < $i", "$c >= $i", "$i > $c", "$c <= $i",
    "$i <= $c < $j", "$i < $c", "$j > $c >= $i", "$c in ($i, $j)", "$c in [$i, $j]", "$c in {$i, $j}",
    "$c not in ($i, $j)", "$c % $m == $i", "$c % $m", "not $c % $m", "not $c", "$c", "$c // $m == $i",
    "$c + $d == $j", "$c == $d", "$c <= $d < $j", "-$c == -$i", "$c * 2 > $j", "$c - $i == $d",
    "not $c == $i", "not ($c > $i)", "$c == $i == $d", "$c in ($d, $i)", "$c == $i.0", "$c < $i.5",
    "$c == True", "$c in ('a', $i)", "$c == 'b'", "$c == None", "($c == $i) == ($d == $j)", "$c in ()")
# what is false from some step of a loop on, by its variable alone
BOUNDED = (
    "$c == $i", "$c == $i", "$c in ($i, $j)", "$c < $i", "$i <= $c < $j", "$c == $i and $d == $j", "$c == $d",
    "$d == $i and $c <= $j", "$c == $i or $c == $j", "$i < $c <= $d", "$c in {$i} and $d != $j", "$j > $c")
FAILING = ("$c // $d == $i", "$c in 'abc'", "$c < 'a'", "$i % $c == $j", "$c in $i")
ANYTHING = (
    "len(bag) > $i", "len(bag) % $m == 0", "isinstance(value, int)", "len(trace) < $j", "not bag",
    "helper.count > $i", "value is None", "square($c) == $j", "(_w := $c) == $i", "[$c] == [$i]",
    "str($c) == '$i'", "min($c, $i) == $i", "any($c == v for v in ($i, $j))",
    f'print("{OPEN}", $c, "{CLOSE}") is None', "florc.log('asked', $c) == $i")


class Conditions:
    """Draws statements that begin with `if`; look() gives an expression to print where they stand."""

    def __init__(self, rng: random.Random, names: tuple[str, ...], look: Callable[[], str]) -> None:
        self.rng = rng
        self.names = names
        self.look = look

    def lines(self) -> list[str]:
        """The added lines."""
        draw = self.rng.randrange(16)
        if draw == 0:
            return [f"if {self.test()}: {self._shown()}"]
        if draw == 1:
            return [f"{self._shown()} if {self.test()} else None"]
        return self._statement(0)

    def bounded(self) -> list[str]:
        """Added lines after which a loop may be left: their tests are false from some step on."""
        lines = []
        for word in ("if", "elif") if self.rng.randrange(6) == 0 else ("if",):
            test = self._fill(self.rng.choice(BOUNDED).replace("$c", self.names[-1]), highest=2)
            more = f" and {self._anything()}" if " or " not in test and self.rng.randrange(4) == 0 else ""
            lines += [f"{word} {test}{more}:", *self._body(MAX_NESTED)]
        return lines

    def _statement(self, depth: int) -> list[str]:
        rng = self.rng
        lines = [f"if {self.test()}:", *self._body(depth)]
        while rng.randrange(5) == 0:
            lines += [f"elif {self.test()}:", *self._body(depth)]
        if rng.randrange(6) == 0:
            lines += ["else:", *self._body(depth)]
        return lines

    def _body(self, depth: int) -> list[str]:
        rng = self.rng
        draw = rng.randrange(12)
        if draw < 6:
            lines = [self._shown()]
        elif draw < 8 and depth < MAX_NESTED:
            lines = self._statement(depth + 1)
        elif draw == 8:
            lines = [f"for _v in ({self.look()},):", f'{INDENT}print("{OPEN}", _v, "{CLOSE}")']
        elif draw == 9:
            lines = [f"_kept = {self.look()}", f'print("{OPEN}", _kept, "{CLOSE}")']
        elif draw == 10:
            lines = [f"florc.log('quiet', {self.look()})"]
        else:
            lines = ["pass"]
        return [INDENT + line for line in lines]

    def _shown(self) -> str:
        looked_at = self.look()
        if self.rng.randrange(6) == 0:
            looked_at = f"florc.log('shown', {looked_at})"
        return f'print("{OPEN}", {looked_at}, "{CLOSE}")'

    # -- tests
    def test(self) -> str:
        """A test; most often with an operand at its head that speaks of a loop."""
        draw = self.rng.randrange(12)
        if draw < 4:
            return self._atom()
        if draw < 6:
            return f"{self._atom()} and {self._atom()}"
        if draw < 8:
            return f"{self._atom()} and {self._anything()}"
        if draw == 8:
            return f"{self._anything()} and {self._atom()}"
        if draw == 9:
            return f"{self._atom()} or {self.rng.choice((self._atom, self._anything))()}"
        if draw == 10:
            return f"not ({self._atom()} {self.rng.choice(('and', 'or'))} {self._atom()})"
        return f"({self._atom()} or {self._atom()}) and {self._anything()} and {self._atom()}"

    def _atom(self) -> str:
        return self._fill(self.rng.choice(FAILING if self.rng.randrange(40) == 0 else ATOMS))

    def _anything(self) -> str:
        if self.rng.randrange(4) == 0:
            return f"bool({self.look()})"
        return self._fill(self.rng.choice(ANYTHING))

    def _name(self) -> str:
        """A name in sight; those of the innermost loops more often."""
        if not self.names or self.rng.randrange(25) == 0:
            return self.rng.choice(STRAYS)
        return self.rng.choice((*self.names, *self.names[-2:]))

    def _fill(self, template: str, highest: int = 4) -> str:
        words = {"$c": self._name(), "$d": self._name(), "$i": str(self.rng.randrange(highest + 1)),
                 "$j": str(self.rng.randrange(1, 2 * highest)), "$m": str(self.rng.randrange(2, 4))}
        for word, text in words.items():
            template = template.replace(word, text)
        return template
