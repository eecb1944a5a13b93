"""Run many small programs fast: a server with the heavy libraries loaded forks a child for each job.

    with Warm() as warm:
        warm.run(["train.py"], folder)                             # as `python train.py` in that folder
        warm.run(["-m", "florc", "record", "train.py"], folder)    # as `python -m florc record train.py`

A job's child gets its own folder, environment, arguments, import path and standard streams and a fresh
`__main__`. dill is never loaded beforehand (it remembers `__main__`), the libraries have computed nothing,
so that forking is safe. A replay that starts again by `os.execve` is forked anew. At its end a child waits
for threads, runs the atexit handlers and lets go of its modules as the interpreter does, but does not take
the libraries apart, which takes long.
`Cold` has the same door with a real process per job: only what fails there as well is a fault of florc's.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]

TIMEOUT_S = 120  # a job takes a second; what takes this long on a loaded machine hangs
START_S = 120  # loading torch takes three seconds, on a loaded machine ten times that
POLL_S = 0.002  # how long a finished child waits for its parent's next look

# what a florc command and a training program load that takes time
COMMON = ("sqlite3", "logging", "dataclasses", "multiprocessing", "numpy", "florc.cli", "florc.recording",
          "florc.replaying", "florc.runtime.session")
TORCH = ("torch", "torch.utils.data", "torch._dynamo", *COMMON)
NUMPY = COMMON
# of florc the one module that notes where and how its process began: a child loads it again
OF_THE_PROCESS = "florc.runtime.process"


@dataclass(frozen=True)
class Done:
    """What one job left. code: None if it ran out of time, negative if a signal ended it."""

    code: int | None
    out: bytes
    err: bytes
    seconds: float


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment of a job: this process's, pinned, with changes (None: not set)."""
    values: dict[str, str] = dict(os.environ, PYTHONHASHSEED="0", OMP_NUM_THREADS="1", NO_COLOR="1")
    values["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    for name, value in {"FLORC_DIR": None, "FLORC_MODE": None, **(changes or {})}.items():
        values.pop(name, None)
        if value is not None:
            values[name] = value
    return values


class Cold:
    """Runs each job in a process of its own."""

    def run(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, timeout: float = TIMEOUT_S
    ) -> Done:
        """Run `python *argv` in the folder. env: the whole environment, `environment()` by default."""
        start = time.perf_counter()
        with _streams() as (out, err):
            with open(out, "wb") as to_out, open(err, "wb") as to_err:
                process = subprocess.Popen(
                    [sys.executable, *argv], cwd=cwd, env=dict(env or environment()),
                    stdin=subprocess.DEVNULL, stdout=to_out, stderr=to_err, start_new_session=True)
                try:
                    code: int | None = process.wait(timeout)
                except subprocess.TimeoutExpired:
                    code = None
                    _kill(process.pid)
                    process.wait()
            return Done(code, out.read_bytes(), err.read_bytes(), time.perf_counter() - start)

    def close(self) -> None:
        """Nothing is held."""


class Warm:
    """Runs each job in a child of one server. Use as a context manager, or close it.

    Args:
        preload: the modules that the server loads before it forks.
    """

    def __init__(self, preload: Sequence[str] = TORCH) -> None:
        ours, theirs = os.pipe(), os.pipe()  # jobs to the server, answers from it
        self._server = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), str(ours[0]), str(theirs[1]), *preload],
            env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            pass_fds=(ours[0], theirs[1]), cwd=tempfile.gettempdir())
        os.close(ours[0])
        os.close(theirs[1])
        self._jobs = os.fdopen(ours[1], "w", encoding="utf-8")
        self._answers = os.fdopen(theirs[0], encoding="utf-8")

    def run(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, timeout: float = TIMEOUT_S
    ) -> Done:
        """Run `python *argv` in the folder. env: the whole environment, `environment()` by default.

        argv: a script with its arguments, or `-m florc` with its. The hash seed is always 0.
        """
        values = dict(env or environment())
        if values.get("PYTHONHASHSEED") != "0" or not (argv[0].endswith(".py") or list(argv[:2]) == FLORC):
            raise ValueError(f"a warm child cannot run this: {list(argv)}; use Cold")
        with _streams() as (out, err):
            job = {"argv": list(argv), "cwd": str(cwd), "env": values, "out": str(out), "err": str(err),
                   "timeout": timeout}
            self._jobs.write(json.dumps(job) + "\n")
            self._jobs.flush()
            line = self._answers.readline()
            if not line:
                raise RuntimeError(f"the warm server has ended with {self._server.wait()}")
            answer = json.loads(line)
            return Done(answer["code"], out.read_bytes(), err.read_bytes(), answer["seconds"])

    def close(self) -> None:
        """End the server."""
        self._jobs.close()  # which it takes as the end
        self._answers.close()
        try:
            self._server.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


FLORC = ["-m", "florc"]
_leave = os._exit  # programs and florc put their own in its place


@contextlib.contextmanager
def _streams() -> Iterator[tuple[Path, Path]]:
    """Two new files for a job's standard output and error."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    out, err = folder / "out", folder / "err"
    out.touch()
    err.touch()
    try:
        yield out, err
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _kill(pid: int) -> None:
    """Kill a job and what it has started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended at this moment


# --- the server ---------------------------------------------------------------------------------------------


