/* SPDX-License-Identifier: MIT */
/*
 * read/image/history: which programs wrote and rewrote an image.
 *
 * Takes the history sections (Thrift compact); gives C strings. Purely informational.
 */
#include <stdio.h>

#include "format/thrift.h"
#include "read/image/image.h"

/* Over all sections: a list of empty texts takes forty times its bytes in memory. */
#define MAX_HISTORY_BYTES (UINT64_C(4) << 20)
#define MAX_STEPS	  65536

enum { HISTORY_ENTRIES = 1 };
enum {
	ENTRY_VERSION = 1,
	ENTRY_SYSTEM = 2,
	ENTRY_COMPILER = 3,
	ENTRY_ARGUMENTS = 4,
	ENTRY_TIMESTAMP = 5,
	ENTRY_LIBRARIES = 6,
};
enum {
	VERSION_MAJOR = 1,
	VERSION_MINOR = 2,
	VERSION_PATCH = 3,
	VERSION_IS_RELEASE = 4,
	VERSION_GIT_REV = 5,
	VERSION_GIT_BRANCH = 6,
	VERSION_GIT_DESC = 7,
};

struct text_list {
	char **items;
	size_t count, capacity;
};

struct entry {
	char *texts[3];		   /* by dwarfs_history_text_kind */
	struct text_list lists[2]; /* by dwarfs_history_list_kind */
	bool has_time;
	uint64_t time;
};

struct dwarfs_history {
	struct entry *entries;
	size_t count, capacity;
};

void dwarfs_history_free(dwarfs_history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < history->count; i++) {
		struct entry *entry = &history->entries[i];

		for (int text = 0; text < 3; text++)
			dw_free(entry->texts[text]);
		for (int list = 0; list < 2; list++) {
			for (size_t k = 0; k < entry->lists[list].count; k++)
				dw_free(entry->lists[list].items[k]);
			dw_free(entry->lists[list].items);
		}
	}
	dw_free(history->entries);
	dw_free(history);
}

DW_DEFINE_AUTO(history, dwarfs_history *, dwarfs_history_free)
#define auto_history DW_AUTO(history)

/* Replace *text by a copy. */
static int copy_text(char **text, struct span from, dwarfs_error **err)
{
	char *copy = from.data ? dw_strndup((const char *)from.data, from.size)
			       : dw_strdup("");

	if (!copy)
		return dw_fail_nomem(err);
	dw_free(*text);
	*text = copy;
	return 0;
}

static int parse_version(struct thrift_reader *reader, char **text, dwarfs_error **err)
{
	struct thrift_field field = { 0 };
	struct span description = { 0 };
	int64_t number[4] = { 0 };
	char plain[80];

	while (dw_thrift_field(reader, &field)) {
		switch (field.id) {
		case VERSION_MAJOR:
		case VERSION_MINOR:
		case VERSION_PATCH:
			number[field.id] = dw_thrift_int(reader, &field, THRIFT_I16);
			break;
		case VERSION_GIT_DESC:
			description = dw_thrift_string(reader, &field);
			break;
		default:
			dw_thrift_skip(reader, &field);
		}
	}
	if (description.size == 0) {
		int size = snprintf(plain, sizeof(plain),
				    "v%" PRId64 ".%" PRId64 ".%" PRId64, number[1],
				    number[2], number[3]);

		description = (struct span){ (const uint8_t *)plain, (size_t)size };
	}
	return copy_text(text, description, err);
}

static int parse_list(struct thrift_reader *reader, const struct thrift_field *field,
		      struct text_list *list, dwarfs_error **err)
{
	uint64_t count = dw_thrift_list(reader, field, THRIFT_STRING);

	for (uint64_t i = 0; i < count && dw_thrift_ok(reader); i++) {
		struct span text = dw_thrift_element_string(reader);
		int ret = dw_grow(&list->items, &list->capacity, list->count + 1, err);

		if (ret < 0)
			return ret;
		list->items[list->count] = NULL;
		if ((ret = copy_text(&list->items[list->count], text, err)) < 0)
			return ret;
		list->count++;
	}
	return 0;
}

static int parse_entry_field(struct thrift_reader *reader,
			     const struct thrift_field *field, struct entry *entry,
			     dwarfs_error **err)
{
	switch (field->id) {
	case ENTRY_VERSION:
		dw_thrift_struct(reader, field);
		return parse_version(reader, &entry->texts[DWARFS_HISTORY_VERSION], err);
	case ENTRY_SYSTEM:
		return copy_text(&entry->texts[DWARFS_HISTORY_SYSTEM],
				 dw_thrift_string(reader, field), err);
	case ENTRY_COMPILER:
		return copy_text(&entry->texts[DWARFS_HISTORY_COMPILER],
				 dw_thrift_string(reader, field), err);
	case ENTRY_ARGUMENTS:
		return parse_list(reader, field, &entry->lists[DWARFS_HISTORY_ARGUMENTS],
				  err);
	case ENTRY_LIBRARIES:
		return parse_list(reader, field, &entry->lists[DWARFS_HISTORY_LIBRARIES],
				  err);
	case ENTRY_TIMESTAMP:
		entry->time = (uint64_t)dw_thrift_int(reader, field, THRIFT_I64);
		entry->has_time = true;
		return 0;
	default:
		dw_thrift_skip(reader, field);
		return 0;
	}
}

