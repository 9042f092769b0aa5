/* SPDX-License-Identifier: MIT */
/*
 * crowd: metadata of very many files. "/" has CROWD_DIRS directories, each of which has
 * CROWD_FILES_OF_ONE files. Entry, inode and place of the tree go together: first "/",
 * then the directories, then all files. File i is named "f" and seven digits, for
 * CROWD_DIRS + i, and has one chunk of 1 + i % 500 bytes.
 */
#ifndef TESTS_SUPPORT_CROWD_H
#define TESTS_SUPPORT_CROWD_H

#include "support/craft.h"

#define CROWD_DIRS	   1000
#define CROWD_FILES_OF_ONE 100
#define CROWD_FILES	   (CROWD_DIRS * CROWD_FILES_OF_ONE)
#define CROWD_FIRST	   (1 + CROWD_DIRS) /* the first file */

/* Append schema and metadata, the tables packed or not. */
void crowd_craft(struct craft *craft, bool is_packed);

#endif
