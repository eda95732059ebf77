"""A small process on each node that shares no lock with the training: it sees what a rank cannot say of itself.

The ranks start it and write heartbeats; it reads them, looks at the processes, and writes down what it sees next to
the reports of the ranks. It knows nothing of torch, and ends with the ranks of its node.
"""
