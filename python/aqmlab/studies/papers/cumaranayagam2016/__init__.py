"""Cumaranayagam (2016): three staggered uploads, and low-rate datagrams beside them."""
