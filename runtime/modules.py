"""The kind of torch's modules. Loaded once the program has imported torch.

A module carries some fifteen registries (hooks, buffers, submodules), of which a layer fills two. Those that
are empty are no objects of the walk's: half of the objects in a model would be empty dicts.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch

from .kind import class_ref, instance_dict, read_attributes, read_slots, write_attributes
from .kinds import add_instances
from .objects import Instance

if TYPE_CHECKING:
    from .graph import Walk
    from .restore import Build

# what stands in a content for an empty registry (see atoms.resolve)
EMPTY: dict[Any, tuple[str, str]] = {kind: ("0", kind.__name__) for kind in (dict, OrderedDict, set)}
REGISTRIES = frozenset(
    name for name, value in vars(torch.nn.Module()).items() if type(value) in EMPTY and not value
)


class Module(Instance):
    """torch.nn.Module and its subclasses: their attributes, no user code run."""

    tag = "torch.Module"

    def read(self, obj: Any, walk: Walk) -> tuple[Any, ...]:
        names = instance_dict(obj)
        if names is None:
            return (self.tag, class_ref(obj, walk), read_attributes(obj, walk))
        held = [
            (name, EMPTY[type(value)])
            if name in REGISTRIES and type(value) in EMPTY and not value
            else (str(name), walk.ref(value, ("a", name)))
            for name, value in names.items()
        ]
        return (self.tag, class_ref(obj, walk), (held, read_slots(obj, walk)))

    def write(self, obj: Any, content: Any, build: Build) -> None:
        before = dict(instance_dict(obj) or {})
        write_attributes(obj, content[2], build)
        names = instance_dict(obj)
        for name, ref in content[2][0] or ():
            kept: Any = before.get(name)
            if names is not None and name in REGISTRIES and type(kept) in EMPTY and EMPTY[type(kept)] == ref:
                kept.clear()
                names[name] = kept


_MODULE = Module()
add_instances(lambda cls: _MODULE if issubclass(cls, torch.nn.Module) else None, [_MODULE])
