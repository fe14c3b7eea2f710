/* The flat plan: the program of the compiled engine. Every array has an address that is known
 * before the program runs: an offset in one arena, a literal, an argument or a result. Computations
 * called by while, conditional, call and fusion are laid out inside their callers, so that a
 * program is one list of steps and a lifetime is an interval of step numbers.
 *
 * Boxed values: values that are not arrays of static size (asynchronous states, opaque values) are
 * kept in value slots by the reference kernels. A computation with dynamic sizes runs as one
 * reference step of its caller; if that computation is the entry, or the program is split by
 * device, is_reference is set. Thread: immutable once built; shared by threads and executions. */
#ifndef PLAN_FLAT_H
#define PLAN_FLAT_H

#include "ops/kernels/native.h"
#include "plan/plan.h"

typedef enum flat_storage {
  FLAT_ARENA,   /* offset_bytes of the machine's arena */
  FLAT_LITERAL, /* bytes of a constant, never written */
  FLAT_PARAM,   /* bytes of argument `index`, written only through flat_result_t.alias_param */
  FLAT_RESULT,  /* bytes of result `index` */
  FLAT_OVERLAY, /* bytes of result `index` from offset_bytes on, used before the result is computed
                 */
  FLAT_SHARED,  /* bytes of the machine's shared memory `index` from offset_bytes on */
  FLAT_VIEW     /* a range of the bytes of buffer `view_of`, set by the view step `index` */
} flat_storage_t;

/* Storage of one array, or of several with disjoint lifetimes. */
typedef struct flat_buffer {
  flat_storage_t storage;
  int index;   /* PARAM, RESULT, OVERLAY: number of the flattened leaf; VIEW: number of the view;
                  SHARED: index in flat_plan_t.shared */
  int view_of; /* VIEW: the buffer that holds the bytes */
  const hlo_value_t *literal; /* LITERAL */
  size_t size_bytes, offset_bytes;
  int start, end;     /* first and last step that accesses it; for a carried value the whole loop */
  int coalesced_into; /* the buffer that it was merged into; -1: none */
  bool is_carried;    /* holds state of a loop or conditional */
  bool is_unused;     /* no step accesses it */
} flat_buffer_t;

/* Location of an array leaf; buffer -1: a leaf without bytes (a token). */
typedef struct flat_ref {
  int buffer;
  size_t offset_bytes;
} flat_ref_t;

/* A step's kind is the tag of flat_step_t: it says which of the members `native`, `reference`,
 * `copy` and `control` is used. The others are zero, except for an out_slot of -1. A view has the
 * kernel of its dynamic-slice in `native`. */
typedef enum flat_kind {
  FLAT_NATIVE,     /* a native kernel, or generated code */
  FLAT_REFERENCE,  /* a reference kernel on values that wrap the addresses */
  FLAT_COPY,       /* in[0] to out[0] */
  FLAT_SET_VIEW,   /* out[0] becomes the bytes of in[0] from the offset that start indices give */
  FLAT_WHILE,      /* condition: steps starts[0].., with result in[0]; body: steps starts[1].. */
  FLAT_CONDITIONAL /* in[0] selects the branch that runs: steps starts[i].. */
} flat_kind_t;

/* A kernel of ops/kernels or of the code generator, prepared for this step. */
typedef struct flat_native_step {
  const op_native_t *kernel;
  const void *plan;         /* the kernel's own data; lives in the plan's arena */
  const plan_step_t *first; /* producer instruction fused into the step of `source`; NULL: none */
  uint64_t nondeterministic_results; /* result leaves; see op_native_step_t */
  op_native_parts_t tiles;           /* how the step can be fused; see op_native_step_t */
  const op_native_prepack_t
      *prepack; /* packed form of an operand worth hoisting out of loops; NULL: none */
  double flops, bytes, copied_bytes; /* cost; see op_native_step_t */
} flat_native_step_t;

/* A reference kernel, which works on values. A transfer is two such steps: its start and its end.
 * Between them its arrays are read and filled by the transport. */
typedef struct flat_reference_step {
  const int *in_slots;    /* per operand a value slot; -1: an array, or a tuple of arrays */
  int out_slot;           /* value slot of the result; -1: the result's leaves are in `out` */
  uint64_t may_overwrite; /* operands that the kernel may update if they share the result's bytes */
  bool owns_operands;     /* copies of the operands are passed: the result may retain them */
  bool has_out_buffers;   /* a transfer that writes its results directly into `out` */
  const hlo_instr_t *begins; /* transfer started by this step; NULL: none */
  const hlo_instr_t *ends;   /* transfer that this step waits for; NULL: none */
  uint64_t pinned_operands;  /* operands of `begins` that stay unchanged until its end, a mask */
} flat_reference_step_t;

typedef struct flat_copy_step {
  size_t size_bytes;
  bool is_removed; /* dropped by finish_steps; never set in a finished plan */
} flat_copy_step_t;

/* while and conditional: the steps of each computation follow this one. */
typedef struct flat_control_step {
  const int *starts;  /* first step of condition and body, or of each branch */
  int start_count;    /* 2, or the number of branches */
  int64_t trip_count; /* trip count of a while; -1: the condition decides. If known, there are no
                         condition steps and no in[0] */
} flat_control_step_t;

