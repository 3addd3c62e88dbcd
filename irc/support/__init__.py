"""What has nothing to do with IR: diagnostics, files, the cache on disk, rounded integers."""
