/* A kernel: generated code for one part of a fusion, one function for each phase. Parts that differ
 * only in names share one kernel.
 *
 *   void kernel(void *const *in, void *const *out, void *scratch, int64_t begin, int64_t end)
 *
 * computes units begin .. end - 1 of a phase. Phases run one after the other; the units of a phase
 * are independent and may run in parallel, in any order. `in` are the arrays in the order of their
 * first use, `out` the roots in their order, then, if the kernel has shared scratch memory, its
 * address; `scratch` is private memory of the worker. */
#ifndef JIT_JIT_KERNEL_H
#define JIT_JIT_KERNEL_H

#include "jit/cache/object_cache.h"
#include "jit/emit/emit_kernel.h"
#include "ops/kernels/native.h"
#include "ops/query/fusion_form.h"

#define JIT_MAX_PHASES 16
/* Most elements of a narrow row, which is fully unrolled. */
#define JIT_NARROW_ROW JIT_MAX_INTERLEAVED

typedef void (*jit_kernel_fn)(void *const *in, void *const *out, void *scratch, int64_t begin,
                              int64_t end);

/* Loops over an iteration space; the product of the sizes is its number of elements. */
typedef struct jit_nest {
  int rank;
  int64_t sizes[JIT_MAX_LOOPS];
  int64_t strides[JIT_MAX_LOOPS]; /* kLoop: factor of each variable in the linear index */
  int dims[JIT_MAX_LOOPS]; /* kInput: dimension of the space that the loop covers, wholly or in part
                            */
  int64_t unmerged_prefix; /* product of the sizes of the first variables, which are not merged with
                              later ones; 0: any may be merged */
  /* kLoop: distance between the values of the variables that are the first row and column of a tile
   * (rank - 4, rank - 3), if tiles do not divide the sizes: the last tile ends where its rows or
   * columns end, and overlaps the one before. 0: values are consecutive. */
  int64_t tile_step;
} jit_nest_t;

typedef struct jit_phase {
  int64_t units;
  double unit_ns;    /* estimated time of a unit on one worker, nanoseconds */
  jit_kernel_fn run; /* address of the code; NULL until it is loaded */
} jit_phase_t;

typedef struct jit_root {
  const hlo_instr_t *instr;
  int number; /* result of a variadic reduction; else 0 */
  hr_dtype_t dtype;
  jit_node_t *value;
  const jit_expr_t *index;
  bool is_full; /* kInput: the root has one element per element of the space, not one per result */
  /* kLoop of narrow rows: elements of a full root, from `index` on; kInput: results, by value of
   * the unrolled dimension. */
  jit_node_t *row[JIT_NARROW_ROW];
  bool streams; /* larger than all caches: written by nontemporal stores */
} jit_root_t;

/* Part of an array with the grid's dimensions that a tile of a kernel reads, in ascending order of
 * locality. */
typedef enum jit_dependence {
  JIT_DEPENDS_ON_ALL,
  JIT_DEPENDS_ON_ROWS,
  JIT_DEPENDS_ON_ELEMENT
} jit_dependence_t;

#define JIT_NODES_SMALL 64      /* most nodes of all vectors of a small iteration */
#define JIT_NODES_ITERATION 160 /* most nodes of all vectors of an iteration */

/* Intervals [from, to) of a loop variable within which no condition on it changes. */
#define JIT_MAX_PARTS 24
typedef struct jit_parts {
  int count;
  int64_t from[JIT_MAX_PARTS], to[JIT_MAX_PARTS];
} jit_parts_t;

