/* Emission of one kernel function: nodes of the expression graph as instructions, each as far out
 * of the loops as its operands allow.
 *
 * Levels: level 0 is the function's entry, level v + 1 the body of the loop over variable v,
 * outermost first. Every level has a block for the values that depend on no deeper variable, which
 * precedes the deeper loops. The innermost variable is that of the lanes: one iteration computes
 * lane.count consecutive values of it.
 *
 * Builder: unless stated otherwise, functions leave the insertion point of the builder unspecified;
 * callers set it by jit_emit_at. Thread: one at a time, like the module. */
#ifndef JIT_EMIT_H
#define JIT_EMIT_H

#include "jit/element/code_builder.h"
#include "jit/element/element.h"
#include "jit/expr/expr_graph.h"

#define JIT_MAX_CARRIES 64
#define JIT_MAX_LANES 64
/* Bytes of the dummy memory that is read where a guard forbids a load. */
#define JIT_DUMMY_BYTES 1024
#define JIT_MAX_SHORT 4 /* trip count of a last loop that is fully unrolled */
#define JIT_MAX_INTERLEAVED 16

/* A small array as an SSA value, a scalar or a vector, in its memory type. */
typedef struct jit_register {
  hr_dtype_t dtype;
  int count;
  kir_value_t *value;
} jit_register_t;

/* Enclosing function of an inlined kernel, and the place in it (region_write.c). */
typedef struct jit_function_part {
  kir_value_t *function;     /* function whose entry block has a terminator already */
  kir_block_t *block;        /* block to continue in; afterwards the last block of the kernel */
  kir_value_t **ins, **outs; /* addresses of the arrays that are in memory */
  jit_register_t **in_registers, **out_registers; /* arrays in registers; NULL: in memory */
  kir_value_t *scratch, *nowhere;
  const int64_t *units; /* units of each phase; all are computed */
  int phase;
} jit_function_part_t;

typedef struct jit_level {
  kir_block_t *block;
  unsigned epoch; /* changes whenever the level is entered again; memos of other epochs are stale */
} jit_level_t;

/* Memo of an address, array + index. Deeper levels add their own terms to it. */
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
  unsigned last_epoch;                   /* number of epochs used so far */
  struct {
    int var;           /* loop variable that differs from lane to lane; -1: none */
    int count;         /* lanes of the code being emitted; 1 in scalar loops */
    kir_value_t *mask; /* lanes inside the loop's bounds; NULL: all */
    int in_bounds;     /* number of these, which are the first ones; 0: not known, or no mask */
    int phase, period; /* lane 0's variable modulo `period` is `phase`; period 0: not known */
    bool is_only;      /* the loop has no iteration but this one, which begins at 0 */
    int64_t from, to;  /* known interval of the variable; equal: not known */
  } lane;
  struct {
    int var;          /* outer variable whose interval is known */
    int64_t from, to; /* interval of the variable; equal: not known */
  } part;
  struct {
    jit_entry_t entries[JIT_ENTRIES]; /* ring buffer of the latest addresses */
    unsigned count;                   /* entries written so far */
  } pointers;                         /* memo of addresses */
  struct {
    int count;
    kir_value_t *values[JIT_MAX_CARRIES]; /* set before a loop, read and set in its body */
  } carry; /* loop-carried values of the innermost open loop: they become phis */
  int op_counts[HLO_OPCODE_COUNT]; /* nodes of the graph by opcode */
  int pass;                        /* kInput: number of the pass being emitted */
  struct {
    /* Value of a LEAF, or of a node that an earlier pass saved; NULL: compute the node. */
    kir_value_t *(*get)(struct jit_emit *emit, jit_node_t *node);
    void *context;
  } provider; /* source of values that are not computed; get may be NULL */
} jit_emit_t;

/* Adds the function `name` to the module and opens level 0, or continues code->function_part.
 * in_count, out_count: number of arrays and of roots. Errors: NO_MEMORY. */
hr_status_t jit_emit_begin(jit_emit_t *emit, jit_code_t *code, jit_graph_t *graph, const char *name,
                           int in_count, int out_count);
void jit_emit_end(jit_emit_t *emit);

/* Sets the insertion point to the end of a level's block. */
void jit_emit_at(jit_emit_t *emit, int level);
int jit_emit_depth(const jit_emit_t *emit, uint32_t vars);
static inline bool jit_emit_in_lanes(const jit_emit_t *emit, uint32_t vars) {
  return emit->lane.count > 1 && emit->lane.var >= 0 && vars >> emit->lane.var & 1;
}

