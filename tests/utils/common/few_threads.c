/* SPDX-License-Identifier: MIT */
/*
 * few_threads: limits the number of threads of a program to FEW_THREADS; to be preloaded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

create_fn pthread_create;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
		   void *(*run)(void *), void *argument)
{
	static atomic_int calls;
	const char *most = getenv("FEW_THREADS");
	create_fn *create = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");

	if (!create || (most && atomic_fetch_add(&calls, 1) >= atoi(most)))
		return EAGAIN;
	return create(thread, attributes, run, argument);
}
