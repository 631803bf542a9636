/* SPDX-License-Identifier: Apache-2.0
 *
 * The abstract syntax of Sonde.
 *
 * One node type with a union, so that passes are tables indexed by kind.  Each
 * node has a dense id: what a pass finds out about a node stands in its own array
 * of ast->n_nodes items, not here; only names are resolved in place (scope.h).
 * Several files (the program, lib) share one Ast, so ids are unique over all.
 * The tree of a text with errors is never given to later passes.
 *
 * Ownership: nodes, names and texts live in the Ast's arena; source texts are
 * borrowed.
 */
#ifndef SONDE_LANG_AST_H
#define SONDE_LANG_AST_H

#include "lang/token.h"

typedef struct Node Node;
typedef struct Var Var;	    /* scope.h */
typedef struct Scope Scope; /* scope.h */

typedef struct Nodes {
	Node **p;
	uint32_t n;
} Nodes;

/* kind, union member, meaning */
#define NODE_EXPRS(X)                                                                                        \
	X(INT, i, "int literal; unit is NULL or a size")                                                     \
	X(FLOAT, f, "float literal")                                                                         \
	X(DURATION, i, "duration literal, in ns")                                                            \
	X(BOOL, i, "True (1), False (0)")                                                                    \
	X(NONE, i, "None")                                                                                   \
	X(STR, s, "string literal; neighbours are joined")                                                   \
	X(BYTES, s, "bytes literal")                                                                         \
	X(FSTRING, list, "items are STR and FIELD")                                                          \
	X(FIELD, field, "{value!conv:spec} of an f-string; the text of {x=} stands in a STR before it")      \
	X(NAME, name, "a variable, function, built-in, layer, ...")                                          \
	X(LIST, list, "[a, b]")                                                                              \
	X(TUPLE, list, "a, b")                                                                               \
	X(SET, list, "{a, b}")                                                                               \
	X(DICT, list, "{k: v}: items are k, v, k, v, ...")                                                   \
	X(LISTCOMP, comp, "[value for ...]")                                                                 \
	X(SETCOMP, comp, "{value for ...}")                                                                  \
	X(DICTCOMP, comp, "{key: value for ...}")                                                            \
	X(GENEXP, comp, "(value for ...), an argument")                                                      \
	X(UNARY, unary, "op: UnOp")                                                                          \
	X(BINARY, binary, "op: BinOp")                                                                       \
	X(BOOLOP, binary, "op: OP_BOOL_AND, OP_BOOL_OR; right may not be evaluated")                         \
	X(COMPARE, compare, "a < b <= c: each operand is evaluated once, the rest only while true")          \
	X(COND, cond, "then if test else orelse")                                                            \
	X(CALL, call, "fn(args)")                                                                            \
	X(ATTR, attr, "obj.name")                                                                            \
	X(INDEX, index, "obj[index]; index may be a SLICE or, for several, a TUPLE")                         \
	X(SLICE, slice, "lo:hi:step, each may be NULL; only as INDEX's index")                               \
	X(LAMBDA, func, "lambda params: value; only as an argument")                                         \
	X(BAD, i, "what could not be read; never in a tree without errors")

#define NODE_STMTS(X)                                                                                        \
	X(EXPR, expr, "an expression as a statement: calls, declarations, docstrings")                       \
	X(ASSIGN, assign, "targets = value; several for a = b = value")                                      \
	X(ANNOTATE, annotate, "target: type = value; value may be NULL")                                     \
	X(AUGMENT, augment, "target op= value; op: BinOp")                                                   \
	X(IF, branch, "orelse is empty, an `elif` (one IF) or an `else`")                                    \
	X(WHILE, branch, "orelse: run when the test fails, not after break")                                 \
	X(FOR, loop, "for target in iter: body; else: orelse")                                               \
	X(BREAK, i, "")                                                                                      \
	X(CONTINUE, i, "")                                                                                   \
	X(PASS, i, "")                                                                                       \
	X(RETURN, expr, "value may be NULL")                                                                 \
	X(DEF, func, "def name(params) -> ret: body")                                                        \
	X(PARAM, param, "param name: type = value, given by the caller")                                     \
	X(RESULT, result, "result Name(field: type label, ...), lib only")

