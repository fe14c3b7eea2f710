/* Worlds of devices. One device of this process is a client without peers; several are a world of
 * threads. With devices of other processes they are a part of the world of the launcher's
 * processes, or that world itself. A program for devices that are all of other processes is only
 * compiled, as if they were of this one. A client's workers are started by the first program that
 * is planned for more than one. */
#include "pjrt/client/pjrt_world.h"

#include <string.h>

#include "api/api_client.h"
#include "base/mem.h"
#include "pjrt/extension/pjrt_profile.h"

/* A world that could not be opened has no clients yet: its client_count is still 0. */
static void destroy_world(pjrt_world_t *world) {
  if (world->is_traced) pjrt_profile_remove_world(world);
  for (int i = 0; i < world->client_count; i++) hlorun_client_release(world->clients[i], 0);
  pjrt_error_free(world->cause);
  hr_free(world);
}

void pjrt_worlds_destroy(pjrt_client_t *client) {
  for (pjrt_world_t *next, *world = client->worlds; world; world = next) {
    next = world->next;
    destroy_world(world);
  }
  client->worlds = NULL;
  hlorun_client_release(client->whole, 0);
}

/* Allocates one block: the world, its clients, its devices, its ids. */
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

/* All processes of a launcher, in order, each with one device. */
static bool is_whole(const pjrt_client_t *client, int count, const int *ids) {
  if (!client->whole || count != client->process_count || client->local_count != 1) return false;
  for (int i = 0; i < count; i++)
    if (ids[i] != i) return false;
  return true;
}

/* Threads are not bound to processors: the process has others, of Python and JAX. Denormal numbers
 * are zeros, as on JAX's CPU backend. */
static hlorun_client_options_t client_options(const pjrt_client_t *client, hlorun_world_t world) {
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.threads = client->threads;
  options.bind = HLORUN_BIND_NONE;
  options.flush_denormals = true;
  options.world = world;
  return options;
}

hr_status_t pjrt_world_connect(pjrt_client_t *client) {
  hlorun_client_options_t options = client_options(client, HLORUN_WORLD_AUTO);
  return client->process_count == 1 ? NULL : hlorun_client_create(&options, &client->whole);
}

/* Devices share the workers of the first of them. A world that traces has workers that trace. */
static hr_status_t open_single(pjrt_client_t *client, pjrt_world_t *world,
                               hlorun_client_options_t *options) {
  options->threads = client->single_threads;
  HR_TRY(hlorun_client_create(options, world->clients));
  if (world->is_traced) return NULL;
  if (client->pool_owner)
    api_client_share_workers(world->clients[0], client->pool_owner);
  else
    client->pool_owner = world->clients[0];
  return NULL;
}

/* Fills world->clients, one for each of its devices that is of this process, or for all if none
 * is. */
static hr_status_t open_clients(pjrt_client_t *client, pjrt_world_t *world, int locals) {
  hlorun_client_options_t options = client_options(client, HLORUN_WORLD_SINGLE);
  options.trace = world->is_traced;
  if (is_whole(client, world->count, world->ids)) {
    api_client_retain(client->whole);
    world->clients[0] = client->whole;
    return NULL;
  }
  if (locals && world->count > locals)
    return hlorun_clients_create_part(client->whole, client->local_count, world->count, world->ids,
                                      world->clients);
  if (world->count == 1) return open_single(client, world, &options);
  options.world = HLORUN_WORLD_THREADS;
  return hlorun_clients_create_local(&options, world->count, world->clients);
}

/* The caller holds the client's mutex. */
static hr_status_t create_world(pjrt_client_t *client, int count, const int *ids, bool is_traced,
                                pjrt_world_t **out_world) {
  pjrt_world_t *world;
  HR_TRY(check_ids(client, count, ids));
  HR_TRY(alloc_world(count, &world));
  world->is_traced = is_traced;
  memcpy(world->ids, ids, (size_t)count * sizeof *ids);
  int locals = 0;
  for (int i = 0; i < count; i++)
    if (client->device_list[ids[i]]->is_local)
      world->devices[locals++] = client->device_list[ids[i]];
  hr_status_t st = open_clients(client, world, locals);
  if (!st) {
    world->local_count = locals;
    world->client_count = locals ? locals : count;
    *out_world = world;
  } else {
    destroy_world(world);
  }
  if (!st && is_traced) pjrt_profile_add_world(world);
  return st;
}

/* The order of the devices counts: it is the order of the ranks. */
static bool fits(const pjrt_world_t *world, int count, const int *ids, bool is_traced) {
  return world->count == count && world->is_traced == is_traced &&
         !atomic_load(&world->is_broken) &&
         memcmp(world->ids, ids, (size_t)count * sizeof *ids) == 0;
}

/* A world is opened under the lock, so that it is opened once. */
hr_status_t pjrt_world_find(pjrt_client_t *client, int count, const int *ids, bool is_traced,
                            pjrt_world_t **out_world) {
  pthread_mutex_lock(&client->mutex);
  pjrt_world_t *world = client->worlds;
  while (world && !fits(world, count, ids, is_traced)) world = world->next;
  hr_status_t st = NULL;
  if (!world) {
    st = create_world(client, count, ids, is_traced, &world);
    if (!st) {
      world->next = client->worlds;
      client->worlds = world;
    }
  }
  pthread_mutex_unlock(&client->mutex);
  if (!st) *out_world = world;
  return st;
}
