"""The project's modules as the runtime knows them: their files, namespaces and region marks."""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Iterable
from typing import Any, cast

from .context import Sources
from .errors import CannotRestore
from .roots import HIDDEN, Namespace, Root
from .watched import MARK, WatchedNames, watch


class _Nowhere:
    """Takes the marks that nobody reads any more."""

    def __setitem__(self, place: int, mark: int) -> None:
        """Forget it."""


class Project:
    """Every project module that the run has loaded, in order."""

    def __init__(self) -> None:
        self.spaces: dict[str, Namespace] = {}
        self.module_files: dict[str, str] = {}  # name of a module with a namespace -> file id
        self.files: dict[str, str] = {}  # code file name -> file id
        self.paths: dict[str, str] = {}  # file id -> code file name
        self.marks: dict[str, bytearray] = {}  # file id -> one byte a region
        self.binds: dict[str, tuple[str, ...]] = {}  # block id -> names it may rebind
        self.sources = Sources()
        self.watched: dict[str, Namespace] = {}  # key of a library's module or class -> names of it

    def add(
        self,
        name: str,
        file: str,
        path: str,
        namespace: dict[str, Any] | None,
        binds: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.files[path] = file
        self.paths[file] = path
        self.binds.update(binds or {})
        if namespace is not None:
            self.spaces[name] = Namespace(name, namespace)
            self.module_files[name] = file

    def is_project(self, module: str) -> bool:
        return module in self.spaces or module == "__mp_main__"

    def root(self, frame: dict[str, Any]) -> Root:
        return Root(frame, [*self.spaces.values(), *self.watched.values()])

    def watch(self, key: str, names: Iterable[str]) -> None:
        """From now on these names of a library are state; CannotRestore if they cannot be."""
        if key not in self.watched:
            self.watched[key] = watch(key, set())
        cast("WatchedNames", self.watched[key].names).shown.update(names)

    def unwatched(self, key: str, names: Iterable[str]) -> list[str]:
        """Those of the names that are not watched yet."""
        space = self.watched.get(key)
        return sorted(names if space is None else set(names) - cast("WatchedNames", space.names).shown)

    def is_own(self, obj: Any) -> bool:
        """True for functions and classes that the project's text makes."""
        code = getattr(getattr(obj, "__func__", obj), "__code__", None)
        if code is not None:
            return code.co_filename in self.files
        return self.is_project(str(getattr(obj, "__module__", "")))

    def space(self, name: str) -> Namespace:
        """A module's namespace; it is imported if the replay has not come to that yet."""
        if name.startswith(MARK):
            return self.watched.setdefault(name, watch(name, set()))
        if name not in self.spaces:
            try:
                importlib.import_module(name)
            except Exception as error:
                raise CannotRestore(f"the module {name} cannot be imported: {error}") from None
        if name not in self.spaces:
            raise CannotRestore(f"the module {name} is no longer a module of the project")
        return self.spaces[name]

    def outlive(self) -> None:
        """Keep what instrumented text calls callable until the very end of the process.

        The interpreter clears modules before their objects end, and first the names with an underscore;
        a finalizer of the program's still runs then. Builtins go last.
        """
        for space in self.spaces.values():
            for name in [name for name in space.names if name.startswith(HIDDEN)]:
                value = space.names[name]
                setattr(builtins, name, _Nowhere() if isinstance(value, bytearray) else value)
                del space.names[name]

    def new_marks(self, file: str, count: int) -> bytearray:
        return self.marks.setdefault(file, bytearray(count))
