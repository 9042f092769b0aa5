/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/binary: executables, libraries and object files, by processor.
 *
 * An ELF, PE or single-processor Mach-O file is one part; a universal Mach-O file has a
 * part for each slice. Reads headers only, and requires consistent ones.
 */
#include <string.h>

#include "base/bytes.h"
#include "write/categorize/ops.h"

#define HEAD_BYTES CATEGORY_HEAD_BYTES

struct machine {
	uint32_t number; /* as the format has it */
	enum architecture architecture;
};

static enum architecture find_machine(const struct machine *machines, uint32_t number)
{
	for (; machines->architecture; machines++)
		if (machines->number == number)
			return machines->architecture;
	return (enum architecture)(ARCHITECTURE_OTHER + number);
}

static inline uint16_t load16_as(const uint8_t *from, bool big_endian)
{
	return big_endian ? dw_load_be16(from) : dw_load16(from);
}

static inline uint32_t load32_as(const uint8_t *from, bool big_endian)
{
	return big_endian ? dw_load_be32(from) : dw_load32(from);
}

static inline uint64_t load64_as(const uint8_t *from, bool big_endian)
{
	return big_endian ? dw_load_be64(from) : dw_load64(from);
}

/* -- ELF ----------------------------------------------------------------------------- */

enum { ELF_CLASS = 4, ELF_ORDER, ELF_IDENT_VERSION };
enum { ELF_32 = 1, ELF_64, ELF_LITTLE = 1, ELF_BIG, ELF_VERSION = 1 };

#define ELF_TYPE	 16
#define ELF_MACHINE	 18
#define ELF_FILE_VERSION 20
#define ELF_MAX_TYPE	 4 /* of those that all systems know */
#define ELF_FIRST_OS	 0xfe00
#define ELF_PPC64	 21

/* Offsets of the header sizes, and their values. */
struct elf_layout {
	uint16_t header, program, section;
	uint8_t header_at, program_at, program_count_at, section_at, section_count_at;
};

static const struct elf_layout elf_32 = { 52, 32, 40, 40, 42, 44, 46, 48 };
static const struct elf_layout elf_64 = { 64, 56, 64, 52, 54, 56, 58, 60 };

static const struct machine elf_machines[] = {
	{ 3, ARCHITECTURE_X86 },	 { 62, ARCHITECTURE_X86_64 },
	{ 40, ARCHITECTURE_ARM },	 { 183, ARCHITECTURE_ARM64 },
	{ 20, ARCHITECTURE_POWERPC },	 { ELF_PPC64, ARCHITECTURE_POWERPC },
	{ 50, ARCHITECTURE_IA64 },	 { 2, ARCHITECTURE_SPARC },
	{ 18, ARCHITECTURE_SPARC },	 { 43, ARCHITECTURE_SPARC },
	{ 243, ARCHITECTURE_RISCV },	 { 22, ARCHITECTURE_S390 },
	{ 258, ARCHITECTURE_LOONGARCH }, { 0, ARCHITECTURE_NONE },
};

/* The architecture, or NONE if it is not an ELF file. */
static enum architecture elf_architecture(struct span head)
{
	const uint8_t *data = head.data;
	const struct elf_layout *layout;
	uint16_t type, machine;
	bool big;

	if (head.size < elf_32.header || memcmp(data, "\177ELF", 4) != 0 ||
	    (data[ELF_CLASS] != ELF_32 && data[ELF_CLASS] != ELF_64) ||
	    (data[ELF_ORDER] != ELF_LITTLE && data[ELF_ORDER] != ELF_BIG) ||
	    data[ELF_IDENT_VERSION] != ELF_VERSION)
		return ARCHITECTURE_NONE;
	layout = data[ELF_CLASS] == ELF_64 ? &elf_64 : &elf_32;
	big = data[ELF_ORDER] == ELF_BIG;
	if (head.size < layout->header)
		return ARCHITECTURE_NONE;
	type = load16_as(data + ELF_TYPE, big);
	machine = load16_as(data + ELF_MACHINE, big);
	if (type == 0 || (type > ELF_MAX_TYPE && type < ELF_FIRST_OS) || machine == 0 ||
	    load32_as(data + ELF_FILE_VERSION, big) != ELF_VERSION ||
	    load16_as(data + layout->header_at, big) != layout->header ||
	    (load16_as(data + layout->program_count_at, big) &&
	     load16_as(data + layout->program_at, big) != layout->program) ||
	    (load16_as(data + layout->section_count_at, big) &&
	     load16_as(data + layout->section_at, big) != layout->section))
		return ARCHITECTURE_NONE;
	if (machine == ELF_PPC64 && !big)
		return ARCHITECTURE_POWERPC_LITTLE;
	return find_machine(elf_machines, machine);
}

/* -- PE ------------------------------------------------------------------------------ */

#define DOS_HEADER_BYTES  64
#define DOS_NEW_HEADER	  60
#define PE_HEADER_BYTES	  26 /* signature, COFF header and the magic after it */
#define PE_MACHINE	  4
#define PE_SECTIONS	  6
#define PE_OPTIONAL_BYTES 20
#define PE_MAGIC	  24
#define PE_MAX_SECTIONS	  96
#define PE_32		  0x10b
#define PE_32_PLUS	  0x20b

