/* Kernels of the compiled engine: addresses in, addresses out, all sizes static, no allocation
 * during a run. `prepare` chooses an implementation (a library's primitive, an algorithm, a number
 * of parts) and may decline; the reference kernel of kernel.h runs then. Values are flattened: a
 * tuple is its leaves, in order, for operands and results. Arrays are dense and row-major; types
 * narrower than a byte take a byte each, as in ir/value.h; predicates are bytes 0 and 1. Thread:
 * plans are immutable except for the private state of a kernel (a library's handle); run is called
 * by one thread at a time, worker 0 of the pool. */
#ifndef HLO_OPS_NATIVE_H
#define HLO_OPS_NATIVE_H

#include "base/workers.h"
#include "ops/kernels/kernel.h"

typedef struct op_native op_native_t;

/* A result as a matrix stored row by row, and how it may be divided: a part is any range of rows,
 * and a range of columns that begins at a multiple of `unit` and ends at another or at the last
 * column. */
typedef struct op_native_grid {
  int64_t rows, columns;
  int64_t unit;    /* 0: whole rows only */
  bool whole_rows; /* the kernel is about as fast when its parts are whole rows */
  bool in_cache;   /* a consumer reads the results again at once: no non-temporal stores */
} op_native_grid_t;

/* A part of the grid. */
typedef struct op_native_part {
  int64_t row, rows, column, columns;
} op_native_part_t;

/* A later step that runs on each part of a result as soon as that is final, on the worker that
 * computed it. */
typedef struct op_native_epilogue {
  void (*run)(const struct op_native_epilogue *epilogue, const op_native_part_t *part, int worker);
  const void *context;
} op_native_epilogue_t;

/* Most parts into which the terms of a long sum are divided. The number does not depend on the
 * number of workers, so that results have the same bits with any of them. */
enum { NATIVE_SUM_PARTS = 8 };

/* Where plans live and who will run them. */
typedef struct op_native_target {
  hr_arena_t *arena; /* plans live in it; freed with the program */
  int workers;       /* number of workers of a run */
  /* Registers an object of the plan that the arena cannot free: destroyed in reverse order with the
   * program. */
  hr_status_t (*add_cleanup)(void *context, void (*destroy)(void *object), void *object);
  void *context;
  void *emitter; /* context of the code generator, as the planner got it */
  const op_native_t
      *generated; /* the code generator's kernel, for the inner steps of a step; NULL: none */
} op_native_target_t;

/* Sets of operands, one per result, as rows of this many words: bit k % 64 of word k / 64 is
 * operand k. */
static inline int native_reuse_words(int operand_count) { return (operand_count + 63) / 64; }
static inline bool native_reuses(const uint64_t *reuse, int words, int result, int k) {
  if (words < 2) return k < 64 && reuse[result] >> k & 1;
  return k < 64 * words && reuse[result * words + k / 64] >> k % 64 & 1;
}
static inline void native_reuse_add(uint64_t *reuse, int words, int result, int k) {
  reuse[result * words + k / 64] |= UINT64_C(1) << k % 64;
}

struct op_native_step;

/* How a plan can be run in parts; all zero: only as a whole. */
typedef struct op_native_parts {
  /* Producers: the only result is computed in parts of `grid`. fuse() makes another plan, whose
   * runs call op_native_run_t.epilogue for each part; the unit of its grid is that of this one, or
   * 0 if whole_rows is set. */
  op_native_grid_t grid;
  uint64_t by_rows; /* operands that a part of whole rows reads only in its own range of rows, and
                       that nobody reads there after the part is final */
  hr_status_t (*fuse)(const op_native_target_t *target, const void *plan,
                      const op_native_grid_t *grid, struct op_native_step *out);
  bool fit_caches; /* a finished part is still in the cache, free for an epilogue to read */
  const struct op_native_consumer *consumer; /* how the step consumes parts; NULL: it cannot */
} op_native_parts_t;

/* A packed form of an operand that is faster to read and valid as long as the operand does not
 * change: computed once, before a loop that does not write the operand. */
