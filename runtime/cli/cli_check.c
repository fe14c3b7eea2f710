/* `hlorun check`: reads and verifies programs, and proves that their communication completes. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "check/check.h"
#include "cli/cli.h"
#include "cli/cli_sandbox.h"
#include "cli/cli_agree.h"
#include "cli/program/cli_bundle.h"
#include "cli/program/cli_grid.h"
#include "cli/cli_uses.h"
#include "io/gzip.h"
#include "ops/query/replica_groups.h"
#include "ops/rules/verify.h"
#include "partition/program.h"
#include "read/read.h"

typedef struct loaded { /* a program and its ranks */
  const char *path;
  hlo_module_t *module; /* NULL: a library of functions, or not read */
  int function_count;   /* functions of a library */
  uint64_t first_rank, last_rank;
} loaded_t;

typedef HR_VEC(loaded_t) programs_t;

/* --- reading --- */

/* The first constant whose value the printer left out as "{...}"; NULL: none. */
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

static void add_count(hr_strbuf_t *text, size_t count, const char *what, const char *behind) {
  hr_strbuf_printf(text, "%zu %s%s%s", count, what, count == 1 ? "" : "s", behind);
}

/* Adds the grid of the program. The verdict has the grid of the proof. */
static void add_grid(hr_strbuf_t *text, const hr_options_t *options, const hlo_module_t *module) {
  spmd_options_t spmd = cli_grid_partitioning(options, 0);
  bool is_partitioned = module->num_partitions > 1 && spmd_is_partitioned(module);
  if (!is_partitioned && spmd_is_global(module, &spmd)) {
    hr_strbuf_add_str(text, "on global arrays\n");
  } else if (module->replica_count == 1 && module->num_partitions == 1) {
    hr_strbuf_add_str(text, "no grid named\n");
  } else {
    add_count(text, (size_t)module->replica_count, "replica", " of ");
    add_count(text, (size_t)module->num_partitions, "partition", "\n");
  }
}

/* The line that says what was read, and a warning if a constant has no value. */
static void describe(hr_strbuf_t *text, const char *path, const hr_options_t *options,
                     const hlo_module_t *module) {
  size_t instructions = 0;
  for (size_t c = 0; c < module->computations.count; c++)
    instructions += module->computations.data[c]->instrs.count;
  hr_strbuf_printf(text, "%s: valid: ", path);
  add_count(text, instructions, "instruction", " in ");
  add_count(text, module->computations.count, "computation", ", ");
  add_count(text, module->entry->params.count, "parameter", ", ");
  add_grid(text, options, module);
  const hlo_instr_t *elided = find_elided(module);
  if (elided)
    hr_strbuf_printf(text,
                     "%s:%u:%u: warning: the value of constant %.*s was elided when the program "
                     "was printed: it can "
                     "be checked, but not run\n",
                     path, elided->line, elided->column, HR_STR_ARGS(elided->name));
}

/* Uncalled functions never run: their failures are warnings on standard error. */
static void warn_of_function(void *context, hr_str_t function, hr_status_t status) {
  (void)context;
  fprintf(stderr, "warning: @%.*s, which nothing calls, is not valid:\n", HR_STR_ARGS(function));
  hr_status_print(stderr, status);
}

static const stablehlo_doubts_t doubts = {.report = warn_of_function};

/* A program that is refused for `why` may be a library, whose functions are verified instead. */
static hr_status_t verify_library(const char *path, hr_buffer_t *bytes, hr_status_t why,
                                  int *out_functions) {
  if (hr_status_code(why) != HR_INVALID) return why;
  hr_status_t st = read_verify_library(path, bytes, &doubts, out_functions);
  bool is_library = *out_functions >= 0;
  hr_status_release(is_library ? why : st);
  return is_library ? st : why;
}

/* The program, and functions of its file that nothing calls. */
static hr_status_t read_and_verify_file(const char *path, loaded_t *program) {
  hr_buffer_t *bytes;
  HR_TRY(gzip_map_file(path, &bytes));
  hr_status_t st = read_module(path, bytes, &program->module);
  if (st) {
    st = verify_library(path, bytes, st, &program->function_count);
  } else {
    st = hlo_verify(program->module);
    if (!st) st = read_verify_functions(path, bytes, &doubts);
  }
  hr_buffer_release(bytes);
  return st;
}

