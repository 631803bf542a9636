/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/habit.h"

bool habit_expand(Arena *a, const char *pattern, const HabitUse *use, Str *ret)
{
	Sb b = sb(a);

	for (const char *p = pattern; *p; p++) {
		if (*p != '$') {
			sb_char(&b, *p);
			continue;
		}
		p++;
		if (*p == '*') {
			sb_str(&b, use->all);
		} else if (*p == '0') {
			sb_str(&b, use->self);
		} else {
			uint32_t i = (uint32_t)(*p - '1');

			if (i >= use->nargs)
				return false;
			sb_str(&b, use->arg[i]);
		}
	}
	*ret = sb_done(&b);
	return true;
}

static Str source(Str text, Span s)
{
	return (Str){ text.p + s.from, s.to - s.from };
}

HabitUse habit_use_of(Arena *a, Str text, const Node *call)
{
	HabitUse u = { 0 };
	Str *arg = arena_new_n(a, Str, call->call.n + 1);

	for (uint32_t i = 0; i < call->call.n; i++)
		if (!call->call.arg[i].name)
			arg[u.nargs++] = source(text, call->call.arg[i].span);
	u.arg = arg;
	if (call->call.n)
		u.all = source(text, (Span){ call->call.arg[0].span.from,
					     call->call.arg[call->call.n - 1].span.to });
	return u;
}

/* ---- names and modules ---- */

enum { ANY = -1, ATTR = -2 };

/* nargs: how many arguments the pattern is for; ATTR: the name is not called. */
static const struct {
	const char *path;
	int nargs;
	const char *pattern;
} rows[] = {
	/* Python's modules */
	{ "time.sleep", 1, "sleep($1)" },
	{ "time.time", 0, "now()" },
	{ "time.perf_counter", 0, "now()" },
	{ "time.monotonic", 0, "now()" },
	{ "time.process_time", 0, "now()" },
	{ "time.time_ns", 0, "now().ns" },
	{ "datetime.datetime.now", ANY, "now()" },
	{ "datetime.datetime.utcnow", 0, "now()" },
	{ "datetime.now", ANY, "now()" },
	{ "datetime.utcnow", 0, "now()" },
	{ "asyncio.sleep", 1, "sleep($1)" },
	{ "random.randint", 2, "randint($*)" },
	{ "random.randrange", 1, "randint(0, $1 - 1)" },
	{ "random.randrange", 2, "randint($1, $2 - 1)" },
	{ "random.choice", 1, "$1[randint(0, len($1) - 1)]" },
	{ "random.random", 0, "(randint(0, 999999) / 1000000)" },
	{ "random.uniform", 2, "($1 + ($2 - $1) * randint(0, 999999) / 1000000)" },
	{ "random.randbytes", 1, "random_bytes($1)" },
	{ "os.urandom", 1, "random_bytes($1)" },
	{ "secrets.token_bytes", 1, "random_bytes($1)" },
	{ "os._exit", ANY, "exit()" },
	{ "sys.exit", ANY, "exit()" },
	{ "sys.stdout.write", 1, "print($1, end=\"\")" },
	{ "sys.stderr.write", 1, "print($1, end=\"\")" },
	{ "sys.stdout.flush", 0, "pass" },
	{ "logging.info", 1, "print($1)" },
	{ "logging.debug", 1, "print($1)" },
	{ "logging.warning", 1, "print($1)" },
	{ "logging.error", 1, "print($1)" },
	{ "struct.pack", ANY, "pack($*)" },
	{ "struct.unpack", ANY, "unpack($*)" },
	{ "math.sqrt", 1, "($1) ** 0.5" },
	{ "math.floor", 1, "int(($1) // 1)" },
	{ "math.ceil", 1, "-int(-($1) // 1)" },
	{ "math.pi", ATTR, "3.141592653589793" },
	{ "statistics.mean", 1, "summarize($1).avg" },
	{ "statistics.fmean", 1, "summarize($1).avg" },
	{ "statistics.median", 1, "summarize($1).median" },
	{ "statistics.stdev", 1, "summarize($1).stdev" },
	{ "numpy.mean", 1, "summarize($1).avg" },
	{ "numpy.average", 1, "summarize($1).avg" },
	{ "numpy.median", 1, "summarize($1).median" },
	{ "numpy.std", 1, "summarize($1).stdev" },
	{ "numpy.max", 1, "max($1)" },
	{ "numpy.min", 1, "min($1)" },
	{ "numpy.sum", 1, "sum($1)" },
	{ "numpy.array", 1, "$1" },
	{ "ipaddress.ip_address", 1, "ip($1)" },
	{ "ipaddress.IPv4Address", 1, "ip($1)" },
	{ "ipaddress.IPv6Address", 1, "ip($1)" },
	{ "ipaddress.ip_network", ANY, "net($1)" },
	{ "ipaddress.IPv4Network", ANY, "net($1)" },
	{ "ipaddress.IPv6Network", ANY, "net($1)" },
	{ "socket.inet_aton", 1, "ip($1).packed" },
	{ "socket.inet_ntoa", 1, "str(ip($1))" },
	{ "binascii.hexlify", 1, "$1.hex()" },
	{ "binascii.unhexlify", 1, "bytes.fromhex($1)" },
	{ "collections.Counter", 1, "count_by($1)" },
	{ "json.dumps", ANY, "str($1)" },
	/* Python's functions */
	{ "quit", ANY, "exit()" },
	{ "frozenset", 1, "set($1)" },
	{ "bytearray", 1, "bytes($1)" },
	{ "memoryview", 1, "$1" },
	{ "ascii", 1, "repr($1)" },
	{ "pow", 2, "($1) ** ($2)" },
	{ "format", 1, "str($1)" },
	{ "Counter", 1, "count_by($1)" },
	{ "iter", 1, "$1" },
	{ "null", ATTR, "None" },
	{ "nil", ATTR, "None" },
	{ "none", ATTR, "None" },
	{ "NULL", ATTR, "None" },
	{ "undefined", ATTR, "None" },
	{ "true", ATTR, "True" },
	{ "false", ATTR, "False" },
	{ "TRUE", ATTR, "True" },
	{ "FALSE", ATTR, "False" },
	/* Scapy */
	{ "srp", ANY, "sr($*)" },
	{ "srp1", ANY, "sr1($*)" },
	{ "sendp", ANY, "send($*)" },
	{ "sendpfast", ANY, "send($*)" },
	{ "raw", 1, "bytes($1)" },
	{ "hexdump", 1, "print($1.hex())" },
	{ "hexstr", 1, "$1.hex()" },
	{ "linehexdump", 1, "print($1.hex())" },
	{ "chexdump", 1, "print($1.hex())" },
	{ "RandShort", 0, "randint(0, 65535)" },
	{ "RandByte", 0, "randint(0, 255)" },
	{ "RandInt", 0, "randint(0, 4294967295)" },
	{ "RandNum", 2, "randint($1, $2)" },
	{ "getmacbyip", 1, "arp($1).mac" },
	{ "ICMPv6EchoRequest", ANY, "Echo($*)" },
	{ "conf.iface", ATTR, "None" },
};

const char *habit_of_name(Str path, int n)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (str_is(path, rows[i].path) && (n < 0 ? rows[i].nargs == ATTR : rows[i].nargs == n || rows[i].nargs == ANY))
			return rows[i].pattern;
	return NULL;
}
