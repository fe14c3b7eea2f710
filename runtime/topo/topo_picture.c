/* --print-topology=FILE.svg: the machine as nested boxes, after hwloc's tree, with cores in the
 * colours of the ranks whose workers run there.
 *
 *   +- machine ----------------------+
 *   | +- package 0 ----------------+ |
 *   | | +- L3 -------------------+ | |
 *   | | | [core 0] [core 1] ...  | | |
 *   | | +------------------------+ | |
 *   | +----------------------------+ |
 *   +--------------------------------+
 *
 * Boxes within a box lie side by side, and in a new row where one has no more room. Sizes are found
 * from the inside out, again at each level: cost objects times depth. Processors of a core and
 * devices are no boxes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "topo/topo_parts.h"

#define CORE_WIDTH 96
#define CORE_HEIGHT 52
#define HEAD 22      /* height of a box's title */
#define GAP 8        /* distance between boxes, and between a box and its contents */
#define ROW_MAX 1000 /* width at which a new row begins */
#define FREE "#f4f4f4"

typedef struct box {
  int x, y, width, height;
} box_t;

/* Ranks that have a core: first and last; first > last: none. */
typedef struct holders {
  int first, last;
} holders_t;

typedef struct picture {
  hr_strbuf_t *text;
  hwloc_obj_type_t core_type;
  hwloc_const_cpuset_t allowed;
  holders_t *holders; /* by the core's logical index */
} picture_t;

static const char *const colours[] = {"#a6cee3", "#fdbf6f", "#b2df8a", "#fb9a99",
                                      "#cab2d6", "#ffff99", "#9ad9d3", "#e0c3a5"};
#define COLOUR_COUNT ((int)(sizeof colours / sizeof *colours))

/* --- sizes --- */

static void measure(const picture_t *picture, hwloc_obj_t object, int *out_width, int *out_height);

/* Positions of children: `visit` gets each child with its box within the parent. */
typedef void (*visit_fn)(picture_t *picture, hwloc_obj_t child, box_t box);

/* Places the children from (x, y) on; *out_extent is the corner beyond all of them. */
static void place_children(const picture_t *picture, hwloc_obj_t object, int x, int y,
                           visit_fn visit, box_t *out_extent) {
  box_t at = {x + GAP, y + HEAD, 0, 0};
  int bottom = at.y, right = at.x;
  for (hwloc_obj_t child = object->first_child; child; child = child->next_sibling) {
    measure(picture, child, &at.width, &at.height);
    if (at.x > x + GAP && at.x + at.width - x > ROW_MAX) {
      at.x = x + GAP;
      at.y = bottom;
    }
    if (visit) visit((picture_t *)picture, child, at);
    at.x += at.width + GAP;
    if (at.x > right) right = at.x;
    if (at.y + at.height + GAP > bottom) bottom = at.y + at.height + GAP;
  }
  *out_extent = (box_t){x, y, right - x, bottom - y};
}

static void measure(const picture_t *picture, hwloc_obj_t object, int *out_width, int *out_height) {
  box_t extent;
  *out_width = CORE_WIDTH;
  *out_height = CORE_HEIGHT;
  if (object->type == picture->core_type || !object->first_child) return;
  place_children(picture, object, 0, 0, NULL, &extent);
  if (extent.width > *out_width) *out_width = extent.width;
  *out_height = extent.height;
}

/* --- drawing --- */

static void add_box(hr_strbuf_t *text, box_t box, const char *colour) {
  hr_strbuf_printf(text,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"%s\"/>\n",
                   box.x, box.y, box.width, box.height, colour);
}

static void begin_words(hr_strbuf_t *text, box_t box, int line) {
  hr_strbuf_printf(text, "<text x=\"%d\" y=\"%d\">", box.x + GAP, box.y + 15 + line * 15);
}

static void end_words(hr_strbuf_t *text) { hr_strbuf_add_str(text, "</text>\n"); }

static void add_memory(hr_strbuf_t *text, hwloc_obj_t object) {
  for (hwloc_obj_t node = object->memory_first_child; node; node = node->next_sibling)
    if (node->type == HWLOC_OBJ_NUMANODE)
      hr_strbuf_printf(text, ", NUMA node %u: %.1f GiB", node->os_index,
                       (double)node->attr->numanode.local_memory / (1 << 30));
}

static void add_cache(hr_strbuf_t *text, hwloc_obj_t cache) {
  unsigned long kib = (unsigned long)(cache->attr->cache.size >> 10);
  if (kib >= 1024 && kib % 1024 == 0)
    hr_strbuf_printf(text, "L%u %lu MiB", cache->attr->cache.depth, kib >> 10);
  else
    hr_strbuf_printf(text, "L%u %lu KiB", cache->attr->cache.depth, kib);
}

