"""The language server, as an editor sees it: a process that is talked to over stdio."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types

from tests.servers.editor import PATIENCE, Editor, edited, editor, scenario

MODEL = """\
import torch.nn as nn
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def parallelize(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
"""
TRAIN = """\
import torch
import torch.distributed as dist

from model import Net, parallelize


def main():
    dist.init_process_group("gloo")
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    parallelize(model)
    model(torch.zeros(4)).sum().backward()
    optimizer.step()


main()
"""
BUILDS = "    optimizer = torch.optim.AdamW(model.parameters())\n"
SHARDS = "    parallelize(model)\n"
RIGHT = TRAIN.replace(BUILDS + SHARDS, SHARDS + BUILDS)
PRIVATE = "from torch.distributed._composable.fsdp import fully_shard"
PUBLIC = "from torch.distributed.fsdp import fully_shard"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two files; the fault is in neither alone."""
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (folder / "model.py").write_text(MODEL)
    (folder / "train.py").write_text(TRAIN)
    return folder


@scenario
async def test_a_finding_over_two_files_goes_when_the_buffer_is_right(project: Path) -> None:
    train = project / "train.py"
    async with editor(project) as ide:
        ide.open(train)
        (found,) = await ide.diagnostics(train)
        assert (found.code, found.severity, found.source) == ("FSDP601", types.DiagnosticSeverity.Error, "fsdp2-lint")
        row, line = next((row, line) for row, line in enumerate(TRAIN.splitlines()) if "AdamW" in line)
        assert found.range == types.Range(
            types.Position(row, line.index("torch.optim")), types.Position(row, len(line))
        )
        assert found.code_description is not None and found.code_description.href.endswith("optimizer-before-sharding/")
        related = {each.location.uri: each.message for each in found.related_information or ()}
        assert "fully_shard" in related[(project / "model.py").as_uri()]
        ide.change(train, RIGHT, 2)
        assert await ide.diagnostics(train, 2) == []
        assert train.read_text() == TRAIN
        ide.change(train, TRAIN, 3)
        assert [each.code for each in await ide.diagnostics(train, 3)] == ["FSDP601"]


@pytest.mark.slow
@scenario
async def test_a_file_that_is_not_open_is_told_of_too(project: Path) -> None:
    async with editor(project) as ide:
        ide.open(project / "model.py")
        assert await ide.diagnostics(project / "model.py") == []
        assert [each.code for each in await ide.diagnostics(project / "train.py", None)] == ["FSDP601"]
        ide.change(project / "model.py", MODEL.replace("fully_shard(", "print("), 2)
        await ide.diagnostics(project / "model.py", 2)
        for _ in range(600):  # the file that was changed is told of first
            if not await ide.diagnostics(project / "train.py", None):
                return
            await asyncio.sleep(0.05)
        raise AssertionError("train.py keeps what is no longer so")


@pytest.mark.slow
@scenario
async def test_only_the_last_of_many_changes_is_checked(project: Path) -> None:
    train = project / "train.py"
    async with editor(project) as ide:
        for version in range(1, 6):
            ide.open(train) if version == 1 else ide.change(train, TRAIN + "\n" * version, version)
        assert len(await ide.diagnostics(train, 5)) == 1
        assert {each.version for each in ide.published if each.uri == train.as_uri()} == {5}


@pytest.mark.slow
@scenario
async def test_quick_fixes(project: Path) -> None:
    model, text = project / "model.py", MODEL.replace(PUBLIC, PRIVATE)
    (project / "train.py").unlink()
    model.write_text(text)
    async with editor(project) as ide:
        ide.open(model)
        (found,) = await ide.diagnostics(model)
        assert (found.code, found.severity) == ("FSDP901", types.DiagnosticSeverity.Warning)
        here = await ide.actions(model, found.range)
        titles = [*here]
        assert [title.partition(":")[0] for title in titles] == ["FSDP901", "FSDP901", titles[2]]
        mend, silence, everything = here.values()
        assert mend.is_preferred and mend.kind == types.CodeActionKind.QuickFix
        assert mend.diagnostics is not None and [*mend.diagnostics] == [found]
        assert everything.kind == "source.fixAll.fsdp2-lint" and not silence.is_preferred
        version = 1
        for action in here.values():
            assert action.edit is not None and action.edit.changes is not None
            (edits,) = action.edit.changes.values()
            new = edited(text, edits)
            assert (new == MODEL) == (action is not silence)
            assert ("# fsdp2-lint: ignore[FSDP901]\n" in new) == (action is silence)
            ide.change(model, new, version := version + 1)
            assert await ide.diagnostics(model, version) == []
        ide.change(model, text, version := version + 1)
        await ide.diagnostics(model, version)
        assert [*await ide.actions(model, found.range, ["source.fixAll"])] == titles[2:]
        assert [*await ide.actions(model, found.range, ["quickfix"])] == titles[:2]
        elsewhere = types.Range(types.Position(9, 0), types.Position(9, 0))
        assert [*await ide.actions(model, elsewhere, ["quickfix"])] == []


@pytest.mark.slow
@scenario
async def test_an_unsafe_fix_says_so(project: Path) -> None:
    train = project / "train.py"
    async with editor(project) as ide:
        ide.open(train)
        (found,) = await ide.diagnostics(train)
        mend, silence = (await ide.actions(train, found.range)).values()
        assert mend.title.endswith(" (unsafe: read what it changed)") and not mend.is_preferred
        assert mend.edit is not None and mend.edit.changes is not None
        assert edited(TRAIN, mend.edit.changes[train.as_uri()]) == RIGHT
        assert silence.title == "FSDP601: silence with a comment"
        assert await ide.actions(train, found.range, ["source.fixAll"]) == {}


@pytest.mark.slow
@scenario
async def test_edits_name_the_version_that_they_are_for(project: Path) -> None:
    model = project / "model.py"
    able = types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True)
        )
    )
    async with editor(project, capabilities=able) as ide:
        ide.open(model, MODEL.replace(PUBLIC, PRIVATE))
        found = next(each for each in await ide.diagnostics(model) if each.code == "FSDP901")
        action = next(iter((await ide.actions(model, found.range)).values()))
        assert action.edit is not None and action.edit.document_changes is not None
        (changes,) = action.edit.document_changes
        assert isinstance(changes, types.TextDocumentEdit) and changes.text_document.version == 1
        ide.change(model, "\n\n\n" + MODEL.replace(PUBLIC, PRIVATE), 2)
        assert await ide.actions(model, found.range) == {}, "its places are those of the text before"


