"""Forward and backward: how they are entered, in which order, and how they end."""
