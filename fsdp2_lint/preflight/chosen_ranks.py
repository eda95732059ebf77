"""Which ranks are rehearsed: one of each class in which scripts tell ranks apart."""

from __future__ import annotations


def chosen_ranks(world_size: int, per_node: int) -> tuple[int, ...]:
    """The first rank and its neighbour, the first of the second node, one in the middle, and the last.

    Scripts ask for rank 0, for the first GPU of a node, for the last rank, and meshes put neighbours and the same GPU
    of all nodes into groups: each of these ranks shares a group with another one of them, so that the two can be
    compared. The number does not grow with the world.
    """
    if world_size < 1 or per_node < 1:
        raise ValueError("a job has at least one rank, and a node at least one GPU")
    middle = world_size // 2 // per_node * per_node or world_size // 2
    wanted = {0, 1, per_node, middle, world_size - 1}
    return tuple(sorted(rank for rank in wanted if rank < world_size))
