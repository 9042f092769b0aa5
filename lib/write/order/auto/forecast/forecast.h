/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/forecast: forecast the packed size of the files of a stream in an
 * order, by their sketch.
 */
#ifndef DW_WRITE_ORDER_AUTO_FORECAST_FORECAST_H
#define DW_WRITE_ORDER_AUTO_FORECAST_FORECAST_H

#include "write/order/auto/sketch.h"
#include "write/segment/minima.h"

/* Bytes of a stream by where they are found again, if at all. */
struct forecast {
	double segments; /* anywhere before: the segmenter refers to them */
	double segment_count;
	double near;   /* in the same block, in runs too short for a segment */
	double medium; /* in the same block, in long matches of the codec */
	double brief;  /* in the same block, in short matches */
	double fresh;
	double copied; /* of the last four: in too many blocks, and so stored again */
};

/* What is left for blocks to hold. */
static inline double dw_forecast_kept(const struct forecast *forecast)
{
	return forecast->near + forecast->medium + forecast->brief + forecast->fresh;
}

/*
 * Go through fragments in an order, as segmenter and codec would: long shingles that were
 * stored before, one after the other, are a segment if it is long enough, and a shorter shingle
 * within reach in the same block is a match of the codec. A segment in a block that the directory
 * of the file should not be in is stored again.
 */
int dw_forecast(const struct order_input *input, const struct sketch *sketch,
		const struct match_minima *minima, const uint32_t *numbers, size_t count,
		struct forecast *forecast_out, dwarfs_error **err);

#endif
