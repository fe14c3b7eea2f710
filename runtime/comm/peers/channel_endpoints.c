/* Collects the ends of channels of all processes before a program runs. With one program for all
 * ranks each rank lists the ends of all. With several programs (mpmd) each lists its own, and the
 * lists are all-gathered. Only computations reachable from the entry count.
 *
 * An end without source_target_pairs may be restricted by branches on the rank: each rank's
 * program is then walked abstractly (comm_trace.h), and ends that it provably does not reach are
 * dropped. */
#include "comm/peers/channel_endpoints.h"

#include "comm/model/comm_trace.h"
#include "comm/peers/allgather_strings.h"
#include "ops/query/custom_call_table.h"
#include "ops/query/device_assignment.h"

#define WALK_EVENTS \
  1000000 /* most events of all walks; if they need more, ends are taken from the text alone */

/* --- reachable ends ---
 * Where the program does not say who is at the other end of a channel, branches that ask for the
 * rank decide. Each process is followed as far as that can be done; where it cannot, it may come to
 * everything. */

typedef struct passed { /* key of a reachable end */
  const hlo_instr_t *instr;
  int64_t rank;
} passed_t;

static hr_status_t note_passed(endpoint_search_t *search, const hlo_instr_t *instr, int rank) {
  passed_t *key;
  void *old;
  HR_TRY(HR_NEW(search->arena, &key));
  *key = (passed_t){instr, rank};
  return hr_map_put(&search->passed, (hr_str_t){(const char *)key, sizeof *key}, key, &old);
}

static bool may_pass(const endpoint_search_t *search, const hlo_instr_t *instr, int rank) {
  passed_t key = {instr, rank};
  return !search->is_followed ||
         hr_map_get(&search->passed, (hr_str_t){(const char *)&key, sizeof key});
}

static hr_status_t note_trace(endpoint_search_t *search, const comm_trace_t *trace, int rank) {
  for (size_t i = 0; i < trace->events.count; i++) {
    const check_event_t *event = &trace->events.data[i];
    if (event->kind == CHECK_SEND || event->kind == CHECK_RECV)
      HR_TRY(note_passed(search, event->instr, rank));
  }
  return NULL;
}

static hr_status_t follow_ranks(endpoint_search_t *search, int first, int last) {
  comm_analysis_t analysis;
  hr_map_t plans;
  HR_TRY(comm_analysis_init(search->arena, search->plan->module, false, &analysis));
  hr_map_init(&plans);
  check_walk_options_t options = {.sites = &search->sites,
                                  .plans = &plans,
                                  .event_limit = WALK_EVENTS / (uint64_t)(last - first + 1) + 1000};
  const char *reason = NULL;
  hr_status_t st = NULL;
  for (int rank = first; rank <= last && !st && !reason; rank++) {
    comm_trace_t *trace = NULL;
    bool by_rank;
    options.rank = rank;
    st = check_walk(&analysis, &options, &trace, &by_rank, &reason);
    if (!st) st = note_trace(search, trace, rank);
    comm_trace_destroy(trace);
  }
  hr_map_deinit(&plans);
  search->is_followed = !st && !reason;
  return st;
}

/* Finds an end that does not name its peer. */
static hr_status_t find_open_end(endpoint_search_t *search, const hlo_module_t *module,
                                 bool *out_found) {
  const comm_participants_t *site;
  *out_found = false;
  for (size_t c = 0; c < module->computations.count && !*out_found; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count && !*out_found; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      if (!op_is_channel_end(instr)) continue;
      HR_TRY(comm_participants_of(&search->sites, instr, &site));
      *out_found = !site->to;
    }
  return NULL;
}

/* --- ends of channels of a program --- */

bool exec_endpoints_run_on(const endpoint_search_t *search, const hlo_instr_t *instr, int rank) {
  int64_t device = search->is_split ? op_device_of(instr) : -1;
  return device < 0 || device == op_device_of_rank(rank, search->plan->grid.num_partitions);
}

static hr_status_t describe_end(endpoint_search_t *search, const hlo_instr_t *instr,
                                exec_channel_endpoint_t *end) {
  const hlo_shape_t *data =
      instr->op == HLO_SEND ? instr->operands[0]->shape : instr->shape->elements[0];
  const hr_source_t *source = &instr->parent->module->source;
  if (hlo_shape_is_dynamic(data))
    return hlo_unsupported(instr, "data of dynamic sizes on a channel; pad it to its bound first");
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hlo_shape_print(&text, data, false);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_cstr(search->arena, (hr_str_t){text.data, text.size}, &end->shape);
  hr_strbuf_deinit(&text);
  HR_TRY(st);
  end->channel = hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID);
  if (end->channel < 0) end->channel = 0;
  end->sends = instr->op == HLO_SEND;
  return hr_arena_printf(search->arena, &end->location, "%s:%u: %%%.*s",
                         source->path ? source->path : "the program", instr->line,
                         HR_STR_ARGS(instr->name));
}

