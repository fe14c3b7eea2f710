/* Shardings as programs write them, turned into those of the common mesh. */
#ifndef HR_PARTITION_SHARDINGS_H
#define HR_PARTITION_SHARDINGS_H

#include "partition/annotations/meshes.h"

/* Adds the inline meshes that the text names to the meshes: #sdy.sharding<mesh<["a"=2]>, [...]>.
 * Errors: INVALID. */
hr_status_t spmd_read_inline_meshes(spmd_meshes_t *meshes, hr_str_t text);

/* Marks the meshes of which a text of shardings names axes; all that it names, if it is a manual
 * computation's. */
void spmd_note_used(spmd_meshes_t *meshes, hr_str_t text, bool is_manual);
/* "#sdy.sharding<@mesh, [{"a"}, {?}p1], replicated={..}, unreduced={..}>", or the same in <...>
 * alone. Errors: INVALID with what was found and wanted. */
hr_status_t spmd_read_sharding(const spmd_meshes_t *meshes, spmd_scan_t *scan,
                               const spmd_sharding_t **out_sharding);
/* "#sdy.sharding_per_value<[<..>, <..>]>", or one sharding. Errors: INVALID unless there are
 * `count`. */
hr_status_t spmd_read_shardings(const spmd_meshes_t *meshes, hr_str_t text, int count,
                                const spmd_sharding_t **out_shardings);
/* "#sdy<manual_axes{"a", "b"}>" on the axes of the mesh that `meshes` made. The axes are those of
 * the mesh that `shardings`, a text of shardings, names first and that has them all; if it names
 * none, of the first of the program. Errors: INVALID. */
hr_status_t spmd_read_manual_axes(const spmd_meshes_t *meshes, hr_str_t text, hr_str_t shardings,
                                  const spmd_mesh_source_t **out_source, spmd_axes_t *out_axes);
/* A GSPMD or named sharding of a value of this rank; NULL: it says nothing (unknown). Manual axes
 * of a subgroup are added to *out_manual. `open_dims` lists dimensions that may be cut further. */
hr_status_t spmd_read_hlo_sharding(spmd_meshes_t *meshes, const hlo_sharding_t *sharding, int rank,
                                   hr_ints_t open_dims, const spmd_sharding_t **out_sharding,
                                   spmd_axes_t *out_manual);
/* The manual axes alone, of a sharding for values of any rank, and its grid (NULL: it has none).
 * Errors: INVALID. */
hr_status_t spmd_read_manual_tiles(spmd_meshes_t *meshes, const hlo_sharding_t *sharding,
                                   const spmd_mesh_source_t **out_source, spmd_axes_t *out_axes);
/* One part of --sharding, in0=data,model;out0=... */
typedef struct spmd_option {
  bool is_input;
  int64_t number; /* of the parameter's or result's leaf */
  hr_str_t list;  /* "data,model" */
} spmd_option_t;
/* Takes the first part off the text. Errors: USAGE. */
hr_status_t spmd_next_option(hr_str_t *text, spmd_option_t *out_option);
/* An error with the code: `text`, then ' no axis "name", want one of ["a"=2, "b"=2]'. */
hr_status_t spmd_error_no_axis(hr_code_t code, hr_strbuf_t *text, const spmd_mesh_source_t *source,
                               hr_str_t name);
/* The option's list for a value of this rank, "data,model" or "data+model,-".
 * Errors: USAGE. */
hr_status_t spmd_read_option_sharding(const spmd_meshes_t *meshes, const spmd_option_t *option,
                                      int rank, const spmd_sharding_t **out_sharding);

#endif
