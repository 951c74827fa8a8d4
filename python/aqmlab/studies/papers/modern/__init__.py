"""CAKE, L4S under DualPI2, and BBRv3 in a home of 2026, and the claims of their sources."""
