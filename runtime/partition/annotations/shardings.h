/* Parses the written forms of shardings into shardings on the common mesh. */
#ifndef HR_PARTITION_SHARDINGS_H
#define HR_PARTITION_SHARDINGS_H

#include "partition/annotations/meshes.h"

/* Adds the inline meshes that the text names to the meshes: #sdy.sharding<mesh<["a"=2]>, [...]>.
 * Errors: INVALID. */
hr_status_t spmd_read_inline_meshes(spmd_meshes_t *meshes, hr_str_t text);

/* Marks the meshes whose axes a text of shardings names; for a manual computation (is_manual), all
 * meshes that the text names. */
void spmd_note_used(spmd_meshes_t *meshes, hr_str_t text, bool is_manual);
/* "#sdy.sharding<@mesh, [{"a"}, {?}p1], replicated={..}, unreduced={..}>", or the same in <...>
 * alone. Errors: INVALID with what was found and wanted. */
hr_status_t spmd_read_sharding(const spmd_meshes_t *meshes, hr_scan_t *scan,
                               const spmd_sharding_t **out_sharding);
/* "#sdy.sharding_per_value<[<..>, <..>]>", or one sharding. Errors: INVALID unless there are
 * `count`. */
hr_status_t spmd_read_shardings(const spmd_meshes_t *meshes, hr_str_t text, int count,
                                const spmd_sharding_t **out_shardings);
/* Reads "#sdy<manual_axes{"a", "b"}>" into axes of the common mesh. The names belong to the first
 * mesh named in `shardings`, a text of shardings, that has all of them; if the text names no mesh,
 * to the program's first. Errors: INVALID. */
hr_status_t spmd_read_manual_axes(const spmd_meshes_t *meshes, hr_str_t text, hr_str_t shardings,
                                  const spmd_mesh_source_t **out_source, spmd_axes_t *out_axes);
/* Reads a GSPMD or named sharding of a value of this rank; NULL: unknown. Adds the manual axes of a
 * subgroup to *out_manual. `open_dims` lists the dimensions that propagation may cut further. */
hr_status_t spmd_read_hlo_sharding(spmd_meshes_t *meshes, const hlo_sharding_t *sharding, int rank,
                                   hr_ints_t open_dims, const spmd_sharding_t **out_sharding,
                                   spmd_axes_t *out_manual);
/* Reads only the manual axes of a sharding for values of any rank, and its grid (NULL: none).
 * Errors: INVALID. */
hr_status_t spmd_read_manual_tiles(spmd_meshes_t *meshes, const hlo_sharding_t *sharding,
                                   const spmd_mesh_source_t **out_source, spmd_axes_t *out_axes);
/* One assignment of --sharding, such as in0=data,model. */
typedef struct spmd_option {
  bool is_input;
  int64_t number; /* number of the parameter's or result's leaf */
  hr_str_t list;  /* "data,model" */
} spmd_option_t;
/* Error USAGE: the assignment, then what is wrong with it. */
hr_status_t spmd_option_error(const spmd_option_t *option, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Error USAGE: the program has only `count` inputs (outputs). */
hr_status_t spmd_option_error_absent(const spmd_option_t *option, int64_t count);
/* Error USAGE: an earlier assignment has the same number. */
hr_status_t spmd_option_error_twice(const spmd_option_t *option);
/* Removes the first assignment from the text. Errors: USAGE. */
hr_status_t spmd_next_option(hr_str_t *text, spmd_option_t *out_option);
/* An error with the code: `text`, then ' no axis "name", want one of ["a"=2, "b"=2]'. */
hr_status_t spmd_error_no_axis(hr_code_t code, hr_strbuf_t *text, const spmd_mesh_source_t *source,
                               hr_str_t name);
/* The option's list for a value of this rank, "data,model" or "data+model,-".
 * Errors: USAGE. */
hr_status_t spmd_read_option_sharding(const spmd_meshes_t *meshes, const spmd_option_t *option,
                                      int rank, const spmd_sharding_t **out_sharding);

#endif
