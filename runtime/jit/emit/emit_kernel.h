/* Writing one kernel function: formulas as instructions, each as far out of the loops as what it
 * depends on allows.
 *
 * Levels: level 0 is the function's entry, level v + 1 the body of the loop over variable v,
 * outermost first. Every level has a block in which values that depend on no deeper variable are
 * written, before the deeper loops. The innermost variable is the lanes': one iteration computes
 * `lanes` consecutive values of it. Thread: one at a time, like the module. */
#ifndef JIT_EMIT_H
#define JIT_EMIT_H

#include "jit/element/code_builder.h"
#include "jit/element/element.h"
#include "jit/expr/expr_graph.h"

#define JIT_MAX_CARRIES 64
#define JIT_MAX_LANES 64
#define JIT_MAX_SHORT 4 /* values that are written out inside of the lanes */
#define JIT_MAX_INTERLEAVED 16

/* A small array whose elements are in registers: as they are in memory, a scalar or a vector. */
typedef struct jit_register {
  hr_dtype_t dtype;
  int count;
  kir_value_t *value;
} jit_register_t;

/* Where the next kernel is written in a function that has several, one after the other. */
typedef struct jit_function_part {
  kir_value_t *function;     /* whose first block ends already */
  kir_block_t *block;        /* that it goes on in; then the one in which it ended */
  kir_value_t **ins, **outs; /* addresses of its arrays, or where they are in registers: */
  jit_register_t **in_registers, **out_registers; /* else NULL */
  kir_value_t *scratch, *nowhere;
  const int64_t *units; /* of its phases, all of which are computed */
  int phase;
} jit_function_part_t;

typedef struct jit_level {
  kir_block_t *block;
  unsigned epoch; /* values of nodes written in another epoch are gone */
} jit_level_t;

/* An address in an array that loops further in go on from. */
typedef struct jit_entry {
  kir_value_t *array, *pointer;
  const jit_expr_t *index;
  unsigned epoch;
} jit_entry_t;

#define JIT_ENTRIES 64

/* State of the emitter of one kernel function. */
typedef struct jit_emit {
  jit_code_t *code;
  jit_graph_t *graph;
  kir_value_t *function;
  jit_function_part_t *function_part; /* enclosing function; NULL: the kernel has one of its own */
  struct {
    kir_value_t *in;      /* list of addresses of the buffers */
    kir_value_t *out;     /* list of addresses of the roots */
    kir_value_t *scratch; /* address of memory shared by all units */
    kir_value_t *begin;   /* first unit, i64 */
    kir_value_t *end;     /* unit after the last one, i64 */
  } args;                 /* parameters of the function */
  struct {
    kir_value_t **in;   /* address of each buffer; NULL: not loaded from args.in yet */
    kir_value_t **out;  /* address of each root; NULL: not loaded yet */
    kir_value_t *dummy; /* readable memory for lanes whose own element must not be read */
  } arrays;
  /* Loop levels. */
  kir_value_t *variables[JIT_MAX_LOOPS]; /* value of each loop variable, i64; lane 0's if it is the
                                            lanes' variable */
  int depths[JIT_MAX_LOOPS];             /* level of each variable */
  jit_level_t levels[JIT_MAX_LOOPS + 1]; /* open levels, outermost first */
  int level;                             /* deepest open level */
  unsigned last_epoch;                   /* epochs given out so far */
  struct {
    int var;           /* loop variable that differs from lane to lane; -1: none */
    int count;         /* lanes of the code that is written now; 1 in scalar loops */
    kir_value_t *mask; /* lanes inside the loop's bounds; NULL: all */
    int phase, period; /* lane 0's variable modulo `period` is `phase`; period 0: not known */
    int64_t from, to;  /* known interval of the variable; equal: not known */
  } lane;
  struct {
    int var;          /* outer variable whose interval is known */
    int64_t from, to; /* its interval; equal: not known */
  } part;
  struct {
    jit_entry_t entries[JIT_ENTRIES]; /* ring of the latest */
    unsigned count;                   /* entries written so far */
  } pointers;                         /* memo of addresses */
  struct {
    int count;
    kir_value_t *values[JIT_MAX_CARRIES]; /* set before a loop, read and set in its body */
  } carry; /* loop-carried values of the innermost open loop: they become phis */
  int op_counts[HLO_OPCODE_COUNT]; /* nodes of the graph by opcode */
  int pass;                        /* kInput: number of the pass that is written */
  struct {
    /* Value of a LEAF, or of a node that an earlier pass saved; NULL: compute the node. */
    kir_value_t *(*get)(struct jit_emit *emit, jit_node_t *node);
    void *context;
  } provider; /* source of values other than computation; get may be NULL */
} jit_emit_t;

/* Adds the function `name` to the module and enters it at level 0. Buffers lists are in `arena`. */
hr_status_t jit_emit_begin(jit_emit_t *emit, jit_code_t *code, jit_graph_t *graph, const char *name,
                           int in_count, int out_count);
