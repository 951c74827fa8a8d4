"""Kua, Nguyen, Armitage and Branch (2017): IoT flows in a home."""
