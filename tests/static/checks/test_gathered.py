"""What is gathered while an optimizer steps or gradients are clipped, and what is right and looks like it."""

from __future__ import annotations

import pytest

from tests.static.program import NET, analyse

HEAD = f"""\
import os
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard

{NET}

dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(torch.load("tokens.pt"))
"""
LOOP = """
{first}
for tokens in loader:
    {before}
    F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
    {between}
    optimizer.step()
    optimizer.zero_grad()
    {after}
"""
# Of torch 2.15.
MANUAL = "model.set_manual_backward_finalization(True)"
FINISH = "model.finalize_backward()"
NO_SYNC, SYNC = "model.set_requires_gradient_sync(False)", "model.set_requires_gradient_sync(True)"
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


def loop(between: str = "pass", *, first: str = "pass", before: str = "pass", after: str = "pass") -> str:
    given = {"before": before, "between": between, "after": after}
    return HEAD + LOOP.format(first=first, **{name: text.replace("\n", "\n    ") for name, text in given.items()})


OVER_STEP = {
    "unshard()": loop("model.unshard()  # fault"),
    "unshard() of parts": loop("for layer in model.layers:\n    layer.unshard()  # fault"),
    "parts are not resharded with the root": loop(
        "for layer in model.layers:\n    layer.unshard()  # fault\nmodel.reshard()"
    ),
    "a setter before the loop": loop(first="model.set_reshard_after_backward(False)  # fault"),
    "a setter in a round": loop(before="model.set_reshard_after_backward(False)  # fault"),
}
NOT_OVER_STEP = {
    "unshard() after the step": loop(after="model.unshard()"),
    "unshard() before the forward": loop(before="model.unshard()"),
    "unshard() and reshard()": loop("model.unshard()\nprint(model.head.weight.norm())\nmodel.reshard()"),
    "unshard() of parts, each resharded": loop(
        "for layer in model.layers:\n    layer.unshard()\nfor layer in model.layers:\n    layer.reshard()"
    ),
    "reshard() after the step": loop("model.unshard()", after="model.reshard()"),
    "a setter by a condition": loop(before="model.set_reshard_after_backward(os.environ['LAST'] == '1')"),
    "a setter that is set back": loop(
        first="model.set_reshard_after_backward(False)\nmodel.set_reshard_after_backward(True)"
    ),
    "a setter and reshard() of all": loop(
        "for part in model.modules():\n    if hasattr(part, 'reshard'):\n        part.reshard()",
        first="model.set_reshard_after_backward(False)",
    ),
    "another model": loop("other.unshard()", first="other = fully_shard(nn.Linear(4, 4))"),
}
UNSEEN = {
    "while the root is gathered": loop(f"model.unshard()\n{CLIP}  # fault\nmodel.reshard()"),
    "while parts are gathered": loop(
        f"for layer in model.layers:\n    layer.unshard()\n{CLIP}  # fault\n"
        "for layer in model.layers:\n    layer.reshard()"
    ),
    "after an evaluation": loop(
        f"with torch.no_grad():\n    model(tokens)\n{CLIP}  # fault\nmodel.reshard()",
    ),
    "before the synchronised backward": loop(
        "pass",
        before="model.set_requires_gradient_sync(False)\nF.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())"
        f".backward()\n{CLIP}  # fault\nmodel.set_requires_gradient_sync(True)",
    ),
    "before finalize_backward()": loop(f"{SYNC}\n{CLIP}  # fault\n{FINISH}", first=MANUAL, before=NO_SYNC),
}
SEEN = {
    "after the backward": loop(CLIP),
    "after finalize_backward()": loop(f"{SYNC}\n{FINISH}\n{CLIP}", first=MANUAL, before=NO_SYNC),
    "some of them, before finalize_backward()": loop(f"{CLIP}\n{FINISH}", first=MANUAL),
    "after reshard()": loop(f"model.unshard()\nmodel.reshard()\n{CLIP}"),
    "of all micro-batches, the last one too": loop(
        CLIP,
        before="model.set_requires_gradient_sync(False)\nF.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())"
        f".backward()\n{CLIP}\nmodel.set_requires_gradient_sync(True)",
    ),
    "of another model": loop(
        "other.unshard()\n" + CLIP + "\nother.reshard()", first="other = fully_shard(nn.Linear(4, 4))"
    ),
    "by a condition": loop(
        CLIP,
        before="model.set_requires_gradient_sync(os.environ['LAST'] == '1')",
    ),
}


def rows(text: str, code: str) -> list[int]:
    return [row for found, _, row in analyse(text).found if found == code]


def marked(text: str) -> list[int]:
    return [row for row, line in enumerate(text.splitlines(), 1) if "# fault" in line]


@pytest.mark.parametrize("name", OVER_STEP)
def test_gathered_over_the_step(name: str) -> None:
    assert rows(OVER_STEP[name], "FSDP407") == marked(OVER_STEP[name])


