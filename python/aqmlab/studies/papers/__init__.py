"""The packaged studies: one folder per paper. Code outside this folder names none of them."""
