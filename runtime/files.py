"""User files are safe: note what a run does to files, and give a replay the files as the run saw them.

Enters: the file operations of the user's program. Leaves: while recording, events (tuples of plain atoms)
for the journal; while replaying, an overlay folder that takes every write in place of the user's files.

    files_paths.py    names a program uses -> absolute real paths; which paths are nobody's business
    files_audit.py    the one audit hook of the process (Python cannot remove one)
    files_record.py   FileRecorder: operations -> events
    files_state.py    Ledger: recorded events -> what is at a path now (pure, no disk)
    files_view.py     View: a path -> the file on disk that stands for it in this replay
    files_listing.py  folders as the replay sees them
    files_calls.py    the stand-ins for open, os.stat, os.mkdir, ... that ask the view
    files_replay.py   FileReplayer: puts the stand-ins in place and takes them away
    files_inputs.py   whether the files a run read are still what they were
    files_foreign.py  writers and readers that do not go through Python's open (torch.save, ...)
    patches.py        replace attributes and put them back

Events, all paths absolute and real:

    ("prior", path, existed, kind, key, why, mtime_ns)   before the first change by the run, once a path;
                         kind "file", "dir", "link" (why holds its target) or "" (nothing there)
    ("write", path, version, size)   size: of what was there and stays (append, update), else 0
    ("read", path, version, key, why, size, mtime_ns)    of a path the run has itself written
    ("input", path, size, mtime_ns, hash of its ends)    of a path it has not, once a path
    ("mkdir", path)  ("remove", path)  ("rename", src, dst)  ("symlink", path, target)  ("link", src, dst)
    ("opaque", path)     a database: what is read from and written to it is not followed
    ("left", path, size, mtime_ns)   at the end: what the run left at a path it wrote
"""
from __future__ import annotations

from .files_record import FileRecorder
from .files_replay import FileReplayer

__all__ = ["FileRecorder", "FileReplayer"]
