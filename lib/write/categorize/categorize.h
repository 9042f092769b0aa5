/* SPDX-License-Identifier: MIT */
/*
 * write/categorize: split files into parts by category of data.
 *
 * Each category has blocks, an order, matching parameters and a codec of its own.
 */
#ifndef DW_WRITE_CATEGORIZE_CATEGORIZE_H
#define DW_WRITE_CATEGORIZE_CATEGORIZE_H

#include "write/options/build_options.h"
#include "write/input/input_file.h"
#include "write/inspect/unique_contents.h"

/*
 * All categories; a new one is a line here and in the table of categorize.c. User-defined
 * categories are numbered from CATEGORY_COUNT on.
 */
enum category {
	CATEGORY_DEFAULT,
	CATEGORY_INCOMPRESSIBLE,
	CATEGORY_PCM_METADATA,
	CATEGORY_PCM_WAVEFORM,
	CATEGORY_FITS_METADATA,
	CATEGORY_FITS_IMAGE,
	CATEGORY_ELF,
	CATEGORY_PE,
	CATEGORY_MACHO_HEADER,
	CATEGORY_MACHO_SECTION,
	CATEGORY_HOTNESS,
	CATEGORY_COUNT
};

/*
 * The variants of ELF, PE and MACHO_SECTION: one stream for each. Other processors are
 * ARCHITECTURE_OTHER plus the number that the file gives.
 */
enum architecture {
	ARCHITECTURE_NONE, /* not of such a category */
	ARCHITECTURE_X86,
	ARCHITECTURE_X86_64,
	ARCHITECTURE_ARM,
	ARCHITECTURE_ARM64,
	ARCHITECTURE_POWERPC, /* 32 and 64 bit, big-endian */
	ARCHITECTURE_POWERPC_LITTLE,
	ARCHITECTURE_IA64,
	ARCHITECTURE_SPARC,
	ARCHITECTURE_RISCV,
	ARCHITECTURE_S390,
	ARCHITECTURE_LOONGARCH,
	ARCHITECTURE_OTHER = 0x10000,
};

/* As stored in the image: "<default>", "pcmaudio/waveform", ...; NULL past the last. */
const char *dw_category_name(const struct categorize_options *options, uint32_t category);

/* The number of a category by its name; DW_ANY_CATEGORY when there is none. */
uint32_t dw_category_find(const struct categorize_options *options, const char *name,
			  size_t length);

/* The kind of the samples of a category; NULL for a category of bytes. */
const struct samples_kind *dw_category_samples(uint32_t category);

/* The defaults of a builder. */
void dw_categorize_options_init(struct categorize_options *options);
void dw_categorize_options_free(struct categorize_options *options);

/* Position of a path in the list of hot paths, from 0; UINT32_MAX if it is not listed. */
uint32_t dw_hotness_rank(const struct categorize_options *options, const char *path);

/* A file to be categorized. */
struct category_file {
	const char *path; /* below the root */
	uint64_t size;
	const struct input_file *input_file; /* open */

	/* The first bytes of the file: at least CATEGORY_HEAD_BYTES, or the whole
	 * file. */
	struct span head;
};
#define CATEGORY_HEAD_BYTES 4096

/* A part of a file; parts cover the file from its first byte to its last. */
struct category_part {
	uint64_t size;
	uint32_t category;
	uint32_t variant;	      /* see struct stream */
	struct codec_samples samples; /* is_known only for WAVEFORM and IMAGE */
	char *metadata_json;	      /* metadata for the image, or NULL; owned */
};

struct category_parts {
	struct category_part *list;
	size_t count, room;
};
void dw_category_parts_free(struct category_parts *parts);
static inline void dw_cleanup_category_parts(struct category_parts *parts)
{
	dw_category_parts_free(parts);
}
#define auto_category_parts DW_AUTO(category_parts)

/* Initialized from the options of a run, which outlive it; shared by all workers. */
struct categorizers;

int dw_categorizers_new(const struct build_options *options,
			struct categorizers **categorizers_out, dwarfs_error **err);
void dw_categorizers_free(struct categorizers *categorizers);
DW_DEFINE_AUTO(categorizers, struct categorizers *, dw_categorizers_free)
#define auto_categorizers DW_AUTO(categorizers)

/* Whether any categorizer is selected. */
bool dw_categorizers_any(const struct categorizers *categorizers);

/* Upper bound of the memory of one worker, about, in bytes. */
uint64_t dw_categorizers_memory(const struct categorize_options *options);

/*
 * Categorize a file; no parts: all of it is of the default category. Thread-safe. A
 * malformed file is not an error: it is of the default category, with a warning if it
 * seems to be damaged. 0, DWARFS_ERR_NOMEM, or DWARFS_ERR_IO if the file cannot be read.
 * The sizes of the parts add up to that of the file.
 */
int dw_categorize(const struct categorizers *categorizers, dwarfs_context *context,
		  const struct category_file *file, struct category_parts *parts,
		  dwarfs_error **err);

/* -- fragments of one stream -------------------------------------------------------- */

struct fragment_list {
	uint32_t *numbers;
	size_t count;
};

void dw_fragment_list_free(struct fragment_list *list);

/* List the non-empty fragments of a stream in scan order, starting at number from. */
int dw_fragments_of(const struct contents *contents, uint32_t stream, size_t from,
		    struct fragment_list *list_out, dwarfs_error **err);

#endif
