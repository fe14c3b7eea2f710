/* The plugin, and the table of buffers that the threads of pjrt_random share. */
#include "tests/pjrt/random_slots.h"

#include "pjrt/abi/pjrt_abi_transfer.h"

const pjrt_api_t *api;
pjrt_client_t *client;
pjrt_device_t *devices[2];
random_slot_t slots[SLOTS];
pjrt_executable_t *programs[PROGRAMS];

unsigned random_draw(uint64_t *state, unsigned limit) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (unsigned)(*state >> 33) % limit;
}

bool random_call_function(pjrt_function_t function, void *args) {
  pjrt_error_t *error = function(args);
  if (!error) return true;
  pjrt_error_message_args_t message = {.struct_size = sizeof message, .error = error};
  api->functions[PJRT_INDEX_Error_Message](&message);
  pjrt_error_args_t destroy = {.struct_size = sizeof destroy, .error = error};
  api->functions[PJRT_INDEX_Error_Destroy](&destroy);
  return false;
}

void random_drop(int index, void *object) {
  pjrt_object_args_t args = {.struct_size = sizeof args, .object = object};
  random_call_function(api->functions[index], &args);
}

bool random_await(pjrt_event_t *event) {
  pjrt_event_args_t args = {.struct_size = sizeof args, .event = event};
  bool ok = random_call_function(api->functions[PJRT_INDEX_Event_Await], &args);
  random_call_function(api->functions[PJRT_INDEX_Event_Destroy], &args);
  return ok;
}

void random_replace(uint64_t *state, pjrt_buffer_t *buffer, float value) {
  random_slot_t *slot = &slots[random_draw(state, SLOTS)];
  pthread_rwlock_wrlock(&slot->lock);
  if (slot->buffer) random_drop(PJRT_INDEX_Buffer_Destroy, slot->buffer);
  slot->buffer = buffer;
  slot->value = value;
  pthread_rwlock_unlock(&slot->lock);
}

random_slot_t *random_borrow(uint64_t *state) {
  random_slot_t *slot = &slots[random_draw(state, SLOTS)];
  pthread_rwlock_rdlock(&slot->lock);
  return slot;
}

void random_give_back(random_slot_t *slot) { pthread_rwlock_unlock(&slot->lock); }

void random_borrow_two(uint64_t *state, random_slot_t **out_slots) {
  unsigned first = random_draw(state, SLOTS), second = random_draw(state, SLOTS);
  bool is_swapped = first > second;
  out_slots[0] = &slots[first];
  out_slots[1] = &slots[second];
  pthread_rwlock_rdlock(&out_slots[is_swapped]->lock);
  pthread_rwlock_rdlock(&out_slots[!is_swapped]->lock);
}

void random_forget(pjrt_error_t *error, void *context) {
  pjrt_error_args_t destroy = {.struct_size = sizeof destroy, .error = error};
  if (error) api->functions[PJRT_INDEX_Error_Destroy](&destroy);
  (void)context;
}
