/* Writes results. Rank 0 first receives the types and shapes of all results of all ranks, since
 * the header of safetensors comes before the first array. Then the arrays are sent one at a time,
 * so that rank 0 never holds more than one array of another rank. Programs of different ranks may
 * have different numbers of results. Tokens are omitted. */
#include "cli/arrays/cli_output.h"

#include <string.h>

#include "base/mem.h"
#include "cli/arrays/cli_extensions.h"
#include "cli/arrays/cli_results.h"
#include "cli/arrays/cli_shards.h"
#include "io/safetensors.h"

typedef enum form { FORM_NPZ, FORM_SAFETENSORS, FORM_NPY, FORM_TXT } form_t;

/* Type and shape of a result in an announcement; rank is -1 for tokens. */
typedef struct array_head {
  int32_t dtype, rank;
  int64_t dims[HLO_MAX_RANK];
} array_head_t;

/* Announced results of one rank. */
typedef struct announced {
  int32_t count;
  array_head_t *heads;
} announced_t;

typedef struct writer {
  form_t form;
  const char *path;
  int world;
  const hlorun_program_t *program; /* its results are parts of global arrays; NULL: they are not */
  announced_t *ranks;
  hr_arena_t arena;
  zip_writer_t *zip;      /* FORM_NPZ */
  hr_file_writer_t *file; /* FORM_SAFETENSORS, FORM_TXT */
} writer_t;

typedef char array_name_t[64];

static const char *const endings[] = {".npz", ".safetensors", ".npy", ".txt", NULL};

/* Called before the run, so that a wrong file name does not cost the results. */
hr_status_t cli_output_check(const hr_options_t *options) {
  return cli_check_extension(options, HR_OPTION_OUTPUT, endings);
}

/* Names without a known ending, and devices, mean .npz. */
static form_t form_of(const char *path) {
  for (int i = 0; endings[i]; i++)
    if (cli_ends_with(path, endings[i])) return (form_t)i;
  return FORM_NPZ;
}

/* --- announcements --- */

static void make_heads(int count, hlo_value_t *const *results, array_head_t *heads) {
  for (int k = 0; k < count; k++) {
    bool is_array = hr_dtype_is_array(results[k]->dtype);
    heads[k] = (array_head_t){results[k]->dtype, is_array ? results[k]->rank : -1, {0}};
    if (is_array)
      memcpy(heads[k].dims, results[k]->dims, (size_t)results[k]->rank * sizeof(int64_t));
  }
}

/* Sends the number of results, then their heads. */
static hr_status_t announce(hlorun_client_t *client, hr_arena_t *arena, int32_t count,
                            hlo_value_t *const *results) {
  array_head_t *heads;
  HR_TRY(HR_NEW_ARRAY(arena, count, &heads));
  make_heads(count, results, heads);
  HR_TRY(hlorun_client_send(client, 0, &count, sizeof count));
  return count ? hlorun_client_send(client, 0, heads, (size_t)count * sizeof *heads) : NULL;
}

/* Receives a rank's announcement; the heads live in the writer's arena. */
static hr_status_t hear_announcement(hlorun_client_t *client, writer_t *writer, int from) {
  announced_t *of = &writer->ranks[from];
  HR_TRY(hlorun_client_recv(client, from, &of->count, sizeof of->count));
  HR_TRY(HR_NEW_ARRAY(&writer->arena, of->count, &of->heads));
  size_t bytes = (size_t)of->count * sizeof *of->heads;
  return bytes ? hlorun_client_recv(client, from, of->heads, bytes) : NULL;
}

/* Sends the arrays in the order of the heads. */
static hr_status_t send_arrays(hlorun_client_t *client, int count, hlo_value_t *const *results) {
  for (int k = 0; k < count; k++)
    if (hr_dtype_is_array(results[k]->dtype))
      HR_TRY(hlorun_client_send(client, 0, results[k]->data, hlo_value_bytes(results[k])));
  return NULL;
}

/* --- writing --- */

/* "out<k>@<rank>", or "out<k>" if rank < 0. */
static const char *name_array(array_name_t into, int k, int rank) {
  if (rank < 0)
    snprintf(into, sizeof(array_name_t), "out%d", k);
  else
    snprintf(into, sizeof(array_name_t), "out%d@%d", k, rank);
  return into;
}

/* The place of rank's part of result k, as an array of 2 * *out_rank numbers. False: it has none.
 */
static bool place_of(const writer_t *writer, int k, int rank, int *out_rank, int64_t *numbers) {
  cli_part_t part = {.rank = writer->ranks[rank].heads[k].rank};
  *out_rank = part.rank;
  if (!writer->program ||
      !hlorun_program_part(writer->program, true, k, rank, part.whole, part.starts))
    return false;
  cli_place_numbers(&part, numbers);
  return true;
}

