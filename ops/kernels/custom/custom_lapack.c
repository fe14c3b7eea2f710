/* Operands and results of LAPACK calls in both conventions: the typed one, with options in
 * backend_config, and the old one, with sizes as leading scalar operands. Shapes are checked when
 * the step is prepared, so that routines get valid sizes only. */
#include "ops/kernels/custom/custom_lapack.h"

#include <limits.h>
#include <string.h>

#include "base/dl.h"
#include "ops/kernels/custom/custom_layout.h"

const hlo_shape_t *lapack_array_shape(const op_step_t *step, const lapack_plan_t *plan, int k) {
  return step->in_shapes[plan->scalars + k];
}

/* The batch dimensions of array 0, then rows and columns, as many as the rank has. */
static hr_status_t check_shape(const op_step_t *step, const lapack_plan_t *plan, const char *what,
                               const hlo_shape_t *shape, hr_dtype_t dtype, int rank, int64_t rows,
                               int64_t columns) {
  int64_t dims[HLO_MAX_RANK + 2];
  char found[HLO_SHAPE_TEXT], want[HLO_SHAPE_TEXT];
  if (plan->batch_rank) memcpy(dims, plan->batch_dims, (size_t)plan->batch_rank * sizeof *dims);
  dims[plan->batch_rank] = rows;
  dims[plan->batch_rank + 1] = columns;
  hlo_shape_t wanted = {.dtype = dtype, .rank = plan->batch_rank + rank, .dims = dims};
  if (shape && hlo_shape_equal(shape, &wanted)) return NULL;
  return hlo_error(step->instr, NULL, "%s is %s, want %s", what,
                   shape ? hlo_shape_text(shape, found) : "missing", hlo_shape_text(&wanted, want));
}

/* Operand k after the scalars of the old form. */
hr_status_t lapack_check_operand(const op_step_t *step, const lapack_plan_t *plan, int k,
                                 hr_dtype_t dtype, int rank, int64_t rows, int64_t columns) {
  char what[32];
  snprintf(what, sizeof what, "operand %d", plan->scalars + k);
  return check_shape(step, plan, what, lapack_array_shape(step, plan, k), dtype, rank, rows,
                     columns);
}

/* The result with a role; roles differ between the two forms. */
hr_status_t lapack_check_result(const op_step_t *step, const lapack_plan_t *plan, int role,
                                hr_dtype_t dtype, int rank, int64_t rows, int64_t columns) {
  char what[32];
  snprintf(what, sizeof what, "result %d", plan->results[role]);
  return check_shape(step, plan, what, custom_result_shape(step->out_shape, plan->results[role]),
                     dtype, rank, rows, columns);
}

hr_status_t lapack_check_char_option(const op_step_t *step, const lapack_plan_t *plan,
                                     const char *name, const char *letters) {
  int64_t value = mlir_dict_int(plan->options, name, 0);
  if (plan->scalars || (value > 0 && value < 128 && strchr(letters, (int)value))) return NULL;
  return hlo_error(step->instr, NULL,
                   "backend_config has %s = %ld, want the code of one of the letters %s", name,
                   (long)value, letters);
}

char lapack_char_option(const lapack_run_t *run, const char *name) {
  return (char)mlir_dict_int(run->plan->options, name, 0);
}

/* Scalars of the old form are integers or predicates; anything else counts as 0. */
int64_t lapack_scalar(const lapack_run_t *run, int at) {
  return hr_dtype_is_integer(run->in[at]->dtype) || run->in[at]->dtype == HR_PRED
             ? hlo_value_int_at(run->in[at], 0)
             : 0;
}

char lapack_uplo(const lapack_run_t *run, int at) {
  if (!run->plan->scalars) return lapack_char_option(run, "uplo");
  return lapack_scalar(run, at) ? 'L' : 'U';
}

char lapack_vectors_mode(const lapack_run_t *run, int at, const char *name) {
  if (!run->plan->scalars) return lapack_char_option(run, name);
  return lapack_scalar(run, at) == 'V' ? 'V' : 'N';
}

