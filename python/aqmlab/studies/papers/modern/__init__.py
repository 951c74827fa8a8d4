"""Study of CAKE, DualPI2 and L4S, and BBRv3 in homes of 2026, and claims of their sources."""
