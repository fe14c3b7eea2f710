/* A parser of options and a printer of help, both driven by options.def: short and long options,
 * "--name=value" and "--name value", nearest names by edit distance for unknown ones. */
#include "base/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/nearest_name.h"
#include "base/variables.h"

#define HELP_COLUMN 28 /* where the explanations start */
#define HELP_WIDTH 110

/* A row of options.def; `commands` is a bit set. */
typedef struct option_info {
  const char *name, *argument, *help;
  char letter;
  hr_option_kind_t kind;
  uint32_t commands;
} option_info_t;

#define RUN HR_COMMAND_RUN
#define CHECK HR_COMMAND_CHECK
#define TEST HR_COMMAND_TEST
#define CONVERT HR_COMMAND_CONVERT
#define SCHEDULE HR_COMMAND_SCHEDULE
#define ANY_COMMAND HR_COMMAND_ANY_COMMAND
static const option_info_t infos[HR_OPTION_COUNT] = {
#define OPTION(id, name, letter, argument, kind, commands, help) \
  [HR_OPTION_##id] = {name, argument, help, letter, HR_OPTION_KIND_##kind, commands},
#define OPTION_GROUP(title)
#define VARIABLE(name, value, help)
#include "base/options.def"
#undef OPTION
#undef OPTION_GROUP
#undef VARIABLE
};
#undef RUN
#undef CHECK
#undef TEST
#undef CONVERT
#undef SCHEDULE
#undef ANY_COMMAND

/* The table's order with its headings. */
static const struct help_row {
  const char *title; /* NULL: an option */
  hr_option_id_t id;
} help_rows[] = {
#define OPTION(id, ...) {NULL, HR_OPTION_##id},
#define OPTION_GROUP(title) {title, HR_OPTION_COUNT},
#define VARIABLE(name, value, help)
#include "base/options.def"
#undef OPTION
#undef OPTION_GROUP
#undef VARIABLE
};
#define HELP_ROW_COUNT (sizeof help_rows / sizeof *help_rows)

/* Old names that are still accepted. */
static const struct option_alias {
  const char *old_name;
  hr_option_id_t id;
} option_aliases[] = {
#define OPTION(id, ...)
#define OPTION_GROUP(title)
#define VARIABLE(name, value, help)
#define OPTION_ALIAS(old_name, id) {old_name, HR_OPTION_##id},
#include "base/options.def"
#undef OPTION
#undef OPTION_GROUP
#undef VARIABLE
    {NULL, HR_OPTION_COUNT}};

static const char *const command_names[] = {"run", "check", "test", "convert",
                                            "schedule"}; /* by bit */
#define COMMAND_COUNT (sizeof command_names / sizeof *command_names)

const char *hr_option_name(hr_option_id_t id) { return infos[id].name; }

/* --- parsing --- */

/* Decimal or 0x hexadecimal, without sign, blanks or anything after it. */
bool hr_parse_u64(const char *text, uint64_t *out_value) {
  if (*text < '0' || *text > '9') return false;
  char *end;
  errno = 0;
  bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  unsigned long long value = strtoull(text, &end, hex ? 16 : 10);
  if (errno || *end) return false;
  *out_value = value;
  return true;
}

static bool takes_argument(const option_info_t *info) { return info->kind != HR_OPTION_KIND_FLAG; }
/* "[=VALUE]": an argument only if it is attached. */
static bool argument_may_miss(const option_info_t *info) { return info->argument[0] == '['; }

/* The number of the word among "a|b|c", or -1. */
static int find_choice(const char *choices, const char *word) {
  size_t size = strlen(word);
  for (int k = 0;; k++) {
    const char *end = strchrnul(choices, '|');
    if ((size_t)(end - choices) == size && memcmp(choices, word, size) == 0) return k;
    if (!*end) return -1;
    choices = end + 1;
  }
}

/* Non-negative numbers, in the C locale whatever the user's is. */
static hr_status_t parse_real(const option_info_t *info, hr_option_given_t *given) {
  char *end;
  errno = 0;
  given->real = hr_strtod(given->text, &end);
  if (!*given->text || *end || errno || !(given->real >= 0) || given->real > 1e300)
    return hr_error(HR_USAGE, "--%s: '%s' is not a number of 0 or more", info->name, given->text);
  return NULL;
}

/* Counts start at 1, seeds may have 64 bits, everything else 31. */
static hr_status_t parse_int(const option_info_t *info, hr_option_given_t *given) {
  uint64_t lowest = info->kind == HR_OPTION_KIND_COUNT ? 1 : 0;
  uint64_t highest = info->kind == HR_OPTION_KIND_SEED ? UINT64_MAX : INT32_MAX;
  if (!hr_parse_u64(given->text, &given->integer) || given->integer < lowest ||
      given->integer > highest)
    return hr_error(HR_USAGE, "--%s: '%s' is not a whole number of %d or more%s", info->name,
                    given->text, (int)lowest,
                    highest == INT32_MAX ? " (and less than 2^31)" : " (and less than 2^64)");
  return NULL;
}

static hr_status_t parse_argument(const option_info_t *info, hr_option_given_t *given) {
  switch (info->kind) {
    case HR_OPTION_KIND_FLAG:
      return NULL;
    case HR_OPTION_KIND_TEXT:
    case HR_OPTION_KIND_TEXTS:
      if (*given->text) return NULL;
      return hr_error(HR_USAGE, "--%s: wants %s, found nothing", info->name, info->argument);
    case HR_OPTION_KIND_REAL:
      return parse_real(info, given);
    case HR_OPTION_KIND_COUNT:
    case HR_OPTION_KIND_INDEX:
    case HR_OPTION_KIND_SEED:
      return parse_int(info, given);
    case HR_OPTION_KIND_CHOICE:
      break;
  }
  int choice = find_choice(info->argument, given->text);
  if (choice < 0)
    return hr_error(HR_USAGE, "--%s: found '%s', want %s", info->name, given->text, info->argument);
  given->integer = (uint64_t)choice;
  return NULL;
}

/* USAGE with the nearest name among the command's own options. */
static hr_status_t unknown_option(hr_command_t command, const char *word) {
  const char *names[HR_OPTION_COUNT];
  size_t count = 0, size = strcspn(word, "=");
  char bare[HR_NEAREST_WORD_MAX + 1] = "";
  if (size <= HR_NEAREST_WORD_MAX) memcpy(bare, word, size);
  for (int id = 0; id < HR_OPTION_COUNT; id++)
    if (infos[id].commands & command) names[count++] = infos[id].name;
  const char *nearest = *bare ? hr_nearest_name(bare, names, count) : NULL;
  const char *help = command == HR_COMMAND_RUN ? "" : command_names[__builtin_ctz(command)];
  if (nearest)
    return hr_error(HR_USAGE, "there is no option --%.*s; nearest: --%s", (int)size, word, nearest);
  return hr_error(HR_USAGE, "there is no option --%.*s; see hlorun %s%s--help", (int)size, word,
                  help, *help ? " " : "");
}

static bool is_name(const char *name, const char *word, size_t size) {
  return strlen(name) == size && memcmp(name, word, size) == 0;
}

/* The option of this present or old name; HR_OPTION_COUNT: no such option. */
static hr_option_id_t id_of_name(const char *word, size_t size) {
  for (int id = 0; id < HR_OPTION_COUNT; id++)
    if (is_name(infos[id].name, word, size)) return (hr_option_id_t)id;
  for (const struct option_alias *alias = option_aliases; alias->old_name; alias++)
    if (is_name(alias->old_name, word, size)) return alias->id;
  return HR_OPTION_COUNT;
}

/* The error for an option of other commands: USAGE with the commands that take it. */
static hr_status_t option_of_others(const option_info_t *info, hr_command_t command) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (size_t k = 0; k < COMMAND_COUNT; k++)
    if (info->commands >> k & 1)
      hr_strbuf_printf(&text, "%s%s", text.size ? ", " : "", command_names[k]);
  hr_status_t st =
      hr_error(HR_USAGE, "--%s is not an option of %s; it is one of %s", info->name,
               command_names[__builtin_ctz(command)], text.data ? text.data : "others");
  hr_strbuf_deinit(&text);
  return st;
}

