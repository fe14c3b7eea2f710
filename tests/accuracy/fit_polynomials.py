#!/usr/bin/env python3
"""Writes runtime/jit/math/math_tables.h: the polynomials of generated math, fitted by Remez' exchange.

    fit_polynomials.py > runtime/jit/math/math_tables.h

Each row of FITS: name, bits of the type that holds the coefficients, degree, interval of the variable, the function to
fit, and the weight that makes the error relative to the result. Wants mpmath."""
import struct
import sys

from mpmath import (asin, atan, cbrt, cos, erf, erfc, exp, expm1, linspace, log, log1p, lu_solve, matrix, mp, mpf, pi,
                    sin, sqrt, tan, tanh)

mp.dps = 60


def remez(f, weight, a, b, degree, rounds=12):
    """Coefficients, lowest first, of the polynomial with the least weight * |p - f| on [a, b]."""
    count = degree + 2
    # Not quite in the middle, where weights have their zeros.
    nodes = [(a + b) / 2 - (b - a) / 2 * cos(pi * (2 * i + mpf("1.03")) / (2 * count)) for i in range(count)]
    grid = [(a + b) / 2 - (b - a) / 2 * cos(pi * (i + mpf(1) / 2) / (24 * count)) for i in range(24 * count)]
    values = [f(x) for x in grid]
    weights = [abs(weight(x)) for x in grid]
    coefficients = None
    for _ in range(rounds):
        system, right = matrix(count, count), matrix(count, 1)
        for i, x in enumerate(nodes):
            for k in range(degree + 1):
                system[i, k] = abs(weight(x)) * x ** k
            system[i, degree + 1] = (-1) ** i
            right[i] = abs(weight(x)) * f(x)
        solved = lu_solve(system, right)
        coefficients = [solved[k] for k in range(degree + 1)]
        errors = [w * (evaluate(coefficients, x) - v) for x, v, w in zip(grid, values, weights)]
        peaks = alternating_peaks(errors)
        if len(peaks) < count:
            break
        while len(peaks) > count:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        moved = [grid[i] for i in peaks]
        if max(abs(m - n) for m, n in zip(moved, nodes)) < (b - a) * mpf(10) ** -9:
            break
        nodes = moved
    return coefficients


