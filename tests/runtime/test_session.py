"""Hooks of a session: they never watch themselves, and those of one thread never hide those of another."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("torch")

from fsdp2_lint.runtime.session import Options, Session


def test_a_hook_does_not_watch_itself() -> None:
    session, seen = Session(None, Options()), []

    def inner() -> None:
        seen.append("inner")

    def outer() -> None:
        seen.append("outer")
        session.quietly(inner)()

    session.quietly(outer)()
    session.quietly(inner)()
    assert seen == ["outer", "inner"]


def test_a_hook_in_another_thread_runs_meanwhile() -> None:
    session, inside, done, seen = Session(None, Options()), threading.Event(), threading.Event(), []

    def saving() -> None:
        inside.set()
        assert done.wait(10)

    def training() -> None:
        seen.append("training")

    saver = threading.Thread(target=session.quietly(saving))
    saver.start()
    assert inside.wait(10)
    session.quietly(training)()
    done.set()
    saver.join()
    assert seen == ["training"]