static hr_status_t find_long(hr_command_t command, const char *word, hr_option_id_t *out_id) {
  hr_option_id_t id = id_of_name(word, strcspn(word, "="));
  if (id == HR_OPTION_COUNT) return unknown_option(command, word);
  if (!(infos[id].commands & command)) return option_of_others(&infos[id], command);
  *out_id = id;
  return NULL;
}

static hr_status_t find_letter(hr_command_t command, char letter, hr_option_id_t *out_id) {
  for (int id = 0; id < HR_OPTION_COUNT; id++) {
    if (infos[id].letter != letter || !(infos[id].commands & command)) continue;
    *out_id = (hr_option_id_t)id;
    return NULL;
  }
  return hr_error(HR_USAGE, "there is no option -%c; see hlorun --help", letter);
}

/* The arguments not yet read. */
typedef struct arguments {
  int next, count;
  char *const *words;
} arguments_t;

/* `attached`: the text after the name within its word; NULL: none. */
static hr_status_t add_option(hr_options_t *options, hr_option_id_t id, const char *attached,
                              arguments_t *args) {
  const option_info_t *info = &infos[id];
  hr_option_given_t given = {.id = id, .text = attached ? attached : ""};
  if (!takes_argument(info)) {
    if (attached)
      return hr_error(HR_USAGE, "--%s takes no argument, found '%s'", info->name, attached);
  } else if (!attached && !argument_may_miss(info)) {
    if (args->next == args->count)
      return hr_error(HR_USAGE, "--%s wants %s after it", info->name, info->argument);
    given.text = args->words[args->next++];
  }
  if (attached || !argument_may_miss(info)) HR_TRY(parse_argument(info, &given));
  HR_VEC_PUSH(&options->given, given);
  return NULL;
}

