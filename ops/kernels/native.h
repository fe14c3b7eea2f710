/* The compiled engine's kernels: addresses in, addresses out, all sizes known, nothing allocated
 * while running. `prepare` chooses how (a library's primitive, an algorithm, a number of parts) and
 * may decline; the reference kernel of kernel.h does it then. Values are flattened: a tuple is its
 * leaves, in order, on both sides. Arrays are dense, row-major, one element after the other, types
 * below a byte in a byte each, as in ir/value.h; predicates are bytes 0 and 1. Thread: plans are
 * immutable but for what a kernel keeps for itself (a library's handle); run is called by one
 * thread at a time, worker 0 of the pool. */
#ifndef HLO_OPS_NATIVE_H
#define HLO_OPS_NATIVE_H

#include "base/workers.h"
#include "ops/kernels/kernel.h"

typedef struct op_native op_native_t;

/* A result as rows of columns, one row after the other, and how it may be taken in parts: any range
 * of rows, and of columns those from a multiple of `unit` to another, or to the end. */
typedef struct op_native_grid {
  int64_t rows, columns;
  int64_t unit;    /* 0: whole rows only */
  bool whole_rows; /* the kernel is about as fast when its parts are whole rows */
  bool in_cache;   /* results of a consumer are read again at once: no stores past the caches */
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

/* Parts into which the terms of a long sum are divided, at most: a number of its own and not that
 * of the workers, so that results have the same bits with any number of workers. */
enum { NATIVE_SUM_PARTS = 8 };

/* For whom plans are made. */
typedef struct op_native_target {
  hr_arena_t *arena; /* plans live in it; freed with the program */
  int workers;       /* how many will run it */
  /* Things that a plan holds and the arena cannot free: called in reverse order when the program is
   * destroyed. */
  hr_status_t (*add_cleanup)(void *context, void (*destroy)(void *object), void *object);
  void *context;
  void *emitter;                /* for the code generator: what it was handed to the planner with */
  const op_native_t *generated; /* the code generator's kernel, for steps of a step; NULL: none */
} op_native_target_t;

/* Sets of operands, one for each result, as rows of so many words: bit k % 64 of word k / 64 is
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

/* How a plan can be done in parts; all zero: only as a whole. */
typedef struct op_native_parts {
  /* Producers: the only result is computed in parts of `grid`. fuse() makes another plan, whose
   * runs call op_native_run_t.epilogue for each part; its grid has the unit of this one, or, if
   * whole_rows, 0. */
  op_native_grid_t grid;
  uint64_t by_rows; /* operands of which a range of rows is needed only for the same rows of the
                     * grid, and not again once these are final, if parts are whole rows */
  hr_status_t (*fuse)(const op_native_target_t *target, const void *plan,
                      const op_native_grid_t *grid, struct op_native_step *out);
  bool fit_caches; /* a finished part is still cache-resident: an epilogue reads it at no cost */
  const struct op_native_consumer *consumer; /* how it consumes parts; NULL: it cannot */
} op_native_parts_t;

/* A packed form of an operand that is faster to read and stays valid as long as the operand does
 * not change: computed once, before a loop that does not write it. */
typedef struct op_native_prepack {
  int leaf;     /* the operand; in[] has its packed form instead */
  size_t bytes; /* size of the packed form */
  const op_native_t
      *packer; /* runs packer_plan on the operand alone; its only result is the form */
  const void *packer_plan;
  /* The plan that works on the form: as prepare has it. */
  hr_status_t (*prepare)(const op_native_target_t *target, const struct op_native_prepack *prepack,
                         struct op_native_step *out);
  const void *context; /* for prepare */
} op_native_prepack_t;

/* Result of prepare. */
typedef struct op_native_step {
  const void *plan;     /* NULL: declined */
  size_t scratch_bytes; /* undefined at the start of every run; aligned to HR_ALIGNMENT */
  /* Per result leaf, the operand leaves whose bytes it may share: in[k] == out[leaf] must then give
   * the right result, which counts only if this is the operand's last use. NULL: none. In-place ops
   * (an update, a scatter, a sort) skip the copy when they are equal. Rows of `reuse_words` words
   * (0: one), see native_reuses. */
  const uint64_t *reuse;
  int reuse_words;
  uint64_t
      nondeterministic_results; /* bitmask of results that are not unique (signs of eigenvectors,
                                 * undefined parts): HLORUN_CHECK leaves them out */
  double flops, bytes;          /* work and memory traffic of one run, for traces; 0: unknown */
  op_native_parts_t parts;
  const op_native_prepack_t *prepack; /* NULL: operands are taken as they are */
} op_native_step_t;

/* One run. */
typedef struct op_native_run {
  hr_workers_t *workers; /* may be NULL: one */
  void *scratch;
  op_env_t *env; /* position in the grid, peers, cancellation */
  /* For code that runs several steps of a plan. rounds 0: runs step `step`; else checks for
   * cancellation after `rounds` more iterations of the loop that the step is. */
  hr_status_t (*run_step)(const struct op_native_run *run, int step, int64_t rounds);
  void *machine;
  const op_native_epilogue_t *epilogue; /* for plans from op_native_parts_t.fuse; else NULL */
} op_native_run_t;

/* The pool for a plan made for `planned` workers: none if it has become larger, as scratch is per
 * worker. */
static inline hr_workers_t *native_workers(const op_native_run_t *run, int planned) {
  return hr_workers_count(run->workers) <= planned ? run->workers : NULL;
}

/* A kernel that can be done in parts of the grid by which one of its operands becomes ready. Per
 * run: one call of begin, then calls of `part` side by side until the grid is done. */
typedef struct op_native_consumer {
  /* Leaves out->plan NULL if parts need more of operand leaf `leaf` than the same part of it. Sets
   * grid->unit to 0 if they need whole rows of it. As of prepare; `plan`, what prepare made, is not
   * run any more when there is another. */
  hr_status_t (*prepare)(const op_native_target_t *target, const op_step_t *step, const void *plan,
                         int leaf, op_native_grid_t *grid, op_native_step_t *out);
  void (*begin)(const op_native_run_t *run, const void *plan, void *const *in, void *const *out);
  void (*part)(const op_native_run_t *run, const void *plan, const op_native_part_t *part,
               int worker);
} op_native_consumer_t;

struct op_native {
  const char *name; /* for traces and plans: "oneDNN matmul" */
  /* step: instruction and shapes (all static); step->plan is not set. Leaving out->plan NULL
   * declines. */
  hr_status_t (*prepare)(const op_native_target_t *target, const op_step_t *step,
                         op_native_step_t *out);
  hr_status_t (*run)(const op_native_run_t *run, const void *plan, void *const *in,
                     void *const *out);
};

/* Fusions that transpose and reverse an array and do nothing else. */
extern const op_native_t native_transpose_reverse;
extern const op_native_t
    *const op_natives[HLO_OPCODE_COUNT]; /* from ops.def; run is NULL where there is none */

#endif
