/* Copies of a program with dynamic sizes, one for each set of sizes that its arguments have: compiled when the sizes
 * come up, kept while they are used. A copy says the same to its peers as the program, so each process chooses by
 * itself. */
#ifndef HLORUN_VARIANTS_H
#define HLORUN_VARIANTS_H

#include "compiler.h"
#include "exec/compiled.h"

typedef struct variants variants_t;

typedef struct variants_options {
  const char *name;             /* of the program's file, for messages */
  hr_buffer_t *bytes;           /* the program's text; retained */
  compiler_options_t compiler;  /* as it was compiled; its strings must last as long as the copies are made */
  const plan_t *plan;           /* of the program, which can_specialise; outlives the copies */
  hr_status_t (*make_machine)(void *context, const compiled_program_t *compiled, exec_compiled_t **out_machine);
  void *context;                /* of make_machine */
} variants_options_t;

/* Thread: one at a time. Errors: NO_MEMORY. */
hr_status_t variants_create(const variants_options_t *options, variants_t **out_variants);
void variants_destroy(variants_t *variants); /* accepts NULL */

/* The machine for these flattened arguments, whose shapes are checked; NULL: the program itself has to run, because
 * some size does not follow from those of the arguments, or there were too many. Good until the next call. */
exec_compiled_t *variants_find(variants_t *variants, hlo_value_t *const *args);

typedef struct variants_figures {
  int made;                                /* copies so far, also those that are not kept */
  double read_s, passes_s, plan_s, code_s; /* of compiling them */
  const compiled_program_t *last;          /* that ran last; NULL: none did, or the program itself */
} variants_figures_t;
variants_figures_t variants_figures(const variants_t *variants);

#endif
