/* Recording: notes are a list; steps are in the traces of clients (base/trace.h), and only steps
 * that began within the profile are written. The list of worlds has a mutex of its own, which is
 * held while waiting for executions: these take the mutex of the notes.
 *
 *   /device:CUSTOM:hlorun:0   line "XLA Modules": executions; "XLA Ops": steps; "worker k": shares
 *   /host:hlorun              compilations
 *
 * Times of the monotonic clock are converted to CLOCK_REALTIME by the difference of the clocks at
 * the start. */
#include "pjrt/extension/pjrt_profile.h"

#include <string.h>

#include "api/api_client.h"
#include "base/mem.h"
#include "base/vec.h"
#include "pjrt/extension/pjrt_xplane.h"

typedef struct note {
  const char *name;
  int device;
  uint64_t begin_ns, took_ns;
} note_t;

atomic_bool pjrt_profile_on;

static pthread_mutex_t worlds_mutex = PTHREAD_MUTEX_INITIALIZER; /* taken before the other */
static HR_VEC(pjrt_world_t *) worlds;                            /* worlds that trace */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  HR_VEC(note_t) notes;
  hr_arena_t arena; /* names */
  bool has_arena;
  uint64_t begin_ns, end_ns;
  uint64_t realtime_offset_ns; /* CLOCK_REALTIME minus the monotonic clock */
} profile;

void pjrt_profile_start(void) {
  pthread_mutex_lock(&mutex);
  if (profile.has_arena) hr_arena_deinit(&profile.arena);
  hr_arena_init(&profile.arena);
  profile.has_arena = true;
  profile.notes.count = 0;
  profile.begin_ns = hr_clock_ns();
  profile.end_ns = UINT64_MAX;
  profile.realtime_offset_ns = hr_clock_realtime_ns() - profile.begin_ns;
  atomic_store(&pjrt_profile_on, true);
  pthread_mutex_unlock(&mutex);
}

static void drain_worlds(void) {
  pthread_mutex_lock(&worlds_mutex);
  for (size_t w = 0; w < worlds.count; w++)
    for (int i = 0; i < worlds.data[w]->local_count; i++)
      pjrt_stream_drain(&worlds.data[w]->devices[i]->stream);
  pthread_mutex_unlock(&worlds_mutex);
}

void pjrt_profile_stop(void) {
  drain_worlds();
  pthread_mutex_lock(&mutex);
  atomic_store(&pjrt_profile_on, false);
  profile.end_ns = hr_clock_ns();
  pthread_mutex_unlock(&mutex);
}

/* With the mutex held. */
static hr_status_t add_note(int device, const char *name, uint64_t begin_ns) {
  const char *copy;
  uint64_t took_ns = hr_clock_ns() - begin_ns;
  HR_TRY(HR_VEC_RESERVE(&profile.notes, profile.notes.count + 1));
  HR_TRY(hr_arena_cstr(&profile.arena, hr_str_from(name), &copy));
  profile.notes.data[profile.notes.count++] = (note_t){copy, device, begin_ns, took_ns};
  return NULL;
}

void pjrt_profile_note(int device, const char *name, uint64_t begin_ns) {
  if (!pjrt_profile_is_on()) return;
  pthread_mutex_lock(&mutex);
  if (begin_ns >= profile.begin_ns) hr_status_release(add_note(device, name, begin_ns));
  pthread_mutex_unlock(&mutex);
}

/* A world that finds no place in the list is not shown. */
void pjrt_profile_add_world(pjrt_world_t *world) {
  pthread_mutex_lock(&worlds_mutex);
  hr_status_t st = HR_VEC_RESERVE(&worlds, worlds.count + 1);
  if (!st) worlds.data[worlds.count++] = world;
  hr_status_release(st);
  pthread_mutex_unlock(&worlds_mutex);
}

