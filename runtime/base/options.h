/* Command-line options of options.def: parsing, lists and help (of the HLORUN_* variables, too).
 * The commands define their meaning. Thread: one at a time. */
#ifndef HR_BASE_OPTIONS_H
#define HR_BASE_OPTIONS_H

#include <stddef.h>

#include "base/status.h"
#include "base/text.h"
#include "base/vec.h"

/* Commands, as bits. */
typedef enum hr_command {
  HR_COMMAND_RUN = 1 << 0,
  HR_COMMAND_CHECK = 1 << 1,
  HR_COMMAND_TEST = 1 << 2,
  HR_COMMAND_CONVERT = 1 << 3,
  HR_COMMAND_SCHEDULE = 1 << 4,
  HR_COMMAND_ANY_COMMAND = (1 << 5) - 1
} hr_command_t;

typedef enum hr_option_id {
#define OPTION(id, ...) HR_OPTION_##id,
#define OPTION_GROUP(title)
#define VARIABLE(name, value, help)
#include "base/options.def"
#undef OPTION
#undef OPTION_GROUP
#undef VARIABLE
  HR_OPTION_COUNT
} hr_option_id_t;

typedef enum hr_option_kind {
  HR_OPTION_KIND_FLAG,
  HR_OPTION_KIND_COUNT,
  HR_OPTION_KIND_INDEX,
  HR_OPTION_KIND_SEED,
  HR_OPTION_KIND_REAL,
  HR_OPTION_KIND_CHOICE,
  HR_OPTION_KIND_TEXT,
  HR_OPTION_KIND_TEXTS
} hr_option_kind_t;

/* One given option. */
typedef struct hr_option_given {
  hr_option_id_t id;
  const char *text; /* the argument, "" if there is none; borrowed from argv */
  uint64_t integer; /* COUNT, INDEX, SEED; CHOICE: number of the word */
  double real;      /* REAL */
} hr_option_given_t;

typedef struct hr_options {
  HR_VEC(hr_option_given_t) given; /* in order */
  HR_VEC(const char *) operands;   /* arguments that are no options */
} hr_options_t;

/* Reads the arguments after the command's name. argv must outlive `out_options`; deinit also after
 * a failure. Errors: USAGE, with the nearest name for an option that does not exist. */
hr_status_t hr_options_parse(hr_command_t command, int argc, char *const *argv,
                             hr_options_t *out_options);
void hr_options_deinit(hr_options_t *options);

/* hr_option_find returns the last occurrence; hr_option_next all of them: *from starts at 0, NULL
 * ends. */
const hr_option_given_t *hr_option_find(const hr_options_t *options, hr_option_id_t id);
const hr_option_given_t *hr_option_next(const hr_options_t *options, hr_option_id_t id,
                                        size_t *from);
static inline bool hr_option_is_given(const hr_options_t *options, hr_option_id_t id) {
  return hr_option_find(options, id) != NULL;
}
uint64_t hr_option_int(const hr_options_t *options, hr_option_id_t id, uint64_t fallback);
double hr_option_real(const hr_options_t *options, hr_option_id_t id, double fallback);
const char *hr_option_text(const hr_options_t *options, hr_option_id_t id); /* NULL: not given */
const char *hr_option_name(hr_option_id_t id);                              /* without the dashes */

/* A number that fills the whole text: decimal, or 0x... */
bool hr_parse_u64(const char *text, uint64_t *out_value);

/* The options that a command takes, by groups. */
void hr_options_help(hr_strbuf_t *text, hr_command_t command);
/* Every option with its commands, then every variable. */
void hr_options_list(hr_strbuf_t *text);

#endif
