"""The variables in which launchers tell a process its place in the job: torchrun, SLURM, Open MPI, PMI, MVAPICH."""

from __future__ import annotations

from collections.abc import Mapping

WORLD_SIZE = "WORLD_SIZE"
# By name, which rank it is: in the job, on its node, or of its node.
RANKS: Mapping[str, str] = {
    "RANK": "global", "LOCAL_RANK": "local", "GROUP_RANK": "node", "SLURM_PROCID": "global", "SLURM_LOCALID": "local",
    "OMPI_COMM_WORLD_RANK": "global", "OMPI_COMM_WORLD_LOCAL_RANK": "local", "NODE_RANK": "node",
    "PMI_RANK": "global", "PMIX_RANK": "global", "MV2_COMM_WORLD_RANK": "global", "MV2_COMM_WORLD_LOCAL_RANK": "local",
    "MPI_LOCALRANKID": "local", "SLURM_NODEID": "node",
}  # fmt: skip