@pytest.mark.slow
@scenario
async def test_hover_tells_the_page(project: Path) -> None:
    train = project / "train.py"
    async with editor(project) as ide:
        ide.open(train)
        (found,) = await ide.diagnostics(train)
        text = await ide.hover(train, found.range.start)
        assert text is not None and text.startswith("**the optimizer is built before fully\\_shard replaces")
        assert "# FSDP601: optimizer-before-sharding" in text and "## Why it matters" in text
        assert "## Examples" not in text
        assert await ide.hover(train, types.Position(0, 0)) is None


@pytest.mark.slow
@scenario
async def test_a_broken_setting_is_told_once_and_the_server_lives_on(project: Path) -> None:
    train, settings = project / "train.py", project / "pyproject.toml"
    settings.write_text("[tool.fsdp2-lint]\nselekt = []\n")
    watching = types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
        )
    )
    async with editor(project, capabilities=watching) as ide:
        ide.open(train)
        await ide.until(lambda: ide.messages)
        ide.change(train, TRAIN + "\n", 2)
        assert await ide.diagnostics(train, 2) == []
        (message,) = ide.messages
        assert "selekt" in message and "did you mean select?" in message
        assert [each.method for each in ide.watched] == [types.WORKSPACE_DID_CHANGE_WATCHED_FILES]
        settings.write_text("[tool.fsdp2-lint]\nzero2 = true\n")
        ide.published.clear()
        event = types.FileEvent(settings.as_uri(), types.FileChangeType.Changed)
        ide.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        assert [each.code for each in await ide.diagnostics(train, 2)] == ["FSDP601"]