/* The target's type letter and array 0 must agree. */
static hr_status_t read_type(const op_step_t *step, const hlo_shape_t *a, lapack_plan_t *plan) {
  static const hr_dtype_t types[] = {HR_F32, HR_F64, HR_C64, HR_C128};
  static const char letters[] = "sdcz";
  hr_str_t target = op_custom_call_target(step->instr);
  const char *underscore =
      memchr(target.data, '_', target.size); /* a letter follows, or the row would not match */
  const char *letter = memchr(letters, underscore[1], 4);
  if (!letter)
    return hlo_unsupported(step->instr, "'%.*s' has none of the type letters sdcz",
                           HR_STR_ARGS(target));
  plan->dtype = types[letter - letters];
  plan->real = hr_dtype_real(plan->dtype);
  plan->is_complex = hr_dtype_is_complex(plan->dtype);
  plan->is_double = plan->real == HR_F64;
  if (a->dtype == plan->dtype) return NULL;
  return hlo_error(step->instr, NULL, "'%.*s' works on %s, not on %s", HR_STR_ARGS(target),
                   hr_dtype_name(plan->dtype), hr_dtype_name(a->dtype));
}

/* Leading dimensions are the batch. LAPACK's sizes are int, and so are its workspaces, which are up
 * to twice a size. */
static hr_status_t read_sizes(const op_step_t *step, const hlo_shape_t *a, int rank,
                              lapack_plan_t *plan) {
  if (a->rank < rank)
    return hlo_error(step->instr, NULL, "array 0 has rank %d, want %d at least", a->rank, rank);
  plan->batch_rank = a->rank - rank;
  plan->batch_dims = a->dims;
  plan->batch = 1;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] > INT_MAX / 2)
      return hlo_unsupported(step->instr, "a size of %ld", (long)a->dims[d]);
  for (int d = 0; d < plan->batch_rank; d++)
    if (__builtin_mul_overflow(plan->batch, a->dims[d], &plan->batch))
      return hlo_error(step->instr, NULL, "the batch is too large");
  plan->m = (int)a->dims[plan->batch_rank];
  plan->n = (int)a->dims[a->rank - 1];
  return NULL;
}

/* s, d, c or z before the name, and Fortran's underscore after it. */
static hr_status_t find_routine(const lapack_form_t *form, lapack_plan_t *plan) {
  char symbol[32];
  snprintf(symbol, sizeof symbol, "%c%s_", "sdcz"[2 * plan->is_complex + plan->is_double],
           form -> names[plan->is_complex]);
  return hr_dl_symbol(HR_LIBRARY_LAPACK, symbol, (void **)&plan->routine);
}

/* Common to both forms: operand counts, type, sizes, options, the routine of the type. The old form
 * begins with scalars, the typed one has its options in backend_config. */
hr_status_t lapack_begin(hr_arena_t *arena, const op_step_t *step, const lapack_form_t *form,
                         lapack_plan_t **out_plan) {
  const hlo_instr_t *instr = step->instr;
  lapack_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  while (plan->scalars < instr->operand_count &&
         hlo_shape_is_scalar(step->in_shapes[plan->scalars]))
    plan->scalars++;
  int arrays = instr->operand_count - plan->scalars;
  if ((plan->scalars && plan->scalars != form->scalars) || arrays < form->arrays ||
      arrays > form->arrays + form->extra)
    return hlo_error(instr, NULL,
                     "%d scalar and %d other operands, want %d others, with %d scalars or none",
                     plan->scalars, arrays, form->arrays, form->scalars);
  const hlo_shape_t *a = lapack_array_shape(step, plan, 0);
  HR_TRY(read_type(step, a, plan));
  HR_TRY(read_sizes(step, a, form->rank, plan));
  if (!plan->scalars) HR_TRY(custom_config(arena, instr, &plan->options));
  for (int i = 0; i < LAPACK_ROLES; i++) plan->results[i] = i;
  HR_TRY(find_routine(form, plan));
  *out_plan = plan;
  return NULL;
}

#define CALL_PRODUCTS 50000 /* least products of routines for another worker */

/* State of one call; all memory is the step's scratch. */
hr_status_t lapack_run_init(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            lapack_run_t *run) {
  const lapack_plan_t *plan = step->plan;
  *run = (lapack_run_t){
      .env = env, .step = step, .plan = plan, .in = in, .dtype = plan->dtype, .real = plan->real};
  return HR_NEW_ARRAY(env->scratch, custom_result_count(step->out_shape), &run->results);
}

/* LAPACK reads column-major: operands in these layouts are copied, row-major ones are transposed
 * here. */
