"""The contract: one module and one page of Markdown per rule. Installed as ``fsdp2_lint.rules``."""
