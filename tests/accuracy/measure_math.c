/* make accuracy-math: how far generated math is from the exact results, for tests/accuracy/compiled_ulp.md: f32 ops of one
 * operand on every number there is, the others on random ones. STEP=N on the command line looks at every Nth only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math_kernels.h"

#define BLOCK 65536
#define SAMPLED_BLOCKS 1024 /* of random numbers, in all */

typedef struct worst {
  double error, x, y;
} worst_t;

typedef struct search {
  const math_kernel_t *kernel;
  const math_reference_t *reference;
  uint64_t step;
  worst_t worst[64]; /* of each worker */
} search_t;

static uint64_t scatter(uint64_t z) { /* splitmix64 */
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static float f32_of(uint32_t bits) { return ((union { uint32_t u; float f; }){bits}).f; }
static double f64_of(uint64_t bits) { return ((union { uint64_t u; double f; }){bits}).f; }

/* Random bits in a quarter of the blocks, else evenly from [-1.01, 1.01], [-8, 8], [-800, 800]. */
static double random_number(int64_t block, uint64_t number, bool is_f64) {
  static const double ranges[] = {0, 1.01, 8, 800};
  uint64_t bits = scatter(number * UINT64_C(0x9E3779B97F4A7C15));
  if (block % 4) return (double)(int64_t)bits * 0x1p-63 * ranges[block % 4];
  return is_f64 ? f64_of(bits) : (double)f32_of((uint32_t)bits);
}

static void note(worst_t *worst, double error, double x, double y) {
  if (error > worst->error) *worst = (worst_t){error, x, y};
}

static void try_block_f32(const search_t *search, int64_t block, worst_t *worst) {
  static _Thread_local float x[BLOCK], y[BLOCK], out[BLOCK];
  for (uint64_t i = 0; i < BLOCK; i++) {
    uint64_t number = (uint64_t)block * BLOCK + i;
    x[i] = search->reference->of_f32 ? f32_of((uint32_t)(number * search->step))
                                     : (float)random_number(block, 2 * number, false);
    y[i] = (float)random_number(block / 4, 2 * number + 1, false);
  }
  search->kernel->run(x, y, out, BLOCK);
  for (int i = 0; i < BLOCK; i++) note(worst, math_error_f32(search->reference, x[i], y[i], out[i]), x[i], y[i]);
}

static void try_block_f64(const search_t *search, int64_t block, worst_t *worst) {
  static _Thread_local double x[BLOCK], y[BLOCK], out[BLOCK];
  for (uint64_t i = 0; i < BLOCK; i++) {
    uint64_t number = (uint64_t)block * BLOCK + i;
    x[i] = random_number(block, 2 * number, true);
    y[i] = random_number(block / 4, 2 * number + 1, true);
  }
  search->kernel->run(x, y, out, BLOCK);
  for (int i = 0; i < BLOCK; i++) note(worst, math_error_f64(search->reference, x[i], y[i], out[i]), x[i], y[i]);
}

static void try_blocks(void *context, int64_t begin, int64_t end, int worker) {
  search_t *search = context;
  for (int64_t block = begin; block < end; block++)
    (search->kernel->is_f64 ? try_block_f64 : try_block_f32)(search, block, &search->worst[worker]);
}

static void search_worst(search_t *search, hr_workers_t *workers) {
  bool is_whole = !search->kernel->is_f64 && search->reference->of_f32;
  int64_t blocks = is_whole ? (int64_t)((UINT64_C(1) << 32) / BLOCK / search->step) : SAMPLED_BLOCKS;
  hr_workers_for(workers, blocks, 16, try_blocks, search);
  for (int i = 1; i < 64; i++) note(&search->worst[0], search->worst[i].error, search->worst[i].x, search->worst[i].y);
  const worst_t *worst = &search->worst[0];
  printf("| %s | %s | %s | %.3f | %.9g", search->reference->name, search->kernel->is_f64 ? "f64" : "f32",
         is_whole ? "every number" : "67 million", worst->error, worst->x);
  if (search->reference->of_two_f32) printf(", %.9g", worst->y);
  printf(" |\n");
  fflush(stdout);
}

static hr_status_t measure(const math_reference_t *reference, bool is_f64, uint64_t step, hr_workers_t *workers) {
  math_kernel_t kernel = {
      .op = reference->op, .is_f64 = is_f64, .lanes = jit_target_host()->vector_bytes / (is_f64 ? 8 : 4)};
  search_t search = {.kernel = &kernel, .reference = reference, .step = step};
  HR_TRY(math_kernels_make(&kernel, 1, jit_target_host(), NULL));
  search_worst(&search, workers);
  math_kernels_free(&kernel, 1);
  return NULL;
}

int main(int argc, char **argv) {
  hr_workers_t *workers = NULL;
  uint64_t step = argc > 1 && strncmp(argv[1], "STEP=", 5) == 0 ? strtoull(argv[1] + 5, NULL, 10) : 1;
  hr_status_t st = hr_workers_create(&(hr_workers_options_t){.count = 2}, &workers);
  for (int is_f64 = 0; is_f64 < 2; is_f64++)
    for (int i = 0; i < math_reference_count && !st; i++)
      st = measure(&math_references[i], is_f64, step ? step : 1, workers);
  hr_workers_destroy(workers);
  if (st) hr_status_print(stderr, st);
  return hr_status_exit_code(st);
}
