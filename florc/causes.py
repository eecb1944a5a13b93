"""Why a replay may have come out otherwise: what is different here from where the run was recorded."""

from __future__ import annotations

import sys
from typing import Any

from . import environment
from .runtime.runs import Run

MAX_LIBRARIES = 4  # told by name; a whole other environment has dozens


def likely(run: Run, noticed: list[str], variables: dict[str, str]) -> list[str]:
    """Likely causes in words, the likeliest first.

    noticed: what the runtime itself has seen (changed inputs). variables: the environment's, before the
    program ran (torch and the program set some themselves).
    """
    found = list(noticed)
    found += _threads(run) + _libraries(run) + _processor(run) + _variables(run, variables)
    return found + _kernels()


def _threads(run: Run) -> list[str]:
    now = environment.torch_threads()
    if run.threads is None or now is None or run.threads == now:
        return []
    return [f"torch computes with {now} threads here, with {run.threads} then"]


def _libraries(run: Run) -> list[str]:
    then = {"python": run.python, **dict(run.more.get("libraries") or {})}
    now = {"python": environment.python_version(), **environment.versions_of_libraries()}
    other = [name for name in then if name in now and then[name] != now[name]]
    more = f" and {len(other) - MAX_LIBRARIES} more libraries" if len(other) > MAX_LIBRARIES else ""
    words = [f"{name} {now[name]} here, {then[name]} then" for name in other[:MAX_LIBRARIES]]
    return [", ".join(words) + more] if words else []


def _processor(run: Run) -> list[str]:
    then, now = run.more.get("processor"), environment.processor()
    return [f"another processor: {now} here, {then} then"] if then and now and then != now else []


def _variables(run: Run, now: dict[str, str]) -> list[str]:
    other = [
        name
        for name in sorted({*run.env, *now})
        if run.env.get(name) != now.get(name) and not name.startswith("PYTHON")
    ]
    return [f"other environment variables: {', '.join(other)}"] if other else []


def _kernels() -> list[str]:
    """Kernels that sum in another order each time."""
    torch: Any = sys.modules.get("torch")
    try:
        used = torch is not None and torch.cuda.is_initialized()
        if used and not torch.are_deterministic_algorithms_enabled():
            return ["CUDA kernels that are not deterministic (torch.use_deterministic_algorithms is off)"]
    except Exception:
        pass  # half-imported
    return []