/* Entries of the header, in the order in which the arrays are written. */
static hr_status_t add_entries(const writer_t *writer, hr_strbuf_t *header) {
  uint64_t offset = 0;
  array_name_t name;
  int64_t numbers[2 * HLO_MAX_RANK];
  int dims;
  for (int rank = 0; rank < writer->world; rank++)
    for (int k = 0; k < writer->ranks[rank].count; k++) {
      const array_head_t *head = &writer->ranks[rank].heads[k];
      hr_dtype_t dtype = (hr_dtype_t)head->dtype;
      if (head->rank < 0) continue;
      if (!rank)
        HR_TRY(safetensors_add_entry(header, name_array(name, k, -1), dtype, head->rank, head->dims,
                                     &offset));
      if (writer->world > 1)
        HR_TRY(safetensors_add_entry(header, name_array(name, k, rank), dtype, head->rank,
                                     head->dims, &offset));
      if (place_of(writer, k, rank, &dims, numbers))
        HR_TRY(safetensors_add_entry(header, cli_shard_place_name("out", k, rank, name), HR_S64, 2,
                                     (int64_t[]){2, dims}, &offset));
    }
  return NULL;
}

/* Types are checked before the file is created. */
static hr_status_t begin_safetensors(writer_t *writer) {
  hr_strbuf_t header;
  hr_strbuf_init(&header);
  hr_status_t st = add_entries(writer, &header);
  if (!st) st = hr_file_create(writer->path, &writer->file);
  if (!st) st = safetensors_begin(writer->file, &header);
  hr_strbuf_deinit(&header);
  return st;
}

/* One .npy file holds one array; more need a name with "%k". */
static hr_status_t check_npy(const writer_t *writer) {
  int arrays = 0;
  for (int k = 0; k < writer->ranks[0].count; k++) arrays += writer->ranks[0].heads[k].rank >= 0;
  if (writer->world > 1)
    return hr_error(HR_USAGE, "--output %s: an .npy holds one array: give an .npz for %d processes",
                    writer->path, writer->world);
  if (arrays == 1 || strstr(writer->path, "%k")) return NULL;
  return hr_error(HR_USAGE,
                  "--output %s: an .npy holds one array, the program has %d results: give an .npz, "
                  "or a name with %%k for their numbers",
                  writer->path, arrays);
}

/* Called after all announcements, so that a failure leaves no rank waiting. */
static hr_status_t begin(writer_t *writer) {
  switch (writer->form) {
    case FORM_NPZ:
      return zip_create(writer->path, &writer->zip);
    case FORM_SAFETENSORS:
      return begin_safetensors(writer);
    case FORM_NPY:
      return check_npy(writer);
    case FORM_TXT:
      return hr_file_create(writer->path, &writer->file);
  }
  return NULL;
}

/* Replaces "%k" in the path by the number. */
static hr_status_t write_npy(const writer_t *writer, int k, const hlo_value_t *value) {
  const char *mark = strstr(writer->path, "%k");
  char path[4096];
  int size = mark ? (int)(mark - writer->path) : 0, used;
  if (mark)
    used = snprintf(path, sizeof path, "%.*s%d%s", size, writer->path, k, mark + 2);
  else
    used = snprintf(path, sizeof path, "%s", writer->path);
  if (used >= (int)sizeof path) return hr_error(HR_USAGE, "--output: the path is too long");
  return npy_write(path, value->dtype, value->rank, value->dims, value->data,
                   hlo_value_bytes(value));
}

/* Writes the whole array, without elision. */
static hr_status_t write_line(const writer_t *writer, const char *name, const hlo_value_t *value) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "%s = ", name);
  cli_value_print_whole(&text, value);
  hr_strbuf_add_char(&text, '\n');
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_file_write(writer->file, text.data, text.size);
  hr_strbuf_deinit(&text);
  return st;
}

/* Archives say where parts of global arrays lie. */
static hr_status_t add_place(const writer_t *writer, int k, int rank) {
  char name[CLI_SHARD_NAME];
  int64_t numbers[2 * HLO_MAX_RANK];
  int dims;
  bool is_archive = writer->form == FORM_NPZ || writer->form == FORM_SAFETENSORS;
  if (!is_archive || !place_of(writer, k, rank, &dims, numbers)) return NULL;
  size_t bytes = 2 * (size_t)dims * sizeof *numbers;
  if (writer->form == FORM_SAFETENSORS) return hr_file_write(writer->file, numbers, bytes);
  return npz_add(writer->zip, cli_shard_place_name("out", k, rank, name), HR_S64, 2,
                 (int64_t[]){2, dims}, numbers, bytes);
}

