/* Times the native kernels of products, convolutions, transforms and factors, each next to oneDNN
 * with as many threads where it has that operation, and prints at the end how near they come to it.
 * oneDNN has its arrays in the memory order that it likes best; reordering is not counted. Right
 * sides are values of a run, and once more constants, whose reordering does not count either: the
 * better of the two is compared.
 *   bench_native [-w WORKERS] [FILE...]   the heavy instructions of programs, or of
 * bench_native.def */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "ir/print.h"
#include "ops/kernels/conv/native_convolution.h"
#include "ops/kernels/dot/native_dot.h"
#include "ops/kernels/libs/onednn.h"
#include "read/read.h"

static int workers = 2;
static hr_workers_t *pool;

static void check(hr_status_t st) {
  if (!st) return;
  hr_status_print(stderr, st);
  exit(1);
}

static double now_us(void) { return 1e6 * hr_clock_s(); }

typedef struct kernel {
  hr_arena_t arena;
  const op_native_t *native;
  op_native_step_t step;
  op_native_run_t run;
  void *in[8], *out[8];
  double prepare_us, best_us;
} kernel_t;

static hr_status_t keep(void *context, void (*destroy)(void *object), void *object) {
  (void)context, (void)destroy, (void)object;
  return NULL;
}

static void fill(hr_dtype_t dtype, size_t bytes, void *memory) {
  memset(memory, 0, bytes);
  for (size_t i = 0; i + 4 <= bytes && hr_dtype_real(dtype) == HR_F32; i += 4)
    *(float *)((char *)memory + i) = (float)(i % 1021) / 1021 - 0.5F;
}

static void *filled(kernel_t *kernel, const hlo_shape_t *shape) {
  size_t bytes;
  void *memory;
  check(hlo_shape_bytes(shape, &bytes));
  check(hr_arena_alloc(&kernel->arena, bytes + 64, &memory));
  fill(shape->dtype, bytes, memory);
  return memory;
}

/* The right side as a constant, until it is forgotten. */
static hlo_value_t *know_weights(const hlo_instr_t *instr) {
  hlo_instr_t *weights = instr->operands[1];
  hlo_value_t *value;
  check(hlo_value_array(weights->shape->dtype, weights->shape->rank, weights->shape->dims, &value));
  fill(weights->shape->dtype, hlo_value_bytes(value), value->data);
  weights->op = HLO_CONSTANT;
  weights->literal = value;
  return value;
}

static void forget_weights(const hlo_instr_t *instr, hlo_value_t *value) {
  instr->operands[1]->op = HLO_PARAMETER;
  instr->operands[1]->literal = NULL;
  hlo_value_release(value);
}

/* False if the kernel declines. */
static bool kernel_init(kernel_t *kernel, const hlo_instr_t *instr) {
  const hlo_shape_t *in_shapes[8];
  void *scratch;
  *kernel = (kernel_t){.native = op_natives[instr->op], .best_us = 1e18};
  hr_arena_init(&kernel->arena);
  op_native_target_t target = {.arena = &kernel->arena, .workers = workers, .add_cleanup = keep};
  for (int i = 0; i < instr->operand_count; i++) in_shapes[i] = instr->operands[i]->shape;
  op_step_t step = {.instr = instr, .in_shapes = in_shapes, .out_shape = instr->shape};
  double start = now_us();
  check(kernel->native->prepare(&target, &step, &kernel->step));
  kernel->prepare_us = now_us() - start;
  if (!kernel->step.plan) return false;
  for (int i = 0; i < instr->operand_count; i++) kernel->in[i] = filled(kernel, in_shapes[i]);
  kernel->out[0] = filled(kernel, instr->shape);
  check(hr_arena_alloc(&kernel->arena, kernel->step.scratch_bytes + 64, &scratch));
  kernel->run = (op_native_run_t){.workers = pool, .scratch = scratch};
  return true;
}