/* Loops of a kernel. */
typedef struct jit_loops {
  jit_nest_t nest;    /* kLoop: the whole iteration space; kInput: the kept dimensions */
  jit_nest_t within;  /* kInput: reduced dimensions */
  int lanes;          /* elements per vector */
  int vectors;        /* kLoop: vectors per iteration of the innermost loop */
  int64_t block;      /* values of the innermost variable per unit; 0: all */
  int64_t narrow_row; /* kLoop made from a kInput with few terms per result: number of terms, all
                         unrolled; 0: none */
  int unrolled; /* kLoop, rows: trip count of a short last loop, fully unrolled inside the lanes; 0:
                   none */
  bool has_tiles;    /* the last two loops run over square tiles (kernel_tile.c) */
  int unit_rank;     /* number of outermost variables that a unit fixes */
  int part_var;      /* kLoop: outer loop that is peeled into `parts` if they are two or more */
  jit_parts_t parts; /* intervals of part_var */
  jit_parts_t inner; /* intervals of the innermost variable */
} jit_loops_t;

/* Division of a kernel into phases and units, and the memory that they need. */
typedef struct jit_schedule {
  int phase_count;
  jit_phase_t phases[JIT_MAX_PHASES]; /* one function each, run one after the other */
  size_t scratch_bytes;               /* memory shared by all units, for all phases */
  size_t worker_bytes;                /* private memory of each worker */
  /* Grid of the producer whose tiles are this kernel's units (tile fusion). A unit is a row, or, if
   * grid.unit is set, a block of that many columns of a row; all rows of a block precede the next
   * block. rows 0: none. */
  op_native_grid_t producer_grid;
  bool leaves_caches; /* see jit_place_t */
} jit_schedule_t;

/* Context of a kernel in the program, as far as its code depends on it. */
typedef struct jit_place {
  const op_native_grid_t *producer_grid; /* tiles that units must be; NULL: none */
  bool leaves_caches;                    /* results leave every cache before they are read */
} jit_place_t;

/* A fusion, of which each part becomes a kernel. */
typedef struct jit_fusion {
  const hlo_computation_t *body;
  const fusion_form_t *form;
  jit_place_t place;
} jit_fusion_t;

/* Least size of results, in bytes, that bypass the caches: such results have left every cache when
 * they are read. The second limit holds for kernels with leaves_caches. */
#define JIT_STREAM_BYTES ((int64_t)32 << 20)
#define JIT_LEAVING_BYTES ((int64_t)1 << 20)

/* Arrays that a kernel reads. */
typedef struct jit_kernel_arrays {
  int count;
  int *numbers;                 /* indices in the list that came with the key */
  jit_dependence_t *dependence; /* dependence of each array on the tiles of producer_grid */
  uint64_t *reuse; /* by root: bit set of arrays whose bytes the root may overwrite, numbered like
                      the operands of op_native_step_t */
} jit_kernel_arrays_t;

/* Life of a kernel, from its request to loaded code. */
typedef struct jit_kernel_state {
  double node_work; /* estimated compile time, in nodes */
  int uses;    /* number of plans that call the kernel directly; 0: it exists only inside regions */
  int writers; /* number of functions that contain its code */
  bool is_declined; /* no code can be generated */
  bool is_ready;    /* phases have addresses */
  bool is_dropped;  /* no function was made, and the graph was freed */
} jit_kernel_state_t;

typedef struct jit_kernel jit_kernel_t;
struct jit_kernel {
  hr_arena_t arena; /* memory of graph and loops; freed once the code is made */
  const jit_target_t *target;
  jit_key_t key; /* content address; lives in the arena of jit_t */
  char name[40]; /* symbol in its module, without the suffix of the phase's number */
  const hlo_computation_t *body;
  fusion_form_t form;
  int root_count;
  jit_root_t *roots;
  jit_graph_t *graph;
  jit_loops_t loops;
  jit_schedule_t schedule;
  jit_kernel_arrays_t arrays;
  jit_kernel_state_t state;
  const char *bottleneck; /* reason why the kernel may stay below the limits of memory and
                             arithmetic; NULL: none known */
  bool has_rows; /* kInput: kernel_rows.c, as the last dimension is reduced, or kept and unrolled */
  struct jit_reduce *reduce; /* kInput: reductions (kernel_reduce.h) */
  struct jit_region *region; /* the kernel is a region (region.h); NULL: a fusion */
  jit_kernel_t *next;
};

