"""The packaged studies: a folder for each paper. Nothing outside knows any of them by name."""
