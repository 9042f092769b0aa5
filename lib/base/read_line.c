/* SPDX-License-Identifier: MIT */
/*
 * base/read_line: lines of text files.
 */
#include <errno.h>

#include "base/memory.h"
#include "base/read_line.h"

ssize_t dw_read_line(char **line, size_t *capacity, FILE *file)
{
	size_t used = 0;
	int byte;

	while ((byte = getc_unlocked(file)) != EOF) {
		if (dw_grow(line, capacity, used + 2, NULL) < 0) {
			errno = ENOMEM;
			return -1;
		}
		(*line)[used++] = (char)byte;
		if (byte == '\n')
			break;
	}
	if (used == 0 || ferror(file))
		return -1;
	(*line)[used] = '\0';
	return (ssize_t)used;
}
