"""A worker ends with the process that started it, also where that one was killed and could tell nobody."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # of Linux: the signal that this process gets when its parent ends


def hold(parent: int) -> None:
    """Die with the process `parent`, which has started this one; where that cannot be had, live on."""
    if not parent or not sys.platform.startswith("linux"):
        return
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # it had ended before
        os._exit(1)
