/* SPDX-License-Identifier: MIT */
/*
 * fuzz_reads: a sequence of calls that read one image: by offset, without copies,
 * prefetched, in data order, in parallel and by several threads, while the budget of the
 * cache changes.
 *
 * The input is a header of four bytes, which chooses the image, its damage and how it is
 * opened, and a list of calls. The harness makes the images, so that it knows their
 * contents: what is read without an error must be right, unless damage may be handed out.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarfs/dwarfs.h>

#include "fuzz.h"

#define FILES	   20u
#define MAX_CALLS  48
#define MAX_BYTES  120000u /* of one read */
#define BORROWS	   6
#define THREADS	   3
#define IMAGE_KIND 5

struct input {
	const uint8_t *data;
	size_t size;
};

struct made_image {
	void *data;
	size_t bytes;
};

struct borrow {
	dwarfs_borrowed *bytes;
	uint32_t file;
	uint64_t offset;
};

struct session {
	dwarfs_context *context;
	dwarfs_image *image;
	dwarfs_inode inodes[FILES];
	dwarfs_file *files[FILES];
	struct borrow borrows[BORROWS];
	/* Damage must be reported, or may be handed out. */
	bool is_damaged, is_strict;
};

static uint8_t take_byte(struct input *input)
{
	if (input->size == 0)
		return 0;
	input->size--;
	return *input->data++;
}

static uint32_t take_number(struct input *input)
{
	uint32_t high = take_byte(input);

	return high << 8 | take_byte(input);
}

/* -- the contents of files ----------------------------------------------------------- */

static size_t bytes_of(uint32_t file)
{
	return file == 0 ? 300000 : file == 1 ? 0 : (size_t)file * file * 111 + file;
}

/* Similar in neighbouring files, with some zeros. */
static uint8_t byte_of(uint32_t file, uint64_t at)
{
	if (at / 5000 % 4 == 3)
		return 0;
	return (uint8_t)(at / 3 * 7 + (at >> 9) + (at % 50 == file ? file : 0));
}

static void require_right(const struct session *session, uint32_t file, uint64_t offset,
			  const uint8_t *data, size_t bytes)
{
	fuzz_require(offset + bytes <= bytes_of(file) || bytes == 0);
	for (size_t i = 0; i < bytes && session->is_strict; i++)
		fuzz_require(data[i] == byte_of(file, offset + i));
	fuzz_use(data, bytes);
}

/* A read of an image without damage fails only if it is refused. */
static void require_code(const struct session *session, int ret)
{
	fuzz_require(ret >= 0 || session->is_damaged || ret == DWARFS_ERR_LIMIT);
}

static size_t bytes_at(uint32_t file, uint64_t offset, size_t bytes)
{
	uint64_t rest = offset < bytes_of(file) ? bytes_of(file) - offset : 0;

	return bytes < rest ? bytes : (size_t)rest;
}

/* -- the images ---------------------------------------------------------------------- */

static void add_file(dwarfs_builder *builder, uint32_t file)
{
	uint8_t *data = malloc(bytes_of(file) + 1);
	dwarfs_item *item = NULL;
	char name[8];

	fuzz_require(data && dwarfs_item_new(0100644, &item, NULL) == 0);
	for (size_t i = 0; i < bytes_of(file); i++)
		data[i] = byte_of(file, i);
	snprintf(name, sizeof(name), "%02u", file);
	fuzz_require(dwarfs_item_set_memory(item, data, bytes_of(file), NULL) == 0);
	fuzz_require(dwarfs_builder_add_item(builder, name, 2, item, NULL) == 0);
	dwarfs_item_free(item);
	free(data);
}

