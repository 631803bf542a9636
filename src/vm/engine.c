/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages, time, waiting; the host that the VM sees.
 *
 * Every wait is a loop over engine_step(): one message is read and handled by
 * what concerns the engine itself, then the caller tests its condition.  What
 * goes on in the background (resets of half-open flows) is due in each step.
 */
#include "vm/engine_conn.h"

#include "base/exits.h"

/* ---- start ---- */

static void bucket_init(Bucket *b, const char *name, int64_t rate, double least)
{
	*b = (Bucket){ .rate = (double)rate, .burst = (double)rate / 10, .name = name };
	if (b->burst < least)
		b->burst = least;
	b->tokens = b->burst;
}

Engine *engine_new(Arena *a, Port *port, const EngineConfig *config)
{
	Engine *e = arena_new(a, Engine);

	e->a = a;
	e->port = port;
	e->config = *config;
	e->now_ns = 0;
	e->mark_ns = e->reset_due_ns = NS_NONE;
	e->route_cache.a = e->sent_to.a = e->flow_map.a = e->claims.a = e->live_map.a = a;
	arena_init(&e->spare, arena_alloc(a, SPARE_BYTES), SPARE_BYTES, NULL);
	e->matcher = matcher_new(a);
	e->reasm = reassembler_new(a, &e->warnings);
	e->expert = expert_new(a, &e->warnings);
	e->queue = arena_new_n(a, Queued, LIMIT_SNIFF_QUEUE);
	e->queue_bytes = arena_alloc(a, QUEUE_BYTES);
	bucket_init(&e->pace[PACE_RATE], "rate", config->rate, 1);
	bucket_init(&e->pace[PACE_BYTES], "byte_rate", config->byte_rate, 1514);
	bucket_init(&e->pace[PACE_SYN], "syn_rate", config->syn_rate, 1);
	return e;
}

static Str keep(Engine *e, Bytes b)
{
	return (Str){ arena_copy(e->a, b.p, b.n), b.n };
}

/* RFC 1812 5.3.5: a net's last address, and its first, which old stacks take for it too;
 * RFC 3021: nets of two addresses have none. */
static void note_broadcasts(Engine *e, Ip ip, uint8_t bits)
{
	Ip first, last;

	if (ip.v != 4 || bits > 30)
		return;
	net_range((Net){ ip, bits }, &first, &last);
	matcher_broadcast(e->matcher, first);
	matcher_broadcast(e->matcher, last);
}

static void own_mac(Engine *e, uint64_t number)
{
	Mac mac;

	bits_put(mac.b, 0, 48, number);
	if (number)
		expert_own_mac(e->expert, mac);
}

/* Rows that hold for the run; false: another message. */
static bool take_row(Engine *e, const Msg *m)
{
	switch (m->type) {
	case MSG_PIN:
		vec_push(e->a, &e->pin, (HostPin){ keep(e, m->pin.name), m->pin.addr });
		return true;
	case MSG_IFACE:
		vec_push(e->a, &e->iface,
			 (HostIface){ m->iface.index, keep(e, m->iface.name), m->iface.mac, m->iface.mtu,
				      m->iface.up, m->iface.ether });
		own_mac(e, m->iface.mac);
		return true;
	case MSG_ADDR:
		vec_push(e->a, &e->addr, (HostAddr){ m->addr.iface, m->addr.ip, m->addr.bits });
		note_broadcasts(e, m->addr.ip, m->addr.bits);
		return true;
	case MSG_ROUTE_ROW:
		vec_push(e->a, &e->route,
			 (HostRoute){ { m->route_row.net, m->route_row.bits },
				      m->route_row.gw,
				      m->route_row.src,
				      m->route_row.iface,
				      m->route_row.metric });
		return true;
	case MSG_NEIGH:
		vec_push(e->a, &e->neigh,
			 (HostNeigh){ m->neigh.iface, m->neigh.ip, m->neigh.mac, keep(e, m->neigh.state) });
		return true;
	case MSG_OWN_PORT:
		identity_own(&e->pool, e->a, m->own_port.proto, m->own_port.port, m->own_port.src);
		return true;
	case MSG_RESOLVER:
		vec_push(e->a, &e->resolver, m->resolver.addr);
		return true;
	default:
		return false;
	}
}