/* Size from which on a kernel's results bypass the caches. */
static inline int64_t jit_stream_bytes(const jit_kernel_t *kernel) {
  return kernel->schedule.leaves_caches ? JIT_LEAVING_BYTES : JIT_STREAM_BYTES;
}

/* Plans part number `part` of a fusion: expression graph, loops, phases, units.
 * Requires: kernel->schedule has producer_grid and leaves_caches, all else is zero.
 * Result:   kernel->state.is_declined if no code can be generated; that is no error.
 * Thread:   any; kernels are independent of each other.
 * Errors:   NO_MEMORY. */
hr_status_t jit_kernel_plan(hr_arena_t *arena, const jit_target_t *target,
                            const jit_fusion_t *fusion, int part, const jit_buffer_list_t *buffers,
                            jit_kernel_t *kernel);
/* Is the kernel bound by memory whatever the quality of its code, with few cheap ops on few
 * loads? */
bool jit_kernel_is_simple(const jit_kernel_t *kernel);
/* Emits the functions of a kernel, one per phase, into the module of `code`. Thread: kernels that
 * several functions contain are serialised by a lock. */
hr_status_t jit_kernel_write(jit_kernel_t *kernel, jit_code_t *code);

/* Makes the key of a part, in key_arena: everything that decides its code. Also lists, in `arena`,
 * the arrays that the part may read, in an order that is the same for equal parts. */
hr_status_t jit_kernel_key(hr_arena_t *arena, hr_arena_t *key_arena, const jit_target_t *target,
                           const jit_fusion_t *fusion, int part, jit_key_t *out_key,
                           jit_buffer_list_t *out_buffers);

/* --- for the files of this folder only -------------------------------------------------------- */

/* Builds the value of a root at an index, and the index of its store. An update stores only its own
 * elements, at a shifted index. */
void jit_root_build(jit_graph_t *graph, jit_root_t *root, const jit_expr_t *index);
hr_status_t jit_loop_plan(jit_kernel_t *kernel);
hr_status_t jit_loop_write(jit_kernel_t *kernel, jit_code_t *code);
/* Vectors per iteration of the innermost loop of a kLoop (kernel_inner.c). */
int jit_inner_vectors(const jit_kernel_t *kernel);
/* Finds kernel->loops.inner. All intervals but the last end at a multiple of an iteration. They
 * depend on the lanes and vectors of the emitted code, which a region changes (region.h), so they
 * are found during emission, not planning. Must precede jit_emit_begin: both take epochs from the
 * graph. */
void jit_inner_parts(jit_kernel_t *kernel);
/* kLoop: number of the variable that runs over lanes. */
static inline int jit_lane_loop(const jit_kernel_t *kernel) {
  return kernel->loops.nest.rank - (kernel->loops.unrolled ? 2 : 1);
}
/* Finds kernel->loops.parts: intervals of the outermost loop whose variable decides conditions. */
void jit_outer_parts(jit_kernel_t *kernel);
/* Can every load that differs from lane to lane of loop `var` be assembled from few whole vectors,
 * if an iteration has `vectors` of them? */
bool jit_loads_fit(const jit_kernel_t *kernel, int var, int vectors);
/* The same for the innermost loop of a kLoop. */
bool jit_inner_fits(const jit_kernel_t *kernel);
/* Number of scalar loads per iteration: lanes provided neither by whole vectors nor by a band. */
int64_t jit_inner_reads_disjoint(const jit_kernel_t *kernel);
/* Is an iteration so small that the remainder of the innermost loop has code of its own? Without
 * masks other remainders end with scalars, which cost more. */
bool jit_inner_is_small(const jit_kernel_t *kernel);

/* Provider (jit_emit_t.provider, with the kernel as context) of loads that are transposed through
 * tiles in memory. */
kir_value_t *jit_tile_given(jit_emit_t *emit, jit_node_t *node);

