/* State of pjrt_random: the plugin, its objects, and a table of buffers. Thread: the table may
 * be used by any, everything else is set before threads start. */
#ifndef HLO_TESTS_RANDOM_SLOTS_H
#define HLO_TESTS_RANDOM_SLOTS_H

#include <pthread.h>

#include "pjrt/abi/pjrt_abi_buffer.h"
#include "pjrt/abi/pjrt_abi_client.h"
#include "pjrt/abi/pjrt_abi_executable.h"

enum { SLOTS = 12, THREADS = 3, COUNT = 6, PROGRAMS = 4, TIME_LIMIT_S = 120 };

/* A buffer that all threads use. */
typedef struct slot {
  pthread_rwlock_t lock; /* held for reading by users, for writing by who replaces the buffer */
  pjrt_buffer_t *buffer; /* NULL: none */
  float value;           /* value of every element, while there is a buffer */
} random_slot_t;

extern const pjrt_api_t *api;
extern pjrt_client_t *client;
extern pjrt_device_t *devices[2];
extern random_slot_t slots[SLOTS];
extern pjrt_executable_t *programs[PROGRAMS];

/* A random number below `limit`. xorshift: each thread has a state of its own, from the seed of the
 * sequence. */
unsigned random_draw(uint64_t *state, unsigned limit);
/* True if the function succeeds; an error is read and freed. */
bool random_call_function(pjrt_function_t function, void *args);
/* Destroys an object by the function of this number. */
void random_drop(int index, void *object);
/* Waits for an event, and ends the caller's reference. True unless the event has an error. */
bool random_await(pjrt_event_t *event);
/* Puts a buffer whose elements are `value` into a slot, in place of another. */
void random_replace(uint64_t *state, pjrt_buffer_t *buffer, float value);
/* A random slot, locked for reading; its buffer may be NULL. */
random_slot_t *random_borrow(uint64_t *state);
/* Two slots for reading, which may be one. All threads lock in the order of the table. */
void random_borrow_two(uint64_t *state, random_slot_t **out_slots);
/* Unlocks a slot of random_borrow. */
void random_give_back(random_slot_t *slot);
/* A callback of an event: frees the error. */
void random_forget(pjrt_error_t *error, void *context);

#endif
