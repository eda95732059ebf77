"""What torch does, a folder for each topic of the contract."""
