/* SPDX-License-Identifier: Apache-2.0
 *
 * What a session knows of its peer, as a TlsInfo: what was agreed on, the certificates,
 * and the two verdicts - whether they are the named peer's, and whether this host's
 * trusted roots vouch for them.
 */
#include "tls/inside.h"

#include "base/addr.h"

#include <openssl/x509v3.h>
#include <stdlib.h>

enum {
	FACTS_MEMORY = 1024 * 1024,
	AUTH_LEVEL = 1, /* of a chain that is trusted: 80 bits, so RSA from 1024 on and no MD5 */
	CHAIN_DEPTH = 10,
};

/* ---- texts ---- */

static Str cut(Arena *a, const char *p, size_t n)
{
	if (n > LIMIT_TLS_TEXT)
		n = LIMIT_TLS_TEXT;
	return (Str){ arena_copy(a, p, n), n };
}

static Str cut_c(Arena *a, const char *z)
{
	return z ? cut(a, z, strlen(z)) : (Str){ 0 };
}

/* What was written to a memory BIO, which is freed. */
static Str bio_text(Arena *a, BIO *b)
{
	char *p = NULL;
	long n = b ? BIO_get_mem_data(b, &p) : 0;
	Str s = cut(a, p, n > 0 ? (size_t)n : 0);

	BIO_free(b);
	return s;
}

static Str name_text(Arena *a, const X509_NAME *name)
{
	BIO *b = BIO_new(BIO_s_mem());

	/* RFC 2253, in the certificate's own order, with control characters escaped */
	if (b)
		X509_NAME_print_ex(b, name, 0, (XN_FLAG_ONELINE & ~XN_FLAG_SPC_EQ) & ~(unsigned long)ASN1_STRFLGS_ESC_MSB);
	return bio_text(a, b);
}

static Str serial_text(Arena *a, const X509 *c)
{
	BIGNUM *n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(c), NULL);
	char *hex = n ? BN_bn2hex(n) : NULL;
	Str s = cut_c(a, hex);

	OPENSSL_free(hex);
	BN_free(n);
	return s;
}

static Str key_text(Arena *a, const X509 *c)
{
	EVP_PKEY *key = X509_get0_pubkey(c);
	const char *type = key ? EVP_PKEY_get0_type_name(key) : NULL;

	return type ? str_printf(a, "%s %d", type, EVP_PKEY_get_bits(key)) : STR("unknown");
}

/* ---- times ---- */

/* Days since 1970 of a date of the Gregorian calendar, counted from March on. */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
	y -= m <= 2;
	int64_t era = (y >= 0 ? y : y - 399) / 400, year = y - era * 400;
	int64_t day = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;

	return era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
}

static int64_t time_of(const ASN1_TIME *t)
{
	struct tm tm;

	if (!t || ASN1_TIME_to_tm(t, &tm) != 1)
		return 0;
	return days_of(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday) * 86400 + tm.tm_hour * 3600 + tm.tm_min * 60 +
	       tm.tm_sec;
}

/* ---- subject alternative names (RFC 5280 4.2.1.6) ---- */

static Str ia5(Arena *a, const char *kind, const ASN1_STRING *s)
{
	Str text = cut(a, (const char *)ASN1_STRING_get0_data(s), (size_t)ASN1_STRING_length(s));

	return kind[0] ? cut_c(a, str_printf(a, "%s:%.*s", kind, STR_ARG(text)).p) : text;
}

static Str address(Arena *a, const ASN1_STRING *s)
{
	int n = ASN1_STRING_length(s);
	char text[IP_TEXT];

	if (n != 4 && n != 16)
		return STR("an address of an odd length");
	ip_format(ip_from(n == 4 ? 4 : 6, ASN1_STRING_get0_data(s)), text);
	return cut_c(a, text);
}

static Str general_name(Arena *a, const GENERAL_NAME *g)
{
	switch (g->type) {
	case GEN_DNS:
		return ia5(a, "", g->d.dNSName);
	case GEN_IPADD:
		return address(a, g->d.iPAddress);
	case GEN_URI:
		return ia5(a, "URI", g->d.uniformResourceIdentifier);
	case GEN_EMAIL:
		return ia5(a, "email", g->d.rfc822Name);
	default:
		return STR("a name of another kind");
	}
}

static TlsNames san_of(Arena *a, const X509 *c)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(c, NID_subject_alt_name, NULL, NULL);
	int n = names ? sk_GENERAL_NAME_num(names) : 0;
	TlsNames out = { 0 };

	for (int i = 0; i < n && i < (int)LIMIT_TLS_NAMES; i++)
		vec_push(a, &out, general_name(a, sk_GENERAL_NAME_value(names, i)));
	GENERAL_NAMES_free(names);
	return out;
}

