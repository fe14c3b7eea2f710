/* Copies of a program with dynamic sizes, one for each set of sizes that its arguments have:
 * compiled when the sizes come up, kept while they are used. A copy says the same to its peers as
 * the program, so each process chooses by itself. */
#ifndef HLORUN_SHAPE_SPECIALIZATIONS_H
#define HLORUN_SHAPE_SPECIALIZATIONS_H

#include "compiler.h"
#include "exec/compiled.h"

typedef struct specializations specializations_t;

typedef struct specializations_options {
  const char *name;   /* of the program's file, for messages */
  hr_buffer_t *bytes; /* the program's text; retained */
  compiler_options_t
      compiler;       /* as it was compiled; its strings must last as long as the copies are made */
  const plan_t *plan; /* of the program, which can_specialise; outlives the copies */
  hr_status_t (*make_machine)(void *context, const compiled_program_t *compiled,
                              exec_compiled_t **out_machine);
  void *context; /* of make_machine */
} specializations_options_t;

/* Thread: one at a time. Errors: NO_MEMORY. */
hr_status_t specializations_create(const specializations_options_t *options,
                                   specializations_t **out_variants);
void specializations_destroy(specializations_t *specializations); /* accepts NULL */

/* The machine for these flattened arguments, whose shapes are checked; NULL: the program itself has
 * to run, because some size does not follow from those of the arguments, or there were too many.
 * Good until the next call. */
exec_compiled_t *specializations_find(specializations_t *specializations, hlo_value_t *const *args);

typedef struct specializations_stats {
  int made;                                /* copies so far, also those that are not kept */
  double read_s, passes_s, plan_s, code_s; /* of compiling them */
  const compiled_program_t *last; /* that ran last; NULL: none did, or the program itself */
} specializations_stats_t;
specializations_stats_t specializations_stats(const specializations_t *specializations);

#endif
