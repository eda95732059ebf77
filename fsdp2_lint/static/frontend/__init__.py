"""From files to names: what is read and parsed, what imports lead to, what packages are known to do."""
