/* Matrix products of bf16 and of bytes by oneDNN. Its fast kernels take dense matrices only, plain
 * or transposed, so each worker packs other operands of its products. Rows of the result, or
 * matrices of the batch, are divided among the workers. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/dot/native_dot.h"
#include "ops/kernels/libs/onednn.h"
#include "ops/kernels/simd/simd_target.h"

#define SPLIT_FLOPS 1e6 /* products below which one worker is as fast */
#define ROW_UNIT 8

/* An operand of a task's product. */
typedef struct dot_input {
  bool transposed; /* columns are dense: oneDNN gets the transpose */
  bool packed;
  loop_copy_t pack; /* copy of a part of full size */
  loop_copy_t pack_last;
  int element_bytes;
  dot_conversion_t conversion;
  size_t packed_at, packed_bytes; /* per worker */
} dot_input_t;

typedef struct dot_onednn {
  dot_strategy_t strategy;
  const dot_problem_t *problem;
  dot_input_t a, b;
  const void *packed_b; /* constant weights in oneDNN's blocked layout */
  bool batched;         /* a task is some matrices, else some rows of one matrix */
  int64_t unit, parts;  /* matrices of a task; or rows of a task, and tasks of a matrix */
  int64_t tasks;
  const onednn_op_t *full_op; /* product of a part of `unit` rows or matrices */
  const onednn_op_t *last_op; /* product of the last part, if that is smaller; else NULL */
  bool narrowed;
  int sum_bytes;
  size_t sums_at, worker_at, worker_bytes, op_at;
} dot_onednn_t;

/* How the products are typed. */
typedef struct dot_onednn_types {
  dnnl_data_type_t a, b, c;
} dot_onednn_types_t;

/* A batch of dense matrices is one task per worker (batched); otherwise tasks are ranges of rows,
 * so that one large product occupies all workers. */
static void choose_parts(int workers, const dot_problem_t *p, dot_onednn_t *plan) {
  bool split = workers > 1 && p->flops >= SPLIT_FLOPS;
  bool by_matrices = !split || p->batch % workers == 0 || p->batch >= 4 * workers;
  plan->batched =
      by_matrices && !plan->a.packed && !plan->b.packed && p->a.batch_step >= 0 &&
      p->b.batch_step >= 0 &&
      (p->batch == 1 || (p->a.batch_step == p->m * p->k && p->b.batch_step == p->k * p->n));
  int64_t units = plan->batched ? p->batch : p->m;
  int64_t parts = split && (plan->batched || !by_matrices) ? workers : 1;
  plan->unit = (units + parts - 1) / parts;
  if (!plan->batched && parts > 1) plan->unit = hr_round_up(plan->unit, ROW_UNIT);
  if (plan->unit > units) plan->unit = units;
  plan->parts = (units + plan->unit - 1) / plan->unit;
  plan->tasks = plan->batched ? plan->parts : plan->parts * p->batch;
}

/* Finds whether one matrix is dense in the form that oneDNN gets. */
static void plan_form(const dot_matrices_t *side, int64_t rows, int64_t columns,
                      dot_input_t *input) {
  input->transposed = side->col_step != 1;
  input->packed = input->transposed ? side->col_step != rows : side->row_step != columns;
}

/* Plans the copy that makes one part of an operand dense, in the orientation for oneDNN. */
static void plan_pack(const dot_matrices_t *side, int64_t rows, int64_t columns, dot_input_t *input,
                      loop_copy_t *out_copy) {
  int64_t each = input->element_bytes;
  int64_t dims[] = {rows, columns};
  int64_t from[] = {side->row_step * each, side->col_step * each};
  int64_t to[] = {input->transposed ? each : columns * each,
                  input->transposed ? rows * each : each};
  loop_copy_init(out_copy, (int)each, 2, dims, to, from);
}

/* Describes one matrix, or `batch` contiguous ones, dense. */
static bool describe(const onednn_t *lib, dnnl_data_type_t type, int64_t batch, int64_t rows,
                     int64_t columns, bool transposed, dnnl_memory_desc_t *out_desc) {
  int64_t dims[] = {batch, rows, columns};
  int64_t strides[] = {rows * columns, columns, 1};
  if (transposed) {
    strides[1] = 1;
    strides[2] = rows;
  }
  int skip = batch == 1;
  return onednn_array(lib, type, 3 - skip, dims + skip, strides + skip, out_desc);
}

typedef struct dot_descs {
  dnnl_memory_desc_t a, b, c;
} dot_descs_t;

