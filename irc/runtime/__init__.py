"""Running what was compiled: arrays, the host plan, arenas, streams, and the targets cpu, interpret, sim and cuda."""
