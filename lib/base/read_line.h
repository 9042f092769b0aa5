/* SPDX-License-Identifier: MIT */
/*
 * base/read_line: lines of text files.
 */
#ifndef DW_BASE_READ_LINE_H
#define DW_BASE_READ_LINE_H

#include <stdio.h>
#include <sys/types.h>

/* As getline(), into memory of the library: the length of the line with its end, or -1 at the
 * end of the file or with errno. *line grows; it is NULL at first. */
ssize_t dw_read_line(char **line, size_t *capacity, FILE *file);

#endif