static hr_status_t add_end(endpoint_search_t *search, const hlo_instr_t *instr) {
  exec_channel_endpoint_t end;
  const comm_participants_t *site;
  int first = search->only_rank < 0 ? 0 : search->only_rank;
  int last = search->only_rank < 0 ? search->sites.world - 1 : search->only_rank;
  HR_TRY(describe_end(search, instr, &end));
  HR_TRY(comm_participants_of(&search->sites, instr, &site));
  const int *peers = end.sends ? site->to : site->from;
  for (int rank = first; rank <= last; rank++) {
    end.rank = rank;
    end.peer = peers ? peers[rank] : EXEC_ANY_PEER;
    if (!exec_endpoints_run_on(search, instr, rank)) continue;
    if (peers ? end.peer >= 0 : may_pass(search, instr, rank)) HR_VEC_PUSH(&search->ends, end);
  }
  return NULL;
}

/* Adds the ends in computations that the entry reaches; processes that a step starts
 * (interpreter.run_parallel) have channels of their own. */
static hr_status_t add_ends(endpoint_search_t *search, const hlo_computation_t *computation) {
  int replicas, partitions;
  if (search->visited[computation->id]) return NULL;
  search->visited[computation->id] = true;
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (op_is_channel_end(instr)) HR_TRY(add_end(search, instr));
    if (instr->called_count && op_parallel_grid(instr, &replicas, &partitions)) continue;
    for (int c = 0; c < instr->called_count; c++) HR_TRY(add_ends(search, instr->called[c]));
  }
  return NULL;
}

/* --- ends of other programs --- */

static void write_ends(hr_strbuf_t *text, const exec_channel_endpoints_t *ends) {
  for (size_t i = 0; i < ends->count; i++) {
    const exec_channel_endpoint_t *end = &ends->data[i];
    hr_strbuf_printf(text, "%ld\t%d\t%d\t%s\t%s\n", (long)end->channel, end->peer, end->sends,
                     end->shape, end->location);
  }
}

static hr_status_t read_ends(hr_arena_t *arena, hr_str_t text, int rank,
                             exec_channel_endpoints_t *ends) {
  int64_t channel, peer, sends;
  hr_str_t shape, location;
  while (exec_next_number(&text, &channel) && exec_next_number(&text, &peer) &&
         exec_next_number(&text, &sends) && exec_next_field(&text, &shape) &&
         exec_next_field(&text, &location)) {
    exec_channel_endpoint_t end = {
        .channel = channel, .rank = rank, .peer = (int)peer, .sends = sends != 0};
    HR_TRY(hr_arena_cstr(arena, shape, &end.shape));
    HR_TRY(hr_arena_cstr(arena, location, &end.location));
    HR_VEC_PUSH(ends, end);
  }
  return NULL;
}

static hr_status_t exchange_ends(endpoint_search_t *search, exec_comm_t *comm) {
  hr_strbuf_t mine;
  const hr_str_t *texts;
  hr_strbuf_init(&mine);
  write_ends(&mine, &search->ends);
  hr_status_t st = exec_exchange(comm, search->arena, &mine, &texts);
  hr_strbuf_deinit(&mine);
  HR_TRY(st);
  search->ends.count = 0;
  for (int r = 0; r < search->sites.world; r++)
    HR_TRY(read_ends(search->arena, texts[r], r, &search->ends));
  return NULL;
}

/* --- the search --- */

hr_status_t exec_endpoints_find(endpoint_search_t *search, exec_comm_t *comm, bool mpmd) {
  const hlo_module_t *module = search->plan->module;
  int rank = comm->groups->endpoint->rank, world = search->sites.world;
  bool is_open;
  search->is_split = op_is_split_by_device(module);
  search->only_rank = mpmd ? rank : -1;
  HR_TRY(find_open_end(search, module, &is_open));
  if (is_open && world > 1 && mpmd) HR_TRY(follow_ranks(search, rank, rank));
  if (is_open && world > 1 && !mpmd) HR_TRY(follow_ranks(search, 0, world - 1));
  HR_TRY(HR_NEW_ARRAY(search->arena, module->computations.count, &search->visited));
  HR_TRY(add_ends(search, module->entry));
  return mpmd ? exchange_ends(search, comm) : NULL;
}

void exec_endpoints_init(endpoint_search_t *search, hr_arena_t *arena, const plan_t *plan) {
  *search = (endpoint_search_t){.arena = arena, .plan = plan};
  comm_participant_sets_init(&search->sites, arena, plan->grid.num_replicas,
                             plan->grid.num_partitions);
  hr_map_init(&search->passed);
}

void exec_endpoints_deinit(endpoint_search_t *search) {
  comm_participant_sets_deinit(&search->sites);
  hr_map_deinit(&search->passed);
  HR_VEC_FREE(&search->ends);
}
