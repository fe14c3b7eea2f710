#include "ir/frontend_attributes.h"

#include <string.h>

bool hlo_name_comes_before(hr_str_t a, hr_str_t b) {
  int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
  return order ? order < 0 : a.size < b.size;
}

hr_status_t hlo_extra_with_frontend_attribute(hr_arena_t *arena, const hlo_extra_t *from,
                                              hlo_name_value_t added,
                                              const hlo_extra_t **out_extra) {
  hlo_name_values_t before = {0};
  hlo_name_value_t *items;
  hlo_extra_t *extra;
  int at = 0;
  if (from) before = from->frontend_attributes;
  HR_TRY(HR_NEW(arena, &extra));
  HR_TRY(HR_NEW_ARRAY(arena, before.count + 1, &items));
  for (; at < before.count && hlo_name_comes_before(before.items[at].name, added.name); at++)
    items[at] = before.items[at];
  items[at] = added;
  for (int i = at; i < before.count; i++) items[i + 1] = before.items[i];
  if (from) *extra = *from;
  extra->frontend_attributes = (hlo_name_values_t){before.count + 1, items};
  *out_extra = extra;
  return NULL;
}
