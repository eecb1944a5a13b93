"""Which names a loop may rebind in its function's frame, and which are certain to be bound."""

import ast
import textwrap

import pytest

from florc.transforms import instrument
from florc.transforms.names import bindings, deleted_by, mangled


def _bound(source: str) -> str:
    tree = ast.parse(textwrap.dedent(source))
    return " ".join(dict.fromkeys(binding.name for statement in tree.body for binding in bindings(statement)))


BINDS = [
    ("a = b = c", "a b"),
    ("a, (b, *c), [d] = e", "a b c d"),
    ("a.b = a[c] = d", ""),
    ("a += 1", "a"),
    ("a: int = 1", "a"),
    ("a: int", ""),
    ("a.b: int = (c := 1)", "c"),
    ("(a := b)", "a"),
    ("f((a := 1), b=(c := 2))", "a c"),
    ("[x for x in y]", ""),
    ("[z := x for x in y if (w := x)]", "z w"),
    ("{x: (v := y) for x, y in z}", "v"),
    ("list(u := x for x in y)", "u"),
    ("[[(n := x) for x in y] for y in z]", "n"),
    ("f'{(a := 1)}'", "a"),
    ("lambda a, b=(c := 1): (d := a)", "c"),
    ("del a, b[0], c.d", "a"),
    ("import a", "a"),
    ("import a.b.c", "a"),
    ("import a.b as c", "c"),
    ("from a import b, c as d", "b d"),
    ("from a import *", ""),
    ("def f(a=(b := 1), *, c: (d := 2) = 3) -> (e := 4): g = 1", "f b d e"),
    ("@(a := deco)\ndef f(): pass", "f a"),
    ("async def f(): a = 1", "f"),
    ("class C(a := B, metaclass=(m := M)):\n    x = 1\n    def f(self): y = 2", "C a m"),
    ("with a as b, c as (d, e): f = 1", "b d e f"),
    ("with a as b.c, d as e[0]: pass", ""),
    ("try: a = 1\nexcept E as e: b = 2\nelse: c = 3\nfinally: d = 4", "a e b c d"),
    ("for a, b in c: d = 1\nelse: e = 2", "a b d e"),
    ("while (a := b): c = 1", "a c"),
    ("if a: b = 1\nelif (c := d): e = 2\nelse: f = 3", "b c e f"),
    ("global a\na = 1", "a"),
    ("match a:\n    case {'k': b, **c}: d = 1\n    case [e, *f] | {'e': e, 'f': f}: pass", "b c d e f"),
    ("match a:\n    case C(x=b, y=C(c)) as d if (e := d): pass\n    case _: pass", "d b c e"),
    ("match a:\n    case {'k': 1}: pass\n    case [1, *_]: pass\n    case N.x: pass", ""),
    ("async def f():\n    async with a as b: pass", "f"),
    ("return_ = print(a)", "return_"),
]


@pytest.mark.parametrize(("source", "names"), BINDS, ids=[row[0] for row in BINDS])
def test_a_statement_binds(source, names):
    assert sorted(_bound(source).split()) == sorted(names.split())


DELETES = [
    ("del a, (b, c[0])", "a b"),
    ("try: pass\nexcept E as e: pass", "e"),
    ("a = 1", ""),
    ("def f():\n    del a", ""),
]


@pytest.mark.parametrize(("source", "names"), DELETES, ids=[row[0] for row in DELETES])
def test_a_statement_may_unbind(source, names):
    assert deleted_by(ast.parse(source).body[0]) == set(names.split())


def _loop(body: str) -> tuple[str, str]:
    """Return the names that the last loop of a function puts back, and those it may find unbound after it."""
    source = "def f(p, *args, k=1, **kw):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    result = instrument(source.encode(), "f.py")
    assert result.plan.refused == "" and result.plan.loops[-1].guarded
    lines = result.text.decode().splitlines()
    opening = max(index for index, line in enumerate(lines) if "_florc.loop(" in line)
    call = ast.parse(lines[opening].split(" = ")[1], mode="eval").body
    assert isinstance(call, ast.Call)
    doubtful = []
    for line in lines[opening + 1 :]:
        if "lacks" in line:
            doubtful.append(line.split('"')[1])
        elif ".values" not in line and ".skipped:" not in line:
            break
    return " ".join(ast.literal_eval(name) for name in call.args[1:]), " ".join(doubtful)


