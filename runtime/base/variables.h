/* The HLORUN_* variables of options.def. Those who read a variable define its meaning. */
#ifndef HR_BASE_VARIABLES_H
#define HR_BASE_VARIABLES_H

#include <stdio.h>

typedef struct hr_variable {
  const char *name, *help;
  const char *value; /* as the list shows it: words and numbers, with "|" between them */
} hr_variable_t;

extern const hr_variable_t hr_variables[]; /* in the order of options.def; the last name is NULL */

/* Sets the current name of variables that are set under an old name only. Thread: the only one. */
void hr_variables_apply_aliases(void);
/* Warns on `stream` about unknown HLORUN_* variables, with the nearest name, and about invalid
 * values. */
void hr_variables_check(FILE *stream);

#endif
