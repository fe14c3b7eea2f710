/* The extension for shardings: how the parameters and results of a program are cut over its
 * devices, as serialized xla.OpSharding. JAX asks for it when a program on several devices does not
 * say how its results lie.
 *
 * Named shardings are written in the old form, a grid of tiles with the device of each:
 *
 *   [{"i"}, {}] on mesh i=2, j=2  ->  OTHER, tiles [2, 1, 2], devices 0 1 2 3, last dim replicated
 *   the same, unreduced={"j"}     ->  OTHER, tiles [2, 1, 2], devices 0 1 2 3, last dim unreduced
 *
 * The devices of a tile are found by asking for each device which part of an array of one element
 * per tile it holds. */
#include <string.h>

#include "base/mem.h"
#include "ir/shard.h"
#include "pjrt/program/pjrt_executable.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "proto/proto_wire.h"

/* Numbers of OpSharding.Type. */
enum { KIND_REPLICATED = 0, KIND_OTHER = 3, KIND_UNREDUCED = 6 };

/* A sharding as a grid of tiles. Each tile has `copies` x `summands` devices: `copies` devices with
 * equal data for each summand of a value that is still to be reduced over devices. */
typedef struct tiles {
  int rank;
  int64_t dims[HLO_MAX_RANK]; /* tiles per dimension */
  int64_t count, copies, summands;
} tiles_t;

/* Number of the summand that a device holds: its place on the unreduced axes. The axes are queried
 * as if they cut an array of one dimension. */
static hr_status_t summand_of(const hlo_sharding_t *sharding, const tiles_t *tiles, int64_t device,
                              int64_t *out_summand) {
  hlo_sharding_dim_t dim = {.axes = sharding->unreduced_axes};
  hlo_sharding_t cut = *sharding;
  int64_t size;
  cut.dim_count = 1;
  cut.dims = &dim;
  *out_summand = 0;
  if (tiles->summands == 1) return NULL;
  return hlo_shard_of(&cut, 1, &tiles->summands, device, out_summand, &size);
}

/* Places the devices by tile, the copies of a tile after each other, and the summands of a copy:
 * row-major over [tiles..., copies, summands]. */
static hr_status_t place_devices(const hlo_sharding_t *sharding, const tiles_t *tiles,
                                 hr_arena_t *arena, int64_t **out_devices) {
  int64_t *devices, *filled, starts[HLO_MAX_RANK], sizes[HLO_MAX_RANK], summand;
  int64_t lists = tiles->count * tiles->summands;
  HR_TRY(HR_NEW_ARRAY(arena, lists * tiles->copies, &devices));
  HR_TRY(HR_NEW_ARRAY(arena, lists, &filled));
  for (int64_t device = 0; device < lists * tiles->copies; device++) {
    HR_TRY(hlo_shard_of(sharding, tiles->rank, tiles->dims, device, starts, sizes));
    HR_TRY(summand_of(sharding, tiles, device, &summand));
    int64_t tile = 0;
    for (int d = 0; d < tiles->rank; d++) tile = tile * tiles->dims[d] + starts[d];
    int64_t *taken = &filled[tile * tiles->summands + summand];
    if (*taken == tiles->copies)
      return hr_error(HR_INTERNAL, "a sharding gives a tile to too many devices");
    devices[(tile * tiles->copies + (*taken)++) * tiles->summands + summand] = device;
  }
  *out_devices = devices;
  return NULL;
}

/* The kinds of the dimensions after those of the array; copies alone have a flag of their own. */
static void write_last_kinds(const tiles_t *tiles, hr_strbuf_t *text) {
  if (tiles->summands == 1) {
    proto_put_int(text, PROTO_sharding_replicate_on_last_tile_dim, tiles->copies > 1);
    return;
  }
  size_t kinds = proto_open(text, PROTO_sharding_last_tile_dims);
  if (tiles->copies > 1) proto_put_varint(text, KIND_REPLICATED);
  proto_put_varint(text, KIND_UNREDUCED);
  proto_close(text, kinds);
}

/* Dimensions of copies and of summands stand after those of the array. */
static hr_status_t write_tiles(const hlo_sharding_t *sharding, const tiles_t *tiles,
                               hr_arena_t *arena, hr_strbuf_t *text) {
  int64_t *devices;
  HR_TRY(place_devices(sharding, tiles, arena, &devices));
  proto_put_int(text, PROTO_sharding_type, KIND_OTHER);
  size_t dims = proto_open(text, PROTO_sharding_tile_assignment_dimensions);
  for (int d = 0; d < tiles->rank; d++) proto_put_varint(text, (uint64_t)tiles->dims[d]);
  if (tiles->copies > 1) proto_put_varint(text, (uint64_t)tiles->copies);
  if (tiles->summands > 1) proto_put_varint(text, (uint64_t)tiles->summands);
  proto_close(text, dims);
  size_t list = proto_open(text, PROTO_sharding_tile_assignment_devices);
  for (int64_t i = 0; i < tiles->count * tiles->copies * tiles->summands; i++)
    proto_put_varint(text, (uint64_t)devices[i]);
  proto_close(text, list);
  write_last_kinds(tiles, text);
  return hr_strbuf_finish(text);
}

