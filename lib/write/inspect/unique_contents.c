/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/unique_contents: contents that are stored once, their fragments and
 * streams.
 */
#include <string.h>

#include "write/inspect/unique_contents.h"

void dw_contents_free(struct contents *contents)
{
	for (size_t i = 0; i < contents->streams.count; i++)
		dw_free(contents->streams.list[i].metadata_json);
	dw_free(contents->streams.list);
	dw_free(contents->list);
	dw_free(contents->fragments);
	dw_free(contents->fingerprints);
	*contents = (struct contents){ 0 };
}

int dw_contents_add(struct contents *contents, struct tree *tree, uint32_t inode,
		    dwarfs_error **err)
{
	int ret = dw_grow(&contents->list, &contents->room, contents->count + 1, err);

	if (ret < 0)
		return ret;
	if (contents->count >= UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	contents->list[contents->count] = (struct content){
		.size = tree->inodes[inode].size,
		.inode = inode,
		.first_fragment = (uint32_t)contents->fragment_count,
		.kept_inode = DW_NONE,
	};
	for (uint32_t i = inode; i != DW_NONE; i = tree->inodes[i].next)
		tree->inodes[i].content = (uint32_t)contents->count;
	contents->count++;
	return 0;
}

int dw_contents_add_fragment(struct contents *contents, uint32_t stream, uint64_t size,
			     dwarfs_error **err)
{
	struct content *content = &contents->list[contents->count - 1];
	uint64_t offset = 0;
	int ret = dw_grow(&contents->fragments, &contents->fragment_room,
			  contents->fragment_count + 1, err);

	if (ret < 0)
		return ret;
	if (contents->fragment_count >= UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many fragments for one image");
	if (content->fragment_count > 0) {
		const struct fragment *before =
			&contents->fragments[contents->fragment_count - 1];

		offset = before->offset + before->size;
	}
	contents->fragments[contents->fragment_count++] = (struct fragment){
		.offset = offset,
		.size = size,
		.stream = stream,
		.content = (uint32_t)contents->count - 1,
	};
	content->fragment_count++;
	return 0;
}

static bool is_stream(const struct stream *stream, uint32_t category, uint32_t variant,
		      const struct codec_samples *samples, const char *metadata_json)
{
	const struct codec_samples *has = &stream->samples;

	if (stream->category != category || stream->variant != variant ||
	    has->is_known != samples->is_known ||
	    !stream->metadata_json != !metadata_json ||
	    (metadata_json && strcmp(stream->metadata_json, metadata_json) != 0))
		return false;
	return !has->is_known || (has->big_endian == samples->big_endian &&
				  has->is_unsigned == samples->is_unsigned &&
				  has->lsb_padding == samples->lsb_padding &&
				  has->bytes_per_sample == samples->bytes_per_sample &&
				  has->bits_per_sample == samples->bits_per_sample &&
				  has->unused_lsb_count == samples->unused_lsb_count &&
				  has->channels == samples->channels);
}

int dw_streams_find(struct streams *streams, uint32_t category, uint32_t variant,
		    const struct codec_samples *samples, const char *metadata_json,
		    uint32_t *number_out, dwarfs_error **err)
{
	static const struct codec_samples none = { 0 };
	auto_free char *json = NULL;
	int ret;

	if (!samples)
		samples = &none;
	for (size_t i = 0; i < streams->count; i++) {
		if (is_stream(&streams->list[i], category, variant, samples,
			      metadata_json)) {
			*number_out = (uint32_t)i;
			return 0;
		}
	}
	if (metadata_json && !(json = dw_strdup(metadata_json)))
		return dw_fail_nomem(err);
	if ((ret = dw_grow(&streams->list, &streams->room, streams->count + 1, err)) < 0)
		return ret;
	*number_out = (uint32_t)streams->count;
	streams->list[streams->count++] = (struct stream){
		.category = category,
		.variant = variant,
		.samples = *samples,
		.metadata_json = dw_steal(json),
	};
	return 0;
}
