"""The operator's file: read, checked, and turned into the vocabulary of `fleet`."""