/* A folder stands for the program in it. */
static hr_status_t read_and_verify(loaded_t *program) {
  hr_arena_t arena;
  const char *inner;
  hr_arena_init(&arena);
  hr_status_t st = cli_bundle_program(&arena, program->path, &inner);
  if (!st) st = read_and_verify_file(inner ? inner : program->path, program);
  hr_arena_deinit(&arena);
  return st;
}

/* The line about a library, which has no schedule to prove. */
static void describe_library(hr_strbuf_t *text, const loaded_t *library) {
  hr_strbuf_printf(text, "%s: valid: a library of ", library->path);
  add_count(text, (size_t)library->function_count, "function", " without an entry\n");
}

/* Reads, verifies and prints one line about the program. */
static hr_status_t load(const hr_options_t *options, loaded_t *program) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_status_t st = read_and_verify(program);
  if (!st && program->module) describe(&text, program->path, options, program->module);
  if (!st && !program->module) describe_library(&text, program);
  if (!st) st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Digits in [from, end), below 2^31 - 1. */
static bool parse_rank(const char *from, const char *end, uint64_t *out_rank) {
  char digits[24];
  size_t size = (size_t)(end - from);
  if (size == 0 || size >= sizeof digits) return false;
  memcpy(digits, from, size);
  digits[size] = 0;
  return hr_parse_u64(digits, out_rank) && *out_rank < INT32_MAX;
}

/* "0-3,6=a.hlo": an entry for each range. */
static hr_status_t parse_program(const char *text, programs_t *programs) {
  const char *equals = strchr(text, '=');
  for (const char *at = text; equals && at < equals;) {
    const char *comma = memchr(at, ',', (size_t)(equals - at)), *end = comma ? comma : equals;
    const char *dash = memchr(at, '-', (size_t)(end - at));
    loaded_t program = {.path = equals + 1};
    if (!parse_rank(at, dash ? dash : end, &program.first_rank)) break;
    program.last_rank = program.first_rank;
    if (dash &&
        (!parse_rank(dash + 1, end, &program.last_rank) || program.last_rank < program.first_rank))
      break;
    HR_VEC_PUSH(programs, program);
    at = comma ? comma + 1 : equals;
    if (!comma) return NULL;
  }
  return hr_error(HR_USAGE, "--program %s: want RANKS=FILE, such as 0-3,6=a.hlo", text);
}

/* Order of first ranks. */
static int compare_programs(const void *a, const void *b) {
  uint64_t x = ((const loaded_t *)a)->first_rank, y = ((const loaded_t *)b)->first_rank;
  return (x > y) - (x < y);
}

/* Programs by --program RANKS=FILE, or as operands, where the position is the rank; not both. */
static hr_status_t list_programs(const hr_options_t *options, programs_t *programs) {
  size_t from = 0;
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_PROGRAM, &from));)
    HR_TRY(parse_program(given->text, programs));
  if (programs->count && options->operands.count)
    return hr_error(HR_USAGE, "%s: no ranks given; use --program RANKS=FILE for every program",
                    options->operands.data[0]);
  for (size_t i = 0; i < options->operands.count; i++)
    HR_VEC_PUSH(programs,
                (loaded_t){.path = options->operands.data[i], .first_rank = i, .last_rank = i});
  if (!programs->count) return hr_error(HR_USAGE, "no program given; see hlorun check --help");
  qsort(programs->data, programs->count, sizeof *programs->data, compare_programs);
  return NULL;
}

/* A file among the first `count` programs; modules are shared by path. Cost: linear. */
static const loaded_t *find_loaded(const programs_t *programs, size_t count, const char *path) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(programs->data[i].path, path) == 0) return &programs->data[i];
  return NULL;
}

/* Loads all programs, each once; the first failure determines the exit code. */
static hr_status_t load_all(const hr_options_t *options, programs_t *programs) {
  hr_status_t first = NULL;
  for (size_t i = 0; i < programs->count; i++) {
    const loaded_t *same = find_loaded(programs, i, programs->data[i].path);
    if (same) {
      programs->data[i].module = same->module;
      continue;
    }
    hr_status_t st = cli_report_now(load(options, &programs->data[i]));
    if (first)
      hr_status_release(st);
    else
      first = st;
  }
  return first;
}