hr_status_t lapack_load(const lapack_run_t *run, int k, void **out_bytes) {
  int operand = run->plan->scalars + k;
  const hlo_value_t *value = run->in[operand];
  HR_TRY(hr_arena_alloc(run->env->scratch, hlo_value_bytes(value), out_bytes));
  custom_copy_by_layout(run->env->workers, value, custom_operand_layout(run->step->instr, operand),
                 *out_bytes, false);
  return NULL;
}

/* The copy is also result `role`, which the routine computes in place. */
hr_status_t lapack_load_into(const lapack_run_t *run, int k, int role, void **out_bytes) {
  HR_TRY(lapack_load(run, k, out_bytes));
  run->results[run->plan->results[role]] = *out_bytes;
  return NULL;
}

/* Zeros, as routines leave parts of their results unwritten. */
hr_status_t lapack_new_result(const lapack_run_t *run, int role, void **out_bytes) {
  int k = run->plan->results[role];
  size_t bytes;
  HR_TRY(hlo_shape_bytes(custom_result_shape(run->step->out_shape, k), &bytes));
  HR_TRY(hr_arena_zeroed(run->env->scratch, bytes, out_bytes));
  run->results[k] = *out_bytes;
  return NULL;
}

/* Number of workers that share the batch. */
static int sharers(const lapack_run_t *run) {
  return run->plan->batch > 1 ? hr_workers_count(run->env->workers) : 1;
}

/* The routine and its arguments, as hr_workers_for passes one pointer only. */
typedef struct lapack_share {
  lapack_call_fn work;
  const void *call;
} lapack_share_t;

/* Runs matrices begin .. end - 1 on one worker. */
static void run_share(void *context, int64_t begin, int64_t end, int worker) {
  const lapack_share_t *share = context;
  for (int64_t i = begin; i < end; i++) share->work(share->call, i, worker);
}

/* `products` of one matrix determine how many matrices are worth a worker. */
void lapack_batch(const lapack_run_t *run, double products, lapack_call_fn work, const void *call) {
  lapack_share_t share = {work, call};
  int64_t grain = 1 + (int64_t)(CALL_PRODUCTS / (products + 1000));
  hr_workers_for(run->env->workers, run->plan->batch, grain, run_share, &share);
}

/* A workspace of `count` elements for each worker. */
hr_status_t lapack_space(const lapack_run_t *run, hr_dtype_t dtype, int64_t count,
                         void **out_space) {
  int64_t each = count > 1 ? count : 1;
  return hr_arena_array(run->env->scratch, (size_t)(each * sharers(run)), hr_dtype_bytes(dtype),
                        out_space);
}

/* Workspace size that a routine returned for LWORK = -1, at least `least`. A float is rounded up,
 * as it may have lost the last bits of the number. */
hr_status_t lapack_queried(const lapack_run_t *run, const void *query, int64_t least,
                           int *out_count, void **out_space) {
  double wanted =
      run->plan->is_double ? *(const double *)query : *(const float *)query * (1 + 0x1p-22);
  if (!(wanted >= (double)least)) wanted = (double)least;
  if (wanted > INT_MAX - 1)
    return hlo_unsupported(run->step->instr, "a workspace of %g elements", wanted);
  *out_count = (int)wanted + 1;
  return lapack_space(run, run->dtype, *out_count, out_space);
}

/* Makes one result array of the callee's bytes. */
static hr_status_t make_result(const lapack_run_t *run, int k, hlo_value_t **out_value) {
  const hlo_shape_t *shape = custom_result_shape(run->step->out_shape, k);
  if (!run->results[k]) return hlo_value_zeros(shape, out_value);
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, out_value));
  custom_copy_by_layout(run->env->workers, *out_value, custom_result_layout(run->step->instr, k),
                 run->results[k], true);
  return NULL;
}

/* Results from LAPACK's memory, in the layouts that the call declares. */
hr_status_t lapack_finish(const lapack_run_t *run, hlo_value_t **out_value) {
  int count = custom_result_count(run->step->out_shape), made = 0;
  hlo_value_t **parts;
  HR_TRY(HR_NEW_ARRAY(run->env->scratch, count, &parts));
  hr_status_t st = NULL;
  for (; made < count && !st; made++) st = make_result(run, made, &parts[made]);
  if (!st) return custom_result(run->step->out_shape, count, parts, out_value);
  for (int k = 0; k < made; k++) hlo_value_release(parts[k]);
  return st;
}