void jit_emit_end(jit_emit_t *emit);

/* The builder at the end of a level's block. */
void jit_emit_at(jit_emit_t *emit, int level);
int jit_emit_depth(const jit_emit_t *emit, uint32_t vars);
static inline bool jit_emit_in_lanes(const jit_emit_t *emit, uint32_t vars) {
  return emit->lane.count > 1 && emit->lane.var >= 0 && vars >> emit->lane.var & 1;
}

/* A node's value: a vector if it differs from lane to lane, else a scalar. The builder is left
 * anywhere. */
kir_value_t *jit_emit_node(jit_emit_t *emit, jit_node_t *node);
/* The same in all lanes; a scalar if there is one lane only. */
kir_value_t *jit_emit_lanes(jit_emit_t *emit, jit_node_t *node);
/* An index as i64; of lane 0 if it differs from lane to lane. */
kir_value_t *jit_emit_expr(jit_emit_t *emit, const jit_expr_t *expr);
/* Of an index that differs from lane to lane: i32 where that is enough, else i64. */
kir_value_t *jit_emit_lane_expr(jit_emit_t *emit, const jit_expr_t *expr);
/* The sum without its deepest terms, those at level `depth`: it is written further out. */
const jit_expr_t *jit_emit_outer_part(jit_emit_t *emit, const jit_expr_t *expr, int depth);
kir_value_t *jit_emit_in(jit_emit_t *emit, int number);
kir_value_t *jit_emit_out(jit_emit_t *emit, int number);

/* Where a load is allowed: both, each may be NULL. What `all` forbids is not even looked at, while
 * the addresses of lanes that `lanes` forbids are given to the processor, which is slow where there
 * is no memory. */
typedef struct jit_guard {
  kir_value_t *all;   /* a scalar */
  kir_value_t *lanes; /* a vector, if the index differs from lane to lane */
} jit_guard_t;

/* Reads or writes elements `index` .. of an array in the lanes that exist; reads at level `depth`.
 */
kir_value_t *jit_emit_load(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype,
                           const jit_expr_t *index, jit_guard_t guard, int depth);
void jit_emit_store(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype, const jit_expr_t *index,
                    kir_value_t *value, bool streams);

/* The address of lane 0's element. The builder is left anywhere. */
kir_value_t *jit_emit_address(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype,
                              const jit_expr_t *index);
/* Writes elements of root `number`, which may be in registers, as jit_emit_store. */
void jit_emit_root(jit_emit_t *emit, int number, hr_dtype_t dtype, const jit_expr_t *index,
                   kir_value_t *value, bool streams);
/* Elements of buffer `number`, which is in registers, as jit_emit_load reads them: lanes that there
 * is no element for have any value. */
kir_value_t *jit_emit_register(jit_emit_t *emit, int number, const jit_expr_t *index);

/* May an array in registers be read, written at such an index, by a kernel whose only loop is that
 * of `lane_var`, which computes `lanes` elements at once? lane_var -1: there is no loop. */
bool jit_register_can_read(const jit_exprs_t *exprs, const jit_expr_t *expr, int lane_var);
bool jit_register_can_write(const jit_expr_t *expr, int lane_var, int lanes, int count);

/* Both of two conditions of one type; either may be NULL. */
kir_value_t *jit_emit_both(jit_emit_t *emit, kir_value_t *a, kir_value_t *b);

/* --- scalars side by side (emit_slp.c) --- */

typedef struct jit_pack {
  int count, lanes; /* lanes: a power of 2 */
  jit_node_t *nodes[JIT_MAX_LANES];
} jit_pack_t;

/* For a kernel all of whose nodes may be written at once, and that has no lanes. */
hr_status_t jit_emit_find_packs(jit_emit_t *emit);
/* The values of the node's whole pack. The builder is left anywhere. */
kir_value_t *jit_emit_pack(jit_emit_t *emit, jit_node_t *node, const jit_element_op_t *op);

/* --- what is known of lanes while code is made (emit_lanes.c) --- */

/* Lane k's value of an index is lane 0's plus offsets[k]. False: that is not known. */
bool jit_lane_offsets(const jit_emit_t *emit, const jit_expr_t *expr,
                      int64_t offsets[JIT_MAX_LANES]);
/* Does `divisor` divide what the index grows by with a step of the variable, whatever its values
 * are? */
bool jit_lane_repeats(const jit_exprs_t *exprs, const jit_expr_t *expr, int var, int64_t step,
                      int64_t divisor);
/* Does it depend on the variable alone, and never fall when that grows? Then: its value. */
bool jit_lane_rises(const jit_exprs_t *exprs, const jit_expr_t *expr, int var);
int64_t jit_lane_value(const jit_exprs_t *exprs, const jit_expr_t *expr, int var, int64_t at);
/* low <= expr < high in each lane, as a constant; NULL: it is not known. */
kir_value_t *jit_lane_range(const jit_emit_t *emit, const jit_expr_t *expr, int64_t low,
                            int64_t high);
