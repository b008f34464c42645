"""Placement replayed on openb, a published list of hosts and pods of a GPU-sharing cluster.

The protocol is that of its authors (Weng et al., FGD, USENIX ATC 2023): an empty cluster, pods arrive one
by one in random order until they have asked for 130 % of its cards, nothing leaves, a pod that does
not fit fails. A second one lets pods leave.
"""
