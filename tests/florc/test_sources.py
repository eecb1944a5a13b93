"""The files a script can reach are found in the text."""

from __future__ import annotations

from florc.sources import reachable
from tests.florc.running import lay


def test_imports_are_followed_below_the_scripts_folder(tmp_path):
    files = {
        "train.py": "import os, near\nfrom pkg.deep import thing\nfrom pkg import part\n",
        "near.py": "def f():\n    import far\n",
        "far.py": "import train\n",
        "broken.py": "x = (\n",
        "pkg/__init__.py": "",
        "pkg/part.py": "from . import sibling\nfrom .deep import other\nimport broken\n",
        "pkg/sibling.py": "from ..pkg import nothing\nfrom ..... import outside\n",
        "pkg/deep/__init__.py": "",
        "pkg/deep/thing.py": "",
        "pkg/deep/other.py": "",
        "unused.py": "",
    }
    lay(tmp_path, files)
    assert set(reachable(tmp_path / "train.py")) == set(files) - {"unused.py"}
