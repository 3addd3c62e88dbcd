"""What a page about a compilation is made of. `irc.driver.reporting` runs the passes and gives what it saw.

`columns` has the texts of the levels with the places in the program that each line comes from; `machine` those of the
kernels' CUDA C++ and SASS; `changes` what each pass did. `page` makes one HTML file of it, with `page.css` and
`page.js` in it.
"""
