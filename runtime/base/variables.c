/* HLORUN_* variables: their table, and what the environment says of them. */
#include "base/variables.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/nearest_name.h"
#include "base/options.h"
#include "base/text.h"

const hr_variable_t hr_variables[] = {
#define OPTION(id, ...)
#define OPTION_GROUP(title)
#define VARIABLE(name, value, help) {name, help, value},
#include "base/options.def"
#undef OPTION
#undef OPTION_GROUP
#undef VARIABLE
    {NULL, NULL, NULL}};
#define VARIABLE_COUNT (sizeof hr_variables / sizeof *hr_variables - 1)

/* Old names that are still accepted. */
static const struct variable_alias {
  const char *old_name, *name;
} variable_aliases[] = {
#define OPTION(id, ...)
#define OPTION_GROUP(title)
#define VARIABLE(name, value, help)
#define VARIABLE_ALIAS(old_name, name) {old_name, name},
#include "base/options.def"
#undef OPTION
#undef OPTION_GROUP
#undef VARIABLE
    {NULL, NULL}};

/* NULL: no variable has this name. */
static const hr_variable_t *find_variable(const char *name, size_t size) {
  for (const hr_variable_t *variable = hr_variables; variable->name; variable++)
    if (strlen(variable->name) == size && !memcmp(variable->name, name, size)) return variable;
  return NULL;
}

/* Old variables are renamed in the environment; a new one that is set as well wins. */
void hr_variables_apply_aliases(void) {
  for (const struct variable_alias *alias = variable_aliases; alias->old_name; alias++) {
    const char *value = getenv(alias->old_name);
    if (!value) continue;
    setenv(alias->name, value, 0);
    unsetenv(alias->old_name);
  }
}

static bool is_seconds(const char *value) {
  char *end;
  double seconds = hr_strtod(value, &end);
  return end != value && !*end && seconds >= 0;
}

/* Does a value suit one alternative of a row's `value`: a whole number N or BYTES, a number of
 * seconds S, any text for another name in capitals, or the word itself? */
static bool suits(const char *value, const char *wanted, size_t size) {
  uint64_t number;
  if ((size == 1 && *wanted == 'N') || (size == 5 && !memcmp(wanted, "BYTES", 5)))
    return hr_parse_u64(value, &number);
  if (size == 1 && *wanted == 'S') return is_seconds(value);
  for (size_t i = 0; i < size; i++)
    if (wanted[i] >= 'A' && wanted[i] <= 'Z') return true;
  return strlen(value) == size && memcmp(value, wanted, size) == 0;
}

/* A row with a single number, such as 1, is a switch, which any value turns on. "" counts as not
 * set. */
static bool is_fine(const char *value, const char *wanted) {
  bool is_switch = !strchr(wanted, '|') && *wanted >= '0' && *wanted <= '9';
  if (!*value || is_switch) return true;
  for (const char *at = wanted; *at;) {
    size_t size = strcspn(at, "|");
    if (suits(value, at, size)) return true;
    at += size + (at[size] == '|');
  }
  return false;
}

/* A warning, not an error: the variable may be meant for another version. */
static void warn_of_name(FILE *stream, const char *name, size_t size) {
  const char *names[VARIABLE_COUNT];
  char word[HR_NEAREST_WORD_MAX + 1] = "";
  if (size > HR_NEAREST_WORD_MAX) return;
  memcpy(word, name, size);
  for (size_t i = 0; i < VARIABLE_COUNT; i++) names[i] = hr_variables[i].name;
  const char *nearest = hr_nearest_name(word, names, VARIABLE_COUNT);
  const char *separator = nearest ? "; nearest: " : "";
  if (!nearest) nearest = "";
  hr_text_hide_controls(word);
  fprintf(stream, "hlorun: warning: there is no variable %s%s%s\n", word, separator, nearest);
}

/* A value of any length is shown by its beginning, as it may come from others. */
static void warn_of_value(FILE *stream, const char *entry, const char *wanted) {
  char shown[128];
  snprintf(shown, sizeof shown, "%s", entry);
  hr_text_hide_controls(shown);
  const char *dots = strlen(entry) < sizeof shown ? "" : "...";
  fprintf(stream, "hlorun: warning: %s%s: want %s\n", shown, dots, wanted);
}

void hr_variables_check(FILE *stream) {
  for (char **entry = environ; *entry; entry++) {
    size_t size = strcspn(*entry, "=");
    if (strncmp(*entry, "HLORUN_", 7) || !(*entry)[size]) continue;
    const hr_variable_t *variable = find_variable(*entry, size);
    if (!variable)
      warn_of_name(stream, *entry, size);
    else if (!is_fine(*entry + size + 1, variable->value))
      warn_of_value(stream, *entry, variable->value);
  }
}
