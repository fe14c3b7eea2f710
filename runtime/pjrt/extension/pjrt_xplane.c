/* Field numbers are those of xplane.proto. Events are encoded as they are added. */
#include "pjrt/extension/pjrt_xplane.h"

#include <string.h>

#include "base/clock.h"
#include "proto/proto_wire.h"

enum { XSPACE_PLANES = 1 };
enum { XPLANE_ID = 1, XPLANE_NAME, XPLANE_LINES, XPLANE_EVENT_METADATA };
enum { XLINE_ID = 1, XLINE_NAME, XLINE_TIMESTAMP_NS, XLINE_EVENTS };
enum { XEVENT_METADATA_ID = 1, XEVENT_OFFSET_PS, XEVENT_DURATION_PS };
enum { XMETADATA_ID = 1, XMETADATA_NAME };
enum { MAP_KEY = 1, MAP_VALUE };

#define PS_PER_NS 1000

void pjrt_xplane_init(pjrt_xplane_t *plane, uint64_t realtime_offset_ns) {
  *plane = (pjrt_xplane_t){.realtime_offset_ns = realtime_offset_ns};
  hr_arena_init(&plane->arena);
  hr_map_init(&plane->numbers);
}

void pjrt_xplane_deinit(pjrt_xplane_t *plane) {
  for (size_t i = 0; i < plane->lines.count; i++) hr_strbuf_deinit(&plane->lines.data[i].events);
  HR_VEC_FREE(&plane->lines);
  HR_VEC_FREE(&plane->names);
  hr_map_deinit(&plane->numbers);
  hr_arena_deinit(&plane->arena);
}

/* The number of a name. The map holds it as a pointer that is never dereferenced. */
static hr_status_t find_number(pjrt_xplane_t *plane, const char *name, int64_t *out_number) {
  hr_str_t key = hr_str_from(name);
  void *found = hr_map_get(&plane->numbers, key);
  if (!found) {
    HR_TRY(HR_VEC_RESERVE(&plane->names, plane->names.count + 1));
    plane->names.data[plane->names.count++] = name;
    found = (void *)(uintptr_t)plane->names.count;
    HR_TRY(hr_map_put(&plane->numbers, key, found, NULL));
  }
  *out_number = (int64_t)(uintptr_t)found;
  return NULL;
}

static hr_status_t find_line(pjrt_xplane_t *plane, const char *name, uint64_t begin_ns,
                             pjrt_xline_t **out_line) {
  for (size_t i = 0; i < plane->lines.count; i++)
    if (!strcmp(plane->lines.data[i].name, name)) {
      *out_line = &plane->lines.data[i];
      return NULL;
    }
  const char *copy;
  HR_TRY(hr_arena_cstr(&plane->arena, hr_str_from(name), &copy));
  HR_TRY(HR_VEC_RESERVE(&plane->lines, plane->lines.count + 1));
  pjrt_xline_t *line = &plane->lines.data[plane->lines.count++];
  *line = (pjrt_xline_t){.name = copy, .begin_ns = begin_ns};
  hr_strbuf_init(&line->events);
  *out_line = line;
  return NULL;
}

hr_status_t pjrt_xplane_add(pjrt_xplane_t *plane, const char *line_name, const char *name,
                            uint64_t begin_ns, uint64_t took_ns) {
  pjrt_xline_t *line;
  int64_t number;
  HR_TRY(find_line(plane, line_name, begin_ns, &line));
  HR_TRY(find_number(plane, name, &number));
  size_t event = proto_open(&line->events, XLINE_EVENTS);
  proto_put_int(&line->events, XEVENT_METADATA_ID, number);
  proto_put_int(&line->events, XEVENT_OFFSET_PS, (int64_t)(begin_ns - line->begin_ns) * PS_PER_NS);
  proto_put_int(&line->events, XEVENT_DURATION_PS, (int64_t)took_ns * PS_PER_NS);
  proto_close(&line->events, event);
  return hr_strbuf_finish(&line->events);
}

static void write_line(const pjrt_xplane_t *plane, size_t i, hr_strbuf_t *text) {
  const pjrt_xline_t *line = &plane->lines.data[i];
  size_t opened = proto_open(text, XPLANE_LINES);
  proto_put_int(text, XLINE_ID, (int64_t)i + 1);
  proto_put_bytes(text, XLINE_NAME, hr_str_from(line->name));
  proto_put_int(text, XLINE_TIMESTAMP_NS, (int64_t)(plane->realtime_offset_ns + line->begin_ns));
  hr_strbuf_add(text, line->events.data, line->events.size);
  proto_close(text, opened);
}

/* An entry of the map from numbers to names. */
static void write_name(const pjrt_xplane_t *plane, size_t i, hr_strbuf_t *text) {
  size_t entry = proto_open(text, XPLANE_EVENT_METADATA);
  proto_put_int(text, MAP_KEY, (int64_t)i + 1);
  size_t metadata = proto_open(text, MAP_VALUE);
  proto_put_int(text, XMETADATA_ID, (int64_t)i + 1);
  proto_put_bytes(text, XMETADATA_NAME, hr_str_from(plane->names.data[i]));
  proto_close(text, metadata);
  proto_close(text, entry);
}

hr_status_t pjrt_xplane_write(const pjrt_xplane_t *plane, const char *name, int64_t id,
                              hr_strbuf_t *text) {
  if (!plane->lines.count) return NULL;
  size_t opened = proto_open(text, XSPACE_PLANES);
  proto_put_int(text, XPLANE_ID, id);
  proto_put_bytes(text, XPLANE_NAME, hr_str_from(name));
  for (size_t i = 0; i < plane->lines.count; i++) write_line(plane, i, text);
  for (size_t i = 0; i < plane->names.count; i++) write_name(plane, i, text);
  proto_close(text, opened);
  return hr_strbuf_finish(text);
}
