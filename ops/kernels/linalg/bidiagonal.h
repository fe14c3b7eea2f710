/* Reduction of an m x n matrix, m >= n, to upper bidiagonal form by reflectors from both sides,
 * like LAPACK's gebrd: Q^H A P = B. */
#ifndef HLO_OPS_BIDIAGONAL_H
#define HLO_OPS_BIDIAGONAL_H

#include "ops/kernels/linalg/reflectors.h"

/* Scratch bytes for one matrix, to be aligned to 64 bytes. */
size_t bidiagonal_bytes(const split_matrix_kind_t *kind, int64_t m, int64_t n);
/* Reduces `a`.
 * Shape:   a is m x n, padded with zeros, and destroyed. diagonal has n, superdiagonal n - 1 reals
 *          of the kind. left: n reflectors of length m; right: n - 1 of length n and offset 1.
 *          Their vectors and taus are set.
 * Memory:  bidiagonal_bytes at `memory`; `space` as for reflectors, one piece per worker.
 * Cost:    4 n^2 (m - n / 3) flops, half of them in products that read the matrix once per column.
 * Source:  LAPACK gebrd, labrd. */
void bidiagonal_reduce(hr_workers_t *workers, const reflectors_t *left, const reflectors_t *right,
                       split_matrix_t a, void *diagonal, void *superdiagonal, void *memory,
                       char *space);

#endif