static const struct machine pe_machines[] = {
	{ 0x14c, ARCHITECTURE_X86 },	{ 0x8664, ARCHITECTURE_X86_64 },
	{ 0x1c0, ARCHITECTURE_ARM },	{ 0x1c2, ARCHITECTURE_ARM },
	{ 0x1c4, ARCHITECTURE_ARM },	{ 0xaa64, ARCHITECTURE_ARM64 },
	{ 0x200, ARCHITECTURE_IA64 },	{ 0x1f0, ARCHITECTURE_POWERPC_LITTLE },
	{ 0x5032, ARCHITECTURE_RISCV }, { 0x5064, ARCHITECTURE_RISCV },
	{ 0, ARCHITECTURE_NONE },
};

static int pe_architecture(const struct category_file *file,
			   enum architecture *architecture_out, dwarfs_error **err)
{
	uint8_t header[PE_HEADER_BYTES];
	uint16_t magic;
	size_t got;
	int ret;

	if (file->head.size < DOS_HEADER_BYTES || memcmp(file->head.data, "MZ", 2) != 0)
		return 0;
	ret = dw_category_read(file, dw_load32(file->head.data + DOS_NEW_HEADER), header,
			       sizeof(header), &got, err);
	if (ret < 0)
		return ret;
	if (got < sizeof(header) || memcmp(header, "PE\0\0", 4) != 0)
		return 0;
	magic = dw_load16(header + PE_MAGIC);
	if (dw_load16(header + PE_MACHINE) == 0 ||
	    dw_load16(header + PE_SECTIONS) > PE_MAX_SECTIONS ||
	    dw_load16(header + PE_OPTIONAL_BYTES) < sizeof(magic) ||
	    (magic != PE_32 && magic != PE_32_PLUS))
		return 0;
	*architecture_out = find_machine(pe_machines, dw_load16(header + PE_MACHINE));
	return 0;
}

/* -- Mach-O -------------------------------------------------------------------------- */

#define MACHO_32	    0xfeedfaceu
#define MACHO_64	    0xfeedfacfu
#define MACHO_FAT_32	    0xcafebabeu
#define MACHO_FAT_64	    0xcafebabfu
#define MACHO_CPU	    4
#define MACHO_TYPE	    12
#define MACHO_COMMAND_COUNT 16
#define MACHO_COMMAND_BYTES 20
#define MACHO_HEADER_32	    28
#define MACHO_HEADER_64	    32
#define MACHO_MAX_TYPE	    13
#define MACHO_FIRST_COMMAND 8 /* bytes of the smallest command */
#define MACHO_FAT_HEADER    8
#define MACHO_FAT_SLICE_32  20
#define MACHO_FAT_SLICE_64  32
#define MACHO_MAX_SLICES    32 /* fewer than the version of any Java class */
#define MACHO_CPU_64	    0x01000000u

static const struct machine macho_machines[] = {
	{ 7, ARCHITECTURE_X86 },      { 7 | MACHO_CPU_64, ARCHITECTURE_X86_64 },
	{ 12, ARCHITECTURE_ARM },     { 12 | MACHO_CPU_64, ARCHITECTURE_ARM64 },
	{ 18, ARCHITECTURE_POWERPC }, { 18 | MACHO_CPU_64, ARCHITECTURE_POWERPC },
	{ 14, ARCHITECTURE_SPARC },   { 0, ARCHITECTURE_NONE },
};

struct slice {
	uint64_t offset, size;
	uint32_t cpu;
};

/* Whether the commands that are in head fit into their stated size. */
static bool commands_fit(struct span head, size_t at, uint32_t count, uint32_t bytes,
			 bool big)
{
	uint32_t left = bytes, size;

	for (uint32_t i = 0; i < count; i++) {
		if (at > head.size || head.size - at < MACHO_FIRST_COMMAND)
			return true;
		size = load32_as(head.data + at + 4, big);
		if (size < MACHO_FIRST_COMMAND || size % 4 != 0 || size > left)
			return false;
		left -= size;
		at += size;
	}
	return true;
}

/* Whether this is a Mach-O file for one processor, and for which. */
static bool is_thin(struct span head, uint64_t size, uint32_t *cpu_out)
{
	uint32_t magic, header, count, bytes;
	bool big;

	if (head.size < MACHO_HEADER_32)
		return false;
	magic = dw_load32(head.data);
	big = magic != MACHO_32 && magic != MACHO_64;
	if (big)
		magic = dw_load_be32(head.data);
	if (magic != MACHO_32 && magic != MACHO_64)
		return false;
	header = magic == MACHO_64 ? MACHO_HEADER_64 : MACHO_HEADER_32;
	count = load32_as(head.data + MACHO_COMMAND_COUNT, big);
	bytes = load32_as(head.data + MACHO_COMMAND_BYTES, big);
	*cpu_out = load32_as(head.data + MACHO_CPU, big);
	return head.size >= header && *cpu_out != 0 &&
	       load32_as(head.data + MACHO_TYPE, big) - 1 < MACHO_MAX_TYPE &&
	       bytes <= size - header && count <= bytes / MACHO_FIRST_COMMAND &&
	       commands_fit(head, header, count, bytes, big);
}

