"""State of the process that belongs to every checkpoint: generators, modes, environment."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from typing import Any

from . import handlers
from .errors import CannotRestore


def capture() -> dict[str, Any]:
    """All of it, as plain values that marshal writes."""
    version, internal, gauss = random.getstate()
    state: dict[str, Any] = {
        "random": (version, tuple(internal), gauss),
        "cwd": _cwd(),
        "environ": _changed_environ(),
        "python": _capture_python(),
        "logging": _capture_logging(),
    }
    if "numpy" in sys.modules:
        state["numpy"] = _capture_numpy()
    if "torch" in sys.modules:
        state["torch"] = _capture_torch()
    return state


def restore(state: dict[str, Any]) -> None:
    """Put back what capture saw. CannotRestore where something cannot be."""
    version, internal, gauss = state["random"]
    random.setstate((version, internal, gauss))
    if state["cwd"] != _cwd() and os.path.isdir(os.path.join(_START, state["cwd"])):
        os.chdir(os.path.join(_START, state["cwd"]))
    _restore_environ(dict(state["environ"]))
    _restore_python(state["python"])
    _restore_logging(state["logging"])
    if "numpy" in state:
        _restore_numpy(state["numpy"])
    if "torch" in state:
        _restore_torch(state["torch"])


WORDS = {
    "random": "the state of Python's random",
    "numpy": "the state of NumPy's global generator, errstate or print options",
    "torch": "torch's generators or modes",
    "cwd": "the working directory",
    "python": "Python's recursion limit, decimal context or atexit handlers",
    "logging": "logging levels",
}


def differences(recorded: dict[str, Any], live: dict[str, Any]) -> list[str]:
    """What differs, in words. The environment may differ from one day to the next: it does not count."""
    return [words for key, words in WORDS.items() if key in recorded and recorded[key] != live.get(key)]


def _changed_environ() -> tuple[tuple[str, str | None], ...]:
    """What the program has changed in its environment (None: deleted); the rest may hold secrets."""
    now = dict(os.environ)
    names = {name for name in {*now, *_ENVIRON} if now.get(name) != _ENVIRON.get(name)}
    return tuple((name, now.get(name)) for name in sorted(names))


def _restore_environ(wanted: dict[str, str | None]) -> None:
    for name in {*wanted, *dict(_changed_environ())}:
        value = wanted[name] if name in wanted else _ENVIRON.get(name)
        if value is None:
            os.environ.pop(name, None)
        elif os.environ.get(name) != value:
            os.environ[name] = value


def _capture_python() -> Any:
    decimal = sys.modules.get("decimal")
    context = None
    if decimal is not None:
        now = decimal.getcontext()
        context = (now.prec, now.rounding)
    return (sys.getrecursionlimit(), context, handlers.count())


def _restore_python(state: Any) -> None:
    limit, context, registered = state
    if sys.getrecursionlimit() != limit:
        sys.setrecursionlimit(limit)
    if context is not None:
        now = sys.modules["decimal"].getcontext()
        now.prec, now.rounding = context
    if handlers.count() != registered:
        raise CannotRestore("atexit handlers were registered in what is skipped")


def _capture_logging() -> Any:
    logging = sys.modules.get("logging")
    if logging is None:
        return None
    loggers = logging.Logger.manager.loggerDict
    levels = {name: one.level for name, one in list(loggers.items()) if getattr(one, "level", 0)}
    return (logging.Logger.manager.disable, logging.root.level, tuple(sorted(levels.items())))


def _restore_logging(state: Any) -> None:
    logging = sys.modules.get("logging")
    if state is None or logging is None or state == _capture_logging():
        return
    disabled, root, levels = state
    logging.disable(disabled)
    logging.root.setLevel(root)
    for name in {*dict(levels), *dict(_capture_logging()[2])}:
        logging.getLogger(name).setLevel(dict(levels).get(name, 0))


def _cwd() -> str:
    """The working directory, as seen from the one the process began in (a project may be moved)."""
    try:
        return os.path.relpath(os.getcwd(), _START)
    except OSError:
        return ""


def _start() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep


_START = _start()
_ENVIRON = dict(os.environ)


def _capture_numpy() -> Any:
    import numpy as np

    state: Any = np.random.get_state(legacy=True)
    name, keys, place, has_gauss, gauss = state
    return (
        name,
        str(keys.dtype),
        keys.tobytes(),
        place,
        has_gauss,
        gauss,
        tuple(sorted(np.geterr().items())),
        _plain_options(dict(np.get_printoptions())),
    )


def _restore_numpy(state: Any) -> None:
    import numpy as np

    name, dtype, keys, place, has_gauss, gauss, errors, options = state
    np.random.set_state((name, np.frombuffer(keys, dtype=dtype).copy(), place, has_gauss, gauss))
    np.seterr(**dict(errors))
    if options != _plain_options(dict(np.get_printoptions())):
        np.set_printoptions(**dict(options))


def _plain_options(options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Print options as sorted pairs; formatters are left out."""
    plain = (int, float, str, bool, type(None))
    return tuple(sorted((name, value) for name, value in options.items() if type(value) in plain))


