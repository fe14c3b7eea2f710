/* Internal: the compiled engine's machine, shared by compiled*.c. */
#ifndef EXEC_COMPILED_PARTS_H
#define EXEC_COMPILED_PARTS_H

#include "base/fence.h"
#include "exec/compiled.h"
#include "exec/result_cache.h"

/* A step of the flat plan with resolved addresses. */
typedef struct run_step {
  flat_kind_t kind;
  int end;          /* index of the first step after this one and the steps nested in it */
  void **in, **out; /* addresses per operand and result leaf, in exec_compiled_t.pointers */
  hr_status_t (*run)(const op_native_run_t *run, const void *plan, void *const *in,
                     void *const *out); /* NATIVE */
  const void *plan;
  void *scratch;
  const int *starts; /* first steps of condition and body, or of branches */
  size_t copy_bytes;
  bool is_loop; /* NATIVE: a whole loop compiled to one function */
  const flat_step_t *flat;
  hlo_value_t *
      *views; /* REFERENCE: per operand leaf a value that wraps its address; created on first use */
  int begins; /* REFERENCE: index of the start step of this done step; -1: none */
  uint64_t started_ns;     /* REFERENCE: start time of its collective, if traced */
  uint32_t handle;         /* REFERENCE: handle of the channel transfer that it started */
  hlo_value_t **out_views; /* per result leaf, for steps that write planned buffers; else NULL */
} run_step_t;

/* An entry of the pointer table that refers to an argument, a result, a view, an overlay or shared
 * memory. */
typedef struct run_relocation {
  int pointer;
  size_t offset_bytes;
} run_relocation_t;

/* Memory of a flat_shared_t. */
typedef struct run_shared {
  hr_buffer_t *buffer; /* shared memory for two executions, used alternately; NULL: private */
  void *memory;
} run_shared_t;

struct exec_compiled {
  const flat_plan_t *flat;
  exec_compiled_options_t options;
  exec_cancel_t *cancel; /* the caller's token, or one that is never raised; not NULL */
  exec_machine_t *reference;
  hr_arena_t list_arena; /* lists of this struct and of steps */
  void *arena;           /* intermediate arrays; NULL with fences */
  /* HLORUN_CHECK=memory: guarded blocks per buffer and per argument of this run; else NULL. */
  hr_fence_t **fences, **argument_fences;
  hr_buffer_t *shared; /* owner of an arena in memory shared with peers; NULL: private */
  bool has_peers;      /* some step is a collective, a send or a recv */
  run_step_t *steps;
  void **pointers;
  bool shares_arrays;   /* exec_compiled_share_arrays */
  run_shared_t *arrays; /* per flat_shared_t; NULL: not opened yet */
  uint64_t runs;        /* number of executions started */
  /* Arguments, then results, views, the overlays of each result, and shared arrays: their ranges of
   * relocations, and the address currently bound. */
  int *first_relocation;
  run_relocation_t *relocations;
  void **bound;
  op_native_run_t native;
  hr_where_t where;    /* error context; `at` is the current run_step_t */
  hlo_value_t **slots; /* values of dynamic size between steps */
  hlo_value_t *token;
  void **overlays; /* per result: memory for its overlays if the result is in an argument's bytes;
                      NULL: not needed yet */
  exec_result_cache_t *cache;
  bool *moved;                /* per argument: it became a result in this run */
  hr_trace_span_t *spans;     /* per step; NULL: not traced */
  hr_trace_span_t *transfers; /* spans of transfers, by start step; NULL: not traced */
};

/* Runs a step without nested steps: native code or a copy. */
hr_status_t exec_compiled_run_leaf(exec_compiled_t *machine, run_step_t *step);
/* Signature of op_native_run_t.run_step. */
hr_status_t exec_compiled_run_step(const op_native_run_t *native, int number, int64_t rounds);
/* Runs a step with its reference kernel. */
hr_status_t exec_compiled_reference(exec_compiled_t *machine, run_step_t *step);
/* Runs a native step with both kernels and compares the results. Errors: MISMATCH. */
hr_status_t exec_compiled_check(exec_compiled_t *machine, run_step_t *step);
/* Copies a step's operands, one value per operand, as new references; after a failure the rest of
 * `in` is unchanged. */
hr_status_t exec_compiled_copy_operands(exec_compiled_t *machine, const run_step_t *step,
                                        hlo_value_t **in);
void exec_compiled_release_views(exec_compiled_t *machine);

/* compiled_fences.c */
hr_status_t exec_fences_create(exec_compiled_t *machine);
void exec_fences_destroy(exec_compiled_t *machine); /* no-op without fences */
/* Copies argument p into a read-only guarded block, valid until the next call for p. */
hr_status_t exec_fences_copy_argument(exec_compiled_t *machine, int p, const hlo_value_t *arg,
                                      void **out_address);

/* compiled_numa.c */
/* Are the accesses of this step counted? Only steps of arithmetic or copies are. */
bool exec_numa_counts(const exec_compiled_t *machine, const run_step_t *step);
hr_status_t exec_numa_run(exec_compiled_t *machine, run_step_t *step);

/* compiled_shared.c */
/* Opens the machine's shared arrays in its first run, together with the peers. */
hr_status_t exec_shared_open(exec_compiled_t *machine);
void exec_shared_close(exec_compiled_t *machine); /* no-op without any */
/* Address of shared memory `number` in this execution. */
void *exec_shared_address(const exec_compiled_t *machine, int number);
/* op_step_hints_t.shared_results of a step. */
uint64_t exec_shared_results(const exec_compiled_t *machine, const flat_step_t *step);

/* Index of the overlays of result `r` in these tables. */
static inline int exec_overlay_index(const flat_plan_t *flat, int r) {
  return flat->param_count + flat->result_count + flat->view_count + r;
}
/* Index of shared memory `number` in these tables. */
static inline int exec_shared_index(const flat_plan_t *flat, int number) {
  return exec_overlay_index(flat, flat->result_count) + number;
}

#endif
