/* Prints and parses manifests of checkpoints. Parsing is strict: any mismatch means damage. */
#include "cli/checkpoint/cli_manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"

#define FIRST_LINE "hlorun checkpoint "
#define DIGEST_LINE "blake2b "
#define MOST_RANKS (1 << 24)
#define RANK_LINE_MIN 16 /* bytes */
#define MOST_BYTES ((size_t)1 << 31)

void cli_step_name(char into[CLI_STEP_NAME], uint64_t step) {
  snprintf(into, CLI_STEP_NAME, "step-%012" PRIu64, step);
}

bool cli_step_parse(const char *name, uint64_t *out_step) {
  char again[CLI_STEP_NAME];
  if (sscanf(name, "step-%20" SCNu64, out_step) != 1 || !*out_step) return false;
  cli_step_name(again, *out_step);
  return strcmp(name, again) == 0;
}

void cli_rank_file(char into[CLI_STEP_NAME], int rank) {
  snprintf(into, CLI_STEP_NAME, "rank%d.npz", rank);
}

void cli_sum_of(const hr_buffer_t *bytes, cli_sum_t *sum) {
  sum->size_bytes = hr_buffer_size(bytes);
  sum->hash = hr_hash_bytes(hr_buffer_data(bytes), hr_buffer_size(bytes), 17);
}

/* --- writing --- */

/* Version 2: a line per process, and at the end the digest of all lines before. */
static void print_manifest(hr_strbuf_t *text, const cli_manifest_t *manifest) {
  char digest[HR_DIGEST_TEXT];
  hr_strbuf_printf(text, FIRST_LINE "2\nstep %" PRIu64 "\nbegan %" PRIu64 "\ngrid %d %d\n",
                   manifest->step, manifest->began, manifest->num_replicas,
                   manifest->num_partitions);
  for (int r = 0; r < manifest->num_replicas * manifest->num_partitions; r++) {
    const cli_sum_t *sum = &manifest->sums[r];
    hr_strbuf_printf(text, "rank%d.npz %" PRIu64 " %016" PRIx64 " %016" PRIx64 " %s %s\n", r,
                     sum->size_bytes, sum->hash, sum->values_hash, sum->program.digest,
                     sum->program.name);
  }
  if (text->failed) return;
  hr_digest_text(hr_digest_of(text->data, text->size), digest);
  hr_strbuf_printf(text, DIGEST_LINE "%s\n", digest);
}

hr_status_t cli_manifest_write(const cli_folder_t *folder, const cli_manifest_t *manifest) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  print_manifest(&text, manifest);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = cli_folder_write(folder, "manifest", true, text.data, text.size);
  hr_strbuf_deinit(&text);
  return st;
}

/* --- reading --- */

typedef struct parser {
  hr_arena_t *arena;
  const cli_folder_t *folder;
  const char *text, *at;
  size_t size;
  int version;
} parser_t;

static hr_status_t torn(const parser_t *parser, const char *what) {
  return hr_error(HR_INVALID, "%s/manifest is incomplete or not a manifest: %s",
                  parser->folder->path, what);
}

/* The last line is the digest of all lines before it. */
static hr_status_t check_digest(const parser_t *parser) {
  char digest[HR_DIGEST_TEXT], line[HR_DIGEST_TEXT + 16];
  size_t line_size = sizeof DIGEST_LINE "\n" - 1 + HR_DIGEST_TEXT - 1;
  if (parser->size < line_size) return torn(parser, "it is cut off");
  hr_digest_text(hr_digest_of(parser->text, parser->size - line_size), digest);
  snprintf(line, sizeof line, DIGEST_LINE "%s\n", digest);
  if (!strcmp(parser->text + parser->size - line_size, line)) return NULL;
  return torn(parser, "its check sum differs");
}

/* Version, step, the time when the training began (version 2), and the grid. */
static hr_status_t parse_head(parser_t *parser, cli_manifest_t *manifest) {
  int used = 0, begin = 0;
  if (sscanf(parser->text, FIRST_LINE "%d\nstep %" SCNu64 "\n%n", &parser->version, &manifest->step,
             &used) != 2 ||
      !used || parser->version < 1 || parser->version > 2)
    return torn(parser, "it does not begin as one of version 1 or 2");
  parser->at = parser->text + used;
  manifest->began = 0;
  if (parser->version == 2 &&
      (sscanf(parser->at, "began %" SCNu64 "\n%n", &manifest->began, &begin) != 1 || !begin))
    return torn(parser, "it does not say when the training began");
  parser->at += begin;
  used = 0;
  if (sscanf(parser->at, "grid %d %d\n%n", &manifest->num_replicas, &manifest->num_partitions,
             &used) != 2 ||
      !used)
    return torn(parser, "it has no grid");
  parser->at += used;
  return NULL;
}

