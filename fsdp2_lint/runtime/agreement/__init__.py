"""What ranks have in common, and how they compare it: digests, sequences of collectives, the job's store."""
