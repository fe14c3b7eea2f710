/* An ending is the part of a name after its last dot, or more if an ending in the list has two
 * dots. */
#include "cli/arrays/cli_extensions.h"

#include <string.h>

/* A name that consists only of the ending, such as ".npz", does not have it. */
bool cli_ends_with(const char *path, const char *ending) {
  size_t size = strlen(path), length = strlen(ending);
  return size > length && strcmp(path + size - length, ending) == 0;
}

/* The message lists all endings. */
static hr_status_t unknown_ending(const char *option, const char *path,
                                  const char *const *endings) {
  hr_strbuf_t list;
  hr_strbuf_init(&list);
  for (size_t i = 0; endings[i]; i++) {
    if (i) hr_strbuf_add_str(&list, endings[i + 1] ? ", " : " or ");
    hr_strbuf_add_str(&list, endings[i]);
  }
  hr_status_t st = hr_error(HR_USAGE, "--%s %s: want a name that ends in %s", option, path,
                            list.data ? list.data : "one of its endings");
  hr_strbuf_deinit(&list);
  return st;
}

/* A dot at the start of the name means a hidden file, not an ending. */
hr_status_t cli_check_extension(const hr_options_t *options, hr_option_id_t id,
                                const char *const *endings) {
  const char *path = hr_option_text(options, id);
  if (!path) return NULL;
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  const char *dot = *name ? strrchr(name + 1, '.') : NULL;
  if (!dot) return NULL;
  for (size_t i = 0; endings[i]; i++)
    if (cli_ends_with(path, endings[i])) return NULL;
  return unknown_ending(hr_option_name(id), path, endings);
}