static void make_image(unsigned kind, struct made_image *made)
{
	static const char *const codecs[IMAGE_KIND] = {
		"null", "zstd:level=1", "lz4", "lzma:level=0", "brotli:quality=1",
	};
	dwarfs_builder *builder = NULL;
	dwarfs_sink *sink = NULL;

	fuzz_require(dwarfs_builder_new(NULL, &builder, NULL) == 0);
	fuzz_require(dwarfs_builder_set_level(builder, 1, NULL) == 0);
	fuzz_require(dwarfs_builder_set_block_bits(builder, 15 + kind % 3, NULL) == 0);
	/* Without a codec that was left out of the library, the default is used. */
	dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, codecs[kind], NULL);
	for (uint32_t i = 0; i < FILES; i++)
		add_file(builder, i);
	fuzz_require(dwarfs_sink_to_memory(1u << 22, &sink, NULL) == 0);
	fuzz_require(dwarfs_builder_write(builder, sink, NULL) == 0);
	fuzz_require(dwarfs_sink_take(sink, &made->data, &made->bytes, NULL) == 0);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
}

/* The same ones for all inputs. */
static const struct made_image *image_of(unsigned kind)
{
	static struct made_image images[IMAGE_KIND];

	if (!images[kind].data)
		make_image(kind, &images[kind]);
	return &images[kind];
}

/* -- opening ------------------------------------------------------------------------- */

/* A copy of the image; with damage in a byte after the first section header. */
static uint8_t *copy_image(const struct made_image *made, uint32_t damage)
{
	uint8_t *data = malloc(made->bytes);

	if (!data)
		return NULL;
	memcpy(data, made->data, made->bytes);
	if (damage)
		data[64 + damage * 7919u % (made->bytes / 2 - 64)] ^= (uint8_t)damage | 1;
	return data;
}

static void open_image(struct session *session, uint8_t *data, size_t bytes, unsigned how)
{
	static const int verifies[] = { DWARFS_VERIFY_EAGER, DWARFS_VERIFY_LAZY,
					DWARFS_VERIFY_NO_BLOCKS };
	static const int salvages[] = { DWARFS_SALVAGE_OFF, DWARFS_SALVAGE_OFF,
					DWARFS_SALVAGE_INTACT, DWARFS_SALVAGE_ZEROS };
	static const uint64_t budgets[] = { 100000, 0, 40000, 1u << 20 };
	dwarfs_image_options *options = NULL;
	dwarfs_io *io = NULL;

	if (dwarfs_context_new(&session->context, NULL) < 0 ||
	    dwarfs_image_options_new(&options, NULL) < 0 ||
	    dwarfs_io_from_memory(data, bytes, NULL, NULL, &io, NULL) < 0)
		abort();
	dwarfs_context_set_cache_bytes(session->context, budgets[how % 4], NULL);
	dwarfs_context_set_workers(session->context, how / 4 % 3, NULL);
	dwarfs_context_set_finish_percent(session->context, how / 12 % 2 ? 100 : 30,
					  NULL);
	how /= 24;
	dwarfs_image_options_set_verify(options, verifies[how % 3]);
	if (session->is_damaged)
		dwarfs_image_options_set_salvage(options, salvages[how / 3 % 4]);
	session->is_strict = !session->is_damaged || (how % 3 == 0 && how / 3 % 4 < 2);
	dwarfs_image_open_io(session->context, io, options, &session->image, NULL);
	fuzz_require(session->image || session->is_damaged);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
}

/* False if the metadata are damaged. */
static bool find_files(struct session *session)
{
	dwarfs_entry entry;
	char name[8];

	for (uint32_t i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%02u", i);
		if (dwarfs_find(session->image, name, &entry, NULL) < 0 ||
		    dwarfs_entry_inode(session->image, entry, &session->inodes[i], NULL) <
			    0 ||
		    dwarfs_file_open(session->image, session->inodes[i],
				     &session->files[i], NULL) < 0 ||
		    dwarfs_file_bytes(session->files[i]) != bytes_of(i)) {
			fuzz_require(session->is_damaged);
			return false;
		}
	}
	return true;
}

static uint32_t file_of(const struct session *session, dwarfs_inode inode)
{
	for (uint32_t i = 0; i < FILES; i++)
		if (session->inodes[i].number == inode.number)
			return i;
	abort();
}

