"""The commands of the command line, a module each; ``foreslice.cli`` puts them together."""
