/* Channels of one XlaCompiler. Programs that communicate must be compiled with the same table,
 * which maps a key to one channel number. Transfers to and from the host are listed with their key,
 * type and shape.
 * Owner:  keys are copied; the table lives until xla_channels_deinit.
 * Thread: one at a time.
 * Source: XlaCompiler::GetChannelHandle, SetDeviceToHostMetadata, SetHostToDeviceMetadata. */
#ifndef TF_XLA_CHANNELS_H
#define TF_XLA_CHANNELS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "ir/shape.h"

/* One array of a host transfer. */
typedef struct xla_host_transfer {
  hr_str_t key;
  int index; /* position among the arrays of the key */
  bool to_host;
  hr_dtype_t dtype;
  int rank;
  int64_t dims[HLO_MAX_RANK];
  int64_t channel;
} xla_host_transfer_t;

typedef struct xla_channels {
  hr_arena_t arena;
  hr_map_t by_key; /* number of the channel */
  int64_t count;   /* number of channels so far; they are numbered from 1 */
  HR_VEC(xla_host_transfer_t) host;
} xla_channels_t;

void xla_channels_init(xla_channels_t *channels);
void xla_channels_deinit(xla_channels_t *channels);
/* The channel of a key, a new one at its first use. Errors: INVALID for an empty key. */
hr_status_t xla_channel(xla_channels_t *channels, hr_str_t key, int64_t *out_channel);
/* A new channel for array `index` of a transfer with the host. Errors: INVALID if the key was used
 * for this array and direction before. */
hr_status_t xla_host_channel(xla_channels_t *channels, hr_str_t key, int index,
                             const hlo_shape_t *shape, bool to_host, int64_t *out_channel);

#endif