/* Sets the strides of the loops: row-major. */
void jit_nest_order(jit_nest_t *nest);
/* Retypes floats that are only moved (narrow_moves.c), and roots that are such floats. No node may
 * be made afterwards. */
void jit_graph_move_bits(jit_kernel_t *kernel);
/* Tiles two loops into squares, which become the last two loops: the innermost one, and one along
 * which some load is contiguous. may_overlap: an element may be computed twice, so that tiles need
 * not divide the sizes. False: no load is transposed, or tiles do not fit. */
bool jit_nest_tile(jit_nest_t *nest, const jit_graph_t *graph, int lanes, bool may_overlap);
/* Is the node a load that is contiguous along one variable and strided across the other? */
bool jit_is_transposed(const jit_exprs_t *exprs, const jit_node_t *node, int along, int across);
/* Makes the loop variables of a nest. The result is the linear index. */
const jit_expr_t *jit_nest_index(jit_graph_t *graph, const jit_nest_t *nest);
/* Splits one variable at a quotient or remainder, or merges two neighbouring ones that no index
 * distinguishes; the graph must then be built again. first: number of the nest's first variable.
 * False: nothing to do. */
bool jit_nest_split(jit_nest_t *nest, int first, const jit_graph_t *graph);
bool jit_nest_merge(jit_nest_t *nest, int first, const jit_graph_t *graph, const jit_root_t *roots,
                    int root_count);
/* A nest with one loop per dimension of the shape, except dimensions of size 1. */
void jit_nest_of(const hlo_shape_t *shape, jit_nest_t *out_nest);
/* Number of outermost variables whose sizes multiply to `count`; -1: no such number. */
int jit_nest_split_at(const jit_nest_t *nest, int64_t count);
/* Finds kernel->arrays.dependence once loops and graph are final. Errors: UNSUPPORTED if units
 * cannot be tiles of schedule.producer_grid. */
hr_status_t jit_kernel_find_dependence(jit_kernel_t *kernel);
int64_t jit_nest_count(const jit_nest_t *nest);
/* Iteration i of a variable's loop gives it the value i * step, or sizes[var] - 1 if that is less.
 */
int64_t jit_nest_trip_count(const jit_nest_t *nest, int var);
int64_t jit_nest_step(const jit_nest_t *nest, int var);

/* A region (region.h). */
hr_status_t jit_region_write(jit_kernel_t *kernel, jit_code_t *code);

/* Finds kernel->arrays.reuse: arrays that a root may overwrite because every load of them is at the
 * root's own index and in no later pass. */
hr_status_t jit_kernel_find_reuse(jit_kernel_t *kernel);
/* Lanes of a vector of the type in which most work is done. */
int jit_kernel_lanes(const jit_kernel_t *kernel);
/* Lanes of as many vectors as are computed together: several, at most the target's
 * interleave_count, if the graph has long chains of ops, its values fit the registers, and a loop
 * of `size` iterations leaves no long remainder; else `lanes`. */
int jit_kernel_interleaved_lanes(const jit_kernel_t *kernel, int lanes, int64_t size);
/* Does every op of the graph have code? */
bool jit_kernel_supports(const jit_kernel_t *kernel);
/* Is the node a load at an index that is computed per element (a gather)? A gather takes a fifth of
 * a nanosecond per element at any vector width: as long as JIT_GATHER_COST additions. */
#define JIT_GATHER_COST 13
bool jit_node_is_gathered(const jit_graph_t *graph, const jit_node_t *node);
/* Static text; NULL: nothing known keeps the planned kernel from its limits. */
const char *jit_kernel_bottleneck(const jit_kernel_t *kernel);
/* Estimated nanoseconds for `count` evaluations of the whole graph on one worker. */
double jit_kernel_ns(const jit_kernel_t *kernel, const jit_graph_t *graph, double count);
/* Does a load read an array that exceeds the caches? */
bool jit_kernel_is_from_memory(const jit_kernel_t *kernel, const jit_node_t *node);
void jit_kernel_phase_name(const jit_kernel_t *kernel, int phase, char name[64]);

#endif
