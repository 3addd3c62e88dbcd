"""From a program to something that runs: `compiler` is `irc.compile`, `pipelines` has the passes in order, `lowering`
runs them, `build` makes the artifact of their result."""