#define NODE_PARTS(X)                                                                                        \
	X(TYPE, type, "a type in an annotation")                                                             \
	X(MODULE, module, "a file")

#define NODE_KINDS(X) NODE_EXPRS(X) NODE_STMTS(X) NODE_PARTS(X)

#define NODE_ENUM_(id, ...) N_##id,
typedef enum NodeKind { NODE_KINDS(NODE_ENUM_) N_COUNT } NodeKind;

/* id, text, precedence (higher binds closer) */
#define BIN_OPS(X)                                                                                           \
	X(ADD, "+", 10)                                                                                      \
	X(SUB, "-", 10) X(MUL, "*", 11) X(DIV, "/", 11) X(FLOOR, "//", 11) X(MOD, "%", 11) X(POW, "**", 13)  \
		X(AND, "&", 8) X(OR, "|", 6) X(XOR, "^", 7) X(SHL, "<<", 9) X(SHR, ">>", 9)                  \
			X(BOOL_AND, "and", 2) X(BOOL_OR, "or", 1)

#define OP_ENUM_(id, ...) OP_##id,
typedef enum BinOp { BIN_OPS(OP_ENUM_) OP_N } BinOp;

#define UN_OPS(X)	  X(NEG, "-") X(POS, "+") X(INV, "~") X(NOT, "not")
#define UN_ENUM_(id, ...) UN_##id,
typedef enum UnOp { UN_OPS(UN_ENUM_) UN_N } UnOp;

#define CMP_OPS(X)                                                                                           \
	X(EQ, "==")                                                                                          \
	X(NE, "!=") X(LT, "<") X(LE, "<=") X(GT, ">") X(GE, ">=") X(IN, "in") X(NOT_IN, "not in")            \
		X(IS_NONE, "is") X(IS_NOT_NONE, "is not")
#define CMP_ENUM_(id, ...) CMP_##id,
typedef enum CmpOp { CMP_OPS(CMP_ENUM_) CMP_N } CmpOp; /* after IS_NONE, IS_NOT_NONE stands a NONE node */

/* One link of a COMPARE: op right */
typedef struct CmpLink {
	CmpOp op;
	Node *right;
} CmpLink;

typedef struct Arg {
	const Sym *name; /* NULL: by position */
	Node *value;
	Span span; /* name included */
} Arg;

typedef struct Param {
	const Sym *name;
	Node *type; /* TYPE or NULL */
	Node *dflt; /* or NULL */
	Var *var;   /* set by scope */
	Span span;  /* of the name */
} Param;

/* One `for` or `if` of a comprehension. */
typedef struct Clause {
	Node *target; /* NULL: an `if` */
	Node *value;  /* what is iterated, or the condition */
} Clause;

typedef struct ResultItem {
	const Sym *name;
	Node *type;
	const Sym *label; /* "clean", "measured" or NULL: content */
	Span span;
} ResultItem;

/* What a NAME stands for; set by scope. */
typedef enum RefKind {
	REF_NONE,
	REF_VAR,     /* .var */
	REF_FUNC,    /* .node: DEF */
	REF_RESULT,  /* .node: RESULT */
	REF_BUILTIN, /* .index: BuiltinFunc */
	REF_PROTO,   /* .index: WireId */
	REF_OPTION,  /* .option: constructor of an option, MSS(1460); .index: WireId << 8 | row */
	REF_DECL,    /* .index: DeclWord: budget, reach, ... */
} RefKind;

/* Of what kind the value of a call is where it is absent; set by facts. */
typedef enum AbsentKind { ABSENT_NONE, ABSENT_DURATION, ABSENT_TIME, ABSENT_FLOAT, ABSENT_DIFFERS } AbsentKind;

struct WireOption;