/* Describes one task's arrays: `unit` matrices, or `unit` rows of one. */
static bool describe_task(const onednn_t *lib, const dot_onednn_t *plan,
                          const dot_onednn_types_t *types, int64_t unit, dot_descs_t *out) {
  const dot_problem_t *p = plan->problem;
  int64_t batch = plan->batched ? unit : 1;
  int64_t m = plan->batched ? p->m : unit;
  return describe(lib, types->a, batch, m, p->k, plan->a.transposed, &out->a) &&
         describe(lib, types->b, batch, p->k, p->n, plan->b.transposed, &out->b) &&
         describe(lib, types->c, batch, m, p->n, false, &out->c);
}

/* NULL if oneDNN has no fast product of this kind. */
static dnnl_primitive_desc_t make_desc(const onednn_t *lib, const dot_descs_t *descs) {
  dnnl_matmul_desc_t matmul;
  dnnl_primitive_desc_t desc;
  if (lib->matmul_desc_init(&matmul, &descs->a, &descs->b, NULL, &descs->c)) return NULL;
  if (lib->primitive_desc_create(&desc, &matmul, lib->attr, lib->engine, NULL)) return NULL;
  if (!onednn_is_slow(lib, desc)) return desc;
  lib->primitive_desc_destroy(desc);
  return NULL;
}

/* packed_b: descriptor of b in oneDNN's blocked layout, or NULL. */
static hr_status_t make_op(const onednn_t *lib, const op_native_target_t *target,
                           const dot_onednn_t *plan, const dot_onednn_types_t *types, int64_t unit,
                           const dnnl_memory_desc_t *packed_b, const onednn_op_t **out_op) {
  dot_descs_t descs;
  *out_op = NULL;
  if (!describe_task(lib, plan, types, unit, &descs)) return NULL;
  if (packed_b) descs.b = *packed_b;
  int threads = onednn_enter(lib);
  dnnl_primitive_desc_t desc = make_desc(lib, &descs);
  onednn_leave(lib, threads);
  if (!desc) return NULL;
  onednn_arg_t args[] = {
      {DNNL_ARG_SRC, &descs.a}, {DNNL_ARG_WEIGHTS, &descs.b}, {DNNL_ARG_DST, &descs.c}};
  return onednn_op_new(lib, target, desc, 3, args, out_op);
}

/* Chooses whether an operand is read in place, plain or transposed, or packed first. */
static void plan_input(const dot_matrices_t *side, int64_t rows, int64_t columns,
                       dot_input_t *input) {
  input->element_bytes = (int)hr_dtype_bytes(side->dtype);
  plan_form(side, rows, columns, input);
}

/* The last part may have fewer rows, and then has its own copy plan. */
static void plan_packs(dot_onednn_t *plan) {
  const dot_problem_t *p = plan->problem;
  int64_t rows = plan->batched ? p->m : plan->unit;
  int64_t last = p->m - (plan->parts - 1) * plan->unit;
  if (plan->parts > 1 && !plan->batched && plan->a.transposed)
    plan->a.packed = true; /* a part of it is not dense */
  plan_pack(&p->a, rows, p->k, &plan->a, &plan->a.pack);
  if (!plan->batched) plan_pack(&p->a, last, p->k, &plan->a, &plan->a.pack_last);
  plan_pack(&p->b, p->k, p->n, &plan->b, &plan->b.pack);
  plan->b.pack_last = plan->b.pack;
}

/* Shared: converted operands and sums. Per worker: packed parts and the library's scratch
 * memory. */
static void plan_scratch(const op_native_target_t *target, dot_onednn_t *plan,
                         op_native_step_t *out) {
  const dot_problem_t *p = plan->problem;
  size_t total = 0, each = 0, op = plan->full_op->scratch_bytes;
  if (plan->last_op && plan->last_op->scratch_bytes > op) op = plan->last_op->scratch_bytes;
  dot_conversion_init(p, &p->a, p->a.ordered, false, &total, &plan->a.conversion);
  dot_conversion_init(p, &p->b, p->b.ordered, false, &total, &plan->b.conversion);
  plan->sums_at =
      scratch_reserve(&total, plan->narrowed ? (size_t)(p->batch * p->m * p->n) * 4 : 0);
  plan->a.packed_at = scratch_reserve(
      &each, plan->a.packed ? (size_t)(plan->unit * p->k * plan->a.element_bytes) : 0);
  plan->b.packed_at =
      scratch_reserve(&each, plan->b.packed ? (size_t)(p->k * p->n * plan->b.element_bytes) : 0);
  plan->op_at = scratch_reserve(&each, op);
  plan->worker_at = total;
  plan->worker_bytes = each;
  out->scratch_bytes = total + each * (size_t)target->workers;
}

