/* A Hermitian matrix to a tridiagonal one by reflectors, as LAPACK's sytrd does for its lower
 * triangle: Q^H A Q = T. */
#ifndef HLO_OPS_TRIDIAGONAL_H
#define HLO_OPS_TRIDIAGONAL_H

#include "ops/kernels/linalg/reflectors.h"

/* Scratch memory of one matrix; aligned to 64 bytes. */
size_t tridiagonal_bytes(const split_matrix_kind_t *kind, int64_t n);
/* a: n x n, of which the lower triangle counts; it is overwritten. diagonal: n, beside: n - 1
 * numbers (reals of the kind). r: n - 1 reflectors of length n and offset 1, whose vectors and taus
 * are found. space: as for reflectors. */
void tridiagonal_reduce(hr_workers_t *workers, const reflectors_t *r, split_matrix_t a, int64_t n,
                        void *diagonal, void *off_diagonal, void *memory, char *space);

#endif
