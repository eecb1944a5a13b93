"""Writers and readers that open paths outside Python: a list, by library.

Everything else (np.save, pandas, csv, logging, matplotlib, ...) goes through Python's own open.
"""
from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

from .patches import Patches

# module -> (attribute path from it, parameter that holds the path). An entry that is absent is passed over.
WRITERS: dict[str, tuple[tuple[str, str], ...]] = {
    "torch": (("save", "f"), ("serialization.save", "f"), ("jit.save", "f")),
    "safetensors.torch": (("save_file", "filename"),),
    "safetensors.numpy": (("save_file", "filename"),),
    "cv2": (("imwrite", "filename"),),
    "soundfile": (("write", "file"),),
    "torchaudio": (("save", "uri"),),
}
READERS: dict[str, tuple[tuple[str, str], ...]] = {
    "torch": (("load", "f"), ("serialization.load", "f"), ("jit.load", "f")),
    "safetensors.torch": (("load_file", "filename"),),
    "safetensors.numpy": (("load_file", "filename"),),
    "cv2": (("imread", "filename"),),
}
# where a parameter stands when the function is built in and has no signature
POSITIONS = {"filename": 0}

# (the original function, the path as given, how to call it with a path) -> its result
Around = Callable[[Callable[..., Any], Any, Callable[[Any], Any]], Any]


def patch(patches: Patches, module: Any, writer: Around | None, reader: Around | None) -> None:
    """Put writer around the library's writers and reader around its readers."""
    made: dict[int, Any] = {}                    # torch.save and torch.serialization.save are one function
    for table, around in ((WRITERS, writer), (READERS, reader)):
        if around is None:
            continue
        for attribute, parameter in table.get(module.__name__, ()):
            *folders, name = attribute.split(".")
            holder = module
            for folder in folders:
                holder = getattr(holder, folder, None)
            original = getattr(holder, name, None)
            if callable(original) and name in vars(holder):
                if id(original) not in made:
                    made[id(original)] = _wrapped(original, parameter, around)
                patches.put(holder, name, made[id(original)])


def _wrapped(original: Any, parameter: str, around: Around) -> Any:
    position = _position(original, parameter)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.get(parameter, args[position] if position < len(args) else None)
        if not isinstance(given, str | bytes | os.PathLike):
            return original(*args, **kwargs)

        def with_path(path: Any) -> Any:
            if parameter in kwargs:
                return original(*args, **{**kwargs, parameter: path})
            return original(*args[:position], path, *args[position + 1:], **kwargs)

        return around(original, given, with_path)

    return call


def _position(function: Any, parameter: str) -> int:
    try:
        return list(inspect.signature(function).parameters).index(parameter)
    except (TypeError, ValueError):
        return POSITIONS.get(parameter, 0)
