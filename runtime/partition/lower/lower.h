/* Lowering of a global program to that of one partition, shared by the files of this folder.
 * Every array of the program (a leaf of an instruction's shape) becomes a spmd_local_t: what a
 * partition has of it, in one or more shardings ("forms"). Operations ask for operands in the
 * sharding they work on (spmd_use) and enter their results in the sharding in which they come out
 * (spmd_define); what moves in between is a resharding. */
#ifndef HR_PARTITION_LOWER_LOWER_H
#define HR_PARTITION_LOWER_LOWER_H

#include "partition/lower/reshard.h"
#include "partition/rule.h"

typedef struct spmd_form {
  hlo_instr_t *instr;
  const spmd_sharding_t *sharding;
  bool is_tentative; /* made for an operation that may never be lowered, as its user looks through
                        it */
  struct spmd_form *next;
} spmd_form_t;

typedef struct spmd_local {
  const hlo_shape_t *shape;         /* global */
  const spmd_sharding_t *preferred; /* by propagation */
  hlo_opcode_t reducer;             /* of unreduced forms */
  uint32_t uses;
  const hlo_instr_t *recipe; /* constant, iota or what follows from them: made anew in any sharding;
                                NULL: none */
  spmd_form_t *forms;        /* the first is how it was defined */
} spmd_local_t;

typedef struct spmd_lower_module {
  spmd_program_t *program;
  spmd_emit_module_t emit;
  hlo_computation_t **called; /* callees lowered so far, by computation id */
} spmd_lower_module_t;

typedef struct spmd_lower { /* one computation */
  spmd_lower_module_t *shared;
  spmd_emit_t emit;
  hr_arena_t *arena;
  const spmd_mesh_t *mesh;
  const hlo_computation_t *from;
  spmd_local_t ***values;    /* by instruction id, leaf */
  uint32_t *uses;            /* by instruction id */
  const hlo_instr_t **users; /* by instruction id: the last one that uses it */
  uint64_t *wanted;          /* by instruction id: bit k: something reads element k of a tuple */
  int64_t *sliced;           /* by instruction id: elements that slices take */
  bool is_tentative;         /* the user of the current instruction may look through it */
} spmd_lower_t;

/* --- values.c --- */
static inline spmd_local_t *spmd_operand(const spmd_lower_t *lower, const hlo_instr_t *instr,
                                         int k) {
  return lower->values[instr->operands[k]->id][0];
}
/* The propagated sharding of a leaf, in the program's mesh; never NULL but after a failure. */
const spmd_sharding_t *spmd_preferred(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf);
/* The sharding at a border of a manual computation, whose sizes are those inside. */
const spmd_sharding_t *spmd_border_sharding(spmd_lower_t *lower, const hlo_instr_t *instr,
                                            int leaf);
/* The same array under another instruction, which may prefer another sharding: a copy. */
void spmd_alias(spmd_lower_t *lower, const hlo_instr_t *instr, spmd_local_t *from);
/* A new value of a leaf; the preferred sharding is the propagated one. */
spmd_local_t *spmd_local_new(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf);
/* The value of leaf `leaf` of instr is x, cut as `sharding`. */
spmd_local_t *spmd_define(spmd_lower_t *lower, const hlo_instr_t *instr, int leaf, hlo_instr_t *x,
                          const spmd_sharding_t *sharding);
/* The value in the wanted sharding. */
hlo_instr_t *spmd_use(spmd_lower_t *lower, spmd_local_t *value, const spmd_sharding_t *wanted);
/* Does it follow from constants, positions or scalars alone, or repeat a whole array? */
bool spmd_is_recipe(const spmd_lower_t *lower, const hlo_instr_t *instr);
/* What spmd_use would cost. */
double spmd_use_cost(const spmd_lower_t *lower, const spmd_local_t *value,
                     const spmd_sharding_t *wanted);
hlo_instr_t *spmd_use_whole(spmd_lower_t *lower, spmd_local_t *value);
const spmd_sharding_t *spmd_replicated(spmd_lower_t *lower, int rank);
const hlo_shape_t *spmd_shape_in(spmd_lower_t *lower, const hlo_shape_t *shape,
                                 const spmd_sharding_t *sharding);
/* Tuples: the instruction for a shape from its leaves, and the leaves of an instruction. */
hlo_instr_t *spmd_pack(spmd_lower_t *lower, const hlo_shape_t *shape, hlo_instr_t *const **leaves);
void spmd_unpack(spmd_lower_t *lower, hlo_instr_t *x, hlo_instr_t ***out_leaves);
/* A shape of tuples as `like`, with other leaves. */
const hlo_shape_t *spmd_rebuild_shape(spmd_lower_t *lower, const hlo_shape_t *like,
                                      const hlo_shape_t *const **leaves);
/* All leaves of an instruction in the given shardings and on their devices, packed. */
hlo_instr_t *spmd_use_tuple(spmd_lower_t *lower, const hlo_instr_t *instr,
                            const spmd_sharding_t *const *wanted);

