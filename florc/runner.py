"""Behave like python: everything that makes a program run as `__main__` as it would under `python`.

The order of the steps in `run` matters; each was found by a program that broke:

1. instrument first, for what florc imports to do so may import multiprocessing;
2. make a new `__main__`, with what python puts there;
3. register it as `__main__` and `__mp_main__` (multiprocessing notes the second when imported);
4. only then start the session, which may import dill and torch (dill remembers `__main__`);
5. argv and sys.path[0] as python sets them, one globals dict, the original path as file name;
6. on an exception take florc's frames off the traceback and call sys.excepthook; the old
   `__main__` never comes back (atexit handlers must still see the program);
7. pin the source in linecache, since people edit the program while it runs.

Under -m the module can only be found by importing its parents, which are the project's code: there
step 1 comes after step 5. Record and replay differ only in the hooks they hand in.
"""

from __future__ import annotations

import builtins
import gc
import importlib.util
import os
import sys
import warnings
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

from . import ending, hook, startup
from .errors import EXIT_USAGE, FlorcError, syntax_error
from .hook import Hooks, Source, plain
from .options import Target
from .project import Project

MAIN = "__main__"
EXIT_NO_MODULE = 1  # what python exits with where it exits 2 for a script that cannot be opened

# the module that florc was started as: its functions are still on the stack
_replaced: list[ModuleType] = []


def locate(target: Target) -> str:
    """The folder python would put first on sys.path; FlorcError if the script cannot be opened."""
    if target.is_module:
        return os.getcwd()
    if os.path.isdir(target.name):
        raise FlorcError(
            "is a directory, not a script", file=target.name, hint="name the script, or use -m PACKAGE"
        )
    try:
        with open(target.name, "rb"):
            pass
    except OSError as error:
        hint = "check the path" if isinstance(error, FileNotFoundError) else ""
        message = f"cannot open the script: {error.strerror}"
        raise FlorcError(message, file=target.name, hint=hint, exit_code=EXIT_USAGE) from None
    # python follows links here, and does not in __file__
    return os.path.dirname(os.path.realpath(target.name))


def run(target: Target, args: tuple[str, ...], project: Project, hooks: Hooks) -> int:
    """Run the program in this process as `__main__` and return the exit code.

    FlorcError if there is no such program or it does not compile; nothing of it has run then. An
    uncaught KeyboardInterrupt is raised again, silent, for the interpreter to end as python does.
    """
    process = os.getpid()
    main = ModuleType(MAIN)
    program = None if target.is_module else _load_script(target.name, project, hooks)
    _register(main)
    instrumented = hooks.start(main)
    if instrumented:
        hook.install(project, hooks)
    startup.forget_shadowed(project.folder)
    startup.set_path_entry(project.folder)
    sys.argv = ["-m" if target.is_module else target.name, *args]
    gc.freeze()  # the collector need not look through florc itself, again and again, and once more at the end
    error = _execute(program, target, main, project, hooks if instrumented else None)
    if error is not None:
        hooks.raised(error)
    exit_code = ending.report(error, hooks.ends)
    ending.shut_down()
    if os.getpid() == process:  # a forked child that comes out here is not the run
        exit_code = hooks.finish(exit_code, None if isinstance(error, SystemExit) else error)
    if isinstance(error, KeyboardInterrupt):
        ending.raise_silently(error)
    return exit_code


Program = tuple[Source, CodeType, ModuleSpec | None]


def _load_script(path: str, project: Project, hooks: Hooks) -> Program:
    """A script's source and code; FlorcError where python would refuse it."""
    full = os.path.join(os.getcwd(), path)  # python's __file__: neither links nor dots are resolved
    with open(full, "rb") as stream:
        text = stream.read()
    source = Source(MAIN, project.file_id(os.path.realpath(full)), full, text)
    return source, _compile(source, hooks), None


def _compile(source: Source, hooks: Hooks | None) -> CodeType:
    load = plain if hooks is None else hooks.load
    try:
        return load(source.name, source.file, source.path, source.text)
    except (SyntaxError, ValueError) as error:
        raise syntax_error(error, source.path) from None


def _register(main: ModuleType) -> None:
    """Put the new module where python and multiprocessing look for the program."""
    _replaced.append(sys.modules[MAIN])
    sys.modules[MAIN] = sys.modules["__mp_main__"] = main


def _execute(
    program: Program | None, target: Target, main: ModuleType, project: Project, hooks: Hooks | None
) -> BaseException | None:
    """Run the program, found first if it is a module; return what it raised."""
    if program is None:
        try:
            program = _load_module(target.name, project, hooks)
        except FlorcError:
            raise
        except BaseException as error:  # from a parent package
            return error
    source, code, spec = program
    _fill(vars(main), source, spec)
    if hooks is None:
        code = plain(source.name, source.file, source.path, source.text)
    else:
        hook.pin_source(source)
        hooks.module(source, vars(main))
    try:
        exec(code, vars(main))
    except BaseException as error:
        return error
    return None


def _fill(namespace: dict[str, object], source: Source, spec: ModuleSpec | None) -> None:
    """Put into the namespace what python puts there, in its order."""
    if spec is None:
        namespace["__loader__"] = SourceFileLoader(MAIN, source.path)
    else:
        namespace["__package__"] = spec.parent
        namespace["__loader__"] = spec.loader
        namespace["__spec__"] = spec
    namespace["__annotations__"] = {}
    namespace["__builtins__"] = builtins
    namespace["__file__"] = source.path
    namespace["__cached__"] = None if spec is None else spec.cached


def _load_module(name: str, project: Project, hooks: Hooks | None) -> Program:
    """What `python -m name` would run; FlorcError if there is no such module.

    Imports the parent packages; what they raise is the program's own error and passes through.
    """
    spec = _find_spec(name)
    if spec.submodule_search_locations is not None:
        package, name = name, f"{name}.{MAIN}"
        try:
            spec = _find_spec(name)
        except FlorcError as error:
            hint = "name the module in it"
            message = f"'{package}' is a package without {MAIN}"
            raise FlorcError(message, hint=hint, exit_code=error.exit_code) from None
    path = spec.origin
    if path is None or not isinstance(spec.loader, SourceFileLoader):
        raise FlorcError(f"module '{name}' has no Python source to run", exit_code=EXIT_NO_MODULE)
    sys.argv[0] = path
    source = Source(MAIN, project.file_id(path), path, spec.loader.get_data(path))
    return source, _compile(source, hooks), spec


def _find_spec(name: str) -> ModuleSpec:
    """The module's spec, found as runpy finds it, with runpy's warning."""
    parent = name.rpartition(".")[0]
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    if spec is None:
        hint = "the current folder is searched first, as under python -m"
        raise FlorcError(f"no module named '{name}'", hint=hint, exit_code=EXIT_NO_MODULE)
    if parent and name in sys.modules and not hasattr(sys.modules[name], "__path__"):
        text = (
            f"{name!r} found in sys.modules after import of package {parent!r}, but prior to "
            f"execution of {name!r}; this may result in unpredictable behaviour"
        )
        warnings.warn(RuntimeWarning(text), stacklevel=1)
    return spec
