/* Numbers of channels by key, and the list of host transfers. Keys are few: the list is searched
 * from its beginning. */
#include "tf/compile/xla_channels.h"

#include <string.h>

void xla_channels_init(xla_channels_t *channels) {
  memset(channels, 0, sizeof *channels);
  hr_arena_init(&channels->arena);
  hr_map_init(&channels->by_key);
}

void xla_channels_deinit(xla_channels_t *channels) {
  HR_VEC_FREE(&channels->host);
  hr_map_deinit(&channels->by_key);
  hr_arena_deinit(&channels->arena);
}

hr_status_t xla_channel(xla_channels_t *channels, hr_str_t key, int64_t *out_channel) {
  int64_t *number = hr_map_get(&channels->by_key, key);
  hr_str_t copy;
  if (!key.size) return hr_error(HR_INVALID, "a transfer without a key");
  if (!number) {
    HR_TRY(HR_NEW(&channels->arena, &number));
    HR_TRY(hr_arena_str(&channels->arena, key, &copy));
    *number = ++channels->count;
    HR_TRY(hr_map_put(&channels->by_key, copy, number, NULL));
  }
  *out_channel = *number;
  return NULL;
}

hr_status_t xla_host_channel(xla_channels_t *channels, hr_str_t key, int index,
                             const hlo_shape_t *shape, bool to_host, int64_t *out_channel) {
  xla_host_transfer_t transfer = {.index = index,
                                  .to_host = to_host,
                                  .dtype = shape->dtype,
                                  .rank = shape->rank,
                                  .channel = channels->count + 1};
  if (!key.size) return hr_error(HR_INVALID, "a host transfer without a key");
  for (size_t i = 0; i < channels->host.count; i++) {
    const xla_host_transfer_t *other = &channels->host.data[i];
    if (other->index == index && other->to_host == to_host && hr_str_equal(other->key, key))
      return hr_error(HR_INVALID, "the key %.*s of a host transfer is used twice",
                      HR_STR_ARGS(key));
  }
  for (int d = 0; d < shape->rank; d++) transfer.dims[d] = shape->dims[d];
  HR_TRY(hr_arena_str(&channels->arena, key, &transfer.key));
  HR_VEC_PUSH(&channels->host, transfer);
  *out_channel = ++channels->count;
  return NULL;
}