static int parse_entries(struct thrift_reader *reader, const struct thrift_field *field,
			 dwarfs_history *history, dwarfs_error **err)
{
	uint64_t count = dw_thrift_list(reader, field, THRIFT_STRUCT);

	for (uint64_t i = 0; i < count && dw_thrift_ok(reader); i++) {
		struct thrift_field inner = { 0 };
		int ret;

		if (history->count == MAX_STEPS)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "history: it has too many steps");
		ret = dw_grow(&history->entries, &history->capacity, history->count + 1,
			      err);

		if (ret < 0)
			return ret;
		history->entries[history->count++] = (struct entry){ 0 };
		while (dw_thrift_field(reader, &inner)) {
			ret = parse_entry_field(reader, &inner,
						&history->entries[history->count - 1],
						err);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

static int parse_history(struct span bytes, dwarfs_history *history, dwarfs_error **err)
{
	struct thrift_reader reader;
	struct thrift_field field = { 0 };

	dw_thrift_start(&reader, bytes);
	while (dw_thrift_field(&reader, &field)) {
		if (field.id == HISTORY_ENTRIES) {
			int ret = parse_entries(&reader, &field, history, err);

			if (ret < 0)
				return ret;
		} else {
			dw_thrift_skip(&reader, &field);
		}
	}
	if (!dw_thrift_ok(&reader))
		return dw_fail(err, DWARFS_ERR_CORRUPT, "history: %s", reader.error);
	return 0;
}

/* Add what a section has, of at most *left bytes. */
static int take_section(const dwarfs_image *image, uint32_t section, uint64_t *left,
			dwarfs_history *history, dwarfs_error **err)
{
	auto_free uint8_t *data = NULL;
	uint64_t size;
	int ret = dw_load_section(image, section, *left, 0, &data, &size, err);

	if (ret < 0)
		return ret;
	*left -= size;
	return parse_history((struct span){ data, (size_t)size }, history, err);
}

int dw_history_check(const struct dwarfs_image *image, uint32_t section,
		     dwarfs_error **err)
{
	auto_history dwarfs_history *history = dw_calloc(1, sizeof(*history));
	uint64_t left = MAX_HISTORY_BYTES;

	return history ? take_section(image, section, &left, history, err)
		       : dw_fail_nomem(err);
}

int dwarfs_history_new(const dwarfs_image *image, dwarfs_history **history_out,
		       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !history_out)
		return dw_fail_null(err, "image and history_out");

	auto_history dwarfs_history *history = dw_calloc(1, sizeof(*history));
	uint64_t left = MAX_HISTORY_BYTES;

	if (!history)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < image->section_count; i++) {
		int ret;

		if (image->sections[i].type == DWARFS_SECTION_HISTORY &&
		    (ret = take_section(image, i, &left, history, err)) < 0)
			return ret;
	}
	*history_out = dw_steal(history);
	return 0;
}

size_t dwarfs_history_count(const dwarfs_history *history)
{
	if (!history)
		return 0;
	return history->count;
}

const char *dwarfs_history_text(const dwarfs_history *history, size_t step,
				enum dwarfs_history_text_kind text)
{
	if (!history)
		return NULL;
	if (step >= history->count || text < DWARFS_HISTORY_VERSION ||
	    text > DWARFS_HISTORY_COMPILER || !history->entries[step].texts[text])
		return "";
	return history->entries[step].texts[text];
}

const char *dwarfs_history_item(const dwarfs_history *history, size_t step,
				enum dwarfs_history_list_kind list, size_t item)
{
	if (!history)
		return NULL;
	if (step >= history->count || list < DWARFS_HISTORY_ARGUMENTS ||
	    list > DWARFS_HISTORY_LIBRARIES ||
	    item >= history->entries[step].lists[list].count)
		return NULL;
	return history->entries[step].lists[list].items[item];
}

bool dwarfs_history_time(const dwarfs_history *history, size_t step, int64_t *seconds_out)
{
	if (!history || !seconds_out)
		return false;
	if (step >= history->count || !history->entries[step].has_time)
		return false;
	*seconds_out = (int64_t)history->entries[step].time;
	return true;
}
