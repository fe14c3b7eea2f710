/* These options control XLA's code generation and change nothing here; but users get XLA's messages
 * for mistakes in them. Names that begin with "xla_" and are not in the table may be those of other
 * devices or of another version, and are taken as they are. */
#include "pjrt/program/pjrt_overrides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "xla_"
#define NUMBER_MAX 24 /* bytes of the longest number as text, with its end */

typedef enum kind { ANY, BOOL, INT32, INT64, STRING } kind_t;

/* Names of the kinds in messages. */
static const char *const kind_names[] = {"", "bool", "int32", "int64", "string"};

static const struct {
  const char *name; /* without the prefix */
  kind_t kind;
} options[] = {
#define XLA_OPTION(kind, name) {#name, kind},
#include "pjrt/program/pjrt_xla_options.def"
#undef XLA_OPTION
};

/* ANY for options that are not in the table. */
static kind_t kind_of(hr_str_t key) {
  const size_t skipped = sizeof PREFIX - 1;
  hr_str_t name = {key.data + skipped, key.size - skipped};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (hr_str_is(name, options[i].name)) return options[i].kind;
  return ANY;
}

/* Is the text a whole number that the kind can hold? */
static bool is_integer(hr_str_t text, kind_t kind) {
  char copy[NUMBER_MAX], *end;
  if (!text.size || text.size >= sizeof copy) return false;
  memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  errno = 0;
  long long number = strtoll(copy, &end, 10);
  bool is_number = !*end && !errno;
  return is_number && (kind == INT64 || number == (int32_t)number);
}

static bool is_valid_text(hr_str_t text, kind_t kind) {
  if (kind == BOOL) return hr_str_is(text, "True") || hr_str_is(text, "False");
  return kind == STRING || is_integer(text, kind);
}

static bool is_valid(const proto_option_value_t *value, kind_t kind) {
  if (value->text.data) return is_valid_text(value->text, kind);
  if (value->flag.present) return kind == BOOL;
  if (!value->integer.present) return false;
  return kind == INT64 || (kind == INT32 && value->integer.value == (int32_t)value->integer.value);
}

/* The value as XLA's messages show it; `number` is room for one that is no text. */
static hr_str_t text_of(const proto_option_value_t *value, char number[NUMBER_MAX]) {
  if (value->text.data) return value->text;
  int size;
  if (value->flag.present)
    size = snprintf(number, NUMBER_MAX, "%d", (int)value->flag.value);
  else if (value->integer.present)
    size = snprintf(number, NUMBER_MAX, "%lld", (long long)value->integer.value);
  else
    size = snprintf(number, NUMBER_MAX, "%g", value->real);
  return (hr_str_t){number, (size_t)size};
}

static hr_status_t check_value(hr_arena_t *arena, hr_str_t key, proto_list_t pieces) {
  proto_option_value_t value;
  char number[NUMBER_MAX];
  kind_t kind = kind_of(key);
  HR_TRY(PROTO_DECODE(arena, option_value, pieces, &value));
  if (kind == ANY || is_valid(&value, kind)) return NULL;
  hr_str_t text = text_of(&value, number);
  return hr_error(HR_INVALID, "While setting option %.*s, '%.*s' is not a valid %s value.",
                  HR_STR_ARGS(key), HR_STR_ARGS(text), kind_names[kind]);
}

hr_status_t pjrt_overrides_check(hr_arena_t *arena, proto_list_t overrides) {
  const size_t prefix = sizeof PREFIX - 1;
  for (int64_t i = 0; i < overrides.count; i++) {
    proto_option_override_t entry;
    HR_TRY(PROTO_DECODE(arena, option_override, proto_piece(&overrides.items[i]), &entry));
    if (entry.key.size <= prefix || memcmp(entry.key.data, PREFIX, prefix))
      return hr_error(HR_INVALID, "No such compile option: '%.*s'", HR_STR_ARGS(entry.key));
    HR_TRY(check_value(arena, entry.key, entry.value));
  }
  return NULL;
}