/* Is an index on one side of low .. high wherever the variable is in the part from .. to of its
 * loop? On which? */
bool jit_part_decides(const jit_exprs_t *exprs, const jit_expr_t *expr, int var, int64_t from,
                      int64_t to, int64_t low, int64_t high, bool *out_inside);
/* The same of an index that depends on no lane. */
kir_value_t *jit_part_range(const jit_emit_t *emit, const jit_expr_t *expr, int64_t low,
                            int64_t high);
/* Does the divisor divide expr? As above. */
kir_value_t *jit_lane_multiple(const jit_emit_t *emit, const jit_expr_t *expr, int64_t divisor);
/* Does a load at these offsets fit into few enough vectors? */
bool jit_window_fits(int lanes, const int64_t *offsets, size_t element_bytes);
/* Reads from an address on, at known offsets of which the least is 0, by whole vectors that are put
 * in order. */
kir_value_t *jit_window_load(jit_emit_t *emit, kir_type_t *element, kir_value_t *first,
                             const int64_t *offsets);

/* --- lanes that are rows (emit_transpose.c) --- */

/* Rows and lanes change places: `count`, a power of two, of both. */
void jit_emit_transposed(jit_code_t *code, kir_value_t **rows, int count);
/* Writes lane l of values[k] at `index` + count * l + k, in lanes that all exist. At most
 * JIT_MAX_INTERLEAVED. */
void jit_emit_interleaved(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype,
                          const jit_expr_t *index, int count, kir_value_t **values);
/* Finds loads that read neighbouring elements of each lane's row, where lanes are values of
 * variable `var`: they are read together if that is less. */
hr_status_t jit_bands_find(jit_graph_t *graph, int var, int lanes);
/* As jit_emit_t.given, of nodes that jit_bands_find found. */
kir_value_t *jit_band_given(jit_emit_t *emit, jit_node_t *node);

/* Memory of the function's own. The builder is left anywhere. */
kir_value_t *jit_emit_alloca(jit_emit_t *emit, int64_t size_bytes);
kir_value_t *jit_emit_i64(jit_emit_t *emit, int64_t value);
/* 0, 1, 2, ... of a type, one a lane. */
kir_value_t *jit_emit_lane_numbers(jit_emit_t *emit, kir_type_t *element);

/* --- loops ------------------------------------------------------------------------------------ */

typedef struct jit_loop {
  kir_block_t *before, *header;
  kir_value_t *variable, *carries[JIT_MAX_CARRIES];
  int level;
} jit_loop_t;

/* A loop over variable `var` from `from`, at least once; it becomes the next level. */
void jit_loop_begin(jit_emit_t *emit, int var, kir_value_t *from, jit_loop_t *out_loop);
/* Goes on with variable + step while that is below `to`. Afterwards the outer level is open again.
 */
void jit_loop_end(jit_emit_t *emit, const jit_loop_t *loop, kir_value_t *to, int64_t step);
/* The loop over the units of a kernel: none if there is one unit. */
void jit_units_begin(jit_emit_t *emit, jit_loop_t *out_loop);
void jit_units_end(jit_emit_t *emit, const jit_loop_t *loop);
/* A level for a variable without a loop of its own. */
void jit_level_enter(jit_emit_t *emit, int var, kir_value_t *value);
void jit_level_leave(jit_emit_t *emit);
/* What is written up to jit_if_end runs only if `condition`; values from inside are gone
 * afterwards. */
typedef struct jit_if {
  kir_block_t *before, *after;
  kir_value_t *carried[JIT_MAX_CARRIES];
} jit_if_t;
void jit_if_begin(jit_emit_t *emit, kir_value_t *condition, jit_if_t *out_if);
void jit_if_end(jit_emit_t *emit, const jit_if_t *taken);

/* How an innermost loop runs: `body` writes one iteration. */
typedef struct jit_lanes {
  int var, lanes;
  int64_t count; /* of iterations, if it is known; else -1 */
  /* So many vectors an iteration, each with every `unroll`-th of the carried values: 0, unroll, 2
   * unroll, ... are those of the first, which also takes the rest. At least 1. */
  int unroll;
  void (*body)(jit_emit_t *emit, void *context, int copy);
  void *context;
  bool is_phased;   /* begins at a multiple of unroll * lanes */
  bool is_whole;    /* ends at one, too */
  int64_t from, to; /* the part of the loop that it is, if that is known; else equal */
} jit_lanes_t;

/* The innermost loop: from `from` to `to` (i64; the first is below), `lanes` values at a time, the
 * rest by a mask or one by one. */
void jit_loop_lanes(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from, kir_value_t *to);

#endif
