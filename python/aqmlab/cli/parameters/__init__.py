"""The parameters of each command, as the option parser and the command read them."""
