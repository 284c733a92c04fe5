"""The functions behind the verbs of the command line that belong to no single package."""
