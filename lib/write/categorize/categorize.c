/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/categorize: split a file into parts by category.
 *
 * Categorizers are tried in the order of the options; the first one that recognizes the
 * file decides for all of it. Their names and functions are in the two tables below; what
 * levels choose for categories is in write/options/levels.c. Shared by all workers: only
 * incompressible has state, with a lock of its own.
 */
#include <string.h>

#include "write/categorize/ops.h"

static const char *const names[CATEGORY_COUNT] = {
	[CATEGORY_DEFAULT] = "<default>",
	[CATEGORY_INCOMPRESSIBLE] = "incompressible",
	[CATEGORY_PCM_METADATA] = "pcmaudio/metadata",
	[CATEGORY_PCM_WAVEFORM] = "pcmaudio/waveform",
	[CATEGORY_FITS_METADATA] = "fits/metadata",
	[CATEGORY_FITS_IMAGE] = "fits/image",
	[CATEGORY_ELF] = "binary/elf",
	[CATEGORY_PE] = "binary/pe",
	[CATEGORY_MACHO_HEADER] = "binary/macho-header",
	[CATEGORY_MACHO_SECTION] = "binary/macho-section",
	[CATEGORY_HOTNESS] = "hotness",
};

static const struct categorizer_ops *const members[CATEGORIZER_COUNT] = {
	[CATEGORIZER_FITS] = &dw_categorizer_fits,
	[CATEGORIZER_PCMAUDIO] = &dw_categorizer_pcmaudio,
	[CATEGORIZER_BINARY] = &dw_categorizer_binary,
	[CATEGORIZER_INCOMPRESSIBLE] = &dw_categorizer_incompressible,
	[CATEGORIZER_HOTNESS] = &dw_categorizer_hotness,
};

const struct categorizer_ops *dw_categorizer(enum categorizer number)
{
	return members[number];
}

/* -- names --------------------------------------------------------------------------- */

const char *dw_category_name(const struct categorize_options *options, uint32_t category)
{
	if (category < CATEGORY_COUNT)
		return names[category];
	if (category - CATEGORY_COUNT < options->name_count)
		return options->names[category - CATEGORY_COUNT];
	return NULL;
}

const struct samples_kind *dw_category_samples(uint32_t category)
{
	if (category == CATEGORY_PCM_WAVEFORM)
		return &dw_samples_audio;
	return category == CATEGORY_FITS_IMAGE ? &dw_samples_image : NULL;
}

uint32_t dw_category_find(const struct categorize_options *options, const char *name,
			  size_t length)
{
	const char *known;

	for (uint32_t i = 0; (known = dw_category_name(options, i)); i++)
		if (strlen(known) == length && memcmp(known, name, length) == 0)
			return i;
	return DW_ANY_CATEGORY;
}

/* -- parts --------------------------------------------------------------------------- */

void dw_category_parts_free(struct category_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		dw_free(parts->list[i].metadata_json);
	dw_free(parts->list);
	*parts = (struct category_parts){ 0 };
}

static int append_part(struct category_parts *parts, const struct category_part *part,
		       dwarfs_error **err)
{
	int ret = dw_grow(&parts->list, &parts->room, parts->count + 1, err);

	if (ret < 0)
		return ret;
	parts->list[parts->count++] = *part;
	return 0;
}

int dw_parts_add(struct category_parts *parts, uint32_t category, uint32_t variant,
		 uint64_t size, dwarfs_error **err)
{
	struct category_part *last = parts->count ? &parts->list[parts->count - 1] : NULL;

	if (size == 0)
		return 0;
	if (last && last->category == category && last->variant == variant &&
	    !last->samples.is_known) {
		last->size += size;
		return 0;
	}
	return append_part(parts,
			   &(struct category_part){ .size = size,
						    .category = category,
						    .variant = variant },
			   err);
}

static int describe_samples(uint32_t category, const struct codec_samples *samples,
			    char **json_out, dwarfs_error **err)
{
	auto_buffer struct buffer json = { 0 };
	int ret = dw_samples_to_json(dw_category_samples(category), samples, &json, err);

	if (ret < 0)
		return ret;
	*json_out = (char *)dw_steal(json.data);
	return 0;
}

