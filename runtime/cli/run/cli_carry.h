/* --carry: results that become parameters of the next step. */
#ifndef CLI_CARRY_H
#define CLI_CARRY_H

#include "base/options.h"
#include "base/vec.h"
#include "cli/arrays/cli_signature.h"

typedef struct cli_carried {
  int out, in;
} cli_carried_t;
_Static_assert(sizeof(cli_carried_t) == sizeof(int[2]), "pairs of hlorun_program_options_t");

typedef HR_VEC(cli_carried_t) cli_carry_t;

/* Adds the pairs of a text such as "0:1,3-5:0-2". Errors: USAGE with the entry: no numbers, unequal
 * ranges. */
hr_status_t cli_carry_parse(const char *text, cli_carry_t *carry);
/* All --carry options. Errors: as cli_carry_parse. */
hr_status_t cli_carry_from_options(const hr_options_t *options, cli_carry_t *carry);
/* Errors: USAGE for numbers out of range, different shapes, a parameter twice. */
hr_status_t cli_carry_check(const cli_carry_t *carry, const cli_signature_t *signature);

#endif
