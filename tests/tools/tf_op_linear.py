"""Random calls of TensorFlow's spectra and linear algebra for check_tf_ops.py; rows of OPS as in tf_op_calls.py."""
import itertools

import numpy as np
import tensorflow as tf

from tf_op_calls import C, OPS, R, ops


# --- spectra, linear algebra ---
@ops("FFT FFT2D FFT3D IFFT IFFT2D IFFT3D")
def _(Tcomplex):
    yield {"input": R(Tcomplex, 2, 4, 6, 5)}


@ops("RFFT")
def _(Treal, Tcomplex):
    yield from real_fft(Treal, Tcomplex, 1)


@ops("RFFT2D")
def _(Treal, Tcomplex):
    yield from real_fft(Treal, Tcomplex, 2)


@ops("RFFT3D")
def _(Treal, Tcomplex):
    yield from real_fft(Treal, Tcomplex, 3)


def real_fft(Treal, Tcomplex, rank):
    if (Treal == "float64") == (Tcomplex == "complex128"):
        yield {"input": R(Treal, 2, 4, 6, 8), "fft_length": C([4, 6, 8][-rank:]), "Tcomplex": Tcomplex}
        yield {"input": R(Treal, 2, 4, 6, 8), "fft_length": C([3, 5, 9][-rank:]), "Tcomplex": Tcomplex}


def inverse_real_fft(rank):
    def calls(Treal, Tcomplex):
        if (Treal == "float64") == (Tcomplex == "complex128"):
            yield {"input": R(Tcomplex, 2, 4, 6, 5), "fft_length": C([4, 6, 8][-rank:]), "Treal": Treal}
    return calls


for rank, name in ((1, "IRFFT"), (2, "IRFFT2D"), (3, "IRFFT3D")):
    OPS[name] = inverse_real_fft(rank)


def definite(T, n):
    x = R(T, 2, n, n)
    wide = x.astype(np.complex128 if tf.as_dtype(T).is_complex else np.float64)
    return (wide @ np.conj(np.swapaxes(wide, -1, -2)) + n * np.eye(n)).astype(x.dtype)


@ops("Cholesky")
def _(T):
    yield {"input": definite(T, 4)}


@ops("MatrixDeterminant LogMatrixDeterminant")
def _(T):
    yield {"input": R(T, 2, 3, 4, 4)}
    yield {"input": R(T, 5, 5) * np.asarray([[0], [1], [1], [1], [1]], tf.as_dtype(T).as_numpy_dtype)}


@ops("Lu")
def _(T, output_idx_type):
    if not tf.as_dtype(T).is_complex:  # TensorFlow and LAPACK choose other pivots of complex numbers
        yield {"input": R(T, 2, 3, 5, 5), "output_idx_type": output_idx_type}


@ops("MatrixInverse")
def _(T):
    for adjoint in (False, True):
        yield {"input": definite(T, 4) + R(T, 2, 4, 4), "adjoint": adjoint}


@ops("MatrixSolve")
def _(T):
    for adjoint in (False, True):
        yield {"matrix": definite(T, 4) + R(T, 2, 4, 4), "rhs": R(T, 2, 4, 3), "adjoint": adjoint}


@ops("MatrixTriangularSolve")
def _(T):
    for lower, adjoint in itertools.product((False, True), repeat=2):
        yield {"matrix": definite(T, 4), "rhs": R(T, 2, 4, 3), "lower": lower, "adjoint": adjoint}


@ops("TridiagonalSolve")
def _(T):
    yield {"diagonals": R(T, 2, 3, 5) + np.array([[0], [6], [0]], tf.as_dtype(T).as_numpy_dtype), "rhs": R(T, 2, 5, 3),
           "partial_pivoting": False}


@ops("TridiagonalMatMul")
def _(T):
    yield {"superdiag": R(T, 2, 1, 5), "maindiag": R(T, 2, 1, 5), "subdiag": R(T, 2, 1, 5), "rhs": R(T, 2, 5, 3)}
