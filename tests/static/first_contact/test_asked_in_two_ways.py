"""One setting decides the sharding and the gathering, and is asked in two ways."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

RUN = """
{made}
groups, parts, words, done = [], {{}}, [], set()
model = Net()
if {shards}:
    fully_shard(model)
    groups, parts["a"] = [1, 2], 1
    words.append("fsdp")
    done.add(model)
if {gathers}:
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
else:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""
MADE = [
    "kind = sys.argv[1]",
    'kind = os.environ.get("KIND", "fsdp")',
    'kind = yaml.safe_load(open("run.yaml"))["kind"]',
]


def saved(made: str, shards: str, gathers: str) -> bool:
    return "FSDP701" in analyse(main(RUN.format(made=made, shards=shards, gathers=gathers))).codes


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("shards, gathers", [
    ('kind == "fsdp"', 'kind.startswith("fs")'),
    ('kind == "fsdp"', 'kind.endswith(("sdp", "sdp2"))'),
    ('kind == "fsdp"', '"sdp" in kind'),
    ('kind in ("fsdp", "hsdp")', '"sdp" in kind'),
    ('kind.startswith("fsdp")', '"fs" in kind'),
    ('"fsdp2" in kind', '"fsdp" in kind'),
    ('kind.startswith("fsdp")', 'kind not in ("ddp", "none")'),
    ('kind == "fsdp"', 'kind in {"fsdp": 1, "hsdp": 2}'),
])  # fmt: skip
def test_how_a_text_is_spelled(made: str, shards: str, gathers: str) -> None:
    assert not saved(made, shards, gathers)
    assert saved(made, shards, "'ddp' in kind and not kind.endswith('p')")


@pytest.mark.parametrize("shards, gathers", [
    ('kind.startswith("fs")', 'kind == "fsdp"'),
    ('"sdp" in kind', 'kind.startswith("fsdp")'),
    ('kind in ("fsdp", "hsdp")', 'kind.startswith("fs")'),
    ('not kind.startswith("ddp")', '"fsdp" in kind'),
])  # fmt: skip
def test_a_text_that_may_be_spelled_otherwise(shards: str, gathers: str) -> None:
    assert saved(MADE[0], shards, gathers)


@pytest.mark.parametrize("asked", [
    "groups", "len(groups) > 0", "len(groups) == 2", "parts", "bool(parts)", "words", "len(words) == 1",
    "model in done", '"fsdp" in words', "done", "[False, True][kind == 'fsdp']", "{True: 1, False: 0}[kind == 'fsdp']",
    '[each for each in ("fsdp", "hsdp") if each == kind]',
])  # fmt: skip
def test_what_was_filled_where_it_was_sharded(asked: str) -> None:
    assert not saved(MADE[0], 'kind == "fsdp"', asked)
    assert saved(MADE[0], 'kind == "fsdp"', f"not ({asked})")


def test_what_a_round_of_a_loop_adds_may_never_be_added() -> None:
    made = "kind, found = sys.argv[1], []\nfor each in range(len(sys.argv)):\n    found.append(1)"
    assert saved(made, 'kind == "fsdp"', "found")
