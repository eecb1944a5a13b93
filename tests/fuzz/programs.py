"""Generate training-like programs: values of many kinds, changed in loops, functions, methods and closures.

`ProgramMaker(rng).make()` draws a program from a random.Random (hypothesis's too): imports and small
project code (`preamble`), values (`vocabulary`), functions that change them, main loops (`statements`), in
one of three styles: all in the module, in the locals of main(), in the attributes of an object. `probing`
adds what the user adds later.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from . import preamble
from .statements import Body
from .vocabulary import KINDS, NUMPY, PLAIN, TORCH, Kind
from .writer import Place, Writer

# names that statements use besides the values: they must be bound wherever one is read
SCRATCH = "last = seen = value = got = head = None\nanchor, rng_state = Meter(1), random.getstate()"
TORCH_SCRATCH = "best, ema, loss, out = {}, None, 0.0, None"
SCRATCH_NAMES = "last, seen, value, got, head, anchor, rng_state"
TORCH_SCRATCH_NAMES = "best, ema, loss, out"
SHARED = ("log = logging.getLogger('train')\n"
          "bag, trace, callbacks, registry, global_hits = [], [], [], {}, {}\n"
          "keep = types.SimpleNamespace(what=None, pair=(None, None))")
# what no replay can put back: whoever has it in a loop runs the loop again
SELDOM = frozenset({"memo", "weak", "generator", "patched"})
PARAMETERS = ("n", "n", "epoch1", "i2", "x3")  # most are the names of loops elsewhere
TORCH_SHARED = "losses, grad_total, total_seen = [], [], []"
LOG_FORMATS = ("%(message)s", "%(lineno)d %(message)s", "%(levelname)s:%(funcName)s:%(message)s")


@dataclass(frozen=True)
class MainLoop:
    """Where a main loop stands: the first line of its body, the line after it, its indentation."""

    top: int
    after: int
    indent: int


class ProgramMaker:
    """Puts a program together.

    head: the lines before the program's own: imports, seeds, and of the preamble what it uses. imported: the
    line of the head before which added imports, functions and lists may stand. out: lines and points.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.out = Writer(rng)
        self.body = Body(self.out)
        self.numpy, self.torch = rng.randrange(5) < 2, rng.randrange(5) < 2
        self.kinds: dict[str, Kind] = {**PLAIN, **(NUMPY if self.numpy else {}),
                                       **(TORCH if self.torch else {})}
        self.head: list[str] = []
        self.imported = 0
        self.main_loops: list[MainLoop] = []

    def make(self) -> Writer:
        self._shared()
        style = self.rng.randrange(4)
        if style < 2:
            self._module()
        elif style == 2:
            self._main()
        else:
            self._trainer()
        for place in self.out.places[:2]:
            self.out.emit(f"print('end', {self.body.fill(self.rng.choice(KINDS[place.kind].reads), place)})")
        self._make_head()
        return self.out

    def _shared(self) -> None:
        """Names that are always there."""
        write = self._fixed
        write(SHARED + "\n" + SCRATCH)
        write(TORCH_SHARED + "\n" + TORCH_SCRATCH if self.torch else "")
        if self.rng.randrange(3) == 0:
            form = self.rng.choice(LOG_FORMATS)
            write(f"logging.basicConfig(level=logging.INFO, stream=sys.stdout, format='{form}')")

    def _make_head(self) -> None:
        """Imports, seeds, and the small project code that the program uses."""
        imports = preamble.IMPORTS + "import helper\n" + (preamble.NUMPY_IMPORTS if self.numpy else "")
        imports += preamble.TORCH_IMPORTS if self.torch else ""
        seeds = "random.seed(1)\n" + ("np.random.seed(2)\n" if self.numpy else "")
        seeds += "torch.manual_seed(3)\ntorch.set_num_threads(1)\n" if self.torch else ""
        code = preamble.CLASSES + preamble.FUNCTIONS + (preamble.NETS if self.torch else "")
        self.imported = len(imports.splitlines())
        self.head = (imports + seeds + preamble.used_by("\n".join(self.out.lines), code)).splitlines()

    def _fixed(self, text: str) -> None:
        if text.strip():
            self.out.emit(text.strip("\n"), probe_after=False)

    def _values(self, prefix: str, count: int) -> list[Place]:
        """Bind values of drawn kinds, below a prefix ("" for plain names)."""
        rng, out = self.rng, self.out
        made = []
        for kind in rng.choices(list(self.kinds), [kind.weight for kind in self.kinds.values()], k=count):
            if kind in SELDOM and rng.randrange(3):
                continue
            stem = "".join(letter for letter in kind if letter.isalpha())[:4]
            place = Place(prefix + out.new_name(stem), kind)
            same = [one.expr for one in out.places if one.kind == kind]
            alias = same and rng.randrange(3) == 0
            init = rng.choice(same) if alias else self.body.fill(rng.choice(self.kinds[kind].inits), place)
            self._fixed(f"{place.expr} = {init}")
            if kind == "net":
                opt, sch = place.expr.replace("net", "opt"), place.expr.replace("net", "sch")
                self._fixed(f"{opt} = optimizer_for({place.expr}, {rng.randrange(4)})")
                self._fixed(f"{sch} = scheduler_for({opt}, {rng.randrange(3)})")
            out.places.append(place)
            made.append(place)
        return made

    def _scratch(self, outer: str) -> None:
        """In a function: make the scratch names its own, or say that they are the outer scope's."""
        if outer and self.rng.randrange(2):
            self._fixed(f"{outer} {SCRATCH_NAMES}" + (f", {TORCH_SCRATCH_NAMES}" if self.torch else ""))
        else:
            self._fixed(SCRATCH + ("\n" + TORCH_SCRATCH if self.torch else ""))

    def _function(self, name: str, outer: str, own: Sequence[Place], header: str = "") -> None:
        """A function that changes the values around it; outer: `global` or `nonlocal`."""
        out, rng, body = self.out, self.rng, self.body
        names = [place.expr for place in own if place.expr.isidentifier()]
        chosen = rng.sample(names, min(len(names), rng.randrange(3)))
        before, inside = (out.rebindable, out.counters, out.names), out.inside
        outer_state = body.caught, body.in_function
        given = rng.choice(PARAMETERS)
        out.counters, out.names, out.inside = [], [given, "step"], False
        with out.block(header.replace("$", given) or f"def {name}({given}, step=0):"):
            body.caught, body.in_function = 0, True
            if chosen:
                self._fixed(f"{outer} {', '.join(chosen)}")
            number = given if rng.randrange(2) else "number"  # either it keeps what it is called with, or not
            self._fixed(f"{number} = whole({given})")
            out.counters = [number]
            if rng.randrange(4) == 0:
                self._fixed(f"depth = {number}")
                body.again = f"if depth > 2: {name}(depth % 3, step)"
            self._scratch(outer)
            out.rebindable = set(chosen)
            body.statements(rng.randrange(1, 4), 1, in_loop=False)
            if rng.randrange(2):
                body.loop(2)
            body.again = ""
            self._fixed(f"return {body.number()}")
        (out.rebindable, out.counters, out.names), out.inside = before, inside
        body.caught, body.in_function = outer_state
        body.functions.append(name)

    def _module(self) -> None:
        """Everything lives in the module."""
        own = self._values("", self.rng.randrange(3, 9))
        for _ in range(self.rng.randrange(3)):
            self._function(self.out.new_name("update"), "global", own)
        self._loops()

    def _main(self) -> None:
        """Everything lives in the locals of main()."""
        out, rng = self.out, self.rng
        shared = self._values("", rng.randrange(3))
        if shared:
            self._function(out.new_name("update"), "global", shared)
        functions = list(self.body.functions)
        with out.block("def main(runs=1):"):
            self._fixed(SCRATCH + ("\n" + TORCH_SCRATCH if self.torch else ""))
            own = self._values("", rng.randrange(3, 8))
            out.rebindable = {place.expr for place in own}
            if rng.randrange(2):
                self._function(out.new_name("nested"), "nonlocal", own)
            self._loops()
            if rng.randrange(3) == 0:
                out.emit(f"return {self.body.number()}")
        out.rebindable, self.body.functions = None, functions
        out.emit(rng.choice(("main()", "print('main gives', main())",
                             "if __name__ == '__main__':\n    main()")))

    def _trainer(self) -> None:
        """Everything lives in attributes of an object."""
        out, rng, body = self.out, self.rng, self.body
        shared = self._values("", rng.randrange(2))
        with out.block(f"class Trainer{rng.choice(('', '(Meter)'))}:"):
            self._fixed(f"steps = {rng.randrange(3)}")
            with out.block("def __init__(self):"):
                if out.lines[-2].endswith("(Meter):") or "(Meter)" in out.lines[-3]:
                    self._fixed("super().__init__()")
                made = self._values("self.", rng.randrange(3, 7))
            out.places = [*shared, *made]
            out.rebindable = set()
            self._function("self.step", "", (), "def step(self, $, step=0):")
            with out.block("def fit(self, runs=1):"):
                self._fixed(SCRATCH + ("\n" + TORCH_SCRATCH if self.torch else ""))
                self._loops()
            out.places = shared
        body.functions = []
        out.rebindable = None
        self._fixed("trainer = Trainer()")
        out.places = [*shared, *(Place(place.expr.replace("self.", "trainer."),
                                       place.kind) for place in made)]
        out.emit("trainer.fit()")

    def _loops(self) -> None:
        """The main loops, and something before, between and after."""
        for _ in range(self.rng.choice((1, 1, 1, 2))):
            self.body.statements(self.rng.randrange(3), 1, in_loop=False)
            self._main_loop()
        self.body.statements(self.rng.randrange(2), 1, in_loop=False)

    def _main_loop(self) -> None:
        out, rng, body = self.out, self.rng, self.body
        name = body.loop_name("epoch")
        header, first, last = body.loop_header(name, rng.choice((3, 4, 6)))
        for line in first:
            out.emit(line)
        top = len(out.lines) + 1
        out.inside = True
        before = out.enter(name, header)
        with out.block(header):
            for line in last:
                out.emit(line)
            body.call()
            body.statements(rng.randrange(1, 5), 1, in_loop=True)
            if rng.randrange(6):
                body.loop(1)
            body.statements(rng.randrange(1, 3), 1, in_loop=True)
            out.emit(f"print('{name}', {name}, {body.number()})")
            out.inside = False
        out.counters, out.names = before
        self.main_loops.append(MainLoop(top, len(out.lines), out.indent))