static double once(kernel_t *kernel) {
  double start = now_us();
  check(kernel->native->run(&kernel->run, kernel->step.plan, kernel->in, kernel->out));
  return now_us() - start;
}

/* An op of oneDNN with its own threads. */
typedef struct peer {
  const char *name;
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t args[4];
  double best_us;
} peer_t;
#define MAX_PEERS 2

static dnnl_memory_t peer_memory(const onednn_t *lib, const dnnl_memory_desc_t *desc) {
  dnnl_memory_t memory;
  void *bytes = aligned_alloc(64, (lib->memory_desc_get_size(desc) + 127) / 64 * 64);
  memset(bytes, 0, lib->memory_desc_get_size(desc));
  lib->memory_create(&memory, desc, lib->engine, bytes);
  return memory;
}

/* numbers, queries: of its three arrays. */
static bool peer_init(const onednn_t *lib, dnnl_primitive_desc_t desc, const int *numbers,
                      const dnnl_query_t *queries, peer_t *peer) {
  if (lib->primitive_create(&peer->primitive, desc)) return false;
  for (int i = 0; i < 4; i++) {
    dnnl_query_t query = i < 3 ? queries[i] : dnnl_query_scratchpad_md;
    peer->args[i] =
        (dnnl_exec_arg_t){i < 3 ? numbers[i] : DNNL_ARG_SCRATCHPAD,
                          peer_memory(lib, lib->primitive_desc_query_md(desc, query, 0))};
  }
  return true;
}

