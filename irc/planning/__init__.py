"""What build-host-plan is made of: the order of launches on streams, launches in groups, the arena of arrays."""
