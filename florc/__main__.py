"""`python -m florc`, and the `florc` command: what must happen before anything else is imported."""

from __future__ import annotations

import sys

from . import startup

RUNNING = ("record", "replay", "resume")  # the commands that run the user's program in this process


def main() -> int:
    """Pin the hash seed for the commands that run a program, then do what the command line asks."""
    startup.begin()
    if sys.argv[1:2] and sys.argv[1] in RUNNING:
        startup.pin_hash_seed()
    try:
        from .cli import main as command_line
    except KeyboardInterrupt:
        sys.excepthook = lambda *_: None  # nothing of the user's has begun: no traceback is of use
        raise
    return command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
