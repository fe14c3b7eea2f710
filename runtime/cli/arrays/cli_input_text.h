/* Values of parameters as text on the command line. */
#ifndef CLI_INPUT_TEXT_H
#define CLI_INPUT_TEXT_H

#include "ir/shape.h"
#include "ir/value.h"

/* The value that `text` names for a parameter of this shape:
 *   {1, 2} or f32[2]{1, 2}   a literal of HLO
 *   1                        of an array: that value in all elements
 *   2x3xf32=1 2 3 4 5 6      sizes, type, and all elements or one for all of them, with blanks,
 *                            commas or brackets between them
 * `label` is for messages, such as "0". Errors: USAGE. */
hr_status_t cli_input_from_text(const char *label, const char *text, const hlo_shape_t *shape,
                                hlo_value_t **out_value);

#endif
