/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/request_loop: the threads that receive requests from /dev/fuse and serve them.
 *
 * Only readers receive requests, and there is one of them while requests come one at a time. The
 * other threads sleep on semaphores of their own and not in the kernel's device, which would
 * wake one of them for each request.
 *
 *	reader	receives a request, serves it, and so on. The only reader polls for the next
 *		request (busy_poll.h), or sleeps. With concurrent requests, one more reader is
 *		added when none waits for a request; later, those that find none become idle.
 *	server	was a reader until a request that may take long: before it is served,
 *		another thread becomes a reader. Becomes idle after the reply.
 *	idle	sleeps until it is made a reader; the last one that became idle is the first.
 *
 * The lock covers the list of idle threads and the counts; no request is served under it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <dwarfs/context.h>

#include "dwarfs/affinity.h"
#include "dwarfs/busy_poll.h"
#include "dwarfs/mount.h"

struct thread {
	struct request_loop *loop;
	pthread_t id;
	struct thread *next, *previous; /* of all */
	struct thread *next_idle;
	sem_t is_reader_again;
	struct fuse_buf request;
	bool is_reader;
};

struct request_loop {
	struct fuse_session *session;
	const struct mounted *mounted;
	int device, flags; /* of open() */
	int end;	   /* eventfd: the loop is over */
	unsigned most_threads, most_idle;
	atomic_bool is_over;
	int result; /* of the request that ended it; set once */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t has_fewer_threads;
	struct thread *first, *idle;
	unsigned threads, idle_threads;
	atomic_uint readers; /* changes under the lock */
	atomic_uint waiting; /* readers that have no request; not under the lock */

	/* Of the only reader. */
	bool is_blocking; /* the device; true if there are several readers */
	struct busy_poll polling;
};

/* NULL on other threads than those of a loop. */
static _Thread_local struct thread *this_thread;

static void make_blocking(struct request_loop *loop, bool is_blocking)
{
	if (is_blocking != loop->is_blocking)
		fcntl(loop->device, F_SETFL,
		      is_blocking ? loop->flags : loop->flags | O_NONBLOCK);
	loop->is_blocking = is_blocking;
}

/* -- threads and their roles ----------------------------------------------------------- */

static void *run_thread(void *argument);

/* Under the lock. */
static bool start_thread(struct request_loop *loop)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	int ret;

	if (!thread)
		return false;
	thread->loop = loop;
	thread->is_reader = true;
	sem_init(&thread->is_reader_again, 0, 0);
	ret = pthread_create(&thread->id, NULL, run_thread, thread);
	if (ret != 0) {
		/* As libfuse's own loop, see take_message(). */
		fuse_log(FUSE_LOG_ERR, "fuse: error creating thread: %s\n",
			 strerror(ret));
		sem_destroy(&thread->is_reader_again);
		free(thread);
		return false;
	}
	pthread_detach(thread->id);
	thread->next = loop->first;
	if (thread->next)
		thread->next->previous = thread;
	loop->first = thread;
	loop->threads++;
	return true;
}

/*
 * Have another thread be a reader, which the caller has counted. Under the lock. False if all
 * threads are busy and there can be no more.
 */
static bool wake_reader(struct request_loop *loop)
{
	struct thread *thread = loop->idle;

	if (!thread)
		return loop->threads < loop->most_threads && start_thread(loop);
	loop->idle = thread->next_idle;
	loop->idle_threads--;
	thread->is_reader = true;
	sem_post(&thread->is_reader_again);
	return true;
}

/* Under the lock; as wake_reader(). No reader polls while there is one more. */
static bool add_reader(struct request_loop *loop)
{
	bool is_added;

	make_blocking(loop, true);
	atomic_fetch_add(&loop->readers, 1);
	is_added = wake_reader(loop);
	if (!is_added)
		atomic_fetch_sub(&loop->readers, 1);
	return is_added;
}

/* With concurrent requests, a thread waits for the next one while others are served. */
static void add_reader_if_none_waits(struct request_loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	if (atomic_load(&loop->waiting) == 0)
		(void)add_reader(loop);
	pthread_mutex_unlock(&loop->lock);
}

/*
 * End being a reader that waits, unless no other one waits: the others may serve requests that
 * take long, without a release because this one was waiting.
 */
