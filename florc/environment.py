"""The facts about this process that a run's description keeps."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path

# what can change a training run from outside the program
_PREFIXES = (
    "CUBLAS",
    "CUDA",
    "KMP_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "OPENBLAS_",
    "PYTHON",
    "PYTORCH_",
    "TORCH",
)
_NAMES = frozenset(
    {
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TZ",
        "LANG",
        "LC_ALL",
    }
)
# a description may be exported and shown: nothing that looks like a credential goes in
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|_KEY", re.IGNORECASE)

_STANDARD = sys.stdlib_module_names | {"__main__", "__mp_main__", "florc"}
_MAX_VERSION = 40  # characters; what is longer is no version

_TORCH_VERSION = re.compile(r"""^__version__\s*=\s*['"]([^'"]+)['"]""", re.MULTILINE)


def relevant_variables() -> dict[str, str]:
    """The environment variables a run's result may depend on."""
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if (name.startswith(_PREFIXES) or name in _NAMES) and not _SECRET.search(name)
    }


def python_version() -> str:
    """Implementation and version, as in `CPython 3.11.7`."""
    return f"{platform.python_implementation()} {platform.python_version()}"


def torch_version() -> str | None:
    """The version of torch: of the loaded module, else of the installed one, without importing it."""
    module = sys.modules.get("torch")
    if module is not None:
        return str(getattr(module, "__version__", "")) or None
    for entry in sys.path:
        try:
            text = (Path(entry or ".") / "torch" / "version.py").read_text(encoding="utf-8")
        except OSError:
            continue
        found = _TORCH_VERSION.search(text)
        return found.group(1) if found else None
    return None


def torch_threads() -> int | None:
    """How many threads torch computes with, None if the program has not imported it."""
    module = sys.modules.get("torch")
    try:
        return None if module is None else int(module.get_num_threads())
    except Exception:
        return None  # half-imported, or not torch at all


def versions_of_libraries() -> dict[str, str]:
    """Name -> version of the imported libraries that say theirs."""
    found = {}
    for name, module in list(sys.modules.items()):
        version = None if "." in name else vars(module).get("__version__") if module is not None else None
        if isinstance(version, str) and name not in _STANDARD and len(version) <= _MAX_VERSION:
            found[name] = str(version)
    return dict(sorted(found.items()))


def processor() -> str:
    """What decides which kernels compute: the machine, and what torch makes of it."""
    torch = sys.modules.get("torch")
    try:
        capability = "" if torch is None else f" {torch.backends.cpu.get_cpu_capability()}"
    except Exception:
        capability = ""  # half-imported, or an older torch
    return platform.machine() + capability


def rank() -> int | None:
    """The rank of this process in a job of several (torchrun), None in a job of one."""
    try:
        alone = int(os.environ.get("WORLD_SIZE", "1")) <= 1
        return None if alone else int(os.environ["RANK"])
    except (KeyError, ValueError):
        return None
