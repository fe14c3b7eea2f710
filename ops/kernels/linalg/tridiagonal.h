/* Reduction of a Hermitian matrix to real tridiagonal form by reflectors, like LAPACK's sytrd
 * (hetrd) for the lower triangle: Q^H A Q = T. */
#ifndef HLO_OPS_TRIDIAGONAL_H
#define HLO_OPS_TRIDIAGONAL_H

#include "ops/kernels/linalg/reflectors.h"

/* Scratch bytes for one matrix, to be aligned to 64 bytes. */
size_t tridiagonal_bytes(const split_matrix_kind_t *kind, int64_t n);
/* Reduces `a`.
 * Shape:   a is n x n with n = r->length; its lower triangle is read, all of it is destroyed.
 *          diagonal has n, off_diagonal n - 1 reals of the kind. r: n - 1 reflectors of length n
 *          and offset 1; their vectors and taus are set.
 * Memory:  tridiagonal_bytes at `memory`; `space` as for reflectors, one piece per worker.
 * Cost:    4/3 n^3 flops, half of them in products that read the matrix once per column.
 * Source:  LAPACK sytrd, latrd. */
void tridiagonal_reduce(hr_workers_t *workers, const reflectors_t *r, split_matrix_t a,
                        void *diagonal, void *off_diagonal, void *memory, char *space);

#endif
