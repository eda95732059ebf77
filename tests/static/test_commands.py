"""Programs that are commands: each is followed from the script on, and a default is not what an option must be."""

from __future__ import annotations

import pytest

from .program import HEAD, NET, analyse

TRAIN = """
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = Net()
    {early}
    if shard:
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    optimizer = {optimizer}
    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
    optimizer.step()
"""
START = "\n\nif __name__ == '__main__':\n    {start}\n"
WAYS = {
    "click": ("import click\n@click.command()\n@click.option('--shard', is_flag=True)\ndef main(shard):", "main()"),
    "a group of click": (
        "import click\n@click.group()\ndef cli():\n    pass\n@cli.command()\ndef other():\n    pass\n"
        "@cli.command('go')\n@click.option('--shard', is_flag=True)\ndef main(shard):",
        "cli()",
    ),
    "a group with options": (
        "import click\n@click.group()\n@click.pass_context\ndef cli(ctx):\n    ctx.obj = {}\n"
        "@cli.command\n@click.pass_obj\ndef main(settings, shard):",
        "cli(obj={})",
    ),
    "typer": (
        "import typer\napp = typer.Typer(help='x')\n@app.command()\ndef main(shard: bool = typer.Option(False)):",
        "app()",
    ),
    "two commands of typer": (
        "import typer\napp = typer.Typer()\n@app.command()\ndef main(shard: bool = False):",
        "app()",
    ),
    "typer.run": ("import typer\ndef main(shard: bool = False):", "typer.run(main)"),
    "fire": ("import fire\ndef main(shard=False):", "fire.Fire(main)"),
    "a table for fire": ("import fire\ndef main(*, shard=False):", "fire.Fire({'train': main, 'print': print})"),
    "tyro": ("import tyro\ndef main(shard: bool = False) -> None:", "tyro.cli(main)"),
    "jsonargparse": ("from jsonargparse import CLI\ndef main(shard: bool = False):", "CLI(main)"),
}


def program(way: tuple[str, str], early: str = "pass", optimizer: str = "torch.optim.AdamW(model.parameters())") -> str:
    head, start = way
    return f"{HEAD}{NET}\n{head}{TRAIN.format(early=early, optimizer=optimizer)}{START.format(start=start)}"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_fault_behind_an_option_that_is_off_by_default(way: tuple[str, str]) -> None:
    found = analyse(program(way, "early = torch.optim.AdamW(model.parameters())", "early"))
    assert found.codes == ["FSDP601"]
    assert found.verdicts("FSDP303") == {"upheld"}, "its callers were seen, so what is not there is not anywhere"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_without_a_fault(way: tuple[str, str]) -> None:
    assert analyse(program(way)).codes == []


def test_a_command_of_another_file_that_registers_itself() -> None:
    head = "from cli import app\n@app.command()\ndef main(shard: bool = False):"
    train = program((head, "app()"), "early = torch.optim.AdamW(model.parameters())", "early")
    assert analyse({"cli.py": "import typer\napp = typer.Typer()\n", "train.py": train}).codes == ["FSDP601"]


def test_commands_do_not_run_one_after_the_other() -> None:
    """What one command does is not there for the other: only one of them runs."""
    commands = (
        "import typer\napp = typer.Typer()\nmodel = Net()\n"
        "@app.command()\ndef shard():\n    fully_shard(model)\n"
        "@app.command()\ndef train():\n    optimizer = torch.optim.AdamW(model.parameters())\n"
        "    model(torch.ones(2, 8, dtype=torch.long)).sum().backward()\n    optimizer.step()\n"
        "@app.command()\ndef again():\n    fully_shard(model)\n"
    )
    assert not {"FSDP601", "FSDP305"} & {*analyse(f"{HEAD}{NET}\n{commands}{START.format(start='app()')}").codes}
