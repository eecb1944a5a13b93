"""Which files a recording leaves out: Python's installation, the store, multiprocessing's sockets."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Callable

# What an installation holds below its prefix. Not all that lies there: a system's Python has /usr, in which
# /usr/src/app may be somebody's project.
INSTALLED = ("bin", "conda-meta", "include", "lib", "lib64", "libexec", "sbin", "share")
PROCESSES_OWN = "/pymp-"  # folders in which multiprocessing keeps its sockets, which no overlay can hold
_OF_PROCESSES = re.compile(re.escape(PROCESSES_OWN) + r"[a-z0-9_]{8}(/|$)")


def ignorer(store: str) -> Callable[[str], bool]:
    """Tells of an absolute, real path whether it is to be left out."""
    folders = (store + os.sep, *(folder + os.sep for folder in installation()))

    def ignore(path: str) -> bool:
        if PROCESSES_OWN in path and _OF_PROCESSES.search(path):
            return True
        return path == store or path.startswith(folders)

    return ignore


def installation() -> list[str]:
    """The folders of Python and its packages, virtual environments included."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    named = {path for key, path in sysconfig.get_paths().items() if key not in ("data", "scripts")}
    folders = [*(os.path.join(prefix, name) for prefix in prefixes for name in INSTALLED), *named]
    return sorted({os.path.realpath(folder) for folder in folders})
