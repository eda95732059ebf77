"""Reasons for which a run cannot be done as asked. ``str(exc)`` is for the user."""


class Refusal(Exception):
    """Base class: the command line prints the message and exits with 2."""


class NothingToCheck(Refusal):
    """The given paths hold no Python file."""


class BadSetting(Refusal):
    """A file of settings says what the tool cannot use."""


class UnknownCode(Refusal):
    """A code, prefix or name that fits no clause."""
