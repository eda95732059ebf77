"""A job of any size, rehearsed without GPUs: the script runs once per class of ranks, in a world that is made up.

``rehearsal`` starts the processes, ``stage`` is one of them, ``world`` is what the script believes in, ``plan`` what is
read of the model and its memory, ``page`` how that is shown.
"""
