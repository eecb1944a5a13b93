"""The import hook: project modules get their code from florc, everything else from python.

It stands in `SourceFileLoader.get_code`, where all ways to a module's code meet: the import
statement, finders of editable installs, `spec_from_file_location`, `importlib.reload`,
`runpy.run_module`. Specs and loaders stay the ones python makes, and tracebacks through an import
stay free of florc. A subclass (a test runner's, another tool's hook) is left alone. `runpy.run_path`
compiles and executes by itself and is met there.
"""

from __future__ import annotations

import io
import linecache
import os
import runpy
import sys
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from . import messages
from .project import Project, is_inside

Namespace = dict[str, Any] | None


@dataclass(frozen=True)
class Source:
    """A module's source with its three names: the module's, florc's (a file id), python's (a path)."""

    name: str
    file: str
    path: str
    text: bytes


# (module name, file id, path, source) -> the code to execute; SyntaxError and ValueError as from compile()
Load = Callable[[str, str, str, bytes], CodeType]


@dataclass(frozen=True)
class Hooks:
    """What record and replay add to a plain run.

    load: gives the code of the program and of each project module it imports.
    start: called once `__main__` is in place, before the program's own imports; False: the program
        is to run plainly, without instrumentation.
    module: called for each project module before its code executes, with its namespace if that is known.
    ends: exceptions by which florc itself ends the program: no error of the program's, exit code 0.
    raised: called with what the program has raised and nobody caught, before python says so.
    finish: called when all else has ended (threads and atexit handlers too), with python's exit code
        and the uncaught exception, if any; returns the process's exit code.
    """

    load: Load
    start: Callable[[ModuleType], bool]
    module: Callable[[Source, Namespace], None]
    finish: Callable[[int, BaseException | None], int]
    ends: tuple[type[BaseException], ...] = ()
    raised: Callable[[BaseException], None] = lambda error: None


def plain(name: str, file: str, path: str, source: bytes) -> CodeType:
    """The loader that changes nothing."""
    return compile(source, path, "exec", dont_inherit=True)


def pin_source(source: Source) -> None:
    """Keep the text that runs for tracebacks and inspect, whatever becomes of the file.

    linecache believes entries without a modification time.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source.text).readline)
        lines = io.TextIOWrapper(io.BytesIO(source.text), encoding).readlines()
    except (SyntaxError, UnicodeDecodeError):
        return  # linecache could not read it either
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    linecache.cache[source.path] = (len(source.text), None, lines, source.path)


class _Interceptor:
    """Gives instrumented code for project files, in the process that installed it.

    Forked children import plainly: they are no part of the record.
    """

    def __init__(self, project: Project, hooks: Hooks) -> None:
        self._project = project
        self._hooks = hooks
        self._process = os.getpid()
        self._run_by_path: list[str] = []  # the folders of files run by path, where their neighbours lie
        # by id, which the code object kept beside the source holds: equal code may come from two files
        self._without_namespace: dict[int, tuple[CodeType, Source]] = {}

    def imported(self, name: str, path: str, namespace: Namespace) -> CodeType | None:
        """The code of a module of the project's, None where python is to have its way."""
        folder = os.path.abspath(path)
        nearby = any(is_inside(folder, place) for place in self._run_by_path)
        if not self._project.owns(path, name) and not (nearby and not self._project.is_installed(folder)):
            return None
        return self._load(name, path, namespace)

    def run_by_path(self, path: str) -> CodeType | None:
        """The code of a file run by its path: the user's, wherever it lies but among installed packages."""
        full = os.path.abspath(path)
        if not path.endswith(".py") or self._project.is_installed(full):
            return None
        self._run_by_path.append(os.path.dirname(full))
        return self._load(f"<run {self._project.file_id(full)}>", path, None)

    def _load(self, name: str, path: str, namespace: Namespace) -> CodeType | None:
        """The code, announced to the session; None in a forked child and for a file python will refuse."""
        if os.getpid() != self._process:
            return None
        try:
            with io.open_code(os.path.abspath(path)) as stream:
                text = stream.read()
            source = Source(name, self._project.file_id(path), path, text)
            code = self._hooks.load(name, source.file, path, text)
        except (SyntaxError, ValueError, OSError):
            return None
        except Exception as error:
            messages.warning(f"{path}: runs uninstrumented: {type(error).__name__}: {error}")
            return None
        pin_source(source)
        self._hooks.module(source, namespace)
        if namespace is None:
            self._without_namespace[id(code)] = code, source
        return code

    def executing(self, code: CodeType, namespace: dict[str, Any]) -> None:
        """Announce the namespace of code that was loaded without one."""
        _, source = self._without_namespace.pop(id(code), (code, None))
        if source is not None and os.getpid() == self._process:
            self._hooks.module(source, namespace)


_python_get_code = SourceFileLoader.get_code
_runpy_get_code = runpy._get_code_from_file  # type: ignore[attr-defined]
_runpy_run_code = runpy._run_code  # type: ignore[attr-defined]


def install(project: Project, hooks: Hooks) -> None:
    """From here on, project modules get their code from `hooks.load`."""
    interceptor = _Interceptor(project, hooks)

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        code = None
        if type(self) is SourceFileLoader:
            code = interceptor.imported(fullname, str(self.path), _namespace_of_caller())
        return _python_get_code(self, fullname) if code is None else code

    def get_code_from_file(*args: Any) -> Any:
        code = interceptor.run_by_path(os.fsdecode(args[-1]))
        if code is None:
            return _runpy_get_code(*args)
        # up to Python 3.12 the run name comes first and the path goes back
        return (code, args[-1]) if sys.version_info < (3, 13) else code

    def run_code(code: CodeType, run_globals: dict[str, Any], *rest: Any) -> Any:
        interceptor.executing(code, run_globals)
        return _runpy_run_code(code, run_globals, *rest)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]
    runpy._get_code_from_file = get_code_from_file  # type: ignore[attr-defined]
    runpy._run_code = run_code  # type: ignore[attr-defined]


def uninstall() -> None:
    """Give python its own way back."""
    SourceFileLoader.get_code = _python_get_code  # type: ignore[method-assign]
    runpy._get_code_from_file = _runpy_get_code  # type: ignore[attr-defined]
    runpy._run_code = _runpy_run_code  # type: ignore[attr-defined]


def _namespace_of_caller() -> Namespace:
    """The namespace that `exec_module`, two frames up, is about to fill; None for other callers.

    sys.modules does not know it where a file is loaded by its location.
    """
    frame = sys._getframe(2)
    if frame.f_code.co_name != "exec_module":
        return None
    module = frame.f_locals.get("module")
    return vars(module) if isinstance(module, ModuleType) else None
