/* Householder reflectors as LAPACK stores them, H = I - tau v v^H with v[pivot] = 1, in blocks of
 * REFLECTORS_BLOCK. A block's product is I - V T V^H with T upper triangular (compact WY form), so
 * that applying it is three matrix products. Thread: any, on its own memory; functions that take
 * workers share their work among them. */
#ifndef HLO_OPS_REFLECTORS_H
#define HLO_OPS_REFLECTORS_H

#include "ops/kernels/linalg/split_matrix.h"

#define REFLECTORS_BLOCK 32
/* Of reductions to tridiagonal and bidiagonal form. */
#define REFLECTORS_SERIAL 65536   /* elements that one worker reads before others pay */
#define REFLECTORS_UPDATE_ROWS 64 /* rows per task of the trailing update */

/* Q = H[0] H[1] ... H[count - 1]. Vector i is zero before its pivot, which is i + offset. */
typedef struct reflectors {
  const split_matrix_kind_t *kind;
  int64_t count, length, offset;
  split_matrix_t vectors;   /* the v: count rows of `length` */
  split_matrix_t triangles; /* the T of all blocks: count rows of REFLECTORS_BLOCK */
  split_matrix_t taus;      /* one row */
} reflectors_t;

/* Size of the memory of reflectors_init, to be aligned to 64 bytes. */
size_t reflectors_bytes(const split_matrix_kind_t *kind, int64_t count, int64_t length);
/* Lays the arrays out in `memory`; all vectors are zeroed. */
reflectors_t reflectors_init(const split_matrix_kind_t *kind, int64_t count, int64_t length,
                             int64_t offset, void *memory);

/* Generates a reflector (LAPACK's larfg). Row x, zero outside of [pivot, end), becomes the v for
 * which H^H x has beta (real) at the pivot and zeros after it. Returns tau. Vectors whose squares
 * would overflow or underflow are rescaled. */
double complex reflectors_make(const split_matrix_kind_t *kind, split_matrix_t x, int64_t pivot,
                               int64_t end, double *out_beta);

/* Scratch bytes per worker of the functions below. */
size_t reflectors_space_bytes(const split_matrix_kind_t *kind);

/* True for so few reflectors that reflectors_form needs no triangles to form as many columns of
 * Q. */
bool reflectors_are_few(const reflectors_t *r);

/* Computes the triangles of all blocks from vectors and taus (LAPACK's larft). */
void reflectors_compute_triangles(hr_workers_t *workers, const reflectors_t *r);

/* A = Q R, in the form of LAPACK's geqrf: R on and above the diagonal, the vectors below.
 * Shape:   a is r->length x n; r->count = min(r->length, n). Vectors, taus and triangles are set,
 *          except the triangle of a last block that has no columns to its right.
 * Memory:  space: reflectors_space_bytes per worker.
 * Cost:    about 2 n^2 (m - n / 3) flops, nearly all in matrix products. */
void reflectors_factor(hr_workers_t *workers, const reflectors_t *r, split_matrix_t a, int64_t n,
                       char *space);

/* LEFT: c = Q c or Q^H c, c has r->length rows. RIGHT: c = c Q or c Q^H, c has r->length
 * columns. `others` is c's other dimension. Triangles must have been computed (LAPACK's ormqr). */
typedef enum reflectors_side { REFLECTORS_LEFT, REFLECTORS_RIGHT } reflectors_side_t;
void reflectors_apply(hr_workers_t *workers, const reflectors_t *r, reflectors_side_t side,
                      bool adjoint, split_matrix_t c, int64_t others, char *space);

/* The first `columns` columns of Q, into q (LAPACK's orgqr). Needs triangles unless
 * reflectors_are_few. */
void reflectors_form(hr_workers_t *workers, const reflectors_t *r, split_matrix_t q,
                     int64_t columns, char *space);

#endif
