/* Lowering of a global program to the program of one partition: declarations shared by this folder.
 * Every array of the program (a leaf of an instruction's shape) becomes a spmd_local_t: a
 * partition's part of it, in one or more shardings ("forms"). Operations request operands in the
 * sharding that they work on (spmd_use) and define their results in the sharding that they compute
 * (spmd_define). spmd_use emits a resharding if the two differ. */
#ifndef HR_PARTITION_LOWER_LOWER_H
#define HR_PARTITION_LOWER_LOWER_H

#include "partition/lower/reshard.h"
#include "partition/rule.h"

typedef struct spmd_form {
  hlo_instr_t *instr;
  const spmd_sharding_t *sharding;
  bool is_tentative; /* made for an operation that its user may look through, so that it is dead */
  struct spmd_form *next;
} spmd_form_t;

typedef struct spmd_local {
  const hlo_shape_t *shape;         /* global */
  const spmd_sharding_t *preferred; /* sharding found by propagation */
  hlo_opcode_t reducer;             /* reduction of unreduced forms */
  uint32_t uses;
  const hlo_instr_t *recipe; /* constant, iota, or expression of these: recomputed in any sharding;
                                NULL: none */
  int depth;                 /* recipes of recipes that a recipe is made of */
  const hlo_instr_t *remat;  /* broadcast, slice or transpose by which a resharded operand
                                rematerialises the value; NULL: none */
  spmd_form_t *forms;        /* the first is the defined one */
} spmd_local_t;

/* Ways to lower a program: when a result that is computed in another sharding than the propagated
 * one is resharded, and what happens to the axes of a dimension that an operation needs whole. */
typedef enum spmd_strategy {
  SPMD_RESHARD_AT_USE,    /* when an operation needs it; its users may take it as it is */
  SPMD_RESHARD_IF_SHARED, /* at once if it, or what a constraint takes, has several users, each of
                             which would move what it makes of it */
  SPMD_RESHARD_AT_ONCE,
  SPMD_GATHER_WHOLE, /* at its use; axes of a dimension that must be whole cut no other one */
  SPMD_BATCH_EARLY,  /* at its use; such axes cut batches already in what is computed before */
  SPMD_SHARE_MOVES,  /* at its use; slices of all of an array, and products that gather it,
                        share the cost of moving it */
  SPMD_CUT_SCANNED,  /* at its use; arrays that a loop scans are cut as their elements are */
  SPMD_STRATEGIES
} spmd_strategy_t;

typedef struct spmd_lower_module {
  spmd_program_t *program;
  spmd_strategy_t strategy;
  /* Number of operations that a strategy may lower otherwise than SPMD_RESHARD_AT_USE. */
  int64_t changes[SPMD_STRATEGIES];
  spmd_emit_module_t emit;
  hlo_computation_t **called; /* callees lowered so far, by computation id */
  size_t called_count;
} spmd_lower_module_t;

typedef struct spmd_lower { /* one computation */
  spmd_lower_module_t *shared;
  spmd_emit_t emit;
  hr_arena_t *arena;
  const spmd_mesh_t *mesh;
  const hlo_computation_t *from;
  spmd_local_t ***values;    /* by instruction id, leaf */
  uint32_t *uses;            /* by instruction id */
  const hlo_instr_t **users; /* by instruction id: its last user */
  uint64_t *wanted;          /* by instruction id: bit k: element k of the tuple has a user */
  int64_t *sliced;           /* by instruction id: number of elements that slices take */
  uint32_t *scans;           /* by instruction id: number of windowed reductions of the array */
  int64_t *sort_reads;       /* by instruction id: of a sort, the end of the elements that are read
                                along the sorted dimension */
  const spmd_sharding_t **sought; /* by instruction id: for SPMD_BATCH_EARLY; NULL: none */
  bool is_tentative;              /* the user of the current instruction may look through it */
} spmd_lower_t;

/* --- values.c --- */
static inline spmd_local_t *spmd_operand(const spmd_lower_t *lower, const hlo_instr_t *instr,
                                         int k) {
  return lower->values[instr->operands[k]->id][0];
}
/* The propagated sharding of a leaf, on the program's mesh; NULL only after a failure. */
const spmd_sharding_t *spmd_preferred(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf);
/* The sharding of a leaf of a border marker, whose shape is that inside the manual computation. */
const spmd_sharding_t *spmd_border_sharding(spmd_lower_t *lower, const hlo_instr_t *instr,
                                            int leaf);
/* Makes a leaf of the instruction an alias of `from`, perhaps with another preferred sharding. */
void spmd_alias(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf, spmd_local_t *from);
/* A new value of a leaf; the preferred sharding is the propagated one. */
spmd_local_t *spmd_local_new(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf);
/* The value of leaf `leaf` of instr is x, cut as `sharding`. */
spmd_local_t *spmd_define(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf, hlo_instr_t *x,
                          const spmd_sharding_t *sharding);