/* --- tensor_factors.c, choose.c, lower_partial.c --- */
typedef struct spmd_choice {
  const hlo_instr_t *instr;
  const spmd_rule_t *rule;
  const spmd_axes_t *axes;               /* by factor */
  const spmd_sharding_t *const *tensors; /* operands as wanted, results as they come out */
  spmd_axes_t reduced;                   /* over which results are partial */
} spmd_choice_t;
/* The axes that an array's sharding gives each factor; false if some axis belongs to none. */
bool spmd_project(spmd_lower_t *lower, const spmd_rule_t *rule, int tensor,
                  const spmd_sharding_t *sharding, spmd_axes_t *out_axes);
/* The dimension of a tensor that has a factor; -1: none. */
int spmd_dim_of_factor(const spmd_rule_t *rule, int tensor, int factor);
/* May the factor be cut at all? It must be a dimension of a result, or results would lack what
 * other parts have, and of an operand, or they would need the same elements in another shape; but
 * what a broadcast repeats, and random bits, have no operand. Reductions need neither. */
bool spmd_can_cut_factor(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor);
/* The sharding of tensor t by the factors' axes; NULL if the dimensions cannot be cut so. */
const spmd_sharding_t *spmd_tensor_sharding(spmd_lower_t *lower, const spmd_rule_t *rule,
                                            int tensor, const spmd_axes_t *axes,
                                            spmd_axes_t unreduced);
#define SPMD_CHOOSE_FACTORS 96
#define SPMD_CHOOSE_TENSORS 256 /* rules with more of either are not tried */
/* The cheapest axes for the factors of an instruction. */
hr_status_t spmd_choose(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule,
                        spmd_choice_t *out_choice);

/* An operation that passes partial results on unreduced, if that is what it should do: sums of
 * partial results, and what is linear in the only one. True: its results are defined. */
bool spmd_lower_partial(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule);
/* Will less be reduced if the result stays partial? */
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
/* A custom call or feed that one device does for all (its sharding names the device): operands are
 * whole, that partition alone calls, and its results go to everybody. -1: every partition calls. */
int64_t spmd_only_device(const spmd_lower_t *lower, const hlo_instr_t *instr);
hr_status_t spmd_lower_on_device(spmd_lower_t *lower, const hlo_instr_t *instr,
                                 hlo_instr_t *const *operands, int64_t device);
/* Callbacks that every partition makes with its own parts. */
bool spmd_calls_with_parts(const hlo_instr_t *instr);
hr_status_t spmd_lower_call_with_parts(spmd_lower_t *lower, const hlo_instr_t *instr);
/* Custom calls that the host of the partitioner divides (partition/host.h). lower_hosted.c */
bool spmd_is_hosted(const hlo_instr_t *instr);
hr_status_t spmd_lower_hosted(spmd_lower_t *lower, const hlo_instr_t *instr);
/* Custom calls that only carry shardings, and the borders of manual computations; false: it is
 * another one. */
bool spmd_is_marker(const hlo_instr_t *instr);
/* Brings an array to its sharding, for all that uses it. */
void spmd_reshard_now(spmd_lower_t *lower, const hlo_instr_t *instr);
hr_status_t spmd_lower_marker(spmd_lower_t *lower, const hlo_instr_t *instr);
/* x, whose parts lie as the mesh `from` says, with its parts as `to` says. */
hlo_instr_t *spmd_replace_parts(spmd_lower_t *lower, hlo_instr_t *x, const spmd_mesh_t *from,
                                const spmd_mesh_t *to);
/* Propagated shardings of all leaves of an instruction. */
const spmd_sharding_t **spmd_preferred_leaves(spmd_lower_t *lower, const hlo_instr_t *instr);

/* --- operations --- */
typedef hlo_instr_t *(*spmd_lower_fn)(spmd_lower_t *lower, const spmd_choice_t *choice);
typedef struct spmd_op {
  spmd_lower_fn emit; /* the operation on local operands; NULL: as it is, on local shapes */
  /* May a reduction or permutation factor be cut? NULL: no. */
  bool (*can_cut)(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor);
} spmd_op_t;
spmd_op_t spmd_op_of(const hlo_instr_t *instr);
/* True if results may stay partial until they are used; else the operation merges them itself. */
bool spmd_leaves_partial(const hlo_instr_t *instr);
/* The op that merges partial results of a reduction factor; HLO_ADD for products. */
hlo_opcode_t spmd_reducer_of(const hlo_instr_t *instr);
/* The rule by which an instruction is partitioned: the propagation's, or a wider one. */
hr_status_t spmd_lowering_rule(spmd_lower_t *lower, const hlo_instr_t *instr,
                               const spmd_rule_t **out_rule);
/* The operation as it is, on local shapes. */
hlo_instr_t *spmd_emit_local(spmd_lower_t *lower, const spmd_choice_t *choice);
/* Enters the leaves of a result, each cut as given; NULL: whole. */
void spmd_define_results(spmd_lower_t *lower, const hlo_instr_t *instr, hlo_instr_t *result,
                         const spmd_sharding_t *const *shardings);
/* Operand k as the choice wants it. */
hlo_instr_t *spmd_chosen_operand(spmd_lower_t *lower, const spmd_choice_t *choice, int k);
const hlo_shape_t *spmd_chosen_shape(spmd_lower_t *lower, const spmd_choice_t *choice, int leaf);
/* Number of parts of dimension d of tensor t, as chosen. */
int64_t spmd_chosen_parts(const spmd_choice_t *choice, int tensor, int d);

#endif
