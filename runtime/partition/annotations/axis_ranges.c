/* Ranges of axes. Each axis is split into prime parts, which must have a constant stride in device
 * numbers; parts that continue each other are merged again. Device numbers are positions in the
 * order in which most meshes are regular: that of the numbers themselves, or that of one mesh.
 * Cost: devices times sources, for each order that is tried. */
#include "partition/annotations/axis_ranges.h"

#include <string.h>

/* Trial division: sizes of axes are below 2^20. */
int64_t spmd_smallest_prime(int64_t n) {
  for (int64_t p = 2; p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}

int64_t spmd_source_device(const spmd_mesh_source_t *source, int64_t position) {
  return source->device_ids ? source->device_ids[position] : position;
}

/* Place of the device at a position of the source; `places`: by device, NULL: the device number. */
static int64_t place_at(const spmd_mesh_source_t *source, const int64_t *places, int64_t position) {
  int64_t device = spmd_source_device(source, position);
  return places ? places[device] : device;
}

/* Splits the axes into prime parts, each with the stride of its first step: ["x"=4, "y"=3] over
 * devices in order has the parts (x, stride 6, size 2), (x, 3, 2), (y, 1, 3). is_regular checks the
 * other steps. */
static void split_axes(const spmd_mesh_source_t *source, const int64_t *places,
                       spmd_axis_pieces_t *pieces) {
  int64_t rest = source->device_count, first = place_at(source, places, 0);
  pieces->count = 0;
  for (int a = 0; a < source->axis_count; a++)
    for (int64_t left = source->axis_sizes[a]; left > 1 && pieces->count < SPMD_MAX_PIECES;) {
      int64_t prime = spmd_smallest_prime(left);
      left /= prime;
      rest /= prime;
      pieces->items[pieces->count++] =
          (spmd_axis_piece_t){a, place_at(source, places, rest) - first, prime};
    }
}

/* True if each device number is the sum of its coordinates times the strides. */
static bool is_regular(const spmd_mesh_source_t *source, const int64_t *places,
                       const spmd_axis_pieces_t *pieces) {
  for (int64_t p = 0; p < source->device_count; p++) {
    int64_t device = 0, rest = p;
    for (int i = pieces->count; i-- > 0;) {
      device += rest % pieces->items[i].size * pieces->items[i].stride;
      rest /= pieces->items[i].size;
    }
    if (device != place_at(source, places, p)) return false;
  }
  return true;
}

/* Joins parts of one axis that continue each other: (x, 6, 2), (x, 3, 2) is (x, 3, 4). */
static void merge_pieces(spmd_axis_pieces_t *pieces) {
  int count = 0;
  for (int i = 0; i < pieces->count; i++) {
    spmd_axis_piece_t piece = pieces->items[i];
    spmd_axis_piece_t *last = count ? &pieces->items[count - 1] : NULL;
    if (last && last->axis == piece.axis && last->stride == piece.stride * piece.size) {
      last->size *= piece.size;
      last->stride = piece.stride;
    } else {
      pieces->items[count++] = piece;
    }
  }
  pieces->count = count;
}

/* Inserts a bound in order. False, and nothing is changed, if it does not divide the next one or is
 * not a multiple of the one before: 6 fits between 2 and 12, not between 4 and 12. */
static bool add_cut(spmd_cuts_t *cuts, int64_t cut) {
  int at = cuts->count;
  while (at > 0 && cuts->items[at - 1] > cut) at--;
  if (at > 0 && cuts->items[at - 1] == cut) return true;
  bool fits = cut > 0 && (!at || cut % cuts->items[at - 1] == 0) &&
              (at == cuts->count || cuts->items[at] % cut == 0) && cuts->count < SPMD_MAX_PIECES;
  if (!fits) return false;
  memmove(&cuts->items[at + 1], &cuts->items[at], (size_t)(cuts->count - at) * sizeof cut);
  cuts->items[at] = cut;
  cuts->count++;
  return true;
}

bool spmd_axis_pieces_of(const spmd_mesh_source_t *source, const int64_t *places,
                         spmd_axis_pieces_t *pieces) {
  split_axes(source, places, pieces);
  if (!is_regular(source, places, pieces)) return false;
  merge_pieces(pieces);
  return true;
}

/* Adds the cuts of a source; all or none of them. */
static bool add_cuts(const spmd_mesh_source_t *source, const int64_t *places, spmd_cuts_t *cuts) {
  spmd_cuts_t with = *cuts;
  spmd_axis_pieces_t pieces;
  bool fits = spmd_axis_pieces_of(source, places, &pieces);
  for (int k = 0; k < pieces.count && fits; k++)
    fits = add_cut(&with, pieces.items[k].stride) &&
           add_cut(&with, pieces.items[k].stride * pieces.items[k].size);
  if (fits) *cuts = with;
  return fits;
}

/* If two sources exclude each other, the later one in the program is foreign. */
int spmd_collect_cuts(const spmd_meshes_t *meshes, int64_t devices, const int64_t *places,
                      spmd_cuts_t *cuts) {
  int foreign = 0;
  cuts->count = 0;
  add_cut(cuts, 1);
  add_cut(cuts, devices);
  for (size_t i = 0; i < meshes->sources.count; i++) {
    spmd_mesh_source_t *source = &meshes->sources.data[i];
    source->is_foreign = source->device_count > 1 && !add_cuts(source, places, cuts);
    foreign += source->is_foreign;
  }
  return foreign;
}

/* --- the order of devices --- */

#define MAX_ORDERS 8 /* most orders tried */

/* Positions by device, from devices by position. */
static hr_status_t invert(hr_arena_t *arena, const int64_t *ids, int64_t count,
                          const int64_t **out_places) {
  int64_t *places;
  HR_TRY(HR_NEW_ARRAY(arena, count, &places));
  for (int64_t p = 0; p < count; p++) places[ids[p]] = p;
  *out_places = places;
  return NULL;
}

/* Tries device numbers as they are, then the list of each source that has one. */
hr_status_t spmd_choose_order(const spmd_meshes_t *meshes, int64_t devices, const int64_t **out_ids,
                              const int64_t **out_places) {
  spmd_cuts_t cuts;
  int least = spmd_collect_cuts(meshes, devices, NULL, &cuts), tried = 0;
  *out_ids = *out_places = NULL;
  for (size_t i = 0; i < meshes->sources.count && least && tried < MAX_ORDERS; i++) {
    const spmd_mesh_source_t *source = &meshes->sources.data[i];
    const int64_t *places;
    if (source->device_count < 2 || !source->device_ids) continue;
    HR_TRY(invert(meshes->arena, source->device_ids, devices, &places));
    int foreign = spmd_collect_cuts(meshes, devices, places, &cuts);
    tried++;
    if (foreign >= least) continue;
    least = foreign;
    *out_ids = source->device_ids;
    *out_places = places;
  }
  return NULL;
}