/* --- the grid --- */

typedef struct reach { /* the largest ids that a program names */
  int64_t replica, partition;
} reach_t;

/* Raises *most to the greatest id in the lists. */
static void reach_list(const hlo_int_lists_t *lists, int64_t *most) {
  for (int64_t g = 0; lists && g < lists->count; g++)
    for (int64_t i = 0; i < lists->lists[g].count; i++)
      if (lists->lists[g].data[i] > *most) *most = lists->lists[g].data[i];
}

/* A program without a grid is checked on the smallest one that has the ids of its groups and pairs.
 */
static reach_t reach_of(const hlo_module_t *module) {
  reach_t reach = {0, 0};
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      if (!hlo_op_is(instr->op, OP_COLLECTIVE)) continue;
      bool partitions = op_replica_group_mode(instr) == HLO_GROUP_MODE_CROSS_PARTITION;
      const hlo_groups_t *groups = hlo_attr_groups(instr);
      int64_t *most = partitions ? &reach.partition : &reach.replica;
      if (groups) reach_list(&groups->groups, most);
      reach_list(hlo_attr_lists(instr, HLO_ATTR_SOURCE_TARGET_PAIRS), most);
    }
  return reach;
}

/* Whether the grid has `world` places, without overflow. */
static bool fits_grid(int64_t replicas, int64_t partitions, int64_t world) {
  int64_t product;
  return !__builtin_mul_overflow(replicas, partitions, &product) && product == world;
}

/* Replicas and partitions: those of the options, else of the first program. With ranks given,
 * their number decides. Programs that name no grid get the smallest one that has all ids in
 * them. */
static hr_status_t choose_grid(const hr_options_t *options, programs_t *programs,
                               check_options_t *check) {
  const hlo_module_t *module = programs->data[0].module;
  int64_t replicas = (int64_t)hr_option_int(options, HR_OPTION_NUM_REPLICAS, 0);
  int64_t partitions = (int64_t)hr_option_int(options, HR_OPTION_NUM_PARTITIONS, 0);
  int64_t world = (int64_t)hr_option_int(options, HR_OPTION_PROCESSES, 0);
  bool named = replicas || partitions || module->replica_count > 1 || module->num_partitions > 1;
  bool several = programs->count > 1 || hr_option_is_given(options, HR_OPTION_PROGRAM);
  if (several) world = (int64_t)programs->data[programs->count - 1].last_rank + 1;
  if (!replicas) replicas = module->replica_count;
  if (!partitions) partitions = module->num_partitions;
  if (world && (!named || (several && !fits_grid(replicas, partitions, world)))) {
    replicas = world;
    partitions = 1;
  } else if (!named) {
    reach_t reach = reach_of(module);
    replicas = reach.replica + 1;
    partitions = reach.partition + 1;
  }
  if (replicas > INT32_MAX || partitions > INT32_MAX || replicas * partitions > INT32_MAX / 2)
    return hr_error(HR_USAGE, "a grid of %ld x %ld processes is more than can be checked",
                    (long)replicas, (long)partitions);
  if (world && !fits_grid(replicas, partitions, world))
    return hr_error(HR_USAGE, "%ld replicas x %ld partitions are not %ld processes", (long)replicas,
                    (long)partitions, (long)world);
  if (!several) programs->data[0].last_rank = (uint64_t)(replicas * partitions - 1);
  check->num_replicas = (int)replicas;
  check->num_partitions = (int)partitions;
  return NULL;
}

/* --- pictures and repairs --- */

/* The form of the drawing by the ending of its name. */
static hr_status_t graph_form(const char *path, check_graph_form_t *out_form) {
  static const char *const endings[] = {
      [CHECK_GRAPH_DOT] = ".dot", [CHECK_GRAPH_SVG] = ".svg", [CHECK_GRAPH_HTML] = ".html"};
  const char *dot = strrchr(path, '.');
  for (int form = 0; form < 3; form++)
    if (dot && strcmp(dot, endings[form]) == 0) {
      *out_form = (check_graph_form_t)form;
      return NULL;
    }
  return hr_error(HR_USAGE, "--graph %s: want a name that ends in .dot, .svg or .html", path);
}