/* A host's name may contain any character; those with a meaning in SVG are omitted. */
static void add_host(hr_strbuf_t *text) {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  for (const char *at = host; *at; at++)
    if (!strchr("<>&\"", *at) && (unsigned char)*at > ' ') hr_strbuf_add_char(text, *at);
}

static void add_title(hr_strbuf_t *text, hwloc_obj_t object) {
  if (hwloc_obj_type_is_cache(object->type)) {
    add_cache(text, object);
  } else if (object->type == HWLOC_OBJ_MACHINE) {
    hr_strbuf_add_str(text, "machine ");
    add_host(text);
  } else {
    hr_strbuf_printf(text, "%s %u", hwloc_obj_type_string(object->type), object->logical_index);
  }
  add_memory(text, object);
}

/* "rank 2", "ranks 0 to 3", "no rank", or that the core may not be used. */
static void add_holders(const picture_t *picture, hwloc_obj_t core) {
  holders_t who = picture->holders[core->logical_index];
  if (!hwloc_bitmap_intersects(core->cpuset, picture->allowed))
    hr_strbuf_add_str(picture->text, "not allowed");
  else if (who.first > who.last)
    hr_strbuf_add_str(picture->text, "no rank");
  else if (who.first == who.last)
    hr_strbuf_printf(picture->text, "rank %d", who.first);
  else
    hr_strbuf_printf(picture->text, "ranks %d to %d", who.first, who.last);
}

static void draw_core(picture_t *picture, hwloc_obj_t core, box_t box) {
  holders_t who = picture->holders[core->logical_index];
  bool is_held = who.first <= who.last;
  char *processors = NULL;
  add_box(picture->text, box, is_held ? colours[who.first % COLOUR_COUNT] : FREE);
  begin_words(picture->text, box, 0);
  hr_strbuf_printf(picture->text, "core %u", core->logical_index);
  end_words(picture->text);
  begin_words(picture->text, box, 1);
  hwloc_bitmap_list_asprintf(&processors, core->cpuset);
  hr_strbuf_printf(picture->text, "CPU %s", processors ? processors : "?");
  free(processors);
  end_words(picture->text);
  begin_words(picture->text, box, 2);
  add_holders(picture, core);
  end_words(picture->text);
}

static void draw(picture_t *picture, hwloc_obj_t object, box_t box) {
  box_t extent;
  if (object->type == picture->core_type) {
    draw_core(picture, object, box);
    return;
  }
  add_box(picture->text, box, "#fff");
  begin_words(picture->text, box, 0);
  add_title(picture->text, object);
  end_words(picture->text);
  place_children(picture, object, box.x, box.y, draw, &extent);
}

static void draw_machine(picture_t *picture, hwloc_topology_t topology) {
  box_t box = {GAP, GAP, 0, 0};
  hwloc_obj_t machine = hwloc_get_root_obj(topology);
  measure(picture, machine, &box.width, &box.height);
  int width = box.width + 2 * GAP < 420 ? 420 : box.width + 2 * GAP;
  int height = box.height + 2 * GAP;
  box.width = width - 2 * GAP;
  hr_strbuf_printf(picture->text,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n<style>text { font: 12px sans-serif; fill: #222 } "
                   "rect { stroke: #888 }</style>\n",
                   width, height, width, height);
  draw(picture, machine, box);
  hr_strbuf_add_str(picture->text, "</svg>\n");
}

/* --- ranks of the cores --- */

/* Ranks are noted in ascending order. */
static void note_share(const topo_share_t *share, int rank, holders_t *holders) {
  for (int i = 0; i < share->core_count; i++) {
    holders_t *core = &holders[share->cores[i]->logical_index];
    if (core->first > rank) core->first = rank;
    core->last = rank;
  }
}

static hr_status_t draw_with(hr_strbuf_t *text, const topo_share_t *first, int local_size,
                             holders_t *holders) {
  picture_t picture = {text, topo_core_type(first->topology), first->allowed, holders};
  note_share(first, 0, holders);
  for (int rank = 1; rank < local_size; rank++) {
    topo_share_t *share;
    HR_TRY(topo_share_examine(true, rank, local_size, &share));
    note_share(share, rank, holders);
    topo_share_destroy(share);
  }
  draw_machine(&picture, first->topology);
  return NULL;
}

hr_status_t topo_draw_shares(hr_strbuf_t *text, int local_size) {
  topo_share_t *first;
  void *memory;
  HR_TRY(topo_share_examine(true, 0, local_size, &first));
  int cores = hwloc_get_nbobjs_by_type(first->topology, topo_core_type(first->topology));
  hr_status_t st = hr_alloc((size_t)cores * sizeof(holders_t), &memory);
  if (!st) {
    holders_t *holders = memory;
    for (int i = 0; i < cores; i++) holders[i] = (holders_t){local_size, -1};
    st = draw_with(text, first, local_size, holders);
    hr_free(holders);
  }
  topo_share_destroy(first);
  return st;
}
