/* Householder's reflectors as LAPACK has them, H = I - tau v v^H with v[pivot] = 1, in blocks: the
 * product of a block's is I - V T V^H (T an upper triangle), so that applying them is three matrix
 * products. Thread: any, on memory of its own; those that take workers share the work out to them.
 */
#ifndef HLO_OPS_REFLECTORS_H
#define HLO_OPS_REFLECTORS_H

#include "ops/kernels/linalg/split_matrix.h"

#define REFLECTORS_BLOCK 32

/* Q = H[0] H[1] ... H[count - 1]. Vector i is zero before its pivot, i + offset. */
typedef struct reflectors {
  const split_matrix_kind_t *kind;
  int64_t count, length, offset;
  split_matrix_t vectors; /* count rows of `length` */
  split_matrix_t
      triangles; /* count rows of REFLECTORS_BLOCK: the T of each block, one below the other */
  split_matrix_t taus; /* one row */
} reflectors_t;

size_t reflectors_bytes(const split_matrix_kind_t *kind, int64_t count, int64_t length);
/* In memory of reflectors_bytes: all vectors zero. */
reflectors_t reflectors_init(const split_matrix_kind_t *kind, int64_t count, int64_t length,
                             int64_t offset, void *memory);

/* Row x, zero outside of [pivot, end), becomes the v of that H for which H^H x is beta at the pivot
 * and else zero. Returns tau. */
double complex reflectors_make(const split_matrix_kind_t *kind, split_matrix_t x, int64_t pivot,
                               int64_t end, double *out_beta);

/* Scratch memory of one worker. */
size_t reflectors_space_bytes(const split_matrix_kind_t *kind);

/* So few that their vectors alone do, without triangles, to form as many columns of Q. */
bool reflectors_are_few(const reflectors_t *r);

/* The triangles of all blocks, when vectors and taus are there. */
void reflectors_close(hr_workers_t *workers, const reflectors_t *r);

/* A = Q R of n columns, as LAPACK's geqrf leaves it: R above and the vectors below the diagonal. r:
 * as many reflectors as A has rows or columns, the fewer, of length r->length, its rows; they are
 * found, and the triangles but for a last one that has no columns behind it. space:
 * reflectors_space_bytes for each worker. */
void reflectors_factor(hr_workers_t *workers, const reflectors_t *r, split_matrix_t a, int64_t n,
                       char *space);

/* c = Q c or Q^H c of r->length rows, or c = c Q or c Q^H of r->length columns. */
typedef enum reflectors_side { REFLECTORS_LEFT, REFLECTORS_RIGHT } reflectors_side_t;
void reflectors_apply(hr_workers_t *workers, const reflectors_t *r, reflectors_side_t side,
                      bool adjoint, split_matrix_t c, int64_t others, char *space);

/* The first `columns` columns of Q. */
void reflectors_form(hr_workers_t *workers, const reflectors_t *r, split_matrix_t q,
                     int64_t columns, char *space);

#endif
