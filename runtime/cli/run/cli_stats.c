/* Writes --stats: times of loading, of steps, memory and counts of kernels, of the whole run (the
 * slowest process counts) and of each process. */
#include "cli/run/cli_stats.h"

#include <math.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/mem.h"

void cli_stats_deinit(cli_stats_t *stats) { cli_times_deinit(&stats->executions); }

/* Peak memory of this process since exec. getrusage() is only the fallback: Linux keeps ru_maxrss
 * over exec, so that it includes the launching process. */
static uint64_t peak_rss_bytes(void) {
  FILE *file = fopen("/proc/self/status", "re");
  char line[256];
  unsigned long long kib = 0;
  bool found = false;
  struct rusage usage;
  while (file && !found && fgets(line, sizeof line, file))
    found = sscanf(line, "VmHWM: %llu kB", &kib) == 1;
  if (file) fclose(file);
  if (found) return kib * 1024;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_maxrss * 1024;
}

/* Times stay 0 if nothing was executed. */
cli_figures_t cli_stats_figures(const cli_stats_t *stats) {
  const cli_times_t *times = &stats->executions;
  cli_figures_t figures = {.compile_s = stats->compile_s,
                           .read_s = stats->program.read_s,
                           .passes_s = stats->program.passes_s,
                           .plan_s = stats->program.plan_s,
                           .code_s = stats->program.code_s,
                           .executions = times->count,
                           .peak_rss_bytes = peak_rss_bytes(),
                           .arena_bytes = stats->program.arena_bytes,
                           .native_steps = stats->program.native_steps,
                           .generated_steps = stats->program.generated_steps,
                           .reference_steps = stats->program.reference_steps,
                           .copy_steps = stats->program.copy_steps,
                           .code_kernels = stats->program.code_kernels,
                           .code_modules = stats->program.code_modules,
                           .code_modules_cached = stats->program.code_modules_cached,
                           .code_bytes = stats->program.code_bytes,
                           .copies = stats->program.copies};
  if (!times->count) return figures;
  figures.first_s = times->first_s;
  figures.best_s = times->best_s;
  figures.total_s = times->total_s;
  figures.median_s = cli_times_median_s(times);
  figures.steps_per_s = figures.total_s > 0 ? (double)times->count / figures.total_s : 0;
  return figures;
}

/* Members of a JSON object, after others. */
static void print_counts(hr_strbuf_t *text, const cli_figures_t *f, const char *indent) {
  const struct {
    const char *name;
    uint64_t count;
  } counts[] = {{"native_steps", f->native_steps},
                {"generated_steps", f->generated_steps},
                {"reference_steps", f->reference_steps},
                {"copy_steps", f->copy_steps},
                {"code_kernels", f->code_kernels},
                {"code_modules", f->code_modules},
                {"code_modules_cached", f->code_modules_cached},
                {"code_bytes", f->code_bytes},
                {"copies", f->copies}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    hr_strbuf_printf(text, ",\n%s\"%s\": %llu", indent, counts[i].name,
                     (unsigned long long)counts[i].count);
}

/* All figures of one process, or of all together, as members of a JSON object. */
static void print_figures(hr_strbuf_t *text, const cli_figures_t *f, const char *indent) {
  hr_strbuf_printf(text, "%s\"compile_s\": %.9g,\n%s\"read_s\": %.9g,\n%s\"passes_s\": %.9g,\n",
                   indent, f->compile_s, indent, f->read_s, indent, f->passes_s);
  hr_strbuf_printf(text, "%s\"plan_s\": %.9g,\n%s\"code_s\": %.9g,\n", indent, f->plan_s, indent,
                   f->code_s);
  hr_strbuf_printf(text, "%s\"first_s\": %.9g,\n%s\"best_s\": %.9g,\n%s\"median_s\": %.9g,\n",
                   indent, f->first_s, indent, f->best_s, indent, f->median_s);
  hr_strbuf_printf(
      text, "%s\"total_s\": %.9g,\n%s\"executions\": %llu,\n%s\"steps_per_s\": %.9g,\n", indent,
      f->total_s, indent, (unsigned long long)f->executions, indent, f->steps_per_s);
  hr_strbuf_printf(text, "%s\"peak_rss_bytes\": %llu,\n%s\"arena_bytes\": %llu", indent,
                   (unsigned long long)f->peak_rss_bytes, indent,
                   (unsigned long long)f->arena_bytes);
  print_counts(text, f, indent);
}

/* A step takes as long as in the slowest process. */
static cli_figures_t combine_ranks(const cli_figures_t *ranks, int count) {
  cli_figures_t all = ranks[0];
  for (int r = 1; r < count; r++) {
    all.compile_s = fmax(all.compile_s, ranks[r].compile_s);
    all.read_s = fmax(all.read_s, ranks[r].read_s);
    all.passes_s = fmax(all.passes_s, ranks[r].passes_s);
    all.plan_s = fmax(all.plan_s, ranks[r].plan_s);
    all.code_s = fmax(all.code_s, ranks[r].code_s);
    all.first_s = fmax(all.first_s, ranks[r].first_s);
    all.best_s = fmax(all.best_s, ranks[r].best_s);
    all.median_s = fmax(all.median_s, ranks[r].median_s);
    all.total_s = fmax(all.total_s, ranks[r].total_s);
    all.steps_per_s = fmin(all.steps_per_s, ranks[r].steps_per_s);
    if (ranks[r].peak_rss_bytes > all.peak_rss_bytes) all.peak_rss_bytes = ranks[r].peak_rss_bytes;
    if (ranks[r].arena_bytes > all.arena_bytes) all.arena_bytes = ranks[r].arena_bytes;
  }
  return all;
}

/* The whole object: figures of all processes together, then by rank. */
static void cli_stats_print(hr_strbuf_t *text, const cli_figures_t *ranks, int count) {
  cli_figures_t all = combine_ranks(ranks, count);
  hr_strbuf_add_str(text, "{\n");
  print_figures(text, &all, "  ");
  hr_strbuf_printf(text, ",\n  \"processes\": %d,\n  \"per_rank\": [\n", count);
  for (int r = 0; r < count; r++) {
    hr_strbuf_printf(text, "    {\n      \"rank\": %d,\n", r);
    print_figures(text, &ranks[r], "      ");
    hr_strbuf_add_str(text, r + 1 < count ? "\n    },\n" : "\n    }\n");
  }
  hr_strbuf_add_str(text, "  ]\n}\n");
}

hr_status_t cli_stats_write(hlorun_client_t *client, const cli_stats_t *stats, const char *path) {
  int world = hlorun_client_world_size(client);
  cli_figures_t mine = cli_stats_figures(stats);
  void *memory;
  HR_TRY(hr_alloc((size_t)world * sizeof mine, &memory));
  cli_figures_t *all = memory;
  hr_status_t st = hlorun_client_gather(client, &mine, sizeof mine, all);
  if (!st && hlorun_client_rank(client) == 0) {
    hr_strbuf_t text;
    hr_strbuf_init(&text);
    cli_stats_print(&text, all, world);
    st = hr_strbuf_finish(&text);
    if (!st) st = hr_file_write_all(path, text.data, text.size);
    hr_strbuf_deinit(&text);
  }
  hr_free(all);
  return st;
}