typedef struct op_native_prepack {
  int leaf;            /* the operand; in[] holds its packed form instead */
  size_t bytes;        /* size of the packed form */
  bool pays_if_cached; /* no faster to read if the packed form comes from memory */
  const op_native_t
      *packer; /* runs packer_plan on the operand alone; its only result is the packed form */
  const void *packer_plan;
  /* True if the plans of two packers give equal bytes for equal operands. */
  bool (*has_same_form)(const void *packer_plan, const void *other_plan);
  /* Makes the plan that reads the packed form, as op_native_t.prepare does. */
  hr_status_t (*prepare)(const op_native_target_t *target, const struct op_native_prepack *prepack,
                         struct op_native_step *out);
  const void *context; /* for prepare */
} op_native_prepack_t;

/* Result of prepare. */
typedef struct op_native_step {
  const void *plan;     /* NULL: declined */
  size_t scratch_bytes; /* undefined contents at the start of every run; aligned to HR_ALIGNMENT */
  /* Per result leaf, the operand leaves whose buffers it may share: the kernel is correct with
   * in[k] == out[leaf]. Used only if this is the operand's last use. NULL: none. In-place ops (an
   * update, a scatter, a sort) skip the copy when both are equal. Rows of `reuse_words` words (0:
   * one), see native_reuses. */
  const uint64_t *reuse;
  int reuse_words;
  uint64_t
      nondeterministic_results; /* bitmask of results that are not unique (signs of eigenvectors,
                                 * undefined parts): HLORUN_CHECK leaves them out */
  double flops, bytes;          /* work and memory traffic of one run, for traces; 0: unknown */
  double copied_bytes;          /* memory traffic, in addition, of the copies that in-place ops make
                                 * unless a result shares the buffer of an operand */
  op_native_parts_t parts;
  const op_native_prepack_t *prepack; /* NULL: operands are read unpacked */
} op_native_step_t;

/* One run. */
typedef struct op_native_run {
  hr_workers_t *workers; /* may be NULL: one */
  void *scratch;
  op_env_t *env; /* position in the grid, peers, cancellation */
  /* For code that runs several steps of a plan. rounds 0: runs step `step`; else checks for
   * cancellation after `rounds` more iterations of the loop that is the step. */
  hr_status_t (*run_step)(const struct op_native_run *run, int step, int64_t rounds);
  void *machine;
  const op_native_epilogue_t *epilogue; /* for plans from op_native_parts_t.fuse; else NULL */
} op_native_run_t;

/* The pool for a plan made for `planned` workers; NULL if the pool has become larger, as scratch
 * memory is per worker. */
static inline hr_workers_t *native_workers(const op_native_run_t *run, int planned) {
  return hr_workers_count(run->workers) <= planned ? run->workers : NULL;
}

/* A kernel that can run part by part as one of its operands becomes ready. Per run: one call of
 * begin, then concurrent calls of `part` until the grid is complete. */
typedef struct op_native_consumer {
  /* Like op_native_t.prepare. Leaves out->plan NULL if a part needs more of operand leaf `leaf`
   * than the same part of it. Sets grid->unit to 0 if parts need whole rows of it. `plan`, which
   * prepare made, is not run if this makes another. */
  hr_status_t (*prepare)(const op_native_target_t *target, const op_step_t *step, const void *plan,
                         int leaf, op_native_grid_t *grid, op_native_step_t *out);
  void (*begin)(const op_native_run_t *run, const void *plan, void *const *in, void *const *out);
  void (*part)(const op_native_run_t *run, const void *plan, const op_native_part_t *part,
               int worker);
} op_native_consumer_t;

struct op_native {
  const char *name; /* for traces and plans: "oneDNN matmul" */
  /* step: instruction and shapes (all static); step->plan is not set. Declines by leaving out->plan
   * NULL. */
  hr_status_t (*prepare)(const op_native_target_t *target, const op_step_t *step,
                         op_native_step_t *out);
  hr_status_t (*run)(const op_native_run_t *run, const void *plan, void *const *in,
                     void *const *out);
};

/* Fusions that only transpose and reverse an array. */
extern const op_native_t native_transpose_reverse;
extern const op_native_t *const
    op_natives[HLO_OPCODE_COUNT]; /* from ops.def; run is NULL for ops without a native kernel */

#endif
