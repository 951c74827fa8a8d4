"""Other simulators, as engines that `aqmlab validate --peer` holds against the kernel."""
