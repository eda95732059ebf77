"""What people read of a rehearsal. Without torch: the process that asked for the rehearsal writes it."""
