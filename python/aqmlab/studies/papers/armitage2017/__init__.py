"""Armitage, Kennedy, Nguyen, Thomas and Ewing (2017): households and the need for speed."""