static void stopped(Engine *e, const Msg *m)
{
	size_t n =
		m->stop.detail.n < sizeof e->stop_detail - 1 ? m->stop.detail.n : sizeof e->stop_detail - 1;

	if (e->stop)
		return;
	e->stop = m->stop.reason ? m->stop.reason : STOP_ENVIRONMENT;
	memcpy(e->stop_detail, m->stop.detail.p, n);
	e->stop_detail[n] = 0;
}

bool engine_start(Engine *e)
{
	Msg m;

	while (e->port->wait(e->port, &m)) {
		if (take_row(e, &m))
			continue;
		if (m.type == MSG_STOP) {
			stopped(e, &m);
			return false;
		}
		if (m.type == MSG_GO) {
			e->epoch_ns = m.go.epoch;
			e->seed = e->pool.seed = m.go.seed;
			e->limit_ns = m.go.time_limit;
			e->leak = m.go.leak;
			e->measurements = m.go.measurements != 0;
			return true;
		}
	}
	e->gone = true;
	return false;
}

/* ---- time ---- */

int64_t ns_later(int64_t t, int64_t d)
{
	int64_t r;

	return __builtin_add_overflow(t, d, &r) ? INT64_MAX : r;
}

static void clock_to(Engine *e, int64_t t)
{
	if (t > e->now_ns)
		e->now_ns = t;
}

/* ---- messages ---- */