/* Writes a whole file; a text that ran out of memory is reported here. */
static hr_status_t write_text(const char *path, const hr_strbuf_t *text) {
  HR_TRY(hr_strbuf_finish(text));
  return hr_file_write_all(path, text->data, text->size);
}

/* Draws the result to the file of --graph, if the option is given. */
static hr_status_t draw(const hr_options_t *options, const check_result_t *result) {
  const char *path = hr_option_text(options, HR_OPTION_GRAPH);
  check_graph_form_t form = CHECK_GRAPH_DOT;
  hr_strbuf_t text;
  if (!path) return NULL;
  HR_TRY(graph_form(path, &form));
  hr_strbuf_init(&text);
  hr_status_t st = check_graph(&text, result, form);
  if (!st) st = write_text(path, &text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Adds one line: the move, and the orders that then complete. */
static void suggest(hr_strbuf_t *text, const programs_t *programs, const check_fix_t *fix) {
  hr_strbuf_printf(text, "suggestion: move %%%.*s of %s before %%%.*s: then %s\n",
                   HR_STR_ARGS(fix->moved->name), programs->data[fix->program].path,
                   HR_STR_ARGS(fix->before->name),
                   fix->all_orders ? "all orders complete" : "the planned order completes");
}

/* Writes all programs to the folder under their own names, so that the folder can be checked as it
 * is; only one has a moved instruction. */
static hr_status_t write_fixed(hr_arena_t *arena, const char *folder, const programs_t *programs,
                               const check_program_t *list, const check_fix_t *fix) {
  HR_TRY(hr_folder_make(folder));
  for (size_t i = 0; i < programs->count; i++) {
    const char *slash = strrchr(programs->data[i].path, '/'), *path;
    check_fix_t here = *fix;
    hr_strbuf_t text;
    if ((int)i != fix->program) here.moved = NULL;
    here.program = (int)i;
    HR_TRY(
        hr_arena_printf(arena, &path, "%s/%s", folder, slash ? slash + 1 : programs->data[i].path));
    hr_strbuf_init(&text);
    hr_status_t st = check_fixed_text(list, &here, &text);
    if (!st) st = write_text(path, &text);
    hr_strbuf_deinit(&text);
    HR_TRY(st);
  }
  return NULL;
}

/* Looks for a single move that ends the deadlock. The suggestion is printed in any case, files are
 * written with --fix only. */
static hr_status_t repair(hr_arena_t *arena, const hr_options_t *options,
                          const programs_t *programs, const check_program_t *list,
                          const check_options_t *check, const check_result_t *result) {
  const char *folder = hr_option_text(options, HR_OPTION_FIX);
  check_fix_t fix;
  bool found = false;
  hr_strbuf_t text;
  if (check_result_verdict(result) != CHECK_DEADLOCK) return NULL;
  HR_TRY(check_find_fix(list, (int)programs->count, check, result, &fix, &found));
  hr_strbuf_init(&text);
  if (found)
    suggest(&text, programs, &fix);
  else if (folder)
    hr_strbuf_add_str(&text, "no single move makes it complete: nothing written\n");
  hr_status_t st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st || !found || !folder ? st : write_fixed(arena, folder, programs, list, &fix);
}

/* --- the command --- */

/* Prints the verdict and its reasons to standard output. */
static hr_status_t report(const check_result_t *result) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  check_report(&text, result);
  hr_status_t st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st;
}

/* A global program is proved as what each process runs of it. */
static hr_status_t partition(const hr_options_t *options, programs_t *programs) {
  spmd_options_t spmd = cli_grid_partitioning(options, 0);
  bool several = programs->count > 1 || hr_option_is_given(options, HR_OPTION_PROGRAM);
  return several ? NULL : spmd_run(programs->data[0].module, &spmd);
}

/* One world: proves the schedule of all programs together, then suggests a repair and draws.
 * DISAGREE if the verdict is not sound. */
static hr_status_t prove(hr_arena_t *arena, const hr_options_t *options, programs_t *programs) {
  check_options_t check = {.any_order = hr_option_is_given(options, HR_OPTION_ANY_ORDER)};
  check_program_t *list;
  check_result_t *result;
  uint64_t buffered = hr_option_int(options, HR_OPTION_BUFFERED, 0);
  check.buffered = buffered > UINT32_MAX ? UINT32_MAX : (uint32_t)buffered;
  HR_TRY(partition(options, programs));
  HR_TRY(choose_grid(options, programs, &check));
  HR_TRY(HR_NEW_ARRAY(arena, programs->count, &list));
  for (size_t i = 0; i < programs->count; i++) {
    const loaded_t *program = &programs->data[i];
    list[i] = (check_program_t){program->module, (int)program->first_rank, (int)program->last_rank};
  }
  HR_TRY(check_schedule(list, (int)programs->count, &check, &result));
  hr_status_t st = report(result);
  if (!st) st = repair(arena, options, programs, list, &check, result);
  if (!st) st = draw(options, result);
  if (!st && check_result_verdict(result) != CHECK_SOUND) st = cli_reported(HR_DISAGREE);
  check_result_destroy(result);
  return st;
}

/* True if each program is checked by itself: one names a grid that does not match the number of
 * programs. */
static bool are_separate(const hr_options_t *options, const programs_t *programs) {
  if (hr_option_is_given(options, HR_OPTION_PROGRAM) || programs->count < 2) return false;
  for (size_t i = 0; i < programs->count; i++) {
    const hlo_module_t *module = programs->data[i].module;
    bool named = module->replica_count > 1 || module->num_partitions > 1;
    if (named &&
        !fits_grid(module->replica_count, module->num_partitions, (int64_t)programs->count))
      return true;
  }
  return false;
}

/* Programs of worlds of their own: each is proved by itself. The first failure is the result;
 * later ones have been printed. */
static hr_status_t prove_each(hr_arena_t *arena, const hr_options_t *options,
                              const programs_t *programs) {
  hr_status_t first = NULL;
  for (size_t i = 0; i < programs->count; i++) {
    loaded_t one = programs->data[i];
    programs_t alone = {.data = &one, .count = 1, .capacity = 1};
    one.first_rank = 0;
    one.last_rank = 0;
    hr_status_t st = cli_report_now(prove(arena, options, &alone));
    if (first)
      hr_status_release(st);
    else
      first = st;
  }
  return first;
}

/* Libraries have no part in a proof: any among several programs is refused. */
static hr_status_t check_libraries(const programs_t *programs, bool *out_library) {
  *out_library = false;
  for (size_t i = 0; i < programs->count; i++) {
    if (programs->data[i].module) continue;
    *out_library = true;
    if (programs->count > 1)
      return hr_error(HR_INVALID, "%s: a library of functions without an entry, want a program",
                      programs->data[i].path);
  }
  return NULL;
}

/* The name of the drawing is checked before programs are read, since a proof may take long.
 * Modules shared by path are destroyed once. */
hr_status_t cli_check(const cli_arguments_t *arguments) {
  const hr_options_t *options = &arguments->options;
  programs_t programs = {0};
  check_graph_form_t form;
  bool is_library;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_mem_any_machine(true); /* nothing runs here */
  hr_status_t st = cli_sandbox_enter(options);
  if (!st) st = list_programs(options, &programs);
  if (!st && hr_option_text(options, HR_OPTION_GRAPH))
    st = graph_form(hr_option_text(options, HR_OPTION_GRAPH), &form);
  if (!st) st = load_all(options, &programs);
  if (!st) st = cli_uses_check_read(options, programs.data[0].path);
  if (!st) st = check_libraries(&programs, &is_library);
  if (!st && !is_library && are_separate(options, &programs))
    st = prove_each(&arena, options, &programs);
  else if (!st && !is_library)
    st = prove(&arena, options, &programs);
  for (size_t i = 0; i < programs.count; i++)
    if (!find_loaded(&programs, i, programs.data[i].path))
      hlo_module_destroy(programs.data[i].module);
  HR_VEC_FREE(&programs);
  hr_arena_deinit(&arena);
  return st;
}
