"""The contract: one module and one page of Markdown per clause. Installed as ``fsdp2_lint.rules``."""
