/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/busy_poll: whether to ask again and again for the next request, or to sleep.
 *
 * A thread that sleeps has to be woken by an interrupt of its CPU, which on an idle one takes
 * longer than most replies. So if the last requests came soon after the replies before them,
 * the thread polls for a while. It does not while other programs need its CPU.
 */
#ifndef UTILS_DWARFS_BUSY_POLL_H
#define UTILS_DWARFS_BUSY_POLL_H

#include <stdbool.h>
#include <stdint.h>

/* How long to poll before sleeping, in ns. Of 100, 200 and 500 us, 200 was the fastest. */
#define BUSY_POLL_NS 200000

/* All zero: no request yet. */
struct busy_poll {
	uint32_t
		soon; /* requests in a row for which the thread waited at most BUSY_POLL_NS */
	uint32_t refused; /* requests until it may poll again */
};

/* Whether to poll for the next request. */
bool busy_poll_is_due(const struct busy_poll *poll);
/* A request came after a wait of so many ns. */
void busy_poll_note(struct busy_poll *poll, int64_t waited_ns);
/* While the thread polled, it did not run for so many ns. */
void busy_poll_note_pause(struct busy_poll *poll, int64_t pause_ns);

#endif