static bool leave_readers(struct thread *thread)
{
	struct request_loop *loop = thread->loop;
	unsigned waiting = atomic_load(&loop->waiting);

	while (waiting > 1)
		if (atomic_compare_exchange_weak(&loop->waiting, &waiting, waiting - 1)) {
			pthread_mutex_lock(&loop->lock);
			atomic_fetch_sub(&loop->readers, 1);
			pthread_mutex_unlock(&loop->lock);
			thread->is_reader = false;
			return true;
		}
	return false;
}

void request_loop_release(void)
{
	struct thread *thread = this_thread;

	if (!thread || !thread->is_reader || atomic_load(&thread->loop->waiting) > 0)
		return;
	pthread_mutex_lock(&thread->loop->lock);
	/* It is a reader in place of this one. */
	if (wake_reader(thread->loop))
		thread->is_reader = false;
	pthread_mutex_unlock(&thread->loop->lock);
}

/* Sleep until this thread is a reader. False: it is to end. */
static bool be_idle(struct thread *thread)
{
	struct request_loop *loop = thread->loop;
	bool stays;

	pthread_mutex_lock(&loop->lock);
	stays = !atomic_load(&loop->is_over) && loop->idle_threads < loop->most_idle;
	if (stays) {
		thread->next_idle = loop->idle;
		loop->idle = thread;
		loop->idle_threads++;
	}
	pthread_mutex_unlock(&loop->lock);
	if (!stays)
		return false;
	while (sem_wait(&thread->is_reader_again) != 0)
		;
	return !atomic_load(&loop->is_over);
}

/* Have all threads end: those that sleep at once, others after the request that they serve. */
static void end_loop(struct request_loop *loop, int result)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&loop->lock);
	if (!atomic_exchange(&loop->is_over, true))
		loop->result = result;
	for (struct thread *thread = loop->first; thread; thread = thread->next)
		pthread_cancel(thread->id);
	for (struct thread *thread = loop->idle; thread; thread = thread->next_idle)
		sem_post(&thread->is_reader_again);
	loop->idle = NULL;
	(void)!write(loop->end, &one, sizeof(one));
	pthread_mutex_unlock(&loop->lock);
}

/* -- receiving ------------------------------------------------------------------------- */

static int receive(struct thread *thread)
{
	return fuse_session_receive_buf(thread->loop->session, &thread->request);
}

/* As receive(), but the thread may be cancelled meanwhile. */
static int receive_or_sleep(struct thread *thread)
{
	int ret;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	ret = receive(thread);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return ret;
}

/* Ask for a request until there is one, or for a while: -EAGAIN. */
static int receive_by_polling(struct thread *thread, int64_t start)
{
	struct request_loop *loop = thread->loop;
	int64_t last = start, now, pause = 0;
	int ret;

	make_blocking(loop, false);
	do {
		ret = receive(thread);
		now = (int64_t)tool_now_ns();
		if (now - last > pause)
			pause = now - last;
		last = now;
	} while (ret == -EAGAIN && now - start < BUSY_POLL_NS &&
		 !atomic_load(&loop->is_over));
	busy_poll_note_end(&loop->polling, ret != -EAGAIN, pause);
	requests_count_poll(loop->mounted->requests, ret != -EAGAIN);
	return ret;
}

/* The only reader waits for a request. */
static int receive_alone(struct thread *thread)
{
	struct request_loop *loop = thread->loop;
	const int64_t start = (int64_t)tool_now_ns();
	int64_t waited;
	int ret = -EAGAIN;

	if (busy_poll_is_due(&loop->polling) &&
	    (loop->polling.is_forced ||
	     affinity_state(loop->mounted->affinity) == AFFINITY_FREE))
		ret = receive_by_polling(thread, start);
	if (ret == -EAGAIN) {
		make_blocking(loop, true);
		ret = receive_or_sleep(thread);
	}
	waited = (int64_t)tool_now_ns() - start;
	busy_poll_note(&loop->polling, waited);
	affinity_set_polled(loop->mounted->affinity,
			    !busy_poll_is_refused(&loop->polling));
	return ret;
}

static bool are_concurrent(const struct request_loop *loop)
{
	return affinity_state(loop->mounted->affinity) == AFFINITY_CONCURRENT;
}

static bool has_request(const struct request_loop *loop)
{
	struct pollfd device = { .fd = loop->device, .events = POLLIN };

	return poll(&device, 1, 0) > 0;
}

