"""Pages of the tool's own codes: what it says of files, and of comments that are meant for it."""

from __future__ import annotations

import sys

from fsdp2_lint.catalogue.codes import OWN_CODES, UNUSED

INVALID, *_ = OWN_CODES
_TEXTS = {
    INVALID: f"""\
Python cannot parse the file, so no rule of the contract was judged in it.

fsdp2-lint parses with the Python that it runs on, here {sys.version_info.major}.{sys.version_info.minor}.
Syntax of newer versions, up to 3.15, is no finding: most of it is read all the same, and of the rest a warning says
which Python reads it. If the file is of a Python that is newer still, install fsdp2-lint under that Python, or set
`language_version` for the pre-commit hook.

This code cannot be silenced by a comment: comments of a file that is not Python have no place.
""",
    UNUSED: """\
A comment silences a code of this tool, and nothing is found that it silences. Or it is meant for this tool, begins with
`# fsdp2-lint:` or with `# noqa:` and a misspelt code or name, and silences nothing, since it is not understood or names
a code that does not exist.

## Why it matters

A comment that is not needed will hide the fault when somebody brings it in later. One that is not understood does not
do what its writer meant.

## How to fix

Remove the comment, or those of its codes that are not needed. `fsdp2-lint check --fix` does so. A comment that is not
understood is removed by `--unsafe-fixes` only: write `# fsdp2-lint: ignore[CODE] reason`, or `ignore-file[CODE]`, with
codes or names of rules in the brackets.

## What does not count

- Comments without codes (`# noqa`), and codes of other tools behind `# noqa`.
- Codes that were not judged: because they were not selected, or only a running job can tell.
- Anything, if not every program could be judged that the file is a part of: a file could not be read, the budget ran
  out, nothing says where the project begins. Something may have been missed; a warning says why.
""",
}
PAGES = {code: f"# {code}: {OWN_CODES[code]}\n\n{text}" for code, text in _TEXTS.items()}
