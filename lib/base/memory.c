/* SPDX-License-Identifier: MIT */
/*
 * base/memory: growable memory whose sizes cannot overflow.
 */
#include <string.h>

#include "base/memory.h"

int dw_grow_bytes(void **data, size_t *capacity, size_t need, size_t item_bytes,
		  dwarfs_error **err)
{
	size_t items = *capacity, bytes;
	void *grown;

	if (need <= items)
		return 0;
	if (!dw_add(items, items / 2 + 8, &items) || items < need)
		items = need;
	if (!dw_mul(items, item_bytes, &bytes))
		return dw_fail_nomem(err);
	grown = dw_realloc(*data, bytes);
	if (!grown)
		return dw_fail_nomem(err);
	*data = grown;
	*capacity = items;
	return 0;
}

void dw_buffer_free(struct buffer *buffer)
{
	dw_free(buffer->data);
	*buffer = (struct buffer){ 0 };
}

int dw_buffer_reserve(struct buffer *buffer, size_t more, dwarfs_error **err)
{
	size_t need;

	if (!dw_add(buffer->size, more, &need))
		return dw_fail_nomem(err);
	return dw_grow(&buffer->data, &buffer->capacity, need, err);
}

int dw_buffer_append(struct buffer *buffer, const void *data, size_t size,
		     dwarfs_error **err)
{
	int ret = dw_buffer_reserve(buffer, size, err);

	if (ret < 0)
		return ret;
	if (size)
		memcpy(buffer->data + buffer->size, data, size);
	buffer->size += size;
	return 0;
}

void dw_reverse(void *list, size_t count, size_t item_bytes)
{
	uint8_t *first = list, *last = first + count * item_bytes;

	for (size_t i = 0; i < count / 2; i++, first += item_bytes) {
		last -= item_bytes;
		for (size_t at = 0; at < item_bytes; at++) {
			uint8_t byte = first[at];

			first[at] = last[at];
			last[at] = byte;
		}
	}
}