/* -- one file ------------------------------------------------------------------------ */

static int read_range(const struct session *session, uint32_t file, uint64_t offset,
		      size_t bytes)
{
	uint8_t *data = malloc(bytes + 1);
	size_t done = 0;
	int ret = -1;

	if (data)
		ret = dwarfs_read(session->image, session->inodes[file], data, bytes,
				  offset, &done, NULL);
	if (ret == 0) {
		fuzz_require(done == bytes_at(file, offset, bytes));
		require_right(session, file, offset, data, done);
	}
	require_code(session, ret);
	free(data);
	return ret;
}

static void read_pieces(const struct session *session, uint32_t file, uint64_t offset,
			size_t bytes)
{
	uint8_t *data = malloc(bytes + 1);
	struct dwarfs_iovec pieces[4];
	size_t done = 0, first = bytes / 3;
	int ret;

	if (!data)
		return;
	pieces[0] = (struct dwarfs_iovec){ data, first };
	pieces[1] = (struct dwarfs_iovec){ NULL, 0 };
	pieces[2] = (struct dwarfs_iovec){ data + first, 1 };
	pieces[3] = (struct dwarfs_iovec){ data + first + 1,
					   bytes > first ? bytes - first - 1 : 0 };
	if (bytes == 0)
		pieces[2].bytes = 0;
	ret = dwarfs_file_readv(session->files[file], pieces, 4, offset, &done, NULL);
	if (ret == 0) {
		fuzz_require(done == bytes_at(file, offset, bytes));
		require_right(session, file, offset, data, done);
	}
	require_code(session, ret);
	free(data);
}

/* What was borrowed is right until it is released. */
static void release(const struct session *session, struct borrow *borrow)
{
	uint64_t offset = borrow->offset;
	size_t bytes;

	for (size_t i = 0; i < dwarfs_borrowed_count(borrow->bytes); i++) {
		const void *data = dwarfs_borrowed_part(borrow->bytes, i, &bytes);

		require_right(session, borrow->file, offset, data, bytes);
		offset += bytes;
	}
	dwarfs_borrowed_free(borrow->bytes);
	borrow->bytes = NULL;
}

static void borrow_range(struct session *session, struct borrow *borrow, uint32_t file,
			 uint64_t offset, size_t bytes)
{
	int ret;

	if (borrow->bytes)
		release(session, borrow);
	ret = dwarfs_file_borrow(session->files[file], bytes, offset, &borrow->bytes,
				 NULL);
	require_code(session, ret);
	if (ret < 0)
		return;
	borrow->file = file;
	borrow->offset = offset;
	fuzz_require(dwarfs_borrowed_bytes(borrow->bytes) ==
		     bytes_at(file, offset, bytes));
}

/* -- many files ---------------------------------------------------------------------- */

/* How much of each file was handed out; complete files twice: the last call counts. */
struct handed_out {
	const struct session *session;
	atomic_size_t bytes[FILES];
	atomic_uint ends[FILES];
	atomic_uint failures;
	unsigned stop_after;
	atomic_uint calls;
};

static int count_call(struct handed_out *out, dwarfs_error **err)
{
	if (atomic_fetch_add(&out->calls, 1) + 1 != out->stop_after)
		return 0;
	return dwarfs_error_set(err, DWARFS_ERR_CANCELLED, 0, "stopped");
}

static int take_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      dwarfs_error **err, void *user)
{
	struct handed_out *out = user;
	uint32_t file = file_of(out->session, inode);

	if (bytes == 0) {
		fuzz_require(offset == bytes_of(file));
		atomic_fetch_add(&out->ends[file], 1);
	}
	if (data)
		require_right(out->session, file, offset, data, bytes);
	atomic_fetch_add(&out->bytes[file], bytes);
	return count_call(out, err);
}

static int take_failure(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
			void *user)
{
	struct handed_out *out = user;

	fuzz_require(out->session->is_damaged && dwarfs_error_code(why) < 0);
	(void)inode;
	atomic_fetch_add(&out->failures, 1);
	return count_call(out, err);
}