/* Number of summands of a value that is still to be reduced; 1: it is not. */
static int64_t count_summands(const hlo_sharding_t *sharding) {
  hlo_sharding_dim_t dim;
  if (!sharding || !sharding->named) return 1;
  hlo_sharding_t cut = *sharding;
  dim = (hlo_sharding_dim_t){.axes = sharding->unreduced_axes};
  cut.dim_count = 1;
  cut.dims = &dim;
  return hlo_shard_parts(&cut, 0);
}

/* No sharding, or one tile for all: replicated. */
hr_status_t pjrt_sharding_write(const hlo_sharding_t *sharding, int rank, int64_t devices,
                                hr_arena_t *arena, hr_strbuf_t *text) {
  tiles_t tiles = {.rank = rank, .count = 1, .summands = count_summands(sharding)};
  for (int d = 0; d < rank; d++) {
    tiles.dims[d] = sharding ? hlo_shard_parts(sharding, d) : 1;
    tiles.count *= tiles.dims[d];
  }
  tiles.copies = devices / tiles.count / tiles.summands;
  if (tiles.count * tiles.summands > 1) return write_tiles(sharding, &tiles, arena, text);
  proto_put_present_int(text, PROTO_sharding_type, KIND_REPLICATED);
  return hr_strbuf_finish(text);
}

/* The bytes are kept in the arena, as the framework gets pointers. */
static hr_status_t add_sharding(pjrt_executable_t *executable, const hlo_sharding_t *sharding,
                                int rank, const char **out_text, size_t *out_size) {
  hr_strbuf_t text;
  hr_str_t copy = {"", 0};
  hr_strbuf_init(&text);
  hr_status_t st = pjrt_sharding_write(sharding, rank, executable->options.num_partitions,
                                       &executable->arena, &text);
  if (!st) st = hr_arena_str(&executable->arena, (hr_str_t){text.data, text.size}, &copy);
  *out_text = copy.data;
  *out_size = copy.size;
  hr_strbuf_deinit(&text);
  return st;
}

/* Parameters in tuples have no sharding of their own: they are reported as replicated. */
hr_status_t pjrt_executable_describe_shardings(pjrt_executable_t *executable) {
  const hlo_module_t *module = pjrt_executable_compiled(executable)->module;
  hr_arena_t *arena = &executable->arena;
  int params = executable->param_count, results = executable->result_count;
  HR_TRY(HR_NEW_ARRAY(arena, params, &executable->lists.param_shardings));
  HR_TRY(HR_NEW_ARRAY(arena, params, &executable->lists.param_sharding_sizes));
  HR_TRY(HR_NEW_ARRAY(arena, results, &executable->lists.result_shardings));
  HR_TRY(HR_NEW_ARRAY(arena, results, &executable->lists.result_sharding_sizes));
  for (int r = 0; r < results; r++)
    HR_TRY(add_sharding(executable, module->result_shardings ? module->result_shardings[r] : NULL,
                        executable->results[r].shape->rank, &executable->lists.result_shardings[r],
                        &executable->lists.result_sharding_sizes[r]));
  for (int p = 0; p < params; p++) {
    bool is_flat = p < (int)module->entry->params.count && module->result_shardings;
    const hlo_extra_t *extra = is_flat ? module->entry->params.data[p]->extra : NULL;
    HR_TRY(add_sharding(executable, extra ? extra->sharding : NULL, executable->params[p]->rank,
                        &executable->lists.param_shardings[p],
                        &executable->lists.param_sharding_sizes[p]));
  }
  return NULL;
}

/* --- the extension --- */

/* The list is the executable's; it is NULL without parameters. */
static hr_status_t pjrt_param_shardings(pjrt_texts_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->param_count ? executable->lists.param_shardings : NULL;
  args->sizes = executable->lists.param_sharding_sizes;
  args->count = (size_t)executable->param_count;
  return NULL;
}

static hr_status_t pjrt_result_shardings(pjrt_texts_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->result_count ? executable->lists.result_shardings : NULL;
  args->sizes = executable->lists.result_sharding_sizes;
  args->count = (size_t)executable->result_count;
  return NULL;
}

PJRT_ENTRY(Executable_ParameterShardings, param_shardings, pjrt_texts_args_t, sizes)
PJRT_ENTRY(Executable_OutputShardings, result_shardings, pjrt_texts_args_t, sizes)

pjrt_shardings_extension_t pjrt_shardings_extension = {
    .base = {sizeof pjrt_shardings_extension, PJRT_EXTENSION_SHARDINGS, NULL},
    .functions = {call_param_shardings, call_result_shardings}};
