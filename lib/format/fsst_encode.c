/* SPDX-License-Identifier: MIT */
/*
 * format/fsst_encode: train a symbol table on strings, and compress them with it.
 *
 * Training has several rounds. Each parses a sample with the current table, counts which
 * symbols were used and which followed each other, and makes the next table from the
 * symbols and joined pairs that save most. The best table of all rounds is kept. Strings
 * are parsed into the fewest bytes, not greedily. No randomness, no floating point: the
 * same strings give the same bytes everywhere.
 */
#include <string.h>

#include "base/bytes.h"
#include "format/fsst.h"

#define ROUNDS	       8
#define SAMPLE_BYTES   (128u << 10)
#define SYMBOL_BYTES   8
#define ESCAPE	       255
#define HEADER_BYTES   17
#define VERSION	       UINT32_C(20190218)
#define LITERAL	       256 /* codes of a parse: 256 + byte is a literal */
#define CODES	       (LITERAL + 256)
#define MAX_CANDIDATES 65536

struct symbol {
	uint64_t text; /* first byte lowest, unused bytes 0 */
	uint8_t length;
};

/* Sorted by first byte, longest first. */
struct symbols {
	unsigned count;
	struct symbol list[DW_FSST_MAX_SYMBOLS];
	uint16_t start[257]; /* of symbols with this first byte */
};

struct symbol_candidate {
	struct symbol symbol;
	uint64_t gain;
};

/* 2.6 MB, of which few strings use little, so it is not cleared as a whole: of the pairs, only the
 * rows of used codes are defined. */
struct trainer {
	struct symbols table, best;
	uint64_t best_bytes;
	uint32_t used[CODES];
	uint32_t pairs[CODES][CODES];
	struct symbol_candidate candidates[MAX_CANDIDATES];
	size_t candidate_count;
};

/* The parse of one string: cost[i] is the smallest number of bytes from position i on. */
struct symbol_parser {
	uint32_t *cost;
	uint16_t *code;
	size_t cost_room, code_room;
};

static void free_parser(struct symbol_parser *parser)
{
	dw_free(parser->cost);
	dw_free(parser->code);
}
#define auto_parser __attribute__((cleanup(free_parser)))

static uint64_t mask_of(unsigned length)
{
	return length >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * length)) - 1;
}

/* Up to eight bytes, padded with 0 after the end. */
static uint64_t load_text(const uint8_t *at, size_t left)
{
	uint64_t text = 0;

	if (left >= 8)
		return dw_load64(at);
	for (size_t i = 0; i < left; i++)
		text |= (uint64_t)at[i] << (8 * i);
	return text;
}

static int compare_symbols(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;
	uint8_t x = (uint8_t)a->text, y = (uint8_t)b->text;

	if (x != y)
		return x < y ? -1 : 1;
	if (a->length != b->length)
		return a->length > b->length ? -1 : 1;
	return a->text < b->text ? -1 : a->text > b->text;
}

static void index_symbols(struct symbols *table)
{
	unsigned next = 0;

	qsort(table->list, table->count, sizeof(table->list[0]), compare_symbols);
	for (unsigned byte = 0; byte < 256; byte++) {
		table->start[byte] = (uint16_t)next;
		while (next < table->count && (uint8_t)table->list[next].text == byte)
			next++;
	}
	table->start[256] = (uint16_t)next;
}

/* Find the parse with the fewest bytes; the longer symbol wins a tie. */
static int parse_optimally(struct symbol_parser *parser, const struct symbols *table,
			   struct span string, dwarfs_error **err)
{
	int ret;

	if ((ret = dw_grow(&parser->cost, &parser->cost_room, string.size + 1, err)) <
		    0 ||
	    (ret = dw_grow(&parser->code, &parser->code_room, string.size + 1, err)) < 0)
		return ret;
	parser->cost[string.size] = 0;
	for (size_t i = string.size; i-- > 0;) {
		size_t left = string.size - i;
		uint64_t text = load_text(string.data + i, left);
		uint32_t best = parser->cost[i + 1] + 2;
		uint16_t code = (uint16_t)(LITERAL + string.data[i]);

		for (unsigned s = table->start[string.data[i]];
		     s < table->start[string.data[i] + 1]; s++) {
			const struct symbol *symbol = &table->list[s];
			uint32_t cost;

			if (symbol->length > left ||
			    (text & mask_of(symbol->length)) != symbol->text)
				continue;
			cost = parser->cost[i + symbol->length] + 1;
			if (cost < best) {
				best = cost;
				code = (uint16_t)s;
			}
		}
		parser->cost[i] = best;
		parser->code[i] = code;
	}
	return 0;
}

