/* A global program with its shardings, between reading the annotations, propagation and
 * partitioning.
 *
 *   read_annotations ->  propagate  ->  partition
 *   (annotations/)       (propagate/)   (lower/)
 *
 * A value is a leaf of an instruction's shape: an array of an array result, or one element of a
 * tuple, in order of hlo_shape_leaf. Tuples and their elements pass shardings on.
 * Manual computations stay as XLA writes them in HLO: GlobalToLocalShape, a call of their body,
 * LocalToGlobalShape. Inside of the body the manual axes of the enclosing markers belong to no
 * sharding. A value of either marker has the sharding of the global array that enters or leaves,
 * the manual axes first in each dimension; the parameters and the root of the body have it without
 * them. */
#ifndef HR_PARTITION_PROGRAM_H
#define HR_PARTITION_PROGRAM_H

#include "ir/module.h"
#include "partition/core/tensor_sharding.h"

typedef struct spmd_rule spmd_rule_t; /* rule.h */

/* Why a value has its sharding: for --explain-sharding. */
typedef enum spmd_origin_kind {
  SPMD_FROM_NOTHING, /* no statement: replicated */
  SPMD_FROM_PROGRAM, /* annotation */
  SPMD_FROM_USER,    /* --sharding */
  SPMD_FROM_OPERAND, /* propagated forward */
  SPMD_FROM_USE,     /* propagated backward */
  SPMD_FROM_EDGE     /* loop state, branch result, call, group */
} spmd_origin_kind_t;

typedef struct spmd_value {
  const spmd_sharding_t *sharding; /* NULL: nothing said, or replicated after propagation */
  spmd_origin_kind_t origin;
  const hlo_instr_t *source; /* instruction whose sharding was propagated here; NULL: none */
} spmd_value_t;

#define SPMD_GATHER_LIMIT (UINT64_C(256) << 20) /* default of gather_limit, bytes; XLA's value */

/* By instruction of one computation: values[id][leaf]. */
typedef struct spmd_computation {
  spmd_value_t **values;
  const hlo_instr_t **borders; /* by instruction: the call beside a border marker of a manual body;
                                  the first marker that takes results of a call */
  int64_t *callers;        /* by instruction: 1 + the only device that makes a call; 0: all do */
  spmd_axes_t manual_axes; /* axes of the enclosing manual computations */
  /* A manual computation may be on a mesh that does not fit beside the program's (another order of
   * devices, axes that interleave). Both members then have the program's axes, but the devices of
   * that mesh. */
  const spmd_mesh_t *mesh;               /* mesh inside this computation; NULL: the program's */
  const spmd_mesh_t *const **placements; /* by border marker and leaf: devices of the parts there;
                                            NULL, or a NULL leaf: those of the program's mesh */
} spmd_computation_t;

typedef struct spmd_program {
  hlo_module_t *module; /* global shapes; its arena owns everything here */
  hr_arena_t *arena;
  const spmd_mesh_t *mesh; /* common refinement of all meshes with several devices; NULL: no
                              annotation cuts anything */
  spmd_computation_t *computations;               /* by computation id */
  const spmd_sharding_t *const *param_shardings;  /* shardings of the entry's parameter leaves,
                                                     final */
  const spmd_sharding_t *const *result_shardings; /* shardings of the entry's result leaves */
  /* By the same leaves: the program's axes with other devices, for a sharding on a mesh that does
   * not fit beside the program's; NULL: the devices of `mesh`. */
  const spmd_mesh_t *const *param_placements, *const *result_placements;
  const int (*carried)[2]; /* as in spmd_options_t */
  int carried_count;
  bool keep_unreduced, whole_axes; /* as in spmd_options_t */
  uint64_t gather_limit;           /* bytes */
  const struct spmd_report
      *report; /* report of spmd_partition (lower/report.h); NULL: not partitioned */
} spmd_program_t;

typedef struct spmd_options {
  int64_t device_count;  /* processes of a replica */
  int64_t replica_count; /* 0: the module's */
  const char *mesh;      /* --mesh "data=4,model=2"; NULL: the program's */
  const char *sharding;  /* --sharding "in0=data,model;out0=..."; NULL: the program's */
  /* Pairs of a result and the parameter that it becomes in the next step (--carry). They are tied
   * like a sharding group; the result gets the parameter's sharding. */
  const int (*carried)[2];
  int carried_count;
  bool keep_unreduced; /* unreduced parameters and results stay parts; else they are whole */
  bool whole_axes;     /* parameters and results that are left open are cut by whole axes */
  /* Bytes per process from which on operands of products are not gathered and results are not
   * reduced as a whole: their parts travel in a ring (lower/lower_ring.c). 0: SPMD_GATHER_LIMIT */
  uint64_t gather_limit;
  hr_strbuf_t *explain;      /* receives the report of --explain-sharding; NULL: none */
  bool explain_json;         /* the report is one JSON object */
  bool stop_after_propagate; /* the module keeps its global shapes and gets the shardings */
} spmd_options_t;

/* True if the module has annotations that cut a value, or the options do. Cost: one pass. */
bool spmd_is_global(const hlo_module_t *module, const spmd_options_t *options);

/* True if the annotations of a program for several partitions cut nothing: each process computes
 * all of it. Cost: one pass. */
bool spmd_is_whole(const hlo_module_t *module);

/* True if XLA has already partitioned the module: it has a schedule, or XLA's name of an entry. */
bool spmd_is_partitioned(const hlo_module_t *module);
/* Applies --mesh and --sharding to a program that XLA has partitioned: they tell how its parameters
 * and results are cut from global arrays. Only shardings are set. The options name all results, or
 * none. Errors: USAGE. */
hr_status_t spmd_describe_parts(hlo_module_t *module, const spmd_options_t *options);

/* Derives the shardings of the results of such a program from those of its parameters, into
 * module->result_shardings; NULL for a result whose sharding does not follow. Errors: NO_MEMORY. */
hr_status_t spmd_infer_results(hlo_module_t *module);

/* Reads sdy and GSPMD annotations and the options. Errors: INVALID (place, found, wanted), USAGE
 * when the mesh does not fit the world. */
hr_status_t spmd_read_annotations(hlo_module_t *module, const spmd_options_t *options,
                                  spmd_program_t *out_program);
/* Gives every value its sharding. Deterministic. Errors: NO_MEMORY. */
hr_status_t spmd_propagate(spmd_program_t *program);
/* Rewrites the module into the program of one partition: local shapes, collectives. Sets the
 * module's num_partitions to the number of devices of the mesh. Parameters and
 * module->result_shardings carry the shardings by which global arrays are cut and gathered.
 * Errors: UNSUPPORTED (dynamic dimensions) with the place. */
hr_status_t spmd_partition(spmd_program_t *program);

/* Writes the shardings of a propagated program into its instructions, in HLO's named form, in place
 * of the annotations. Errors: NO_MEMORY. */
hr_status_t spmd_write_shardings(spmd_program_t *program);

/* Runs all steps: a global program becomes the program of one partition, or gets its shardings
 * (stop_after_propagate). A shard_map program is made local; other programs stay unchanged. A
 * program for one process loses its annotations. Errors: those of the steps. */
hr_status_t spmd_run(hlo_module_t *module, const spmd_options_t *options);

#endif
