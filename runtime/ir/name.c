#include "ir/name.h"

#include <string.h>

#include "base/dtype.h"

/* True for characters that may begin a name in HLO text. */
static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* True for characters that may follow in a name: those that may begin one, digits, '-' and '.'. */
static bool is_name_char(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

hr_status_t hlo_name_make_valid(hr_arena_t *arena, hr_str_t wanted, hr_str_t *out_name) {
  char *name;
  hr_dtype_t dtype;
  HR_TRY(HR_NEW_ARRAY(arena, wanted.size + 2, &name));
  if (wanted.size) memcpy(name, wanted.data, wanted.size);
  for (size_t i = 0; i < wanted.size; i++)
    if (i ? !is_name_char(name[i]) : !is_name_start(name[i])) name[i] = '_';
  size_t size = wanted.size;
  if (!size || hr_dtype_from_name((hr_str_t){name, size}, &dtype)) name[size++] = '_';
  *out_name = (hr_str_t){name, size};
  return NULL;
}