static unsigned code_length(const struct symbols *table, unsigned code)
{
	return code >= LITERAL ? 1 : table->list[code].length;
}

static struct symbol code_symbol(const struct symbols *table, unsigned code)
{
	if (code >= LITERAL)
		return (struct symbol){ code - LITERAL, 1 };
	return table->list[code];
}

/* Strings of the sample: every stride-th one, so that it covers all of them. */
static size_t sample_stride(const struct span *strings, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += strings[i].size;
	return (size_t)(bytes / SAMPLE_BYTES) + 1;
}

/* Parse the sample: count symbols, pairs of symbols, and compressed bytes. */
static int count_sample(struct trainer *trainer, struct symbol_parser *parser,
			const struct span *strings, size_t count, size_t stride,
			uint64_t *bytes_out, dwarfs_error **err)
{
	uint64_t bytes = 0;
	int ret;

	memset(trainer->used, 0, sizeof(trainer->used));
	for (size_t i = 0; i < count; i += stride) {
		unsigned before = CODES;

		if ((ret = parse_optimally(parser, &trainer->table, strings[i], err)) < 0)
			return ret;
		bytes += parser->cost[0];
		for (size_t at = 0; at < strings[i].size;) {
			unsigned code = parser->code[at];

			if (trainer->used[code]++ == 0)
				memset(trainer->pairs[code], 0,
				       sizeof(trainer->pairs[code]));
			if (before < CODES)
				trainer->pairs[before][code]++;
			before = code;
			at += code_length(&trainer->table, code);
		}
	}
	*bytes_out = bytes;
	return 0;
}

/* A symbol costs its length in the table, so it must save more. */
static void propose(struct trainer *trainer, struct symbol symbol, uint64_t uses)
{
	uint64_t gain = uses * symbol.length;

	if (gain <= symbol.length + 1u || trainer->candidate_count == MAX_CANDIDATES)
		return;
	trainer->candidates[trainer->candidate_count++] =
		(struct symbol_candidate){ symbol, gain };
}

static void propose_all(struct trainer *trainer)
{
	const struct symbols *table = &trainer->table;

	trainer->candidate_count = 0;
	for (unsigned a = 0; a < CODES; a++) {
		struct symbol first;

		if (trainer->used[a] == 0)
			continue;
		first = code_symbol(table, a);
		propose(trainer, first, trainer->used[a]);
		for (unsigned b = 0; b < CODES; b++) {
			struct symbol second;

			if (trainer->pairs[a][b] < 2)
				continue;
			second = code_symbol(table, b);
			if (first.length + second.length > SYMBOL_BYTES)
				continue;
			second.text = first.text | second.text << (8 * first.length);
			second.length += first.length;
			propose(trainer, second, trainer->pairs[a][b]);
		}
	}
}

static int compare_symbol_texts(const void *left, const void *right)
{
	const struct symbol_candidate *a = left, *b = right;

	if (a->symbol.length != b->symbol.length)
		return a->symbol.length < b->symbol.length ? -1 : 1;
	return a->symbol.text < b->symbol.text ? -1 : a->symbol.text > b->symbol.text;
}

static int compare_gains(const void *left, const void *right)
{
	const struct symbol_candidate *a = left, *b = right;

	if (a->gain != b->gain)
		return a->gain > b->gain ? -1 : 1;
	return compare_symbol_texts(left, right);
}

/* The next table: the candidates that save most, without duplicates. */
static void choose_symbols(struct trainer *trainer)
{
	struct symbol_candidate *list = trainer->candidates;
	size_t kept = 0;

	qsort(list, trainer->candidate_count, sizeof(list[0]), compare_symbol_texts);
	for (size_t i = 0; i < trainer->candidate_count; i++) {
		if (kept && compare_symbol_texts(&list[kept - 1], &list[i]) == 0)
			list[kept - 1].gain += list[i].gain;
		else
			list[kept++] = list[i];
	}
	qsort(list, kept, sizeof(list[0]), compare_gains);
	if (kept > DW_FSST_MAX_SYMBOLS)
		kept = DW_FSST_MAX_SYMBOLS;
	trainer->table.count = (unsigned)kept;
	for (size_t i = 0; i < kept; i++)
		trainer->table.list[i] = list[i].symbol;
	index_symbols(&trainer->table);
}