def _autocast(torch: Any, device: str, name: str) -> None:
    torch.set_autocast_dtype(device, getattr(torch, name))


def _set_torch_print(options: tuple[tuple[str, Any], ...]) -> None:
    import torch

    for name, value in options:
        setattr(torch._tensor_str.PRINT_OPTS, name, value)


def _torch_modes() -> list[tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """(how to read, how to set) each of torch's modes. Setting may be dear: only what differs is set."""
    import torch

    def set_deterministic(modes: tuple[bool, bool]) -> None:
        torch.use_deterministic_algorithms(modes[0], warn_only=modes[1])

    handle = torch.utils.hooks.RemovableHandle  # numbers the hooks of the whole process
    return [
        (torch.is_grad_enabled, torch.set_grad_enabled),
        (
            lambda: str(torch.get_default_dtype()),
            lambda name: torch.set_default_dtype(getattr(torch, name[6:])),
        ),
        (
            lambda: (
                torch.are_deterministic_algorithms_enabled(),
                torch.is_deterministic_algorithms_warn_only_enabled(),
            ),
            set_deterministic,
        ),
        (lambda: torch.is_autocast_enabled("cpu"), lambda on: torch.set_autocast_enabled("cpu", on)),
        (lambda: torch.is_autocast_enabled("cuda"), lambda on: torch.set_autocast_enabled("cuda", on)),
        (torch.get_num_threads, torch.set_num_threads),
        (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
        (lambda: torch.backends.cudnn.benchmark, lambda on: setattr(torch.backends.cudnn, "benchmark", on)),
        (
            lambda: torch.backends.cudnn.deterministic,
            lambda on: setattr(torch.backends.cudnn, "deterministic", on),
        ),
        (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
        (lambda: str(torch.get_autocast_dtype("cpu"))[6:], lambda name: _autocast(torch, "cpu", name)),
        (lambda: str(torch.get_autocast_dtype("cuda"))[6:], lambda name: _autocast(torch, "cuda", name)),
        (lambda: str(torch.get_default_device()), torch.set_default_device),
        (lambda: handle.next_id, lambda number: setattr(handle, "next_id", number)),
        (lambda: _plain_options(vars(torch._tensor_str.PRINT_OPTS)), _set_torch_print),
    ]


def _capture_torch() -> Any:
    import torch

    if not hasattr(torch, "get_rng_state"):
        return None  # torch is being imported
    cuda: tuple[bytes, ...] = ()
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        cuda = tuple(bytes(state.numpy()) for state in torch.cuda.get_rng_state_all())
    return (_as_bytes(torch.get_rng_state()), cuda, *(read() for read, _ in _torch_modes()))


def _as_bytes(state: Any) -> bytes:
    import ctypes

    return bytes((ctypes.c_char * state.numel()).from_address(state.data_ptr()))


def _restore_torch(state: Any) -> None:
    import torch

    if state is None:
        return
    cpu, cuda, *modes = state
    torch.set_rng_state(torch.frombuffer(bytearray(cpu), dtype=torch.uint8))
    if cuda and torch.cuda.is_available():
        torch.cuda.set_rng_state_all([torch.frombuffer(bytearray(one), dtype=torch.uint8) for one in cuda])
    for (read, write), value in zip(_torch_modes(), modes, strict=True):
        if read() != value:
            write(value)
