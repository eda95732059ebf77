"""The table of packages: what it says, and that it can be read by people."""

from __future__ import annotations

import pytest

from fsdp2_lint.static.frontend import packages


def test_each_row_has_an_effect_and_a_reason() -> None:
    for name, (effect, reason) in packages.rows().items():
        assert effect in packages.EFFECTS, name
        assert reason.strip(), name


def test_each_row_is_needed() -> None:
    for name, (effect, _) in packages.rows().items():
        above = name.rpartition(".")[0]
        said = packages.effect_of(above) if above and above != "builtins" else ""
        assert effect != said or said == packages.ANYTHING and above not in packages.rows(), name


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("transformers.AutoModelForCausalLM.from_pretrained", packages.MODELS),
        ("transformers.get_scheduler", packages.MODELS),
        ("transformers.Adafactor", packages.OPTIMIZERS),
        ("transformers.TrainingArguments", packages.ANYTHING),
        ("timm.create_model", packages.MODELS),
        ("timm.optim.create_optimizer_v2", packages.OPTIMIZERS),
        ("apex.amp.initialize", packages.ANYTHING),
        ("apex.optimizers.FusedAdam", packages.OPTIMIZERS),
        ("peft.LoraConfig", packages.ALONE),
        ("peft.prepare_model_for_kbit_training", packages.ANYTHING),
        ("bitsandbytes.optim.AdamW8bit", packages.OPTIMIZERS),
        ("cut_cross_entropy.linear_cross_entropy", packages.ALONE),
        ("cut_cross_entropy.transformers.cce_patch", packages.ANYTHING),
        ("math.sqrt", packages.ALONE),
        ("subprocess.run", packages.ALONE),
        ("torchish.nn.Linear", packages.ANYTHING),
        ("tqdmlike.tqdm", packages.ANYTHING),
    ],
)
def test_the_longest_name_decides(name: str, effect: str) -> None:
    assert packages.effect_of(name) == effect


def test_a_function_that_may_build_an_optimizer_is_not_harmless() -> None:
    assert not packages.is_harmless("timm.optim.create_optimizer_v2")
    assert packages.is_optimizer("timm.optim.Lamb")
    assert not packages.is_optimizer("timm.optim.create_optimizer_v2")


def test_schedules_of_known_packages_leave_optimizers_alone() -> None:
    assert packages.is_harmless("torch.optim.lr_scheduler.LambdaLR")
    assert packages.is_harmless("transformers.get_cosine_schedule_with_warmup")
    assert not packages.is_harmless("transformers_extra.get_cosine_schedule_with_warmup")
