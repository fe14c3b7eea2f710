/* The timeline and the table of kernels of a client that traces. Both take the client's lock,
 * as executions write the ring of events. hlorun_client_trace is collective: all ranks call it, and
 * their clocks are compared. The caller frees returned texts with free(). */
#include "api_check.h"
#include "api_client.h"
#include "observe/trace_merge.h"

/* Returns the text as a string for free(); NULL if it is empty. */
static hr_status_t return_text(hr_status_t st, hr_strbuf_t *text, char **out_text) {
  if (!st) st = hr_strbuf_finish(text);
  if (!st && text->size)
    *out_text = hr_strbuf_steal(text);
  else
    hr_strbuf_deinit(text);
  return st;
}

/* USAGE unless the client was created with `trace`. */
static hr_status_t check_traces(const hlorun_client_t *client) {
  return client->trace ? NULL
                       : hr_error(HR_USAGE, "the client does not trace: set its option `trace`");
}

hlorun_status_t hlorun_client_trace(hlorun_client_t *client, char **out_json) {
  hr_strbuf_t text;
  API_NOT_NULL(client);
  API_NOT_NULL(out_json);
  HR_TRY(check_traces(client));
  *out_json = NULL;
  hr_strbuf_init(&text);
  api_client_lock_fair(client);
  hr_status_t st = exec_trace_merge(&client->comm, client->endpoint->rank,
                                    client->endpoint->world_size, client->trace, &text);
  api_client_unlock_fair(client);
  return return_text(st, &text, out_json);
}

/* This rank's events only, without its peers. */
hlorun_status_t hlorun_client_trace_alone(hlorun_client_t *client, char **out_json) {
  hr_strbuf_t text;
  API_NOT_NULL(client);
  API_NOT_NULL(out_json);
  HR_TRY(check_traces(client));
  *out_json = NULL;
  hr_strbuf_init(&text);
  api_client_lock_fair(client);
  hr_status_t st = exec_trace_print(client->endpoint->rank, client->trace, &text);
  api_client_unlock_fair(client);
  return return_text(st, &text, out_json);
}

uint64_t hlorun_client_trace_dropped(const hlorun_client_t *client) {
  return client && client->trace ? hr_trace_dropped(client->trace) : 0;
}

typedef hr_status_t explain_fn(hr_strbuf_t *text, const hr_trace_t *trace,
                               const machine_peak_t *peak);

/* Measures the machine's peaks first, with which the kernels' times are compared. */
static hr_status_t explain_as(hlorun_client_t *client, explain_fn *explain, char **out_text) {
  hr_strbuf_t text;
  hr_workers_t *workers = NULL;
  machine_peak_t peak;
  API_NOT_NULL(client);
  HR_TRY(check_traces(client));
  hr_strbuf_init(&text);
  api_client_lock_fair(client);
  hr_status_t st = worker_pool_start(&client->pool, &workers);
  if (!st) st = machine_peak_measure(workers, &peak);
  if (!st) st = explain(&text, client->trace, &peak);
  api_client_unlock_fair(client);
  return return_text(st, &text, out_text);
}

hlorun_status_t hlorun_client_explain(hlorun_client_t *client, char **out_table) {
  API_NOT_NULL(out_table);
  return explain_as(client, exec_explain_print, out_table);
}

hlorun_status_t hlorun_client_explain_limits(hlorun_client_t *client, char **out_table) {
  API_NOT_NULL(out_table);
  return explain_as(client, exec_explain_limits, out_table);
}

hlorun_status_t hlorun_client_explain_json(hlorun_client_t *client, char **out_json) {
  API_NOT_NULL(out_json);
  return explain_as(client, exec_explain_json, out_json);
}