void pjrt_profile_remove_world(pjrt_world_t *world) {
  pthread_mutex_lock(&worlds_mutex);
  for (size_t w = 0; w < worlds.count; w++)
    if (worlds.data[w] == world) worlds.data[w] = worlds.data[--worlds.count];
  if (!worlds.count) HR_VEC_FREE(&worlds);
  pthread_mutex_unlock(&worlds_mutex);
}

/* --- writing --- */

static bool is_within(uint64_t begin_ns) {
  return begin_ns >= profile.begin_ns && begin_ns < profile.end_ns;
}

static hr_status_t add_notes(pjrt_xplane_t *plane, const char *line, int device) {
  hr_status_t st = NULL;
  pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < profile.notes.count && !st; i++) {
    const note_t *note = &profile.notes.data[i];
    if (note->device == device)
      st = pjrt_xplane_add(plane, line, note->name, note->begin_ns, note->took_ns);
  }
  pthread_mutex_unlock(&mutex);
  return st;
}

/* A step, or a worker's share of one. Stages of loading have no name of their own here. */
static hr_status_t add_event(pjrt_xplane_t *plane, const hr_trace_event_t *event) {
  char line[32] = "XLA Ops";
  if (event->span->kind == HR_TRACE_RUN || !is_within(event->begin_ns)) return NULL;
  if (event->of) snprintf(line, sizeof line, "worker %d", event->worker);
  return pjrt_xplane_add(plane, line, event->span->name, event->begin_ns, event->took_ns);
}

/* Nothing may run on the client during the call. */
static hr_status_t add_steps(pjrt_xplane_t *plane, hlorun_client_t *client) {
  const hr_trace_t *trace = client->trace;
  hr_status_t st = NULL;
  api_client_lock_fair(client);
  uint64_t kept = trace->added < trace->mask + 1 ? trace->added : trace->mask + 1;
  for (uint64_t i = trace->added - kept; i < trace->added && !st; i++)
    st = add_event(plane, &trace->ring[i & trace->mask]);
  api_client_unlock_fair(client);
  return st;
}

/* With the mutex of the worlds held. */
static hr_status_t add_worlds(pjrt_xplane_t *plane, int device) {
  for (size_t w = 0; w < worlds.count; w++)
    for (int i = 0; i < worlds.data[w]->local_count; i++)
      if (worlds.data[w]->devices[i]->id == device)
        HR_TRY(add_steps(plane, worlds.data[w]->clients[i]));
  return NULL;
}

/* The highest id of a device that something is known of; -1: none. */
static int last_device(void) {
  int last = -1;
  pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < profile.notes.count; i++)
    if (profile.notes.data[i].device > last) last = profile.notes.data[i].device;
  pthread_mutex_unlock(&mutex);
  return last;
}

static hr_status_t write_plane(hr_strbuf_t *text, int device) {
  char name[64] = "/host:hlorun";
  pjrt_xplane_t plane;
  if (device != PJRT_PROFILE_HOST) snprintf(name, sizeof name, "/device:CUSTOM:hlorun:%d", device);
  pjrt_xplane_init(&plane, profile.realtime_offset_ns);
  hr_status_t st = device == PJRT_PROFILE_HOST ? add_notes(&plane, "compilation", device)
                                               : add_notes(&plane, "XLA Modules", device);
  if (!st && device != PJRT_PROFILE_HOST) st = add_worlds(&plane, device);
  if (!st) st = pjrt_xplane_write(&plane, name, device + 1, text);
  pjrt_xplane_deinit(&plane);
  return st;
}

hr_status_t pjrt_profile_write(hr_strbuf_t *text) {
  hr_status_t st = NULL;
  pthread_mutex_lock(&worlds_mutex);
  int last = last_device();
  for (int device = PJRT_PROFILE_HOST; device <= last && !st; device++)
    st = write_plane(text, device);
  pthread_mutex_unlock(&worlds_mutex);
  return st ? st : hr_strbuf_finish(text);
}
