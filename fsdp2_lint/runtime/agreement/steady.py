"""The collectives that FSDP2 issues in each step, from the second time on.

A step issues the same ones in the same order as the step before. So of each it is only asked whether it is the one
that came next the last time: by its kind, by the parameters it is for, by the size that it sends, and by where the
user's code stands. That is one comparison, and what is stored is ready. Anything else takes the long way.

What this costs is memory that the training has pushed out of the caches, and every instruction of Python comes from
there too: that is why two functions share variables here, and why nothing is asked that the comparison does not need.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

from .. import adapter
from ..patches import Patches
from ..sites import users_next
from .sequence import Sequence as Issued
from .sequence import Spot, Use

Defect = Callable[[str, Exception], None]
MOST_SPOTS = 8
_GATHERS = "all_gather"  # of all parameters of a group, always; what is reduced may be of some


class Wrappers(NamedTuple):
    """``around``: of a function that gathers or reduces parameters. ``issuing``: of one that issues a collective."""

    around: Callable[[Any], Any]
    issuing: Callable[[adapter.Issuer, Any], Any]


def wrappers(sequence: Issued, patches: Patches, defect: Defect) -> Wrappers:
    """What stands around FSDP2's gathers and reductions, and around each function that issues a collective."""
    names, at, is_followed, get_ident = _Names(), sequence.now, adapter.is_followed, threading.get_ident
    get_frame, write, latest = sys._getframe, sequence.write, _nothing()
    params: Any = None  # that are gathered or reduced just now, in the thread of that number
    thread = 0

    def around(original: Any) -> Any:
        @functools.wraps(original)
        def use(*args: Any, **kwargs: Any) -> Any:
            nonlocal params, thread
            if is_followed() or params is not None or not args:
                return beside(original, args, kwargs)
            params, thread = args[0], get_ident()
            try:
                return original(*args, **kwargs)
            finally:
                params = None

        return use

    def beside(original: Any, args: Any, kwargs: Any) -> Any:
        """Another thread is at it too, or nothing is issued."""
        own = at.at
        if adapter.is_traced() or own.use is not None or not args:
            return original(*args, **kwargs)
        own.use = named(args[0])
        try:
            return original(*args, **kwargs)
        finally:
            own.use = None

    def issuing(issuer: adapter.Issuer, original: Any) -> Any:
        kind, position, in_list = issuer.kind, issuer.position, issuer.in_list

        @functools.wraps(original)
        def issue(*args: Any, **kwargs: Any) -> Any:
            nonlocal latest
            if params is not None and thread == get_ident():
                try:
                    spot = latest.next
                    user = get_frame(spot.depth)
                    sent = args[position][0] if in_list else args[position]
                    about = kind, id(params[0]), len(params), sent.nbytes, sent.dtype, user.f_lasti, user.f_code
                    if about == spot.sign:
                        write(spot.token)
                        latest = spot
                    else:
                        look(issuer, args, kwargs, get_frame())
                except (ValueError, IndexError, AttributeError, TypeError):  # the frame, the half, or what is sent
                    look(issuer, args, kwargs, get_frame())
            else:
                look(issuer, args, kwargs, get_frame())
            return original(*args, **kwargs)

        return issue

    def look(issuer: adapter.Issuer, args: Any, kwargs: Any, frame: FrameType) -> None:
        """The long way."""
        nonlocal latest, write
        if not patches.live or adapter.is_traced():
            return
        given = params if thread == get_ident() else None
        try:
            own = named(given) if given is not None else at.at.use
            if own is None or not own.shared:
                # FSDP2 issues its own from Python, whatever is compiled around them.
                if not adapter.calls_compiled() and (found := issuer.read(args, kwargs)) is not None:
                    sequence.add(found)
            elif (sign := names.sign(issuer, given, args)) and (spot := _known(own, sign, frame)):
                sequence.add_again(spot.token)
                latest.next = spot
                latest = spot
            elif (found := issuer.read(args, kwargs)) is not None:
                stored = sequence.add_for(own, found, frame)
                if sign and stored:
                    spot = latest.next = _learned(own, sign, frame, stored)
                    latest = spot
        except Exception as error:
            sequence.stop()  # what follows could not be compared any more
            defect("collectives", error)
        finally:
            write = sequence.write

    def named(given: Any) -> Use | None:
        try:
            return names.of(given)
        except Exception as error:
            defect("collectives", error)
            return None

    def forget() -> None:
        nonlocal latest, write
        latest, write = _nothing(), sequence.write

    sequence.at_close.append(forget)
    return Wrappers(around, issuing)


def _nothing() -> Spot:
    """What no collective is like. A function that holds its own frame would keep the tensors that it was given."""
    return Spot((), depth=1, token=b"")


class _Names:
    """The names of parameters that FSDP2 gathers or reduces together: the same in each step."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[weakref.ref[Any], Use]] = {}
        self._whole: dict[int, int] = {}

    def of(self, params: Sequence[Any]) -> Use:
        key = tuple(map(id, params))
        known = self._known.get(key)
        if known is None or known[0]() is not params[0]:
            ref = weakref.ref(params[0], lambda gone: self._forget(key))
            known = self._known[key] = ref, Use(adapter.fqns(params), shared=True, told=True)
        return known[1]

    def _forget(self, key: tuple[int, ...]) -> None:
        """The parameters are gone: others may get their identities."""
        self._whole.pop(key[0], None)
        if (known := self._known.pop(key, None)) is not None:
            for spot in known[1].spots:
                spot.sign = ()

    def sign(self, issuer: adapter.Issuer, params: Sequence[Any] | None, args: Any) -> tuple[Any, ...]:
        """What tells a collective from others, but for where it comes from; empty where that takes a longer look.

        The first parameter and the number of them stand for all: if it is all of a group, as what is gathered is.
        """
        sent = args[issuer.position] if issuer.position and len(args) > issuer.position else None
        if params is None or sent is None or isinstance(sent, list) is not issuer.in_list:
            return ()
        if issuer.kind == _GATHERS:
            self._whole[id(params[0])] = len(params)
        elif self._whole.get(id(params[0])) != len(params):
            return ()
        tensor = sent[0] if issuer.in_list else sent
        return issuer.kind, id(params[0]), len(params), tensor.nbytes, tensor.dtype


def _known(use: Use, sign: tuple[Any, ...], frame: FrameType) -> Spot | None:
    for spot in use.spots:
        with suppress(AttributeError):  # there are not so many frames
            at = frame
            for _ in range(spot.depth):
                at = at.f_back  # type: ignore[assignment]
            if (*sign, at.f_lasti, at.f_code) == spot.sign:
                return spot
    return None


def _learned(use: Use, sign: tuple[Any, ...], frame: FrameType, stored: bytes) -> Spot:
    """FSDP2's own come from one call of a module or of backward: the innermost line tells which one."""
    at, depth = users_next(frame)
    if at is None:  # in a thread of autograd, while that which trains waits for it
        at, depth = _outermost(frame)
    spot = Spot((*sign, at.f_lasti, at.f_code), depth, stored)
    use.spots.insert(0, spot)
    for old in use.spots[MOST_SPOTS:]:
        old.sign = ()
    del use.spots[MOST_SPOTS:]
    return spot


def _outermost(frame: FrameType) -> tuple[FrameType, int]:
    depth = 0
    while (back := frame.f_back) is not None:
        frame, depth = back, depth + 1
    return frame, depth
