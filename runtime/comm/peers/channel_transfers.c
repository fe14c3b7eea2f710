/* send, recv and their dones over the transport. Each send or recv instruction is resolved to a
 * route when the program is loaded; at run time a start looks up its route, posts the transfer
 * and records it under a handle, which is the value of the start's u32 element. The done finds
 * the request by the handle and waits.
 *
 * Tuples travel as one message of several blocks. A rank without a partner in the pairs sends
 * nothing and receives zeros. Transfers without a done are completed, or cancelled, when the
 * execution ends. */
#include "comm/peers/channel_transfers.h"

#include <string.h>

#include "base/mem.h"
#include "comm/peers/channel_endpoints.h"
#include "comm/peers/pending_transfers.h"
#include "ops/query/device_assignment.h"
#include "ops/query/host_transfer.h"
#include "transport/core/progress.h"
#include "transport/core/tp_channel.h"

#define INLINE_BLOCKS 8 /* longest list that lives on the C stack */

struct exec_channels {
  exec_comm_t *comm;
  const plan_t *plan;
  int rank;
  hr_arena_t arena;
  hr_map_t peers; /* channel_peer_t by instruction */
  exec_pending_t pending;
};

/* The route of one send or recv instruction in this process. */
typedef struct channel_peer {
  const hlo_instr_t *instr;          /* the key */
  const exec_channel_route_t *route; /* NULL: no peer */
} channel_peer_t;

/* --- routes of instructions --- */

static const exec_channel_route_t *route_of(const endpoint_search_t *search,
                                            const exec_channel_routes_t *routes,
                                            const hlo_instr_t *instr,
                                            const comm_participants_t *site, int rank) {
  bool sends = instr->op == HLO_SEND;
  const int *peers = sends ? site->to : site->from;
  if (!exec_endpoints_run_on(search, instr, rank) || (peers && peers[rank] < 0)) return NULL;
  if (peers)
    return exec_channel_routes_get(routes, site->channel, sends ? rank : peers[rank],
                                   sends ? peers[rank] : rank);
  for (size_t i = 0; i < routes->count; i++)
    if (routes->list[i].channel == site->channel &&
        (sends ? routes->list[i].from : routes->list[i].to) == rank)
      return &routes->list[i];
  return NULL;
}

static hr_status_t store_peer(exec_channels_t *channels, endpoint_search_t *search,
                              const exec_channel_routes_t *routes, const hlo_instr_t *instr) {
  const comm_participants_t *site;
  channel_peer_t *peer;
  HR_TRY(comm_participants_of(&search->sites, instr, &site));
  HR_TRY(HR_NEW(&channels->arena, &peer));
  peer->instr = instr;
  peer->route = route_of(search, routes, instr, site, channels->rank);
  if (peer->route && peer->route->number >= TP_CHANNEL_COUNT)
    return hlo_unsupported(instr, "more than %u channels between two processes", TP_CHANNEL_COUNT);
  return hr_map_put(&channels->peers, (hr_str_t){(const char *)&peer->instr, sizeof instr}, peer,
                    NULL);
}

static hr_status_t store_peers(exec_channels_t *channels, endpoint_search_t *search,
                               const exec_channel_routes_t *routes) {
  const hlo_module_t *module = channels->plan->module;
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; search->visited[c] && i < computation->instrs.count; i++)
      if (op_is_channel_end(computation->instrs.data[i]))
        HR_TRY(store_peer(channels, search, routes, computation->instrs.data[i]));
  }
  return NULL;
}

static hr_status_t find_peers(exec_channels_t *channels, endpoint_search_t *search, bool mpmd) {
  exec_channel_routes_t routes;
  HR_TRY(exec_endpoints_find(search, channels->comm, mpmd));
  HR_TRY(exec_channel_routes_find(&channels->arena, &search->plan->grid, search->ends.data,
                                  search->ends.count, &routes));
  return store_peers(channels, search, &routes);
}

/* --- transfers --- */

static bool is_with_host(const hlo_instr_t *instr) {
  return hlo_attr_bool(instr, HLO_ATTR_IS_HOST_TRANSFER);
}

static const exec_channel_route_t *find_route(exec_channels_t *channels, const hlo_instr_t *instr) {
  const channel_peer_t *peer =
      hr_map_get(&channels->peers, (hr_str_t){(const char *)&instr, sizeof instr});
  return peer ? peer->route : NULL;
}

bool exec_channels_peer(exec_channels_t *channels, const hlo_instr_t *instr, int *out_peer,
                        uint32_t *out_number) {
  const exec_channel_route_t *route = find_route(channels, instr);
  if (!route || is_with_host(instr)) return false;
  *out_peer = instr->op == HLO_SEND ? route->to : route->from;
  *out_number = route->number;
  return true;
}

/* The arrays of a value, as blocks of one message. */
static hr_status_t list_blocks(op_env_t *env, const hlo_value_t *value,
                               hr_block_t inline_blocks[INLINE_BLOCKS], hr_block_t **out_blocks,
                               int *out_count) {
  int leaves = hlo_value_leaf_count(value), count = 0;
  hr_block_t *blocks = inline_blocks;
  if (leaves > INLINE_BLOCKS) HR_TRY(HR_NEW_ARRAY(env->scratch, leaves, &blocks));
  for (int i = 0; i < leaves; i++) {
    const hlo_value_t *leaf = hlo_value_leaf((hlo_value_t *)value, i);
    if (leaf->data && hlo_value_bytes(leaf))
      blocks[count++] = (hr_block_t){leaf->data, hlo_value_bytes(leaf)};
  }
  *out_blocks = blocks;
  *out_count = count;
  return NULL;
}

