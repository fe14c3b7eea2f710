/* The pass pipeline. ONCE passes run in the order of passes.def; a group of consecutive REPEAT
 * passes runs until a round changes nothing (at most MAX_ROUNDS); PEERS passes run only for several
 * processes. After each pass that changed the module: verification, if it is on, and a dump. */
#include "passes/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "ir/print.h"
#include "ops/rules/verify.h"
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

enum {
  MAX_ROUNDS = 12
}; /* most rounds of a group of REPEAT passes, which normally converges much earlier */

typedef enum pass_when { ONCE, REPEAT, PEERS } pass_when_t;

/* Rows of passes.def, in order. */
static const struct pass {
  const char *name;
  pass_when_t when;
  hr_status_t (*run)(hlo_module_t *module, bool *out_changed);
} passes[] = {
#define PASS(id, name, when) {name, when, pass_##id},
#include "passes/passes.def"
#undef PASS
};
enum { PASS_COUNT = sizeof passes / sizeof *passes };

/* Former names, which --stop-after and dumps accept. */
static const struct pass_alias {
  const char *old_name, *name;
} aliases[] = {
#define PASS(id, name, when)
#define PASS_ALIAS(old_name, name) {old_name, name},
#include "passes/passes.def"
#undef PASS
    {NULL, NULL}};

/* One run of the pipeline; `dumped` numbers the dump files. */
typedef struct pipeline {
  hlo_module_t *module;
  const pass_options_t *options;
  int dumped;
  bool verify, stopped;
} pipeline_t;

/* The current name of a pass. */
static const char *resolve_alias(const char *name) {
  for (const struct pass_alias *alias = aliases; alias->old_name; alias++)
    if (!strcmp(alias->old_name, name)) return alias->name;
  return name;
}

bool pass_exists(const char *name) {
  name = resolve_alias(name);
  for (int i = 0; i < PASS_COUNT; i++)
    if (!strcmp(passes[i].name, name)) return true;
  return false;
}

void pass_names_print(hr_strbuf_t *text) {
  for (int i = 0; i < PASS_COUNT; i++)
    hr_strbuf_printf(text, "%s%s", i ? ", " : "", passes[i].name);
}

static bool always_verify(void) {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  const char *text = getenv("HLORUN_VERIFY");
  return text && strcmp(text, "0");
#endif
}

/* Dump files are numbered, so that a listing of the folder shows the order. */
static hr_status_t dump(pipeline_t *pipeline, const char *name) {
  hr_strbuf_t text, path;
  if (!pipeline->options->dump_dir) return NULL;
  HR_TRY(pass_names_settle(pipeline->module));
  hr_strbuf_init(&text);
  hr_strbuf_init(&path);
  hr_strbuf_printf(&path, "%s/%02d_%s.hlo", pipeline->options->dump_dir, pipeline->dumped++, name);
  hlo_print_module(&text, pipeline->module, HLO_PRINT_LONG);
  hr_status_t st = hr_strbuf_finish(&path);
  if (!st) st = hr_strbuf_finish(&text);
  if (!st) st = hr_file_write_all(path.data, text.data, text.size);
  hr_strbuf_deinit(&text);
  hr_strbuf_deinit(&path);
  return st;
}

static hr_status_t verify(const pipeline_t *pipeline, const struct pass *pass) {
  hr_status_t st = pipeline->verify ? hlo_verify(pipeline->module) : NULL;
  if (!st || hr_status_code(st) == HR_NO_MEMORY) return st;
  return hr_status_join(hr_error(HR_INTERNAL, "the pass %s left an invalid program", pass->name),
                        st);
}

static size_t count_instrs(const hlo_module_t *module) {
  size_t count = 0;
  for (size_t c = 0; c < module->computations.count; c++)
    count += module->computations.data[c]->instrs.count;
  return count;
}

static hr_status_t run_pass(pipeline_t *pipeline, const struct pass *pass, bool *out_changed) {
  bool changed = false;
  HR_TRY(pass->run(pipeline->module, &changed));
  HR_TRY(verify(pipeline, pass));
  if (changed) {
    hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "pass %s changed the program: %zu instructions", pass->name,
           count_instrs(pipeline->module));
    HR_TRY(dump(pipeline, pass->name));
  }
  const char *stop = pipeline->options->stop_after;
  pipeline->stopped = stop && !strcmp(resolve_alias(stop), pass->name);
  *out_changed |= changed;
  return NULL;
}

/* Runs passes first .. last - 1 as a group, until they change nothing. */
static hr_status_t run_group(pipeline_t *pipeline, int first, int last) {
  bool changed = true;
  for (int round = 0; round < MAX_ROUNDS && changed; round++) {
    changed = false;
    for (int i = first; i < last; i++) {
      HR_TRY(run_pass(pipeline, &passes[i], &changed));
      if (pipeline->stopped) return NULL;
    }
    if (passes[first].when != REPEAT) break;
  }
  return NULL;
}

static int end_of_group(int first) {
  int last = first + 1;
  while (passes[first].when == REPEAT && last < PASS_COUNT && passes[last].when == REPEAT) last++;
  return last;
}

hr_status_t pass_run_all(hlo_module_t *module, const pass_options_t *options) {
  pipeline_t pipeline = {
      .module = module, .options = options, .verify = options->verify || always_verify()};
  if (options->dump_dir) HR_TRY(hr_folder_make(options->dump_dir));
  HR_TRY(dump(&pipeline, "read"));
  for (int i = 0; i < PASS_COUNT && !pipeline.stopped; i = end_of_group(i))
    if (passes[i].when != PEERS || !options->keep_collectives)
      HR_TRY(run_group(&pipeline, i, end_of_group(i)));
  HR_TRY(pass_computations_order(module));
  return pass_names_settle(module);
}