static uint32_t to_u32(uint64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void drops(Engine *e, const Msg *m)
{
	uint64_t capture = m->drops.capture - e->capture_drops, backlog = m->drops.backlog - e->backlog_drops;

	e->capture_drops = m->drops.capture;
	e->backlog_drops = m->drops.backlog;
	warn_add(&e->warnings, WARN_DROPS, WARN_NOBODY, to_u32(capture), "%llu at once", (unsigned long long)capture);
	warn_add(&e->warnings, WARN_BACKLOG, WARN_NOBODY, to_u32(backlog), "%llu at once",
		 (unsigned long long)backlog);
}

/* Time daemons slew by microseconds: no measurement shows that. */
static void stepped(Engine *e, const Msg *m)
{
	int64_t by = m->clock_step.by;

	if (by >= STEP_MS * NS_PER_MS || by <= -STEP_MS * NS_PER_MS)
		warn_add(&e->warnings, WARN_CLOCK, WARN_NOBODY, 1, "by %.3f ms", (double)by / 1e6);
}

/* The gate keeps 64 WAITs; one that is out and comes no later than wake_at is
 * enough, for after each TICK we ask again. */
static void ask_wake(Engine *e, int64_t wake_at)
{
	if (wake_at == NS_NONE)
		return;
	for (uint32_t i = 0; i < e->wakes; i++)
		if (e->wake[i].at <= wake_at)
			return;
	uint32_t id = ++e->request;
	if (e->wakes < WAKES)
		e->wake[e->wakes++] = (Wake){ id, wake_at };
	e->port->emit(e->port, &(Msg){ .type = MSG_WAIT, .wait = { id, wake_at } });
}

static void wake_came(Engine *e, uint32_t id)
{
	for (uint32_t i = 0; i < e->wakes; i++)
		if (e->wake[i].id == id)
			e->wake[i--] = e->wake[--e->wakes];
}

static void handle(Engine *e, const Msg *m)
{
	switch (m->type) {
	case MSG_FRAME:
		clock_to(e, m->frame.rx_ns);
		engine_frame(e, m);
		break;
	case MSG_SENT:
		clock_to(e, m->sent.tx_ns);
		engine_sent(e, m);
		break;
	case MSG_NOTSENT:
		engine_notsent(e, m);
		break;
	case MSG_TICK:
		clock_to(e, m->tick.now);
		e->ticked = m->tick.id;
		wake_came(e, m->tick.id);
		break;
	case MSG_ROUTE_OK:
	case MSG_CLAIMED:
	case MSG_TLS_SAID:
		e->reply = *m;
		e->replied = true;
		break;
	case MSG_DROPS:
		drops(e, m);
		break;
	case MSG_HEADLESS:
		warn_add(&e->warnings, WARN_FRAG_LOST, WARN_NOBODY, 1, "%llu later fragments whose first one never came",
			 (unsigned long long)m->headless.count);
		break;
	case MSG_CLOCK_STEP:
		stepped(e, m);
		break;
	case MSG_STOP:
		stopped(e, m);
		break;
	default:
		take_row(e, m);
	}
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a == NS_NONE ? b : b == NS_NONE || a < b ? a : b;
}

bool engine_step(Engine *e, int64_t wake_at)
{
	Msg m;

	if (e->gone || e->stop)
		return false;
	engine_resets(e, false);
	engine_conn_run(e);
	ask_wake(e, earlier(wake_at, earlier(e->reset_due_ns, engine_conn_wake(e))));
	if (!e->port->wait(e->port, &m)) {
		e->gone = true;
		return false;
	}
	handle(e, &m);
	engine_conn_run(e);
	return !e->stop;
}

bool engine_until(Engine *e, int64_t until_ns)
{
	while (e->now_ns < until_ns)
		if (!engine_step(e, until_ns))
			return false;
	return true;
}

bool engine_refresh(Engine *e)
{
	uint32_t id = ++e->request;

	e->port->emit(e->port, &(Msg){ .type = MSG_NOW, .now = { id } });
	do {
		if (!engine_step(e, NS_NONE))
			return false;
	} while (e->ticked != id);
	return true;
}

static uint32_t reply_id(const Msg *m)
{
	return m->type == MSG_ROUTE_OK ? m->route_ok.id : m->type == MSG_TLS_SAID ? m->tls_said.id : m->claimed.id;
}

bool engine_ask(Engine *e, Msg *m)
{
	uint32_t id = ++e->request;

	if (m->type == MSG_ROUTE)
		m->route.id = id;
	else if (m->type == MSG_TLS_ASK)
		m->tls_ask.id = id;
	else
		m->claim.id = id;
	e->port->emit(e->port, m);
	do {
		e->replied = false;
		if (!engine_step(e, NS_NONE))
			return false;
	} while (!e->replied || reply_id(&e->reply) != id);
	return true;
}

/* ---- stopping ---- */

uint8_t engine_stopped(const Engine *e)
{
	static const uint8_t exits[] = {
		[STOP_INTERRUPTED] = SONDE_EXIT_INTERRUPTED, [STOP_BUDGET] = SONDE_EXIT_BUDGET,
		[STOP_REFUSED] = SONDE_EXIT_POLICY,	     [STOP_POLICY] = SONDE_EXIT_POLICY,
		[STOP_ENVIRONMENT] = SONDE_EXIT_ENVIRONMENT,
	};

	if (!e->stop)
		return e->gone ? SONDE_EXIT_ENVIRONMENT : 0;
	return e->stop < sizeof exits ? exits[e->stop] : SONDE_EXIT_ENVIRONMENT;
}

const char *engine_stop_why(const Engine *e)
{
	return e->stop_detail;
}

bool engine_halt(Engine *e, Vm *vm)
{
	const char *code = e->stop == STOP_BUDGET			       ? "E-BUDGET"
			   : e->stop == STOP_INTERRUPTED		       ? "E-INTERRUPTED"
			   : e->stop == STOP_REFUSED || e->stop == STOP_POLICY ? "E-POLICY"
									       : "E-ENVIRONMENT";

	if (!e->stop)
		return vm_stop(vm, engine_stopped(e), code, "the gate is gone");
	return vm_stop(vm, engine_stopped(e), code, e->stop == STOP_BUDGET ? "the budget is spent: %s" : "%s", e->stop_detail);
}

/* ---- the host ---- */

Ip engine_pin(const Engine *e, Str name)
{
	for (uint32_t i = 0; i < e->pin.n; i++)
		if (str_eq(e->pin.p[i].name, name))
			return e->pin.p[i].ip;
	return (Ip){ 0 };
}

static void host_out(void *ctx, Str text, const ProgTold *told, bool peer)
{
	uint8_t buf[WHENCE_BYTES];
	Engine *e = ctx;

	e->config.sink(e->config.sink_ctx, &(Msg){ .type = MSG_TEXT,
						   .text = { .peer = peer,
							     .label = peer ? TOLD_CONTENT : told->level,
							     .origin = engine_whence(e, told, peer, buf),
							     .text = str_bytes(text) } });
}

static void host_result(void *ctx, uint32_t line, Str type, Str json, const ProgTold *told)
{
	uint8_t buf[WHENCE_BYTES];
	Engine *e = ctx;

	e->config.sink(e->config.sink_ctx, &(Msg){ .type = MSG_RESULT,
						   .result = { .line = line,
							       .label = told->level,
							       .origin = engine_whence(e, told, false, buf),
							       .type = str_bytes(type),
							       .json = str_bytes(json) } });
}

/* A program that only computes sees the end of its time all the same.  A capture file
 * has no such end, and its time stands still while nobody waits. */
static bool host_safe_point(void *ctx, Vm *vm)
{
	Engine *e = ctx;

	return !e->limit_ns || engine_refresh(e) || engine_halt(e, vm);
}

static bool host_pin(void *ctx, Str name, Ip *ret)
{
	*ret = engine_pin(ctx, name);
	return ret->v != 0;
}

static Str host_iface_name(void *ctx, uint16_t index)
{
	const HostIface *i = engine_iface(ctx, index);

	return i ? i->name : STR("?");
}

static BuiltinFn *const net_funcs[BI_N] = {
	[BI_send] = bi_send,
	[BI_sr] = bi_sr,
	[BI_sr1] = bi_sr1,
	[BI_sniff] = bi_sniff,
	[BI_sleep] = bi_sleep,
	[BI_now] = bi_now,
	[BI_changed] = bi_changed,
	[BI_interfaces] = bi_interfaces,
	[BI_routes] = bi_routes,
	[BI_route] = bi_route,
	[BI_neighbors] = bi_neighbors,
	[BI_at_ttl] = bi_at_ttl,
	[BI_own_port] = bi_own_port,
	[BI_mtu] = bi_mtu,
	[BI_icmp_word] = bi_icmp_word,
	[BI_mpls] = bi_mpls,
	[BI_resolver] = bi_resolver,
	[BI_warn] = bi_warn,
	[BI_loss] = bi_loss,
	[BI_jitter] = bi_jitter,
	[BI_fail] = bi_fail,
	[BI_connect] = bi_connect,
	[BI_listen] = bi_listen,
	[BI_datagram] = bi_datagram,
	[BI_load] = bi_load,
	[BI_said] = bi_said,
	[BI_url_host] = bi_url_host,
	[BI_url_port] = bi_url_port,
	[BI_url_tls] = bi_url_tls,
	[BI_url_target] = bi_url_target,
	[BI_url_authority] = bi_url_authority,
	[BI_url_moved] = bi_url_moved,
	[BI_url_upgrade] = bi_url_upgrade,
	[BI_http_head] = bi_http_head,
	[BI_http_read] = bi_http_read,
	[BI_timings] = bi_timings,
	[BI_dns_read] = bi_dns_read,
	[BI_dns_frame] = bi_dns_frame,
};

static uint64_t host_sent(void *ctx)
{
	const Engine *e = ctx;
	uint64_t n = 0;

	for (int i = 0; i < LINES; i++)
		n += e->line[i].sent;
	return n;
}

void engine_leak_used(Engine *e, uint64_t bits)
{
	e->leak_used = bits;
}

void engine_host(Engine *e, VmHost *ret_host)
{
	*ret_host = (VmHost){ .ctx = e, .seed = e->seed, .output_limit = e->config.output_limit };
	ret_host->out = host_out;
	ret_host->result = host_result;
	ret_host->safe_point = host_safe_point;
	ret_host->pin = host_pin;
	ret_host->iface_name = host_iface_name;
	ret_host->func = net_funcs;
	ret_host->method = net_methods;
	ret_host->attr = net_attrs;
	ret_host->set_attr = net_set_attr;
	ret_host->native_text = net_live_text;
	ret_host->leak = e->leak;
	ret_host->measurements = e->measurements;
	ret_host->sent = host_sent;
}

void engine_finish(Engine *e, int exit)
{
	int64_t until = ns_later(e->now_ns, FINISH_WAIT_MS * NS_PER_MS);

	/* a stopped run still resets what it opened: clean-up is outside the budget */
	bool whole = !exit && !e->stop;

	e->finishing = true;
	if (!e->gone) {
		engine_conn_finish(e, whole);
		e->stop = STOP_NONE;
		engine_resets(e, true);
		until = ns_later(e->now_ns, FINISH_WAIT_MS * NS_PER_MS);
		while (e->in_flight && e->now_ns < until && engine_step(e, until))
			;
	}
	reassemble_expire(e->reasm, e->now_ns, true);
	engine_report(e);
	if (!e->gone)
		e->port->emit(e->port, &(Msg){ .type = MSG_END, .end = { (uint8_t)exit } });
}
