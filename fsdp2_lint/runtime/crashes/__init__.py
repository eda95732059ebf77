"""Errors of torch that end a job: what they say of the contract."""
