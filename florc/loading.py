"""From a module's source to the code a recording executes: cache, instrument, compile, or plain code."""

from __future__ import annotations

from types import CodeType

from . import messages, startup
from .cache import CodeCache
from .hook import plain


class RecordLoader:
    """Instrumented code of a module, kept in the cache; plain code with one warning where that fails."""

    def __init__(self, cache: CodeCache) -> None:
        self._cache = cache

    def __call__(self, name: str, file: str, path: str, source: bytes) -> CodeType:
        """The code to execute. SyntaxError or ValueError where python refuses the source."""
        key = self._cache.key(file, path, source)
        code = self._cache.get(key)
        if code is not None:
            return code
        try:
            code, refused = self._instrument(file, path, source)
        except Exception as error:
            code = plain(name, file, path, source)  # a syntax error is python's own, and goes on from here
            messages.warning(f"{file} runs uninstrumented: {type(error).__name__}: {error}")
            return code
        if refused:
            messages.warning(f"{file} runs uninstrumented: {refused}")
        else:
            self._cache.put(key, code)
        return code

    @staticmethod
    def _instrument(file: str, path: str, source: bytes) -> tuple[CodeType, str]:
        with startup.own_imports():
            from florc.transforms import instrument, to_code
        result = instrument(source, file)
        return to_code(result, path, marks=True), result.plan.refused
