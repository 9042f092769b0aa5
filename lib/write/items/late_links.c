/* SPDX-License-Identifier: MIT */
/*
 * write/items/late_links: resolve hard links that were added before their target. See
 * <dwarfs/item.h>.
 *
 * Each link gets the record of its target; a link without a target is removed. Each chain
 * of links is followed once. At the end of a layer links without a target stay.
 */
#include <string.h>

#include "write/items/assembly.h"

struct resolver {
	struct assembly *assembly;
	uint32_t *stamps; /* of nodes: the last walk that visited it */
	bool keeps_lost;
	dwarfs_lost_link_fn lost;
	void *user;
	struct buffer path;
};

static void free_resolver(struct resolver *resolver)
{
	dw_free(resolver->stamps);
	dw_buffer_free(&resolver->path);
}

/* -- resolving ----------------------------------------------------------------------- */

static const struct record *live_record(const struct assembly *assembly, uint32_t node)
{
	uint32_t record = assembly->nodes[node].record;

	return record == DW_NONE ? NULL : &assembly->records[record];
}

static uint32_t link_target(const struct assembly *assembly, const struct record *record)
{
	return dw_assembly_find_target(
		assembly, dw_string_set_at(&assembly->strings, record->source),
		record->layer);
}

/* Follow a chain of links to a record, or DW_NONE and why. */
static uint32_t follow_chain(struct resolver *resolver, uint32_t node, uint32_t stamp,
			     const char **why_out)
{
	const struct assembly *assembly = resolver->assembly;

	for (;;) {
		const struct record *record = live_record(assembly, node);

		*why_out = "what it leads to was left out";
		if (!record)
			return DW_NONE;
		*why_out = "it leads to a directory";
		if (dw_assembly_is_directory(assembly, node))
			return DW_NONE;
		if (record->kind != RECORD_LINK)
			return assembly->nodes[node].record;
		*why_out = "it leads to itself";
		if (resolver->stamps[node] != 0)
			return DW_NONE;
		resolver->stamps[node] = stamp;
		*why_out = "its target does not exist";
		if ((node = link_target(assembly, record)) == DW_NONE)
			return DW_NONE;
	}
}

static int report_lost_link(struct resolver *resolver, uint32_t node, const char *why,
			    dwarfs_error **err)
{
	int ret;

	if (dw_assembly_is_displaced(resolver->assembly, node))
		return 0;
	ret = dw_assembly_path(resolver->assembly, node, &resolver->path, err);
	if (ret == 0 && resolver->lost)
		resolver->lost((const char *)resolver->path.data, why, resolver->user);
	return ret;
}

/* Set the record of all links of a chain, so that each is followed once. */
static int resolve_chain(struct resolver *resolver, uint32_t node, uint32_t stamp,
			 dwarfs_error **err)
{
	struct assembly *assembly = resolver->assembly;
	const char *why;
	uint32_t record = follow_chain(resolver, node, stamp, &why);
	int ret;

	if (record == DW_NONE && resolver->keeps_lost)
		return 0;
	while (node != DW_NONE) {
		const struct record *link = live_record(assembly, node);
		uint32_t next;

		if (!link || link->kind != RECORD_LINK)
			return 0;
		next = link_target(assembly, link);
		if (record == DW_NONE &&
		    (ret = report_lost_link(resolver, node, why, err)) < 0)
			return ret;
		dw_assembly_set_record(assembly, node, record);
		node = next;
	}
	return 0;
}

static int resolve_all(struct resolver *resolver, dwarfs_error **err)
{
	struct assembly *assembly = resolver->assembly;
	uint32_t stamp = 0;
	int ret;

	if (assembly->link_count == 0)
		return 0;
	resolver->stamps = dw_calloc(assembly->node_count, sizeof(uint32_t));
	if (!resolver->stamps)
		return dw_fail_nomem(err);
	for (uint32_t i = 1; i < assembly->node_count; i++) {
		const struct record *record = live_record(assembly, i);

		if (record && record->kind == RECORD_LINK &&
		    (ret = resolve_chain(resolver, i, ++stamp, err)) < 0)
			return ret;
	}
	return 0;
}

/* Remove the visited links that have no record. */
static void remove_lost(struct resolver *resolver)
{
	struct assembly *assembly = resolver->assembly;

	for (uint32_t i = 1; i < assembly->node_count; i++)
		if (resolver->stamps[i] != 0 && assembly->nodes[i].record == DW_NONE)
			dw_assembly_remove(assembly, i);
}

int dw_assembly_resolve(struct assembly *assembly, dwarfs_lost_link_fn lost, void *user,
			dwarfs_error **err)
{
	__attribute__((cleanup(free_resolver))) struct resolver resolver = {
		.assembly = assembly,
		.lost = lost,
		.user = user,
	};
	int ret = resolve_all(&resolver, err);

	if (resolver.stamps)
		remove_lost(&resolver);
	return ret;
}

int dw_assembly_end_layer(struct assembly *assembly, dwarfs_error **err)
{
	__attribute__((cleanup(free_resolver))) struct resolver resolver = {
		.assembly = assembly,
		.keeps_lost = true,
	};
	int ret;

	if ((assembly->resolves_layer || dw_assembly_has_displaced(assembly)) &&
	    (ret = resolve_all(&resolver, err)) < 0)
		return ret;
	assembly->resolves_layer = false;
	dw_assembly_clear(assembly, DISPLACED_ROOT);
	return 0;
}

int dwarfs_builder_resolve_links(dwarfs_builder *builder, dwarfs_lost_link_fn lost,
				 void *user, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");

	struct assembly *assembly;
	int ret = dw_assembly_of(builder, &assembly, err);

	return ret < 0 ? ret : dw_assembly_resolve(assembly, lost, user, err);
}

/* -- checking ------------------------------------------------------------------------ */

static int check_link(const struct assembly *assembly, uint32_t node, dwarfs_error **err)
{
	const struct record *record = dw_assembly_record(assembly, node);
	const struct span to = dw_string_set_at(&assembly->strings, record->source);
	const uint32_t target = link_target(assembly, record);
	auto_buffer struct buffer path = { 0 };
	const bool is_there = target != DW_NONE;
	int ret;

	if (is_there && !dw_assembly_is_directory(assembly, target))
		return 0;
	if ((ret = dw_assembly_path(assembly, node, &path, err)) < 0)
		return ret;
	ret = dw_fail(err, is_there ? DWARFS_ERR_INVALID : DWARFS_ERR_NOT_FOUND,
		      "'%s' is a hard link to '%.*s', which is %s",
		      (const char *)path.data, (int)to.size, (const char *)to.data,
		      is_there ? "a directory" : "missing");
	return dw_error_at_path(err, ret, (const char *)path.data);
}

int dwarfs_builder_check_links(const dwarfs_builder *builder, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);

	const struct assembly *assembly = builder->assembly;
	uint32_t i;
	int ret = 0;

	if (!assembly || assembly->link_count == 0)
		return 0;
	for (i = 0; i < assembly->node_count && ret == 0; i++) {
		const uint32_t record = assembly->nodes[i].record;

		if (record != DW_NONE && assembly->records[record].kind == RECORD_LINK &&
		    !dw_assembly_is_displaced(assembly, i))
			ret = check_link(assembly, i, err);
	}
	return ret;
}
