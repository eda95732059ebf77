"""When a rehearsal has seen enough: at the depth that was asked for, or after some steps and what follows on them."""

from __future__ import annotations

from typing import Any

from ..runtime import adapter
from ..runtime.adapter import rehearsal
from ..runtime.monitors.forward import closing
from ..runtime.session import Session
from .part import Asked

MOST_PASSES = 8  # over loaders that give nothing any more: a loop without an end may ask for ever


class Over(BaseException):
    """As much was seen of the script as was asked for. No ``except Exception`` of the user's takes it for an error."""


class Ending:
    """Loaders end after the last step that is watched, so that scripts come to what they do after their loop: to save.

    A loop that goes on in another way ends with the next forward.
    """

    def __init__(self, session: Session, asked: Asked) -> None:
        self._session = session
        self._asked = asked
        self._passes = 0

    @property
    def reached(self) -> bool:
        """Have all steps been made that were asked for?"""
        return 0 < self._asked.steps <= self._session.step

    @property
    def words(self) -> str:
        """What was not come to."""
        if self._asked.depth == "plan":
            return "it was left at the first forward: training and saving were not rehearsed"
        return f"it was left after {self._session.step} steps, inside its loop: what follows on that was not rehearsed"

    def install(self) -> None:
        """After all monitors, so that they have had their look at a model before it ends."""
        self._session.watch_fsdp2("first_forward", after=self._laid_out)
        owner, name = rehearsal.batches()
        given = getattr(owner, name)

        def next_batch(loader: Any) -> Any:
            if not self.reached:
                return given(loader)
            self._passes += 1
            if self._passes > MOST_PASSES:
                raise Over
            raise StopIteration

        setattr(owner, name, next_batch)

    def _laid_out(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A model comes to its first forward: which groups there are is settled."""
        if self._asked.depth == "plan" and adapter.is_root(args[0]):
            closing.close(self._session, why="plan")
