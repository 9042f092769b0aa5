/* SPDX-License-Identifier: MIT */
/*
 * write/options/chmod: parse and apply mode changes as chmod(1) does.
 *
 * A mode string is a list of clauses separated by commas. A clause has a prefix (D:
 * directories, F: all other entries), classes (ugoa), and operations: + - = with
 * permissions (rwxXst) or with a class (u, g or o) whose permissions are copied. Each
 * operation becomes a step.
 */
#include <string.h>

#include "format/metadata.h"
#include "write/options/chmod.h"

#define ALL_BITS   07777u
#define RWX_BITS   0777u
#define SUID_BIT   04000u
#define SGID_BIT   02000u
#define STICKY_BIT 01000u
#define MAX_TEXT   4096

enum mode_scope { SCOPE_ALL, SCOPE_DIRECTORIES, SCOPE_OTHERS };

struct mode_step {
	enum mode_scope scope;
	char operation;	      /* + - = or 0 for an octal mode */
	bool umask;	      /* no class was given: the umask limits the change */
	uint32_t who;	      /* bits of the given classes */
	uint32_t bits;	      /* permissions, for all classes */
	char copy_from;	      /* u g o, or 0 */
	bool x_if_any;	      /* X */
	bool octal_keeps_ids; /* directories keep set-id bits that were not given */
};

static int fail_mode(const char *text, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_INVALID, "invalid mode '%s'", text);
}

static int add_step(struct mode_change *change, struct mode_step step, dwarfs_error **err)
{
	int ret = dw_grow(&change->steps, &change->room, change->count + 1, err);

	if (ret < 0)
		return ret;
	change->steps[change->count++] = step;
	return 0;
}

/* Four digits or fewer set the permissions; directories keep set-id bits unless five
 * digits say otherwise, as chmod does. */
static int parse_octal(const char **at, struct mode_step step, struct mode_change *change,
		       dwarfs_error **err)
{
	const char *start = *at;
	uint32_t value = 0;

	for (; **at >= '0' && **at <= '7'; (*at)++) {
		value = value * 8 + (uint32_t)(**at - '0');
		if (value > ALL_BITS)
			return fail_mode(start, err);
	}
	step.bits = value;
	step.octal_keeps_ids = *at - start < 5;
	return add_step(change, step, err);
}

static uint32_t parse_who(const char **at)
{
	uint32_t who = 0;

	for (;; (*at)++) {
		switch (**at) {
		case 'u':
			who |= SUID_BIT | 0700;
			break;
		case 'g':
			who |= SGID_BIT | 0070;
			break;
		case 'o':
			who |= STICKY_BIT | 0007;
			break;
		case 'a':
			who |= ALL_BITS;
			break;
		default:
			return who;
		}
	}
}

/* Parse the permissions after an operator. */
static void parse_permissions(const char **at, struct mode_step *step)
{
	if (**at == 'u' || **at == 'g' || **at == 'o') {
		step->copy_from = *(*at)++;
		return;
	}
	for (;; (*at)++) {
		switch (**at) {
		case 'r':
			step->bits |= 0444;
			break;
		case 'w':
			step->bits |= 0222;
			break;
		case 'x':
			step->bits |= 0111;
			break;
		case 'X':
			step->x_if_any = true;
			break;
		case 's':
			step->bits |= SUID_BIT | SGID_BIT;
			break;
		case 't':
			step->bits |= STICKY_BIT;
			break;
		default:
			return;
		}
	}
}

static bool is_operator(char c)
{
	return c == '+' || c == '-' || c == '=';
}

static int parse_clause(const char **at, struct mode_change *change, dwarfs_error **err)
{
	struct mode_step step = { .scope = SCOPE_ALL };
	int ret;

	if (**at == 'D' || **at == 'F')
		step.scope = *(*at)++ == 'D' ? SCOPE_DIRECTORIES : SCOPE_OTHERS;
	if (**at >= '0' && **at <= '7')
		return parse_octal(at, step, change, err);
	step.who = parse_who(at);
	step.umask = step.who == 0;
	if (step.umask)
		step.who = ALL_BITS;
	if (!is_operator(**at))
		return fail_mode(*at, err);
	while (is_operator(**at)) {
		struct mode_step next = step;

		next.operation = *(*at)++;
		parse_permissions(at, &next);
		if ((ret = add_step(change, next, err)) < 0)
			return ret;
	}
	return 0;
}

static int parse_clauses(const char *text, struct mode_change *change, dwarfs_error **err)
{
	for (const char *at = text;; at++) {
		int ret = parse_clause(&at, change, NULL);

		if (ret == DWARFS_ERR_NOMEM)
			return dw_fail_nomem(err);
		if (ret < 0 || (*at != ',' && *at != '\0'))
			return fail_mode(text, err);
		if (*at == '\0')
			return 0;
	}
}

int dw_mode_change_parse(const char *text, struct mode_change *change_out,
			 dwarfs_error **err)
{
	struct mode_change change = { 0 };
	int ret;

	if (strlen(text) > MAX_TEXT)
		return dw_fail(err, DWARFS_ERR_INVALID, "invalid mode: too long");
	if (strcmp(text, "norm") == 0)
		text = "ug-st,=Xr";
	if ((ret = parse_clauses(text, &change, err)) < 0) {
		dw_mode_change_free(&change);
		return ret;
	}
	*change_out = change;
	return 0;
}

void dw_mode_change_free(struct mode_change *change)
{
	dw_free(change->steps);
	*change = (struct mode_change){ 0 };
}

/* Permissions of one class, repeated for all three. */
static uint32_t copied(uint32_t mode, char from)
{
	uint32_t bits = from == 'u' ? mode >> 6 : from == 'g' ? mode >> 3 : mode;

	return (bits & 7) * 0111;
}

static uint32_t apply_octal(const struct mode_step *step, uint32_t mode, bool directory)
{
	uint32_t kept = mode & ~ALL_BITS;

	if (directory && step->octal_keeps_ids)
		kept |= mode & (SUID_BIT | SGID_BIT);
	return kept | step->bits;
}

static uint32_t apply_step(const struct mode_step *step, uint32_t mode, uint32_t umask)
{
	bool directory = (mode & DW_S_IFMT) == DW_S_IFDIR;
	uint32_t bits = step->bits, who = step->who, clear = step->who;

	if (step->operation == 0)
		return apply_octal(step, mode, directory);
	if (step->copy_from)
		bits = copied(mode, step->copy_from);
	if (step->x_if_any && (directory || (mode & 0111)))
		bits |= 0111;
	if (step->umask)
		who &= ~(umask & RWX_BITS);
	bits &= who;
	if (step->operation == '+')
		return mode | bits;
	if (step->operation == '-')
		return mode & ~bits;
	/* A directory keeps set-id bits that were not named, as with chmod. */
	if (directory)
		clear &= ~((SUID_BIT | SGID_BIT) & ~step->bits);
	return (mode & ~clear) | bits;
}

uint32_t dw_mode_change_apply(const struct mode_change *change, uint32_t mode,
			      uint32_t umask)
{
	bool directory = (mode & DW_S_IFMT) == DW_S_IFDIR;

	for (size_t i = 0; i < change->count; i++) {
		enum mode_scope scope = change->steps[i].scope;

		if (scope == SCOPE_ALL || directory == (scope == SCOPE_DIRECTORIES))
			mode = apply_step(&change->steps[i], mode, umask);
	}
	return mode;
}
