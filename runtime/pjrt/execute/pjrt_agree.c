/* Processes that launch programs in different orders would exchange data of different programs, or
 * wait for ever. Before a launch every process sends its program to the next process of a ring, and
 * receives that of the previous one:
 *
 *   process 0 --"jit_f"--> process 1 --"jit_g"--> process 2 --...--> process 0
 *
 * If any two processes differ, two neighbours do. These fail, with both names; the others fail when
 * these end. Programs of equal bytes are equal. Bytes may differ in addresses of callbacks, which
 * older JAX writes into programs; then the interface of the program decides: its name, its place,
 * and the shapes of parameters and results. */
#include "pjrt/execute/pjrt_agree.h"

#include <string.h>

#include "api/api_client.h"
#include "base/digest.h"

/* Message of a process about its launch. */
typedef struct announcement {
  int process;
  char fingerprint[HR_DIGEST_TEXT];
  char interface[HR_DIGEST_TEXT];
  char place[180]; /* ends in NUL */
} announcement_t;

static void add_shape(hr_digest_state_t *state, const hlo_shape_t *shape) {
  hr_digest_add(state, &shape->dtype, sizeof shape->dtype);
  hr_digest_add(state, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
}

/* Needs name, params and results. */
static void make_interface(pjrt_executable_t *executable) {
  hr_digest_state_t state;
  hr_digest_start(&state);
  hr_digest_add(&state, executable->place, strlen(executable->place));
  for (int p = 0; p < executable->param_count; p++) add_shape(&state, executable->params[p]);
  for (int r = 0; r < executable->result_count; r++)
    add_shape(&state, executable->results[r].shape);
  hr_digest_text(hr_digest_end(&state), executable->interface);
}

hr_status_t pjrt_executable_describe_place(pjrt_executable_t *executable) {
  HR_TRY(api_program_title(pjrt_executable_compiled(executable)->module, &executable->arena,
                           &executable->place));
  make_interface(executable);
  return NULL;
}

static hr_status_t disagree(const announcement_t *mine, const announcement_t *other) {
  return hr_error(HR_DISAGREE,
                  "process %d launches %s, and process %d launches %s: all processes must launch "
                  "the same programs in the same order",
                  mine->process, mine->place, other->process, other->place);
}

hr_status_t pjrt_launches_agree(pjrt_executable_t *executable, int local) {
  const pjrt_world_t *world = executable->world;
  announcement_t mine = {.process = executable->client->process_index};
  announcement_t other;
  if (world->local_count == world->count) return NULL;
  memcpy(mine.fingerprint, executable->fingerprint, sizeof mine.fingerprint);
  memcpy(mine.interface, executable->interface, sizeof mine.interface);
  snprintf(mine.place, sizeof mine.place, "%s", executable->place);
  HR_TRY(api_client_shift(world->clients[local], &mine, &other, sizeof mine));
  other.place[sizeof other.place - 1] = '\0';
  if (!memcmp(mine.fingerprint, other.fingerprint, sizeof mine.fingerprint)) return NULL;
  if (!memcmp(mine.interface, other.interface, sizeof mine.interface)) return NULL;
  return disagree(&mine, &other);
}
