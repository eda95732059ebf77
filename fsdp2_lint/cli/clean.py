"""``fsdp2-lint clean``."""

from __future__ import annotations

import click

from fsdp2_lint.cli.streams import CLEAN, note


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--cache-dir", metavar="FOLDER", type=click.Path(file_okay=False), help="Remove what is kept there.")
def clean(paths: tuple[str, ...], cache_dir: str | None) -> int:
    """Remove the cache of earlier runs.

    PATHS choose the project whose cache is removed (default: the project of this folder).
    """
    from fsdp2_lint.files.discovery import project_root
    from fsdp2_lint.output import plural
    from fsdp2_lint.static.cache.store import default_store

    store = default_store(project_root(paths or (".",)), cache_dir)
    removed = store.clear() if store is not None else 0
    note(
        f"removed {plural(removed, 'answer')} from {store.folder}" if store and removed else "no answers are kept here"
    )
    return CLEAN
