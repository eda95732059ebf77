"""A program of the user's, run as Python runs it: a file, a module (``-m``) or a command (``-c``)."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Literal

from .origin import commit_of


class NoSuchModule(ImportError):
    """What ``-m`` names is not there, or cannot be run; the message says which."""


@dataclass(frozen=True, slots=True)
class Program:
    """``name`` is the file, the module, or the code itself."""

    name: str
    arguments: tuple[str, ...] = ()
    kind: Literal["", "-m", "-c"] = ""

    def about(self) -> Mapping[str, object]:
        """For the report: what was started, with what, where, and of which commit."""
        words = [*filter(None, [self.kind]), self.name]
        home = Path(os.getcwd() if self.kind else os.path.dirname(os.path.abspath(self.name)))
        return {
            "script": " ".join(words),
            "arguments": list(self.arguments),
            "folder": os.getcwd(),
            "commit": commit_of(home),
        }

    def prepare(self) -> None:
        """``sys.argv`` and the first place where modules are looked for. That of a module is known when it is found."""
        sys.argv = [self.kind or self.name, *self.arguments]
        here = {"-m": os.getcwd(), "-c": ""}
        sys.path[0] = here[self.kind] if self.kind else os.path.dirname(os.path.realpath(self.name))

    def execute(self) -> None:
        """What Python does; runpy would change ``sys.argv[0]`` and clear the module in the end."""
        {"": _file, "-m": _module, "-c": _code}[self.kind](self.name)


def _main() -> types.ModuleType:
    main = types.ModuleType("__main__")
    main.__dict__["__cached__"] = None
    sys.modules["__main__"] = main  # to the end: threads and exit handlers of the script outlive it
    return main


def _file(name: str) -> None:
    path = os.path.abspath(name)
    main = _main()
    main.__file__, main.__loader__ = path, SourceFileLoader("__main__", path)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, vars(main))


def _code(text: str) -> None:
    exec(compile(text, "<string>", "exec", dont_inherit=True), vars(_main()))


def _module(name: str) -> None:
    spec = _runnable(name)
    loader = spec.loader
    code = loader.get_code(spec.name) if loader is not None and hasattr(loader, "get_code") else None
    if code is None:
        raise NoSuchModule(f"No code object available for {spec.name}", name=spec.name)
    main = _main()
    main.__file__, main.__loader__, main.__spec__ = spec.origin, loader, spec
    main.__package__ = spec.parent
    main.__dict__["__cached__"] = spec.cached
    sys.argv[0] = spec.origin or name
    exec(code, vars(main))


def _runnable(name: str) -> ModuleSpec:
    """Where a module is; the packages around it are imported for that. A package is run by its ``__main__``."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # something that a package around it needs
        spec = None
    if spec is None:
        raise NoSuchModule(f"No module named {name}", name=name)
    if spec.submodule_search_locations is None:
        return spec
    if name.endswith(".__main__"):
        raise NoSuchModule(f"Cannot use package as __main__ module: {name}", name=name)
    try:
        return _runnable(f"{name}.__main__")
    except NoSuchModule:
        raise NoSuchModule(
            f"No module named {name}.__main__: {name} is a package and cannot be run", name=name
        ) from None
