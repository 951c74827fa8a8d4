"""The packaged studies: one folder per paper.

Code outside this folder contains no name of a study.
"""
