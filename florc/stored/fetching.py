"""`python -m florc.stored.fetching URL WHAT FOLDER RUN`: fetch from a store behind a URL, in a process."""

from __future__ import annotations

import sys

from florc import startup


def main() -> int:
    """Fetch, without looking for modules in the user's folder."""
    startup.begin()
    from . import remote

    return remote.fetch(*sys.argv[1:5])


if __name__ == "__main__":
    sys.exit(main())
