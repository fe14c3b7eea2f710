/* Worlds of devices. One device of this process is a client without peers; several are a world of
 * threads; under a launcher all devices together are the world of its processes. A client's
 * workers are started by the first program that is planned for more than one. */
#include "pjrt/pjrt_world.h"

#include <string.h>

#include "base/mem.h"

/* A world that could not be opened has no clients yet: its local_count is still 0. */
static void destroy_world(pjrt_world_t *world) {
  for (int i = 0; i < world->local_count; i++) hlorun_client_release(world->clients[i], 0);
  hr_free(world);
}

void pjrt_worlds_destroy(pjrt_client_t *client) {
  for (pjrt_world_t *next, *world = client->worlds; world; world = next) {
    next = world->next;
    destroy_world(world);
  }
  client->worlds = NULL;
}

/* One block: the world, its clients, its devices, its ids. */
static hr_status_t alloc_world(int count, pjrt_world_t **out_world) {
  void *memory;
  size_t each = sizeof(hlorun_client_t *) + sizeof(pjrt_device_t *) + sizeof(int);
  HR_TRY(hr_alloc_zeroed(sizeof(pjrt_world_t) + (size_t)count * each, &memory));
  pjrt_world_t *world = memory;
  world->count = count;
  world->clients = (hlorun_client_t **)(world + 1);
  world->devices = (pjrt_device_t **)(world->clients + count);
  world->ids = (int *)(world->devices + count);
  *out_world = world;
  return NULL;
}

/* A program names each device once at most. */
static hr_status_t check_ids(pjrt_client_t *client, int count, const int *ids) {
  pjrt_device_t *device;
  if (count < 1 || count > client->device_count)
    return hr_error(HR_USAGE, "a program for %d devices, and there are %d: set HLORUN_DEVICES=%d",
                    count, client->device_count, count);
  for (int i = 0; i < count; i++) {
    HR_TRY(pjrt_find_device(client, ids[i], &device));
    for (int k = 0; k < i; k++)
      if (ids[k] == ids[i])
        return hr_error(HR_USAGE, "device %d is twice in a device assignment", ids[i]);
  }
  return NULL;
}

/* All devices of all processes, in order. */
static bool is_everything(const pjrt_client_t *client, int count, const int *ids) {
  if (count != client->device_count) return false;
  for (int i = 0; i < count; i++)
    if (ids[i] != i) return false;
  return true;
}

/* Fills world->clients: one client of this process under a launcher, else one per device.
 * Threads are not bound to processors: the process has others, of Python and JAX. */
static hr_status_t open_clients(pjrt_client_t *client, pjrt_world_t *world) {
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.threads = client->threads;
  options.bind = HLORUN_BIND_NONE;
  if (client->process_count > 1 && world->count > 1) {
    if (!is_everything(client, world->count, world->ids))
      return hr_error(HR_UNSUPPORTED,
                      "a program on %d of the %d devices of %d processes: want one device of this "
                      "process, or all devices in order",
                      world->count, client->device_count, client->process_count);
    return hlorun_client_create(&options, world->clients);
  }
  options.world = world->count > 1 ? HLORUN_WORLD_THREADS : HLORUN_WORLD_SINGLE;
  if (world->count == 1) return hlorun_client_create(&options, world->clients);
  return hlorun_clients_create_local(&options, world->count, world->clients);
}

/* The caller holds the client's mutex. */
static hr_status_t create_world(pjrt_client_t *client, int count, const int *ids,
                                pjrt_world_t **out_world) {
  pjrt_world_t *world;
  HR_TRY(check_ids(client, count, ids));
  HR_TRY(alloc_world(count, &world));
  memcpy(world->ids, ids, (size_t)count * sizeof *ids);
  int locals = 0;
  for (int i = 0; i < count; i++)
    if (client->device_list[ids[i]]->is_local)
      world->devices[locals++] = client->device_list[ids[i]];
  hr_status_t st = NULL;
  if (!locals)
    st = hr_error(HR_USAGE, "a program on device %d, which is of another process", ids[0]);
  if (!st) st = open_clients(client, world);
  if (!st) world->local_count = locals;
  if (st)
    destroy_world(world);
  else
    *out_world = world;
  return st;
}

/* The order of the devices counts: it is the order of the ranks. */
static bool fits(const pjrt_world_t *world, int count, const int *ids) {
  return world->count == count && !atomic_load(&world->is_broken) &&
         memcmp(world->ids, ids, (size_t)count * sizeof *ids) == 0;
}

/* A world is opened under the lock, so that it is opened once. */
hr_status_t pjrt_world_find(pjrt_client_t *client, int count, const int *ids,
                            pjrt_world_t **out_world) {
  pthread_mutex_lock(&client->mutex);
  pjrt_world_t *world = client->worlds;
  while (world && !fits(world, count, ids)) world = world->next;
  hr_status_t st = NULL;
  if (!world) {
    st = create_world(client, count, ids, &world);
    if (!st) {
      world->next = client->worlds;
      client->worlds = world;
    }
  }
  pthread_mutex_unlock(&client->mutex);
  if (!st) *out_world = world;
  return st;
}