typedef struct flat_step {
  flat_kind_t kind;
  int end; /* number of the first step after this one and the steps nested in it */
  const plan_step_t *source; /* instruction; for a copy, the instruction that needs it */
  int in_count, out_count;   /* leaves */
  const flat_ref_t *in;
  flat_ref_t *out;
  const uint64_t *reuse; /* per result leaf a mask of operand leaves that it may overwrite; NULL:
                            none. Layout: op_native_step_t */
  int reuse_words;       /* words per mask */
  flat_ref_t scratch;    /* buffer -1: none */
  flat_native_step_t native;
  flat_reference_step_t reference;
  flat_copy_step_t copy;
  flat_control_step_t control; /* WHILE, CONDITIONAL */
} flat_step_t;

typedef enum flat_origin {
  FLAT_COMPUTED,
  FLAT_FROM_PARAM,
  FLAT_FROM_LITERAL,
  FLAT_FROM_NOTHING
} flat_origin_t;

/* A flattened result and where its bytes come from. */
typedef struct flat_result {
  flat_origin_t origin;
  const hlo_shape_t *shape;
  int param;                  /* FROM_PARAM */
  const hlo_value_t *literal; /* FROM_LITERAL */
  int alias_param; /* COMPUTED: argument of equal shape whose bytes the result uses if the caller
                      donates it; -1: none */
  size_t overlay_bytes; /* COMPUTED: bytes from the result's start that overlays use before the
                           result is computed */
} flat_result_t;

/* Memory for gathered arrays that all members of a group read at one address. */
typedef struct flat_shared {
  const hlo_instr_t *gather; /* one of the all-gathers, which names the group */
  size_t size_bytes;         /* bytes of one of the two arrays that executions use alternately */
  uint64_t key;              /* hash of the gathers and of the offsets of their arrays */
} flat_shared_t;

/* An object in a kernel's plan that the arena cannot free. */
typedef struct flat_cleanup {
  void (*destroy)(void *object);
  void *object;
  struct flat_cleanup *next;
} flat_cleanup_t;

/* Generated code for a computation with which collectives combine elements: FLAT_COMBINED elements
 * per call, at most FLAT_COMBINER_SCRATCH_BYTES of scratch memory. */
#define FLAT_COMBINED 1024
#define FLAT_COMBINED_BYTES (FLAT_COMBINED * 16) /* with elements of c128, the largest */
#define FLAT_COMBINER_SCRATCH_BYTES 1024
typedef struct flat_combiner {
  const struct flat_combiner *next;
  const hlo_computation_t *computation;
  const op_native_t *native; /* code for two operands of FLAT_COMBINED elements; the result may
                                overwrite the first */
  const void *plan;
  size_t element_bytes;
} flat_combiner_t;

typedef struct flat_plan {
  hr_arena_t arena;
  flat_cleanup_t *cleanups;         /* last one first */
  const flat_combiner_t *combiners; /* last one first */
  const plan_t *plan;
  bool is_reference; /* the reference machine runs the whole program; the members below are unset */
  int step_count, buffer_count, slot_count; /* slots: boxed values */
  flat_step_t *steps;
  flat_buffer_t *buffers;
  size_t arena_bytes;
  int view_count;
  int workers; /* number of workers that kernels were prepared for */
  int shared_count;
  flat_shared_t *shared;
  int param_count, result_count; /* flattened */
  flat_result_t *results;
} flat_plan_t;

typedef struct flat_options {
  int workers;                /* at least 1 */
  const op_native_t *emitter; /* code generator, for ops without a native kernel; NULL: none */
  void *emitter_context;      /* op_native_target_t.emitter */
  bool no_fusion;             /* no tile fusion, no hoisted prepacking: one step per instruction */
  bool shares_gathers;        /* all processes share memory, and plan the same program */
} flat_options_t;

/* `plan` must outlive the flat plan.
 * Cost:   O(n log n) in the number of steps.
 * Errors: NO_MEMORY saying how much the program needs; what prepare functions report. */
hr_status_t flat_plan_create(const plan_t *plan, const flat_options_t *options,
                             flat_plan_t **out_flat);
void flat_plan_destroy(flat_plan_t *flat); /* accepts NULL */
/* Steps, and buffers with storage, size and lifetime, as text. */
void flat_plan_print(hr_strbuf_t *text, const flat_plan_t *flat);

/* The buffer that `buffer` was finally merged into; itself if it was not merged. */
static inline int flat_root(const flat_buffer_t *buffers, int buffer) {
  while (buffers[buffer].coalesced_into >= 0) buffer = buffers[buffer].coalesced_into;
  return buffer;
}

/* Hash of all shared arrays of a plan; processes whose hashes differ cannot share any. */
uint64_t flat_shared_key(const flat_plan_t *flat);

/* Assigns offsets in one block of memory to items that are alive from step `start` to step `end`,
 * both included, so that items alive together do not overlap. Best fit.
 * Units:  sizes are rounded up to HR_ALIGNMENT; start < step_count.
 * Cost:   O(n log n), for few items O(n^2); temporary memory only from `scratch`.
 * Errors: NO_MEMORY if the sum of sizes overflows. */
typedef struct flat_item {
  size_t size_bytes, offset_bytes;
  int start, end;
} flat_item_t;
hr_status_t flat_assign_offsets(hr_arena_t *scratch, flat_item_t *items, int count, int step_count,
                                size_t *out_total_bytes);

#endif