static const int numbers_of[3][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                     {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                     {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
static const dnnl_query_t queries_of[3][3] = {
    {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
    {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
    {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md}};

/* Everything plain, or the weights in its own order. */
static bool peer_product(const onednn_t *lib, const dot_problem_t *p, dnnl_data_type_t type,
                         dnnl_data_type_t sums, bool any, peer_t *peer) {
  dnnl_memory_desc_t a, b, c;
  dnnl_matmul_desc_t matmul;
  dnnl_primitive_desc_t desc;
  bool single = p->batch == 1;
  dnnl_dims_t dims[3] = {{p->batch, p->m, p->k}, {p->batch, p->k, p->n}, {p->batch, p->m, p->n}};
  dnnl_dims_t weights = {p->batch, p->k, p->n};
  if (single) memcpy(weights, (dnnl_dims_t){p->k, p->n}, sizeof weights);
  int64_t strides[3][3] = {{p->m * p->k, p->k, 1}, {p->k * p->n, p->n, 1}, {p->m * p->n, p->n, 1}};
  peer->name = any ? "packed" : "plain";
  onednn_array(lib, type, 3 - single, dims[0] + single, strides[0] + single, &a);
  if (any)
    lib->memory_desc_init_by_tag(&b, 3 - single, weights, type, dnnl_format_tag_any);
  else
    onednn_array(lib, type, 3 - single, dims[1] + single, strides[1] + single, &b);
  onednn_array(lib, sums, 3 - single, dims[2] + single, strides[2] + single, &c);
  if (lib->matmul_desc_init(&matmul, &a, &b, NULL, &c)) return false;
  if (lib->primitive_desc_create(&desc, &matmul, lib->attr, lib->engine, NULL)) return false;
  return peer_init(lib, desc, numbers_of[CONV_FORWARD], queries_of[CONV_FORWARD], peer);
}

static int products(const onednn_t *lib, const kernel_t *kernel, const hlo_instr_t *instr,
                    peer_t *peers) {
  const struct {
    dot_strategy_t way;
    const dot_problem_t *problem;
  } *plan = kernel->step.plan;
  dnnl_data_type_t type = onednn_type(instr->operands[0]->shape->dtype),
                   sums = onednn_type(instr->shape->dtype);
  int count = 0;
  for (int any = 0; any < 2 && type != dnnl_data_type_undef; any++)
    count += peer_product(lib, plan->problem, type, sums, any, &peers[count]);
  printf(" %-7s", plan->way.name);
  return count;
}

/* All arrays in whatever order. */
static void peer_arrays(const onednn_t *lib, const conv_problem_t *p, dnnl_data_type_t type,
                        dnnl_memory_desc_t *arrays) {
  int grouped = p->groups > 1, rank = p->spatial + 2;
  dnnl_dims_t dims[3] = {
      {p->batch, p->groups * p->in_channels}, {0}, {p->batch, p->groups * p->out_channels}};
  int64_t *weights = dims[CONV_WEI];
  if (grouped) *weights++ = p->groups;
  *weights++ = p->out_channels;
  *weights++ = p->in_channels;
  for (int d = 0; d < p->spatial; d++)
    dims[CONV_SRC][2 + d] = p->in[d], dims[CONV_DST][2 + d] = p->out[d], weights[d] = p->window[d];
  for (int r = 0; r < CONV_ROLES; r++)
    lib->memory_desc_init_by_tag(&arrays[r], rank + (r == CONV_WEI && grouped), dims[r], type,
                                 dnnl_format_tag_any);
}

static dnnl_primitive_desc_t peer_describe(const onednn_t *lib, const conv_problem_t *p,
                                           conv_kind_t kind, dnnl_alg_kind_t algorithm,
                                           dnnl_data_type_t type) {
  dnnl_memory_desc_t w[CONV_ROLES], *src = &w[CONV_SRC], *wei = &w[CONV_WEI], *dst = &w[CONV_DST];
  dnnl_convolution_desc_t conv;
  dnnl_primitive_desc_t hint = NULL, desc;
  dnnl_dims_t stride, dilates, low, high;
  dnnl_status_t failed;
  for (int d = 0; d < p->spatial; d++) {
    stride[d] = p->stride[d];
    dilates[d] = p->dilation[d] - 1;
    low[d] = p->low[d];
    high[d] = p->high[d];
  }
  peer_arrays(lib, p, type, w);
  if (kind != CONV_FORWARD) hint = peer_describe(lib, p, CONV_FORWARD, algorithm, type);
  if (kind == CONV_FORWARD)
    failed = lib->dilated_convolution_forward_desc_init(
        &conv, dnnl_forward_inference, algorithm, src, wei, NULL, dst, stride, dilates, low, high);
  else if (kind == CONV_DATA)
    failed = lib->dilated_convolution_backward_data_desc_init(&conv, algorithm, src, wei, dst,
                                                              stride, dilates, low, high);
  else
    failed = lib->dilated_convolution_backward_weights_desc_init(&conv, algorithm, src, wei, NULL,
                                                                 dst, stride, dilates, low, high);
  return failed || lib->primitive_desc_create(&desc, &conv, lib->attr, lib->engine, hint) ? NULL
                                                                                          : desc;
}

static int convolutions(const onednn_t *lib, const hlo_instr_t *instr, peer_t *peers) {
  static const dnnl_alg_kind_t algorithms[] = {dnnl_convolution_direct, dnnl_convolution_winograd};
  const hlo_shape_t *in_shapes[] = {instr->operands[0]->shape, instr->operands[1]->shape};
  op_step_t step = {.instr = instr, .in_shapes = in_shapes, .out_shape = instr->shape};
  conv_problem_t problem = {0};
  dnnl_data_type_t type = onednn_type(in_shapes[0]->dtype);
  bool fits;
  int count = 0;
  check(conv_problem_read(&step, &problem, &fits));
  for (int i = 0; i < 2 && fits && type != dnnl_data_type_undef; i++) {
    dnnl_primitive_desc_t desc = peer_describe(lib, &problem, problem.kind, algorithms[i], type);
    if (!desc ||
        !peer_init(lib, desc, numbers_of[problem.kind], queries_of[problem.kind], &peers[count]))
      continue;
    peers[count++].name = i ? "winograd" : "direct";
  }
  return count;
}

static double peer_once(const onednn_t *lib, const peer_t *peer) {
  double start = now_us();
  lib->primitive_execute(peer->primitive, lib->stream, 4, peer->args);
  return now_us() - start;
}

static void smaller(double *best, double value) { *best = value < *best ? value : *best; }

static void print_instr(const hlo_instr_t *instr) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hlo_shape_print(&text, instr->shape, false);
  for (int i = 0; i < instr->operand_count; i++)
    hr_strbuf_printf(&text, i ? " x " : " <- "),
        hlo_shape_print(&text, instr->operands[i]->shape, false);
  printf("%-12s %-64.*s", hlo_op_name(instr->op), (int)text.size, text.data);
  hr_strbuf_deinit(&text);
}

/* In turns, as all slow down when the machine does. */
static void time_all(kernel_t *kernels, int kernel_count, const onednn_t *lib, peer_t *peers,
                     int count) {
  for (int round = 0; round < 3; round++) {
    usleep(10000); /* until the other's threads sleep */
    double until = now_us() + 5e4;
    for (int k = 0; k < kernel_count; k++, until = now_us() + 5e4)
      for (int i = 0; i < 5 || now_us() < until; i++)
        smaller(&kernels[k].best_us, once(&kernels[k]));
    for (int j = 0; j < count; j++) {
      until = now_us() + 3e4;
      for (int i = 0; i < 5 || now_us() < until; i++)
        smaller(&peers[j].best_us, peer_once(lib, &peers[j]));
    }
  }
}

/* How near to oneDNN's best all rows were that it has. */
static struct {
  int count, near;
  double logs;
} ratios;

static void print_ratio(const peer_t *peers, int count, double best) {
  double top = 1e18;
  printf("  oneDNN");
  for (int i = 0; i < count; i++) {
    smaller(&top, peers[i].best_us);
    printf(" %9.2f %s", peers[i].best_us, peers[i].name);
  }
  printf(": %.2f", top / best);
  ratios.count++;
  ratios.near += top / best >= 0.9;
  ratios.logs += log(top / best);
}

static void bench_instr(const hlo_instr_t *instr) {
  kernel_t kernels[2], *kernel = &kernels[0], *known = &kernels[1];
  const onednn_t *lib = onednn_open();
  peer_t peers[MAX_PEERS];
  hlo_value_t *weights = NULL;
  bool has_weights = instr->op == HLO_DOT || instr->op == HLO_CONVOLUTION,
       runs = kernel_init(kernel, instr);
  int count = 0;
  print_instr(instr);
  if (!runs) {
    printf(" declined\n");
    return;
  }
  if (has_weights) weights = know_weights(instr), has_weights = kernel_init(known, instr);
  if (lib && lib->omp_set_num_threads) lib->omp_set_num_threads(workers);
  if (lib && instr->op == HLO_DOT) count = products(lib, kernel, instr, peers);
  if (lib && instr->op == HLO_CONVOLUTION) count = convolutions(lib, instr, peers);
  for (int i = 0; i < count; i++) peers[i].best_us = 1e18;
  time_all(kernels, 1 + has_weights, lib, peers, count);
  double best = kernel->best_us;
  printf(" %9.2f us %7.1f GF/s  prepare %6.0f us", best, kernel->step.flops / best / 1e3,
         kernel->prepare_us);
  if (has_weights) printf("  known %9.2f us", known->best_us), smaller(&best, known->best_us);
  if (count) print_ratio(peers, count, best);
  printf("\n");
  hr_arena_deinit(&kernel->arena);
  if (weights) hr_arena_deinit(&known->arena), forget_weights(instr, weights);
}

static bool same_shapes(const hlo_instr_t *a, const hlo_instr_t *b) {
  bool same =
      a->op == b->op && hlo_shape_equal(a->shape, b->shape) && a->operand_count == b->operand_count;
  for (int i = 0; same && i < a->operand_count; i++)
    same = hlo_shape_equal(a->operands[i]->shape, b->operands[i]->shape);
  if (!same || a->op != HLO_DOT) return same;
  for (int key = HLO_ATTR_LHS_CONTRACTING_DIMS, i = 0; i < 1; i++) {
    hr_ints_t x = hlo_attr_ints(a, key), y = hlo_attr_ints(b, key);
    same = x.count == y.count && !memcmp(x.data, y.data, (size_t)x.count * sizeof *x.data);
    x = hlo_attr_ints(a, HLO_ATTR_RHS_CONTRACTING_DIMS);
    y = hlo_attr_ints(b, HLO_ATTR_RHS_CONTRACTING_DIMS);
    same &= x.count == y.count && !memcmp(x.data, y.data, (size_t)x.count * sizeof *x.data);
  }
  return same;
}

static bool is_heavy(const hlo_instr_t *instr) {
  return op_natives[instr->op]->run &&
         (instr->op == HLO_DOT || instr->op == HLO_CONVOLUTION || instr->op == HLO_FFT ||
          instr->op == HLO_CHOLESKY || instr->op == HLO_TRIANGULAR_SOLVE ||
          instr->op == HLO_CUSTOM_CALL);
}

typedef HR_VEC(const hlo_instr_t *) seen_t;

static hr_status_t push(seen_t *seen, const hlo_instr_t *instr) {
  HR_VEC_PUSH(seen, instr);
  return NULL;
}
static void remember(seen_t *seen, const hlo_instr_t *instr) { check(push(seen, instr)); }

static void bench_module(hlo_module_t *module) {
  seen_t seen = {0};
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      bool known = !is_heavy(instr);
      for (size_t s = 0; s < seen.count && !known; s++) known = same_shapes(seen.data[s], instr);
      if (known) continue;
      remember(&seen, instr);
      bench_instr(instr);
    }
  HR_VEC_FREE(&seen);
  hlo_module_destroy(module);
}

/* out, operands, attributes: one instruction each. */
#define CONV(window, labels) "convolution(a, b), window={size=" window "}, dim_labels=" labels
static const char *const shapes[][4] = {
#define SHAPE(...) {__VA_ARGS__},
#include "bench_native.def"
#undef SHAPE
};

static void bench_shape(const char *const *row) {
  char text[1024], attrs[256];
  hr_buffer_t *bytes;
  hlo_module_t *module;
  if (!strncmp(row[3], "dot ", 4))
    snprintf(attrs, sizeof attrs, "dot(a, b), lhs_contracting_dims={%c}, rhs_contracting_dims={%c}",
             row[3][4], row[3][6]);
  else
    snprintf(attrs, sizeof attrs, "%s", row[3]);
  snprintf(text, sizeof text,
           "HloModule bench\nENTRY main {\n  a = %s parameter(0)\n  b = %s parameter(1)\n  ROOT c "
           "= %s %s\n}\n",
           row[1], row[2], row[0], attrs);
  check(hr_buffer_create(strlen(text), &bytes));
  memcpy(hr_buffer_data(bytes), text, strlen(text));
  check(read_module("bench", bytes, &module));
  hr_buffer_release(bytes);
  bench_module(module);
}

int main(int count, char **arguments) {
  int first = 1;
  if (count > 2 && !strcmp(arguments[1], "-w")) workers = atoi(arguments[2]), first = 3;
  check(hr_workers_create(&(hr_workers_options_t){.count = workers, .may_spin = true}, &pool));
  for (int i = first; i < count; i++) {
    hlo_module_t *module;
    check(read_module_file(arguments[i], &module));
    printf("%s\n", arguments[i]);
    bench_module(module);
  }
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes && first == count; i++)
    bench_shape(shapes[i]);
  if (ratios.count)
    printf("%d of %d at 90%% of oneDNN's best or above; geometric mean %.2f\n", ratios.near,
           ratios.count, exp(ratios.logs / ratios.count));
  hr_workers_destroy(pool);
  return 0;
}