def _load(preload: Sequence[str]) -> None:
    """Import the libraries, dill excepted, without computing anything."""
    sys.modules["dill"] = None  # type: ignore[assignment]  # torch imports it where it is to be found
    for name in preload:
        importlib.import_module(name)
    del sys.modules["dill"]
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
        torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)  # the first one imports for a second
    if OF_THE_PROCESS in sys.modules:
        sys.modules["florc.runtime.kinds"].load_libraries()
    if "dill" in sys.modules or threading.active_count() > 1:
        raise RuntimeError(f"not fit to be forked: {threading.enumerate()}")
    gc.collect()
    gc.freeze()  # children share these pages as long as no collection looks at them


def serve(jobs: int, answers: int, preload: Sequence[str]) -> CodeType | None:
    """Do jobs until there are no more; in a child: come back with the code that it is to execute."""
    del sys.path[0]  # this file's folder, which python has put there
    _load(preload)
    with os.fdopen(jobs, encoding="utf-8") as source:
        for line in source:
            job, answer, start = json.loads(line), None, time.perf_counter()
            while answer is None:
                again, told = os.pipe()
                child = os.fork()
                if child == 0:
                    source.close()
                    os.close(answers)
                    os.close(again)
                    return _become(job, told)
                os.close(told)
                code, answer = _wait(child, start + job["timeout"])
                with os.fdopen(again, encoding="utf-8") as stream:
                    asked = stream.read() if answer is None else ""
                if asked:
                    job.update(json.loads(asked))
                else:
                    answer = {"code": code, "seconds": time.perf_counter() - start}
            os.write(answers, (json.dumps(answer) + "\n").encode())
    return None


def _wait(child: int, until: float) -> tuple[int | None, dict[str, Any] | None]:
    """(exit code, None), or (None, an answer) for a child that was killed because its time was up."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status), None
        if time.perf_counter() > until:
            _kill(child)
            os.waitpid(child, 0)
            return None, {"code": None, "seconds": 0.0}
        time.sleep(POLL_S)


def _become(job: dict[str, Any], told: int) -> CodeType:
    """Make this process what a new `python *argv` would be; return the code of its `__main__`."""
    os.setsid()
    for fd, path in ((1, job["out"]), (2, job["err"])):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, fd)
        os.close(opened)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    argv = job["argv"]
    sys.orig_argv = [sys.executable, *argv]
    _start_again_warm(job, told)
    if OF_THE_PROCESS in sys.modules:
        importlib.reload(sys.modules[OF_THE_PROCESS])
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(None)  # else all jobs have the server's
    return _florc(argv) if argv[:2] == FLORC else _script(argv)


def _start_again_warm(job: dict[str, Any], told: int) -> None:
    """Let `os.execve` of florc itself go through the server: the same command in a new child."""
    execve = os.execve

    def exec_or_fork(path: Any, args: Any, env: Any) -> NoReturn:
        if path != sys.executable or list(args[1:]) != job["argv"]:
            execve(path, args, env)
        os.write(told, json.dumps({"env": dict(env), "cwd": os.getcwd()}).encode())
        _leave(0)

    os.execve = exec_or_fork  # type: ignore[assignment]


def _script(argv: list[str]) -> CodeType:
    """What `python script.py` executes."""
    path = os.path.join(os.getcwd(), argv[0])
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    sys.argv = list(argv)
    main = _new_main(path)
    main["__loader__"] = SourceFileLoader("__main__", path)
    return compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)


def _florc(argv: list[str]) -> CodeType:
    """What `python -m florc` executes."""
    sys.path.insert(0, os.getcwd())
    spec = find_spec("florc.__main__")
    assert spec is not None and spec.origin is not None and isinstance(spec.loader, SourceFileLoader)
    sys.argv = [spec.origin, *argv[2:]]
    main = _new_main(spec.origin)
    main.update(__package__="florc", __spec__=spec, __loader__=spec.loader)
    code = spec.loader.get_code("florc.__main__")
    assert code is not None
    return code


def _new_main(path: str) -> dict[str, Any]:
    """A fresh `__main__` in the place of this file's; its namespace."""
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    vars(main).update(__file__=path, __builtins__=builtins, __annotations__={}, __cached__=None)
    return vars(main)


def _execute(code: CodeType) -> BaseException | None:
    """Run a program; what it raised."""
    try:
        exec(code, vars(sys.modules["__main__"]))
    except BaseException as error:
        return error
    return None


def _end(error: BaseException | None, loaded: frozenset[str]) -> NoReturn:
    """End this process as the interpreter does after its `__main__` is through.

    loaded: the modules of the server's, which are left as they are.
    """
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if code and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
    elif error is not None:
        trace = error.__traceback__
        sys.excepthook(type(error), error, trace and trace.tb_next)
        code = 1
    interrupted = isinstance(error, KeyboardInterrupt)
    error = None  # it holds the frames, and these what is to be let go of
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for name in ["__main__", *reversed([name for name in sys.modules if name not in loaded])]:
        module = sys.modules.get(name)
        if module is not None and name.partition(".")[0] != "florc":
            _clear(vars(module))
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, ValueError, OSError):
            code = code or 120  # python's word for it
    if interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    _leave(code & 0xFF)


def _clear(namespace: dict[str, Any]) -> None:
    """Let go of a module's names in python's order: first those with one underscore, then all."""
    for hidden in (True, False):
        for name in list(namespace):
            if name != "__builtins__" and (not hidden or (name[:1] == "_" and name[1:2] != "_")):
                namespace[name] = None


if __name__ == "__main__":
    _code = serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    if _code is not None:  # in a child: its program runs near the bottom of the stack
        _loaded = frozenset(sys.modules)
        _end(_execute(_code), _loaded)
