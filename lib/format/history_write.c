/* SPDX-License-Identifier: MIT */
/*
 * format/history_write: the contents of a HISTORY section, as bytes.
 */
#include <stdio.h>
#include <string.h>

#include "format/history_write.h"
#include "format/thrift.h"

static void put_text(struct thrift_writer *writer, int32_t id, const char *text)
{
	dw_thrift_put_string(writer, id, text, strlen(text));
}

static void put_texts(struct thrift_writer *writer, int32_t id, enum thrift_type type,
		      const char *const *texts, size_t count)
{
	if (count == 0)
		return;
	dw_thrift_put_list(writer, id, type, THRIFT_STRING, count);
	for (size_t i = 0; i < count; i++)
		dw_thrift_put_element_string(writer, texts[i], strlen(texts[i]));
}

static void put_version(struct thrift_writer *writer, const struct history_record *record)
{
	int32_t saved = dw_thrift_put_begin(writer, 1);

	dw_thrift_put_int(writer, 1, THRIFT_I16, record->major);
	dw_thrift_put_int(writer, 2, THRIFT_I16, record->minor);
	dw_thrift_put_int(writer, 3, THRIFT_I16, record->patch);
	dw_thrift_put_bool(writer, 4, record->is_release);
	put_text(writer, 7, record->description);
	dw_thrift_put_end(writer, saved);
}

int dw_history_write(const struct history_record *record, struct buffer *out,
		     dwarfs_error **err)
{
	struct thrift_writer writer;
	int32_t saved;

	dw_thrift_put_start(&writer, out);
	dw_thrift_put_list(&writer, 1, THRIFT_LIST, THRIFT_STRUCT, 1);
	saved = dw_thrift_put_begin(&writer, 0);
	put_version(&writer, record);
	put_text(&writer, 2, record->system_id);
	put_text(&writer, 3, record->compiler_id);
	put_texts(&writer, 4, THRIFT_LIST, record->arguments, record->argument_count);
	if (record->has_timestamp)
		dw_thrift_put_int(&writer, 5, THRIFT_I64, (int64_t)record->timestamp);
	put_texts(&writer, 6, THRIFT_SET, record->library_versions,
		  record->library_count);
	dw_thrift_put_end(&writer, saved);
	return dw_thrift_put_stop(&writer, err);
}

/* -- completion ---------------------------------------------------------------------- */

struct completion {
	struct thrift_reader reader;
	const uint8_t *copied; /* of the input, up to here */
	struct buffer *out;
	bool is_changed;
};

/* Fields may follow in any order, so those that are missing come last, before the stop. */
static int add_fields(struct completion *completion, int32_t last_id,
		      const int64_t number[4], bool needs_branch, bool needs_description,
		      dwarfs_error **err)
{
	const uint8_t *stop = completion->reader.at - 1;
	struct thrift_writer writer = { .out = completion->out, .last_id = last_id };
	char text[80];
	int ret = dw_buffer_append(completion->out, completion->copied,
				   (size_t)(stop - completion->copied), err);

	if (ret < 0)
		return ret;
	snprintf(text, sizeof(text), "v%" PRId64 ".%" PRId64 ".%" PRId64, number[1],
		 number[2], number[3]);
	if (needs_branch)
		put_text(&writer, 6, "unknown");
	if (needs_description)
		put_text(&writer, 7, text);
	completion->copied = stop;
	completion->is_changed = true;
	return writer.nomem ? dw_fail_nomem(err) : 0;
}

static int complete_version(struct completion *completion, dwarfs_error **err)
{
	struct thrift_reader *reader = &completion->reader;
	struct thrift_field field = { 0 };
	bool is_release = false, has_branch = false, has_description = false;
	int64_t number[4] = { 0 };
	int32_t last_id = 0;

	while (dw_thrift_field(reader, &field)) {
		last_id = field.id;
		has_branch |= field.id == 6;
		has_description |= field.id == 7;
		if (field.id >= 1 && field.id <= 3)
			number[field.id] = dw_thrift_int(reader, &field, THRIFT_I16);
		else if (field.id == 4)
			is_release = dw_thrift_bool(reader, &field);
		else
			dw_thrift_skip(reader, &field);
	}
	if (!dw_thrift_ok(reader) || (has_description && (is_release || has_branch)))
		return 0;
	return add_fields(completion, last_id, number, !is_release && !has_branch,
			  !has_description, err);
}

static int complete_entries(struct completion *completion,
			    const struct thrift_field *field, dwarfs_error **err)
{
	struct thrift_reader *reader = &completion->reader;
	uint64_t count = dw_thrift_list(reader, field, THRIFT_STRUCT);

	for (uint64_t i = 0; i < count && dw_thrift_ok(reader); i++) {
		struct thrift_field inner = { 0 };

		while (dw_thrift_field(reader, &inner)) {
			int ret = 0;

			if (inner.id == 1) {
				dw_thrift_struct(reader, &inner);
				ret = complete_version(completion, err);
			} else {
				dw_thrift_skip(reader, &inner);
			}
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

int dw_history_complete(struct span history, struct buffer *out, dwarfs_error **err)
{
	struct completion completion = { .copied = history.data, .out = out };
	struct thrift_field field = { 0 };
	int ret = 0;

	dw_thrift_start(&completion.reader, history);
	while (ret == 0 && dw_thrift_field(&completion.reader, &field))
		if (field.id == 1)
			ret = complete_entries(&completion, &field, err);
		else
			dw_thrift_skip(&completion.reader, &field);
	if (ret < 0 || !dw_thrift_ok(&completion.reader) || !completion.is_changed)
		return ret;
	ret = dw_buffer_append(out, completion.copied,
			       (size_t)(history.data + history.size - completion.copied),
			       err);
	return ret < 0 ? ret : 1;
}
