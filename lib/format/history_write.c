/* SPDX-License-Identifier: MIT */
/*
 * format/history_write: the contents of a HISTORY section, as bytes.
 */
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