/* Leaves plan->full_op NULL if oneDNN cannot do the product. */
static hr_status_t plan_types(const onednn_t *lib, const op_native_target_t *target,
                              const dot_onednn_types_t *types, dot_onednn_t *plan) {
  const dot_problem_t *p = plan->problem;
  plan_input(&p->a, p->m, p->k, &plan->a);
  plan_input(&p->b, p->k, p->n, &plan->b);
  choose_parts(target->workers, p, plan);
  plan_packs(plan);
  int64_t units = plan->batched ? p->batch : p->m;
  int64_t rest = units % plan->unit;
  plan->last_op = NULL;
  HR_TRY(make_op(lib, target, plan, types, plan->unit, NULL, &plan->full_op));
  if (!plan->full_op || rest == 0) return NULL;
  HR_TRY(make_op(lib, target, plan, types, rest, NULL, &plan->last_op));
  if (!plan->last_op) plan->full_op = NULL;
  return NULL;
}

/* The layout of b that oneDNN prefers. */
static bool find_packed(const onednn_t *lib, const dot_onednn_t *plan,
                        const dot_onednn_types_t *types, dnnl_memory_desc_t *out_given,
                        dnnl_memory_desc_t *out_packed) {
  const dot_problem_t *p = plan->problem;
  dot_descs_t descs;
  dnnl_dims_t sizes = {p->k, p->n};
  if (!describe_task(lib, plan, types, plan->unit, &descs)) return false;
  *out_given = descs.b;
  if (lib->memory_desc_init_by_tag(&descs.b, 2, sizes, types->b, dnnl_format_tag_any)) return false;
  int threads = onednn_enter(lib);
  dnnl_primitive_desc_t desc = make_desc(lib, &descs);
  if (desc) *out_packed = *lib->primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
  if (desc) lib->primitive_desc_destroy(desc);
  onednn_leave(lib, threads);
  return desc;
}

/* Reorders constant weights into the library's layout once, in the plan. They keep their layout if
 * the library refuses. */
static hr_status_t write_packed(const onednn_t *lib, const op_native_target_t *target,
                                const onednn_op_t *reorder, const dnnl_memory_desc_t *desc,
                                const void *from, const void **out_packed) {
  void *packed, *scratch;
  HR_TRY(hr_arena_alloc(target->arena, lib->memory_desc_get_size(desc) + 64, &packed));
  HR_TRY(hr_alloc(reorder->scratch_bytes + 64, &scratch));
  if (onednn_op_run(reorder, 0, (void *[]){(void *)from, packed}, scratch)) *out_packed = packed;
  hr_free(scratch);
  return NULL;
}

/* Packs a constant b once. */
static hr_status_t pack_constant(const onednn_t *lib, const op_native_target_t *target,
                                 const dot_onednn_types_t *types, dot_onednn_t *plan) {
  const dot_problem_t *p = plan->problem;
  dnnl_memory_desc_t given, packed;
  const onednn_op_t *whole, *last = NULL, *reorder = NULL;
  if (!p->constant_b || p->batch > 1 || p->b.ordered || plan->b.packed) return NULL;
  if (!find_packed(lib, plan, types, &given, &packed)) return NULL;
  HR_TRY(make_op(lib, target, plan, types, plan->unit, &packed, &whole));
  if (whole && plan->last_op)
    HR_TRY(make_op(lib, target, plan, types, p->m % plan->unit, &packed, &last));
  if (whole && (last || !plan->last_op))
    HR_TRY(onednn_reorder_new(lib, target, &given, &packed, &reorder));
  if (!reorder) return NULL;
  HR_TRY(write_packed(lib, target, reorder, &packed, (const char *)p->constant_b, &plan->packed_b));
  if (plan->packed_b) {
    plan->full_op = whole;
    plan->last_op = last;
  }
  return NULL;
}

/* False: oneDNN is not used. On processors that do not multiply bf16 faster than f32, its kernels
 * convert in their inner loops, which is slower than products of f32. */
