"""What an analysis said before, kept for as long as everything that it depended on is the same."""
