/* Declarations shared by the files that read annotations. */
#ifndef HR_PARTITION_READER_H
#define HR_PARTITION_READER_H

#include "partition/annotations/normalize.h"
#include "partition/annotations/shardings.h"

/* Annotations that a module has. */
typedef struct spmd_findings {
  bool manual, sdy_cut, hlo_cut, hlo_whole, collective;
  bool hosted; /* a call that the partitioner hands to its host */
} spmd_findings_t;

typedef struct spmd_reader {
  hlo_module_t *module;
  const spmd_options_t *options;
  spmd_program_t *program;
  spmd_meshes_t meshes;
  bool *control;     /* by computation id: its values have shardings */
  bool sdy, ignored; /* sdy: only xla.sdy attributes are read; ignored: --mesh replaces all
                        annotations; set with the meshes */
} spmd_reader_t;

/* --- is_global.c --- */
/* A frontend attribute of the module; empty: it has none. */
hr_str_t spmd_module_attribute(const hlo_module_t *module, const char *name);
spmd_findings_t spmd_look_at_all(const hlo_module_t *module);
/* True if the module is read by its xla.sdy attributes, not by GSPMD strings. */
bool spmd_is_sdy(const hlo_module_t *module, const spmd_findings_t *found);

/* True for a call or feed that a sharding may place on one device, even if it has no result. */
bool spmd_is_host_call(const hlo_instr_t *instr);

/* --- read_annotations.c --- */
/* Checks a sharding and makes it the annotation of a leaf. Errors: INVALID, UNSUPPORTED with the
 * place. */
hr_status_t spmd_set_value(spmd_reader_t *reader, const hlo_instr_t *instr, int leaf,
                           const spmd_sharding_t *sharding, spmd_origin_kind_t origin);

/* --- read_manual.c --- */
/* Lists spmd_computation_t.borders. Cost: linear. Errors: NO_MEMORY. */
hr_status_t spmd_find_borders(hr_arena_t *arena, const hlo_computation_t *computation,
                              const hlo_instr_t ***out_borders);
/* Passes the manual axes and the mesh on to the bodies that the instruction calls. Errors: INVALID,
 * UNSUPPORTED. */
hr_status_t spmd_read_manual_call(spmd_reader_t *reader, const hlo_instr_t *instr);
/* Refuses borders of partly manual computations whose values lie in several orders of devices.
 * Errors: UNSUPPORTED with the place. */
hr_status_t spmd_check_placements(spmd_reader_t *reader, hlo_instr_t *marker);

/* --- read_ends.c --- */
/* Records the placements of the program's parameters and results. Errors: NO_MEMORY. */
hr_status_t spmd_note_entry_placements(spmd_reader_t *reader);
/* Copies the shardings of the result markers to the tuple that the entry returns. */
hr_status_t spmd_pass_results_on(spmd_reader_t *reader);
/* Reads the shardings of the entry's only parameter, a tuple. Errors: INVALID. */
hr_status_t spmd_read_tuple_args(spmd_reader_t *reader);
/* Reads --sharding. Errors: USAGE. */
hr_status_t spmd_read_options(spmd_reader_t *reader);

#endif
