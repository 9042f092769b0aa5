/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/busy_poll: whether to ask again and again for the next request, or to sleep.
 */
#include "dwarfs/busy_poll.h"

#define LEAST_SOON 2
/* Longer than an interrupt takes, and shorter than a time slice of another program. */
#define PAUSE_NS 500000
/* On an idle machine one poll of 100 is in vain, and with two other programs on two CPUs nearly
 * every second one. */
#define LOSS_IN_VAIN  8
#define LOSS_BY_PAUSE 40
#define MOST_LOSSES   64
/* Polling is refused for the first number of requests, then for twice as many, and so on, unless
 * many requests came in between. */
#define LEAST_REFUSED 1024
#define MOST_REFUSED  65536
#define MANY_REQUESTS 4096

bool busy_poll_is_due(const struct busy_poll *poll)
{
	return poll->is_forced || (poll->soon >= LEAST_SOON && poll->refused == 0);
}

bool busy_poll_is_refused(const struct busy_poll *poll)
{
	return poll->refused > 0 && !poll->is_forced;
}

static void refuse(struct busy_poll *poll)
{
	poll->refused = poll->next_refused ? poll->next_refused : LEAST_REFUSED;
	poll->next_refused =
		poll->refused < MOST_REFUSED ? 2 * poll->refused : MOST_REFUSED;
	poll->losses = 0;
	poll->undisturbed = 0;
}

void busy_poll_note(struct busy_poll *poll, int64_t waited_ns)
{
	if (poll->refused > 0)
		poll->refused--;
	else if (++poll->undisturbed == MANY_REQUESTS)
		poll->next_refused = 0;
	if (waited_ns > BUSY_POLL_NS)
		poll->soon = 0;
	else if (poll->soon < LEAST_SOON)
		poll->soon++;
}

void busy_poll_note_end(struct busy_poll *poll, bool found, int64_t pause_ns)
{
	if (pause_ns > PAUSE_NS)
		poll->losses += LOSS_BY_PAUSE;
	else if (!found)
		poll->losses += LOSS_IN_VAIN;
	else if (poll->losses > 0)
		poll->losses--;
	if (poll->losses >= MOST_LOSSES)
		refuse(poll);
}
