"""Functions of torch that are watched, and the way back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

Before = Callable[..., Any]
After = Callable[..., None]
Place = tuple[Any, str]


def argument(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, name: str) -> Any:
    """What a call was given for one parameter; None where it was left out."""
    return args[index] if len(args) > index else kwargs.get(name)


class Patches:
    """Wrappers around functions, and handles of hooks, that are taken off together.

    A wrapper that someone else keeps a reference to (``from torch import save``) stays what it
    is and passes calls on.
    """

    def __init__(self) -> None:
        self.live = False
        self._undo: list[Callable[[], None]] = []

    def watch(
        self,
        places: Place | Sequence[Place],
        before: Before | None = None,
        after: After | None = None,
        ended: Callable[[], None] | None = None,
    ) -> None:
        """Call ``before(args, kwargs)`` and ``after(result, token, args, kwargs)`` around a function.

        ``places`` are the names of one and the same function. ``token`` is what ``before``
        returned. ``after`` is not called when the function raises, ``ended`` is.
        """
        places = [places] if isinstance(places, tuple) else list(places)
        owner, name = places[0]
        original = getattr(owner, name)

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if not self.live:
                return original(*args, **kwargs)
            token = before(args, kwargs) if before is not None else None
            try:
                result = original(*args, **kwargs)
            finally:
                if ended is not None and self.live:
                    ended()
            if after is not None and self.live:
                after(result, token, args, kwargs)
            return result

        for owner, name in places:
            self.replace(owner, name, watched)

    def replace(self, owner: Any, name: str, replacement: Any, keep: Callable[[], bool] | None = None) -> None:
        """Set an attribute, and take it back in the end if it is still ours and there is no reason to ``keep`` it."""
        space = vars(owner)
        was_own, original = name in space, space.get(name)
        setattr(owner, name, staticmethod(replacement) if isinstance(original, staticmethod) else replacement)
        ours = vars(owner)[name]

        def undo() -> None:
            if vars(owner).get(name) is not ours or (keep is not None and keep()):
                return
            if was_own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)

        self._undo.append(undo)

    def keep(self, handle: Any) -> None:
        """A handle of torch's own hooks, with a ``remove()``."""
        self._undo.append(handle.remove)

    def install(self) -> None:
        self.live = True

    def remove(self) -> None:
        """Take everything off, the last first. Doing it twice does nothing more."""
        self.live = False
        while self._undo:
            self._undo.pop()()
