/* Declarations shared by the LAPACK custom calls: the form of the call, its arrays in the callee's
 * layout, its options. */
#ifndef HLO_OPS_CUSTOM_LAPACK_H
#define HLO_OPS_CUSTOM_LAPACK_H

#include "ops/kernels/custom/custom_call.h"

#define LAPACK_ROLES 6

/* All arguments of LAPACK are pointers, except for the hidden lengths of its characters at the end
 * (ONE_CHAR each). */
typedef void (*lapack_fn)();
#define ONE_CHAR ((size_t)1)

typedef struct lapack_plan {
  hr_dtype_t dtype, real;
  bool is_complex, is_double;
  int scalars; /* operands before the arrays: 0 in the typed form */
  int batch_rank;
  const int64_t *batch_dims;
  int64_t batch;
  int m, n, k; /* sizes, with each routine's own meaning; m and n are first those of array 0 */
  int results[LAPACK_ROLES]; /* result of each role; initially, result i has role i */
  const dict_value_t *options;
  lapack_fn routine;
} lapack_plan_t;

typedef struct lapack_run {
  op_env_t *env;
  const op_step_t *step;
  const lapack_plan_t *plan;
  hlo_value_t *const *in;
  void **results; /* bytes of each result as the callee leaves them; NULL: contents unspecified,
                     returned as zeros */
  hr_dtype_t dtype, real;
} lapack_run_t;

/* Description of a call. */
typedef struct lapack_form {
  int scalars; /* scalar operands of the old form */
  int arrays;
  int extra;            /* operands that may follow */
  int rank;             /* rank of array 0 without its batch: 2 a matrix, 1 a vector */
  const char *names[2]; /* routine without its type letter: for real and for complex elements */
} lapack_form_t;

/* Recognises the form, checks the type of array 0, reads the batch and sizes from it, finds the
 * routine. */
hr_status_t lapack_begin(hr_arena_t *arena, const op_step_t *step, const lapack_form_t *form,
                         lapack_plan_t **out_plan);

/* Checks that array k, or the result of a role, is [batch..., rows, columns] with the first `rank`
 * of the two sizes. */
hr_status_t lapack_check_operand(const op_step_t *step, const lapack_plan_t *plan, int k,
                                 hr_dtype_t dtype, int rank, int64_t rows, int64_t columns);
hr_status_t lapack_check_result(const op_step_t *step, const lapack_plan_t *plan, int role,
                                hr_dtype_t dtype, int rank, int64_t rows, int64_t columns);
const hlo_shape_t *lapack_array_shape(const op_step_t *step, const lapack_plan_t *plan, int k);
/* Checks that, in the typed convention, option `name` is present and one of the characters
 * `letters`. */
hr_status_t lapack_check_char_option(const op_step_t *step, const lapack_plan_t *plan,
                                     const char *name, const char *letters);
/* The character of an option (typed convention), and scalar operand `at` (old convention), which
 * the caller translates. */
char lapack_char_option(const lapack_run_t *run, const char *name);
int64_t lapack_scalar(const lapack_run_t *run, int at);
/* LAPACK's UPLO, 'L' or 'U': the option "uplo", or in the old form the scalar operand `at`, which
 * is true for the lower triangle. */
char lapack_uplo(const lapack_run_t *run, int at);
/* 'V' if vectors are computed, else 'N': the option `name`, or in the old form the character in the
 * scalar operand `at`. */
char lapack_vectors_mode(const lapack_run_t *run, int at, const char *name);

hr_status_t lapack_run_init(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            lapack_run_t *run);
/* Bytes of array k, as a copy that may be written. */
hr_status_t lapack_load(const lapack_run_t *run, int k, void **out_bytes);
/* The same; the copy becomes the result of a role after the routine has worked on it in place. */
hr_status_t lapack_load_into(const lapack_run_t *run, int k, int role, void **out_bytes);
/* Zeros that become the result of a role. */
hr_status_t lapack_new_result(const lapack_run_t *run, int role, void **out_bytes);
/* Calls work(call, i, worker) for every matrix i of the batch; divided among the workers if
 * `products` per matrix are enough. */
typedef void (*lapack_call_fn)(const void *call, int64_t i, int worker);
void lapack_batch(const lapack_run_t *run, double products, lapack_call_fn work, const void *call);
/* Workspace of `count` elements for each worker that shares the batch; that of a worker is at
 * lapack_at(space, worker, count, dtype). */
hr_status_t lapack_space(const lapack_run_t *run, hr_dtype_t dtype, int64_t count,
                         void **out_space);
/* The size that a query of the routine returned, and workspace of that size for each worker, at
 * least `least` elements. */
hr_status_t lapack_queried(const lapack_run_t *run, const void *query, int64_t least,
                           int *out_count, void **out_space);
static inline void *lapack_at(void *base, int64_t i, int64_t count, hr_dtype_t dtype) {
  return (char *)base + i * count * (int64_t)hr_dtype_bytes(dtype);
}
hr_status_t lapack_finish(const lapack_run_t *run, hlo_value_t **out_value);

#endif
