/* Specializations of a program with dynamic sizes, one per set of argument sizes: compiled on first
 * use, cached by least recent use. A specialization communicates exactly like the program, so that
 * each process decides for itself whether to run one. */
#ifndef HLORUN_SHAPE_SPECIALIZATIONS_H
#define HLORUN_SHAPE_SPECIALIZATIONS_H

#include "compiler.h"
#include "exec/compiled.h"

typedef struct specializations specializations_t;

typedef struct specializations_options {
  const char *name;   /* file name, for messages */
  hr_buffer_t *bytes; /* the program's text; retained */
  compiler_options_t
      compiler;       /* as it was compiled; its strings must last as long as the copies are made */
  const plan_t *plan; /* plan of the program, which can_specialise; outlives the copies */
  hr_status_t (*make_machine)(void *context, const compiled_program_t *compiled,
                              exec_compiled_t **out_machine);
  void *context; /* context of make_machine */
} specializations_options_t;

/* Thread:  one caller at a time, as for all functions here.
 * Errors:  NO_MEMORY. */
hr_status_t specializations_create(const specializations_options_t *options,
                                   specializations_t **out_variants);
void specializations_destroy(specializations_t *specializations); /* accepts NULL */

/* The machine for these flattened arguments, whose shapes were checked. NULL: the program itself
 * must run, as some size does not follow from the arguments', or too many were compiled. Owner:
 * borrowed, valid until the next call. */
exec_compiled_t *specializations_find(specializations_t *specializations, hlo_value_t *const *args);

typedef struct specializations_stats {
  int made;                                /* specializations compiled so far */
  double read_s, passes_s, plan_s, code_s; /* seconds of compiling them, by stage */
  const compiled_program_t *last; /* the one that ran last; NULL: none, or the program itself */
} specializations_stats_t;
specializations_stats_t specializations_stats(const specializations_t *specializations);

#endif
