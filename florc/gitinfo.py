"""The git commit a run was made at, read from .git without starting git."""

from __future__ import annotations

from pathlib import Path

_DETACHED_LENGTHS = (40, 64)  # a commit's name in hex: sha-1, sha-256


def commit(root: str) -> str | None:
    """The commit HEAD names in the work tree at `root`; None without one or where it cannot be read."""
    try:
        folder = _git_folder(Path(root))
        if folder is None:
            return None
        head = (folder / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return head if len(head) in _DETACHED_LENGTHS else None
        return _resolve(folder, head[len("ref:") :].strip())
    except (OSError, ValueError):
        return None


def _git_folder(root: Path) -> Path | None:
    """The git folder of a work tree: .git itself, or where the file .git points (worktrees, submodules)."""
    entry = root / ".git"
    if entry.is_dir():
        return entry
    if not entry.is_file():
        return None
    pointer = entry.read_text(encoding="utf-8").strip()
    return root / pointer[len("gitdir:") :].strip() if pointer.startswith("gitdir:") else None


def _resolve(folder: Path, reference: str) -> str | None:
    """The commit a reference names, loose or packed, in the worktree's folder or in the common one."""
    folders = [folder]
    shared = folder / "commondir"
    if shared.is_file():
        folders.append(folder / shared.read_text(encoding="utf-8").strip())
    for place in folders:
        if (place / reference).is_file():
            return (place / reference).read_text(encoding="utf-8").strip()
        packed = place / "packed-refs"
        if packed.is_file():
            for line in packed.read_text(encoding="utf-8").splitlines():
                name, _, found = line.partition(" ")
                if found == reference:
                    return name
    return None
