/* A program's flattened parameters and results with their shapes, and the arrays of files for them.
 */
#ifndef CLI_SIGNATURE_H
#define CLI_SIGNATURE_H

#include "hlorun.h"
#include "io/array_file.h"
#include "ir/value_npy.h"
#include "ir/shape.h"

typedef struct cli_signature {
  hr_arena_t arena;
  int param_count, result_count;
  const hlo_shape_t **params, **results;
  const char **param_names;
  const int *positions; /* number K of arr_K for each parameter, -1: none; NULL: its own number */
  /* Shapes of global arrays if the program was partitioned from a global one; else as above. */
  const hlo_shape_t **whole_params, **whole_results;
  bool *took_whole; /* by parameter: this process's part was cut from a given global array */
  const hlorun_program_t *program;
  int world; /* processes of the run, set by the caller; 0: not known */
} cli_signature_t;

/* One parameter or result of a program. */
typedef struct cli_arg {
  const cli_signature_t *interface;
  bool is_result;
  int index;
  bool is_part; /* an array for it is this process's part, not the global array */
} cli_arg_t;

/* Deinit also after a failure. */
hr_status_t cli_signature_init(cli_signature_t *signature, const hlorun_program_t *program);
void cli_signature_deinit(cli_signature_t *signature);
/* Updates the shapes of global arrays after hlorun_program_make_global. */
hr_status_t cli_signature_find_wholes(cli_signature_t *signature);

/* The shape that "f32[2,<=3]" names. */
hr_status_t cli_shape_parse(hr_arena_t *arena, const char *text, const hlo_shape_t **out_shape);

/* Is `name` that of the parameter, as the program spells it or as JAX's tree paths do? Letters and
 * digits must agree, a number after the last dot may be missing ("params['w']" is params__w__.1).
 */
bool cli_param_is_named(hr_str_t param, hr_str_t name);
/* The parameter of this name; -1: there is none, or several. */
int cli_param_find(const cli_signature_t *signature, hr_str_t name);

/* FILE.npy, or FILE.npz:NAME (FILE.safetensors:NAME); the first colon after the ending separates.
 * Errors: USAGE if the archive has no such array. */
hr_status_t cli_npy_open(const char *file, npy_t *out_npy);
bool cli_npy_is_named(const char *text); /* does it look like either? */

/* Makes the value for a slot from an array of its shape, or from a global array, whose part is cut
 * out. A program that was partitioned from a global one takes global arrays, unless slot->is_part.
 * `name`: origin of the array for messages, "in3 of data.npz". Errors: USAGE for another type or
 * other sizes. */
hr_status_t cli_value_from_npy(const char *name, const npy_t *npy, const cli_arg_t *slot,
                               hlo_value_t **out_value);
/* Members in<k>@... (or out<k>@...) of all processes if the file says where they lie; else member
 * in<k>@<rank> if the file has it, else in<k>; else, of parameters, the
 * member of the parameter's name, else arr_<k>. *out_value NULL if it has none of them. */
hr_status_t cli_value_from_file(const array_file_t *file, const cli_arg_t *slot, int rank,
                                hlo_value_t **out_value);

#endif
