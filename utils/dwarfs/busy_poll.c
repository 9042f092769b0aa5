/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/busy_poll: whether to ask again and again for the next request, or to sleep.
 */
#include "dwarfs/busy_poll.h"

#define LEAST_SOON 2
/* Longer than an interrupt takes, and shorter than a time slice of another program. */
#define PAUSE_NS	 500000
#define REFUSED_REQUESTS 256

bool busy_poll_is_due(const struct busy_poll *poll)
{
	return poll->soon >= LEAST_SOON && poll->refused == 0;
}

void busy_poll_note(struct busy_poll *poll, int64_t waited_ns)
{
	if (poll->refused > 0)
		poll->refused--;
	if (waited_ns > BUSY_POLL_NS)
		poll->soon = 0;
	else if (poll->soon < LEAST_SOON)
		poll->soon++;
}

void busy_poll_note_pause(struct busy_poll *poll, int64_t pause_ns)
{
	if (pause_ns > PAUSE_NS)
		poll->refused = REFUSED_REQUESTS;
}