int dw_parts_add_samples(struct category_parts *parts, uint32_t category,
			 const struct codec_samples *samples, uint64_t size,
			 dwarfs_error **err)
{
	struct category_part part = { .size = size,
				      .category = category,
				      .samples = *samples };
	int ret;

	if (size == 0)
		return 0;
	part.samples.is_known = true;
	if ((ret = describe_samples(category, &part.samples, &part.metadata_json, err)) <
	    0)
		return ret;
	ret = append_part(parts, &part, err);
	if (ret < 0)
		dw_free(part.metadata_json);
	return ret;
}

/* -- files --------------------------------------------------------------------------- */

int dw_category_read(const struct category_file *file, uint64_t offset, void *to,
		     size_t size, size_t *got_out, dwarfs_error **err)
{
	int64_t got;

	*got_out = 0;
	if (offset >= file->size)
		return 0;
	if (size > file->size - offset)
		size = (size_t)(file->size - offset);
	if (offset <= file->head.size && size <= file->head.size - offset) {
		memcpy(to, file->head.data + offset, size);
		*got_out = size;
		return 0;
	}
	got = dw_input_file_read_at(file->input_file, to, size, offset);
	if (got < 0) {
		dw_fail_errno(err, (int)-got, "'%s': reading", file->path);
		return dw_error_as(err, DWARFS_ERR_IO);
	}
	*got_out = (size_t)got;
	return 0;
}

void dw_category_warn(dwarfs_context *context, const struct category_file *file,
		      const char *kind, const char *problem)
{
	dw_log(context, DWARFS_LOG_WARN, "'%s' is not a valid %s file: %s", file->path,
	       kind, problem);
}

/* -- create and free ----------------------------------------------------------------- */

int dw_categorizers_new(const struct build_options *options,
			struct categorizers **categorizers_out, dwarfs_error **err)
{
	const struct categorize_options *categorize = &options->categorize;
	auto_categorizers struct categorizers *all = dw_calloc(1, sizeof(*all));
	int ret;

	if (!all)
		return dw_fail_nomem(err);
	all->options = categorize;
	for (size_t i = 0; i < categorize->count; i++)
		if (categorize->list[i] == CATEGORIZER_INCOMPRESSIBLE &&
		    (ret = dw_probes_new(categorize, &all->probes, err)) < 0)
			return ret;
	*categorizers_out = dw_steal(all);
	return 0;
}

void dw_categorizers_free(struct categorizers *categorizers)
{
	if (!categorizers)
		return;
	dw_probes_free(categorizers->probes);
	dw_free(categorizers);
}

bool dw_categorizers_any(const struct categorizers *categorizers)
{
	return categorizers->options->count > 0;
}

uint64_t dw_categorizers_memory(const struct categorize_options *options)
{
	for (size_t i = 0; i < options->count; i++)
		if (options->list[i] == CATEGORIZER_INCOMPRESSIBLE)
			return dw_probe_memory(options);
	return 0;
}

int dw_categorize(const struct categorizers *categorizers, dwarfs_context *context,
		  const struct category_file *file, struct category_parts *parts,
		  dwarfs_error **err)
{
	const struct categorize_options *options = categorizers->options;
	int ret;

	for (size_t i = 0; i < options->count && parts->count == 0 && file->size; i++) {
		ret = members[options->list[i]]->categorize(categorizers, context, file,
							    parts, err);
		if (ret < 0) {
			dw_category_parts_free(parts);
			return ret;
		}
	}
	return 0;
}

/* -- fragments ----------------------------------------------------------------------- */

void dw_fragment_list_free(struct fragment_list *list)
{
	dw_free(list->numbers);
	*list = (struct fragment_list){ 0 };
}

int dw_fragments_of(const struct contents *contents, uint32_t stream, size_t from,
		    struct fragment_list *list_out, dwarfs_error **err)
{
	const struct fragment *fragments = contents->fragments;
	struct fragment_list list = { 0 };
	size_t count = 0;

	for (size_t i = from; i < contents->fragment_count; i++)
		count += fragments[i].stream == stream && fragments[i].size > 0;
	list.numbers = dw_calloc(count, sizeof(*list.numbers));
	if (!list.numbers)
		return dw_fail_nomem(err);
	for (size_t i = from; i < contents->fragment_count; i++)
		if (fragments[i].stream == stream && fragments[i].size > 0)
			list.numbers[list.count++] = (uint32_t)i;
	*list_out = list;
	return 0;
}