/* Read the table of slices, sorted by offset. Returns 0 if it is inconsistent. */
static size_t read_slices(struct span head, uint64_t size,
			  struct slice slices[MACHO_MAX_SLICES])
{
	bool wide = load32_as(head.data, true) == MACHO_FAT_64;
	size_t item = wide ? MACHO_FAT_SLICE_64 : MACHO_FAT_SLICE_32;
	uint32_t count = load32_as(head.data + 4, true);
	uint64_t end;
	size_t used = 0, j;

	if (count == 0 || count > MACHO_MAX_SLICES ||
	    head.size - MACHO_FAT_HEADER < count * item)
		return 0;
	end = MACHO_FAT_HEADER + count * item;
	for (; used < count; used++) {
		const uint8_t *at = head.data + MACHO_FAT_HEADER + used * item;
		struct slice slice = {
			.cpu = load32_as(at, true),
			.offset =
				wide ? load64_as(at + 8, true) : load32_as(at + 8, true),
			.size = wide ? load64_as(at + 16, true)
				     : load32_as(at + 12, true),
		};

		for (j = used; j > 0 && slices[j - 1].offset > slice.offset; j--)
			slices[j] = slices[j - 1];
		slices[j] = slice;
	}
	for (j = 0; j < count; j++) {
		if (slices[j].offset < end || slices[j].offset > size ||
		    slices[j].size > size - slices[j].offset || slices[j].size == 0)
			return 0;
		end = slices[j].offset + slices[j].size;
	}
	return count;
}

/* A slice must be a Mach-O file for its processor, or a static library. */
static int check_slice(const struct category_file *file, const struct slice *slice,
		       bool *is_good_out, dwarfs_error **err)
{
	uint8_t bytes[HEAD_BYTES];
	size_t size = slice->size < sizeof(bytes) ? (size_t)slice->size : sizeof(bytes);
	size_t got;
	uint32_t cpu;
	int ret = dw_category_read(file, slice->offset, bytes, size, &got, err);

	if (ret < 0)
		return ret;
	if (got >= 8 && memcmp(bytes, "!<arch>\n", 8) == 0)
		*is_good_out = true;
	else
		*is_good_out = is_thin((struct span){ bytes, got }, slice->size, &cpu) &&
			       cpu == slice->cpu;
	return 0;
}

static int add_slices(const struct category_file *file, const struct slice *slices,
		      size_t count, struct category_parts *parts, dwarfs_error **err)
{
	uint64_t at = 0;
	int ret;

	for (size_t i = 0; i < count; i++) {
		const struct slice *slice = &slices[i];

		if ((ret = dw_parts_add(parts, CATEGORY_MACHO_HEADER, 0,
					slice->offset - at, err)) < 0 ||
		    (ret = dw_parts_add(parts, CATEGORY_MACHO_SECTION,
					find_machine(macho_machines, slice->cpu),
					slice->size, err)) < 0)
			return ret;
		at = slice->offset + slice->size;
	}
	return dw_parts_add(parts, CATEGORY_MACHO_HEADER, 0, file->size - at, err);
}

static int categorize_fat(const struct category_file *file, struct category_parts *parts,
			  dwarfs_error **err)
{
	struct slice slices[MACHO_MAX_SLICES];
	bool is_good = false;
	size_t count;
	uint32_t magic;
	int ret;

	if (file->head.size < MACHO_FAT_HEADER)
		return 0;
	magic = load32_as(file->head.data, true);
	if (magic != MACHO_FAT_32 && magic != MACHO_FAT_64)
		return 0;
	count = read_slices(file->head, file->size, slices);
	for (size_t i = 0; i < count; i++) {
		if ((ret = check_slice(file, &slices[i], &is_good, err)) < 0)
			return ret;
		if (!is_good)
			return 0;
	}
	return count ? add_slices(file, slices, count, parts, err) : 0;
}

/* -- all of them --------------------------------------------------------------------- */

static int categorize_binary(const struct categorizers *all, dwarfs_context *context,
			     const struct category_file *file,
			     struct category_parts *parts, dwarfs_error **err)
{
	enum architecture architecture = elf_architecture(file->head);
	uint32_t cpu;
	int ret;

	if (architecture)
		return dw_parts_add(parts, CATEGORY_ELF, architecture, file->size, err);
	if ((ret = pe_architecture(file, &architecture, err)) < 0)
		return ret;
	if (architecture)
		return dw_parts_add(parts, CATEGORY_PE, architecture, file->size, err);
	if (is_thin(file->head, file->size, &cpu))
		return dw_parts_add(parts, CATEGORY_MACHO_SECTION,
				    find_machine(macho_machines, cpu), file->size, err);
	return categorize_fat(file, parts, err);
}

const struct categorizer_ops dw_categorizer_binary = {
	.name = "binary",
	.categorize = categorize_binary,
};
