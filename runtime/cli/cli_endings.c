/* A name's ending is what follows its last dot, or more where an ending of the list has two. */
#include "cli/cli_endings.h"

#include <string.h>

/* A name that is the ending alone, such as ".npz", does not end with it. */
bool cli_ends_with(const char *path, const char *ending) {
  size_t size = strlen(path), length = strlen(ending);
  return size > length && strcmp(path + size - length, ending) == 0;
}

/* Lists all endings, as a sentence has them. */
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

/* A dot at the start of the name makes a hidden file, no ending. */
hr_status_t cli_check_ending(const hr_options_t *options, hr_option_id_t id,
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