@pytest.mark.slow
@scenario
async def test_the_baseline_and_exclusion_of_the_project_hold(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.fsdp2-lint]\nexclude = ['train.py']\n")
    async with editor(project) as ide:
        ide.open(project / "train.py")
        assert await ide.diagnostics(project / "train.py") == []
    (project / "pyproject.toml").write_text("[tool.fsdp2-lint]\nbaseline = 'known.json'\n")
    made = subprocess.run(
        [sys.executable, "-m", "fsdp2_lint", "check", "--update-baseline"], cwd=project, timeout=PATIENCE
    )
    assert made.returncode == 0
    async with editor(project) as ide:
        ide.open(project / "train.py")
        assert await ide.diagnostics(project / "train.py") == []


@pytest.mark.quick(1)
@pytest.mark.parametrize(("encoding", "units"), [("utf-16", 2), ("utf-8", 4), ("utf-32", 1)])
@scenario
async def test_columns_are_in_the_units_of_the_editor(project: Path, encoding: str, units: int) -> None:
    train, text = project / "train.py", TRAIN.replace("    optimizer =", '    s = "🔥"; optimizer =')
    general = types.GeneralClientCapabilities(position_encodings=[encoding])
    async with editor(project, capabilities=types.ClientCapabilities(general=general)) as ide:
        ide.open(train, text)
        (found,) = await ide.diagnostics(train)
        before = '    s = "🔥"; optimizer = '
        assert found.range.start.character == len(before) - 1 + units


@pytest.mark.slow
@scenario
async def test_without_a_workspace_the_open_files_are_checked(project: Path) -> None:
    train, model = project / "train.py", project / "model.py"
    (project / "other.py").write_text(f"{PRIVATE}\n")
    async with editor() as ide:
        ide.open(train)
        assert [each.code for each in await ide.diagnostics(train)] == ["FSDP601"]
        ide.published.clear()
        ide.open(model)
        assert await ide.diagnostics(model) == []
        assert [each.code for each in await ide.diagnostics(train)] == ["FSDP601"]
        assert {each.uri for each in ide.published} == {train.as_uri(), model.as_uri()}
        ide.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(train.as_uri())))
        assert [each.code for each in await ide.diagnostics(train, None)] == ["FSDP601"], "the model has its part in it"
        ide.published.clear()
        ide.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(model.as_uri())))
        assert await ide.diagnostics(train, None) == []


@pytest.mark.slow
@scenario
async def test_a_folder_that_is_added_is_checked_as_a_whole(project: Path) -> None:
    train, other = project / "train.py", project / "other.py"
    other.write_text(f"{PRIVATE}\n")
    folder = types.WorkspaceFolder(project.as_uri(), "x")
    async with editor() as ide:
        ide.open(train)
        await ide.diagnostics(train)
        assert {each.uri for each in ide.published} == {train.as_uri()}
        for added, removed, codes in [([folder], [], ["FSDP901"]), ([], [folder], [])]:
            ide.published.clear()
            event = types.WorkspaceFoldersChangeEvent(added, removed)
            ide.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
            assert [each.code for each in await ide.diagnostics(other, None)] == codes


@pytest.mark.slow
@scenario
async def test_files_keep_the_names_that_the_editor_gave_them(project: Path) -> None:
    link = project.parent / "link"
    link.symlink_to(project)
    async with editor(link) as ide:
        ide.open(link / "train.py")
        (found,) = await ide.diagnostics(link / "train.py")
        assert {each.location.uri for each in found.related_information or ()} >= {(link / "model.py").as_uri()}


@pytest.mark.slow
@scenario
async def test_the_exit_code_says_whether_it_was_asked_to_stop(project: Path) -> None:
    async with editor(project) as ide:
        ide.open(project / "train.py")
        assert await ide.end() == 0
    async with editor(project) as ide:
        ide.exit(None)
        assert await ide.server.wait() == 1


@pytest.mark.slow
@scenario
async def test_the_file_that_was_changed_comes_first(project: Path) -> None:
    """Others are told of by their names, which come before."""
    train, other = project / "train.py", project / "another.py"
    other.write_text(TRAIN)
    async with editor(project) as ide:
        ide.open(train)
        assert [each.code for each in await ide.diagnostics(other, None)] == ["FSDP601"]
        await ide.until(lambda: len(ide.published) >= 3)
        assert [Path(each.uri).name for each in ide.published] == ["train.py", "another.py", "train.py"]
        ide.published.clear()
        ide.change(train, RIGHT, 2)
        assert await ide.diagnostics(train, 2) == []
        assert [each.code for each in await ide.diagnostics(other, None)] == ["FSDP601"]
        assert [*{Path(each.uri).name: None for each in ide.published}] == ["train.py", "another.py"]


