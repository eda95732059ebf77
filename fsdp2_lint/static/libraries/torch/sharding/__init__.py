"""Modules, how they hold each other, and what is sharded of them."""
