"""What dumped Kubernetes objects say of cards, layouts, shares and tenants, and what is wrong with them.

Pure functions of plain JSON: nothing here asks a cluster. What is not understood is a finding, never a zero.
"""