@scenario
async def test_what_is_found_is_told_at_once_and_what_is_gone_when_all_is_checked(project: Path) -> None:
    model, longer = project / "model.py", project / "longer.py"
    top_down = MODEL[MODEL.index("def parallelize") :].replace("    fully_shard(model)\n", "")
    top_down = top_down.replace("):\n", "):\n    fully_shard(model)\n", 1)
    both = MODEL + "\n\n" + top_down.replace("parallelize", "wrongly")
    longer.write_text(
        RIGHT.replace("parallelize", "wrongly").replace("    optimizer.step()\n", "    optimizer.step()\n" * 9)
    )

    def told() -> list[list[tuple[str, int]]]:
        """Codes and rows, each time anew, of the second version."""
        those = [each for each in ide.published if each.uri == model.as_uri() and each.version == 2]
        return [[(str(found.code), found.range.start.line + 1) for found in each.diagnostics] for each in those]

    async with editor(project) as ide:
        ide.open(model, both)
        ((code, row),) = [(each.code, each.range.start.line + 1) for each in await ide.diagnostics(model)]
        await ide.diagnostics(project / "train.py", None)
        wrong = "# new\n" + both.replace(MODEL[MODEL.index("def parallelize") :], top_down)
        ide.change(model, wrong, 2)
        await ide.until(lambda: len(told()) == 4)  # after one program, after both, when the file is checked, and all
        old, new = (code, row + 1), (code, wrong[: wrong.index("fully_shard(layer)")].count("\n") + 1)
        assert {*told()[0]} >= {old, new}, "of the longer program nothing is known yet"
        assert [{*each} for each in told()[1:]] == [{old, new}] * 3


SHOWS_PROGRESS = types.ClientCapabilities(window=types.WindowClientCapabilities(work_done_progress=True))


def followed(ide: Editor) -> list[str]:
    """The programs that the editor was told of."""
    return [message for _, kind, message in ide.progress if kind == "report" and message.endswith(".py")]


def over(ide: Editor) -> bool:
    kinds = [kind for _, kind, _ in ide.progress]
    return kinds.count("end") == kinds.count("create")


@pytest.mark.slow
@scenario
async def test_what_is_followed_is_told_and_on_a_warm_cache_nothing_is(project: Path) -> None:
    train, other = project / "train.py", project / "other.py"
    other.write_text(TRAIN)
    async with editor(project, capabilities=SHOWS_PROGRESS) as ide:
        ide.open(train)
        assert [each.code for each in await ide.diagnostics(other, None)] == ["FSDP601"]
        await ide.until(lambda: over(ide) and len(followed(ide)) == 2)
        assert followed(ide) == ["train.py", "other.py"]
        for token in {token for token, *_ in ide.progress}:
            kinds = [kind for each, kind, _ in ide.progress if each == token]
            assert [*dict.fromkeys(kinds)] == ["create", "begin", "report", "end"] and kinds[-1] == "end"
    async with editor(project, capabilities=SHOWS_PROGRESS) as ide:
        ide.open(train)
        assert [each.code for each in await ide.diagnostics(other, None)] == ["FSDP601"]
        assert [each.code for each in await ide.diagnostics(train)] == ["FSDP601"]
        assert not followed(ide), "the first answer waits for no program"
        ide.change(train, RIGHT, 2)
        assert await ide.diagnostics(train, 2) == []
        await ide.until(lambda: followed(ide))
        assert followed(ide) == ["train.py"], "nor for the programs of other files"


@pytest.mark.slow
@scenario
async def test_who_has_no_place_for_progress_is_told_nothing(project: Path) -> None:
    async with editor(project) as ide:
        ide.open(project / "train.py")
        await ide.diagnostics(project / "train.py")
        assert not ide.progress
