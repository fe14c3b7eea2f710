/* Names of instructions and computations, from names of other formats. */
#ifndef HLO_IR_NAME_H
#define HLO_IR_NAME_H

#include "base/arena.h"

/* Makes a name valid in HLO text, as XLA does: characters that no name has become '_', and names of
 * element types, and the empty name, get a trailing '_'.
 * Owner:   the text is in `arena` and ends with a NUL.
 * Errors:  NO_MEMORY. */
hr_status_t hlo_name_make_valid(hr_arena_t *arena, hr_str_t wanted, hr_str_t *out_name);

#endif