/* Value of a node: a vector if it differs from lane to lane, else a scalar. */
kir_value_t *jit_emit_node(jit_emit_t *emit, jit_node_t *node);
/* Value of a node in each lane; a scalar if there is one lane only. */
kir_value_t *jit_emit_lanes(jit_emit_t *emit, jit_node_t *node);
/* Value of an index expression as i64; lane 0's if it differs from lane to lane. */
kir_value_t *jit_emit_expr(jit_emit_t *emit, const jit_expr_t *expr);
/* Values of an index expression in each lane, as i32 if its interval allows, else i64. */
kir_value_t *jit_emit_lane_expr(jit_emit_t *emit, const jit_expr_t *expr);
/* The part of the expression that outer levels compute: `expr` without the terms of level `depth`,
 * its deepest level. */
const jit_expr_t *jit_emit_outer_part(jit_emit_t *emit, const jit_expr_t *expr, int depth);
kir_value_t *jit_emit_in(jit_emit_t *emit, int number);
kir_value_t *jit_emit_out(jit_emit_t *emit, int number);

/* Condition of a load; both members must hold. NULL: always true. If `all` is false, dummy memory
 * is read instead. `lanes` masks the load: masked-off lanes do not fault, but masked accesses to
 * unmapped pages are slow. */
typedef struct jit_guard {
  kir_value_t *all;   /* a scalar */
  kir_value_t *lanes; /* a vector if the index differs from lane to lane */
  bool is_outside;    /* many of the addresses that it forbids are outside of the array */
} jit_guard_t;

/* Loads or stores the elements at `index` of an array in the active lanes; loads at level `depth`.
 * streams: nontemporal store, which requires aligned addresses. */
kir_value_t *jit_emit_load(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype,
                           const jit_expr_t *index, jit_guard_t guard, int depth);
void jit_emit_store(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype, const jit_expr_t *index,
                    kir_value_t *value, bool streams);

/* Splits a condition into a part shared by all lanes and a part per lane. */
jit_guard_t jit_emit_guard(jit_emit_t *emit, jit_node_t *node);
/* `pointer`, or the dummy memory where `guard` is false (NULL: always true). Emitted at level
 * `depth`. */
kir_value_t *jit_emit_readable(jit_emit_t *emit, kir_value_t *pointer, kir_value_t *guard,
                               int depth);

/* Address of lane 0's element. */
kir_value_t *jit_emit_address(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype,
                              const jit_expr_t *index);
/* Stores elements of root `number`, to memory or to its register. */
void jit_emit_root(jit_emit_t *emit, int number, hr_dtype_t dtype, const jit_expr_t *index,
                   kir_value_t *value, bool streams);
/* Elements of buffer `number`, which is in a register; otherwise as jit_emit_load. Lanes beyond the
 * array are unspecified. */
kir_value_t *jit_emit_register(jit_emit_t *emit, int number, const jit_expr_t *index);

/* May an array in registers be read or written at this index? The kernel has one loop at most, over
 * `lane_var` (-1: none), and computes `lanes` elements at once. */
bool jit_register_can_read(const jit_exprs_t *exprs, const jit_expr_t *expr, int lane_var);
bool jit_register_can_write(const jit_expr_t *expr, int lane_var, int lanes, int count);

/* Conjunction of two conditions of one type; either may be NULL. */
kir_value_t *jit_emit_both(jit_emit_t *emit, kir_value_t *a, kir_value_t *b);

/* --- superword-level parallelism (emit_slp.c) ------------------------------------------------- */

typedef struct jit_pack {
  int count, lanes; /* lanes: a power of 2 */
  jit_node_t *nodes[JIT_MAX_LANES];
} jit_pack_t;

/* Finds packs in a kernel without lanes and loops. Requires: all nodes are valid at one level. */
hr_status_t jit_emit_find_packs(jit_emit_t *emit);
/* Emits the whole pack of a node and memoises the values of its members. Returns the node's
 * value. */
kir_value_t *jit_emit_pack(jit_emit_t *emit, jit_node_t *node, const jit_element_op_t *op);

/* --- lane offsets known at compile time (emit_lanes.c) -----------------------------------------
 */

/* Lane k's value of an index is lane 0's plus offsets[k]. False: the offsets are unknown. */
bool jit_lane_offsets(const jit_emit_t *emit, const jit_expr_t *expr,
                      int64_t offsets[JIT_MAX_LANES]);
/* Is the increment of the index for `step` of the variable always a multiple of `divisor`? */
bool jit_lane_repeats(const jit_exprs_t *exprs, const jit_expr_t *expr, int var, int64_t step,
                      int64_t divisor);
/* Is the index a nondecreasing function of this variable alone? jit_lane_value then evaluates
 * it. */
bool jit_lane_rises(const jit_exprs_t *exprs, const jit_expr_t *expr, int var);
int64_t jit_lane_value(const jit_exprs_t *exprs, const jit_expr_t *expr, int var, int64_t at);
/* low <= expr < high in each lane, as a constant vector; NULL: unknown. */
kir_value_t *jit_lane_range(const jit_emit_t *emit, const jit_expr_t *expr, int64_t low,
                            int64_t high);
/* Is low <= expr < high constant for the variable in [from, to)? *out_inside: its value. */
bool jit_part_decides(const jit_exprs_t *exprs, const jit_expr_t *expr, int var, int64_t from,
                      int64_t to, int64_t low, int64_t high, bool *out_inside);
