/* Inside the compiled engine's machine: what its files share. */
#ifndef EXEC_COMPILED_PARTS_H
#define EXEC_COMPILED_PARTS_H

#include "base/fence.h"
#include "exec/compiled.h"
#include "exec/result_cache.h"

/* A step with its addresses. */
typedef struct run_step {
  flat_kind_t kind;
  int end;          /* number of the step behind it and behind what is inside it */
  void **in, **out; /* in the machine's table */
  hr_status_t (*run)(const op_native_run_t *run, const void *plan, void *const *in,
                     void *const *out); /* NATIVE */
  const void *plan;
  void *scratch;
  const int *starts; /* of conditions, bodies, branches */
  size_t copy_bytes;
  bool is_loop; /* NATIVE: a loop as one function */
  const flat_step_t *flat;
  hlo_value_t **views; /* REFERENCE: per operand leaf a value over its address, made when it is
                          first needed */
  int begins;          /* REFERENCE: number of the step that began what this one ends; -1: none */
  uint64_t started_ns; /* REFERENCE: when it began a collective, if there is a trace */
  uint32_t handle;     /* REFERENCE: of the transfer on a channel that it began */
  hlo_value_t **out_views; /* the same of the results, of steps that have places; else NULL */
} run_step_t;

/* A place in the table that holds an address in an argument or a result. */
typedef struct run_relocation {
  int pointer;
  size_t offset_bytes;
} run_relocation_t;

struct exec_compiled {
  const flat_plan_t *flat;
  exec_compiled_options_t options;
  exec_cancel_t *cancel; /* the caller's, or one that is never raised */
  exec_machine_t *reference;
  hr_arena_t list_arena; /* lists */
  void *arena;           /* NULL: fences */
  /* HLORUN_CHECK=memory: blocks of buffers that lie in the arena, of literals, and of the arguments
   * of this run, by their numbers; where it is NULL, there is none. */
  hr_fence_t **fences, **argument_fences;
  hr_buffer_t
      *shared;    /* has the arena, where peers reach it; NULL: the arena is the machine's own */
  bool has_peers; /* a step is a collective, or an end of a channel */
  run_step_t *steps;
  void **pointers;
  /* Arguments, then results: where their addresses go, and the address that is there. */
  int *first_relocation;
  run_relocation_t *relocations;
  void **bound;
  op_native_run_t native;
  hr_where_t where;    /* at: the run_step_t */
  hlo_value_t **slots; /* kept values */
  hlo_value_t *token;
  exec_result_cache_t *cache;
  bool *moved;                /* arguments that became results in this run */
  hr_trace_span_t *spans;     /* per step; NULL: no trace */
  hr_trace_span_t *transfers; /* the same of what steps begin and others end */
};

/* Signature of op_native_run_t.run_step. */
hr_status_t exec_compiled_run_step(const op_native_run_t *native, int number, int64_t rounds);
/* By the reference kernel. */
hr_status_t exec_compiled_reference(exec_compiled_t *machine, run_step_t *step);
/* By the native kernel and by the reference kernel, comparing. */
hr_status_t exec_compiled_check(exec_compiled_t *machine, run_step_t *step);
/* A step's operands as values of their own, one an operand; after a failure the rest of `in` is
 * untouched. */
hr_status_t exec_compiled_copy_operands(exec_compiled_t *machine, const run_step_t *step,
                                        hlo_value_t **in);
void exec_compiled_release_views(exec_compiled_t *machine);

/* compiled_fences.c */
hr_status_t exec_fences_create(exec_compiled_t *machine);
void exec_fences_destroy(exec_compiled_t *machine); /* also if there are none */
/* A block for argument p that may only be read, with its bytes; until the next call. */
hr_status_t exec_fences_copy_argument(exec_compiled_t *machine, int p, const hlo_value_t *arg,
                                      void **out_address);

#endif
