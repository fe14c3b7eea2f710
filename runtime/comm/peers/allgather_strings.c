/* All-gather of variable-length strings: an all-gather of the sizes, then one of fields padded to
 * the longest. Fields and lines are separated by tabs and newlines. */
#include "comm/peers/allgather_strings.h"

#include <stdlib.h>
#include <string.h>

hr_status_t exec_exchange(exec_comm_t *comm, hr_arena_t *arena, const hr_strbuf_t *mine,
                          const hr_str_t **out_texts) {
  int world = comm->groups->endpoint->world_size;
  uint64_t size = mine->size, *sizes, longest = 0;
  char *padded, *all;
  hr_str_t *texts;
  size_t bytes;
  HR_TRY(hr_strbuf_finish(mine));
  HR_TRY(HR_NEW_ARRAY(arena, world, &sizes));
  HR_TRY(exec_comm_all_gather(comm, &size, sizeof size, sizes));
  for (int r = 0; r < world; r++) longest = sizes[r] > longest ? sizes[r] : longest;
  longest++; /* for the NUL */
  HR_TRY(hr_size_product((size_t)world, longest, &bytes));
  HR_TRY(HR_NEW_ARRAY(arena, longest, &padded));
  HR_TRY(HR_NEW_ARRAY(arena, bytes, &all));
  HR_TRY(HR_NEW_ARRAY(arena, world, &texts));
  if (size) memcpy(padded, mine->data, size);
  HR_TRY(exec_comm_all_gather(comm, padded, longest, all));
  for (int r = 0; r < world; r++) texts[r] = (hr_str_t){all + (size_t)r * longest, sizes[r]};
  *out_texts = texts;
  return NULL;
}

bool exec_next_field(hr_str_t *rest, hr_str_t *out_field) {
  size_t size = 0;
  if (!rest->size) return false;
  while (size < rest->size && rest->data[size] != '\t' && rest->data[size] != '\n') size++;
  *out_field = (hr_str_t){rest->data, size};
  size_t used = size < rest->size ? size + 1 : size;
  *rest = (hr_str_t){rest->data + used, rest->size - used};
  return true;
}

bool exec_next_number(hr_str_t *rest, int64_t *out_number) {
  hr_str_t field;
  if (!exec_next_field(rest, &field)) return false;
  *out_number = strtoll(field.data, NULL, 10);
  return true;
}
