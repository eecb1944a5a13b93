"""`python -m florc.fetching URL WHAT FOLDER RUN`: the process that fetches from a store behind a URL."""

from __future__ import annotations

import sys

from . import startup


def main() -> int:
    """Fetch, without looking for modules in the user's folder."""
    startup.begin()
    from . import remote

    return remote.fetch(*sys.argv[1:5])


if __name__ == "__main__":
    sys.exit(main())
