/* make accuracy-math: how far generated math is from the exact results, for
 * tests/accuracy/compiled_ulp.md. Ops of one operand on f32 are tried on every number there is and
 * compared with the generated op on f64, which the other rows vouch for; the others on random
 * numbers, and compared with the C library in more digits.
 * Arguments: STEP=N, to try every Nth f32 only, then names of ops, if not all are wanted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/math_kernels.h"

#define BLOCK 65536
#define SAMPLED_BLOCKS 256 /* blocks of random numbers, in all */

typedef struct worst {
  double error, x, y;
} worst_t;

typedef struct search {
  const math_kernel_t *kernel;
  const math_kernel_t *wide; /* kernel of the same op in f64; NULL for a kernel in f64 */
  const math_reference_t *reference;
  uint64_t step;
  worst_t worst[64]; /* largest errors that each worker found */
} search_t;

static uint64_t scatter(uint64_t z) { /* splitmix64 */
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static float f32_of(uint32_t bits) {
  return ((union {
           uint32_t u;
           float f;
         }){bits})
      .f;
}
static double f64_of(uint64_t bits) {
  return ((union {
           uint64_t u;
           double f;
         }){bits})
      .f;
}

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

static void try_every_f32(const search_t *search, int64_t block, worst_t *worst) {
  static _Thread_local float x[BLOCK], out[BLOCK];
  static _Thread_local double wide[BLOCK], want[BLOCK];
  for (uint64_t i = 0; i < BLOCK; i++) {
    x[i] = f32_of((uint32_t)(((uint64_t)block * BLOCK + i) * search->step));
    wide[i] = x[i];
  }
  search->kernel->run(x, NULL, out, BLOCK);
  search->wide->run(wide, NULL, want, BLOCK);
  for (int i = 0; i < BLOCK; i++)
    if ((float)want[i] != out[i] || out[i] == 0)
      note(worst, math_error_of_f32(want[i], out[i]), x[i], 0);
}

static void try_block_f32(const search_t *search, int64_t block, worst_t *worst) {
  static _Thread_local float x[BLOCK], y[BLOCK], out[BLOCK];
  if (search->reference->of_f32) {
    try_every_f32(search, block, worst);
    return;
  }
  for (uint64_t i = 0; i < BLOCK; i++) {
    uint64_t number = (uint64_t)block * BLOCK + i;
    x[i] = (float)random_number(block, 2 * number, false);
    y[i] = (float)random_number(block / 4, 2 * number + 1, false);
  }
  search->kernel->run(x, y, out, BLOCK);
  for (int i = 0; i < BLOCK; i++)
    note(worst, math_error_f32(search->reference, x[i], y[i], out[i]), x[i], y[i]);
}

static void try_block_f64(const search_t *search, int64_t block, worst_t *worst) {
  static _Thread_local double x[BLOCK], y[BLOCK], out[BLOCK];
  for (uint64_t i = 0; i < BLOCK; i++) {
    uint64_t number = (uint64_t)block * BLOCK + i;
    x[i] = random_number(block, 2 * number, true);
    y[i] = random_number(block / 4, 2 * number + 1, true);
  }
  search->kernel->run(x, y, out, BLOCK);
  for (int i = 0; i < BLOCK; i++)
    note(worst, math_error_f64(search->reference, x[i], y[i], out[i]), x[i], y[i]);
}

static void try_blocks(void *context, int64_t begin, int64_t end, int worker) {
  search_t *search = context;
  for (int64_t block = begin; block < end; block++)
    (search->kernel->is_f64 ? try_block_f64 : try_block_f32)(search, block, &search->worst[worker]);
}

static void search_worst(search_t *search, hr_workers_t *workers) {
  bool is_whole = !search->kernel->is_f64 && search->reference->of_f32;
  int64_t blocks =
      is_whole ? (int64_t)((UINT64_C(1) << 32) / BLOCK / search->step) : SAMPLED_BLOCKS;
  hr_workers_for(workers, blocks, 16, try_blocks, search);
  for (int i = 1; i < 64; i++)
    note(&search->worst[0], search->worst[i].error, search->worst[i].x, search->worst[i].y);
  const worst_t *worst = &search->worst[0];
  const char *numbers = is_whole ? "every number" : "17 million";
  printf("| %s | %s | %s | %.3f | %.9g", search->reference->name,
         search->kernel->is_f64 ? "f64" : "f32", numbers, worst->error, worst->x);
  if (search->reference->of_two_f32) printf(", %.9g", worst->y);
  printf(" |\n");
  fflush(stdout);
}

static hr_status_t measure(const math_reference_t *reference, bool is_f64, uint64_t step,
                           hr_workers_t *workers) {
  int bytes = jit_target_host()->vector_bytes;
  math_kernel_t kernels[2] = {
      {.op = reference->op, .is_f64 = is_f64, .lanes = bytes / (is_f64 ? 8 : 4)},
      {.op = reference->op, .is_f64 = true, .lanes = bytes / 8}};
  search_t search = {
      .kernel = &kernels[0], .wide = &kernels[1], .reference = reference, .step = step};
  for (int i = 0; i < 64; i++) search.worst[i].error = 0.5;
  HR_TRY(math_kernels_make(kernels, 2, jit_target_host(), NULL));
  search_worst(&search, workers);
  math_kernels_free(kernels, 2);
  return NULL;
}

static bool is_wanted(int argc, char **argv, const char *name) {
  bool any = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], name) == 0) return true;
    any |= !strchr(argv[i], '=');
  }
  return !any;
}

int main(int argc, char **argv) {
  hr_workers_t *workers = NULL;
  uint64_t step =
      argc > 1 && strncmp(argv[1], "STEP=", 5) == 0 ? strtoull(argv[1] + 5, NULL, 10) : 1;
  hr_status_t st = hr_workers_create(&(hr_workers_options_t){.count = 2}, &workers);
  for (int is_f64 = 0; is_f64 < 2; is_f64++)
    for (int i = 0; i < math_reference_count && !st; i++)
      if (is_wanted(argc, argv, math_references[i].name))
        st = measure(&math_references[i], is_f64, step ? step : 1, workers);
  hr_workers_destroy(workers);
  if (st) hr_status_print(stderr, st);
  return hr_status_exit_code(st);
}
