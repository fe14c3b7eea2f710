/* Processes of jax.distributed.initialize(address, count, index) that neither hlorun -n nor an MPI
 * has started. They have JAX's key-value store: process 0 writes there where the memory is that it
 * makes for all, the others open it, and each writes how it went. All read all of that, so that no
 * process waits for one that failed. */
#include "pjrt/client/pjrt_join.h"

#include <string.h>

#include "pjrt/abi/pjrt_error.h"
#include "transport/core/transport.h"

#define JOIN_MS 300000 /* longest wait for a process: as long as JAX waits for all to start */
#define PLACE_KEY "hlorun/place"
#define JOINED "joined" /* what a process writes that could join */

/* Signature of pjrt_callback_error_t. */
static pjrt_error_t *make_error(int code, const char *message, size_t size) {
  return pjrt_error_create((pjrt_code_t)code, message, size);
}

/* Releases the error of a callback. */
static hr_status_t take_error(pjrt_error_t *error) {
  hr_status_t st = pjrt_error_status(error);
  pjrt_error_free(error);
  return st;
}

static hr_status_t put(const pjrt_client_create_args_t *args, const char *key, const char *value) {
  pjrt_callback_error_t callback_error = make_error;
  pjrt_kv_put_args_t put = {.struct_size = sizeof put,
                            .key = key,
                            .key_size = strlen(key),
                            .value = value,
                            .value_size = strlen(value),
                            .callback_error = &callback_error,
                            .context = args->kv_put_context};
  return take_error(args->kv_put(&put));
}

/* Waits for the key. A value that is too long is cut. */
static hr_status_t get(const pjrt_client_create_args_t *args, const char *key,
                       char out_value[TP_PLACE_BYTES]) {
  pjrt_callback_error_t callback_error = make_error;
  pjrt_kv_get_args_t get = {.struct_size = sizeof get,
                            .key = key,
                            .key_size = strlen(key),
                            .timeout_ms = JOIN_MS,
                            .callback_error = &callback_error,
                            .context = args->kv_get_context};
  HR_TRY(take_error(args->kv_get(&get)));
  snprintf(out_value, TP_PLACE_BYTES, "%.*s", (int)get.value_size, get.value);
  if (get.release) get.release(get.value);
  return NULL;
}

static hr_status_t exchange_place(const pjrt_client_create_args_t *args, int index, int count) {
  char place[TP_PLACE_BYTES];
  hr_status_t st = index ? get(args, PLACE_KEY, place) : tp_place(count, place);
  if (!st) st = tp_join(count, index, place);
  if (!st && !index) st = put(args, PLACE_KEY, place);
  return st;
}

/* Key of what a process writes in the end. */
static const char *key_of(int index, char out_key[64]) {
  snprintf(out_key, 64, "hlorun/joined/%d", index);
  return out_key;
}

/* The first process that could not join says why. */
static hr_status_t check_all(const pjrt_client_create_args_t *args, int count) {
  char key[64], value[TP_PLACE_BYTES];
  for (int k = 0; k < count; k++) {
    HR_TRY(get(args, key_of(k, key), value));
    if (strcmp(value, JOINED) != 0)
      return hr_error(HR_UNAVAILABLE, "process %d of %d cannot join: %s", k, count, value);
  }
  return NULL;
}

hr_status_t pjrt_join(const pjrt_client_create_args_t *args, int index, int count) {
  char key[64];
  if (!args->kv_get || !args->kv_put)
    return hr_error(HR_UNAVAILABLE, "there is no key-value store for %d processes", count);
  hr_status_t failure = exchange_place(args, index, count);
  hr_status_t st = put(args, key_of(index, key), failure ? hr_status_message(failure) : JOINED);
  hr_status_release(failure);
  HR_TRY(st);
  return check_all(args, count);
}