/* low <= expr < high, as a constant, for an index that is the same in all lanes; NULL: unknown. */
kir_value_t *jit_part_range(const jit_emit_t *emit, const jit_expr_t *expr, int64_t low,
                            int64_t high);
/* Is expr a multiple of the divisor in each lane? A constant vector; NULL: unknown. */
kir_value_t *jit_lane_multiple(const jit_emit_t *emit, const jit_expr_t *expr, int64_t divisor);
/* Can a load at these offsets be assembled from few vectors? */
bool jit_window_fits(int lanes, const int64_t *offsets, size_t element_bytes);
/* Loads the elements at constant offsets by whole vectors and shuffles. Requires: the smallest
 * offset is 0. */
kir_value_t *jit_window_load(jit_emit_t *emit, kir_type_t *element, kir_value_t *first,
                             const int64_t *offsets);

/* --- row-per-lane loops (emit_transpose.c) -----------------------------------------------------
 */

/* Transposes `count` vectors of `count` lanes in registers; count: a power of two. */
void jit_emit_transposed(jit_code_t *code, kir_value_t **rows, int count);
/* Stores lane l of values[k] at `index` + count * l + k. Requires: no mask, count at most
 * JIT_MAX_INTERLEAVED. */
void jit_emit_interleaved(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype,
                          const jit_expr_t *index, int count, kir_value_t **values);
/* Finds bands: loads of neighbouring elements of each lane's row that are cheaper to load together
 * and transpose. Lanes are values of variable `var`. */
hr_status_t jit_bands_find(jit_graph_t *graph, int var, int lanes);
/* Provider (jit_emit_t.provider) of the loads that jit_bands_find found. */
kir_value_t *jit_band_given(jit_emit_t *emit, jit_node_t *node);

/* Stack memory of the function, aligned to 64 bytes, allocated in its entry block. */
kir_value_t *jit_emit_alloca(jit_emit_t *emit, int64_t size_bytes);
kir_value_t *jit_emit_i64(jit_emit_t *emit, int64_t value);
/* The vector 0, 1, 2, ... of the element type. */
kir_value_t *jit_emit_lane_numbers(jit_emit_t *emit, kir_type_t *element);

/* --- loops ------------------------------------------------------------------------------------ */

typedef struct jit_loop {
  kir_block_t *before, *header;
  kir_value_t *variable, *carries[JIT_MAX_CARRIES];
  int level;
} jit_loop_t;

/* Opens a loop over variable `var`, starting at `from`, as the next level. Requires: at least one
 * iteration. */
void jit_loop_begin(jit_emit_t *emit, int var, kir_value_t *from, jit_loop_t *out_loop);
/* Closes the loop: continues at variable + step while that is below `to`. The enclosing level
 * becomes the deepest. */
void jit_loop_end(jit_emit_t *emit, const jit_loop_t *loop, kir_value_t *to, int64_t step);
/* Opens the loop over the units of a kernel; one unit needs no loop. */
void jit_units_begin(jit_emit_t *emit, jit_loop_t *out_loop);
void jit_units_end(jit_emit_t *emit, const jit_loop_t *loop);
/* Opens a level in which a variable has one value, without a loop. */
void jit_level_enter(jit_emit_t *emit, int var, kir_value_t *value);
void jit_level_leave(jit_emit_t *emit);
/* Code emitted between jit_if_begin and jit_if_end runs only if `condition` holds; values emitted
 * there are not valid afterwards. */
typedef struct jit_if {
  kir_block_t *before, *after;
  kir_value_t *carried[JIT_MAX_CARRIES];
} jit_if_t;
void jit_if_begin(jit_emit_t *emit, kir_value_t *condition, jit_if_t *out_if);
void jit_if_end(jit_emit_t *emit, const jit_if_t *taken);

/* Parameters of an innermost loop. */
typedef struct jit_lanes {
  int var, lanes;
  int64_t count; /* number of values of the variable; -1: not known at compile time */
  /* Vectors per iteration, at least 1. Vector k uses the carried values k, k + unroll, ...; vector
   * 0 also computes the remainder. */
  int unroll;
  void (*body)(jit_emit_t *emit, void *context, int copy);
  void *context;
  bool is_phased;   /* `from` is a multiple of unroll * lanes */
  bool is_few;      /* few iterations of one lane: the body may be fully unrolled */
  bool is_small;    /* small body: may be repeated for each vector of a remainder */
  bool is_whole;    /* the trip count is a multiple of unroll * lanes: no remainder */
  int64_t from, to; /* interval of the variable; equal: unknown at compile time */
} jit_lanes_t;

/* Emits the innermost loop over [from, to) (i64, from < to), `lanes` values at a time; the
 * remainder under a mask or as a scalar loop. */
void jit_loop_lanes(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from, kir_value_t *to);

#endif
