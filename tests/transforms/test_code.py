"""The code that runs shows the original source: tracebacks, carets, getsource, warnings."""

import ast
import inspect
import linecache
import textwrap
import traceback
import warnings

import pytest

from florc.transforms import full_text, instrument, to_code

from .stub import Record, run


def _code(source: str, path: str = "train.py", marks: bool = True):
    return to_code(instrument(textwrap.dedent(source).encode(), "train.py"), path, marks=marks)


FAILING = [
    ("in a body", "def f():\n    for i in work(2):\n        x = 1\n        x = i  +  1 / i\nf()\n"),
    ("in a one-line body", "for i in work(2): a = 1; b = a / i\n"),
    ("in an iterable", "def f():\n    for i in work(3) and 1 / 0: pass\nf()\n"),
    ("in iterating", "for i in (1 / x for x in work(2)):\n    pass\n"),
    ("in a condition", "x = 2\nwhile work(x) and 1 / x:\n    x -= 1\nelse:\n    1 / x\n"),
    ("in a returned value", "def f():\n    while True:\n        return (work(1),\n            1 / 0)\nf()\n"),
    ("after a loop", "for i in work(2): pass\nj = [1 / x\n     for x in (0,)]\n"),
    ("in unpacking", "for a, b in work(2): pass\n"),
    ("with wide characters", "for i in work(2): é = 'жж', 1 / i\n"),
    ("in a nested loop", "def f():\n  for i in work(2):\n      for j in work(2): i / j\n  return 1\nf()\n"),
    ("in a deleted name", "def f():\n    for i in work(2):\n        del q\nf()\n"),
]
HELPER = "def work(n): return range(n)\n"


def _traceback(code, path: str) -> str:
    try:
        run(code, Record())
    except Exception as error:
        entries = [entry for entry in traceback.extract_tb(error.__traceback__) if entry.filename == path]
        return "".join(traceback.format_list(entries)) + repr(error)
    raise AssertionError("the program did not fail")


@pytest.mark.parametrize("body", [row[1] for row in FAILING], ids=[row[0] for row in FAILING])
def test_a_traceback_is_the_plain_one(body, tmp_path):
    path = tmp_path / "train.py"
    source = (HELPER + body).encode()
    path.write_bytes(source)
    plain = _traceback(compile(source, str(path), "exec", dont_inherit=True), str(path))
    result = instrument(source, "train.py")
    assert any(loop.guarded for loop in result.plan.loops)
    for marks in (False, True):
        assert _traceback(to_code(result, str(path), marks=marks), str(path)) == plain


def test_getsource_finds_functions_and_classes(tmp_path):
    path = tmp_path / "train.py"
    source = textwrap.dedent(
        '''
        def plain(x):
            """Doc."""
            for i in work(x):
                work(i)
            return i

        class C:
            """Doc of C."""

            @staticmethod
            def method(): return plain(3)

        f = lambda x: x + 1
        '''
    )
    path.write_text(HELPER + source)
    space = run(_code(HELPER + source, str(path)), Record())
    lines = (HELPER + source).splitlines(True)
    linecache.checkcache(str(path))
    assert inspect.getsource(space["plain"]) == "".join(lines[2:7])
    assert inspect.getsource(space["C"].method) == "".join(lines[11:13])
    assert inspect.getsource(space["f"]) == lines[14]
    assert (space["plain"].__doc__, space["C"].__doc__) == ("Doc.", "Doc of C.")
    assert space["C"].__name__ == "C" and "_florc_0" not in vars(space["C"])


def test_module_keeps_docstring_and_annotations():
    source = '"""Module."""\nfrom __future__ import annotations\nx: Unknown = 1\nfor i in (lambda: [1])(): x'
    space = run(_code(source), Record())
    assert space["__doc__"] == "Module." and space["__annotations__"] == {"x": "Unknown"}


def test_what_the_caller_has_imported_from_future_is_not_inherited():
    flags = _code("def f(x: 1): pass\n").co_flags
    assert flags == compile("def f(x: 1): pass\n", "x", "exec", dont_inherit=True).co_flags


