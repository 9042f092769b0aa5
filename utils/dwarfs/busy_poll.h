/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/busy_poll: whether to ask again and again for the next request, or to sleep.
 *
 * A thread that sleeps has to be woken by an interrupt of its CPU, which on an idle one takes
 * longer than most replies. So if the last requests came soon after the replies before them,
 * the thread polls for a while. While other programs use the CPUs, the thread or its caller
 * often has to wait for one, and polling takes away what they need: then it is refused.
 */
#ifndef UTILS_DWARFS_BUSY_POLL_H
#define UTILS_DWARFS_BUSY_POLL_H

#include <stdbool.h>
#include <stdint.h>

/* How long to poll before sleeping, in ns: longer than a program takes from the reply to a request to
 * its next one while it lists directories. With 100 us, twice as many polls are in vain. */
#define BUSY_POLL_NS 200000

/* All zero: no request yet. */
struct busy_poll {
	bool is_forced;	       /* to poll for each request */
	uint32_t soon;	       /* requests in a row that came within BUSY_POLL_NS */
	uint32_t losses;       /* more for polls in vain than successful ones subtract */
	uint32_t refused;      /* requests until it may poll again */
	uint32_t next_refused; /* that number the next time; 0: the least */
	uint32_t undisturbed;  /* requests since it may poll */
};

/* Whether to poll for the next request. */
bool busy_poll_is_due(const struct busy_poll *poll);
/* Whether polling is refused for the next requests, however soon they come. */
bool busy_poll_is_refused(const struct busy_poll *poll);

/* A request came after a wait of so many ns. */
void busy_poll_note(struct busy_poll *poll, int64_t waited_ns);
/* What polling gave, and the longest time in ns for which the thread did not run meanwhile. */
void busy_poll_note_end(struct busy_poll *poll, bool found, int64_t pause_ns);

#endif
