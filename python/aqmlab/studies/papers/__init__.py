"""The packaged studies: one folder per paper.

Code outside this folder does not depend on the name of a study.
"""