def evaluate(coefficients, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def alternating_peaks(errors):
    """Places of the largest error of each run of one sign."""
    peaks = []
    for i, e in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    return peaks


def rounded(x, bits):
    x = float(x) if bits == 64 else struct.unpack("f", struct.pack("f", float(x)))[0]
    return mpf(x)


LN2 = log(mpf(2))
SQRT2 = sqrt(mpf(2))
R = LN2 / 2 * mpf("1.003")      # argument left by exp
Q = pi / 4 * mpf("1.012")       # and by sine
ROOT = lambda f: (lambda z: f(sqrt(z)))
TANH_END = mpf("0.5625")
ERF_END = mpf("0.9375")

FITS = [
    # e^r = 1 + r + r^2 P(r)
    ("exp_f32", 32, 4, -R, R, lambda r: (expm1(r) - r) / r ** 2, lambda r: r ** 2 / exp(r)),
    ("exp_f64", 64, 9, -R, R, lambda r: (expm1(r) - r) / r ** 2, lambda r: r ** 2 / exp(r)),
    ("exp_fast", 64, 5, -R, R, lambda r: (expm1(r) - r) / r ** 2, lambda r: r ** 2 / exp(r)),
    ("expm1_f32", 32, 4, -R, R, lambda r: (expm1(r) - r) / r ** 2, lambda r: r ** 2 / expm1(r)),
    ("expm1_f64", 64, 10, -R, R, lambda r: (expm1(r) - r) / r ** 2, lambda r: r ** 2 / expm1(r)),
    ("expm1_fast", 64, 6, -R, R, lambda r: (expm1(r) - r) / r ** 2, lambda r: r ** 2 / expm1(r)),
    # log(1 + f) = f - f^2 / 2 + f^3 P(f)
    ("log_f32", 32, 7, 1 / SQRT2 - 1, SQRT2 - 1, lambda f: (log1p(f) - f + f * f / 2) / f ** 3,
     lambda f: f ** 3 / log1p(f)),
    # log(1 + u) = u + u^2 P(u) for 0 <= u <= 1
    ("log1p_unit_f32", 32, 9, mpf("1e-6"), mpf(1), lambda u: (log1p(u) - u) / u ** 2, lambda u: u ** 2 / log1p(u)),
    # log((1 + s) / (1 - s)) = 2 s + s z P(z), z = s^2
    ("log_f64", 64, 6, mpf(0), mpf("0.02945"), ROOT(lambda s: (log((1 + s) / (1 - s)) - 2 * s) / s ** 3),
     ROOT(lambda s: s ** 2)),
    ("log_fast", 64, 3, mpf(0), mpf("0.02945"), ROOT(lambda s: (log((1 + s) / (1 - s)) - 2 * s) / s ** 3),
     ROOT(lambda s: s ** 2)),
    # the same, 2 s + 2/3 s z + s z^2 P(z)
    ("log_tail_f64", 64, 6, mpf(0), mpf("0.02945"),
     ROOT(lambda s: (log((1 + s) / (1 - s)) - 2 * s - 2 * s ** 3 / 3) / s ** 5), ROOT(lambda s: s ** 4)),
    # sin r = r + r z P(z), cos r = 1 - z / 2 + z^2 P(z)
    ("sin_f32", 32, 3, mpf(0), Q ** 2, ROOT(lambda r: (sin(r) - r) / r ** 3), ROOT(lambda r: r ** 3 / sin(r))),
    ("sin_f64", 64, 5, mpf(0), Q ** 2, ROOT(lambda r: (sin(r) - r) / r ** 3), ROOT(lambda r: r ** 3 / sin(r))),
    ("cos_f32", 32, 2, mpf(0), Q ** 2, ROOT(lambda r: (cos(r) - 1 + r * r / 2) / r ** 4),
     ROOT(lambda r: r ** 4 / cos(r))),
    ("cos_f64", 64, 5, mpf(0), Q ** 2, ROOT(lambda r: (cos(r) - 1 + r * r / 2) / r ** 4),
     ROOT(lambda r: r ** 4 / cos(r))),
    ("tan_f64", 64, 13, mpf(0), Q ** 2, ROOT(lambda r: (tan(r) - r) / r ** 3), ROOT(lambda r: r ** 3 / tan(r))),
    ("tan_fast", 64, 6, mpf(0), Q ** 2, ROOT(lambda r: (tan(r) - r) / r ** 3), ROOT(lambda r: r ** 3 / tan(r))),
    # tanh x = x + x z P(z)
    ("tanh_f32", 32, 4, mpf(0), TANH_END ** 2, ROOT(lambda x: (tanh(x) - x) / x ** 3),
     ROOT(lambda x: x ** 3 / tanh(x))),
    ("tanh_f64", 64, 10, mpf(0), TANH_END ** 2, ROOT(lambda x: (tanh(x) - x) / x ** 3),
     ROOT(lambda x: x ** 3 / tanh(x))),
    # atan t = t + t z P(z)
    ("atan_f64", 64, 10, mpf(0), mpf("0.4146") ** 2, ROOT(lambda x: (atan(x) - x) / x ** 3),
     ROOT(lambda x: x ** 3 / atan(x))),
    ("atan_fast", 64, 4, mpf(0), mpf("0.4146") ** 2, ROOT(lambda x: (atan(x) - x) / x ** 3),
     ROOT(lambda x: x ** 3 / atan(x))),
    # asin x = x + x z P(z)
    ("asin_f64", 64, 11, mpf(0), mpf("0.2501"), ROOT(lambda x: (asin(x) - x) / x ** 3),
     ROOT(lambda x: x ** 3 / asin(x))),
    ("asin_fast", 64, 5, mpf(0), mpf("0.2501"), ROOT(lambda x: (asin(x) - x) / x ** 3),
     ROOT(lambda x: x ** 3 / asin(x))),
    # m^(-1/3) for 1 <= m < 2, a first guess
    ("cbrt_guess", 64, 4, mpf(1), mpf(2), lambda m: 1 / cbrt(m), lambda m: cbrt(m)),
    # erf x = 1 - exp(-x - x P(x)) for f32
    ("erf_f32", 32, 8, mpf("1e-6"), mpf("3.93"), lambda x: -log(erfc(x)) / x - 1, lambda x: x * erfc(x) / erf(x)),
    # for f64 erf x = x P(z) near 0; beyond,
    ("erf_near_f64", 64, 11, mpf(0), ERF_END ** 2, ROOT(lambda x: erf(x) / x - 1), ROOT(lambda x: x / erf(x))),
    # erfc x = exp(-x^2) P(t), t = (x - 2) / (x + 2)
    ("erf_far_f64", 64, 18, (ERF_END - 2) / (ERF_END + 2), mpf(4) / 8,
     lambda t: exp((2 * (1 + t) / (1 - t)) ** 2) * erfc(2 * (1 + t) / (1 - t)),
     lambda t: exp(-(2 * (1 + t) / (1 - t)) ** 2)),
    # 2^r = 1 + r P(r), |r| <= 1/2
    ("exp2_fast", 64, 6, mpf("-0.501"), mpf("0.501"), lambda r: (mpf(2) ** r - 1) / r, lambda r: r / mpf(2) ** r),
]


def write_table(name, bits, degree, a, b, f, weight):
    exact = remez(f, weight, a, b, degree)
    kept = [rounded(c, bits) for c in exact]
    points = linspace(a, b, 2001)[1:-1]
    error = max(abs(weight(x)) * abs((evaluate(kept, x) - f(x))) for x in points if x != 0)
    print(f"/* error 2^{float(log(error) / LN2):.1f} */")
    print(f"static const double math_{name}[] __attribute__((unused)) = {{")
    line = "   "
    for c in kept:
        word = f" {float(c).hex()},"
        if len(line) + len(word) > 118:
            print(line)
            line = "   "
        line += word
    print(line + "\n};\n")
    print(name, f"2^{float(log(error) / LN2):.1f}", file=sys.stderr)


def main():
    print("/* Polynomials of generated math, lowest power first, with the largest relative error of the result.\n"
          " * Generated by tests/accuracy/fit_polynomials.py, which defines what they approximate and where. */")
    print("#ifndef JIT_MATH_TABLES_H\n#define JIT_MATH_TABLES_H\n")
    for row in FITS:
        if len(sys.argv) < 2 or row[0] in sys.argv[1:]:
            write_table(*row)
    print("#endif")


main()