def test_a_warning_is_given_once_and_at_its_line():
    source = "for i in (lambda: [1])():\n    x = i is 1\n    y = '\\d'\n"
    with warnings.catch_warnings(record=True) as plain:
        warnings.simplefilter("always")
        compile(source, "train.py", "exec", dont_inherit=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _code(source)
    told = [(str(w.message), w.category, w.filename, w.lineno) for w in seen]
    assert sorted(told) == sorted((str(w.message), w.category, w.filename, w.lineno) for w in plain)


def test_a_warning_that_is_an_error_is_pythons_error():
    source = "for i in (lambda: [1])(): x = i is 1\n"
    result = instrument(source.encode(), "train.py")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SyntaxError) as plain:
            compile(source, "train.py", "exec", dont_inherit=True)
        with pytest.raises(SyntaxError) as ours:
            to_code(result, "train.py", marks=True)
    assert (ours.value.msg, ours.value.lineno) == (plain.value.msg, plain.value.lineno)


def test_a_module_left_as_it_is_compiles_as_it_is():
    source = b"def f(x):\n\t with x:\n\t\t pass\nfor i in f(1): g()\n"
    result = instrument(source, "train.py")
    assert result.plan.refused
    assert to_code(result, "t.py", marks=True) == compile(source, "t.py", "exec", dont_inherit=True)
    assert "_florc" not in full_text(result)


MARKED = '''
"""Doc."""
def f(n):
    "doc"
    for i in range(n):
        if i == 1:
            work(i)
        else:
            pass
    try:
        work(1)
    except E:
        work(2)
class C:
    def never(self): return 1
f(2)
'''


class _Marks(Record):
    def marks(self, file, count):
        self.seen = file, count, bytearray(count)
        return self.seen[2]


def test_marks_tell_which_regions_ran():
    result = instrument((HELPER + MARKED).encode(), "train.py")
    runtime = _Marks()
    run(to_code(result, "train.py", marks=True), runtime)
    file, count, marks = runtime.seen
    assert (file, count) == ("train.py", len(result.plan.regions))
    ran = [(region.kind, region.line) for region in result.plan.regions if marks[region.index]]
    assert ran == [("function", 1), ("function", 5), ("for", 7), ("if", 8), ("try", 12), ("class", 16)]


def test_marks_stand_after_the_docstring_and_after_the_boundary():
    result = instrument(b'def f(n):\n    "doc"\n    for i in g(n): g(i)\n', "train.py")
    lines = [line.strip() for line in full_text(result).splitlines()]
    assert lines[:2] == ["import florc.runtime as _florc", "_florc_marks = _florc.marks('train.py', 3)"]
    assert lines.index("_florc_marks[1] = 1") == lines.index('"""doc"""') + 1
    assert lines.index("_florc_marks[2] = 1") == lines.index("g(i)") - 1
    assert lines[lines.index("_florc_marks[2] = 1") - 1] == "break"
    assert "_florc_marks" not in result.text.decode()


def test_a_module_without_guards_can_still_be_marked():
    source = b'"""Doc."""\nfrom __future__ import annotations\ndef f(): return 1\nf()\n'
    result = instrument(source, "train.py")
    assert result.text == source
    runtime = _Marks()
    space = run(to_code(result, "train.py", marks=True), runtime)
    assert runtime.seen[2] == bytearray([0, 1]) and space["__doc__"] == "Doc."


def test_an_empty_module_compiles():
    for source in (b"", b"# only a comment\n", b'"""Doc."""\n', b"from __future__ import annotations\n"):
        run(to_code(instrument(source, "train.py"), "train.py", marks=True), _Marks())


def test_every_name_of_a_marked_program_is_the_users_or_ours():
    tree = ast.parse(full_text(instrument(MARKED.encode(), "train.py")))
    ours = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and "florc" in node.id}
    assert ours == {"_florc", "_florc_marks"} | {name for name in ours if name[7:].isdigit()}