static int take_part(const dwarfs_part *part, uint32_t thread, dwarfs_error **err,
		     void *user)
{
	struct handed_out *out = user;
	uint32_t file = file_of(out->session, dwarfs_part_inode(part));
	uint64_t offset;
	size_t bytes;

	(void)thread;
	fuzz_require(dwarfs_part_file_bytes(part) == bytes_of(file));
	for (size_t i = 0; i < dwarfs_part_count(part); i++) {
		const void *data = dwarfs_part_piece(part, i, &bytes, &offset);

		require_right(out->session, file, offset, data, bytes);
		atomic_fetch_add(&out->bytes[file], bytes);
	}
	if (dwarfs_part_is_last(part))
		atomic_fetch_add(&out->ends[file], 1);
	return count_call(out, err);
}

static int take_part_failure(dwarfs_inode inode, const dwarfs_error *why, uint32_t thread,
			     dwarfs_error **err, void *user)
{
	(void)thread;
	return take_failure(inode, why, err, user);
}

/* Some files, in an order from the input, with duplicates. */
static size_t choose(const struct session *session, struct input *input,
		     dwarfs_inode list[FILES])
{
	size_t count = take_byte(input) % (FILES + 1);
	unsigned first = take_byte(input), step = take_byte(input);

	for (size_t i = 0; i < count; i++)
		list[i] = session->inodes[(first + i * step) % FILES];
	return count;
}

/* Whether all of these files were handed out completely, each once. */
static void require_all(const struct handed_out *out, const dwarfs_inode *list,
			size_t count, bool has_holes)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t file = file_of(out->session, list[i]);

		fuzz_require(atomic_load(&out->ends[file]) == 1);
		fuzz_require(atomic_load(&out->bytes[file]) <= bytes_of(file));
		fuzz_require(has_holes ||
			     atomic_load(&out->bytes[file]) == bytes_of(file));
	}
}

static void read_many(const struct session *session, struct input *input, bool parallel)
{
	struct handed_out out = { .session = session, .stop_after = take_byte(input) };
	dwarfs_error *err = NULL;
	dwarfs_inode list[FILES];
	size_t count = choose(session, input, list);
	uint32_t more = take_byte(input) % 3;
	int ret;

	if (parallel)
		ret = dwarfs_read_parallel(session->image, list, count, more, take_part,
					   take_part_failure, &out, NULL, &err);
	else
		ret = dwarfs_read_in_order(session->image, list, count, take_piece,
					   take_failure, &out, NULL, &err);
	fuzz_require((ret < 0) == (err != NULL));
	fuzz_require(ret == 0 || session->is_damaged || ret == DWARFS_ERR_CANCELLED);
	if (ret == 0 && atomic_load(&out.failures) == 0)
		require_all(&out, list, count, parallel);
	dwarfs_error_free(err);
}

static void prefetch(const struct session *session, struct input *input)
{
	dwarfs_inode list[FILES];
	size_t count = choose(session, input, list);
	int ret = dwarfs_prefetch(session->image, list, count, NULL);

	fuzz_require(ret >= 0 && (size_t)ret <= count);
}

/* -- threads ------------------------------------------------------------------------- */

struct reader {
	pthread_t thread;
	const struct session *session;
	uint32_t first, count, step;
	bool is_running;
};

static void *read_on(void *argument)
{
	const struct reader *reader = argument;

	for (uint32_t i = 0; i < reader->count; i++) {
		uint32_t file = (reader->first + i) % FILES;

		read_range(reader->session, file, i * reader->step % (bytes_of(file) + 1),
			   40000);
	}
	return NULL;
}

static void read_by_threads(const struct session *session, struct input *input)
{
	struct reader readers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){
			.session = session,
			.first = take_byte(input),
			.count = take_byte(input) % 20,
			.step = take_number(input),
		};
		readers[i].is_running = pthread_create(&readers[i].thread, NULL, read_on,
						       &readers[i]) == 0;
	}
	for (int i = 0; i < THREADS; i++)
		if (readers[i].is_running)
			pthread_join(readers[i].thread, NULL);
}

