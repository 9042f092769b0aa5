/* SPDX-License-Identifier: MIT */
/*
 * base/context: what images and builders share. See <dwarfs/context.h>.
 */
#ifndef DW_BASE_CONTEXT_H
#define DW_BASE_CONTEXT_H

#include <dwarfs/context.h>

#include "base/latency.h"
#include "base/memory.h"

/* Get a counted reference; a NULL context makes a private one. Freezes the settings. */
int dw_context_use(dwarfs_context *context, dwarfs_context **used_out,
		   dwarfs_error **err);
static inline void dw_cleanup_context(dwarfs_context **context)
{
	dwarfs_context_free(*context);
}
#define auto_context DW_AUTO(context)

uint32_t dw_context_workers(const dwarfs_context *context);
/* How many of them may compress now. It changes at any time, and is valid as long as the context. */
const _Atomic uint32_t *dw_context_active_workers(const dwarfs_context *context);
uint64_t dw_context_cache_bytes(const dwarfs_context *context);
void dw_context_note_cache_bytes(dwarfs_context *context, uint64_t bytes);
uint32_t dw_context_decode_limit(const dwarfs_context *context);
void dw_context_note_decode_limit(dwarfs_context *context, uint32_t times);
uint32_t dw_context_finish_percent(const dwarfs_context *context);
/* NULL: no latencies are measured. */
struct latency *dw_context_latency(const dwarfs_context *context);

/* One object that is shared by the users of the context, such as the block cache:
 * `make` creates it at its first use, `destroy` frees it with the context. Several threads may
 * make one: the first is kept, and *is_new_out is set for its thread. Settings may have changed
 * after `make` has read them and before dw_context_peek() returns it: that thread reads them
 * again. */
int dw_context_shared(dwarfs_context *context,
		      int (*make)(dwarfs_context *context, void **object_out,
				  dwarfs_error **err),
		      void (*destroy)(void *object), void **object_out, bool *is_new_out,
		      dwarfs_error **err);

/* That object, or NULL if it was not used yet. */
void *dw_context_peek(const dwarfs_context *context);

/* Whether a message of this level would be logged. */
bool dw_log_wants(const dwarfs_context *context, int level);
void dw_log(dwarfs_context *context, int level, const char *format, ...) DW_PRINTF(3, 4);

#endif