struct Node {
	uint8_t kind; /* NodeKind */
	uint8_t op;   /* BinOp, UnOp */
	uint8_t file; /* index into Ast.files */
	bool paren;   /* stood in brackets of its own */
	uint32_t id;  /* 1 .. Ast.n_nodes - 1 */
	Span span;
	uint32_t height; /* of the tree below: at most LIMIT_TREE, so that passes may recurse */
	union {
		struct {
			int64_t i;
			const UnitRow *unit;
		};
		double f;
		Str s;
		struct {
			Node *value;
			Node *spec; /* STR or FSTRING, or NULL */
			char conv;  /* 'r', 's' or 0 */
		} field;
		struct {
			const Sym *sym;
			RefKind ref;
			uint32_t index;
			union {
				Var *var;
				Node *node;
				const struct WireOption *option;
			};
		} name;
		Nodes list;
		struct {
			Node *key; /* DICTCOMP */
			Node *value;
			Clause *clause;
			uint32_t n;
		} comp;
		struct {
			Node *value;
		} unary;
		struct {
			Node *left, *right;
		} binary;
		struct {
			Node *left;
			CmpLink *link;
			uint32_t n;
		} compare;
		struct {
			Node *test, *then, *orelse;
		} cond;
		struct {
			Node *fn;
			Arg *arg;
			uint32_t n;
			uint32_t walk;	/* of the checker, that set .absent */
			uint8_t absent; /* AbsentKind: what min and max of nothing are */
		} call;
		struct {
			Node *obj;
			const Sym *sym;
			Span at; /* of the name */
		} attr;
		struct {
			Node *obj, *index;
		} index;
		struct {
			Node *lo, *hi, *step;
		} slice;
		struct {
			const Sym *sym; /* NULL: lambda */
			Param *param;
			uint32_t n;
			Node *ret;   /* TYPE or NULL */
			Nodes body;  /* DEF */
			Node *value; /* LAMBDA */
			Scope *scope;
			Span at; /* of the name */
		} func;
		struct {
			Node *value;
		} expr;
		struct {
			Nodes targets;
			Node *value;
		} assign;
		struct {
			Node *target, *type, *value;
		} annotate;
		struct {
			Node *target, *value;
		} augment;
		struct {
			Node *test;
			Nodes body, orelse;
		} branch;
		struct {
			Node *target, *iter;
			Nodes body, orelse;
		} loop;
		struct {
			const Sym *sym;
			Node *type;  /* or NULL */
			Node *value; /* or NULL: must be given */
			Var *var;
			Span at;
		} param;
		struct {
			const Sym *sym;
			ResultItem *field;
			uint32_t n;
			Span at;
		} result;
		struct {
			const Sym *sym; /* "list", "ip", "None" */
			Nodes args;
			bool optional; /* T?, T | None, Optional[T] */
		} type;
		struct {
			Nodes body;
			Scope *scope;
		} module;
	};
};

/* A name that a refused statement would have brought: by import, or a class. */
typedef struct Foreign {
	const Sym *name;
	Str path; /* "time", "random.randint"; empty: a class */
} Foreign;

typedef struct AstFile {
	Str name; /* for messages */
	Str text;
	bool lib;   /* may say `result` and use `_private` names of lib */
	bool lexed; /* without an error */
	bool whole; /* the tree is that of the text once all errors are mended as they say */
	VEC(Foreign) foreign;
	Node *module;
	Toks toks;
} AstFile;

typedef struct Ast {
	Arena *a;
	Syms syms;
	VEC(AstFile) files; /* [0] is the program */
	uint32_t n_nodes;   /* ids are below */
	uint32_t n_ahead;   /* those below are lib's, which was read first; 0: the program was */
} Ast;

void ast_init(Ast *ast, Arena *a);

/* A new node of the file that is being read. */
Node *ast_node(Ast *ast, NodeKind kind, uint8_t file, Span span);

const char *node_kind_name(NodeKind k);
const char *bin_op_text(BinOp op);
const char *cmp_op_text(CmpOp op);
const char *un_op_text(UnOp op);

/* Calls f for each direct child, in source order (a body's statements too). */
typedef void AstVisit(Node *child, void *ctx);
void ast_each(Node *n, AstVisit *f, void *ctx);

/* A copy of n node pointers. */
Nodes ast_nodes(Ast *ast, Node *const *p, uint32_t n);

/* The tree as an S-expression, without spans: equal texts mean equal trees. */
void ast_dump(const Node *n, Sb *out);

static inline bool node_is_expr(const Node *n)
{
	return n->kind <= N_BAD;
}

#endif