/* -- calls --------------------------------------------------------------------------- */

static void read_one(struct session *session, struct input *input, unsigned how)
{
	uint32_t file = take_byte(input) % FILES;
	uint64_t offset = (uint64_t)take_number(input) * (1 + how % 7);
	size_t bytes = (size_t)take_number(input) * (1 + how % 3) % MAX_BYTES;

	if (how % 4 == 0)
		read_range(session, file, offset, bytes);
	else if (how % 4 == 1)
		read_pieces(session, file, offset, bytes);
	else
		borrow_range(session, &session->borrows[how / 4 % BORROWS], file, offset,
			     bytes);
}

static void load(const struct session *session, struct input *input)
{
	uint32_t file = take_byte(input) % FILES;
	size_t most = (size_t)take_number(input) * 5, bytes;
	void *data = NULL;
	char name[8];
	int ret;

	snprintf(name, sizeof(name), "%02u", file);
	ret = dwarfs_load(session->image, name, most, NULL, &data, &bytes, NULL);
	if (ret == 0) {
		fuzz_require(bytes == bytes_of(file) && bytes <= most);
		require_right(session, file, 0, data, bytes);
	}
	require_code(session, ret);
	dwarfs_memory_free(data);
}

static void set_cache(const struct session *session, unsigned how)
{
	static const uint64_t budgets[] = { 0, 30000, 70000, 150000, 400000, 1u << 20 };

	if (how % 3 == 0)
		dwarfs_context_trim(session->context, 0);
	else if (how % 3 == 1)
		dwarfs_context_set_decode_limit(session->context, how % 16, NULL);
	else
		dwarfs_context_set_cache_bytes(session->context, budgets[how / 3 % 6],
					       NULL);
}

static void call(struct session *session, struct input *input)
{
	unsigned which = take_byte(input);

	if (which < 140)
		read_one(session, input, which);
	else if (which < 160 && session->borrows[which % BORROWS].bytes)
		release(session, &session->borrows[which % BORROWS]);
	else if (which < 180)
		prefetch(session, input);
	else if (which < 192)
		read_many(session, input, false);
	else if (which < 204)
		read_many(session, input, true);
	else if (which < 212)
		read_by_threads(session, input);
	else if (which < 220)
		load(session, input);
	else
		set_cache(session, take_byte(input));
}

/* Without damage, and with memory for the largest job, the budget is observed. */
static void require_counts(const struct session *session)
{
	const dwarfs_context *context = session->context;

	fuzz_require(dwarfs_context_cache_count(context, DWARFS_CACHE_REDECODED_BYTES) <=
		     dwarfs_context_cache_count(context, DWARFS_CACHE_DECODED_BYTES));
	fuzz_require(dwarfs_context_cache_count(context, DWARFS_CACHE_USED) <=
		     dwarfs_context_cache_count(context, DWARFS_CACHE_MOST_USED));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	const struct made_image *made = image_of(take_byte(&input) % IMAGE_KIND);
	unsigned how = take_byte(&input);
	uint32_t damage = take_number(&input);
	struct session session = { .is_damaged = damage % 4 == 1 };
	uint8_t *copy = copy_image(made, session.is_damaged ? damage : 0);

	if (!copy)
		return 0;
	open_image(&session, copy, made->bytes, how);
	if (session.image && find_files(&session))
		for (int i = 0; i < MAX_CALLS && input.size > 0; i++)
			call(&session, &input);
	for (int i = 0; i < BORROWS; i++)
		if (session.borrows[i].bytes)
			release(&session, &session.borrows[i]);
	require_counts(&session);
	for (uint32_t i = 0; i < FILES; i++)
		dwarfs_file_free(session.files[i]);
	dwarfs_image_free(session.image);
	dwarfs_context_free(session.context);
	free(copy);
	return 0;
}