/* The value in the wanted sharding. */
hlo_instr_t *spmd_use(spmd_lower_t *lower, spmd_local_t *value, const spmd_sharding_t *wanted);
/* Defines the result of an instruction that is computed from constants, positions or whole arrays
 * alone as a recipe; false: it is no such instruction. */
bool spmd_define_recipe(spmd_lower_t *lower, const hlo_instr_t *instr);
/* Cost of spmd_use in microseconds. */
double spmd_use_cost(spmd_lower_t *lower, const spmd_local_t *value, const spmd_sharding_t *wanted);
/* Cost of moving an array from one sharding to another, in microseconds. */
double spmd_move_us(spmd_lower_t *lower, const hlo_shape_t *shape, const spmd_sharding_t *from,
                    const spmd_sharding_t *to);
hlo_instr_t *spmd_use_whole(spmd_lower_t *lower, spmd_local_t *value);
const spmd_sharding_t *spmd_replicated(spmd_lower_t *lower, int rank);
const hlo_shape_t *spmd_shape_in(spmd_lower_t *lower, const hlo_shape_t *shape,
                                 const spmd_sharding_t *sharding);
/* Tuples: packs leaves into an instruction of the given shape; unpacks an instruction. */
hlo_instr_t *spmd_pack(spmd_lower_t *lower, const hlo_shape_t *shape, hlo_instr_t *const **leaves);
void spmd_unpack(spmd_lower_t *lower, hlo_instr_t *x, hlo_instr_t ***out_leaves);
/* A shape of tuples as `like`, with other leaves. */
const hlo_shape_t *spmd_rebuild_shape(spmd_lower_t *lower, const hlo_shape_t *like,
                                      const hlo_shape_t *const **leaves);
/* All leaves of an instruction in the given shardings and on their devices, packed. */
hlo_instr_t *spmd_use_tuple(spmd_lower_t *lower, const hlo_instr_t *instr,
                            const spmd_sharding_t *const *wanted);

/* Fills in uses, users, wanted, sliced, scans and sort_reads. find_uses.c */
void spmd_find_uses(spmd_lower_t *lower);
/* Fills in `sought`. early_batches.c */
hr_status_t spmd_find_sought(spmd_lower_t *lower);
/* True if result r has a user. find_uses.c */
bool spmd_result_is_wanted(const spmd_lower_t *lower, const hlo_instr_t *instr, int r);
/* The sharding that users want of result r: the propagated one, that of a marker, the sought one.
 * find_uses.c */
const spmd_sharding_t *spmd_wanted_result(spmd_lower_t *lower, const hlo_instr_t *instr, int r);

/* --- tensor_factors.c, choose.c, lower_partial.c --- */
typedef struct spmd_choice {
  const hlo_instr_t *instr;
  const spmd_rule_t *rule;
  const spmd_axes_t *axes;               /* by factor */
  const spmd_sharding_t *const *tensors; /* wanted shardings of operands, then those of results */
  spmd_axes_t reduced;                   /* axes over which results are partial */
} spmd_choice_t;
/* The axes that an array's sharding gives each factor; false if some axis belongs to none. */
bool spmd_project(spmd_lower_t *lower, const spmd_rule_t *rule, int tensor,
                  const spmd_sharding_t *sharding, spmd_axes_t *out_axes);
/* The dimension of a tensor that has a factor; -1: none. */
int spmd_dim_of_factor(const spmd_rule_t *rule, int tensor, int factor);
/* True if all operands and results that are not scalars have the factor in a dimension of its own:
 * cutting it divides the work. */
bool spmd_cuts_all(const spmd_rule_t *rule, int factor);
/* True if the factor may be cut. It must be in a result, as results would lack the elements of
 * other parts otherwise, and in an operand; broadcasts and random bits need no operand. A reduction
 * factor needs neither. */
bool spmd_can_cut_factor(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor);
/* The sharding of a tensor by its factors' axes; NULL if its dimensions cannot be cut like that. */
const spmd_sharding_t *spmd_tensor_sharding(spmd_lower_t *lower, const spmd_rule_t *rule,
                                            int tensor, const spmd_axes_t *axes,
                                            spmd_axes_t unreduced);
#define SPMD_CHOOSE_FACTORS 96  /* most factors of a rule that spmd_choose handles */
#define SPMD_CHOOSE_TENSORS 256 /* most tensors of such a rule */
/* The cheapest axes for the factors of an instruction, by its rule or an alternative. */
hr_status_t spmd_choose(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule,
                        spmd_choice_t *out_choice);

/* Lowers an operation on unreduced operands if that is worthwhile: a sum of partial values, or an
 * operation that is linear in its only partial operand. True: its results are defined. */
bool spmd_lower_partial(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule);
/* True if the factor passes through and may be cut. */
bool spmd_passes(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor);
/* Lowers an operation with several results once for each sharding in which they are wanted, if no
 * operand has to move for that. True: its results are defined. lower_apart.c */