@pytest.mark.parametrize("name", NOT_OVER_STEP)
def test_not_gathered_over_the_step(name: str) -> None:
    assert rows(NOT_OVER_STEP[name], "FSDP407") == []


@pytest.mark.parametrize("name", UNSEEN)
def test_clipping_that_sees_no_gradients(name: str) -> None:
    assert rows(UNSEEN[name], "FSDP614") == marked(UNSEEN[name])


@pytest.mark.parametrize("name", SEEN)
def test_clipping_that_sees_them(name: str) -> None:
    assert rows(SEEN[name], "FSDP614") == []


MESH = "mesh = torch.distributed.device_mesh.init_device_mesh('cuda', {sizes}, mesh_dim_names={names})\n"
REPLICAS = MESH.format(sizes="(2, dist.get_world_size() // 2)", names="('replicate', 'shard')")
ONE = MESH.format(sizes="(dist.get_world_size(),)", names="('shard',)")
OFF = "model.set_requires_all_reduce(False)  # fault"
FINALIZED = f"{MANUAL}  # fault"


def meshed(mesh: str, text: str) -> str:
    text = text.replace("fully_shard(layer)", "fully_shard(layer, mesh=mesh)")
    text = text.replace("fully_shard(model)", "fully_shard(model, mesh=mesh)")
    return text.replace("model = Net()\n", f"{mesh}model = Net()\n", 1)


UNREDUCED = {
    "replicas": meshed(REPLICAS, loop(before=OFF)),
    "replicas, once for all": meshed(REPLICAS, loop(first=OFF)),
    "not finalized": loop(first=FINALIZED),
    "not switched on before it is finalized": loop(FINISH, first=MANUAL, before=f"{NO_SYNC}  # fault"),
    "neither switched on nor finalized": loop(first=MANUAL, before=f"{NO_SYNC}  # fault"),
}
REDUCED = {
    "one replica": meshed(ONE, loop(before=OFF)),
    "replicas by a condition": meshed(
        REPLICAS, loop(before="model.set_requires_all_reduce(os.environ['LAST'] == '1')")
    ),
    "both are switched on": meshed(REPLICAS, loop(before=f"{OFF}\nmodel.set_requires_gradient_sync(True)")),
    "finalized": loop(FINISH, first=MANUAL),
    "finalized by a condition": loop(f"if os.environ['LAST']:\n    {FINISH}", first=MANUAL),
    "finalized and waited for": loop("model.finalize_backward(async_op=True).wait()", first=MANUAL),
    "all micro-batches at once, as torch says": loop(f"{SYNC}\n{FINISH}", first=MANUAL, before=NO_SYNC),
    "finalized by code that is not followed": loop(
        f"{SYNC}\nplugins.run()",
        first=f"import plugins\n{MANUAL}\nplugins.before_step(lambda: {FINISH})",
        before=NO_SYNC,
    ),
}


@pytest.mark.parametrize("name", UNREDUCED)
def test_gradients_that_are_not_reduced(name: str) -> None:
    assert rows(UNREDUCED[name], "FSDP604") == marked(UNREDUCED[name])


@pytest.mark.parametrize("name", REDUCED)
def test_gradients_that_are_reduced(name: str) -> None:
    assert rows(REDUCED[name], "FSDP604") == []


@pytest.mark.parametrize(
    ("code", "text", "verdict"),
    [
        ("FSDP604", REDUCED["finalized"], "upheld"),
        ("FSDP604", REDUCED["all micro-batches at once, as torch says"], "upheld"),
        ("FSDP604", REDUCED["finalized by a condition"], "unknown"),
        ("FSDP604", REDUCED["finalized and waited for"], "unknown"),
        ("FSDP604", REDUCED["finalized by code that is not followed"], "unknown"),
        ("FSDP614", SEEN["after finalize_backward()"], "upheld"),
        ("FSDP614", SEEN["some of them, before finalize_backward()"], "unknown"),
    ],
)
def test_only_what_was_seen_is_upheld(code: str, text: str, verdict: str) -> None:
    assert analyse(text).verdicts(code) == {verdict}


ROUNDS = """
for tokens in loader:
    for micro in range(4):
        {before}
        F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
    print(F.linear(torch.ones(1), model.head.weight))  # fault
"""


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("model.set_reshard_after_backward(micro == 3)", True),
        ("model.set_reshard_after_backward(micro + 1 == 4)", True),
        ("model.set_reshard_after_backward(False)", False),
        ("model.set_reshard_after_backward(micro == 0)", False),
        ("model.set_reshard_after_backward(micro == 2)", False),
        ("model.set_reshard_after_backward(os.environ['KEEP'] == '0')", False),
    ],
)
def test_weights_that_the_last_backward_has_resharded(before: str, found: bool) -> None:
    text = HEAD + ROUNDS.format(before=before)
    assert rows(text, "FSDP404") == (marked(text) if found else [])