static TlsCert cert_of(Arena *a, const X509 *c)
{
	uint8_t hash[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	X509_digest(c, EVP_sha256(), hash, &n);
	return (TlsCert){ .subject = name_text(a, X509_get_subject_name(c)),
			  .issuer = name_text(a, X509_get_issuer_name(c)),
			  .serial = serial_text(a, c),
			  .key = key_text(a, c),
			  .signature = cut_c(a, OBJ_nid2ln(X509_get_signature_nid(c))),
			  .sha256 = BYTES(arena_copy(a, hash, n), n),
			  .not_before_s = time_of(X509_get0_notBefore(c)),
			  .not_after_s = time_of(X509_get0_notAfter(c)),
			  .san = san_of(a, c) };
}

/* ---- verdicts ---- */

/* RFC 6125 6.4 by OpenSSL; no wildcard within a label, and none for an address. */
static TlsNameOk name_verdict(const TlsSession *s, X509 *leaf)
{
	int r;

	if (!s->name[0])
		return TLS_NAME_NOT_ASKED;
	if (s->name_is_address)
		r = X509_check_ip_asc(leaf, s->name, 0);
	else
		r = X509_check_host(leaf, s->name, strlen(s->name), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL);
	return r == 1 ? TLS_NAME_OK : TLS_NAME_WRONG;
}

static void chain_verdict(TlsSession *s, X509 *leaf, STACK_OF(X509) *chain, TlsInfo *i)
{
	X509_STORE_CTX *c = X509_STORE_CTX_new();
	int error = X509_V_ERR_OUT_OF_MEM;

	if (c && X509_STORE_CTX_init(c, s->core->roots, leaf, chain) == 1) {
		X509_VERIFY_PARAM *p = X509_STORE_CTX_get0_param(c);

		X509_VERIFY_PARAM_set_purpose(p, X509_PURPOSE_SSL_SERVER);
		X509_VERIFY_PARAM_set_auth_level(p, AUTH_LEVEL);
		X509_VERIFY_PARAM_set_depth(p, CHAIN_DEPTH);
		X509_VERIFY_PARAM_set_time(p, (time_t)s->at_s);
		i->trusted = X509_verify_cert(c) == 1;
		error = X509_STORE_CTX_get_error(c);
	}
	if (!i->trusted)
		i->reason = s->core->nroots ? str_c(X509_verify_cert_error_string(error))
					    : STR("this host has no trusted roots");
	X509_STORE_CTX_free(c);
}

static void describe_peer(TlsSession *s, Arena *a, TlsInfo *i)
{
	STACK_OF(X509) *chain = SSL_get_peer_cert_chain(s->ssl);
	X509 *leaf = SSL_get0_peer_certificate(s->ssl);
	int n = chain ? sk_X509_num(chain) : 0;

	i->certs = (uint32_t)n;
	if (!leaf) {
		i->reason = STR("no certificate came");
		return;
	}
	for (int j = 0; j < n && j < (int)LIMIT_TLS_CHAIN; j++)
		vec_push(a, &i->chain, cert_of(a, sk_X509_value(chain, j)));
	i->name = (uint8_t)name_verdict(s, leaf);
	chain_verdict(s, leaf, chain, i);
}

static void describe(TlsSession *s, Arena *a, TlsInfo *i)
{
	const SSL_CIPHER *cipher = SSL_get_current_cipher(s->ssl);
	const unsigned char *alpn = NULL, *ocsp = NULL;
	unsigned n = 0;

	SSL_get0_alpn_selected(s->ssl, &alpn, &n);
	i->alpn = cut(a, (const char *)alpn, n);
	i->ocsp = SSL_get_tlsext_status_ocsp_resp(s->ssl, &ocsp) > 0;
	if (cipher) {
		i->version = cut_c(a, SSL_get_version(s->ssl));
		i->cipher = cut_c(a, SSL_CIPHER_get_name(cipher));
	}
	describe_peer(s, a, i);
}

/* Long certificates lose names before they lose the message. */
static bool put_shorter(Writer *w, TlsInfo *i)
{
	Writer before = *w;

	for (;;) {
		uint32_t most = 0;

		*w = before;
		if (tls_info_put(w, i))
			return true;
		for (uint32_t j = 0; j < i->chain.n; j++) {
			TlsNames *san = &i->chain.p[j].san;

			most = san->n > most ? san->n : most;
			san->n /= 2;
		}
		if (!most && !i->chain.n)
			return false;
		i->chain.n -= !most;
	}
}

bool tls_session_info(TlsSession *s, Writer *w)
{
	void *mem = malloc(FACTS_MEMORY);
	TlsInfo i = { 0 };
	jmp_buf full;
	Arena a;
	bool ok = false;

	if (!mem)
		return false;
	arena_init(&a, mem, FACTS_MEMORY, &full);
	if (setjmp(full) == 0) {
		describe(s, &a, &i);
		ok = put_shorter(w, &i);
	}
	free(mem);
	return ok;
}