/* `rank` < 0: the name has no rank. */
static hr_status_t add_array(const writer_t *writer, int k, int rank, const hlo_value_t *value) {
  array_name_t name;
  name_array(name, k, rank);
  switch (writer->form) {
    case FORM_NPZ:
      return npz_add(writer->zip, name, value->dtype, value->rank, value->dims, value->data,
                     hlo_value_bytes(value));
    case FORM_SAFETENSORS:
      return hr_file_write(writer->file, value->data, hlo_value_bytes(value));
    case FORM_NPY:
      return write_npy(writer, k, value);
    case FORM_TXT:
      return write_line(writer, name, value);
  }
  return NULL;
}

/* Rank 0's results; their names have no rank if the world size is 1. */
static hr_status_t write_local(const writer_t *writer, int count, hlo_value_t *const *results) {
  for (int k = 0; k < count; k++) {
    if (!hr_dtype_is_array(results[k]->dtype)) continue;
    HR_TRY(add_array(writer, k, -1, results[k]));
    if (writer->world > 1) HR_TRY(add_array(writer, k, 0, results[k]));
    HR_TRY(add_place(writer, k, 0));
  }
  return NULL;
}

/* Receives an array whose type and sizes are in its head. */
static hr_status_t receive_array(hlorun_client_t *client, int from, const array_head_t *head,
                                 hlo_value_t **out_value) {
  HR_TRY(hlo_value_array((hr_dtype_t)head->dtype, head->rank, head->dims, out_value));
  hr_status_t st =
      hlorun_client_recv(client, from, (*out_value)->data, hlo_value_bytes(*out_value));
  if (st) hlo_value_release(*out_value);
  return st;
}

/* After a failure to write, the remaining arrays are still received, as their senders wait. */
static hr_status_t receive_results(hlorun_client_t *client, const writer_t *writer, int from,
                                   hr_status_t *write_status) {
  const announced_t *of = &writer->ranks[from];
  for (int k = 0; k < of->count; k++) {
    hlo_value_t *value;
    if (of->heads[k].rank < 0) continue;
    HR_TRY(receive_array(client, from, &of->heads[k], &value));
    if (!*write_status) *write_status = add_array(writer, k, from, value);
    if (!*write_status) *write_status = add_place(writer, k, from);
    hlo_value_release(value);
  }
  return NULL;
}

/* Rank 0: receives announcements, then writes its own results and those of the others. */
static hr_status_t write_all(hlorun_client_t *client, writer_t *writer, int count,
                             hlo_value_t *const *results) {
  HR_TRY(HR_NEW_ARRAY(&writer->arena, writer->world, &writer->ranks));
  HR_TRY(HR_NEW_ARRAY(&writer->arena, count, &writer->ranks[0].heads));
  writer->ranks[0].count = count;
  make_heads(count, results, writer->ranks[0].heads);
  for (int from = 1; from < writer->world; from++) HR_TRY(hear_announcement(client, writer, from));
  hr_status_t write_status = begin(writer), st = NULL;
  if (!write_status) write_status = write_local(writer, count, results);
  for (int from = 1; from < writer->world && !st; from++)
    st = receive_results(client, writer, from, &write_status);
  st = hr_status_join(write_status, st);
  return writer->form == FORM_NPZ ? zip_finish(writer->zip, st) : hr_file_finish(writer->file, st);
}

/* Ranks other than 0 only announce and send. */
hr_status_t cli_output_write(hlorun_client_t *client, const hlorun_program_t *program,
                             const char *path, int count, hlo_value_t *const *results) {
  writer_t writer = {
      .form = form_of(path), .path = path, .world = hlorun_client_world_size(client)};
  bool is_alone = writer.world == 1 || hlorun_program_num_replicas(program) > 1;
  writer.program = is_alone ? NULL : program;
  hr_arena_init(&writer.arena);
  hr_status_t st;
  if (hlorun_client_rank(client)) {
    st = announce(client, &writer.arena, count, results);
    if (!st) st = send_arrays(client, count, results);
  } else {
    st = write_all(client, &writer, count, results);
  }
  hr_arena_deinit(&writer.arena);
  return st;
}

hr_status_t cli_output_write_alone(const char *path, int count, hlo_value_t *const *results) {
  writer_t writer = {.form = form_of(path), .path = path, .world = 1};
  hr_arena_init(&writer.arena);
  hr_status_t st = write_all(NULL, &writer, count, results);
  hr_arena_deinit(&writer.arena);
  return st;
}
