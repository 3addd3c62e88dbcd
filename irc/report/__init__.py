"""What a page about a compilation shows, and the page. `irc.driver.reporting` runs the passes and gives what it saw.

`columns` has the texts of the levels with the places in the program that each line comes from; `machine` those of the
kernels' CUDA C++ and SASS; `changes` what each pass did; `kernels` the configs and resources of kernels, `layouts`
their layouts as grids, `timeline` the pipeline of a block; `counts` what the simulator counts. `page` makes one HTML
file of it, with `page.css` and `page.js` in it; `kernels_page` and `counts_page` are its larger parts.
"""