static uint64_t table_bytes(const struct symbols *table)
{
	uint64_t bytes = HEADER_BYTES;

	for (unsigned i = 0; i < table->count; i++)
		bytes += table->list[i].length;
	return bytes;
}

/* Remove the symbols of the best table that do not save their length. */
static void prune(struct trainer *trainer)
{
	struct symbols *table = &trainer->table;
	unsigned kept = 0;

	for (unsigned i = 0; i < table->count; i++)
		if (trainer->used[i] > 1)
			table->list[kept++] = table->list[i];
	table->count = kept;
	index_symbols(table);
}

static void keep_best(struct trainer *trainer, uint64_t bytes)
{
	if (bytes >= trainer->best_bytes)
		return;
	trainer->best_bytes = bytes;
	trainer->best = trainer->table;
}

static int train(struct trainer *trainer, struct symbol_parser *parser,
		 const struct span *strings, size_t count, dwarfs_error **err)
{
	size_t stride = sample_stride(strings, count);
	uint64_t bytes;
	int ret;

	trainer->best_bytes = UINT64_MAX;
	trainer->table.count = 0;
	index_symbols(&trainer->table);
	for (unsigned round = 0; round <= ROUNDS; round++) {
		if ((ret = count_sample(trainer, parser, strings, count, stride, &bytes,
					err)) < 0)
			return ret;
		keep_best(trainer, bytes + table_bytes(&trainer->table));
		propose_all(trainer);
		choose_symbols(trainer);
	}
	trainer->table = trainer->best;
	if ((ret = count_sample(trainer, parser, strings, count, stride, &bytes, err)) <
	    0)
		return ret;
	prune(trainer);
	if ((ret = count_sample(trainer, parser, strings, count, stride, &bytes, err)) <
	    0)
		return ret;
	keep_best(trainer, bytes + table_bytes(&trainer->table));
	return 0;
}

/* Codes are assigned in the order in which the format stores symbols: lengths 2 to 8,
 * then 1. code_of maps the position in the table to the code. */
static int put_table(const struct symbols *table, uint8_t *code_of, struct buffer *symtab,
		     dwarfs_error **err)
{
	uint8_t header[HEADER_BYTES] = { 1, (uint8_t)table->count };
	uint8_t code = 0;
	int ret;

	dw_store32(header + 4, VERSION);
	for (unsigned i = 0; i < table->count; i++)
		header[8 + table->list[i].length]++;
	if ((ret = dw_buffer_append(symtab, header, sizeof(header), err)) < 0)
		return ret;
	for (unsigned step = 2; step <= SYMBOL_BYTES + 1; step++) {
		unsigned length = step <= SYMBOL_BYTES ? step : 1;

		for (unsigned i = 0; i < table->count; i++) {
			uint8_t text[8];

			if (table->list[i].length != length)
				continue;
			dw_store64(text, table->list[i].text);
			if ((ret = dw_buffer_append(symtab, text, length, err)) < 0)
				return ret;
			code_of[i] = code++;
		}
	}
	return 0;
}

static int encode_string(const struct symbols *table, const uint8_t *code_of,
			 struct symbol_parser *parser, struct span string,
			 struct buffer *out, dwarfs_error **err)
{
	int ret;

	if ((ret = parse_optimally(parser, table, string, err)) < 0 ||
	    (ret = dw_buffer_reserve(out, parser->cost[0], err)) < 0)
		return ret;
	for (size_t at = 0; at < string.size;) {
		unsigned code = parser->code[at];

		if (code >= LITERAL) {
			out->data[out->size++] = ESCAPE;
			out->data[out->size++] = (uint8_t)(code - LITERAL);
		} else {
			out->data[out->size++] = code_of[code];
		}
		at += code_length(table, code);
	}
	return 0;
}

int dw_fsst_encode(const struct span *strings, size_t count, struct buffer *symtab,
		   struct buffer *out, uint32_t *lengths, dwarfs_error **err)
{
	auto_free struct trainer *trainer = dw_malloc(sizeof(*trainer));
	auto_parser struct symbol_parser parser = { 0 };
	uint8_t code_of[DW_FSST_MAX_SYMBOLS];
	int ret;

	if (!trainer)
		return dw_fail_nomem(err);
	if ((ret = train(trainer, &parser, strings, count, err)) < 0 ||
	    (ret = put_table(&trainer->best, code_of, symtab, err)) < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		size_t before = out->size;

		if ((ret = encode_string(&trainer->best, code_of, &parser, strings[i],
					 out, err)) < 0)
			return ret;
		lengths[i] = (uint32_t)(out->size - before);
	}
	return 0;
}
