"""Boerlage and Collom (2016): seven mixes of traffic on 55 pairs of speeds."""