/* A transfer with the host has ended when this returns: its done waits for nothing. */
static hr_status_t transfer_with_host(const hlo_instr_t *instr, hlo_value_t *value) {
  const host_transfers_t *host = host_transfers_current();
  if (!host)
    return hlo_unsupported(
        instr,
        "transfers to and from the host are not connected to anything; infeed and outfeed are");
  if (hlo_value_leaf_count(value) != 1)
    return hlo_unsupported(instr, "transfers of tuples with the host");
  const hlo_value_t *leaf = hlo_value_leaf(value, 0);
  host_transfer_fn transfer = instr->op == HLO_SEND ? host->send : host->recv;
  return transfer(host->context, hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID), leaf->data,
                  hlo_value_bytes(leaf));
}

/* Starts the transfer of a send or recv; `value` is its source or its destination, held by the
 * caller until transfer_done. *out_handle 0: there is no process at the other end, and nothing was
 * started. */
static hr_status_t start_transfer(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                                  uint32_t *out_handle) {
  exec_channels_t *channels = env->channels;
  tp_groups_t *groups = channels->comm->groups;
  hr_block_t inline_blocks[INLINE_BLOCKS], *blocks;
  tp_request_t *request;
  int count;
  *out_handle = 0;
  if (is_with_host(instr)) return transfer_with_host(instr, value);
  const exec_channel_route_t *route = find_route(channels, instr);
  if (!route) return NULL;
  bool sends = instr->op == HLO_SEND;
  int peer = sends ? route->to : route->from;
  HR_TRY(tp_progress_begin(groups));
  HR_TRY(exec_pending_reserve(&channels->pending));
  HR_TRY(list_blocks(env, value, inline_blocks, &blocks, &count));
  if (sends)
    HR_TRY(tp_channel_send(groups, peer, route->number, blocks, count, &request));
  else
    HR_TRY(tp_channel_recv(groups, peer, route->number, blocks, count, &request));
  const exec_transfer_t transfer = {
      .request = (op_request_t *)request, .value = value, .instr = instr, .peer = peer};
  *out_handle = exec_pending_keep(&channels->pending, transfer);
  return NULL;
}

static hr_status_t recv_value(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *into,
                              uint32_t *out_handle) {
  HR_TRY(start_transfer(env, instr, into, out_handle));
  if (!*out_handle && !is_with_host(instr)) hlo_value_clear(into);
  return NULL;
}

static hr_status_t finish_transfer(exec_channels_t *channels, exec_transfer_t *transfer) {
  const hlo_instr_t *start = transfer->instr;
  int peer = transfer->peer;
  channels->comm->awaited_instr = start;
  channels->comm->awaited_rank = peer;
  channels->comm->is_waiting = true;
  hr_status_t st = tp_request_wait((tp_request_t *)transfer->request);
  channels->comm->awaited_instr = NULL;
  channels->comm->awaited_rank = -1;
  channels->comm->is_waiting = false;
  exec_pending_remove(&channels->pending, transfer);
  return hr_status_note(st, "while waiting for rank %d to %s on channel %ld what %%%.*s %s", peer,
                        start->op == HLO_SEND ? "receive" : "send",
                        (long)hlo_attr_int(start, HLO_ATTR_CHANNEL_ID), HR_STR_ARGS(start->name),
                        start->op == HLO_SEND ? "sends" : "receives");
}

static hr_status_t transfer_done(op_env_t *env, const hlo_instr_t *instr, uint32_t handle) {
  (void)instr;
  exec_channels_t *channels = env->channels;
  exec_transfer_t *transfer = exec_pending_find(&channels->pending, handle);
  return transfer ? finish_transfer(channels, transfer) : NULL;
}

hr_status_t exec_channels_end(exec_channels_t *channels, hr_status_t st) {
  for (exec_transfer_t *transfer; (transfer = exec_pending_any(&channels->pending));) {
    if (!st) {
      st = finish_transfer(channels, transfer);
      continue;
    }
    tp_request_cancel((tp_request_t *)transfer->request);
    exec_pending_remove(&channels->pending, transfer);
  }
  return st;
}

/* --- creation and destruction --- */

hr_status_t exec_channels_create(const exec_channels_options_t *options,
                                 exec_channels_t **out_channels) {
  void *memory;
  hr_arena_t scratch;
  HR_TRY(hr_alloc_zeroed(sizeof(exec_channels_t), &memory));
  exec_channels_t *channels = memory;
  channels->comm = options->comm;
  channels->plan = options->plan;
  channels->rank = options->comm->groups->endpoint->rank;
  hr_arena_init(&channels->arena);
  hr_map_init(&channels->peers);
  hr_arena_init(&scratch);
  endpoint_search_t search;
  exec_endpoints_init(&search, &scratch, options->plan);
  hr_status_t st = find_peers(channels, &search, options->mpmd);
  exec_endpoints_deinit(&search);
  hr_arena_deinit(&scratch);
  if (st)
    exec_channels_destroy(channels);
  else
    *out_channels = channels;
  return st;
}

void exec_channels_destroy(exec_channels_t *channels) {
  if (!channels) return;
  exec_pending_deinit(&channels->pending);
  hr_map_deinit(&channels->peers);
  hr_arena_deinit(&channels->arena);
  hr_free(channels);
}

static const op_channel_ops_t channel_ops = {
    .send = start_transfer, .recv = recv_value, .transfer_done = transfer_done};

void exec_channels_attach(op_env_t *env, exec_channels_t *channels) {
  env->channels = channels;
  env->channel_ops = &channel_ops;
}
