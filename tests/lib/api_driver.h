/* Programs and clients of the embedding API for tests. */
#ifndef HLORUN_API_DRIVER_H
#define HLORUN_API_DRIVER_H

#include <pthread.h>
#include <string.h>

#include "hlorun.h"
#include "unit.h"

static inline hlorun_program_t *api_load(hlorun_client_t *client, const char *text) {
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  hlorun_program_t *program = NULL;
  CHECK_OK(hlorun_program_load_bytes(client, "test.hlo", text, strlen(text), &options, &program));
  return program;
}

/* One process of a grid that lives on threads of the test. */
typedef struct api_member {
  hlorun_client_t *client; /* released by the run */
  const char *program; /* a program with one array parameter, whose one result is f32[] or f32[1] */
  hlorun_buffer_t *arg; /* released by the run */
  float got;
} api_member_t;

static inline void *api_member_run(void *context) {
  api_member_t *member = context;
  hlorun_program_t *program = api_load(member->client, member->program);
  hlorun_buffer_t *result = NULL;
  CHECK_OK(hlorun_execute(program, &member->arg, NULL, &result));
  member->got = *(const float *)hlorun_buffer_data(result);
  hlorun_buffer_release(result);
  hlorun_buffer_release(member->arg);
  hlorun_program_release(program);
  hlorun_client_release(member->client, 0);
  return NULL;
}

enum { API_MAX_MEMBERS = 8 };

/* Runs all members at the same time, the first as rank 0 and so on. Their clients are made here. */
static inline void api_grid_run(int count, api_member_t *members) {
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  hlorun_client_t *clients[API_MAX_MEMBERS];
  pthread_t threads[API_MAX_MEMBERS];
  CHECK_OK(hlorun_clients_create_local(&options, count, clients));
  for (int i = 0; i < count; i++) {
    members[i].client = clients[i];
    pthread_create(&threads[i], NULL, api_member_run, &members[i]);
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

#endif
