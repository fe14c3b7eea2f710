/* `hlorun check`: reads and verifies programs. */
#include "cli/cli.h"
#include "cli/cli_agree.h"
#include "read/read.h"

static const hlo_instr_t *find_elided(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      if (instr->op == HLO_CONSTANT && !instr->literal) return instr;
    }
  }
  return NULL;
}

static void describe(hr_text_t *text, const char *path, const hlo_module_t *module) {
  size_t instructions = 0;
  for (size_t c = 0; c < module->computations.count; c++) instructions += module->computations.data[c]->instrs.count;
  hr_text_printf(text,
                 "%s: valid: %zu instructions in %zu computations, %zu parameters, %lld replicas of %lld partitions\n",
                 path, instructions, module->computations.count, module->entry->params.count,
                 (long long)module->replica_count, (long long)module->num_partitions);
  const hlo_instr_t *elided = find_elided(module);
  if (elided)
    hr_text_printf(text,
                   "%s:%u:%u: warning: the value of constant %.*s was elided when the program was printed: it can "
                   "be checked, but not run\n",
                   path, elided->line, elided->column, HR_STR_ARGS(elided->name));
}

static hr_status_t check_file(const char *path) {
  hlo_module_t *module = NULL;
  hr_text_t text;
  hr_text_init(&text);
  hr_status_t st = read_module_file(path, &module);
  if (!st) st = hlo_verify(module);
  if (!st) describe(&text, path, module);
  if (!st) st = cli_print(&text);
  hr_text_deinit(&text);
  hlo_module_destroy(module);
  return st;
}

/* All programs are looked at; the first failure gives the exit code. */
hr_status_t cli_check(const cli_arguments_t *arguments) {
  const hr_options_t *options = &arguments->options;
  if (!options->operands.count) return hr_error(HR_USAGE, "no program given; see hlorun check --help");
  hr_status_t first = NULL;
  for (size_t i = 0; i < options->operands.count; i++) {
    hr_status_t st = cli_report_now(check_file(options->operands.data[i]));
    if (first)
      hr_status_release(st);
    else
      first = st;
  }
  return first;
}
