"""Coefficients of approximations that several backends compute."""

ERF_UPPER = (1.12837875, 0.374157518, 0.0736184865, 0.0106844185, 0.00027240155, -1.56465921e-06)
ERF_LOWER = (1.0, 0.664911211, 0.186934188, 0.0289903674, 0.0025254481)
"""erf(x) / x as a quotient of polynomials in x ** 2, that of degree 0 first, for |x| <= 3.84, from where on erf is 1 in
float: relative error 3.3e-7, in float 6.3e-7. Fitted by Lawson's iteration on weighted least squares."""