/* One of several readers receives a request. -EAGAIN: there was none. */
static int receive_among_others(struct thread *thread)
{
	if (!are_concurrent(thread->loop) && !has_request(thread->loop) &&
	    leave_readers(thread))
		return -EAGAIN;
	return receive_or_sleep(thread);
}

static int receive_as_reader(struct thread *thread)
{
	struct request_loop *loop = thread->loop;
	int ret;

	atomic_fetch_add(&loop->waiting, 1);
	ret = atomic_load(&loop->readers) == 1 ? receive_alone(thread)
					       : receive_among_others(thread);
	if (thread->is_reader) /* otherwise it is not counted any more */
		atomic_fetch_sub(&loop->waiting, 1);
	return ret;
}

/* -- the loop ------------------------------------------------------------------------------ */

static void serve_requests(struct thread *thread)
{
	struct request_loop *loop = thread->loop;

	while (!atomic_load(&loop->is_over) && (thread->is_reader || be_idle(thread))) {
		int ret = receive_as_reader(thread);

		if (ret == -EAGAIN || ret == -EINTR)
			continue;
		if (ret <= 0 || fuse_session_exited(loop->session)) {
			end_loop(loop, ret);
			return;
		}
		if (are_concurrent(loop))
			add_reader_if_none_waits(loop);
		fuse_session_process_buf(loop->session, &thread->request);
	}
}

static void finish_thread(void *argument)
{
	struct thread *thread = argument;
	struct request_loop *loop = thread->loop;

	free(thread->request.mem);
	pthread_mutex_lock(&loop->lock);
	*(thread->previous ? &thread->previous->next : &loop->first) = thread->next;
	if (thread->next)
		thread->next->previous = thread->previous;
	loop->threads--;
	sem_destroy(&thread->is_reader_again);
	free(thread);
	pthread_cond_signal(&loop->has_fewer_threads);
	pthread_mutex_unlock(&loop->lock);
}

static void *run_thread(void *argument)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	this_thread = argument;
	pthread_cleanup_push(finish_thread, argument);
	serve_requests(argument);
	pthread_cleanup_pop(1);
	return NULL;
}

static void loop_init(struct request_loop *loop, struct fuse_session *session,
		      const struct mounted *mounted, unsigned most_threads)
{
	const struct settings *settings = mounted->settings;

	*loop = (struct request_loop){
		.session = session,
		.mounted = mounted,
		.device = fuse_session_fd(session),
		.end = eventfd(0, EFD_CLOEXEC),
		.is_blocking = true,
		.polling.is_forced = settings->busy_poll == BUSY_POLL_ON,
		.most_threads = most_threads,
		.most_idle = (unsigned)settings->max_idle_threads,
	};
	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->has_fewer_threads, NULL);
}

/* Until a signal, or a thread, ends the session. No signal comes between the check and the
 * sleep. */
static void wait_for_end(struct request_loop *loop, const sigset_t *signals)
{
	struct pollfd end = { .fd = loop->end, .events = POLLIN };

	while (!atomic_load(&loop->is_over) && !fuse_session_exited(loop->session))
		(void)ppoll(&end, 1, NULL, signals);
	end_loop(loop, 0);
	pthread_mutex_lock(&loop->lock);
	while (loop->threads > 0)
		pthread_cond_wait(&loop->has_fewer_threads, &loop->lock);
	pthread_mutex_unlock(&loop->lock);
}

int request_loop_run(struct fuse_session *session, const struct mounted *mounted,
		     unsigned most_threads, void (*once_started)(const void *argument),
		     const void *argument)
{
	struct request_loop loop;
	sigset_t all, before;
	bool has_started;

	loop_init(&loop, session, mounted, most_threads);
	loop.flags = fcntl(loop.device, F_GETFL);
	if (loop.end < 0 || loop.flags < 0)
		return REQUEST_LOOP_NOT_STARTED;
	affinity_set_polled(mounted->affinity, true);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_mutex_lock(&loop.lock);
	has_started = add_reader(&loop);
	pthread_mutex_unlock(&loop.lock);
	if (has_started) {
		once_started(argument);
		wait_for_end(&loop, &before);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	make_blocking(&loop, true);
	close(loop.end);
	pthread_cond_destroy(&loop.has_fewer_threads);
	pthread_mutex_destroy(&loop.lock);
	return has_started ? loop.result : REQUEST_LOOP_NOT_STARTED;
}