/* The line of one process: size and sums of its file, and in version 2 its program. */
static hr_status_t parse_rank(parser_t *parser, int want_rank, cli_sum_t *sum) {
  int rank, used = 0;
  if (sscanf(parser->at, "rank%d.npz %" SCNu64 " %" SCNx64 " %" SCNx64 "%n", &rank,
             &sum->size_bytes, &sum->hash, &sum->values_hash, &used) != 4 ||
      rank != want_rank || !used)
    return torn(parser, "the line of a process is missing");
  parser->at += used;
  used = 0;
  if (parser->version == 2 &&
      sscanf(parser->at, " %32s %63s%n", sum->program.digest, sum->program.name, &used) != 2)
    return torn(parser, "it does not say which program a process ran");
  parser->at += used;
  return *parser->at++ == '\n' ? NULL : torn(parser, "the line of a process has no end");
}

/* The number of lines is checked before memory is allocated for them. */
static hr_status_t parse_ranks(parser_t *parser, cli_manifest_t *manifest) {
  int64_t ranks = (int64_t)manifest->num_replicas * manifest->num_partitions;
  if (manifest->num_replicas < 1 || manifest->num_partitions < 1 || ranks > MOST_RANKS ||
      (size_t)ranks > parser->size / RANK_LINE_MIN)
    return torn(parser, "it has no such grid");
  HR_TRY(HR_NEW_ARRAY(parser->arena, ranks, &manifest->sums));
  for (int r = 0; r < (int)ranks; r++) HR_TRY(parse_rank(parser, r, &manifest->sums[r]));
  bool ends = parser->version == 1 ? !strcmp(parser->at, "end\n")
                                   : !strncmp(parser->at, DIGEST_LINE, sizeof DIGEST_LINE - 1);
  return ends ? NULL : torn(parser, "it has no end");
}

/* The digest is checked before anything after the head is trusted. */
static hr_status_t parse(parser_t *parser, uint64_t step, cli_manifest_t *manifest) {
  if (strlen(parser->text) != parser->size) return torn(parser, "it has a byte of value 0");
  HR_TRY(parse_head(parser, manifest));
  if (parser->version == 2) HR_TRY(check_digest(parser));
  if (manifest->step != step)
    return hr_error(HR_INVALID, "%s/manifest is of step %" PRIu64 ", its folder of step %" PRIu64,
                    parser->folder->path, manifest->step, step);
  HR_TRY(parse_ranks(parser, manifest));
  manifest->text_hash = hr_hash_bytes(parser->text, parser->size, 23);
  return NULL;
}

hr_status_t cli_manifest_read(hr_arena_t *arena, const cli_folder_t *folder, uint64_t step,
                              cli_manifest_t *out_manifest) {
  hr_buffer_t *bytes;
  uint64_t size_bytes;
  parser_t parser = {.arena = arena, .folder = folder};
  HR_TRY(cli_folder_size(folder, "manifest", &size_bytes));
  if (size_bytes > MOST_BYTES) return torn(&parser, "it is too large");
  HR_TRY(cli_folder_map(folder, "manifest", &bytes));
  parser.size = hr_buffer_size(bytes);
  hr_status_t st =
      hr_arena_cstr(arena, (hr_str_t){hr_buffer_data(bytes), parser.size}, &parser.text);
  hr_buffer_release(bytes);
  return st ? st : parse(&parser, step, out_manifest);
}

static hr_status_t check_size(const cli_folder_t *folder, const char *name, uint64_t size_bytes,
                              uint64_t want) {
  if (size_bytes == want) return NULL;
  return hr_error(HR_INVALID,
                  "%s/%s is not what was written: it has %" PRIu64 " bytes, want %" PRIu64,
                  folder->path, name, size_bytes, want);
}

/* The size is checked before the file is mapped, too, as one that has grown may have no room. */
hr_status_t cli_manifest_check(const cli_folder_t *folder, const cli_manifest_t *manifest, int rank,
                               hr_buffer_t **out_bytes) {
  char name[CLI_STEP_NAME];
  hr_buffer_t *bytes;
  cli_sum_t found;
  const cli_sum_t *want = &manifest->sums[rank];
  uint64_t size_bytes;
  cli_rank_file(name, rank);
  HR_TRY(cli_folder_size(folder, name, &size_bytes));
  HR_TRY(check_size(folder, name, size_bytes, want->size_bytes));
  HR_TRY(cli_folder_map(folder, name, &bytes));
  hr_status_t st = check_size(folder, name, hr_buffer_size(bytes), want->size_bytes);
  if (!st) {
    cli_sum_of(bytes, &found);
    if (found.hash != want->hash)
      st = hr_error(HR_INVALID, "%s/%s is not what was written: its check sum differs",
                    folder->path, name);
  }
  if (st || !out_bytes)
    hr_buffer_release(bytes);
  else
    *out_bytes = bytes;
  return st;
}