bool spmd_lower_apart(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule);
/* True if a later sum or reduction takes the result, so that less is reduced if it stays partial.
 */
bool spmd_is_merged_later(const spmd_lower_t *lower, const hlo_instr_t *instr);

/* --- lower.c, lower_control.c, lower_device.c, lower_markers.c --- */
/* Lowers a computation for parameters and results cut as given, one sharding per leaf; NULL: as
 * propagated. */
hr_status_t spmd_lower_computation(spmd_lower_module_t *shared, const hlo_computation_t *from,
                                   const spmd_sharding_t *const *params,
                                   const spmd_sharding_t *const *results,
                                   hlo_computation_t **out_computation);
/* Control flow and calls; the results are defined. */
hr_status_t spmd_lower_control(spmd_lower_t *lower, const hlo_instr_t *instr);
/* The only device that executes a custom call or feed, as named by its sharding: operands are
 * whole, and the results are sent to all partitions. -1: every partition executes it. */
int64_t spmd_only_device(const spmd_lower_t *lower, const hlo_instr_t *instr);
hr_status_t spmd_lower_on_device(spmd_lower_t *lower, const hlo_instr_t *instr,
                                 hlo_instr_t *const *operands, int64_t device);
/* Callbacks that every partition calls with its own parts. */
bool spmd_calls_with_parts(const hlo_instr_t *instr);
hr_status_t spmd_lower_call_with_parts(spmd_lower_t *lower, const hlo_instr_t *instr);
/* Custom calls that the host of the partitioner divides (partition/host.h). lower_hosted.c */
hr_status_t spmd_lower_hosted(spmd_lower_t *lower, const hlo_instr_t *instr);
/* True for custom calls that only carry shardings, and for borders of manual computations. */
bool spmd_is_marker(const hlo_instr_t *instr);
/* True for a marker of an array, or of its transposition, that has other users: these may need the
 * same whole array. lower_markers.c */
bool spmd_marks_shared(const spmd_lower_t *lower, const hlo_instr_t *instr);
/* Reshards a result before its users choose axes, if it is due (spmd_strategy_t). */
void spmd_reshard_early(spmd_lower_t *lower, const hlo_instr_t *instr);
/* Reshards an array to its preferred sharding, for all of its users. */
void spmd_reshard_now(spmd_lower_t *lower, const hlo_instr_t *instr);
hr_status_t spmd_lower_marker(spmd_lower_t *lower, const hlo_instr_t *instr);
/* Moves the parts of x from the devices of mesh `from` to those of mesh `to`. */
hlo_instr_t *spmd_replace_parts(spmd_lower_t *lower, hlo_instr_t *x, const spmd_mesh_t *from,
                                const spmd_mesh_t *to);
/* Propagated shardings of all leaves of an instruction. */
const spmd_sharding_t **spmd_preferred_leaves(spmd_lower_t *lower, const hlo_instr_t *instr);

/* --- operations --- */
typedef hlo_instr_t *(*spmd_lower_fn)(spmd_lower_t *lower, const spmd_choice_t *choice);
typedef struct spmd_op {
  spmd_lower_fn emit; /* emits the operation on local operands; NULL: spmd_emit_local */
  /* True if a reduction or permutation factor may be cut; NULL: never. */
  bool (*can_cut)(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor);
} spmd_op_t;
spmd_op_t spmd_op_of(const hlo_instr_t *instr);
/* True if results may stay partial until they are used; false: the operation reduces them. */
bool spmd_leaves_partial(const hlo_instr_t *instr);
/* The op that reduces partial results; HLO_ADD for dot and convolution. */
hlo_opcode_t spmd_reducer_of(const hlo_instr_t *instr);
/* The rule for partitioning an instruction: that of propagation, or one with more factors. */
hr_status_t spmd_lowering_rule(spmd_lower_t *lower, const hlo_instr_t *instr,
                               const spmd_rule_t **out_rule);
/* Emits the same operation on local shapes. */
hlo_instr_t *spmd_emit_local(spmd_lower_t *lower, const spmd_choice_t *choice);
/* Defines the leaves of a result with the given shardings; NULL: replicated. */
void spmd_define_results(spmd_lower_t *lower, const hlo_instr_t *instr, hlo_instr_t *result,
                         const spmd_sharding_t *const *shardings);
/* Operand k in the chosen sharding. */
hlo_instr_t *spmd_chosen_operand(spmd_lower_t *lower, const spmd_choice_t *choice, int k);
const hlo_shape_t *spmd_chosen_shape(spmd_lower_t *lower, const spmd_choice_t *choice, int leaf);
/* Number of parts of dimension d of tensor t, as chosen. */
int64_t spmd_chosen_parts(const spmd_choice_t *choice, int tensor, int d);

#endif
