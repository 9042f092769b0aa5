/* SPDX-License-Identifier: MIT */
/*
 * archive/import/entry_time: times before 1970 with a fraction of a second, in pax archives.
 *
 * They are decimal numbers: "-1.5" is one and a half seconds before 1970. Some versions
 * of libarchive (such as 3.6.2) apply the sign to the whole seconds only, and read it as
 * -1 + 0.5, and "-0.5" as 0.5. A test header shows whether the linked version does.
 */
#include <stdio.h>
#include <string.h>

#include "archive/export/export.h"
#include "archive/import/import.h"

#define BLOCK_BYTES   512
#define NS_PER_SECOND 1000000000

static const char record[] = "14 mtime=-1.5\n";

/* A ustar header; type 'x' for an extended header of the next entry. */
static void fill_header(char block[BLOCK_BYTES], char type, size_t bytes)
{
	unsigned sum = 0;

	memset(block, 0, BLOCK_BYTES);
	block[0] = 'a';
	snprintf(block + 100, 8, "%07o", 0644u);
	snprintf(block + 108, 8, "%07o", 0u);
	snprintf(block + 116, 8, "%07o", 0u);
	snprintf(block + 124, 12, "%011zo", bytes);
	snprintf(block + 136, 12, "%011o", 0u);
	memset(block + 148, ' ', 8);
	block[156] = type;
	memcpy(block + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK_BYTES; i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum);
}

bool dw_archive_misreads_signs(const struct libarchive *la)
{
	char blocks[5 * BLOCK_BYTES] = { 0 }; /* two headers, a record, and the end */
	struct archive *archive = la->read_new();
	struct archive_entry *entry;
	bool misreads = false;

	fill_header(blocks, 'x', strlen(record));
	memcpy(blocks + BLOCK_BYTES, record, strlen(record));
	fill_header(blocks + 2 * BLOCK_BYTES, '0', 0);
	if (archive && la->read_support_format_tar(archive) == ARCHIVE_OK &&
	    la->read_open_memory(archive, blocks, sizeof(blocks)) == ARCHIVE_OK &&
	    la->read_next_header(archive, &entry) == ARCHIVE_OK)
		misreads = la->entry_mtime(entry) == -1;
	la->read_free(archive);
	return misreads;
}

struct import_time dw_import_time(struct import_job *job, int64_t seconds,
				  long nanoseconds)
{
	struct import_time time = { seconds, 0 };
	const int format = job->la->format(job->archive);

	if (nanoseconds <= 0 || nanoseconds >= NS_PER_SECOND)
		return time;
	time.nanoseconds = (uint32_t)nanoseconds;
	if (seconds >= 0 || (format != ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE &&
			     format != ARCHIVE_FORMAT_TAR_PAX_RESTRICTED))
		return time;
	if (job->signs == SIGNS_UNKNOWN)
		job->signs =
			dw_archive_misreads_signs(job->la) ? SIGNS_MISREAD : SIGNS_READ;
	if (job->signs == SIGNS_MISREAD) {
		time.seconds--;
		time.nanoseconds = NS_PER_SECOND - time.nanoseconds;
	}
	return time;
}
