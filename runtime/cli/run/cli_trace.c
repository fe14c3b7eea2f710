/* Writes --trace: the timeline of all processes; after a failure, one file per process. */
#include "cli/run/cli_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli_agree.h"
#include "cli/arrays/cli_extensions.h"
#include "cli/picture/cli_timeline.h"
#include "io/gzip.h"

#define MOST_EVENTS 100000000

/* True if --explain=json reserves standard output for JSON. */
bool cli_trace_wants_json(const hr_options_t *options) {
  const char *form = hr_option_text(options, HR_OPTION_EXPLAIN);
  return form && strcmp(form, "json") == 0;
}

static bool is_gzip(const char *path) { return cli_ends_with(path, ".gz"); }

/* Called before the run, so that an unwritable timeline is reported early. */
hr_status_t cli_trace_check(const hr_options_t *options) {
  static const char *const endings[] = {".json", ".json.gz", ".svg", NULL};
  const char *form = hr_option_text(options, HR_OPTION_EXPLAIN);
  if (form && *form && !cli_trace_wants_json(options))
    return hr_error(HR_USAGE, "--explain=%s: want --explain or --explain=json", form);
  if (hr_option_is_given(options, HR_OPTION_LIMIT) &&
      !hr_option_is_given(options, HR_OPTION_EXPLAIN))
    return hr_error(HR_USAGE, "--limit without --explain: want --explain --limit");
  if (hr_option_is_given(options, HR_OPTION_NUMA) &&
      !hr_option_is_given(options, HR_OPTION_EXPLAIN))
    return hr_error(HR_USAGE, "--numa without --explain: want --explain --numa");
  return cli_check_extension(options, HR_OPTION_TRACE, endings);
}

/* Without a number of events, the client's default applies. */
hr_status_t cli_trace_options(const hr_options_t *options,
                              hlorun_client_options_t *client_options) {
  const char *text = getenv("HLORUN_TRACE_EVENTS");
  char *end;
  client_options->trace = hr_option_is_given(options, HR_OPTION_TRACE) ||
                          hr_option_is_given(options, HR_OPTION_EXPLAIN);
  client_options->trace_numa = hr_option_is_given(options, HR_OPTION_NUMA);
  if (!text || !*text) return NULL;
  long count = strtol(text, &end, 10);
  if (*end || count < 1 || count > MOST_EVENTS)
    return hr_error(HR_USAGE, "HLORUN_TRACE_EVENTS=%s: want a number from 1 to %d", text,
                    MOST_EVENTS);
  client_options->trace_events = (size_t)count;
  return NULL;
}

static hr_status_t write_picture(const char *path, const char *json) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  cli_timeline_draw(&text, json);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_file_write_all(path, text.data, text.size);
  hr_strbuf_deinit(&text);
  return st;
}

/* Frees `json`, which is NULL on ranks other than 0. */
static hr_status_t write_timeline(const char *path, char *json) {
  hr_status_t st;
  if (!json) return NULL;
  if (cli_ends_with(path, ".svg"))
    st = write_picture(path, json);
  else
    st = is_gzip(path) ? gzip_write_all(path, json, strlen(json))
                       : hr_file_write_all(path, json, strlen(json));
  free(json);
  return st;
}

/* Ending of the file of one rank. */
static const char *ending_of(const char *path) {
  if (is_gzip(path)) return ".gz";
  return cli_ends_with(path, ".svg") ? ".svg" : "";
}

/* Warns if events were dropped from the timeline. */
static hr_status_t warn_of_dropped(hlorun_client_t *client) {
  int world = hlorun_client_world_size(client);
  uint64_t mine = hlorun_client_trace_dropped(client), all = 0;
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)world * sizeof mine, &memory));
  uint64_t *dropped = memory;
  hr_status_t st = hlorun_client_gather(client, &mine, sizeof mine, dropped);
  for (int r = 0; r < world; r++) all += dropped[r];
  if (!st && all && hlorun_client_rank(client) == 0)
    fprintf(stderr,
            "--trace: the first %llu calls and shares are not in the timeline "
            "(HLORUN_TRACE_EVENTS=N keeps more)\n",
            (unsigned long long)all);
  hr_free(dropped);
  return st;
}

/* Collective: rank 0 gathers the timelines of all ranks. */
static hr_status_t write_trace(hlorun_client_t *client, const char *path) {
  char *json;
  HR_TRY(cli_agree(client, hlorun_client_trace(client, &json)));
  HR_TRY(cli_agree(client, write_timeline(path, json)));
  return cli_agree(client, warn_of_dropped(client));
}

/* Writes this process's timeline only: after a failure the peers cannot be asked. */
static hr_status_t write_alone(hlorun_client_t *client, const char *path) {
  char *json, own[4096];
  int rank = hlorun_client_rank(client);
  bool has_peers = hlorun_client_world_size(client) > 1;
  snprintf(own, sizeof own, has_peers ? "%s.rank%d%s" : "%s", path, rank, ending_of(path));
  HR_TRY(hlorun_client_trace_alone(client, &json));
  HR_TRY(write_timeline(own, json));
  fprintf(stderr, "--trace: what rank %d did until the failure is in %s\n", rank, own);
  return NULL;
}

/* A failure to write is printed, but not returned. */
void cli_trace_of_failure(hlorun_client_t *client, const hr_options_t *options) {
  const char *path = hr_option_text(options, HR_OPTION_TRACE);
  hr_status_t st = client && path ? write_alone(client, path) : NULL;
  if (st) fprintf(stderr, "--trace: %s\n", hr_status_message(st));
  hr_status_release(st);
}

/* Covers rank 0's own kernels only. */
static hr_status_t print_table(hlorun_client_t *client, const hr_options_t *options) {
  char *table;
  if (hlorun_client_rank(client)) return NULL;
  if (cli_trace_wants_json(options))
    HR_TRY(hlorun_client_explain_json(client, &table));
  else if (hr_option_is_given(options, HR_OPTION_LIMIT))
    HR_TRY(hlorun_client_explain_limits(client, &table));
  else
    HR_TRY(hlorun_client_explain(client, &table));
  fputs(table, stdout);
  free(table);
  return NULL;
}

/* The timeline is written first, since the table measures the machine, which takes time. */
hr_status_t cli_trace_finish(hlorun_client_t *client, const hr_options_t *options) {
  const char *path = hr_option_text(options, HR_OPTION_TRACE);
  if (path) HR_TRY(write_trace(client, path));
  if (!hr_option_is_given(options, HR_OPTION_EXPLAIN)) return NULL;
  return cli_agree(client, print_table(client, options));
}
