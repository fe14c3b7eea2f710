/* Times native kernels: each row is a small program whose root is run by its native kernel, on one
 * worker and on two, the best of several runs. Floats are random around 0, integers random from 0
 * up to the row's limit. bench_own [NAME...]      rows whose names begin so; without names: all */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bench_tools.h"
#include "ops/kernels/native.h"
#include "ops/rules/verify.h"
#include "read/read.h"

#define MAX_OPERANDS 8
#define SECONDS 0.4 /* that a row is run for on each number of workers */

typedef struct row {
  const char *name;
  int64_t limit;
  const char *text;
} row_t;

#define CANONICAL(x)                                                                 \
  "n" x " = pred[] compare(" x ", " x "), direction=NE\n e" x " = pred[] compare(" x \
  ", zero), direction=EQ\n"                                                          \
  "s" x " = f32[] select(e" x ", zero, " x ")\n k" x " = f32[] select(n" x ", qn, s" x ")\n"
#define LESS_JAX(more)                                                   \
  "less {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n" more      \
  "qn = f32[] constant(nan)\n zero = f32[] constant(0)\n" CANONICAL("a") \
      CANONICAL("b") "ROOT less = pred[] compare(ka, kb), direction=LT, type=TOTALORDER\n}\n"
#define BINARY(type, op)                                                                         \
  "body {\n a = " type "[] parameter(0)\n b = " type "[] parameter(1)\n ROOT r = " type "[] " op \
  "(a, b)\n}\n"

static const row_t rows[] = {
#include "bench/bench_own.def"
};

static void fill(const hlo_shape_t *shape, int64_t limit, void *data) {
  int64_t count;
  size_t bytes = hr_dtype_bytes(shape->dtype);
  bench_check(hlo_shape_count(shape, &count));
  for (int64_t i = 0; i < count; i++) {
    double number = -6;
    for (int k = 0; k < 12 && hr_dtype_is_float(shape->dtype); k++)
      number += rand() / (double)RAND_MAX;
    uint64_t bits = hr_dtype_is_float(shape->dtype) ? hr_float_encode(shape->dtype, number)
                                                    : (uint64_t)rand() % (uint64_t)limit;
    memcpy((char *)data + (size_t)i * bytes, &bits, bytes);
  }
}

static void *new_array(const hlo_shape_t *shape) {
  void *memory;
  size_t bytes;
  bench_check(hlo_shape_bytes(shape, &bytes));
  bench_check(hr_alloc(bytes, &memory));
  memset(memory, 0, bytes);
  return memory;
}

static hr_status_t ignore_end(void *context, void (*destroy)(void *object), void *object) {
  (void)context, (void)destroy, (void)object;
  return NULL;
}

static void bench_with(const row_t *row, const hlo_instr_t *instr, int count, void *const *in,
                       void *const *out) {
  hr_arena_t arena;
  hr_workers_t *workers;
  const hlo_shape_t *shapes[MAX_OPERANDS];
  void *scratch;
  op_native_step_t step = {0};
  hr_arena_init(&arena);
  bench_check(
      hr_workers_create(&(hr_workers_options_t){.count = count, .may_spin = true}, &workers));
  for (int k = 0; k < instr->operand_count; k++) shapes[k] = instr->operands[k]->shape;
  op_step_t op_step = {instr, shapes, instr->shape, NULL, 0};
  op_native_target_t target = {.arena = &arena, .workers = count, .add_cleanup = ignore_end};
  bench_check(op_natives[instr->op]->prepare(&target, &op_step, &step));
  if (!step.plan) {
    printf("%-28s declined\n", row->name);
  } else {
    double best = 1e9;
    bench_check(hr_alloc(step.scratch_bytes, &scratch));
    op_native_run_t run = {.workers = workers, .scratch = scratch};
    for (double start = hr_clock_s(); hr_clock_s() - start < SECONDS;) {
      double began = hr_clock_s();
      bench_check(op_natives[instr->op]->run(&run, step.plan, in, out));
      if (hr_clock_s() - began < best) best = hr_clock_s() - began;
    }
    printf("%-28s %d workers %9.3f ms %8.2f GB/s  scratch %.1f MB\n", row->name, count, best * 1e3,
           step.bytes / best * 1e-9, (double)step.scratch_bytes * 1e-6);
    hr_free(scratch);
  }
  hr_workers_destroy(workers);
  hr_arena_deinit(&arena);
}

static void bench(const row_t *row) {
  hr_buffer_t *bytes;
  hlo_module_t *module;
  void *in[MAX_OPERANDS], *out[MAX_OPERANDS];
  bench_check(hr_buffer_create(strlen(row->text), &bytes));
  memcpy(hr_buffer_data(bytes), row->text, strlen(row->text));
  bench_check(read_module(row->name, bytes, &module));
  bench_check(hlo_verify(module));
  const hlo_instr_t *root = module->entry->root;
  for (int k = 0; k < root->operand_count; k++) {
    in[k] = new_array(root->operands[k]->shape);
    fill(root->operands[k]->shape, row->limit, in[k]);
  }
  int leaves = hlo_shape_leaf_count(root->shape);
  for (int k = 0; k < leaves; k++) out[k] = new_array(hlo_shape_leaf(root->shape, k));
  for (int count = 1; count <= 2; count++) bench_with(row, root, count, in, out);
  for (int k = 0; k < root->operand_count; k++) hr_free(in[k]);
  for (int k = 0; k < leaves; k++) hr_free(out[k]);
  hlo_module_destroy(module);
  hr_buffer_release(bytes);
}

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bool wanted = argc == 1;
    for (int a = 1; a < argc; a++) wanted |= strncmp(rows[i].name, argv[a], strlen(argv[a])) == 0;
    if (wanted) bench(&rows[i]);
  }
  return 0;
}
