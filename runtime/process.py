"""State of the process that belongs to every checkpoint: generators, modes, environment."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from typing import Any


def capture() -> dict[str, Any]:
    """All of it, as plain values that marshal writes."""
    version, internal, gauss = random.getstate()
    state: dict[str, Any] = {"random": (version, tuple(internal), gauss), "cwd": _cwd()}
    if "numpy" in sys.modules:
        state["numpy"] = _capture_numpy()
    if "torch" in sys.modules:
        state["torch"] = _capture_torch()
    return state


def restore(state: dict[str, Any]) -> None:
    """Put back what capture saw."""
    version, internal, gauss = state["random"]
    random.setstate((version, internal, gauss))
    if state["cwd"] != _cwd() and os.path.isdir(os.path.join(_START, state["cwd"])):
        os.chdir(os.path.join(_START, state["cwd"]))
    if "numpy" in state:
        _restore_numpy(state["numpy"])
    if "torch" in state:
        _restore_torch(state["torch"])


def differences(recorded: dict[str, Any], live: dict[str, Any]) -> list[str]:
    """What differs, in words."""
    names = {
        "random": "the state of Python's random",
        "numpy": "the state of NumPy's global generator or errstate",
        "torch": "torch's generators or modes",
        "cwd": "the working directory",
    }
    found = []
    for key, words in names.items():
        if key in recorded and recorded[key] != live.get(key):
            found.append(words)
    return found


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
    )


def _restore_numpy(state: Any) -> None:
    import numpy as np

    name, dtype, keys, place, has_gauss, gauss, errors = state
    np.random.set_state((name, np.frombuffer(keys, dtype=dtype).copy(), place, has_gauss, gauss))
    np.seterr(**dict(errors))


def _torch_modes() -> list[tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """(how to read, how to set) each of torch's modes. Setting may be dear: only what differs is set."""
    import torch

    def set_deterministic(modes: tuple[bool, bool]) -> None:
        torch.use_deterministic_algorithms(modes[0], warn_only=modes[1])

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
