/* A matrix with at least as many rows as columns to an upper bidiagonal one by reflectors from both
 * sides, as LAPACK's gebrd does: Q^H A P = B. */
#ifndef HLO_OPS_BIDIAGONAL_H
#define HLO_OPS_BIDIAGONAL_H

#include "ops/kernels/linalg/reflectors.h"

/* Scratch memory of one matrix; aligned to 64 bytes. */
size_t bidiagonal_bytes(const split_matrix_kind_t *kind, int64_t m, int64_t n);
/* a: m x n, padded with zeros; it is overwritten. diagonal: n, above: n - 1 numbers (reals of the
 * kind). left: n reflectors of length m, right: n - 1 of length n and offset 1; vectors and taus
 * are found. space: as for reflectors. */
void bidiagonal_reduce(hr_workers_t *workers, const reflectors_t *left, const reflectors_t *right,
                       split_matrix_t a, void *diagonal, void *superdiagonal, void *memory,
                       char *space);

#endif