static hr_status_t parse_long(hr_command_t command, const char *word, arguments_t *args,
                              hr_options_t *options) {
  hr_option_id_t id = HR_OPTION_COUNT;
  HR_TRY(find_long(command, word, &id));
  const char *equals = strchr(word, '=');
  return add_option(options, id, equals ? equals + 1 : NULL, args);
}

/* "-np 8", as mpirun has it; also "-np8" and "-np=8". */
static bool is_mpirun_np(const char *word) {
  return !strncmp(word, "np", 2) &&
         (!word[2] || word[2] == '=' || (word[2] >= '0' && word[2] <= '9'));
}

static hr_status_t parse_mpirun_np(hr_command_t command, const char *word, arguments_t *args,
                                   hr_options_t *options) {
  const char *attached = word[2] == '=' ? word + 3 : word + 2;
  hr_option_id_t id;
  HR_TRY(find_letter(command, 'n', &id));
  return add_option(options, id, *attached ? attached : NULL, args);
}

/* -n8, -n 8, and flags together: -vh. */
static hr_status_t parse_letters(hr_command_t command, const char *word, arguments_t *args,
                                 hr_options_t *options) {
  if (is_mpirun_np(word)) return parse_mpirun_np(command, word, args, options);
  for (; *word; word++) {
    hr_option_id_t id;
    HR_TRY(find_letter(command, *word, &id));
    bool takes = takes_argument(&infos[id]);
    HR_TRY(add_option(options, id, takes && word[1] ? word + 1 : NULL, args));
    if (takes) break;
  }
  return NULL;
}

/* "--" ends the options; a lone "-" is an operand, the standard input. */
hr_status_t hr_options_parse(hr_command_t command, int argc, char *const *argv,
                             hr_options_t *out_options) {
  *out_options = (hr_options_t){0};
  arguments_t args = {0, argc, argv};
  bool only_operands = false;
  while (args.next < args.count) {
    const char *word = args.words[args.next++];
    if (only_operands || word[0] != '-' || !word[1])
      HR_VEC_PUSH(&out_options->operands, word);
    else if (word[1] != '-')
      HR_TRY(parse_letters(command, word + 1, &args, out_options));
    else if (word[2])
      HR_TRY(parse_long(command, word + 2, &args, out_options));
    else
      only_operands = true;
  }
  return NULL;
}

void hr_options_deinit(hr_options_t *options) {
  HR_VEC_FREE(&options->given);
  HR_VEC_FREE(&options->operands);
}

