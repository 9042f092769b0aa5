/* SPDX-License-Identifier: MIT */
/*
 * archive/import/lost_entries: the paths of entries that were left out.
 *
 * An entry that exists at such a path is of another archive, or an earlier one of this
 * archive. A later hard link to the path refers to the entry that was left out, and must
 * not become a link to the existing one. Paths are compared by hash (64-bit FNV-1a): a
 * collision causes a link to be left out and reported.
 */
#include "archive/import/import.h"

#define LEAST_ROOM 64

static uint64_t hash_path(const struct buffer *path)
{
	const uint64_t hash = dw_fnv1a(DW_FNV1A_START, path->data, path->size);

	return hash + (hash == 0);
}

/* The slot of a hash, or the free slot for it. */
static struct lost_path *place_of(struct lost_path *table, size_t room, uint64_t hash)
{
	size_t at = (size_t)(hash >> 32) & (room - 1);

	while (table[at].hash != 0 && table[at].hash != hash)
		at = (at + 1) & (room - 1);
	return &table[at];
}

/* Half of the slots stay free. */
static int make_room(struct import_job *job, dwarfs_error **err)
{
	size_t room = job->lost_room > 0 ? 2 * job->lost_room : LEAST_ROOM;
	struct lost_path *table;

	if (2 * (job->lost_count + 1) <= job->lost_room)
		return 0;
	if (!(table = dw_calloc(room, sizeof(*table))))
		return dw_fail_nomem(err);
	for (size_t i = 0; i < job->lost_room; i++)
		if (job->lost[i].hash != 0)
			*place_of(table, room, job->lost[i].hash) = job->lost[i];
	dw_free(job->lost);
	job->lost = table;
	job->lost_room = room;
	return 0;
}

int dw_import_note_lost(struct import_job *job, const struct buffer *path, bool is_lost,
			dwarfs_error **err)
{
	const uint64_t hash = hash_path(path);
	struct lost_path *place;
	int ret;

	if (!is_lost && job->lost_count == 0)
		return 0;
	if ((ret = make_room(job, err)) < 0)
		return ret;
	place = place_of(job->lost, job->lost_room, hash);
	job->lost_count += place->hash == 0;
	*place = (struct lost_path){ hash, is_lost };
	return 0;
}

bool dw_import_is_lost(const struct import_job *job, const struct buffer *path)
{
	return job->lost_count > 0 &&
	       place_of(job->lost, job->lost_room, hash_path(path))->is_lost;
}