static bool types_of(const dot_problem_t *p, dot_onednn_types_t *out_types) {
  const matmul_types_t *t = &p->types;
  *out_types = (dot_onednn_types_t){onednn_type(t->lhs), onednn_type(t->rhs), dnnl_s32};
  if (t->real == HR_U32)
    return (t->lhs == HR_S8 || t->lhs == HR_U8) && t->rhs == HR_S8 &&
           !dot_is_tiny(p, DOT_TINY_INTEGER_PRODUCTS);
  out_types->c = t->out == HR_BF16 ? dnnl_bf16 : dnnl_f32;
  return t->real == HR_F32 && t->lhs == HR_BF16 && t->rhs == HR_BF16 &&
         (cpu_has_fast_bf16() || cpu_has_amx());
}

typedef struct dot_onednn_run {
  const dot_onednn_t *plan;
  const char *a, *b;
  char *c, *scratch;
  bool refused;
} dot_onednn_run_t;

/* A task's operand, packed if necessary. */
static void *task_input(const dot_input_t *input, const char *from, bool last,
                        char *worker_scratch) {
  if (!input->packed) return (void *)from;
  loop_copy_run(last ? &input->pack_last : &input->pack, worker_scratch + input->packed_at, from);
  return worker_scratch + input->packed_at;
}

/* Runs part `task` on one worker. A failure is only recorded: the workers of a parallel region have
 * no status. */
static void run_task(dot_onednn_run_t *r, int64_t task, int worker) {
  const dot_onednn_t *plan = r->plan;
  const dot_problem_t *p = plan->problem;
  int64_t matrix = plan->batched ? task * plan->unit : task / plan->parts;
  int64_t row = plan->batched ? 0 : task % plan->parts * plan->unit;
  bool last = task % plan->parts == plan->parts - 1 && plan->last_op;
  char *space = r->scratch + plan->worker_at + (size_t)worker * plan->worker_bytes;
  const char *a = r->a + (p->a.starts[matrix] + row * p->a.row_step) * plan->a.element_bytes;
  const char *b = r->b + p->b.starts[matrix] * plan->b.element_bytes;
  void *addresses[] = {
      task_input(&plan->a, a, last, space),
      plan->packed_b ? (void *)plan->packed_b : task_input(&plan->b, b, last, space),
      r->c + (matrix * p->m + row) * p->n * plan->sum_bytes};
  if (!onednn_op_run(last ? plan->last_op : plan->full_op, worker, addresses, space + plan->op_at))
    __atomic_store_n(&r->refused, true, __ATOMIC_RELAXED);
}

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  for (int64_t task = begin; task < end; task++) run_task(context, task, worker);
}

/* Small products run on one worker. */
static hr_status_t run_onednn(const op_native_run_t *run, const dot_strategy_t *strategy,
                              void *const *in, void *const *out) {
  const dot_onednn_t *plan = (const dot_onednn_t *)strategy;
  const dot_problem_t *p = plan->problem;
  dot_onednn_run_t r = {.plan = plan, .scratch = run->scratch};
  r.a = dot_convert_operand(run, p, &p->a, &plan->a.conversion, in[0]);
  r.b = plan->packed_b ? NULL : dot_convert_operand(run, p, &p->b, &plan->b.conversion, in[1]);
  r.c = plan->narrowed ? r.scratch + plan->sums_at : out[0];
  if (p->flops < SPLIT_FLOPS)
    run_tasks(&r, 0, plan->tasks, 0);
  else
    hr_workers_for(run->workers, plan->tasks, 1, run_tasks, &r);
  if (r.refused) return onednn_refused();
  if (!plan->narrowed) return NULL;
  native_narrow(run->workers, &p->types, r.c, p->batch * p->m * p->n, out[0]);
  return NULL;
}

/* Declines types that the library does not have, and bytes if its sums would saturate. */
hr_status_t dot_prepare_onednn(const op_native_target_t *target, const dot_problem_t *problem,
                               op_native_step_t *out) {
  dot_onednn_types_t types;
  dot_onednn_t *plan;
  const onednn_t *lib = types_of(problem, &types) ? onednn_open() : NULL;
  if (!lib || (problem->types.real == HR_U32 && !onednn_bytes_are_exact(lib))) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"oneDNN", run_onednn};
  plan->problem = problem;
  HR_TRY(plan_types(lib, target, &types, plan));
  if (!plan->full_op) return NULL;
  plan->sum_bytes = types.c == dnnl_bf16 ? 2 : 4;
  plan->narrowed = types.c == dnnl_s32 ? hr_dtype_bytes(problem->types.out) != 4
                                       : onednn_type(problem->types.out) != types.c;
  HR_TRY(pack_constant(lib, target, &types, plan));
  plan_scratch(target, plan, out);
  out->plan = plan;
  return NULL;
}