const hr_option_given_t *hr_option_next(const hr_options_t *options, hr_option_id_t id,
                                        size_t *from) {
  for (size_t i = *from; i < options->given.count; i++) {
    if (options->given.data[i].id != id) continue;
    *from = i + 1;
    return &options->given.data[i];
  }
  return NULL;
}

/* The last one given wins. */
const hr_option_given_t *hr_option_find(const hr_options_t *options, hr_option_id_t id) {
  for (size_t i = options->given.count; i-- > 0;)
    if (options->given.data[i].id == id) return &options->given.data[i];
  return NULL;
}

uint64_t hr_option_int(const hr_options_t *options, hr_option_id_t id, uint64_t fallback) {
  const hr_option_given_t *given = hr_option_find(options, id);
  return given ? given->integer : fallback;
}

double hr_option_real(const hr_options_t *options, hr_option_id_t id, double fallback) {
  const hr_option_given_t *given = hr_option_find(options, id);
  return given ? given->real : fallback;
}

const char *hr_option_text(const hr_options_t *options, hr_option_id_t id) {
  const hr_option_given_t *given = hr_option_find(options, id);
  return given ? given->text : NULL;
}

/* --- explaining --- */

/* Adds words from HELP_COLUMN on, broken at HELP_WIDTH; the line so far is `used` wide. */
static void add_wrapped(hr_strbuf_t *text, size_t used, const char *words) {
  if (used + 2 > HELP_COLUMN) {
    hr_strbuf_add_char(text, '\n');
    used = 0;
  }
  hr_strbuf_printf(text, "%*s", (int)(HELP_COLUMN - used), "");
  size_t column = HELP_COLUMN;
  while (*words) {
    size_t size = strcspn(words, " ");
    if (column > HELP_COLUMN && column + 1 + size > HELP_WIDTH) {
      hr_strbuf_printf(text, "\n%*s", HELP_COLUMN, "");
      column = HELP_COLUMN;
    } else if (column > HELP_COLUMN) {
      hr_strbuf_add_char(text, ' ');
      column++;
    }
    hr_strbuf_add(text, words, size);
    column += size;
    words += size + (words[size] == ' ');
  }
  hr_strbuf_add_char(text, '\n');
}

static void add_option_line(hr_strbuf_t *text, const option_info_t *info) {
  size_t start = text->size;
  hr_strbuf_add_str(text, "  ");
  if (info->letter) hr_strbuf_printf(text, "-%c, ", info->letter);
  const char *space = *info->argument && !argument_may_miss(info) ? " " : "";
  hr_strbuf_printf(text, "--%s%s%s", info->name, space, info->argument);
  add_wrapped(text, text->size - start, info->help);
}

/* Headings without an option of this command are left out. */
void hr_options_help(hr_strbuf_t *text, hr_command_t command) {
  const char *title = NULL;
  for (size_t i = 0; i < HELP_ROW_COUNT; i++) {
    if (help_rows[i].title) {
      title = help_rows[i].title;
      continue;
    }
    const option_info_t *info = &infos[help_rows[i].id];
    if (!(info->commands & command)) continue;
    if (title) hr_strbuf_printf(text, "\n%s\n", title);
    title = NULL;
    add_option_line(text, info);
  }
}

void hr_options_list(hr_strbuf_t *text) {
  for (size_t i = 0; i < HELP_ROW_COUNT; i++) {
    if (help_rows[i].title) {
      hr_strbuf_printf(text, "%s%s\n", i ? "\n" : "", help_rows[i].title);
      continue;
    }
    const option_info_t *info = &infos[help_rows[i].id];
    add_option_line(text, info);
    hr_strbuf_printf(text, "%*sof", HELP_COLUMN, "");
    for (size_t k = 0; k < COMMAND_COUNT; k++)
      if (info->commands >> k & 1) hr_strbuf_printf(text, " %s", command_names[k]);
    hr_strbuf_add_char(text, '\n');
  }
  hr_strbuf_add_str(text, "\nVariables\n");
  for (const hr_variable_t *variable = hr_variables; variable->name; variable++) {
    size_t start = text->size;
    hr_strbuf_printf(text, "  %s=%s", variable->name, variable->value);
    add_wrapped(text, text->size - start, variable->help);
  }
}
