"""What is said of a save is what one run has in it: no fallback for an error that nobody saw, no two alternatives."""

from __future__ import annotations

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

KINDS = "from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict\n"
ATTEMPT = """
try:
    state = {tried}
except Exception:
    state = {otherwise}
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""
WHOLE = "get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))"
SHARDS = "model.state_dict()"


def test_a_fallback_may_never_be_taken() -> None:
    assert "FSDP701" not in analyse(main(SHARDED + ATTEMPT.format(tried=WHOLE, otherwise=SHARDS), KINDS)).codes


def test_what_is_tried_is_saved() -> None:
    assert "FSDP701" in analyse(main(SHARDED + ATTEMPT.format(tried=SHARDS, otherwise="None"), KINDS)).codes


OPTIMIZERS = """
if sys.argv[1] == "adamw":
    optimizer = torch.optim.AdamW(model.parameters())
elif sys.argv[1] == "sgd":
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
else:
    optimizer = torch.optim.NAdam(model.parameters())
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "all.pt")
"""


def test_one_optimizer_of_several() -> None:
    (message,) = [
        each.message for each in analyse(main(SHARDED + OPTIMIZERS)).result.findings if each.code == "FSDP701"
    ]
    assert message.count("the state of") == 1 and "the state dict of Net and the state of AdamW" in message