# body of a function whose last loop is looked at; names it rebinds; those not certain to be bound after it
FRAMES = [
    ("for i in g(): pass", "i", "i"),
    ("i = 0\nfor i in g(): pass", "i", ""),
    ("for p in g(): args = kw = k = 1", "p args kw k", ""),
    ("if p: a = 1\nfor i in g(): a = 2", "i a", "i a"),
    ("if p: a = 1\nelse: a = 2\nfor i in g(): a = 3", "i a", "i"),
    ("if p: a = 1\nelse: raise p\nfor i in g(): a = 3", "i a", "i"),
    ("a = 1\nfor i in g(): del a", "i a", "i a"),
    ("a = 1\ndel a\nfor i in g(): a = 1", "i a", "i a"),
    ("a = 1\nif p: del a\nfor i in g(): a = 1", "i a", "i a"),
    ("try: a = 1\nexcept E: pass\nfor i in g(): a = 2", "i a", "i a"),
    ("try: a = 1\nexcept E: a = 2\nfor i in g(): a = 2", "i a", "i"),
    ("try: a = 1\nfinally: b = 2\nfor i in g(): a = b = 2", "i a b", "i"),
    ("try: pass\nexcept E as e: pass\nfor i in g():\n    e = 1", "i e", "i e"),
    ("for i in g():\n    try: pass\n    except E as p: pass", "i p", "i p"),
    ("with p as a: b = 1\nfor i in g(): a = b = 1", "i a b", "i b"),
    ("for a in p: b = 1\nfor i in g(): a = b = 1", "i a b", "i a b"),
    ("while p: a = 1\nfor i in g(): a = 1", "i a", "i a"),
    ("match p:\n    case a: pass\nfor i in g(): a = 1", "i a", "i a"),
    ("import a.b, c as d\ndef e(): pass\nfor i in g(): a = d = e = 1", "i a d e", "i"),
    ("a: int\nb: int = 1\nfor i in g(): a = b = 1", "i a b", "i a"),
    ("a += 1\nfor i in g(): a = 1", "i a", "i"),
    ("p and (a := 1)\nfor i in g(): a = 1", "i a", "i a"),
    ("for j in p:\n    a = 1\n    for i in g(): a = j = 1", "i a j", "i"),
    ("for j in p:\n    for i in g(): a = 1\n    a = 1", "i a", "i a"),
    ("global a\nfor i in g(): a = 1", "i", "i"),
    ("for i in g():\n    [b := x for x in p]", "i b", "i b"),
    ("a = 1\ndef h():\n    nonlocal a\n    a = 2\nfor i in g(): pass", "i a", "i"),
    ("a = 1\ndef h():\n    nonlocal a\n    del a\nfor i in g(): pass", "i a", "i a"),
    ("a = 1\ndef h():\n    def hh():\n        nonlocal a\n        a = 2\nfor i in g(): pass", "i a", "i"),
    (
        "a = 1\ndef h():\n    a = 3\n    def hh():\n        nonlocal a\n        a = 2\nfor i in g(): pass",
        "i",
        "i",
    ),
    ("a = 1\nclass H:\n    nonlocal a\n    a = 2\nfor i in g(): pass", "i a", "i"),
    (
        "a = 1\nclass H:\n    a = 3\n    def h(self):\n        nonlocal a\n        a = 2\nfor i in g(): pass",
        "i a",
        "i",
    ),
    ("a = 1\ndef h():\n    return a\nfor i in g(): pass", "i", "i"),
    ("for i in g():\n    def h():\n        nonlocal i\n        i += 1\n    class C: j = 1", "i h C", "i h C"),
    ("return p\nfor i in g(): p = 1", "i p", "i p"),
]


@pytest.mark.parametrize(("body", "names", "doubtful"), FRAMES, ids=[row[0] for row in FRAMES])
def test_a_loop_rebinds_in_its_frame(body, names, doubtful):
    assert _loop(body) == (names, doubtful)


@pytest.mark.parametrize(
    ("name", "owner", "spelled"),
    [
        ("__a", "C", "_C__a"),
        ("__a", "__C", "_C__a"),
        ("__a", "___", "__a"),
        ("__a", None, "__a"),
        ("__a__", "C", "__a__"),
        ("_a", "C", "_a"),
    ],
)
def test_private_names_are_mangled(name, owner, spelled):
    assert mangled(name, owner) == spelled
